"""Chapter 7: seven functions that say they are softmax. Black boxes: reading spoils the fun."""

import numpy as np


def softmax_a(table):
    """A softmax of a table of scores."""
    shifted = table - np.max(table, axis=-1, keepdims=True)
    return np.exp(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def softmax_b(table):
    """A softmax of a table of scores."""
    e = np.exp(table - np.max(table, axis=-2, keepdims=True))
    return e / e.sum(axis=-2, keepdims=True)


def softmax_c(table):
    """A softmax of a table of scores."""
    e = np.exp(table - np.max(table))
    return e / e.sum()


def softmax_d(table):
    """A softmax of a table of scores."""
    e = np.exp((table - np.max(table, axis=-1, keepdims=True)) / 2)
    return e / e.sum(axis=-1, keepdims=True)


def softmax_e(table):
    """A softmax of a table of scores."""
    with np.errstate(all="ignore"):
        return np.exp(table) / np.exp(table).sum(axis=-1, keepdims=True)


def softmax_f(table):
    """A softmax of a table of scores."""
    p = np.maximum(table, 0) + 1e-3
    return p / p.sum(axis=-1, keepdims=True)


def softmax_g(table):
    """A softmax of a table of scores."""
    with np.errstate(all="ignore"):
        e = np.exp(table - np.max(table))
        return e / e.sum(axis=-1, keepdims=True)
