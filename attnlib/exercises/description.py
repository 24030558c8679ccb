"""How an exercise is described: one ``Exercise`` each, in the file of its chapter."""

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnlib.exercises.sheets import Raised, Sheet, digest

KINDS = ("implement", "predict", "judge", "vary", "explain")


@dataclass(frozen=True)
class Mistake:
    """A known mistake: its ``name``, a ``wrong`` function or value, and the ``hint`` it earns."""

    name: str
    wrong: Any
    hint: str


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One exercise: what it asks for, what is right, and what is known to go wrong.

    ``kind``: implement (write a function), predict (a value, before running), judge (write a
    function that tells right functions from wrong ones), vary (a value, measured by changing an
    experiment), explain (in words, graded by hand).
    ``reference``: a right function, or the right value. ``cases``: tuples of positional inputs
    for a function. ``also_right``: other functions or values that must be accepted.
    ``decimals``: how many digits of a number count, None for words; ``within``: how far off the
    last of them may be. ``rubric``: (points, what earns them), for the teacher.
    """

    number: str
    title: str
    kind: str
    difficulty: int
    minutes: int
    trains: str
    hints: Sequence[str]
    reference: Any = None
    cases: Sequence[tuple] = ()
    mistakes: Sequence[Mistake] = ()
    also_right: Sequence[Any] = ()
    tolerance: float = 1e-6
    same_dtype: bool = False
    decimals: int | None = None
    within: int = 0
    rubric: Sequence[tuple[int, str]] = ()

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"{self.number}: kind is {self.kind!r}; there are {', '.join(KINDS)}")
        if self.difficulty not in (1, 2, 3):
            raise ValueError(f"{self.number}: difficulty is {self.difficulty}; expected 1, 2 or 3")
        if (self.kind == "explain") != bool(self.rubric):
            raise ValueError(f"{self.number}: a rubric belongs to what is explained in words")

    @property
    def heading(self) -> str:
        """The line under the exercise's title: kind, difficulty, minutes, what it trains."""
        level = f"difficulty {self.difficulty} of 3"
        return f"*{self.kind.capitalize()}* · {level} · {self.minutes} minutes · {self.trains}"

    def sheet(self) -> Sheet:
        """Return the exercise as plain data, every outcome computed."""
        about = dict(number=self.number, title=self.title, kind=self.kind, hints=tuple(self.hints))
        about["hint_of"] = {mistake.name: mistake.hint for mistake in self.mistakes}
        if self.kind == "explain":
            return Sheet(**about)
        if not callable(self.reference):
            return Sheet(
                **about,
                value=digest(self.number, self.reference, self.decimals),
                value_mistakes={
                    digest(self.number, mistake.wrong, self.decimals): mistake.name
                    for mistake in self.mistakes
                },
                decimals=self.decimals,
                within=self.within,
                solution=str(self.reference),
            )
        cases = tuple(sorted(self.cases, key=size))
        return Sheet(
            **about,
            cases=cases,
            right=outcomes(self.reference, cases),
            mistakes={mistake.name: outcomes(mistake.wrong, cases) for mistake in self.mistakes},
            tolerance=self.tolerance,
            same_dtype=self.same_dtype,
            solution=textwrap.dedent(inspect.getsource(self.reference)),
        )


def size(case: tuple) -> int:
    """Return how many numbers the inputs of a case hold."""
    return sum(np.size(value) for value in case if not callable(value))


def outcomes(function: Callable, cases: Sequence[tuple]) -> tuple:
    """Return what ``function`` gives for each case: a value, or that it raised."""
    return tuple(outcome(function, case) for case in cases)


def outcome(function: Callable, case: tuple) -> Any:
    copies = [value.copy() if isinstance(value, np.ndarray) else value for value in case]
    try:
        with np.errstate(all="ignore"):
            return function(*copies)
    except Exception as error:
        return Raised(type(error).__name__)
