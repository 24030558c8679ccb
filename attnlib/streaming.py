"""The same read without the table: softmax(Q Kᵀ · scale) V, one block of scores at a time."""

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from attnlib.attention import check_inputs, masked_scores, refuse_empty, set_aside, shrink, spoil
from attnlib.masks import BOTH_MEANINGS, MaskFunction, split_mask


def streaming_attention(
    Q: ArrayLike, K: ArrayLike, V: ArrayLike, *,
    attn_mask: ArrayLike | Callable[[np.ndarray, np.ndarray], ArrayLike] | None = None,
    is_causal: bool = False, scale: float | None = None, empty: str = "raise",
    block: int | tuple[int, int] | None = None, progress: bool = False,
) -> np.ndarray:  # fmt: skip
    """Return what ``attention`` returns, in memory that grows with neither n_q nor n_k.

    Milakov and Gimelshein (2018), "Online normalizer calculation for softmax". Shapes, dtypes,
    errors and the other arguments are those of ``attention``. Leading axes are a Python loop: for
    many small tables ``attention`` is faster. Half precision needs copies of Q, K, V in float32.

    ``attn_mask`` may also be a function: ``attn_mask(rows, cols)``, for rising int arrays of
    requesters and candidates, returns that block of the mask, (len(rows), len(cols)), always bool
    or always float, checked like an array. All leading axes share it. ``block``, an int or (int,
    int), counts the requesters and candidates in a block: (256, 1024) by default. ``progress``, a
    bool, shows a progress bar; ``ImportError`` without tqdm.

    >>> streaming_attention([[0], [9]], [[1], [2]], [[1], [3]], block=1).round(3).tolist()
    [[2.0], [3.0]]
    """
    asked = MaskFunction(attn_mask) if callable(attn_mask) else None
    inputs = check_inputs(Q, K, V, None if asked else attn_mask, is_causal, scale, empty)
    sizes = np.asarray((256, 1024) if block is None else block)
    if sizes.dtype.kind not in "iu" or sizes.shape not in ((), (2,)) or sizes.min() < 1:
        error = ValueError if sizes.dtype.kind in "iu" else TypeError
        raise error(f"block is {block!r}; expected an integer from 1 on, or two: (queries, keys)")
    n_rows, n_cols = np.broadcast_to(sizes, 2).tolist()
    *leading, n_q, _ = inputs.Q.shape
    spread = [x if x is None else np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in inputs[:4]]
    output = np.empty((*leading, n_q, inputs.V.shape[-1]), inputs.result)
    steps = list(product(np.ndindex(*leading), range(0, n_q, n_rows)))
    if progress:
        try:
            from tqdm import tqdm
        except ImportError:
            raise ImportError("progress=True needs tqdm: pip install tqdm") from None
        steps = tqdm(steps, desc="streaming_attention", unit="block")
    for index, first in steps:
        Q, K, V, mask = (x if x is None else x[index] for x in spread)
        rows = slice(first, min(first + n_rows, n_q))
        arrays, options = (Q[rows], K, V, asked or mask), (is_causal, inputs.scale, inputs.plain)
        with np.errstate(all="ignore"):
            output[index][rows], none = read_rows(*arrays, *options, rows, n_cols)
        refuse_empty(none[:, 0], empty, index, first)
    if asked and asked.doubtful and asked.top == 1:
        raise ValueError(BOTH_MEANINGS)
    return output


def read_rows(Q, K, V, mask, is_causal, scale, plain, rows: slice, n_cols: int):
    """Return ``(output, none)`` of the requesters in ``rows``: what is read, and who has none."""
    # exp needs the maximum of the row subtracted, which is known only at the end of the row. Until
    # then `top`, the largest score so far, stands for it. When a larger one comes, all that was
    # summed up is too large by exp(new - old); times `fade` = exp(old - new) it is what it would
    # be had the new one been there from the start. The division by the sum of weights waits for
    # the complete sum: it is the same for the whole row. A float mask is counted from its own
    # largest entry so far, `peak`, so that scores next to a common -1e9 keep their digits.
    Q, bad_Q = set_aside(Q, plain)
    number, limit = Q.dtype.type, np.finfo(Q.dtype).max
    top, peak = np.full((len(Q), 1), -limit), -np.inf
    total, none = np.zeros_like(top), np.ones(top.shape, dtype=bool)
    output, factor = np.zeros((len(Q), V.shape[-1]), number), number(1 if plain else shrink(V))
    stop = min(rows.stop, len(K)) if is_causal else len(K)
    for start in range(0, stop, n_cols):
        cols = slice(start, min(start + n_cols, stop))
        part = None if mask is None else mask[rows, cols]
        crosses = is_causal and cols.stop > rows.start + 1
        shape = len(Q), cols.stop - start
        keep, bias, new = split_mask(part, crosses, *shape, rows.start - start, peak)
        if bias is not None:
            top = np.maximum(top + np.where(new > peak, peak - new, 0), -limit, dtype=number)
            peak = new
        here = np.True_ if keep is None else keep.any(axis=-1, keepdims=True)
        if not here.any():
            continue
        none &= ~here
        (K_part, bad_K), (V_part, bad_V) = set_aside(K[cols], plain), set_aside(V[cols], plain)
        weights = masked_scores(Q * scale, K_part, keep, bias, plain)
        old, top = top, np.maximum(top, weights.max(axis=-1, keepdims=True))
        fade = np.exp(old - top)
        weights -= top
        np.exp(weights, out=weights)
        total = total * fade + weights.sum(axis=-1, keepdims=True)
        output = output * fade + weights @ (V_part if plain else V_part * factor)
        if bad_Q.any() or bad_K.any() or bad_V.any():
            output, _ = spoil(output, weights, ~here, keep, bad_Q, bad_K, bad_V)
        del weights  # before the next block is made
    return (output / ((total + none) * factor)).clip(-limit, limit), none
