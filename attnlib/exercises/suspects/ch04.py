"""Chapter 4: six functions that say they are a view. Black boxes: reading them spoils the fun."""

import numpy as np

_rng = np.random.default_rng(4)
_W, _B = _rng.standard_normal((6, 3)), _rng.standard_normal(3)


def view_a(H):
    """A view, (n, 3), of states, (n, 6)."""
    return np.asarray(H) @ _W + _B


def view_b(H):
    """A view, (n, 3), of states, (n, 6)."""
    return np.maximum(np.asarray(H) @ _W + _B, 0.0)


def view_c(H):
    """A view, (n, 3), of states, (n, 6)."""
    view = np.asarray(H) @ _W + _B
    return view + view.mean(axis=0)


def view_d(H):
    """A view, (n, 3), of states, (n, 6)."""
    return np.asarray(H) @ _W + _B * np.arange(len(H))[:, None]


def view_e(H):
    """A view, (n, 3), of states, (n, 6)."""
    return np.asarray(H) @ (_W[::-1] - 0.5)


def view_f(H):
    """A view, (n, 3), of states, (n, 6)."""
    return (np.asarray(H) @ _W + _B) / len(H)
