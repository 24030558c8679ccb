"""Chapter 1: six functions that say they are dynamic reads. Reading them spoils the fun."""

import numpy as np

from attnlib.softmax import softmax


def read_a(request, labels, payloads):
    """A read: request (w,), labels (n, w) and payloads (n, p) give an answer (p,)."""
    shares = 0.5 ** np.arange(len(labels), 0, -1)
    return shares / shares.sum() @ payloads


def read_b(request, labels, payloads):
    """A read: request (w,), labels (n, w) and payloads (n, p) give an answer (p,)."""
    return softmax(labels[:, ::-1] @ request) @ payloads


def read_c(request, labels, payloads):
    """A read: request (w,), labels (n, w) and payloads (n, p) give an answer (p,)."""
    return softmax(np.linalg.norm(labels, axis=1)) @ payloads


def read_d(request, labels, payloads):
    """A read: request (w,), labels (n, w) and payloads (n, p) give an answer (p,)."""
    return softmax(np.resize(request, len(labels))) @ payloads


def read_e(request, labels, payloads):
    """A read: request (w,), labels (n, w) and payloads (n, p) give an answer (p,)."""
    return payloads[np.argmax(labels[:, ::-1] @ request)]


def read_f(request, labels, payloads):
    """A read: request (w,), labels (n, w) and payloads (n, p) give an answer (p,)."""
    size = np.linalg.norm(payloads, axis=1)
    return softmax(labels[:, ::-1] @ request + size) @ payloads
