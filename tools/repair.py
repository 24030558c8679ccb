"""Mend a submitted notebook by the source, and say what was mended.

nbgrader restores the text of locked cells, and with ``add_missing_cells`` deleted ones. It stops
at doubled cells, passes over lost metadata, lets a tag skip a test (which then counts as passed),
and keeps silent about all of it. Here every repair leaves a note.
"""

import ast
import re

from IPython.core.inputtransformer2 import TransformerManager
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

NEW_CELL = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}


def exercise_of(name: str) -> str | None:
    """Return the exercise that the name of a cell ends with: ``test-7-1`` belongs to 7.1."""
    found = re.search(r"-(a?\d+)-(\d+)$", name)
    return f"{found[1].upper()}.{found[2]}" if found else None


def listed(cells) -> str:
    """Return the exercises of the cells, or the names of cells that belong to none."""
    return ", ".join(dict.fromkeys(exercise_of(cell.id) or cell.id for cell in cells))


def about(cell) -> dict:
    """Return what nbgrader knows of the cell."""
    return cell.metadata.get("nbgrader") or {}


def is_test(cell) -> bool:
    return bool(about(cell).get("grade") and not about(cell).get("solution"))


def is_written(cell) -> bool:
    return bool(about(cell).get("grade") and about(cell).get("solution"))


def repair(submitted, source, released) -> list[str]:
    """Make ``submitted`` gradable in place, and return the notes.

    ``source`` is the notebook with solutions and hidden tests, ``released`` what students got.
    Of a cell's metadata nothing is kept but nbgrader's, of its outputs nothing.
    """
    notes = []
    wanted = source.metadata.kernelspec
    used = (submitted.get("metadata", {}).get("kernelspec") or {}).get("name") or wanted.name
    if used != wanted.name:
        notes.append(f"kernel {str(used)[:30]} replaced")
    submitted.metadata = NotebookNode(source.metadata)
    partners = match(submitted, source, notes)
    given = {cell.id: cell for cell in released.cells}
    submitted.cells = mended(submitted.cells, partners, given, notes)
    submitted.nbformat, submitted.nbformat_minor = 4, 5
    restore(submitted, source, given, notes)
    if names := replaced_names(submitted, source):
        notes.append(f"replaces {', '.join(names)}")
    return notes


def match(submitted, source, notes) -> list:
    """Return for each submitted cell the source cell that it comes from, or None."""
    by_grade_id = {about(cell)["grade_id"]: cell for cell in source.cells if about(cell)}
    by_id = {cell.id: cell for cell in source.cells}
    partners, found_again = [], []
    for cell in submitted.cells:
        metadata = cell.get("metadata")
        claimed = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        name = claimed.get("grade_id") if isinstance(claimed, dict) else None
        partner = by_grade_id.get(name) if isinstance(name, str) else None
        if partner is None:
            partner = by_id.get(cell.get("id"))
            if partner is not None and about(partner):
                found_again.append(partner)
        partners.append(partner)
    if found_again:
        notes.append(f"metadata lost, matched by cell id: {listed(found_again)}")
    if not any(partner is not None and about(partner) for partner in partners):
        notes.append("metadata lost: ask for a new copy")
    return partners


def mended(cells, partners, given, notes) -> list:
    """Return the cells with graded ones as they have to be, each once."""
    last = {partner.id: i for i, partner in enumerate(partners) if partner is not None}
    made, doubled, tests, points, kinds = [], [], [], [], []
    for i, (cell, partner) in enumerate(zip(cells, partners)):
        kind = cell.cell_type if cell.cell_type in NEW_CELL else "raw"
        text = cell.source
        if partner is None or last[partner.id] != i:
            if partner is not None and about(partner):
                doubled.append(partner)
                if is_test(partner):
                    continue
            made.append(NEW_CELL[kind](text, id=f"own-{i}"))
            continue
        if about(partner):
            if kind != partner.cell_type:
                kinds.append(partner)
                kind = partner.cell_type
            claimed = (cell.get("metadata") or {}).get("nbgrader") or {}
            if claimed.get("points", about(partner).get("points")) != about(partner).get("points"):
                points.append(partner)
            if about(partner).get("locked"):
                if text.strip() != given[partner.id].source.strip():
                    tests.append(partner)
                text = partner.source
        new = NEW_CELL[kind](text, id=partner.id)
        if about(partner):
            new.metadata["nbgrader"] = NotebookNode(about(partner))
        if kind == "markdown" and "attachments" in cell:
            new.attachments = cell.attachments
        made.append(new)
    for what, which in [
        ("tests edited, restored", tests),
        ("points edited, restored", points),
        ("cell type changed, restored", kinds),
        ("duplicated cell dropped", [cell for cell in doubled if is_test(cell)]),
        ("answered twice, last one counts", [cell for cell in doubled if not is_test(cell)]),
    ]:
        if which:
            notes.append(f"{what}: {listed(which)}")
    return made


def restore(submitted, source, given, notes) -> None:
    """Put back the cells of the source that were deleted, but for answers in code.

    Cells of the chapter that are not nbgrader's are put back while ids tell which are missing.
    """
    present = {cell.id for cell in submitted.cells}
    ids_are_kept = 2 * len(present & set(given)) > len(given)
    restored, before = [], None
    for cell in source.cells:
        graded = is_test(cell) or is_written(cell)
        wanted = graded or (ids_are_kept and cell.cell_type == "code" and not about(cell))
        if cell.id not in present and wanted:
            new = NotebookNode(cell if is_test(cell) else given[cell.id])
            new.metadata = NotebookNode({"nbgrader": about(cell)} if graded else {})
            if cell.cell_type == "code":
                new.outputs, new.execution_count = [], None
            places = [i for i, other in enumerate(submitted.cells) if other.id == before]
            at = places[0] + 1 if places else len(submitted.cells) if graded else 0
            submitted.cells.insert(at, new)
            restored.append(cell)
            present.add(cell.id)
        if cell.id in present:
            before = cell.id
    if restored:
        notes.append(f"cells missing, restored: {listed(restored)}")


def replaced_names(submitted, source) -> list[str]:
    """Return the names that tests rely on and that the submission gives a new meaning.

    That may be a cheat (``np.allclose = …``) or an accident (``all = …``): the teacher looks.
    """
    answers = [cell for cell in source.cells if about(cell).get("solution")]
    tests = [cell for cell in source.cells if is_test(cell)]
    relied = set().union(*(free(tree(cell)) for cell in tests))
    relied -= set().union(*(stored(tree(cell)) for cell in answers))
    own = {cell.id: cell for cell in source.cells if cell.cell_type == "code"}
    as_given = {cell.source.strip() for cell in own.values()}
    found = set()
    for cell in submitted.cells:
        if cell.cell_type != "code" or is_test(cell) or cell.source.strip() in as_given:
            continue
        found |= stored(tree(cell)) & relied
    modules = set().union(*(imported(tree(cell)) for cell in submitted.cells))
    for cell in submitted.cells:
        if cell.source.strip() not in as_given and not is_test(cell):
            found |= {name for name in patched(tree(cell)) if name.split(".")[0] in modules}
    return sorted(found)


def tree(cell) -> ast.Module:
    """Return the code of the cell, parsed; empty where it is no Python."""
    try:
        if cell.cell_type == "code":
            return ast.parse(TransformerManager().transform_cell(cell.source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return ast.Module(body=[], type_ignores=[])


def free(module) -> set[str]:
    """Return the names that the code reads and does not set."""
    names = [node for node in ast.walk(module) if isinstance(node, ast.Name)]
    arguments = {node.arg for node in ast.walk(module) if isinstance(node, ast.arg)}
    reads = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return reads - {node.id for node in names if isinstance(node.ctx, ast.Store)} - arguments


def outside_functions(module):
    """Yield the nodes that run when the cell runs."""
    for node in ast.iter_child_nodes(module):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from outside_functions(node)


def stored(module) -> set[str]:
    """Return the global names that the cell sets."""
    names = set()
    for node in outside_functions(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {one.asname for one in node.names if one.asname not in (None, one.name)}
    return names - {"np", "plt"}  # importing them once more is a habit


def imported(module) -> set[str]:
    """Return the names that imports give to modules and to what is in them."""
    nodes = [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(one.asname or one.name).split(".")[0] for node in nodes for one in node.names}


def patched(module) -> set[str]:
    """Return what the code changes in other objects: ``np.allclose = …``, ``setattr(np, …)``."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(ast.unparse(node))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr" and node.args:
            name = getattr(node.args[1], "value", "?") if len(node.args) > 1 else "?"
            found.add(f"{ast.unparse(node.args[0])}.{name}")
    return found
