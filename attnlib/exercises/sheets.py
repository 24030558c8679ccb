"""Sheets: what a check needs to know of an exercise, as plain data.

A learner's copy of the library holds sheets alone, in one file. It has the inputs, what a right
answer gives for them, and what each known mistake gives, and none of the functions behind them.
"""

import hashlib
import importlib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

CHAPTERS = {str(n): f"ch{n:02}" for n in range(1, 11)} | {"A1": "a1", "A2": "a2"}
STORED = "sheets.json"


@dataclass(frozen=True)
class Raised:
    """The outcome of a call that raised an exception of this type."""

    error: str


@dataclass(frozen=True)
class Sheet:
    """One exercise as data; ``description.Exercise`` says what the parts mean.

    ``cases``: tuples of inputs, the smallest first. ``right`` and ``mistakes[name]``: one outcome
    a case. ``value`` and ``value_mistakes``: digests instead, for answers that are values.
    """

    number: str
    title: str
    kind: str
    hints: tuple[str, ...] = ()
    hint_of: dict[str, str] | None = None
    cases: tuple = ()
    right: tuple = ()
    mistakes: dict[str, tuple] | None = None
    tolerance: float = 1e-6
    same_dtype: bool = False
    value: str = ""
    value_mistakes: dict[str, str] | None = None
    decimals: int | None = None
    within: int = 0
    solution: str = ""


def digest(number: str, value: Any, decimals: int | None) -> str:
    """Return a digest of a value, numbers rounded to ``decimals``, words without case."""
    if decimals is None:
        text = " ".join(sorted(re.findall(r"[\w.]*\w", str(value).lower())))
    else:
        text = f"{round(float(value), decimals) + 0.0:.{decimals}f}"
    return hashlib.sha256(f"{number} {text}".encode()).hexdigest()[:16]


def encode(value: Any) -> Any:
    """Return ``value`` in what JSON can hold."""
    if isinstance(value, Raised):
        return {"$raised": value.error}
    if isinstance(value, np.ndarray | np.generic):
        return {"$array": np.asarray(value).tolist(), "dtype": str(value.dtype), "of": value.shape}
    if isinstance(value, tuple | list):
        items = [encode(one) for one in value]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {name: encode(one) for name, one in value.items()}
    if callable(value):
        return {"$function": f"{value.__module__}:{value.__qualname__}"}
    return value


def decode(stored: dict) -> Any:
    """Return the value that ``encode`` has written as this dict."""
    if "$raised" in stored:
        return Raised(stored["$raised"])
    if "$array" in stored:
        return np.array(stored["$array"], dtype=stored["dtype"]).reshape(stored["of"])
    if "$tuple" in stored:
        return tuple(stored["$tuple"])
    if "$function" in stored:
        module, name = stored["$function"].split(":")
        return getattr(importlib.import_module(module), name)
    return stored


def dump(sheets: list[Sheet]) -> str:
    """Return the text of a file of sheets."""
    return json.dumps([encode(vars(sheet)) for sheet in sheets], ensure_ascii=False, indent=0)


def load(text: str) -> list[Sheet]:
    """Return the sheets of a file's text."""
    return [Sheet(**row) for row in json.loads(text, object_hook=decode)]


@cache
def of_chapter(chapter: str) -> dict[str, Sheet]:
    """Return number -> sheet: from the stored file, else from the chapter's description."""
    stored = files("attnlib.exercises") / STORED
    if stored.is_file():
        sheets = load(stored.read_text(encoding="utf-8"))
    else:
        description = importlib.import_module(f"attnlib.exercises.{CHAPTERS[chapter]}")
        sheets = [exercise.sheet() for exercise in description.EXERCISES]
    return {sheet.number: sheet for sheet in sheets}


def find(number: str | float) -> Sheet:
    """Return the sheet of exercise ``number``; ``ValueError`` says which numbers there are."""
    name = str(number).strip().upper() if isinstance(number, str | int | float) else ""
    chapter, asked = name.split(".")[0], repr(name[:20]) if name else type(number).__name__
    if chapter not in CHAPTERS:
        raise ValueError(f"no exercise {asked}; the number comes first, like '7.1' or 'A1.1'")
    sheets = of_chapter(chapter)
    if name not in sheets:
        there = [one for one in sheets if one.startswith(f"{chapter}.")]
        if not there:
            held = next(iter(sheets)).split(".")[0]
            raise ValueError(f"no exercise {asked}: this copy has those of chapter {held} only")
        raise ValueError(f"no exercise {asked}; there are {', '.join(there)}")
    return sheets[name]
