"""A Sphinx extension: what pages show of their exercises, and what their download buttons give.

No page shows a hidden test or the marks around solutions; downloads are students' notebooks.
"""

import re
from pathlib import Path

import nbformat
from notebooks import as_text
from strip import student, without_hidden_tests

MARKS = re.compile(r"^.*(?:(?:BEGIN|END) SOLUTION|SOLUTION_\w+_\d).*\n?", re.M)


def clean(app, docname, source):
    """Take hidden tests and marks out of a chapter before it is read."""
    if app.env.doc2path(docname).endswith(".ipynb"):
        notebook = without_hidden_tests(nbformat.reads(source[0], as_version=4))
        for cell in notebook.cells:
            cell.source = MARKS.sub("", cell.source).rstrip()
        source[0] = as_text(notebook)


def replace_downloads(app, error):
    """Write students' notebooks over the copies that Sphinx made, after a failed build too."""
    downloads = Path(app.outdir) / "_sources"
    for path in downloads.rglob("*.ipynb"):
        notebook = nbformat.read(Path(app.srcdir) / path.relative_to(downloads), as_version=4)
        path.write_text(as_text(student(notebook)), encoding="utf-8")


def setup(app):
    app.connect("source-read", clean)
    app.connect("build-finished", replace_downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
