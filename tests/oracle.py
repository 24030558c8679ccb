"""Attention from its definition, three loops over Python floats, and the inputs the tests use.

Nothing here comes from attnlib: this is what attnlib is compared with.
"""

import math

import numpy as np


def softmax_row(scores: list[float]) -> list[float]:
    """Return the weights of one row; -inf gets 0, and a row of nothing else gets only zeros."""
    top = max(scores, default=-math.inf)
    if top == -math.inf:
        return [0.0 for _ in scores]
    parts = [math.exp(score - top) for score in scores]
    total = math.fsum(parts)
    return [part / total for part in parts]


def one_read(Q, K, V, d_v, mask, is_causal, scale):
    """Return ``(output, weights)`` of one table: loops over requesters, candidates, columns."""
    output, weights = [], []
    for i, query in enumerate(Q):
        scores = []
        for j, key in enumerate(K):
            added = 0.0 if mask is None else mask[i][j]
            if isinstance(added, bool):
                added = 0.0 if added else -math.inf
            if added == -math.inf or (is_causal and j > i):
                scores.append(-math.inf)
            else:
                dot = math.fsum(q * k for q, k in zip(query, key, strict=True))
                scores.append(dot * scale + added)
        row = softmax_row(scores)
        weights.append(row)
        read = [j for j, score in enumerate(scores) if score != -math.inf]
        output.append([math.fsum(row[j] * V[j][c] for j in read) for c in range(d_v)])
    return output, weights


def attention(Q, K, V, *, attn_mask=None, is_causal=False, scale=None, empty="raise"):
    """Return ``(output, weights)`` in float64; a requester that may read nobody gets zeros."""
    Q, K, V = np.asarray(Q), np.asarray(K), np.asarray(V)
    mask = None if attn_mask is None else np.asarray(attn_mask)
    (n_q, d_k), (n_k, d_v) = Q.shape[-2:], V.shape[-2:]
    scale = 1 / math.sqrt(d_k) if scale is None else float(scale)
    tables = [Q, K, V] if mask is None else [Q, K, V, mask]
    leading = np.broadcast_shapes(*(table.shape[:-2] for table in tables))
    spread = [np.broadcast_to(table, leading + table.shape[-2:]) for table in tables]
    output, weights = np.zeros((*leading, n_q, d_v)), np.zeros((*leading, n_q, n_k))
    for index in np.ndindex(*leading):
        q, k, v = (table[index].astype(float).tolist() for table in spread[:3])
        m = None if mask is None else spread[3][index].tolist()
        out, w = one_read(q, k, v, d_v, m, is_causal, scale)
        output[index], weights[index] = np.reshape(out, (n_q, d_v)), np.reshape(w, (n_q, n_k))
    if empty == "raise" and not weights.any(axis=-1).all():
        raise ValueError("a requester may read nobody")
    return output, weights


def matmul(A, B):
    """Return A B by three loops, for two tables."""
    A, B = np.asarray(A).astype(float).tolist(), np.asarray(B).astype(float).tolist()
    columns = list(zip(*B, strict=True))
    return np.array(
        [[math.fsum(a * b for a, b in zip(row, col, strict=True)) for col in columns] for row in A]
    )


SEEDS = (2, 3, 5)  # of tables whose weights are neither equal nor near 0 or 1


# Of Q, K and V, for the comparisons with PyTorch.
PEER_SHAPES = {
    "one table": ((3, 4), (5, 4), (5, 2)),
    "more requesters than candidates": ((5, 4), (3, 4), (3, 2)),
    "square": ((5, 4), (5, 4), (5, 4)),
    "batch": ((2, 3, 4), (2, 5, 4), (2, 5, 7)),
    "batch and heads": ((2, 6, 3, 4), (2, 6, 5, 4), (2, 6, 5, 7)),
    "long": ((70, 16), (90, 16), (90, 24)),
}


def numbers(*shape, dtype=np.float64, seed=0):
    """Return multiples of 1/32 of size about 1, which float16 and all wider types hold exactly."""
    drawn = np.random.default_rng([seed, *shape]).normal(size=shape)
    return (np.round(drawn * 32) / 32).astype(dtype)


def tables(q=(3, 4), k=(5, 4), v=(5, 2), dtype=np.float64, seed=2):
    """Return Q, K, V. By default n_q, n_k, d_k, d_v are 3, 5, 4, 2: no two sizes are equal."""
    return tuple(numbers(*shape, dtype=dtype, seed=seed + i) for i, shape in enumerate((q, k, v)))


def bool_mask(*shape, seed=0):
    """Return a mask (True = may be read) with a True and a False in every row, rows unlike."""
    keep = np.random.default_rng([seed, *shape]).random(shape) < 0.6
    n_q, n_k = shape[-2:]
    for i in range(n_q):
        keep[..., i, (2 * i) % n_k] = True
        keep[..., i, (2 * i + 1) % n_k] = False
    return keep


def float_mask(*shape, seed=0, dtype=np.float64):
    """Return a mask to add: numbers of both signs, -inf where ``bool_mask`` forbids."""
    return np.where(bool_mask(*shape, seed=seed), numbers(*shape, seed=seed + 7), -np.inf).astype(
        dtype
    )
