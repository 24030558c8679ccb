"""The book's exercises: ``check`` an answer, ask for a ``hint``, see the ``solution``.

>>> from attnlib.exercises import check
>>> answer = check("7.1", None)
7.1 There is no answer yet.
>>> bool(answer)
False
"""

from attnlib.exercises.engine import Verdict, check, hint, solution

__all__ = ["Verdict", "check", "hint", "solution"]
