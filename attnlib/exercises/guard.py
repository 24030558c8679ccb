"""Call a learner's function so that nothing it does ends the check."""

import _thread
import contextlib
import copy
import io
import signal
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SECONDS = 5.0


class TimeUp(BaseException):
    """The limit has passed. No ``Exception``, so that ``except Exception`` lets it through."""


@dataclass(frozen=True)
class Call:
    """What a call did: returned a value or raised, and what it did besides."""

    value: Any = None
    error: BaseException | None = None
    printed: int = 0
    changed: int | None = None
    warned: str = ""


class Sink(io.TextIOBase):
    """A place to print to, which keeps the number of characters and none of them."""

    count = 0

    def write(self, text: str) -> int:
        self.count += len(text)
        return len(text)


@contextlib.contextmanager
def limit(seconds: float):
    """Raise ``TimeUp`` inside the block once it has run for ``seconds``, and again if swallowed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can be interrupted
    elif hasattr(signal, "setitimer"):

        def ring(*_):
            raise TimeUp

        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    else:  # Windows
        over = threading.Event()
        timer = threading.Timer(seconds, lambda: (over.set(), _thread.interrupt_main()))
        timer.start()
        try:
            yield
        except KeyboardInterrupt:
            if not over.is_set():
                raise
            raise TimeUp from None
        finally:
            timer.cancel()


def same(a: Any, b: Any) -> bool:
    """Return whether two inputs are equal, bit for bit."""
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return callable(a) or bool(a == b)


def call(function: Callable, inputs: tuple, seconds: float = SECONDS) -> Call:
    """Call ``function`` with copies of ``inputs`` and return what it did."""
    given, out = copy.deepcopy(inputs), Sink()
    value = error = None
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        try:
            with limit(seconds):
                value = function(*given)
        except KeyboardInterrupt:
            raise
        except BaseException as caught:
            error = caught
    changed = next((i for i, (a, b) in enumerate(zip(inputs, given)) if not same(a, b)), None)
    said = str(warned[0].message) if warned else ""
    return Call(value, error, out.count, changed, said)
