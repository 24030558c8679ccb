"""Chapter 2: six registries that say they turn into a dict. Reading them spoils the fun."""

import numpy as np

from attnlib.softmax import softmax


def registry_a(query, keys, values, sharpness):
    """A soft registry: query (d_k,), keys (n_k, d_k) and values (n_k, d_v) give (d_v,)."""
    return softmax(sharpness * (keys @ query)) @ values


def registry_b(query, keys, values, sharpness):
    """A soft registry: query (d_k,), keys (n_k, d_k) and values (n_k, d_v) give (d_v,)."""
    return softmax(-sharpness * ((keys - query) ** 2).sum(axis=1)) @ values


def registry_c(query, keys, values, sharpness):
    """A soft registry: query (d_k,), keys (n_k, d_k) and values (n_k, d_v) give (d_v,)."""
    return softmax(-((keys - query) ** 2).sum(axis=1)) @ values


def registry_d(query, keys, values, sharpness):
    """A soft registry: query (d_k,), keys (n_k, d_k) and values (n_k, d_v) give (d_v,)."""
    degrees = 1 / (1 + sharpness * ((keys - query) ** 2).sum(axis=1))
    return degrees / degrees.sum() @ values


def registry_e(query, keys, values, sharpness):
    """A soft registry: query (d_k,), keys (n_k, d_k) and values (n_k, d_v) give (d_v,)."""
    return softmax(-((keys - query) ** 2).sum(axis=1) / (1 + sharpness)) @ values


def registry_f(query, keys, values, sharpness):
    """A soft registry: query (d_k,), keys (n_k, d_k) and values (n_k, d_v) give (d_v,)."""
    apart = np.asarray(keys).astype(int) - np.asarray(query).astype(int)
    return softmax(-sharpness * (apart**2).sum(axis=1)) @ values
