"""What students get of a chapter's notebook: nbgrader's own steps, used as a library."""

from copy import deepcopy
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import ClearHiddenTests, ClearOutput, SaveCells
from traitlets.config import PyFileConfigLoader

CONFIG = PyFileConfigLoader("nbgrader_config.py", path=str(Path(__file__).parent)).load_config()
# As `nbgrader generate_assignment` has them; SaveCells writes to a gradebook, and there is none.
STEPS = [step for step in GenerateAssignment.preprocessors.default() if step is not SaveCells]


def run(steps, notebook):
    """Return a copy of the notebook after nbgrader's ``steps``."""
    notebook, resources = deepcopy(notebook), {}
    for step in steps:
        notebook, resources = step(config=CONFIG).preprocess(notebook, resources)
    return notebook


def without_hidden_tests(notebook):
    """Return the notebook as the full edition's page shows it."""
    return run([ClearHiddenTests], notebook)


def student(notebook):
    """Return the student's notebook: no solution, no hidden test, no output."""
    if notebook.metadata.get("edition") == "student":
        return run([ClearOutput], notebook)  # a second ClearSolutions would empty whole cells
    notebook = run(STEPS, notebook)
    notebook.metadata.pop("code_digest", None)  # of code that is gone
    notebook.metadata.edition = "student"
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):  # folded, as "a solution": no more
            cell.metadata.pop("mystnb", None)
            cell.metadata.pop("tags", None)
    return notebook


def student_page(notebook):
    """Return the student's notebook with the outputs of the derivation, not of the exercises."""
    page = student(notebook)
    ids = [cell.id for cell in notebook.cells]
    end = ids.index("exercises") if "exercises" in ids else len(ids)
    page.cells[:end] = deepcopy(notebook.cells[:end])
    return page
