"""The lookup task: ask by a request code, be found by a label code, answer with a payload."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Batch(NamedTuple):
    """Examples: states, what each candidate has to say, and the columns asked for."""

    requesters: np.ndarray  #: (batch, n_q, d_model)
    candidates: np.ndarray  #: (batch, n_k, d_model)
    payloads: np.ndarray  #: (batch, n_k, payload_width)
    sources: np.ndarray  #: (batch, n_q)

    @property
    def targets(self) -> np.ndarray:
        """The payloads of the sources, (batch, n_q, payload_width)."""
        return np.take_along_axis(self.payloads, self.sources[..., None], axis=1)


def check_whole(least: int, **numbers: int) -> None:
    """Refuse what is not a whole number, or is below ``least``; the message names it."""
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            raise TypeError(f"{name} is {number!r}; expected a whole number")
        if number < least:
            raise ValueError(f"{name} is {number}; expected at least {least}")


def check_positive(name: str, number: float) -> None:
    """Refuse what is not a positive, finite number; the message names it."""
    if not (isinstance(number, (int, float)) and 0 < number < np.inf):
        raise ValueError(f"{name} is {number!r}; expected a positive number")


@dataclass(frozen=True)
class Lookup:
    """One requester names one of several candidates and wants its payload.

    A name has a label code and a request code, ``label_width`` normal numbers of standard
    deviation ``code_size`` each, drawn independently: a request does not resemble its label. A
    candidate's state is [label ; payload], the requester's [request ; 0]. Payloads are fresh for
    each candidate (mean square 1), whatever its name. ``TypeError`` or ``ValueError`` names a
    number that is no count, a size that is not positive, or more candidates than names.
    """

    names: int = 32
    candidates: int = 8
    label_width: int = 32
    payload_width: int = 8
    code_size: float = 1.0
    seed: int = 0

    def __post_init__(self):
        check_whole(1, names=self.names, candidates=self.candidates)
        check_whole(1, label_width=self.label_width, payload_width=self.payload_width)
        check_whole(0, seed=self.seed)
        check_positive("code_size", self.code_size)
        if self.candidates > self.names:
            raise ValueError(f"candidates is {self.candidates}, but names is only {self.names}")

    @property
    def d_model(self) -> int:
        """The width of a state, label_width + payload_width."""
        return self.label_width + self.payload_width

    def codes(self) -> np.ndarray:
        """Return the labels and the requests, (2, names, label_width)."""
        shape = (2, self.names, self.label_width)
        return self.code_size * np.random.default_rng(self.seed).standard_normal(shape)

    def fresh_payloads(self, size: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return random payloads, (size, n, payload_width), each of mean square 1."""
        payloads = rng.standard_normal((size, n, self.payload_width))
        return payloads / np.sqrt((payloads**2).mean(axis=-1, keepdims=True))

    def batch(self, size: int, rng: np.random.Generator, distance: int | None = None) -> Batch:
        """Return ``size`` fresh examples.

        The source is the last candidate for ``distance`` 1, the one before for 2; ``None``: random.
        """
        n, (labels, requests) = self.candidates, self.codes()
        check_whole(1, size=size, distance=1 if distance is None else distance)
        names = rng.random((size, self.names)).argsort(axis=1)[:, :n]
        payloads, sources = self.fresh_payloads(size, n, rng), rng.integers(n, size=(size, 1))
        if distance is not None:
            if distance > n:
                raise ValueError(f"distance is {distance}, but there are only {n} candidates")
            sources[:] = n - distance
        asked = requests[np.take_along_axis(names, sources, axis=1)]
        requesters = np.concatenate([asked, np.zeros_like(payloads[:, :1])], axis=-1)
        candidates = np.concatenate([labels[names], payloads], axis=-1)
        return Batch(requesters, candidates, payloads, sources)


class Successor(Lookup):
    """Self-attention: all names in a ring, each wants the payload of the next one.

    A token asks and is asked with one state, [label ; payload]; all names are candidates.
    """

    def __post_init__(self):
        object.__setattr__(self, "candidates", self.names)
        super().__post_init__()

    def batch(self, size: int, rng: np.random.Generator, distance: int | None = None) -> Batch:
        """Return ``size`` fresh examples, n_q = n_k = names; ``distance`` has no meaning here."""
        n, labels = self.names, self.codes()[0]
        payloads = self.fresh_payloads(size, n, rng)
        states = np.concatenate([np.tile(labels, (size, 1, 1)), payloads], axis=-1)
        return Batch(states, states, payloads, np.tile((np.arange(n) + 1) % n, (size, 1)))
