"""Prepare a course folder outside the repository, in which nbgrader works as its manual says.

    python tools/course.py DIR [--force]

It holds nbgrader's settings, each chapter with exercises as source and as release, the gradebook
and an empty folder for submissions. ``--force`` renews settings, sources and releases of a course;
submissions stay, and the gradebook is updated after a copy of it was put aside.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from datetime import datetime
from pathlib import Path

import nbformat
from notebooks import CHAPTERS, ROOT
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

import attnlib

SETTINGS = ROOT / "tools" / "nbgrader_config.py"
FILES = {"a2-cost": ("bench.csv",)}  # what a chapter reads besides the library
VERSION = f"attnlib {attnlib.__version__}"
FOR_A_COURSE = """
# Of this course: wherever the folder is moved, and however many read the gradebook at once.
from pathlib import Path  # noqa: E402

root = Path(__file__).resolve().parent
c.CourseDirectory.root = str(root)
c.CourseDirectory.db_url = f"sqlite:///{root}/gradebook.db?timeout=60"
c.IgnorePattern.enabled = True  # nbgrader counts a test that writes to stderr as failed:
c.IgnorePattern.pattern = "."  # a warning shall cost no points
"""


def assigned(path: Path) -> bool:
    """Return whether the chapter has exercises."""
    cells = nbformat.read(path, as_version=4).cells
    return any(cell.metadata.get("nbgrader", {}).get("grade") for cell in cells)


@contextlib.contextmanager
def quiet():
    """Keep back the warnings of nbgrader's use of its libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def nbgrader_in(course: Path, changes: Config | None = None):
    """Return nbgrader's API with the settings of the course, and ``changes`` to them."""
    programs = str(Path(sys.executable).parent)  # nbgrader calls alembic by its name
    if programs not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = programs + os.pathsep + os.environ["PATH"]
    from nbgrader.apps import NbGraderAPI

    settings = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    settings.NbGraderAPI.log_level = "ERROR"
    settings.merge(changes or Config())
    api = NbGraderAPI(config=settings)
    api.log.propagate = False
    return api


def build(course: Path, chapters: list[Path]) -> None:
    """Fill an empty folder, or one that holds a gradebook, with a course."""
    shutil.copyfile(SETTINGS, course / "nbgrader_config.py")
    with open(course / "nbgrader_config.py", "a", encoding="utf-8") as settings:
        settings.write(FOR_A_COURSE)
    (course / "version").write_text(VERSION + "\n", encoding="utf-8")
    (course / "submitted").mkdir()
    for chapter in chapters:
        folder = course / "source" / chapter.stem
        folder.mkdir(parents=True)
        for name in (chapter.name, *FILES.get(chapter.stem, ())):
            shutil.copyfile(chapter.parent / name, folder / name)
    with quiet():
        api = nbgrader_in(course)
        results = {chapter.name: api.generate_assignment(chapter.stem) for chapter in chapters}
    for name, done in results.items():
        if not done["success"]:
            reason = done["error"].strip().splitlines()[-1]
            log = [line for line in done.get("log", "").splitlines() if "Error" in line]
            sys.exit(f"course: nbgrader cannot release {name}: {(log or [reason])[-1]}")


def prepare(course: Path, force: bool = False, chapters: list[Path] | None = None) -> Path | None:
    """Make the course folder; return where the gradebook of an existing one was put aside.

    Everything is built beside it and moved in at the end, so that a failure leaves no half course.
    """
    course = course.expanduser().resolve()
    if course.is_relative_to(ROOT):
        sys.exit(f"course: {course} is inside the repository; grades belong outside of it")
    if course.exists() and not course.is_dir():
        sys.exit(f"course: {course} is a file")
    exists = (course / "nbgrader_config.py").exists() or (course / "gradebook.db").exists()
    if exists and not force:
        sys.exit(f"course: {course} is a course already; FORCE=1 renews it, grades are kept")
    if not exists and course.exists() and any(course.iterdir()):
        sys.exit(f"course: {course} is not empty and no course; name a new folder")
    chapters = chapters or [path for path in sorted(CHAPTERS.glob("*.ipynb")) if assigned(path)]
    course.parent.mkdir(parents=True, exist_ok=True)
    gradebook, aside = course / "gradebook.db", None
    with tempfile.TemporaryDirectory(dir=course.parent, prefix=".course-") as made:
        new = Path(made)
        if gradebook.exists():
            shutil.copy2(gradebook, new)
            aside = course / f"gradebook-{datetime.now():%Y-%m-%d-%H%M%S}.db"
        build(new, chapters)
        course.mkdir(exist_ok=True)
        if aside:
            gradebook.rename(aside)
        for part in new.iterdir():
            old = course / part.name
            if part.name == "submitted" and old.exists():
                continue
            if old.is_dir():
                shutil.rmtree(old)
            part.replace(old)
    return aside


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("course", metavar="DIR", help="the folder to make")
    parser.add_argument("--force", action="store_true", help="renew a course that exists")
    arguments = parser.parse_args()
    if not arguments.course:
        sys.exit("course: which folder? make course DIR=~/attention-course")
    course = Path(arguments.course)
    aside = prepare(course, arguments.force)
    count = len(list((course.expanduser() / "source").iterdir()))
    print(f"{course}: {count} chapters; give out release/, collect into submitted/STUDENT/CHAPTER/")
    if aside:
        print(f"the gradebook as it was: {aside}")


if __name__ == "__main__":
    main()
