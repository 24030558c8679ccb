"""Submissions of chapter 7, honest and hostile, each with the row that grading has to write.

    PYTHONPATH=tools python -m tests.submissions 60

grades a class of so many, says whether a row is lost or wrong, and how long one submission takes.
"""

import copy
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import course
import grade
import nbformat
from nbformat.v4 import new_code_cell

STEM = "07-softmax"
QUICK = {"cell_seconds": 5, "seconds": 60, "memory_mb": 512, "output_mb": 2}
ALL = "3 1 3 2 -"  # the points of 7.1 to 7.5; - is given by hand
LEFT_RUNNING = "sleep 30099"  # a command that nothing else calls like this
SUBMISSIONS = {}


def expect(points: str, status: str, folder: bool = False, student: str = ""):
    """Keep a maker of submissions with the row that it has to get.

    The maker changes a notebook with right answers, or returns the bytes of the file instead, or
    fills the student's folder (``folder``). ``student`` is the name, else that of the maker.
    """

    def keep(make):
        name = student or make.__name__.replace("_", "-")
        SUBMISSIONS[name] = (make, points, status, folder)
        return make

    return keep


def cell(notebook, name):
    return next(one for one in notebook.cells if one.id == name)


def answer(notebook, exercise, source):
    cell(notebook, f"answer-7-{exercise}").source = source


def put(notebook, before, source):
    """Insert a cell of the student's own."""
    at = notebook.cells.index(cell(notebook, before))
    notebook.cells.insert(at, new_code_cell(source))


def answer_wrongly(notebook):
    answer(notebook, 1, "def row_softmax(scores):\n    return scores / scores.sum()")
    answer(notebook, 2, "my_prediction = 0.25")
    answer(notebook, 3, "def is_softmax(f):\n    return True")
    answer(notebook, 4, "weight_of_cat = 0.44")


@expect(ALL, "graded")
def right(notebook):
    pass


@expect("0 0 0 0 -", "graded")
def wrong(notebook):
    answer_wrongly(notebook)


@expect("0 0 0 0 0", "no answer to 7.5")
def untouched(notebook):
    for one in notebook.cells:
        if one.id.startswith("answer-"):
            one.source = one.metadata.pop("released")


@expect("0 1 3 2 -", "ZeroDivisionError in 7.1")
def crashes(notebook):
    answer(notebook, 1, "1 / 0")


@expect("3 0 3 2 -", "timed out in 7.2")
def endless_loop(notebook):
    answer(notebook, 2, "while True:\n    pass")


@expect("0 1 3 2 -", "timed out in 7.1")
def endless_loop_in_function(notebook):
    answer(notebook, 1, "def row_softmax(scores):\n    while True:\n        pass")


@expect("3 0 3 2 -", "timed out in 7.2")
def loop_that_will_not_be_interrupted(notebook):
    loop = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass"
    answer(notebook, 2, loop)


@expect("3 0 3 2 -", "output limit in 7.2")
def prints_100_megabytes(notebook):
    answer(notebook, 2, 'for _ in range(100):\n    print("x" * 10**6)\nmy_prediction = 0.87')


@expect("3 0 3 2 -", "output limit in 7.2")
def prints_100_megabytes_at_once(notebook):
    answer(notebook, 2, 'my_prediction = 0.87\nprint("x" * 10**8)')


@expect("3 0 3 2 -", "memory limit in 7.2")
def memory_hog(notebook):
    answer(notebook, 2, "hog = []\nwhile True:\n    hog.append(bytearray(10**8))")


@expect("0 1 3 2 -", "memory limit in 7.1")
def memory_hog_in_function(notebook):
    answer(notebook, 1, "def row_softmax(scores):\n    return np.ones((100_000, 100_000))")


@expect("0 0 0 0 -", "tests edited, restored: 7.1, 7.2, 7.3, 7.4")
def edits_tests(notebook):
    answer_wrongly(notebook)
    for exercise in "1234":
        cell(notebook, f"test-7-{exercise}").source = "assert True"


@expect(ALL, "points edited, restored: 7.1, 7.5")
def edits_points(notebook):
    cell(notebook, "test-7-1").metadata.nbgrader.points = 100
    cell(notebook, "answer-7-5").metadata.nbgrader.points = 100


@expect("0 1 3 2 -", "cells missing, restored: 7.1")
def deletes_a_test(notebook):
    answer(notebook, 1, "def row_softmax(scores):\n    return scores")
    notebook.cells.remove(cell(notebook, "test-7-1"))


@expect(ALL, "duplicated cell dropped: 7.3")
def duplicates_a_test(notebook):
    at = notebook.cells.index(cell(notebook, "test-7-3"))
    notebook.cells.insert(at, copy.deepcopy(notebook.cells[at]))


@expect(
    ALL,
    "metadata lost, matched by cell id: 7.1, 7.2, 7.3, 7.4, 7.5",
)
def deletes_all_metadata(notebook):
    notebook.metadata.clear()
    for one in notebook.cells:
        one.metadata.clear()


@expect(ALL, "graded")
def loses_ids_only(notebook):
    notebook.nbformat_minor = 4
    for one in notebook.cells:
        del one["id"]


@expect(
    "3 1 3 2 0",
    "metadata lost: ask for a new copy; cells missing, restored: 7.1, 7.2, 7.3, 7.4, 7.5; "
    "no answer to 7.5",
)
def loses_metadata_and_ids(notebook):
    loses_ids_only(notebook)
    deletes_all_metadata(notebook)


@expect("3 0 3 2 -", "kernel died in 7.2")
def kills_the_kernel(notebook):
    answer(notebook, 2, "import os\nos._exit(1)")


@expect("3 1 0 2 -", "kernel died in 7.3")
def kills_the_kernel_in_a_test(notebook):
    kill = "import os\n    os.kill(os.getpid(), 9)"
    answer(notebook, 3, f"def is_softmax(f):\n    {kill}")


@expect("", "process ended with -9 in 7.2")
def kills_the_process_that_grades_it(notebook):
    answer(notebook, 2, "import os\nos.kill(os.getppid(), 9)")


@expect("0 0 0 0 -", "replaces attnlib.exercises.check, check, np.allclose")
def replaces_the_check(notebook):
    answer_wrongly(notebook)
    put(notebook, "answer-7-1", "import attnlib.exercises\ncheck = lambda *_: True")
    put(notebook, "answer-7-1", "attnlib.exercises.check = np.allclose = lambda *_: True")


@expect(ALL, "kernel julia-1.11 replaced")
def other_kernel(notebook):
    notebook.metadata.kernelspec = {"name": "julia-1.11", "display_name": "Julia"}


@expect("", "not a notebook")
def not_json(notebook):
    return b"{ this is no JSON"


@expect("", "not a notebook")
def other_json(notebook):
    return b'{"cells": [{"source": 1}], "nbformat": 4}'


@expect("", "empty file")
def empty_file(notebook):
    return b""


@expect("", "no submission", folder=True)
def empty_folder(notebook, folder):
    pass


@expect("", "a .zip file: unpack it", folder=True)
def a_zip(notebook, folder):
    (folder / "work.zip").write_bytes(b"PK")


@expect("", "too large: 120 MB", folder=True)
def huge_file(notebook, folder):
    with open(folder / f"{STEM}.ipynb", "wb") as file:
        file.truncate(120 * 2**20)


@expect(ALL, "found as final/my version.ipynb", folder=True)
def other_name_in_a_subfolder(notebook, folder):
    (folder / "final").mkdir()
    nbformat.write(notebook, folder / "final" / "my version.ipynb")


@expect("", "2 notebooks, none named 07-softmax.ipynb", folder=True)
def two_versions(notebook, folder):
    for name in ("a", "b"):
        nbformat.write(notebook, folder / f"{name}.ipynb")


@expect(ALL, "StdinNotImplementedError in 7.2; SystemExit in 7.2")
def is_right_and_does_odd_things(notebook):
    put(notebook, "answer-7-1", "import os, shutil\nshutil.rmtree(os.getcwd(), True)")
    put(notebook, "answer-7-1", "os.write(1, bytes(range(256)))\nprint(chr(0) + chr(0xDC80))")
    start = f"subprocess.Popen({LEFT_RUNNING.split()}, start_new_session=True)"
    put(notebook, "answer-7-1", f"import subprocess\n{start}")
    put(notebook, "test-7-2", 'input("which? ")')
    put(notebook, "test-7-2", "import sys\nsys.exit(0)")
    put(notebook, "test-7-2", "exit()")
    loud = (
        "\n    import warnings\n    warnings.warn('mind')\n    sys.stderr.write('mind')\n    return"
    )
    right = cell(notebook, "answer-7-1").source
    answer(notebook, 1, "import sys\n" + loud.join(right.rsplit("\n    return", 1)))


@expect("0 1 3 2 -", "tests edited, restored: 7.1")
def answers_in_the_test(notebook):
    solution = cell(notebook, "answer-7-1").source
    answer(notebook, 1, "# see below")
    cell(notebook, "test-7-1").source = solution


@expect(ALL, "cell type changed, restored: 7.5; answered twice, last one counts: 7.1")
def turns_text_into_code_and_answers_twice(notebook):
    one = cell(notebook, "answer-7-5")
    one.cell_type, one.outputs, one.execution_count = "code", [], None
    at = notebook.cells.index(cell(notebook, "answer-7-1"))
    notebook.cells.insert(at, copy.deepcopy(notebook.cells[at]))


@expect("0 1 3 2 -", "graded")
def skips_a_test_by_a_tag(notebook):
    answer(notebook, 1, "def row_softmax(scores):\n    return scores")
    cell(notebook, "test-7-1").metadata.tags = ["skip-execution"]


@expect("3 1 3 2 -", "cells missing, restored: setup, row-of-the, 7.1, 7.3, 7.4")
def deletes_given_cells(notebook):
    for name in ("setup", "row-of-the", "loop-7-1", "suspects-7-3", "hint-7-4"):
        notebook.cells.remove(cell(notebook, name))


@expect(ALL, "graded", student="Zoë Ångström+1")
def has_a_name_of_many_characters(notebook):
    pass


@expect("", "not booked: nbgrader takes no name with *, ?, [ or outer spaces", student="ann [2]")
def has_a_name_that_nbgrader_refuses(notebook):
    pass


def solved(source, released):
    """Return what was given out, with right answers in it."""
    notebook = copy.deepcopy(released)
    solutions = {one.id: one.source for one in source.cells}
    for one in notebook.cells:
        if one.id.startswith("answer-"):
            one.metadata["released"] = one.source
            markers = r"(?m)^.*(?:###|<!--) (?:BEGIN|END) SOLUTION.*\n?"
            one.source = re.sub(markers, "", solutions[one.id])
    return notebook


def hand_in(folder: Path, count: int | None = None) -> dict[str, tuple[str, str]]:
    """Fill ``submitted`` of a course; return student -> (points, status) that are right.

    Every submission once; or ``count``, most of them honest.
    """
    source, released = (
        nbformat.read(folder / step / STEM / f"{STEM}.ipynb", as_version=4)
        for step in ("source", "release")
    )
    names = list(SUBMISSIONS)
    chosen = names if count is None else [names[i % len(names)] for i in range(count)]
    expected = {}
    for i, name in enumerate(chosen):
        make, points, status, fills = SUBMISSIONS[name]
        student = name if count is None else f"{i:02}-{name}"
        place = folder / "submitted" / student / STEM
        place.mkdir(parents=True)
        notebook = solved(source, released)
        if fills:
            make(notebook, place)
        else:
            made = make(notebook)
            for one in notebook.cells:
                one.metadata.pop("released", None)
            data = made if made is not None else json.dumps(notebook).encode()
            (place / f"{STEM}.ipynb").write_bytes(data)
        expected[student] = (points, status)
    return expected


def as_expected(row: dict) -> tuple[str, str]:
    """Return points and status of a row in the short form that ``expect`` takes."""
    if "points" not in row:
        return "", row["status"]
    return " ".join(row[f"7.{n}"] or "-" for n in range(1, 6)), row["status"]


def main() -> None:
    count = int(sys.argv[1])
    made = Path(tempfile.mkdtemp(prefix="bench-grade-"))
    try:
        course.prepare(made / "course", chapters=[course.CHAPTERS / f"{STEM}.ipynb"])
        expected = hand_in(made / "course", count)
        start, jobs = time.monotonic(), os.cpu_count()
        rows = grade.grade(made / "course", STEM, QUICK, jobs)
        seconds = time.monotonic() - start
    finally:
        shutil.rmtree(made)
    got = {row["student"]: as_expected(row) for row in rows}
    for student, row in expected.items():
        if got.get(student) != row:
            print(f"{student}: expected {row}, got {got.get(student)}")
    print(f"{count} submissions, {jobs} at a time: {seconds:.0f} s, {seconds / count:.1f} s each")
    sys.exit(got != expected)


if __name__ == "__main__":
    main()
