"""Grading: a course is made and kept safe, and every submission gets the row that it should."""

import inspect
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import course
import grade
import nbformat
import psutil
import pytest
import submission

from attnlib.exercises import engine
from tests import submissions
from tests.submissions import STEM

CHAPTER = course.CHAPTERS / f"{STEM}.ipynb"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return a course with every submission graded, the rows that are right, and those written."""
    made = tmp_path_factory.mktemp("grading")
    chapter = nbformat.read(CHAPTER, as_version=4)
    # Without its figures, which take half the time.
    chapter.cells = [one for one in chapter.cells if "figure" not in one.metadata.get("mystnb", {})]
    nbformat.write(chapter, made / CHAPTER.name)
    folder = made / "course"
    course.prepare(folder, chapters=[made / CHAPTER.name])
    expected = submissions.hand_in(folder)
    (folder / "submitted" / "loose.ipynb").write_text("{}")
    before = {path: path.stat().st_mtime_ns for path in (folder / "submitted").rglob("*")}
    rows = grade.grade(folder, STEM, submissions.QUICK, jobs=2, show=False)
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "submitted").rglob("*")}
    grade.write(folder / "grades.csv", STEM, rows)
    return folder, expected, {row["student"]: row for row in rows}


@pytest.mark.parametrize("student", submissions.SUBMISSIONS)
def test_row(graded, student):
    _, expected, rows = graded
    assert submissions.as_expected(rows[student]) == expected[student]
    assert rows[student]["maximum"] == "11"


def test_nothing_is_lost_and_nothing_left_running(graded):
    folder, expected, rows = graded
    assert set(rows) == {*expected, "loose.ipynb"}
    assert rows["loose.ipynb"]["status"].startswith("not in a folder")
    table = (folder / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == "chapter,student,7.1,7.2,7.3,7.4,7.5,points,maximum,status"
    assert len(table) == len(rows) + 1
    assert "07-softmax,right,3,1,3,2,,9,11,graded" in table
    lines = [" ".join(one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"])]
    assert submissions.LEFT_RUNNING not in lines


def test_outputs_stay_small_and_autograded_notebooks_show_what_happened(graded):
    folder = graded[0]
    sizes = [path.stat().st_size for path in (folder / "autograded").rglob("*.ipynb")]
    assert len(sizes) > 25 and max(sizes) < 3 * 2**20
    text = (folder / "autograded" / "kills-the-kernel" / STEM / f"{STEM}.ipynb").read_text("utf-8")
    assert "NotGraded" in text and "kernel died" in text


def test_feedback_and_export_by_nbgraders_own_commands(graded):
    folder = graded[0]
    for command in (["generate_feedback", STEM, "--student=right"], ["export", "--to=all.csv"]):
        call = [sys.executable, "-m", "nbgrader", *command]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-500:]
    assert (folder / "feedback" / "right" / STEM / f"{STEM}.html").stat().st_size > 10_000
    assert re.search(rf"{STEM},.*,right,.*,9.0,11.0", (folder / "all.csv").read_text("utf-8"))


def test_points_given_by_hand_survive_grading_again_and_a_renewed_course(graded, tmp_path):
    folder = tmp_path / "course"
    shutil.copytree(graded[0], folder)
    for other in (folder / "submitted").iterdir():
        if other.name not in ("right", "crashes"):
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    with course.quiet(), course.nbgrader_in(folder).gradebook as gradebook:
        for student, name, points in [("right", "answer-7-5", 2), ("crashes", "test-7-1", 1)]:
            gradebook.find_grade(name, STEM, STEM, student).manual_score = points
        gradebook.db.commit()
    chapter = graded[0].parent / CHAPTER.name
    with pytest.raises(SystemExit, match="is a course already; FORCE=1 renews it"):
        course.prepare(folder, chapters=[chapter])
    aside = course.prepare(folder, force=True, chapters=[chapter])
    assert sqlite3.connect(aside).execute("select count(*) from grade").fetchone()[0] > 100
    rows = grade.grade(folder, STEM, submissions.QUICK, jobs=2, show=False)
    grade.write(folder / "grades.csv", STEM, rows)
    points = {row["student"]: (row["7.1"], row["7.5"], row["points"]) for row in rows}
    assert points == {"crashes": ("1", "", "7"), "right": ("3", "2", "11")}


def test_a_process_that_stands_still_is_ended(graded, tmp_path, monkeypatch):
    notebook = nbformat.read(graded[0] / "release" / STEM / f"{STEM}.ipynb", as_version=4)
    notebook.cells[1].source = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)"
    (tmp_path / "ann" / STEM).mkdir(parents=True)
    nbformat.write(notebook, tmp_path / "ann" / STEM / f"{STEM}.ipynb")
    monkeypatch.setattr(grade, "GRACE", 2)
    limits = submissions.QUICK | {"seconds": 6}
    outcome = grade.execute(graded[0], STEM, tmp_path / "ann", tmp_path, limits)
    assert outcome["notes"] == ["stopped by the clock in setup"] and not outcome["executed"]


def test_a_course_is_refused_in_one_line(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    for place, message in [
        (course.ROOT / "grades", "is inside the repository"),
        (tmp_path / "full", "is not empty and no course"),
        (tmp_path / "full" / "thesis.txt", "is a file"),
    ]:
        with pytest.raises(SystemExit, match=message) as refused:
            course.prepare(place)
        assert "\n" not in str(refused.value)
    assert not (course.ROOT / "grades").exists()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_grading_is_refused_in_one_line(graded, tmp_path):
    with pytest.raises(SystemExit, match=r"no chapter '99' in this course; there are 07$"):
        grade.chosen(graded[0], "99")
    assert grade.chosen(graded[0], "7") == grade.chosen(graded[0], STEM) == STEM
    with pytest.raises(SystemExit, match="is no course folder"):
        grade.chosen(tmp_path, "07")
    (tmp_path / "version").write_text("attnlib 0.0.1\n")
    with pytest.raises(SystemExit, match=r"made by attnlib 0\.0\.1, this is attnlib"):
        grade.chosen(tmp_path, "07")
    (tmp_path / "submitted").mkdir()
    with pytest.raises(SystemExit, match="nothing in"):
        grade.handed_in(tmp_path)


def test_the_phrase_of_check_is_still_the_one_that_grading_looks_for():
    assert submission.STOPPED_BY_CHECK in inspect.getsource(engine)


def test_chapters_are_kept_apart_in_the_table(tmp_path):
    table = tmp_path / "grades.csv"
    ends = {"points": "3", "maximum": "3", "status": "graded"}
    for stem, exercise in [("07-softmax", "7.1"), ("a1-masks", "A1.1"), ("07-softmax", "7.1")]:
        grade.write(table, stem, [{"chapter": stem, "student": "ann", exercise: "3"} | ends])
    assert table.read_text(encoding="utf-8").splitlines() == [
        "chapter,student,7.1,A1.1,points,maximum,status",
        "07-softmax,ann,3,,3,3,graded",
        "a1-masks,ann,,3,3,3,graded",
    ]


def test_the_chapters_name_their_graded_cells_alike():
    """Grading reads the exercise from a cell's name, and finds lost metadata by its id."""
    for path in filter(course.assigned, Path(course.CHAPTERS).glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if about := cell.metadata.get("nbgrader"):
                assert about["grade_id"] == cell.id and grade.exercise_of(cell.id), cell.id
