"""softmax: from a row of scores to a row of weights."""

import numpy as np
from numpy.typing import ArrayLike

from attnlib.checks import as_float, promote


def softmax(x: ArrayLike, axis: int = -1) -> np.ndarray:
    """Return exp(x) / Σ exp(x) along ``axis``: positive weights that share a budget of 1.

    The maximum along the axis is subtracted first. That changes no weight, since only
    differences count, and it keeps exp from overflowing.

    Parameters
    ----------
    x : array_like of real numbers
        Scores. An entry of -inf gets the weight 0.
    axis : int
        The axis of the candidates, which compete with each other. For a score table
        (…, n_q, n_k) that is the last one: each requester's row sums to 1.

    Returns
    -------
    ndarray
        Same shape; floating type of ``x`` (integers and booleans: float64; half precision
        is computed in float32 and given back in half).

    Raises
    ------
    TypeError
        ``x`` is complex, object or string; ``axis`` is not an integer.
    ValueError
        ``axis`` does not exist or is empty; ``x`` holds nan or +inf; all of a row is -inf.

    Notes
    -----
    Bridle (1990) named it; here it is the weighting of Vaswani et al. (2017), section 3.2.1.

    Examples
    --------
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
        if not np.isfinite(top).all():
            if np.isnan(top).any() or np.isposinf(top).any():
                raise ValueError("x holds nan or +inf; scores must be finite, or -inf")
            raise ValueError(f"x is -inf all along axis {axis} somewhere: nobody may be read")
        weights = np.exp(x.astype(compute) - top)
        weights /= weights.sum(axis=axis, keepdims=True)
    return weights.astype(result)
