"""Projections of a state, and the table of raw scores."""

import numpy as np
from numpy.typing import ArrayLike

from attnlib.checks import as_float, as_rows, broadcast, check_shape, product


def project(H: ArrayLike, W: ArrayLike, b: ArrayLike | None = None) -> np.ndarray:
    """Return H W + b, (…, n, d): one learned view of every state.

    ``H``, array_like (…, n, d_model): states, tokens as rows. ``W``, array_like (d_model, d):
    projection weights, stored (in, out). ``b``, array_like (d,), optional: bias, the same for
    every token. The result has the promoted floating type. ``TypeError`` for what is complex,
    object or string; ``ValueError`` for shapes that do not fit, and finite inputs that overflow.

    >>> project([[1.0, 2.0]], [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    array([[1., 2., 3.]])
    """
    H, W = as_rows("H", H, "(…, n, d_model)"), as_float("W", W)
    d_model = H.shape[-1]
    mistake = "; is W stored (out, in)? pass W.T" if W.shape[1:] == (d_model,) else ""
    expected = f"({d_model}, d), as H has {d_model} columns{mistake}"
    check_shape(W.ndim == 2 and W.shape[0] == d_model, "W", W, expected)
    if b is None:
        return product("H and W", H, W)
    b = as_float("b", b)
    check_shape(b.shape == W.shape[1:], "b", b, f"{W.shape[1:]}, the columns of W")
    return product("H, W and b", H, W, b)


def score_table(Q: ArrayLike, K: ArrayLike) -> np.ndarray:
    """Return Q Kᵀ: the raw score of every candidate for every requester, (…, n_q, n_k).

    Entry (i, j) is q_i·k_j, unscaled and unmasked. Rows are requesters, columns candidates.
    ``Q`` is (…, n_q, d_k) and ``K`` (…, n_k, d_k); the table has their promoted floating type.
    ``TypeError`` and ``ValueError`` as in ``project``, ``ValueError`` for d_k = 0 too.

    >>> score_table([[1, 0], [1, 2]], [[3, 0], [0, 1], [2, 2]]).tolist()
    [[3.0, 0.0, 2.0], [3.0, 2.0, 6.0]]
    """
    Q, K = as_rows("Q", Q, "(…, n_q, d_k)"), as_rows("K", K, "(…, n_k, d_k)")
    check_widths(Q, K)
    broadcast(Q=Q, K=K)
    return product("Q and K", Q, K.swapaxes(-1, -2))


def check_widths(Q: np.ndarray, K: np.ndarray) -> None:
    """Refuse queries and keys whose widths differ, or are 0."""
    d_k, shapes = Q.shape[-1], f"(Q {Q.shape}, K {K.shape})"
    if K.shape[-1] != d_k:
        turned = K.shape[-2] == d_k
        mistake = ": did you pass K transposed?" if turned else "; both need the same width d_k"
        raise ValueError(f"K has {K.shape[-1]} columns, Q has {d_k}{mistake} {shapes}")
    if d_k == 0:
        raise ValueError(f"Q and K have no columns {shapes}: d_k must be at least 1")
