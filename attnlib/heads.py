"""Real heads: their weights, the states they read, and every stage of one read."""

from collections.abc import Iterable, Sequence
from csv import DictReader
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnlib.attention import attention
from attnlib.checks import as_float, as_scale, check_known, check_shape, promote
from attnlib.scores import project, score_table

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class Read:
    """Every stage of one read: softmax(Q Kᵀ · scale) V, tokens as rows.

    ``H`` (…, n, d_model), ``Q`` and ``K`` (…, n, d_k), ``V`` (…, n, d_v); ``scores`` = Q Kᵀ,
    ``scaled`` = scores · scale and ``weights``, each (…, n, n): rows are requesters, columns
    candidates; ``output`` (…, n, d_v); ``tokens``, n words, or ``None``.
    """

    H: np.ndarray
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    scores: np.ndarray
    scaled: np.ndarray
    weights: np.ndarray
    output: np.ndarray
    tokens: tuple[str, ...] | None = None

    STAGES = ("H", "Q", "K", "V", "scores", "scaled", "weights", "output")

    def __repr__(self) -> str:
        return f"Read({', '.join(f'{name} {getattr(self, name).shape}' for name in self.STAGES)})"

    def _repr_html_(self) -> str:
        """Show the shapes, and the table of weights of one read (the first, if there are more)."""
        n = self.weights.shape[-1]
        first = self.weights.reshape(self.weights.size // max(n, 1), n)[:n]
        names = [escape(str(token)) for token in self.tokens or range(n)]
        shapes = "".join(_html_row(name, [getattr(self, name).shape]) for name in self.STAGES)
        head = "".join(f"<th scope='col'>{name}</th>" for name in names)
        rows = (_html_row(name, [f"{w:.2f}" for w in row]) for name, row in zip(names, first))
        weights = "<caption>weights: rows requesters, columns candidates</caption>"
        weights += f"<tr><td></td>{head}</tr>{''.join(rows)}"
        return f"<table><caption>shapes</caption>{shapes}</table><table>{weights}</table>"


def _html_row(name: str, cells: Iterable) -> str:
    cells = "".join(f"<td>{cell}</td>" for cell in cells)
    return f"<tr><th scope='row'>{name}</th>{cells}</tr>"


@dataclass(frozen=True, eq=False)
class Head:
    """One attention head: three projections of a state.

    ``W_Q`` and ``W_K`` (d_model, d_k), ``W_V`` (d_model, d_v), stored (in, out); the biases
    ``b_Q``, ``b_K`` (d_k,) and ``b_V`` (d_v,) are optional. Raises ``TypeError`` or
    ``ValueError`` when a shape or a dtype does not fit.
    """

    W_Q: np.ndarray
    W_K: np.ndarray
    W_V: np.ndarray
    b_Q: np.ndarray | None = None
    b_K: np.ndarray | None = None
    b_V: np.ndarray | None = None
    name: str = ""
    description: str = ""

    def __post_init__(self):
        for W_name, b_name in (("W_Q", "b_Q"), ("W_K", "b_K"), ("W_V", "b_V")):
            W, b = as_float(W_name, getattr(self, W_name)), getattr(self, b_name)
            check_shape(W.ndim == 2, W_name, W, "(d_model, d)")
            object.__setattr__(self, W_name, W)
            if b is not None:
                b = as_float(b_name, b)
                check_shape(b.shape == W.shape[1:], b_name, b, f"(d,), here {W.shape[1:]}")
                object.__setattr__(self, b_name, b)
        check_shape(self.W_K.shape == self.W_Q.shape, "W_K", self.W_K, f"W_Q's {self.W_Q.shape}")
        if self.W_V.shape[0] != self.W_Q.shape[0]:
            raise ValueError(f"W_V has {self.W_V.shape[0]} rows; W_Q has {self.W_Q.shape[0]}")

    def __repr__(self) -> str:
        shapes = f"W_Q {self.W_Q.shape}, W_V {self.W_V.shape}"
        return f"Head({self.name!r}, {shapes}: {self.description})"

    def views(self, H: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Q, K, V: H W + b for each role, (…, n, d_k) twice and (…, n, d_v)."""
        pairs = (self.W_Q, self.b_Q), (self.W_K, self.b_K), (self.W_V, self.b_V)
        return tuple(project(H, W, b) for W, b in pairs)

    def read(self, H: ArrayLike, tokens: Sequence[str] | None = None, **options: Any) -> Read:
        """Return every stage of the read of ``H`` (…, n, d_model).

        ``options`` are ``attn_mask``, ``is_causal``, ``scale`` and ``empty`` of ``attention``.
        ``ValueError`` when ``tokens`` does not name each row of ``H`` once.
        """
        H = as_float("H", H)
        Q, K, V = self.views(H)
        if tokens is not None and len(tokens) != H.shape[-2]:
            raise ValueError(f"tokens has {len(tokens)} entries, H has {H.shape[-2]} rows")
        output, weights = attention(Q, K, V, return_weights=True, **options)
        scores, compute = score_table(Q, K), promote(Q, K, V)[1]
        with np.errstate(all="ignore"):
            factor = as_scale(options.get("scale"), Q.shape[-1], compute.type)
            scaled = scores * factor.astype(scores.dtype)
        names = None if tokens is None else tuple(tokens)
        return Read(H, Q, K, V, scores, scaled, weights, output, names)


def list_heads() -> list[str]:
    """Return the names of the stored heads; L3H1 is head 1 of layer 3, both counted from 0."""
    return _names("heads")


def list_sentences() -> list[str]:
    """Return the sentences whose states are stored."""
    return _names("states")


def load_head(name: str) -> Head:
    """Return a stored head of all-MiniLM-L6-v2, in float32; ``ValueError`` lists the names."""
    stored = _load("heads", "head", name)
    return Head(**stored | {"name": name, "description": str(stored["description"])})


def load_states(sentence: str, layer: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Return ``(tokens, H)``: the tokens and the states (n, 384) that the heads of ``layer`` read.

    Raises ``ValueError`` for an unknown sentence or layer, with those that exist.
    """
    stored = _load("states", "sentence", sentence)
    if not isinstance(layer, (int, np.integer)) or f"H{layer}" not in stored:
        layers = sorted(int(key[1:]) for key in stored if key[0] == "H")
        raise ValueError(f"layer is {layer!r}; states are stored for layers {layers}")
    return tuple(stored["tokens"].tolist()), stored[f"H{layer}"]


def load_reference(sentence: str, head: str) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(weights, output)`` (n, n) and (n, 32) as the real model computed them."""
    check_known("head", head, list_heads())
    stored = _load("states", "sentence", sentence)
    return stored[f"{head}_weights"], stored[f"{head}_output"]


def load_statistics(quantity: str | None = None) -> list[dict[str, str | float | int]]:
    """Return what was measured on many sentences, each row with its sample size ``n``.

    With ``quantity``, only the rows of that name; ``ValueError`` names those that exist.
    """
    lines = (DATA / "statistics.csv").read_text(encoding="utf-8").splitlines()
    rows = [row | {"value": float(row["value"]), "n": int(row["n"])} for row in DictReader(lines)]
    if quantity is not None:
        check_known("quantity", quantity, sorted({row["quantity"] for row in rows}))
    return [row for row in rows if quantity in (None, row["quantity"])]


def _names(folder: str) -> list[str]:
    return sorted(path.stem.replace("-", " ") for path in (DATA / folder).glob("*.npz"))


def _load(folder: str, kind: str, name) -> dict[str, np.ndarray]:
    check_known(kind, name, _names(folder))
    with np.load(DATA / folder / f"{name.replace(' ', '-')}.npz") as stored:
        return dict(stored)
