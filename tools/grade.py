"""Grade every submission of a chapter: each in a process of its own, nbgrader keeps the books.

    python tools/grade.py DIR 07 [--cell-seconds 30] [--seconds 300] [--memory-mb 2048] ...

Writes ``DIR/grades.csv``: a row a submission of every chapter graded so far; an empty field under
an exercise of the row's chapter waits for points by hand. Grading a chapter again renews its rows.
Nothing that a submission does ends as a silent zero or stops the others: ``status`` tells.
tools/submission.py executes, and says why its limits are no sandbox. The gradebook is opened here
alone, one submission after the other, and never by a process that runs what students wrote.
"""

import argparse
import contextlib
import csv
import glob
import json
import multiprocessing
import os
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import psutil
from course import VERSION, nbgrader_in, quiet
from repair import exercise_of
from submission import main as submission_main
from tqdm import tqdm
from traitlets.config import Config

# A process a submission, forked from one that has imported what takes long and nothing else.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["nbgrader.preprocessors", "psutil", "IPython"])
LIMITS = {"cell_seconds": 30, "seconds": 300, "memory_mb": 2048, "output_mb": 5}
GRACE = 15  # seconds after which a process that does not end by itself is ended
ENDS = ("points", "maximum", "status")


def chosen(course: Path, chapter: str) -> str:
    """Return the name of the chapter's assignment; ``SystemExit`` says what is wrong instead."""
    stamp = course / "version"
    if not stamp.is_file():
        sys.exit(f"grade: {course} is no course folder; 'make course DIR={course}' makes one")
    if (version := stamp.read_text(encoding="utf-8").strip()) != VERSION:
        sys.exit(f"grade: {course} was made by {version}, this is {VERSION}: FORCE=1 renews it")
    stems = sorted(path.name for path in (course / "source").iterdir())
    wanted = chapter.lower().zfill(2)
    found = [stem for stem in stems if wanted in (stem, stem.split("-")[0])]
    if not found:
        there = ", ".join(stem.split("-")[0] for stem in stems)
        sys.exit(f"grade: no chapter {chapter!r} in this course; there are {there}")
    return found[0]


def handed_in(course: Path) -> list[Path]:
    """Return what lies in ``submitted``, hidden files aside: a folder a student."""
    found = sorted(p for p in (course / "submitted").glob("*") if not p.name.startswith("."))
    if not found:
        expected = "STUDENT/CHAPTER/CHAPTER.ipynb"
        sys.exit(f"grade: nothing in {course / 'submitted'}; put {expected} there")
    return found


def end_all(token: str) -> None:
    """End what a submission has left running, wherever it moved: all carry the token."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get("GRADING") == token:
                process.kill()


def execute(course: Path, stem: str, submission: Path, scratch: Path, limits: dict) -> dict:
    """Have a submission executed by a process of its own, and return the outcome."""
    if not submission.is_dir():
        return {"notes": [f"not in a folder: expected {submission.stem}/{stem}/{stem}.ipynb"]}
    token = uuid.uuid4().hex
    own = scratch / token
    own.mkdir()
    job = limits | {
        "course": str(course),
        "folder": str(submission / stem),
        "stem": stem,
        "work": str(own / "work"),
        "outcome": str(own / "outcome.json"),
        "out": str(scratch / "executed" / submission.name / stem),
        "environment": {
            "GRADING": token,
            "IPYTHONDIR": str(own / "ipython"),  # nothing left in a profile reaches the next one
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
        },
    }
    process = PROCESSES.Process(target=submission_main, args=(job,))
    process.start()
    process.join(limits["seconds"] + GRACE)
    ended = "stopped by the clock" if process.is_alive() else ""
    process.kill()
    process.join()
    end_all(token)
    try:
        outcome = json.loads((own / "outcome.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        outcome = {"notes": [], "where": None}
    if ended or (not outcome.get("executed") and (process.exitcode or not outcome["notes"])):
        outcome["executed"] = False
        where = f" in {outcome['where']}" if outcome["where"] else ""
        outcome["notes"].append((ended or f"process ended with {process.exitcode}") + where)
    return outcome


class Books:
    """nbgrader over executed notebooks: it counts, and writes the gradebook and ``autograded``."""

    def __init__(self, course: Path, stem: str, scratch: Path):
        changes = Config()
        changes.Execute.enabled = changes.ClearOutput.enabled = False
        changes.CourseDirectory.submitted_directory = str(scratch / "executed")
        self.stem, self.api = stem, nbgrader_in(course, changes)

    def enter(self, student: str) -> str:
        """Book the executed notebook of a student; return what went wrong, or nothing."""
        if glob.escape(student) != student.strip():
            return "not booked: nbgrader takes no name with *, ?, [ or outer spaces"
        done = self.api.autograde(self.stem, student)
        if done["success"]:
            return ""
        return f"not booked: {done['error'].strip().splitlines()[-1][:200]}"

    def maximum(self) -> float:
        """Return how many points the chapter has."""
        with self.api.gradebook as gradebook:
            return gradebook.find_notebook(self.stem, self.stem).max_score

    def points(self, student: str) -> dict:
        """Return name -> points of a student's cells; None where they are given by hand."""
        with self.api.gradebook as gradebook:
            found = gradebook.find_submission_notebook(self.stem, self.stem, student).grades
            return {
                one.name: None if one.auto_score is None and one.manual_score is None else one.score
                for one in sorted(found, key=lambda one: int(one.name.split("-")[-1]))
            }


def number(points: float | None) -> str:
    """Return points as the table has them: few digits, and empty where there are none."""
    return "" if points is None else f"{points:g}"


def as_fields(points: dict) -> dict:
    """Return the fields of a row for points: one an exercise, and their sum so far."""
    fields = {exercise_of(name) or name: number(value) for name, value in points.items()}
    return fields | {"points": number(sum(value or 0 for value in points.values()))}


def grade(course: Path, stem: str, limits: dict, jobs: int, show: bool = True) -> list[dict]:
    """Grade a chapter's submissions and return their rows, in the order of the names."""
    submissions, rows = handed_in(course), []
    aside = tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True)
    with quiet(), aside as made:
        scratch = Path(made)
        books = Books(course, stem, scratch)
        maximum = number(books.maximum())
        with ThreadPoolExecutor(jobs) as pool:
            running = {
                pool.submit(execute, course, stem, one, scratch, limits): one for one in submissions
            }
            for ended in tqdm(
                as_completed(running), total=len(running), unit="submission", disable=not show
            ):
                student = running[ended].name
                row = {"chapter": stem, "student": student}
                notes = []
                try:
                    outcome = ended.result()
                    notes += outcome["notes"]
                    if outcome.get("executed"):
                        if problem := books.enter(student):
                            notes.append(problem)
                        else:
                            row |= as_fields(books.points(student))
                except Exception as error:  # a fault of ours costs one row, and says so
                    notes.append(f"could not be graded: {type(error).__name__}: {error}"[:200])
                row["maximum"] = maximum
                row["status"] = "; ".join(" ".join(note.split()) for note in notes) or "graded"
                rows.append(row)
    return sorted(rows, key=lambda row: row["student"])


def write(path: Path, stem: str, rows: list[dict]) -> None:
    """Put the chapter's rows into the table, in place of those that it has of this chapter."""
    kept = []
    if path.exists():
        with open(path, encoding="utf-8", newline="") as file:
            kept = [row for row in csv.DictReader(file) if row.get("chapter") != stem]
    table = sorted(kept + rows, key=lambda row: (row["chapter"], row["student"]))
    inner = dict.fromkeys(key for row in table for key in row)
    columns = ["chapter", "student", *(k for k in inner if k[0].isdigit() or k[0] == "A"), *ENDS]
    new = path.with_suffix(".new")
    with open(new, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows(table)
    new.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("course", metavar="DIR", help="the course folder")
    parser.add_argument("chapter", help="its number: 07, a1")
    for name, value in LIMITS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value, metavar=value)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="submissions at a time")
    arguments = parser.parse_args()
    if not arguments.course or not arguments.chapter:
        sys.exit("grade: which folder and chapter? make grade DIR=~/attention-course CHAPTER=07")
    course = Path(arguments.course).expanduser().resolve()
    stem = chosen(course, arguments.chapter)
    rows = grade(course, stem, {name: getattr(arguments, name) for name in LIMITS}, arguments.jobs)
    write(course / "grades.csv", stem, rows)
    remarks = sum(row["status"] != "graded" for row in rows)
    print(f"{stem}: {len(rows)} submissions, {remarks} with a remark; see {course / 'grades.csv'}")


if __name__ == "__main__":
    main()
