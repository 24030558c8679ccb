"""Write the tree of the student edition, which builds like the book's own tree.

    python tools/student_book.py FOLDER

It has no solution, no hidden test, no output of an exercise, and no page for teachers.
"""

import re
import shutil
import sys
from pathlib import Path

import nbformat
import yaml
from notebooks import ROOT, as_text
from strip import student_page

# What is for teachers: a part of the table of contents, and passages of other pages.
PART = "Teaching with this book"
PASSAGE = re.compile(r"^% BEGIN TEACHERS\n.*?^% END TEACHERS\n", re.M | re.S)
BESIDE_PAGES = ("_static", "claims.yml", "references.bib")


def notebook_page(path: Path) -> str:
    return as_text(student_page(nbformat.read(path, as_version=4)))


def text_page(path: Path) -> str:
    return PASSAGE.sub("", path.read_text(encoding="utf-8"))


FOR_STUDENTS = {".ipynb": notebook_page, ".md": text_page}


def read_yaml(name: str):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def write_yaml(content, path: Path) -> None:
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8")


def write_tree(to: Path) -> None:
    """Write the student edition's tree to the new folder ``to``."""
    to.mkdir(parents=True)
    toc, config = read_yaml("_toc.yml"), read_yaml("_config.yml")
    toc["parts"] = [part for part in toc["parts"] if part["caption"] != PART]
    extensions = config["sphinx"]["local_extensions"]
    extensions |= {name: str(ROOT / folder) for name, folder in extensions.items()}
    write_yaml(toc, to / "_toc.yml")
    write_yaml(config, to / "_config.yml")
    for name in BESIDE_PAGES:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, to / name)
    chapters = [page["file"] for part in toc["parts"] for page in part["chapters"]]
    for page in [toc["root"], *chapters]:
        (source,) = (path for path in ROOT.glob(f"{page}.*") if path.suffix in FOR_STUDENTS)
        target = to / source.relative_to(ROOT)
        target.parent.mkdir(exist_ok=True)
        target.write_text(FOR_STUDENTS[source.suffix](source), encoding="utf-8")


if __name__ == "__main__":
    write_tree(Path(sys.argv[1]).resolve())
