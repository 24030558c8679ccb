"""Execute the chapters in place, into one canonical form; or check that they are in it.

    python tools/notebooks.py [--check] [chapters/06-score-table.ipynb ...]

Canonical: one kernelspec, no timing, execution counts 1..n, no stderr, no error, sorted keys.
The notebook's metadata keeps a digest of its code, so that a cell changed after it ran is found.
"""

import argparse
import hashlib
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def shown(path: Path) -> Path:
    """Return the path as messages name it."""
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def digest(notebook) -> str:
    """Return a digest of all code of the notebook."""
    sources = "\n---\n".join(cell.source for cell in code_cells(notebook))
    return hashlib.sha256(sources.encode()).hexdigest()[:16]


def execute(notebook, path: Path) -> None:
    """Run the notebook from its own folder; raise ``SystemExit`` naming the cell that fails."""
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=300,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        sys.exit(f"{shown(path)}: {error}")


def as_text(notebook) -> str:
    """Return the text of a notebook's file, whose lines stay where they are."""
    return nbformat.writes(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def canonical(notebook) -> str:
    """Return the notebook's one text form."""
    for count, cell in enumerate(code_cells(notebook), start=1):
        cell.execution_count = count
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = count
    for cell in notebook.cells:
        for key in ("execution", "collapsed", "scrolled", "ExecuteTime"):
            cell.metadata.pop(key, None)
    notebook.metadata = nbformat.from_dict(
        {
            "code_digest": digest(notebook),
            "kernelspec": KERNEL,
            "language_info": {"name": "python"},
        }
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return as_text(notebook)


def faults(path: Path) -> list[str]:
    """Return what keeps a committed notebook from being canonical, each with its cell."""
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    found = []
    for cell in code_cells(notebook):
        where = f"{shown(path)}, cell {cell.id}"
        if cell.execution_count is None:
            found.append(f"{where}: not executed")
        for output in cell.outputs:
            if output.output_type == "error":
                found.append(f"{where}: raises {output.ename}: {output.evalue}")
            if output.get("name") == "stderr":
                found.append(f"{where}: writes to stderr")
    if not found and notebook.metadata.get("code_digest") != digest(notebook):
        found.append(f"{shown(path)}: its code changed after it was executed")
    elif not found and canonical(notebook) != text:
        found.append(f"{shown(path)}: not in canonical form")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing, exit 1 if not canonical"
    )
    parser.add_argument("paths", nargs="*", type=Path, help="default: every chapter")
    arguments = parser.parse_args()
    paths = [path.resolve() for path in arguments.paths] or sorted(CHAPTERS.glob("*.ipynb"))
    if arguments.check:
        found = [fault for path in paths for fault in faults(path)]
        if found:
            sys.exit("\n".join([*found, "'make notebooks' executes the chapters anew"]))
        return
    os.environ |= {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    for path in paths:
        print(shown(path), flush=True)
        notebook = nbformat.read(path, as_version=4)
        execute(notebook, path)
        text = canonical(notebook)
        path.write_text(text, encoding="utf-8")
        if found := faults(path):
            sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
