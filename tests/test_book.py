"""The chapters: canonical, every claim shown by a cell that asserts, every figure described."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from notebooks import canonical, digest, faults

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "chapters").glob("*.ipynb"))
LEDGER = yaml.safe_load((ROOT / "claims.yml").read_text(encoding="utf-8"))
CHAPTER_OF = {claim: claim.split(".")[0].removeprefix("C") for claim in LEDGER["claims"]}
FINISHED = {str(chapter) for chapter in LEDGER["finished"]}


def cells(path):
    return nbformat.read(path, as_version=4).cells


def number(path):
    return path.name.split("-")[0].lstrip("0").upper()


def shown_claims():
    """Return claim -> whether one of its cells asserts, over all chapters."""
    shown = {}
    for path in NOTEBOOKS:
        for cell in cells(path):
            for tag in cell.metadata.get("tags", []):
                if tag.startswith("claim-"):
                    asserts = cell.cell_type == "code" and re.search(
                        r"^\s*assert ", cell.source, re.M
                    )
                    shown[tag[6:]] = shown.get(tag[6:], False) or bool(asserts)
    return shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_chapter_is_canonical(path):
    assert faults(path) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cell_ids_say_what_the_cell_is(path):
    ids = [cell.id for cell in cells(path)]
    assert len(set(ids)) == len(ids)
    assert [i for i in ids if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", i)] == []
    assert [i for i in ids if re.fullmatch(r"[0-9a-f]{8}", i)] == [], "a generated id says nothing"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_figure_is_described(path):
    figures = 0
    for cell in cells(path):
        outputs = cell.get("outputs", [])
        if any(key.startswith("image/") for out in outputs for key in out.get("data", {})):
            figures += 1
            about = cell.metadata.get("mystnb", {})
            assert len(about.get("image", {}).get("alt", "")) >= 20, cell.id
            assert about.get("figure", {}).get("caption") and about["figure"].get("name"), cell.id
    assert figures >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_heading_has_a_label(path):
    for cell in cells(path):
        if cell.cell_type == "markdown":
            lines = cell.source.splitlines()
            for before, line in zip([""] + lines, lines, strict=False):
                if re.match(r"#+ ", line):
                    assert re.fullmatch(r"\([a-z0-9-]+\)=", before), f"{cell.id}: {line}"


# Numbers that prose may use without a cell: counting words, the year of a paper, page furniture.
FREE_NUMBERS = {"0", "1", "2", "3", "4", "10"}


def prose_numbers(source):
    """Return the numbers that a reader sees in prose: no mathematics, code, labels or links."""
    hidden = (
        r"(?s:```.*?```)|^:::\{admonition\}.*$|\$\$[^$]*\$\$|\$[^$]*\$|`[^`]*`|\{[^}]*\}|^\([a-z0-9-]+\)=$"
        r"|https?://\S+|chapters? \d+(?:(?:, | and )\d+)*|^\d+\. |^\| \d+ \||[A-Za-z_][\w-]*\d\w*"
    )
    text = re.sub(hidden, " ", source, flags=re.M)
    return re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", text.replace("\u2212", "-"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_numbers_in_prose_were_printed_above(path):
    printed, unbacked = set(FREE_NUMBERS), []
    for cell in cells(path):
        if cell.cell_type == "markdown" and not cell.id.startswith("exercise-"):  # a task's own
            found = prose_numbers(cell.source)
            unbacked += [(cell.id, number) for number in found if number not in printed]
        for output in cell.get("outputs", []):
            text = output.get("text", "") + str(output.get("data", {}).get("text/plain", ""))
            printed |= set(re.findall(r"\d+(?:[.,]\d+)*", text))
    assert unbacked == []


@pytest.mark.parametrize("claim", [c for c in LEDGER["claims"] if CHAPTER_OF[c] in FINISHED])
def test_claim_of_a_finished_chapter_is_shown_and_asserted(claim):
    shown = shown_claims()
    assert claim in shown, f"no cell is tagged claim-{claim}"
    assert shown[claim], f"the cells of {claim} assert nothing"


def test_tags_name_claims_that_exist():
    assert set(shown_claims()) <= set(LEDGER["claims"])


def test_finished_chapters_are_those_that_are_there(record_property):
    assert {number(path) for path in NOTEBOOKS} == FINISHED
    owed = sorted(c for c in LEDGER["claims"] if CHAPTER_OF[c] not in FINISHED)
    record_property("claims still to come", ", ".join(owed))
    print("claims still to come:", ", ".join(owed) or "none")


def test_canonical_form_is_stable_and_a_changed_cell_is_found(tmp_path):
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    text = canonical(notebook)
    assert canonical(nbformat.reads(text, as_version=4)) == text == NOTEBOOKS[0].read_text("utf-8")
    next(cell for cell in notebook.cells if cell.cell_type == "code").source += "\n1 / 0"
    assert digest(notebook) != notebook.metadata.code_digest


def test_check_names_the_cell_that_raises(tmp_path):
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    broken = next(cell for cell in notebook.cells if cell.cell_type == "code")
    broken.outputs = [
        nbformat.v4.new_output("error", ename="ValueError", evalue="wrong axis", traceback=[])
    ]
    path = tmp_path / "zz-broken.ipynb"
    path.write_text(canonical(notebook), encoding="utf-8")
    call = [sys.executable, ROOT / "tools" / "notebooks.py", "--check", path]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"zz-broken.ipynb, cell {broken.id}" in done.stderr and "wrong axis" in done.stderr
