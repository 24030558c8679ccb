"""A Sphinx extension: the teacher's tables from the exercises' descriptions, and reading times."""

import importlib
import math
from pathlib import Path

import nbformat
import yaml
from claims import plain_title

from attnlib.exercises.sheets import CHAPTERS

FOR_A_PERSON = "explain"


def chapters(app):
    """Yield (chapter, notebook, exercises) of each chapter with exercises."""
    for chapter, module in CHAPTERS.items():
        (path,) = Path(app.srcdir).glob(f"chapters/{module.removeprefix('ch')}-*.ipynb")
        exercises = importlib.import_module(f"attnlib.exercises.{module}").EXERCISES
        yield chapter, nbformat.read(path, as_version=4), exercises


def reading_minutes(notebook) -> int:
    """Return the minutes that the chapter before its exercises takes to read."""
    minutes = 0.0
    for cell in notebook.cells:
        if cell.id == "exercises":
            break
        if cell.cell_type == "markdown":
            minutes += len(cell.source.split()) / 200
        else:
            printed = "".join(out.get("text", "") for out in cell.outputs)
            minutes += len(cell.source.splitlines()) / 25 + len(printed.splitlines()) / 40
    return math.ceil(minutes)


def points(notebook) -> dict[str, int]:
    """Return number -> points of a notebook's graded cells."""
    graded = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    parts = [(cell.id.split("-", 1)[1], cell.metadata.nbgrader.points) for cell in graded]
    return {part.upper().replace("-", "."): worth for part, worth in parts}


def link(notebook, text: str) -> str:
    label = notebook.cells[0].source.splitlines()[0].strip("()=")
    return f"{{ref}}`{text} <{label}>`"


def chapters_table(app) -> str:
    rows = ["| chapter | read | exercises | | points | by hand |", "|---|--:|--:|--:|--:|--:|"]
    for chapter, notebook, exercises in chapters(app):
        worth = points(notebook)
        by_hand = sum(worth[one.number] for one in exercises if one.kind == FOR_A_PERSON)
        minutes = sum(one.minutes for one in exercises)
        name = link(notebook, f"{chapter} {plain_title(notebook)}")
        rows.append(
            f"| {name} | {reading_minutes(notebook)} min | {len(exercises)} | {minutes} min "
            f"| {sum(worth.values())} | {by_hand} |"
        )
    return "\n".join(rows)


def goals(app) -> str:
    path = Path(app.srcdir) / "reference" / "goals.yml"
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    parts = []
    for chapter, notebook, exercises in chapters(app):
        about = written[chapter]
        usual = [mistake.name for one in exercises for mistake in one.mistakes]
        parts.append(f"**{link(notebook, f'{chapter} {plain_title(notebook)}')}**")
        parts.append(f"*Afterwards they can* {about['goal']}\n*Needed:* {about['needed']}")
        parts.append(f"*Usual mistakes, each with a hint:* {'; '.join(usual)}.")
    return "\n\n".join(parts)


def rubrics(app) -> str:
    parts = []
    for _, _, exercises in chapters(app):
        for one in exercises:
            if one.rubric:
                label = f"exercise-{one.number.lower().replace('.', '-')}"
                lines = [f"- {worth}: {what}" for worth, what in one.rubric]
                parts.append(f"**{{ref}}`{one.number} {one.title} <{label}>`**")
                parts.append("\n".join(lines))
    return "\n\n".join(parts)


def derivation(app) -> list[int]:
    """Return the reading minutes of chapters 1 to 10."""
    return [
        reading_minutes(notebook) for chapter, notebook, _ in chapters(app) if chapter.isdigit()
    ]


def span(app) -> str:
    minutes = derivation(app)
    return f"{min(minutes)} to {max(minutes)}"


def hours(app) -> str:
    return f"{sum(derivation(app)) / 60:.1f}"


FILLED = {
    "index": {"%READING%": span, "%TOTAL%": hours},
    "reference/teaching": {"%CHAPTERS%": chapters_table, "%GOALS%": goals},
    "reference/rubrics": {"%RUBRICS%": rubrics},
}


def fill_page(app, docname, source):
    for place, made in FILLED.get(docname, {}).items():
        source[0] = source[0].replace(place, made(app))


def setup(app):
    app.connect("source-read", fill_page)
    app.connect(
        "env-before-read-docs",
        lambda app, env, names: names.extend((FILLED.keys() & env.found_docs) - set(names)),
    )
    return {"parallel_read_safe": False, "parallel_write_safe": True}
