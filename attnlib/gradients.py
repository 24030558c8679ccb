"""Gradients of the read: how a loss on the output changes with Q, K and V."""

import numpy as np
from numpy.typing import ArrayLike

from attnlib.attention import attention, check_inputs, set_aside
from attnlib.checks import as_float, as_scale, check_shape, promote


def attention_vjp(
    grad_output: ArrayLike, Q: ArrayLike, K: ArrayLike, V: ArrayLike, *,
    attn_mask: ArrayLike | None = None, is_causal: bool = False, scale: float | None = None,
    empty: str = "raise",
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Return ``(dQ, dK, dV)``, the gradients of a loss L from G = ∂L/∂output.

    With S = Q Kᵀ · scale + mask, A = softmax(S) and output = A V, the chain rule read backwards is

        dV = Aᵀ G, dA = G Vᵀ, dS = A ∘ (dA - Σ_row A ∘ dA), dQ = scale · dS K, dK = scale · dSᵀ Q

    ``grad_output`` is G, array_like (…, n_q, d_v), of exactly the shape of the output; the other
    arguments are those of ``attention``. Each gradient has the shape of its input (an input that is
    broadcast over leading axes is read many times, and its gradients are summed) and the promoted
    floating type of all four arrays. What may not be read has no gradient; neither has an empty
    row. Errors are those of ``attention``, and ``ValueError`` when the shape of ``grad_output`` is
    not that of the output, or finite inputs give gradients that exceed the range of the dtype.

    >>> dQ, dK, dV = attention_vjp([[1.0]], [[0.0]], [[1.0], [2.0]], [[3.0], [5.0]])
    >>> dQ, dK.ravel(), dV.ravel()
    (array([[0.5]]), array([0., 0.]), array([0.5, 0.5]))
    """
    options = {"attn_mask": attn_mask, "is_causal": is_causal, "scale": scale, "empty": empty}
    read = check_inputs(Q, K, V, *options.values())
    shapes = [np.shape(x) for x in (Q, K, V)]
    G, expected = as_float("grad_output", grad_output), (*read.Q.shape[:-1], read.V.shape[-1])
    check_shape(G.shape == expected, "grad_output", G, f"{expected}, as the output")
    result, compute = promote(G, np.empty(0, read.result))
    arrays = G, Q, K, V = [x.astype(compute, copy=False) for x in (G, read.Q, read.K, read.V)]
    factor = as_scale(scale, Q.shape[-1], compute.type)
    _, A = attention(Q, K, V, return_weights=True, **options)
    with np.errstate(all="ignore"):
        dV = A.swapaxes(-1, -2) @ G
        dS = softmax_vjp(G @ V.swapaxes(-1, -2), A) * factor
        dQ, dK = dS @ set_aside(K)[0], dS.swapaxes(-1, -2) @ set_aside(Q)[0]
        dQ, dK, dV = (sum_to(dX, shape).astype(result) for dX, shape in zip((dQ, dK, dV), shapes))
    if all(np.isfinite(x).all() for x in arrays):
        if not all(np.isfinite(grad).all() for grad in (dQ, dK, dV)):
            raise ValueError(f"the gradients exceed the range of {result}; pass a wider dtype")
    return dQ, dK, dV


def sum_to(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``grad`` summed over the axes along which an array of ``shape`` was broadcast."""
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    spread = tuple(i for i, size in enumerate(shape) if size == 1 and grad.shape[i] != 1)
    return grad.sum(axis=spread, keepdims=True)


def softmax_vjp(grad: ArrayLike, weights: ArrayLike, axis: int = -1) -> np.ndarray:
    """Return dS = A ∘ (dA - Σ A ∘ dA) along ``axis``: the gradient at the scores of A = softmax(S).

    It is ``grad`` = dA times the Jacobian of ``softmax_jacobian``, which is never built. Same
    shape as ``weights``; a weight of 0 has the gradient 0, whatever its dA. ``ValueError`` for
    shapes that differ or no such axis, ``TypeError`` for what is no real number.
    """
    dA, A = as_float("grad", grad), as_float("weights", weights)
    check_shape(dA.shape == A.shape, "grad", dA, f"{A.shape}, that of weights")
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"axis is {axis!r}; expected one integer, the axis of the candidates")
    result, compute = promote(dA, A)
    A = A.astype(compute)
    with np.errstate(all="ignore"):
        dA = np.where(A == 0, 0, dA.astype(compute))
        dA -= (A * dA).sum(axis=axis, keepdims=True)
        return np.where(A == 0, 0, A * dA).astype(result)


def softmax_jacobian(weights: ArrayLike) -> np.ndarray:
    """Return ∂A/∂S = diag(A) - A Aᵀ, (n, n), for one row of weights A = softmax(S), (n,).

    Entry (i, j) says how weight i moves with score j: A_i (δ_ij - A_j).
    ``TypeError`` for what is no real number, ``ValueError`` for more or fewer axes than one.
    """
    A = as_float("weights", weights)
    check_shape(A.ndim == 1, "weights", A, "one row, (n,)")
    result, compute = promote(A)
    A = A.astype(compute)
    return (np.diag(A) - np.outer(A, A)).astype(result)
