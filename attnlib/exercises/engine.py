"""``check`` an answer against an exercise's sheet, and say what is wrong with it."""

from collections import Counter
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from attnlib.exercises.guard import SECONDS, Call, TimeUp, call
from attnlib.exercises.sheets import Raised, Sheet, digest, find

_hints_given: Counter = Counter()


@dataclass(frozen=True)
class Verdict:
    """The answer of a check: true when the exercise is solved. ``mistake`` names a known one."""

    right: bool
    message: str
    mistake: str = ""

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        return self.message

    def _ipython_display_(self) -> None:
        """Show nothing: the message is printed already."""


def check(number: str, answer: Any) -> Verdict:
    """Print whether ``answer`` solves exercise ``number``, or what is wrong, and return it.

    ``answer`` is the function that the exercise asks for, or the value. A mistake that the
    exercise knows gets its hint; any other wrong function gets the smallest case where it
    differs. ``ValueError`` for a number that there is not.
    """
    sheet = find(number)
    verdict = judge(sheet, answer)
    print(f"{sheet.number} {verdict.message}")
    return verdict


def hint(number: str) -> None:
    """Print the next hint of exercise ``number``; after the last, the first again."""
    sheet = find(number)
    if not sheet.hints:
        print(f"{sheet.number} has no hint")
        return
    step = _hints_given[sheet.number] % len(sheet.hints)
    _hints_given[sheet.number] += 1
    print(f"{sheet.number} Hint {step + 1} of {len(sheet.hints)}: {sheet.hints[step]}")


def solution(number: str) -> None:
    """Print a solution of exercise ``number``, where this copy of the book has it."""
    sheet = find(number)
    print(sheet.solution.rstrip() or f"{sheet.number}: no solution in this copy of the book")


def judge(sheet: Sheet, answer: Any) -> Verdict:
    """Return the verdict on ``answer``."""
    if sheet.kind == "explain":
        return Verdict(False, "This one is answered in words, and read by a person.")
    if answer is None or answer is ...:
        return Verdict(False, "There is no answer yet.")
    return judge_function(sheet, answer) if sheet.cases else judge_value(sheet, answer)


def judge_value(sheet: Sheet, answer: Any) -> Verdict:
    """Compare the digest of a value: the right one is not stored."""
    if sheet.decimals is None:
        if not isinstance(answer, str):
            return Verdict(False, f"The answer is a word in quotes, not {kind_of(answer)}.")
        near = [answer]
    else:
        try:
            if isinstance(answer, str | bool):
                raise TypeError
            number = float(answer)
        except (TypeError, ValueError):
            return Verdict(False, f"The answer is one number, not {kind_of(answer)}.")
        if not np.isfinite(number):
            return Verdict(False, f"The answer is a finite number, not {number}.")
        step = 10.0**-sheet.decimals
        near = [number + k * step for k in sorted(range(-sheet.within, sheet.within + 1), key=abs)]
    found = [digest(sheet.number, value, sheet.decimals) for value in near]
    if sheet.value in found:
        return Verdict(True, "right")
    for one in found:
        if name := (sheet.value_mistakes or {}).get(one):
            return Verdict(False, f"Not yet: {sheet.hint_of[name]}", name)
    return Verdict(False, f"Not yet: {answer} is not it, and it is no mistake that we know.")


def judge_function(sheet: Sheet, answer: Any) -> Verdict:
    """Call the function on every case, and compare with the right outcomes and with mistakes."""
    if not callable(answer):
        advice = "give check the function itself: its name, without brackets after it"
        return Verdict(False, f"This is {kind_of(answer)}, and a function is wanted: {advice}.")
    calls, end = [], monotonic() + SECONDS
    for case in sheet.cases:
        calls.append(call(answer, case, max(end - monotonic(), 0.01)))
        if isinstance(calls[-1].error, TimeUp):
            return Verdict(False, f"It ran for more than {SECONDS:.0f} seconds and was stopped.")
    got = [reading(one) for one in calls]
    name = getattr(answer, "__name__", "the function")
    wrong = [not agree(g, r, sheet) for g, r in zip(got, sheet.right)]
    for known, outs in (sheet.mistakes or {}).items():
        if any(wrong) and all(agree(g, out, sheet) for g, out in zip(got, outs)):
            return Verdict(False, f"Not yet: {sheet.hint_of[known]}", known)
    for one in calls:
        if one.changed is not None:
            said = f"{name} changes its input number {one.changed + 1} in place; work on a copy"
            return Verdict(False, f"Not yet: {said}, the caller still needs it.")
    for case, one, g, right, bad in zip(sheet.cases, calls, got, sheet.right, wrong):
        if bad:
            return Verdict(False, f"Not yet: {difference(name, case, one, g, right, sheet)}")
    return Verdict(True, "right" + remarks(calls))


def reading(one: Call) -> Any:
    """Return the outcome of a call as sheets hold them: arrays, bools, or ``Raised``."""
    if one.error is not None:
        return Raised(type(one.error).__name__)
    return as_outcome(one.value)


def as_outcome(value: Any) -> Any:
    """Return arrays for what can be read as one, tuples of them for tuples."""
    if isinstance(value, tuple):
        return tuple(as_outcome(item) for item in value)
    if value is None or isinstance(value, Raised | str):
        return value
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):
        return value
    return array if array.dtype.kind in "biufc" else value


def agree(a: Any, b: Any, sheet: Sheet) -> bool:
    """Return whether two outcomes are the same, to the sheet's tolerance."""
    a, b = as_outcome(a), as_outcome(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(agree(x, y, sheet) for x, y in zip(a, b))
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b)
    if a.shape != b.shape or (sheet.same_dtype and a.dtype != b.dtype):
        return False
    if (a.dtype.kind == "c") != (b.dtype.kind == "c") or (a.dtype == bool) != (b.dtype == bool):
        return False
    with np.errstate(all="ignore"):
        return np.allclose(a, b, rtol=sheet.tolerance, atol=sheet.tolerance, equal_nan=True)


def kind_of(value: Any) -> str:
    """Return how a message names a value: its type, and an array's shape."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}, dtype {value.dtype}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    article = "an" if type(value).__name__[0] in "aeiou" else "a"
    return f"{article} {type(value).__name__}"


def shapes(case: tuple) -> str:
    """Return how a message names a case: the shapes of its arrays, the other inputs as they are."""
    named = [
        f"shape {value.shape}"
        if isinstance(value, np.ndarray)
        else getattr(value, "__name__", repr(value))
        for value in case
    ]
    return ", ".join(named) if len(repr(named)) < 200 else f"{len(case)} inputs"


def difference(name: str, case: tuple, one: Call, got: Any, right: Any, sheet: Sheet) -> str:
    """Return a sentence about one case in which the outcome is not the right one."""
    where = f"for inputs ({shapes(case)})"
    if isinstance(one.error, NotImplementedError):
        return f"{name} is still empty."
    if one.error is not None:
        said = f"{type(one.error).__name__}: {one.error}".rstrip(": ")
        return f"{name} raises {said[:300]} {where}."
    if isinstance(right, Raised):
        return f"{name} returns {kind_of(got)} {where}; it should raise {right.error}."
    if got is None:
        return f"{name} returns None {where}; is it still empty, or without a return?"
    return f"{where}, {compared(name, got, as_outcome(right), sheet)}"


def compared(name: str, got: Any, right: Any, sheet: Sheet) -> str:
    """Return how two values that are not the same differ."""
    if isinstance(right, tuple):
        if not isinstance(got, tuple) or len(got) != len(right):
            return f"{name} returns {kind_of(got)}; expected a tuple of {len(right)}."
        first = next(i for i, (a, b) in enumerate(zip(got, right)) if not agree(a, b, sheet))
        return f"item {first} of the tuple: {compared(name, got[first], right[first], sheet)}"
    if not isinstance(got, np.ndarray):
        return f"{name} returns {kind_of(got)}; expected numbers of shape {right.shape}."
    if right.dtype == bool and not right.shape and got.dtype == bool and not got.shape:
        return f"{name} returns {got}; expected {right}."
    if got.shape != right.shape:
        return f"{name} returns shape {got.shape}; expected {right.shape}."
    if got.dtype.kind == "c" or (got.dtype == bool) != (right.dtype == bool):
        return f"{name} returns dtype {got.dtype}; expected {right.dtype}."
    if sheet.same_dtype and got.dtype != right.dtype:
        return f"{name} returns dtype {got.dtype}; expected {right.dtype}."
    with np.errstate(all="ignore"):
        near = np.isclose(got, right, rtol=sheet.tolerance, atol=sheet.tolerance, equal_nan=True)
    place = tuple(int(i) for i in np.argwhere(~near)[0])
    at = f"entry {list(place)} is" if place else "the result is"
    return f"{at} {got[place]:.6g} in yours; expected {right[place]:.6g}."


def remarks(calls: list[Call]) -> str:
    """Return what to say of a right function besides."""
    said = ""
    if any(one.printed for one in calls):
        said += "; it also prints, and only what it returns counts"
    if warned := next((one.warned for one in calls if one.warned), ""):
        said += f"; it gives a warning: {warned}"
    if any(isinstance(one.value, list) for one in calls):
        said += "; it returns a list, and an array would be of more use"
    return said
