"""A Sphinx extension: the index of claims and the index of questions, made from the chapters.

A code cell tagged `claim-C7.4` becomes a link target, and so does each admonition "You may ask".
`reference/claims.md` and `reference/questions.md` get their lists while the book is built.
"""

import re
from pathlib import Path

import nbformat
import yaml
from docutils import nodes
from sphinx.util import logging

ASK = "You may ask:"


def notebooks(app):
    """Return (docname, notebook) of the chapters in the order of the table of contents."""
    toc = yaml.safe_load((Path(app.srcdir) / "_toc.yml").read_text(encoding="utf-8"))
    listed = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    paths = [(name, Path(app.srcdir) / f"{name}.ipynb") for name in listed]
    return [(name, nbformat.read(path, as_version=4)) for name, path in paths if path.exists()]


def title(notebook) -> str:
    return re.search(r"^# (.+)$", notebook.cells[0].source, re.M)[1]


def plain_title(notebook) -> str:
    """Return the title for a link, where no formula can stand; without the A1 of an appendix."""
    return re.sub(r"\$\\sqrt\{(\w+)\}\$", r"√\1", re.sub(r"^A\d\. ", "", title(notebook)))


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def add_targets(app, doctree):
    """Give the first cell of each claim, and each question, an id that {ref} finds."""
    docname = app.env.docname
    domain = app.env.get_domain("std")

    def target(node, name):
        if domain.anonlabels.get(name, (docname,))[0] == docname and name not in doctree.ids:
            node["ids"].append(name)
            doctree.ids[name] = node
            domain.anonlabels[name] = (docname, name)

    for node in doctree.findall(nodes.container):
        for tag in node.get("cell_metadata", {}).get("tags", []):
            if tag.startswith("claim-"):
                target(node, slug(tag))
    for node in doctree.findall(nodes.admonition):
        heading = node.next_node(nodes.title)
        if heading is not None and heading.astext().startswith(ASK):
            target(node, slug(f"ask {docname} {question_number(doctree, node)}"))


def question_number(doctree, wanted) -> int:
    asked = [n for n in doctree.findall(nodes.admonition) if n[0].astext().startswith(ASK)]
    return 1 + asked.index(wanted)


def printed(cell) -> str:
    """Return what a cell printed, its first dozen lines."""
    lines = "".join(out.get("text", "") for out in cell.outputs).rstrip().splitlines()
    return "\n".join(lines[:12] + (["…"] if len(lines) > 12 else []))


def claims_page(app) -> str:
    ledger = yaml.safe_load((Path(app.srcdir) / "claims.yml").read_text(encoding="utf-8"))["claims"]
    shown = {}
    for _, notebook in notebooks(app):
        for cell in notebook.cells:
            for tag in cell.metadata.get("tags", []):
                if tag.startswith("claim-"):
                    shown.setdefault(tag[6:], (plain_title(notebook), cell))
    parts = []
    for claim, sentence in ledger.items():
        if claim not in shown:
            parts.append(f"**{claim}** {sentence} Still to come.")
            continue
        chapter, cell = shown[claim]
        link = f"{{ref}}`{chapter} <claim-{slug(claim)}>`"
        parts.append(f"**{claim}** {sentence} Shown in {link}.")
        if printed(cell):
            parts.append(
                f":::{{admonition}} Measured\n:class: dropdown\n```text\n{printed(cell)}\n```\n:::"
            )
    return "\n\n".join(parts)


def questions_page(app) -> str:
    parts = []
    for docname, notebook in notebooks(app):
        prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        asked = re.findall(rf"^:::\{{admonition\}} {ASK} (.+)$", prose, re.M)
        if asked:
            parts.append(f"**{title(notebook)}**")
            for number, question in enumerate(asked, start=1):
                name = slug(f"ask {docname} {number}")
                parts.append(f"- {question[0].upper() + question[1:]} {{ref}}`Answer <{name}>`")
    return "\n\n".join(parts)


def fill_page(app, docname, source):
    page = {"reference/claims": claims_page, "reference/questions": questions_page}.get(docname)
    if page:
        if "%LIST%" not in source[0]:
            logging.getLogger(__name__).warning("%s has no %%LIST%%", docname, location=docname)
        source[0] = source[0].replace("%LIST%", page(app))


def setup(app):
    app.connect("doctree-read", add_targets)
    app.connect("source-read", fill_page)
    app.connect(
        "env-before-read-docs",
        lambda app, env, names: names.extend(
            name for name in ("reference/claims", "reference/questions") if name not in names
        ),
    )
    return {"parallel_read_safe": False, "parallel_write_safe": True}
