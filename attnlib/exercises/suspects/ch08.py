"""Chapter 8: six reads, by a table of scores. Black boxes: reading them spoils the fun."""

import numpy as np


def softmax(table):
    e = np.exp(table - np.max(table, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def best(table):
    return np.eye(np.shape(table)[-1])[np.argmax(table, axis=-1)]


def read_a(table, values):
    """A read of values, by a table of scores."""
    return softmax(table).round(2) @ values


def read_b(table, values):
    """A read of values, by a table of scores."""
    return softmax(table) @ values


def read_c(table, values):
    """A read of values, by a table of scores."""
    return best(table) @ values


def read_d(table, values):
    """A read of values, by a table of scores."""
    return (0.9 * best(table) + 0.1 / np.shape(table)[-1]) @ values


def read_e(table, values):
    """A read of values, by a table of scores."""
    return softmax(2 * np.asarray(table)) @ values


def read_f(table, values):
    """A read of values, by a table of scores."""
    return np.full(np.shape(table), 1 / np.shape(table)[-1]) @ values
