"""Nothing for teachers reaches students: releases and pages are searched, whatever packs them."""

import gzip
import html
import io
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from base64 import b64decode
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = {path.stem: nbformat.read(path, 4) for path in sorted(ROOT.glob("chapters/*.ipynb"))}
LIBRARY = [
    path
    for path in (ROOT / "attnlib").rglob("*.py")
    if path.parent.name != "exercises" or path.stem in ("__init__", "engine", "guard", "sheets")
]
SENTINEL = {kind: re.compile(rf"{kind}_\w+_\d", re.I) for kind in ("solution", "hidden")}
REGION = {
    "solution": re.compile(r"BEGIN SOLUTION.*?\n(.*?)\n[^\n]*END SOLUTION", re.S),
    "hidden": re.compile(r"BEGIN HIDDEN TESTS.*?\n(.*?)\n[^\n]*END HIDDEN TESTS", re.S),
}


def words(text):
    """Return the text's letters and digits alone: how a page or a file sets it does not count."""
    return re.sub(r"\W+", "", text.casefold())


def secret_lines():
    """Return kind -> {words of a line: the line}, of lines that stand nowhere in the open."""
    cells = [cell.source for notebook in NOTEBOOKS.values() for cell in notebook.cells]
    opened = "\n".join(path.read_text(encoding="utf-8") for path in LIBRARY)
    for source in cells:
        opened += REGION["solution"].sub("", REGION["hidden"].sub("", source))
    opened = words(opened)
    found = {}
    for kind, region in REGION.items():
        lines = [line for source in cells for inside in region.findall(source)
                 for line in re.split(r"\n|\$[^$]*\$", inside)]  # fmt: skip
        found[kind] = {words(line): line.strip() for line in lines if len(words(line)) >= 12}
        found[kind] = {key: line for key, line in found[kind].items() if key not in opened}
        opened += words("".join(lines))  # a solution's line in a hidden test is the solution's
    return found


SECRETS = secret_lines()


def unpacked(name, data):
    """Yield (name, content) of a file, and of all that is packed in it."""
    yield name, data
    if data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for inside in packed.namelist():
                yield from unpacked(f"{name}:{inside}", packed.read(inside))
    elif data[:2] == b"\x1f\x8b":
        yield from unpacked(f"{name}:gz", gzip.decompress(data))
    elif data.startswith(b"# Sphinx inventory"):
        yield f"{name}:zlib", zlib.decompress(data.split(b"\n", 4)[4])
    elif data.startswith(b"\x89PNG"):
        for chunk in re.finditer(rb"zTXt[^\0]*\0\0(.*)", data, re.S):
            yield f"{name}:zTXt", zlib.decompressobj().decompress(chunk[1])


def leaks(folder, kinds=("solution", "hidden")):
    """Return what a search of every file under ``folder`` finds, each with its place."""
    found, seen = [], set()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for name, data in unpacked(str(path.relative_to(folder)), path.read_bytes()):
            if hash(data) in seen:
                continue
            seen.add(hash(data))
            text = data.decode("latin-1" if b"\0" in data else "utf-8")
            marks = [mark[0] for kind in kinds for mark in SENTINEL[kind].finditer(text)]
            if b"\0" not in data:
                shown = words(text) + words(html.unescape(re.sub(r"<[^>]*>", "", text)))
                secrets = [line for kind in kinds for line in SECRETS[kind].items()]
                marks += [line for key, line in secrets if key in shown]
            found += [f"{name}: {mark}" for mark in marks]
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make all releases and both editions, side by side; return the folder of each."""
    parent = tmp_path_factory.mktemp("made")
    tree = parent / "tree"
    tools, build = ROOT / "tools", [Path(sys.executable).with_name("jupyter-book"), "build"]
    strict = ["--quiet", "-W", "--keep-going", "-n"]
    subprocess.run([sys.executable, tools / "student_book.py", tree], check=True)
    calls = [
        [sys.executable, tools / "releases.py", "all", "--to", parent / "release"],
        [*build, tree, *strict],
        [*build, ROOT, "--path-output", parent / "full", *strict],
    ]
    running = [subprocess.Popen(call, stdout=subprocess.DEVNULL) for call in calls]
    assert [process.wait() for process in running] == [0, 0, 0]
    return {
        "release": parent / "release",
        "student": tree / "_build" / "html",
        "full": parent / "full" / "_build" / "html",
    }


def test_there_is_something_to_leak():
    for kind, region in REGION.items():
        marks = [SENTINEL[kind].search(inside) for notebook in NOTEBOOKS.values()
                 for cell in notebook.cells for inside in region.findall(cell.source)]  # fmt: skip
        assert len(marks) > 20 and all(marks), f"a {kind} without its sentinel"
        assert len(SECRETS[kind]) > 50


def test_releases_hold_nothing_for_teachers(made):
    assert len(list(made["release"].glob("*.zip"))) == 12
    assert leaks(made["release"]) == []


def test_student_edition_holds_nothing_for_teachers(made):
    assert leaks(made["student"]) == []
    assert not list(made["student"].rglob("rubrics*"))


def test_full_edition_holds_solutions_and_no_hidden_test(made):
    assert leaks(made["full"], kinds=["hidden"]) == []
    shown = "".join(leaks(made["full"] / "chapters", kinds=["solution"]))
    missing = [line for line in SECRETS["solution"].values() if line not in shown]
    assert missing == [line for line in missing if SENTINEL["solution"].search(line)]


@pytest.mark.parametrize("edition", ["student", "full"])
def test_downloads_are_the_released_notebooks(made, edition):
    downloads = made[edition] / "_sources" / "chapters"
    assert {path.stem for path in downloads.iterdir()} == set(NOTEBOOKS)
    for path in made["release"].glob("*/*.ipynb"):
        assert (downloads / path.name).read_bytes() == path.read_bytes()
    for path in downloads.iterdir():
        for cell in nbformat.read(path, 4).cells:
            assert not cell.get("outputs") and cell.get("execution_count") is None, cell.id


def test_student_edition_shows_outputs_of_derivations_alone(made):
    images = {path.read_bytes() for path in (made["student"] / "_images").iterdir()}
    for stem, notebook in NOTEBOOKS.items():
        page = (made["student"] / "chapters" / f"{stem}.html").read_text(encoding="utf-8")
        derivation, _, exercises = page.partition(">Exercises<a class=")
        assert "cell_output" in derivation and "cell_output" not in exercises
        ids = [cell.id for cell in notebook.cells]
        for cell in notebook.cells[ids.index("exercises") :] if "exercises" in ids else []:
            for output in cell.get("outputs", []):
                drawn = output.get("data", {}).get("image/png")
                assert not drawn or b64decode(drawn) not in images, cell.id


def packed_zip(leak):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("attnlib/exercises/sheets.json", leak)
    return packed.getvalue()


def coloured(line):
    """Return a line as a page sets it: every word in its own colour."""
    return re.sub(r"\w+", lambda word: f'<span class="n">{word[0]}</span>', html.escape(line))


LINES = sorted(SECRETS["solution"].values(), key=len)[-4:]  # a content is searched once
INVENTORY, IMAGE = b"# Sphinx inventory\n#\n#\n#\n", b"\x89PNG....zTXtNote\0\0"
PLANTED = {
    "a sentinel": ("a.ipynb", b'"# Solution_A1_2\\n"'),
    "a search term": ("searchindex.js", b"terms:{hidden_7_1:[3]}"),
    "a line": ("b.ipynb", LINES[0].encode()),
    "a line on a page": ("chapters/a.html", coloured(LINES[1]).encode()),
    "a line in a zip": ("a.zip", packed_zip(LINES[2])),
    "a wheel in a zip": ("b.zip", packed_zip(packed_zip(LINES[3]))),
    "a sentinel, compressed": ("a.js.gz", gzip.compress(b"HIDDEN_10_2")),
    "an inventory": ("objects.inv", INVENTORY + zlib.compress(b"SOLUTION_7_1")),
    "the text in an image": ("a.png", IMAGE + zlib.compress(b"solution_7_5")),
}


@pytest.fixture(scope="module")
def found(made, tmp_path_factory):
    """Plant every leak in a copy of a release; return what the search finds."""
    copy = tmp_path_factory.mktemp("planted")
    shutil.copytree(made["release"] / "07-softmax", copy, dirs_exist_ok=True)
    (copy / "chapters").mkdir()
    for name, data in PLANTED.values():
        (copy / name).write_bytes(data)
    return leaks(copy)


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_leak_is_found(found, planted):
    name, _ = PLANTED[planted]
    assert [place for place in found if place.startswith(name)]
