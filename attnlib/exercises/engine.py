"""``check`` an answer against an exercise's sheet, and say what is wrong with it."""

from collections import Counter
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from attnlib.exercises.guard import SECONDS, Call, as_text, call
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
    step = _hints_given[sheet.number] % max(len(sheet.hints), 1)
    _hints_given[sheet.number] += 1
    said = (
        f"{step + 1} of {len(sheet.hints)}: {sheet.hints[step]}" if sheet.hints else "there is none"
    )
    print(f"{sheet.number} Hint {said}")


def solution(number: str) -> None:
    """Print a solution of exercise ``number``, where this copy of the book has it."""
    sheet = find(number)
    print(sheet.solution.rstrip() or f"{sheet.number}: no solution in this copy of the book")


def judge(sheet: Sheet, answer: Any) -> Verdict:
    """Return the verdict on ``answer``."""
    if sheet.kind == "explain":
        return Verdict(False, "This one is answered in words, and read by a person.")
    if answer is None or answer is ... or (isinstance(answer, str) and not answer.strip()):
        return Verdict(False, "There is no answer yet.")
    return judge_function(sheet, answer) if sheet.cases else judge_value(sheet, answer)


def judge_value(sheet: Sheet, answer: Any) -> Verdict:
    """Compare the digest of a value: the right one is not stored."""
    if sheet.decimals is None:
        if not isinstance(answer, str):
            return Verdict(False, f"The answer is a word in quotes, not {kind_of(answer)}.")
        near, shown = [answer], as_text(answer)
    else:
        number = as_number(answer)
        if isinstance(number, str):
            return Verdict(False, f"The answer is one number, {number}.")
        steps, shown = sorted(range(-sheet.within, sheet.within + 1), key=abs), f"{number:.6g}"
        whole = round(min(max(number, -1e12), 1e12) * 10**sheet.decimals)
        near = [(whole + k) / 10**sheet.decimals for k in steps]
        share = number / 100 if sheet.decimals > 1 and number > 1 else np.nan
        if sheet.value == digest(sheet.number, share, sheet.decimals):
            return Verdict(False, "Not yet: a hundred times too large; is it meant in per cent?")
    found = [digest(sheet.number, value, sheet.decimals) for value in near]
    if sheet.value in found:
        return Verdict(True, "right")
    for one in found:
        if name := (sheet.value_mistakes or {}).get(one):
            return Verdict(False, f"Not yet: {sheet.hint_of[name]}", name)
    return Verdict(False, f"Not yet: {shown} is not it, and it is no mistake that we know.")


def as_number(answer: Any) -> float | str:
    """Return the number that a value is, or what keeps it from being one."""
    if isinstance(answer, str):
        return "without quotes, and with a point and no comma"
    try:
        array = np.asarray(answer)
        if array.shape or array.dtype.kind not in "iufO" or isinstance(answer, np.ma.MaskedArray):
            raise TypeError
        number = float(array)
    except OverflowError:
        number = np.inf
    except Exception:
        comma = ": write a point, not a comma" if isinstance(answer, tuple) else ""
        return f"not {kind_of(answer)}{comma}"
    return number if np.isfinite(number) else f"and finite, not {number}"


ACCEPTS = {
    "returns True; expected False": "accepts {}, which is wrong",
    "returns False; expected True": "rejects {}, which is right",
}


def judge_function(sheet: Sheet, answer: Any) -> Verdict:
    """Call the function on every case, and compare with the right outcomes and with mistakes."""
    if not callable(answer):
        way = "its name without " + ("quotes" if isinstance(answer, str) else "brackets after it")
        return Verdict(False, f"This is {kind_of(answer)}. Give check the function itself: {way}.")
    calls, got, end = [], [], monotonic() + SECONDS
    for case in sheet.cases:
        one = call(answer, case, max(end - monotonic(), 0.01))
        if one.late:
            return Verdict(False, f"It ran for more than {SECONDS:g} seconds and was {one.late}")
        calls.append(one)
        got.append(as_outcome(one.value) if one.error is None else Raised(type(one.error).__name__))
    name = name_of(answer)
    said = [differs(g, as_outcome(right), sheet) for g, right in zip(got, sheet.right)]
    if any(said) and not all(isinstance(g, Raised) for g in got):
        for known, outs in (sheet.mistakes or {}).items():
            if not any(differs(g, as_outcome(out), sheet) for g, out in zip(got, outs)):
                return Verdict(False, f"Not yet: {sheet.hint_of[known]}", known)
    if changed := max(one.changed for one in calls):
        changes = f"{name} changes its input number {changed} in place; work on a copy"
        return Verdict(False, f"Not yet: {changes}, the caller still needs it.")
    for case, one, how in zip(sheet.cases, calls, said):
        if how:
            if type(one.error) is NotImplementedError:
                return Verdict(False, f"Not yet: {name} is still empty.")
            raises = f"raises {type(one.error).__name__}: {as_text(one.error)}".rstrip(": .")
            how = f"returns {how}" if one.error is None else raises
            inputs = ", ".join(map(name_of, case))[:200]
            if sheet.kind == "judge" and how in ACCEPTS:
                return Verdict(False, f"Not yet: {name} {ACCEPTS[how].format(inputs)}.")
            return Verdict(False, f"Not yet: for inputs ({inputs}), {name} {how}.")
    return Verdict(True, "right" + remarks(calls))


def as_outcome(value: Any) -> Any:
    """Return a copy as an array of what can be read as numbers, tuples of them for tuples."""
    if isinstance(value, tuple):
        return tuple(as_outcome(item) for item in value)
    if value is None or isinstance(value, Raised | str | np.ma.MaskedArray):
        return value
    try:
        array = np.array(value)
    except Exception:
        return value
    return array if is_numbers(array) else value


def is_numbers(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biufc"


def differs(got: Any, right: Any, sheet: Sheet) -> str:
    """Return how one outcome differs from another, as what comes after "returns"; "" for equal."""
    if isinstance(right, tuple):
        if not isinstance(got, tuple) or len(got) != len(right):
            return f"{kind_of(got)}; expected a tuple of {len(right)}"
        said = [differs(a, b, sheet) for a, b in zip(got, right)]
        return next((f"a tuple; its item {i} is {how}" for i, how in enumerate(said) if how), "")
    if not is_numbers(right):
        if type(got) is type(right) and got == right:
            return ""
        wanted = f"that it raises {right.error}" if isinstance(right, Raised) else as_text(right)
        return f"{as_text(got) if isinstance(got, str) else kind_of(got)}; expected {wanted}"
    truth, a, b = right.dtype == bool, got, right
    if not is_numbers(got) or a.shape != b.shape:
        some, one = ("booleans", "True or False") if truth else ("numbers", "number")
        wanted = f"{some} of shape {b.shape}" if b.shape else f"one {one}"
        return f"{kind_of(got)}; expected {wanted}"
    boolean, imaginary = ((a.dtype.kind == kind) != (b.dtype.kind == kind) for kind in "bc")
    if boolean or imaginary or (sheet.same_dtype and a.dtype != b.dtype):
        return f"dtype {a.dtype}; expected {b.dtype}"
    with np.errstate(all="ignore"):
        near = np.isclose(a, b, rtol=sheet.tolerance, atol=sheet.tolerance, equal_nan=True)
    if near.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~near)[0])
    mine, its = (str(x[place]) if truth else f"{x[place]:.6g}" for x in (a, b))
    cut = a.dtype.kind in "iu" and b.dtype.kind == "f" and abs(a[place] - b[place]) < 1
    rounds = f" (dtype {a.dtype} rounds)" if cut or a.dtype == np.float16 else ""
    return f"{mine}{f' in entry {list(place)}' if place else ''}; expected {its}{rounds}"


def kind_of(value: Any) -> str:
    """Return how a message names a value: its type, and an array's shape."""
    if value is None:
        return "None (is it still empty, or without a return?)"
    if isinstance(value, np.ndarray) and not value.shape:
        value = value[()]
    name = type(value).__name__
    if isinstance(value, np.ndarray):
        name = f"{name.removeprefix('nd')} of shape {value.shape}, dtype {value.dtype}"
    elif isinstance(value, tuple | list):
        name += f" of {len(value)}"
    return f"{'an' if name.lower().startswith(tuple('aeio')) else 'a'} {name}"


def name_of(value: Any) -> str:
    """Return how a message names a function or an input."""
    if isinstance(value, np.ndarray):
        return f"shape {value.shape}"
    try:
        return str(value.__name__)
    except Exception:
        return "the function" if callable(value) else repr(value)


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
