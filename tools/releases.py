"""Make what students get of a chapter: a folder that runs without a network, and its zip.

    python tools/releases.py 07 [a1 ... | all] [--solutions] [--force] [--to release]

The folder holds the student's notebook, the files it reads, a README, and attnlib as a wheel that
knows the exercises of this chapter as sheets: cases and outcomes, not the functions behind them.
"""

import argparse
import contextlib
import re
import shutil
import sys
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import nbformat
from flit_core.buildapi import build_wheel
from notebooks import CHAPTERS as NOTEBOOKS
from notebooks import ROOT, as_text
from strip import student

import attnlib
from attnlib.exercises.sheets import CHAPTERS, STORED, dump

PACKAGING = ("pyproject.toml", "LICENSE", "NOTICE")
# Of attnlib/exercises; the rest are descriptions, and those hold the answers.
FOR_STUDENTS = {"__init__.py", "engine.py", "guard.py", "sheets.py", "suspects"}
README = """\
`{stem}.ipynb` is {chapter} of *Attention, earned*: it can be read, run and changed, and its last section holds exercises.
Install the book's library from this folder, no network needed: `python -m pip install --no-index {wheel}` (where numpy and matplotlib are there).
Open the notebook in this folder: `jupyter lab {stem}.ipynb`.
Check an answer by running the cell that calls `check`: it says "right" or names the mistake; `hint` gives the next hint at each call.
Answers go where `# YOUR CODE HERE` or `Write your answer here.` stands; hand in the notebook under its own name, with all its cells.
"""  # noqa: E501  (five lines, one topic each)


def stem_of(chapter: str) -> str:
    """Return the file name of a chapter's notebook, without its ending."""
    (path,) = NOTEBOOKS.glob(f"{CHAPTERS[chapter].removeprefix('ch')}-*.ipynb")
    return path.stem


def chosen(names: list[str]) -> list[str]:
    """Return the chapters that the command line names, ``SystemExit`` if there is none such."""
    if names == ["all"]:
        return list(CHAPTERS)
    chapters = [name.split("-")[0].lstrip("0").upper() for name in names]
    unknown = [name for name, chapter in zip(names, chapters) if chapter not in CHAPTERS]
    if unknown or not names:
        known = ", ".join(module.removeprefix("ch") for module in CHAPTERS.values())
        problem = f"no chapter {unknown[0]!r} has exercises" if unknown else "no chapter is named"
        sys.exit(f"{problem}; CHAPTER is one of {known}, or all")
    return chapters


def sheets_text(chapter: str, solutions: bool) -> str:
    """Return the stored sheets of a chapter's exercises."""
    sheets = [
        exercise.sheet()
        for exercise in import_module(f"attnlib.exercises.{CHAPTERS[chapter]}").EXERCISES
    ]
    return dump(sheets if solutions else [replace(sheet, solution="") for sheet in sheets])


def build_library(chapter: str, to: Path, solutions: bool) -> str:
    """Build attnlib as students of this chapter get it into ``to``; return the wheel's name."""
    package = Path(attnlib.__file__).parent
    module = CHAPTERS[chapter]
    kept = {
        package / "exercises": FOR_STUDENTS,
        package / "exercises" / "suspects": {"__init__.py", f"{module}.py"},
    }

    def left_out(folder, names):
        return {"__pycache__"} | (set(names) - kept.get(Path(folder), set(names)))

    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        shutil.copytree(package, tree / "attnlib", ignore=left_out)
        for name in PACKAGING:
            shutil.copy(ROOT / name, tree)
        (tree / "README.md").write_text(f"attnlib, for {called(chapter)}.\n", encoding="utf-8")
        stored = tree / "attnlib" / "exercises" / STORED
        stored.write_text(sheets_text(chapter, solutions), encoding="utf-8")
        # A version of its own: pip leaves an installed wheel of the same version as it is.
        init = tree / "attnlib" / "__init__.py"
        version = f"{attnlib.__version__}+{module}{'.solutions' if solutions else ''}"
        text = init.read_text(encoding="utf-8")
        init.write_text(text.replace(attnlib.__version__, version), encoding="utf-8")
        with contextlib.chdir(tree):
            wheel = build_wheel(str(to))
    (to / wheel).chmod(0o644)  # flit leaves it to its owner
    return wheel


def called(chapter: str) -> str:
    return f"chapter {chapter}" if chapter.isdigit() else f"appendix {chapter}"


def read_beside(notebook) -> list[Path]:
    """Return the files in the chapters' folder whose names the notebook's code contains."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return [path for path in NOTEBOOKS.glob("*.csv") if re.search(rf"\b{path.name}\b", code)]


def write_release(chapter: str, to: Path, solutions: bool = False) -> None:
    """Write the folder of a chapter, and its zip beside it."""
    stem = stem_of(chapter)
    notebook = nbformat.read(NOTEBOOKS / f"{stem}.ipynb", as_version=4)
    with tempfile.TemporaryDirectory() as parent:  # so that a half-made release is none
        folder = Path(parent) / stem
        folder.mkdir()
        wheel = build_library(chapter, folder, solutions)
        (folder / f"{stem}.ipynb").write_text(as_text(student(notebook)), encoding="utf-8")
        about = README.format(stem=stem, chapter=called(chapter), wheel=wheel)
        (folder / "README.md").write_text(about, encoding="utf-8")
        for path in read_beside(notebook):
            shutil.copy(path, folder)
        shutil.rmtree(to / stem, ignore_errors=True)
        shutil.copytree(folder, to / stem)
    shutil.make_archive(str(to / stem), "zip", root_dir=to, base_dir=stem)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("chapters", nargs="*", help="07, a1, ... or all")
    parser.add_argument("--solutions", action="store_true", help="solution('7.1') prints one")
    parser.add_argument("--force", action="store_true", help="replace a release that is there")
    parser.add_argument("--to", type=Path, default=ROOT / "release", help="default: release/")
    arguments = parser.parse_args()
    chapters = chosen(arguments.chapters)
    there = [stem_of(one) for one in chapters if (arguments.to / stem_of(one)).exists()]
    if there and not arguments.force:
        sys.exit(f"{', '.join(there)}: there already in {arguments.to}; FORCE=1 replaces it")
    arguments.to.mkdir(parents=True, exist_ok=True)
    for chapter in chapters:
        write_release(chapter, arguments.to, arguments.solutions)
        print(arguments.to / stem_of(chapter))


if __name__ == "__main__":
    main()
