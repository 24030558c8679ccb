"""Call a learner's function so that nothing it does ends the check."""

import contextlib
import copy
import ctypes
import io
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from attnlib.exercises.sheets import encode

SECONDS = 5.0
GRACE = 1.0
THREAD = "a call by check"
LEFT_BEHIND = " waiting for: it sleeps or runs on, and a restart of the kernel ends it."


@dataclass(frozen=True)
class Call:
    """What a call did: returned a value or raised, and what it did besides; ``late``: too slow."""

    value: Any = None
    error: BaseException | None = None
    printed: int = 0
    changed: int = 0
    warned: str = ""
    late: str = ""


class Sink(io.TextIOBase):
    """A place to print to, which keeps the number of characters and none of them."""

    count = 0

    def write(self, text: str) -> int:
        self.count += len(text)
        return len(text)


class Stop(SystemExit):
    """Ends a thread. Where `except: pass` swallows it, the next line raises again, outside."""

    def __init__(self):
        frame = sys._getframe(1)
        sys.settrace(leave)
        while frame.f_globals is not globals():
            frame.f_trace, frame = leave, frame.f_back


def leave(frame: Any, event: str, _: Any) -> Callable:
    if event == "line":
        raise SystemExit
    return leave


def has_ended(thread: threading.Thread) -> bool:
    """Raise ``Stop`` inside ``thread`` until it ends or ``GRACE`` is over; return which."""
    end = monotonic() + GRACE
    while thread.is_alive() and monotonic() < end:
        ident = ctypes.c_ulong(thread.ident)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Stop))
        thread.join(0.02)
    return not thread.is_alive()


def call(function: Callable, inputs: tuple, seconds: float = SECONDS) -> Call:
    """Call ``function`` with copies of ``inputs`` in a thread, and return what it did.

    A thread can be left behind, in a notebook too. A KeyboardInterrupt out here is a key pressed.
    """
    if threading.current_thread().name == THREAD:
        raise RuntimeError("check is called inside the function that it checks")
    given, out, did, done = copy.deepcopy(inputs), Sink(), {}, threading.Event()
    before = [repr(encode(one)) for one in given]

    def run():
        try:
            did["value"] = function(*given)
        except BaseException as caught:
            did["error"] = caught
        finally:
            sys.settrace(None)
            done.set()

    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        thread = threading.Thread(target=run, name=THREAD, daemon=True)
        thread.start()
        try:
            done.wait(seconds)
        finally:
            late = not done.is_set()
            ended = late and has_ended(thread)
    if late:
        return Call(late=f"stopped{'; does a loop never end?' if ended else LEFT_BEHIND}")
    changed = next((i for i, one in enumerate(given, 1) if repr(encode(one)) != before[i - 1]), 0)
    said = as_text(warned[0].message) if warned else ""
    return Call(did.get("value"), did.get("error"), out.count, changed, said)


def as_text(value: Any) -> str:
    """Return ``str(value)`` on one line of 200 characters at most; nothing where that fails."""
    try:
        return " ".join(str(value).split())[:200]
    except BaseException:
        return ""
