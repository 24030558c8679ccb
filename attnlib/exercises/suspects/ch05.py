"""Chapter 5: six functions that say no score changes. Black boxes: reading them spoils the fun."""

import numpy as np


def _mixing(d_k):
    return np.random.default_rng(5).standard_normal((d_k, d_k)) + 2 * np.eye(d_k)


def turn_a(W_Q, W_K):
    """Return two new matrices; the score of any two states is said to stay as it was."""
    R = _mixing(np.shape(W_Q)[1])
    return W_Q @ R, W_K @ np.linalg.inv(R).T


def turn_b(W_Q, W_K):
    """Return two new matrices; the score of any two states is said to stay as it was."""
    R = _mixing(np.shape(W_Q)[1])
    return W_Q @ R, W_K @ R


def turn_c(W_Q, W_K):
    """Return two new matrices; the score of any two states is said to stay as it was."""
    return np.array(W_K), np.array(W_Q)


def turn_d(W_Q, W_K):
    """Return two new matrices; the score of any two states is said to stay as it was."""
    return 2.0 * np.asarray(W_Q), 2.0 * np.asarray(W_K)


def turn_e(W_Q, W_K):
    """Return two new matrices; the score of any two states is said to stay as it was."""
    signs = (-1.0) ** (1 + np.arange(np.shape(W_Q)[1]))
    return (W_Q * signs)[:, ::-1], (W_K * signs)[:, ::-1]


def turn_f(W_Q, W_K):
    """Return two new matrices; the score of any two states is said to stay as it was."""
    R = _mixing(np.shape(W_Q)[1])
    return W_Q @ R, W_K @ np.linalg.inv(R)
