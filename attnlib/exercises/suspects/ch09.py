"""Chapter 9: seven scaled score tables. Black boxes: reading them spoils the fun."""

import numpy as np


def scale_a(Q, K):
    """A table of scores of Q and K, divided by the root of d_k."""
    return Q @ K.T / Q.shape[1]


def scale_b(Q, K):
    """A table of scores of Q and K, divided by the root of d_k."""
    table = Q @ K.T
    return table / np.sqrt(table.shape[1])


def scale_c(Q, K):
    """A table of scores of Q and K, divided by the root of d_k."""
    root = np.sqrt(np.sqrt(Q.shape[1]))
    return (Q / root) @ (K / root).T


def scale_d(Q, K):
    """A table of scores of Q and K, divided by the root of d_k."""
    return Q @ K.T / 8


def scale_e(Q, K):
    """A table of scores of Q and K, divided by the root of d_k."""
    return Q @ K.T / np.sqrt(Q.shape[1])


def scale_f(Q, K):
    """A table of scores of Q and K, divided by the root of d_k."""
    table = Q @ K.T
    return table / np.std(table)


def scale_g(Q, K):
    """A table of scores of Q and K, divided by the root of d_k."""
    return Q @ K.T / (Q.shape[1] / 2)
