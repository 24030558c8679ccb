"""Releases: kept unless forced, running on what is in them, and failing in their tests alone."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from releases import chosen, main, sheets_text, stem_of

from attnlib.exercises.sheets import CHAPTERS


def make(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["releases.py", *map(str, arguments)])
    main()


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Release chapter 7; return its folder."""
    to = tmp_path_factory.mktemp("release")
    with pytest.MonkeyPatch.context() as patch:
        make(patch, "07", "--to", to)
    return to / "07-softmax"


@pytest.fixture(scope="module")
def library(released):
    """Unpack the wheel; return an environment in which it is the attnlib that Python finds."""
    (wheel,) = released.glob("*.whl")
    to = released.parent / "site"
    zipfile.ZipFile(wheel).extractall(to)
    return os.environ | {"PYTHONPATH": str(to)}


def test_chapters_have_several_names():
    assert chosen(["7", "07", "07-softmax", "A1", "a1-masks"]) == ["7", "7", "7", "A1", "A1"]
    assert chosen(["all"]) == list(CHAPTERS)
    assert [stem_of(one) for one in ("7", "A2")] == ["07-softmax", "a2-cost"]


@pytest.mark.parametrize("names", [["13"], ["a3"], ["7", "softmax"], []])
def test_an_unknown_chapter_is_answered_with_those_there_are(names):
    with pytest.raises(SystemExit, match=r"CHAPTER is one of 01, 02, .*, a1, a2, or all"):
        chosen(names)


def test_a_release_is_replaced_when_forced_alone(released, monkeypatch):
    before = (released / "README.md").stat().st_mtime_ns
    with pytest.raises(SystemExit, match="FORCE=1"):
        make(monkeypatch, "07", "--to", released.parent)
    assert (released / "README.md").stat().st_mtime_ns == before
    make(monkeypatch, "07", "--to", released.parent, "--force")
    assert (released / "README.md").stat().st_mtime_ns > before


def test_a_folder_holds_what_its_readme_says(released):
    about = (released / "README.md").read_text(encoding="utf-8")
    assert len(about.splitlines()) == 5
    for path in released.iterdir():
        assert path.name == "README.md" or path.name in about
    packed = zipfile.ZipFile(f"{released}.zip").namelist()
    assert {Path(name).name for name in packed if name[-1] != "/"} == {
        path.name for path in released.iterdir()
    }


def test_the_library_has_one_chapter_as_sheets(released):
    (wheel,) = released.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name.removeprefix("attnlib/exercises/") for name in names if "/exercises/" in name}
    code = {"__init__.py", "engine.py", "guard.py", "sheets.py"}
    assert inside == code | {"sheets.json", "suspects/__init__.py", "suspects/ch07.py"}
    assert [name for name in names if name.endswith("NOTICE")], "the weights' licence asks for it"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_sheets_need_no_function_of_a_description(chapter):
    text = sheets_text(chapter, solutions=False)
    module = f"attnlib.exercises.suspects.{CHAPTERS[chapter]}:"
    assert text.count('"$function"') == text.count(f'"$function": "{module}')
    assert {sheet["solution"] for sheet in json.loads(text)} == {""}
    assert any(sheet["solution"] for sheet in json.loads(sheets_text(chapter, solutions=True)))


def test_check_and_hint_work_and_know_this_chapter_alone(released, library):
    code = (
        "from attnlib import softmax; from attnlib.exercises import check, hint, solution\n"
        "check('7.1', softmax); hint('7.2'); solution('7.1'); check('8.1', 0)"
    )
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, env=library, cwd=released, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "7.1 right"
    assert "7.2 Hint 1" in done.stdout and "no solution in this copy" in done.stdout
    assert done.stderr.splitlines()[-1].endswith("'8.1': this copy has those of chapter 7 only")


def test_the_notebook_runs_and_fails_in_its_tests_alone(released, library, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", library["PYTHONPATH"])
    notebook = nbformat.read(released / "07-softmax.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    where = {"metadata": {"path": str(released)}}
    NotebookClient(notebook, kernel_name="python3", allow_errors=True, resources=where).execute()
    failed = [
        cell.id
        for cell in notebook.cells
        if any(output.output_type == "error" for output in cell.get("outputs", []))
    ]
    assert failed == ["test-7-1", "test-7-2", "test-7-3", "test-7-4"]
