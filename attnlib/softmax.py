"""softmax: from a row of scores to a row of weights."""

import numpy as np
from numpy.typing import ArrayLike

from attnlib.checks import as_float, promote


def softmax(x: ArrayLike, axis: int = -1) -> np.ndarray:
    """Return exp(x) / Σ exp(x) along ``axis``: positive weights that share a budget of 1.

    ``x``, array_like, holds real scores; -inf gets the weight 0. ``axis``, an int, is that of the
    candidates, which compete; for a score table (…, n_q, n_k) the last: each row sums to 1.

    The maximum along the axis is subtracted first. That changes no weight, since only
    differences count, and it keeps exp from overflowing. Shape and floating type are those of
    ``x``; integers and booleans become float64, half precision is computed in float32 and given
    back in half. Bridle (1990) named it; here it weighs as in Vaswani et al. (2017), section 3.2.1.

    ``TypeError`` for an ``x`` that is complex, object or string, or an ``axis`` that is no integer;
    ``ValueError`` for an axis that does not exist or is empty, nan, +inf, and a row all -inf.

    >>> softmax([-1.8, 0.7, 4.2, 2.3]).round(3)
    array([0.002, 0.026, 0.846, 0.127])
    """
    x = as_float("x", x)
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"axis is {axis!r}; expected one integer, the axis of the candidates")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis is {axis}, but x has shape {x.shape}")
    if x.shape[axis] == 0:
        raise ValueError(f"x has shape {x.shape}: no candidate along axis {axis}")
    result, compute = promote(x)
    with np.errstate(all="ignore"):
        top = x.max(axis=axis, keepdims=True)
        if not (top < np.inf).all():
            raise ValueError("x holds nan or +inf; scores must be finite, or -inf")
        if np.isneginf(top).any():
            raise ValueError(f"x is -inf all along axis {axis} somewhere: nobody may be read")
        weights = np.exp(x.astype(compute) - top)
        weights /= weights.sum(axis=axis, keepdims=True)
    return weights.astype(result)
