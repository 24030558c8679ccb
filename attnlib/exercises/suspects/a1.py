"""Appendix A1: six functions that say they are a masked read. Black boxes, not to be read first."""

import numpy as np


def scores_of(Q, K):
    return Q @ K.T / np.sqrt(Q.shape[1])


def shared(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def read_a(Q, K, V, keep):
    """A read in which requester i reads candidate j only where keep[i, j] is True."""
    return (shared(scores_of(Q, K)) * keep) @ V


def read_b(Q, K, V, keep):
    """A read in which requester i reads candidate j only where keep[i, j] is True."""
    return shared(np.where(keep, scores_of(Q, K), -10.0)) @ V


def read_c(Q, K, V, keep):
    """A read in which requester i reads candidate j only where keep[i, j] is True."""
    return shared(np.where(keep, scores_of(Q, K), -np.inf)) @ V


def read_d(Q, K, V, keep):
    """A read in which requester i reads candidate j only where keep[i, j] is True."""
    return shared(np.where(keep[:1], scores_of(Q, K), -np.inf)) @ V


def read_e(Q, K, V, keep):
    """A read in which requester i reads candidate j only where keep[i, j] is True."""
    return shared(scores_of(Q, K) + keep) @ V


def read_f(Q, K, V, keep):
    """A read in which requester i reads candidate j only where keep[i, j] is True."""
    rows = [shared(scores_of(q[None], K[may])) @ V[may] for q, may in zip(Q, keep)]
    return np.concatenate(rows)
