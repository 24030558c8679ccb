"""The whole formula: softmax(Q Kᵀ · scale) V."""

from collections import namedtuple

import numpy as np
from numpy.typing import ArrayLike

from attnlib.checks import as_rows, as_scale, broadcast, promote
from attnlib.masks import as_mask, split_mask
from attnlib.scores import check_widths

Inputs = namedtuple("Inputs", "Q K V mask is_causal scale result plain")


def check_inputs(Q, K, V, attn_mask, is_causal, scale, empty) -> Inputs:
    """Check the arguments once, at the door: arrays come back in the dtype that computes."""
    Q, K = as_rows("Q", Q, "(…, n_q, d_k)"), as_rows("K", K, "(…, n_k, d_k)")
    V = as_rows("V", V, "(…, n_k, d_v)")
    check_widths(Q, K)
    n_q, n_k = Q.shape[-2], K.shape[-2]
    if V.shape[-2] != n_k:
        turned = V.shape[-1] == n_k
        mistake = ": did you pass V transposed?" if turned else "; each candidate needs one value"
        shapes = f"(V {V.shape}, K {K.shape})"
        raise ValueError(f"V has {V.shape[-2]} rows, K has {n_k}{mistake} {shapes}")
    if not isinstance(is_causal, (bool, np.bool_)):
        got = "an array: a mask goes to attn_mask" if np.ndim(is_causal) else repr(is_causal)
        raise TypeError(f"is_causal is {got}; expected True or False")
    if not (isinstance(empty, str) and empty in ("raise", "zero")):
        raise ValueError(f"empty is {empty!r}; expected 'raise' or 'zero'")
    mask = None if attn_mask is None else as_mask(attn_mask, n_q, n_k)
    # The leading axes of Q become the common ones. `result` is the dtype of what is to be returned.
    Q = np.broadcast_to(Q, broadcast(Q=Q, K=K, V=V, attn_mask=mask) + Q.shape[-2:])
    result, compute = promote(Q, K, V)
    Q, K, V = (x.astype(compute, copy=False) for x in (Q, K, V))
    with np.errstate(all="ignore"):
        factor = as_scale(scale, Q.shape[-1], compute.type)
        score = largest(Q) * abs(factor) * largest(K) * Q.shape[-1]
    # Plain: neither nan nor inf nor an overflow can occur, whatever the mask.
    plain = score < np.finfo(compute).max / 2 and shrink(V) == 1
    return Inputs(Q, K, V, mask, bool(is_causal), factor, result, plain)


def largest(X: np.ndarray) -> np.floating:
    """Return the largest magnitude in ``X``: nan when there is a nan."""
    return np.maximum(X.max(initial=0), -X.min(initial=0))


def set_aside(X: np.ndarray, plain: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return ``X`` with nan and inf replaced by 0, and where they stood."""
    bad = np.False_ if plain else ~np.isfinite(X)
    return (np.where(bad, 0, X) if bad.any() else X), bad


def spoil(output, weights, none, keep, bad_Q, bad_K, bad_V):
    """Put nan where nan or inf was read: in the rows of who may read it, and nowhere else."""
    if keep is None:
        keep = np.ones((bad_Q.shape[-2], bad_K.shape[-2]), dtype=bool)
    rows = bad_Q.any(axis=-1, keepdims=True) & ~none
    rows = rows | (keep & bad_K.any(axis=-1)[..., None, :]).any(axis=-1, keepdims=True)
    return np.where(rows | keep @ bad_V, np.nan, output), np.where(rows & keep, np.nan, weights)


def refuse_empty(none: np.ndarray, empty: str, leading: tuple = (), first: int = 0) -> None:
    """Raise for the first requester in ``none``, a block at ``leading`` from row ``first`` on."""
    if empty == "raise" and none.any():
        *axes, row = np.argwhere(none)[0].tolist()
        where = f" of leading index {(*leading, *axes)}" if leading or axes else ""
        why = "(attn_mask, is_causal or n_k = 0 leave no candidate)"
        advice = "pass empty='zero' for an output row of zeros"
        raise ValueError(f"requester row {first + row}{where} may read nobody {why}: {advice}")


def masked_scores(Q: np.ndarray, K: np.ndarray, keep, bias, plain: bool) -> np.ndarray:
    """Return Q Kᵀ + bias for scaled Q, and -inf where not ``keep``; refuse scores that overflow."""
    table = Q @ K.swapaxes(-1, -2)
    if not (plain or (np.isfinite(table) | (False if keep is None else ~keep)).all()):
        advice = "pass a wider dtype or a smaller scale"
        raise ValueError(f"scores of Q and K exceed the range of {table.dtype}; {advice}")
    if bias is not None:
        table += bias
    if keep is not None:
        np.copyto(table, -np.inf, where=~keep)
    return table


def shrink(V: np.ndarray) -> float:
    """Return the factor on V under which a sum of n_k values cannot overflow: 1 but for huge V."""
    n_k = max(V.shape[-2], 1)
    return 1.0 if largest(V) <= np.finfo(V.dtype).max / (2 * n_k) else 0.5 / n_k


def attention(
    Q: ArrayLike, K: ArrayLike, V: ArrayLike, *, attn_mask: ArrayLike | None = None,
    is_causal: bool = False, scale: float | None = None, empty: str = "raise",
    return_weights: bool = False,
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return softmax(Q Kᵀ · scale + mask) V: what each requester reads.

    Vaswani et al. (2017), equation 1. nan or inf in an input gives nan to the requesters that may
    read it; masked out, it reaches nobody. ``TypeError`` for what is complex, object or string, an
    integer mask, a scale that is no number. ``ValueError`` for shapes that do not fit, d_k = 0, a
    mask of 0 and 1 only, a requester that may read nobody, and scores beyond the dtype's range.

    >>> K = V = [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> output, weights = attention([[0.0, 2.0]], K, V, scale=1, return_weights=True)
    >>> output.round(3), weights.round(3)
    (array([[0.117, 0.851]]), array([[0.117, 0.867, 0.016]]))

    Parameters
    ----------
    Q : array_like, (…, n_q, d_k); queries, one row a requester
    K : array_like, (…, n_k, d_k); keys, one row a candidate
    V : array_like, (…, n_k, d_v); values, one row a candidate
    attn_mask : array_like of bool or float, (…, n_q, n_k), optional
        Bool: True = may be read. Float: *added* to the scaled scores; -inf forbids.
        The last two axes are exactly (n_q, n_k); only leading axes broadcast.
    is_causal : bool
        Of the candidates allowed, requester i reads 0..i (top-left, on rectangular tables too).
    scale : float, optional
        Factor on the scores. ``None`` means 1/√d_k; a given scale replaces it.
    empty : {"raise", "zero"}
        What a requester that may read nobody gives: an error, or zeros. Decided on the mask.
    return_weights : bool
        Return ``(output, weights)``.

    Returns
    -------
    output : ndarray, (…, n_q, d_v)
        Blends of the values, inside their convex hull, in the promoted floating type of Q, K and V
        (integers and booleans: float64; half precision: computed in float32, given back in half).
    weights : ndarray, (…, n_q, n_k)
        Only with ``return_weights``. Non-negative, each row sums to 1 (or to 0, if empty).
    """
    inputs = check_inputs(Q, K, V, attn_mask, is_causal, scale, empty)
    Q, K, V, mask, causal, scale, result, plain = inputs
    with np.errstate(all="ignore"):
        keep, bias, _ = split_mask(mask, causal, Q.shape[-2], K.shape[-2])
        (Q, bad_Q), (K, bad_K), (V, bad_V) = set_aside(Q), set_aside(K), set_aside(V)
        none = np.array(K.shape[-2] == 0) if keep is None else ~keep.any(axis=-1, keepdims=True)
        none = np.broadcast_to(none, Q.shape[:-1] + (1,))
        refuse_empty(none[..., 0], empty)

        # The table becomes weights in place; the row sums divide the output, which is smaller.
        table = masked_scores(Q * scale, K, keep, bias, plain)
        top = table.max(axis=-1, keepdims=True, initial=-np.inf)
        table -= np.where(none, 0, top)
        np.exp(table, out=table)
        total = table.sum(axis=-1, keepdims=True) + none
        output = blend(table, total, V)
        if return_weights:
            table /= total
        if bad_Q.any() or bad_K.any() or bad_V.any():
            output, table = spoil(output, table, none, keep, bad_Q, bad_K, bad_V)
    output = output.astype(result, copy=False)
    return (output, table.astype(result, copy=False)) if return_weights else output


def blend(table: np.ndarray, total: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return (table @ V) / total, without overflow for values near the largest float."""
    factor = V.dtype.type(shrink(V))
    output = table @ (V if factor == 1 else V * factor)
    output /= total * factor
    if factor == 1:
        return output
    inside = output.clip(V.min(axis=-2, keepdims=True), V.max(axis=-2, keepdims=True))
    return np.where(table.any(axis=-1, keepdims=True), inside, 0)
