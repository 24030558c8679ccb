"""Whatever a learner hands to ``check`` gets one clear sentence, and never a traceback of ours."""

import asyncio
import functools
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from attnlib.exercises import check, engine, guard, hint, solution
from attnlib.exercises.description import Exercise, Mistake
from attnlib.exercises.engine import judge
from attnlib.exercises.sheets import dump, find, load

COMMON = dict(number="1.1", title="", difficulty=1, minutes=1, trains="", hints=["look"])


def shares(x):
    return x / x.sum(axis=1, keepdims=True)


def both(x):
    return shares(x), x > 1


def refuses(x):
    raise ValueError


def exercise(reference, kind="implement", **more):
    return Exercise(**COMMON | dict(kind=kind, reference=reference) | more).sheet()


CASES = [(np.array([[1.0, 2.0, 5.0], [2.0, 2.0, 4.0]]),), (np.array([[1, 3]]),)]
FUNCTION = exercise(shares, cases=CASES)
NUMBER = exercise(0.87, "predict", decimals=2, mistakes=[Mistake("one", 1.0, "all of it.")])
WORD = exercise("column", "predict")


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(engine, "SECONDS", 0.15)


def refused(answer, sheet=FUNCTION):
    verdict = judge(sheet, answer)
    assert not verdict.right and verdict.message[-1] in ".?", verdict
    assert "Traceback" not in verdict.message and len(verdict.message) < 600
    return verdict.message


def raising(error):
    def f(x):
        raise error

    return f


def returning(value):
    return lambda x: value(x) if callable(value) else value


class Mute(Exception):
    def __str__(self):
        raise SystemExit


class OddEqual(np.ndarray):
    def __eq__(self, other):
        raise ValueError


class NoArray:
    def __array__(self, *_, **__):
        raise RuntimeError


class Attributes(dict):
    __getattr__ = dict.__getitem__

    def __call__(self, x):
        return shares(x)


class Solver:
    def solve(self, x):
        return shares(x)


RAISED = [
    (SystemExit("bye"), "raises SystemExit: bye"),
    (KeyboardInterrupt(), "raises KeyboardInterrupt"),
    (GeneratorExit(), "raises GeneratorExit"),
    (StopIteration(3), "raises StopIteration: 3"),
    (MemoryError(), "raises MemoryError"),
    (BaseException("b"), "raises BaseException: b"),
    (Mute(), "raises Mute"),
    (ExceptionGroup("two", [ValueError()]), "raises ExceptionGroup: two"),
    (ValueError("long\n" * 1000), "raises ValueError: long long"),
    (NotImplementedError(), "f is still empty"),
]


@pytest.mark.parametrize(("error", "said"), RAISED, ids=[type(e).__name__ for e, _ in RAISED])
def test_no_exception_of_the_function_ends_the_check(error, said):
    assert said in refused(raising(error))


def test_endless_recursion_is_named():
    def f(x):
        return f(x)

    assert "RecursionError" in refused(f)


def test_a_check_inside_the_checked_function_is_named():
    def f(x):
        return judge(FUNCTION, f)

    assert "inside the function" in refused(f)


RETURNED = {
    "None": (None, "returns None (is it still empty, or without a return?)"),
    "ellipsis": (lambda x: ..., "returns an ellipsis"),
    "tuple": (lambda x: (shares(x), 1), "returns a tuple of 2; expected numbers of shape (1, 2)"),
    "ragged": ([[1], [2, 3]], "returns a list of 2"),
    "generator": (lambda x: (row for row in x), "returns a generator"),
    "endless": (lambda x: itertools.count(), "returns a count"),
    "string": ("0.5", "returns a str"),
    "dict": ({1: 2}, "returns a dict"),
    "function": (lambda x: shares, "returns a function"),
    "masked": (
        lambda x: np.ma.array(shares(x), mask=x > 1),
        "returns a MaskedArray of shape (1, 2)",
    ),
    "objects": (lambda x: shares(x).astype(object), "dtype object"),
    "strings": (lambda x: shares(x).astype(str), "dtype <U"),
    "complex": (lambda x: shares(x) + 0j, "returns dtype complex128; expected float64"),
    "booleans": (lambda x: x > 1, "returns dtype bool; expected float64"),
    "float16": (lambda x: shares(x / 3).astype(np.float16) / 3, "dtype float16 rounds"),
    "truncated": (lambda x: shares(x).astype(int), "dtype int64 rounds"),
    "int": (1, "returns an int64; expected numbers of shape (1, 2)"),
    "0-d": (np.array(1.0), "returns a float64; expected numbers of shape (1, 2)"),
    "turned": (lambda x: shares(x).T, "returns an array of shape (2, 1), dtype float64"),
    "nan": (lambda x: x * np.nan, "returns nan in entry [0, 0]; expected 0.25"),
    "inf": (lambda x: x * np.inf, "returns inf in entry [0, 0]"),
    "huge": (np.broadcast_to(1.0, (10**6, 10**6)), "array of shape (1000000, 1000000)"),
    "view": (lambda x: x[:], "returns 1 in entry [0, 0]; expected 0.25"),
    "unreadable": (lambda x: NoArray(), "returns a NoArray"),
    "attributes": (lambda x: Attributes(), "returns an Attributes"),
    "nameless": (lambda x: type("", (), {})(), "expected numbers"),
    "structured": (np.zeros(3, dtype="i4,f4"), "array of shape (3,)"),
}


@pytest.mark.parametrize("name", RETURNED)
def test_no_returned_value_breaks_the_check_or_passes(name):
    value, said = RETURNED[name]
    assert said in refused(returning(value))


def test_right_numbers_in_an_odd_container_are_right():
    for value in (lambda x: shares(x).tolist(), lambda x: shares(x).view(OddEqual)):
        assert judge(FUNCTION, returning(value))
    assert "warning" in judge(FUNCTION, lambda x: np.matrix(shares(x))).message


def test_a_buffer_that_is_used_again_does_not_change_earlier_results():
    buffer = np.zeros((9, 9))

    def f(x):
        out = buffer[: x.shape[0], : x.shape[1]]
        out[...] = shares(x)
        return out

    assert judge(FUNCTION, f)


def test_callables_that_are_no_plain_functions_are_called():
    for right in (Solver().solve, functools.partial(shares), Attributes(), lambda x: shares(x)):
        assert judge(FUNCTION, right), right
    assert "missing 1 required positional argument" in refused(Solver.solve)
    assert "returns 2.71828" in refused(np.exp)
    assert "add" in refused(np.add)
    assert "takes 0 positional arguments but 1 was given" in refused(lambda: 1)
    assert "returns a type" in refused(lambda x: Solver)
    assert "Solver" in refused(Solver)
    assert "unhashable" in refused(functools.lru_cache(shares))


@pytest.mark.parametrize("answer", [np.ones((2, 2)), 0.3, True, [shares], {}, np, NotImplemented])
def test_a_result_instead_of_the_function_is_named(answer):
    assert "its name without brackets after it" in refused(answer)


def test_the_function_in_quotes_is_named():
    assert "without quotes" in refused("shares")


@pytest.mark.parametrize("answer", [None, ..., "", "  "])
def test_no_answer_yet_is_no_wrong_answer(answer):
    for sheet in (FUNCTION, NUMBER, WORD):
        assert refused(answer, sheet) == "There is no answer yet."


def test_what_a_right_function_does_besides_is_remarked(capsys):
    def f(x):
        print("much " * 1000)
        print("more", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        return shares(x)

    verdict = judge(FUNCTION, f)
    assert verdict and "also prints" in verdict.message and "warning: careful" in verdict.message
    assert capsys.readouterr() == ("", "")


def test_a_function_cannot_change_how_numpy_reports_errors():
    before = np.geterr()

    def f(x):
        np.seterr(all="raise")
        return shares(x)

    assert judge(FUNCTION, f) and np.geterr() == before


def test_changing_the_input_is_named_even_where_the_result_is_right():
    def f(x):
        out = shares(x)
        x[0] = 0
        return out

    def reshapes(x):
        out = shares(x)
        x.shape = (-1,)
        return out

    assert "changes its input number 1 in place" in refused(f)
    assert "changes its input number 1 in place" in refused(reshapes)


def forever(x):
    while True:
        pass


def swallowing(x):
    while True:
        try:
            print("flood")
        except:  # noqa: E722
            pass


def swallowing_asleep(x):
    while True:
        try:
            time.sleep(0.02)
        except BaseException:
            pass


# Calls are stopped by way of the tracer, which coverage takes for itself.
untraced = pytest.mark.no_cover


def workers():
    return [one for one in threading.enumerate() if one.name == guard.THREAD]


@untraced
@pytest.mark.parametrize("f", [forever, swallowing, swallowing_asleep])
def test_a_loop_that_never_ends_is_stopped_and_leaves_nothing_behind(f, short, monkeypatch, capsys):
    monkeypatch.setattr(guard, "GRACE", 10.0)
    assert "seconds and was stopped; does a loop never end?" in refused(f)
    assert not workers() and capsys.readouterr() == ("", "")


def test_a_waiting_function_is_left_behind_and_said_to_be():
    """In a process of its own: what is left behind would trouble the tests that follow."""
    code = """
import time
from attnlib.exercises import engine, guard
engine.SECONDS, guard.GRACE = 0.1, 0.05
from attnlib.exercises import check
check("7.1", lambda table: time.sleep(2))
"""
    clean = {name: value for name, value in os.environ.items() if "COV" not in name}
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, env=clean, capture_output=True, text=True, timeout=60)
    assert "restart of the kernel" in done.stdout and not done.stderr


@untraced
def test_a_check_in_a_worker_thread_or_an_event_loop_does_not_hang(short):
    said = []
    thread = threading.Thread(target=lambda: said.append(refused(forever)))
    thread.start()
    thread.join(20)

    async def main():
        said.append(refused(forever))

    asyncio.run(main())
    assert len(said) == 2


@untraced
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads")
def test_the_learners_own_ctrl_c_gets_through_and_stops_the_function(monkeypatch):
    monkeypatch.setattr(guard, "GRACE", 10.0)
    main, key = threading.main_thread().ident, signal.SIGINT
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(main, key))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        judge(FUNCTION, forever)
    timer.join()
    assert not workers()


def test_a_mistake_that_only_raises_is_not_seen_in_every_function_that_raises():
    sheet = exercise(shares, cases=CASES, mistakes=[Mistake("refuses", refuses, "you refuse it.")])
    assert "you refuse it" not in refused(raising(ValueError("a slip of the pen")), sheet)


def test_tuples_booleans_and_expected_errors_are_compared():
    sheet = exercise(both, cases=CASES)
    assert judge(sheet, both)
    assert "expected a tuple of 2" in refused(shares, sheet)
    assert "its item 1 is True in entry" in refused(lambda x: (shares(x), x > 0), sheet)
    assert "its item 1 is a NoArray" in refused(lambda x: (shares(x), NoArray()), sheet)
    assert "its item 0 is None" in refused(lambda x: (None, x > 1), sheet)
    raises = exercise(refuses, cases=CASES)
    assert judge(raises, refuses)
    assert "expected that it raises ValueError" in refused(shares, raises)
    assert "raises TypeError" in refused(raising(TypeError("no")), raises)
    word = exercise(row, cases=CASES)
    assert "returns column; expected row" in refused(lambda x: "column", word)
    truth = exercise(is_long, cases=CASES)
    assert "returns an array of shape (2,), dtype bool; expected one True" in refused(
        lambda x: x[0] > 0, truth
    )
    assert "returns dtype int64; expected bool" in refused(lambda x: 1, truth)


def row(x):
    return "row"


def is_long(x):
    return x.size > 2


@pytest.mark.parametrize(
    "answer",
    [
        np.float32(0.87),
        np.float16(0.87),
        np.array(0.87),
        np.array(0.87, dtype=object),
        Fraction(87, 100),
        Decimal("0.87"),
        np.longdouble("0.87"),
        0.8749,
    ],
)
def test_a_number_of_any_numeric_type_is_right(answer):
    assert judge(NUMBER, answer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("0.87", "without quotes"),
        ("0,87", "a point and no comma"),
        (np.str_("0.87"), "without quotes"),
        ((0, 87), "write a point, not a comma"),
        (b"0.87", "not a bytes"),
        ([0.87], "not a list of 1"),
        (np.array([0.87]), "not an array of shape (1,)"),
        (True, "not a bool"),
        (np.True_, "not a bool"),
        (0.87 + 0j, "not a complex"),
        (np.complex128(0.87), "not a complex128"),
        (np.array(0.87 + 0j), "not a complex128"),
        (float("nan"), "finite, not nan"),
        (np.inf, "finite, not inf"),
        (10**400, "finite, not inf"),
        (np.ma.masked, "not a MaskedConstant"),
        ({0.87}, "not a set"),
        (shares, "not a function"),
        (NoArray(), "not a NoArray"),
        (np.timedelta64(1), "not a timedelta64"),
        (87, "in per cent"),
        (1, "all of it"),
        (0, "0 is not it"),
    ],
)
def test_a_value_that_is_no_right_number_is_told_why(answer, said):
    assert said in refused(answer, NUMBER)


def test_zero_is_not_taken_for_a_per_cent():
    sheet = exercise(0.0, "predict", decimals=2)
    assert judge(sheet, 0) and judge(sheet, -0.001)


def test_words_are_read_without_case_and_full_stop():
    for right in ("column", " Column. ", np.str_("COLUMN")):
        assert judge(WORD, right)
    for wrong in (["column"], {"column"}, 3, b"column"):
        assert "a word in quotes" in refused(wrong, WORD)
    assert "row is not it" in refused("row", WORD)
    assert "is not it" in refused("columns " * 1000, WORD)


NUMBERS = [None, ..., True, 7, "7", -7.1, float("nan"), 7 + 1j, b"7.1", "7,1", "", "7.99", "A9.1"]
NUMBERS += ["x" * 1000, ["7.1"], ("7.1",), {}, np.array(7.1), shares, np.exp, Mute(), 10**400]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("ask", [lambda n: check(n, shares), hint, solution])
def test_an_exercise_that_is_not_there_is_a_value_error_in_a_sentence(ask, number):
    with pytest.raises(ValueError, match="no exercise") as caught:
        ask(number)
    assert len(str(caught.value)) < 200


def test_the_number_of_an_exercise_may_be_written_in_several_ways(capsys):
    for number in ("7.1", 7.1, np.float64(7.1), " 7.1 ", np.str_("7.1")):
        assert not check(number, None)
    assert find("a1.1").number == "A1.1"
    assert capsys.readouterr().out == "7.1 There is no answer yet.\n" * 5


def test_hints_and_solutions_that_are_not_there_are_said(monkeypatch, capsys):
    monkeypatch.setattr(engine, "find", lambda _: exercise("x", "predict", hints=[]))
    hint("1.1")
    hint("1.1")
    assert capsys.readouterr().out == "1.1 Hint there is none\n" * 2


def test_odd_outcomes_survive_the_file_of_sheets():
    for reference in (both, row, is_long, refuses):
        sheet = exercise(reference, cases=CASES)
        (read,) = load(dump([sheet]))
        assert judge(read, reference) and not judge(read, shares)
        assert type(read.cases) is tuple and type(read.hints) is tuple


def test_output_goes_where_it_went_before(capsys):
    refused(raising(ValueError()))
    print("here")
    assert capsys.readouterr().out == "here\n"
