"""Masks: which candidates a requester may read, and what is added to its scores."""

import numpy as np

from attnlib.checks import as_array, as_float, check_shape, promote

BOTH_MEANINGS = (
    "attn_mask holds only 0 and 1, which has two readings: pass a bool array where True means "
    "'may be read', or a float array that is *added* to the scores (0 to keep, -inf to forbid)"
)


def as_mask(attn_mask, n_q: int, n_k: int, whole: bool = True) -> np.ndarray:
    """Return ``attn_mask`` as a bool or float array (…, n_q, n_k), or say what is wrong with it."""
    mask = as_array("attn_mask", attn_mask)
    if mask.dtype != bool:
        whole_numbers = mask.dtype.kind in "iu"
        mask = as_float("attn_mask", mask)
        mask = mask.astype(promote(mask)[1], copy=False)
        top = mask.max(initial=-np.inf)
        # A part of a mask, not the whole one, may hold only 0 and 1.
        if whole and top == 1 and np.isin(mask, (0, 1)).all():
            raise ValueError(BOTH_MEANINGS)
        if whole_numbers:
            raise TypeError("attn_mask holds integers; pass bool (True = may be read) or float")
        if not top < np.inf:
            raise ValueError("attn_mask holds nan or +inf; expected finite numbers or -inf")
    expected = f"(…, {n_q}, {n_k}), one row a requester. A padding mask (batch, n_k) becomes one "
    expected += "by np.broadcast_to(mask[:, None, :], (batch, n_q, n_k))"
    check_shape(mask.shape[-2:] == (n_q, n_k), "attn_mask", mask, expected)
    return mask


class MaskFunction:
    """A mask given as a function of indices: a block is cut out of it as out of an array."""

    def __init__(self, function):
        self.function = np.errstate(**np.geterr())(function)  # its warnings are the caller's
        # Of the blocks so far: bool or float, the largest number, whether all were 0.0 or 1.0.
        self.kind, self.top, self.doubtful = None, -np.inf, True

    def __getitem__(self, block: tuple[slice, slice]) -> np.ndarray:
        rows, cols = (np.arange(part.start, part.stop) for part in block)
        mask, shape = as_array("attn_mask", self.function(rows, cols)), (len(rows), len(cols))
        check_shape(mask.shape == shape, "attn_mask(rows, cols)", mask, f"{shape}")
        mask = as_mask(mask, *shape, whole=False)
        if self.kind not in (None, mask.dtype.kind):
            raise TypeError("attn_mask(rows, cols) is bool for some blocks and float for others")
        self.kind, self.top = mask.dtype.kind, max(self.top, mask.max())
        self.doubtful = self.doubtful and self.kind == "f" and np.isin(mask, (0, 1)).all()
        return mask


def split_mask(mask, is_causal: bool, n_q: int, n_k: int, offset: int = 0, peak=-np.inf) -> tuple:
    """Return ``(keep, bias, peak)``: who may be read (bool), and what is added to the scores.

    ``None`` stands for "everybody" and "nothing". For a block of a larger table, ``offset`` is its
    first row minus its first column, and the argument ``peak`` the largest bias of each row so far.
    """
    # Causal is top-left: query i reads candidates 0..i, on rectangular tables too. Each row's
    # largest bias, `peak`, is subtracted from the row; no weight depends on it, and scores next to
    # a common -1e9 keep their digits.
    bias, reach = None, np.tri(n_q, n_k, offset, dtype=bool) if is_causal else None
    if mask is None:
        return reach, bias, peak
    keep = mask
    if mask.dtype != bool:
        keep, where = mask != -np.inf, True if reach is None else reach
        top = mask.max(axis=-1, keepdims=True, initial=-np.inf, where=where)
        peak = np.maximum(peak, top, dtype=np.result_type(mask, np.float64))
        bias = mask - peak
    return keep if reach is None else keep & reach, bias, peak
