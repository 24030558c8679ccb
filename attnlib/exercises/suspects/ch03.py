"""Chapter 3: six reads that say they keep key and value apart. Reading them spoils the fun."""

import numpy as np

from attnlib.softmax import softmax


def read_a(Q, K, V):
    """A read: Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) give output and weights."""
    weights = softmax(Q @ K.T)
    return weights @ V, weights


def read_b(Q, K, V):
    """A read: Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) give output and weights."""
    weights = softmax(Q @ K.T + np.linalg.norm(V, axis=1))
    return weights @ V, weights


def read_c(Q, K, V):
    """A read: Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) give output and weights."""
    weights = softmax(Q @ K.T)
    return weights @ K, weights


def read_d(Q, K, V):
    """A read: Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) give output and weights."""
    weights = np.eye(len(K))[np.argmax(Q @ K.T, axis=1)]
    return weights @ V, weights


def read_e(Q, K, V):
    """A read: Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) give output and weights."""
    scores = Q @ K.T
    return softmax(scores + np.linalg.norm(V, axis=1)) @ V, softmax(scores)


def read_f(Q, K, V):
    """A read: Q (n_q, d_k), K (n_k, d_k) and V (n_k, d_v) give output and weights."""
    weights = softmax(Q @ K.T + 1e-7 * np.linalg.norm(V, axis=1))
    return weights @ V, weights
