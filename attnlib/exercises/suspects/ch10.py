"""Chapter 10: six functions that say they are attention. Black boxes: reading spoils the fun."""

import numpy as np


def softmax(table):
    e = np.exp(table - table.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention_a(Q, K, V):
    """The whole formula, from Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) to (n_q, d_v)."""
    return softmax(Q @ K.T / np.sqrt(V.shape[1])) @ V


def attention_b(Q, K, V):
    """The whole formula, from Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) to (n_q, d_v)."""
    return softmax(np.einsum("ir,jr->ij", Q, K) / np.sqrt(K.shape[1])) @ V


def attention_c(Q, K, V):
    """The whole formula, from Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) to (n_q, d_v)."""
    return softmax(K @ Q.T / np.sqrt(K.shape[1])).T @ V


def attention_d(Q, K, V):
    """The whole formula, from Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) to (n_q, d_v)."""
    with np.errstate(all="ignore"):
        e = np.exp(Q @ K.T / np.sqrt(K.shape[1]))
        return e / e.sum(axis=1, keepdims=True) @ V


def attention_e(Q, K, V):
    """The whole formula, from Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) to (n_q, d_v)."""
    output = softmax(Q @ K.T / np.sqrt(K.shape[1])) @ V
    return output.astype(np.asarray(V).dtype)


def attention_f(Q, K, V):
    """The whole formula, from Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) to (n_q, d_v)."""
    root = np.sqrt(K.shape[1])
    if Q.dtype.kind == "f":
        Q /= root
    else:
        Q = Q / root
    return softmax(Q @ K.T) @ V
