"""The exercises: right answers pass, known mistakes are named, the notebook is as described."""

import ast
import importlib
from pathlib import Path

import nbformat
import pytest

from attnlib.exercises.engine import judge
from attnlib.exercises.sheets import CHAPTERS, dump, load

ROOT = Path(__file__).resolve().parents[1]
DESCRIBED = {
    chapter: importlib.import_module(f"attnlib.exercises.{module}").EXERCISES
    for chapter, module in CHAPTERS.items()
    if (ROOT / "attnlib" / "exercises" / f"{module}.py").exists()
}
EXERCISES = {one.number: one for exercises in DESCRIBED.values() for one in exercises}
SHEETS = {number: exercise.sheet() for number, exercise in EXERCISES.items()}
NOTEBOOKS = {
    chapter: nbformat.read(*ROOT.glob(f"chapters/{module.removeprefix('ch')}-*.ipynb"), 4)
    for chapter, module in CHAPTERS.items()
}
numbers = pytest.mark.parametrize("number", EXERCISES)


def cell(number, part):
    chapter = NOTEBOOKS[number.split(".")[0]]
    wanted = f"{part}-{number.lower().replace('.', '-')}"
    return next((one for one in chapter.cells if one.id == wanted), None)


def body(source, name=None):
    """Return the statements of a function, or of the text between the solution markers."""
    if name is None:
        inside = source.split("### BEGIN SOLUTION")[1].split("### END SOLUTION")[0]
        lines = [line for line in inside.splitlines() if line.strip()]
        indent = len(lines[0]) - len(lines[0].lstrip())
        return ast.dump(ast.parse("\n".join(line[indent:] for line in lines)))
    function = ast.parse(source).body[0]
    return ast.dump(ast.Module(body=function.body, type_ignores=[]))


def test_every_chapter_has_its_exercises():
    assert set(DESCRIBED) == set(CHAPTERS)
    for chapter, exercises in DESCRIBED.items():
        kinds = {exercise.kind for exercise in exercises}
        assert len(exercises) in ((3,) if chapter.startswith("A") else (4, 5)), chapter
        assert [one.number for one in exercises] == [
            f"{chapter}.{n + 1}" for n in range(len(exercises))
        ]
        if not chapter.startswith("A"):
            assert {"implement", "predict", "explain"} <= kinds, chapter
            assert {"judge", "vary"} & kinds, chapter


def test_there_are_120_known_mistakes():
    assert sum(len(exercise.mistakes) for exercise in EXERCISES.values()) >= 120


@numbers
def test_right_answers_are_right_however_they_are_written(number):
    exercise, sheet = EXERCISES[number], SHEETS[number]
    if exercise.kind == "explain":
        return
    assert len(exercise.also_right) >= {"implement": 3, "judge": 2}.get(exercise.kind, 1)
    for answer in [exercise.reference, *exercise.also_right]:
        verdict = judge(sheet, answer)
        assert verdict.right, f"{getattr(answer, '__name__', answer)}: {verdict}"


@numbers
def test_each_known_mistake_earns_its_own_hint(number):
    exercise, sheet = EXERCISES[number], SHEETS[number]
    least = {"implement": 4, "judge": 3, "predict": 2, "vary": 2, "explain": 0}
    assert len(exercise.mistakes) >= least[exercise.kind]
    assert len({mistake.hint for mistake in exercise.mistakes}) == len(exercise.mistakes)
    for mistake in exercise.mistakes:
        verdict = judge(sheet, mistake.wrong)
        assert not verdict.right, f"{mistake.name} is accepted"
        assert verdict.mistake == mistake.name, f"{mistake.name}: {verdict}"
        assert mistake.hint in verdict.message


@numbers
def test_a_sheet_survives_its_file(number):
    exercise, sheet = EXERCISES[number], SHEETS[number]
    (read,) = load(dump([sheet]))
    for answer in [exercise.reference, *(mistake.wrong for mistake in exercise.mistakes)]:
        assert judge(read, answer) == judge(sheet, answer)


@numbers
def test_inputs_of_different_sizes_are_among_the_cases(number):
    exercise = EXERCISES[number]
    if exercise.kind == "implement":
        arrays = [[x.shape for x in case if hasattr(x, "shape")] for case in exercise.cases]
        assert any(all(len(set(s)) == len(s) for s in shapes) for shapes in arrays if shapes)


@numbers
def test_notebook_has_the_exercise_as_it_is_described(number):
    exercise = EXERCISES[number]
    task = cell(number, "exercise").source.splitlines()
    assert task[1] == f"### {number} {exercise.title}"
    assert task[3] == exercise.heading
    assert cell(number, "hint").source == f'hint("{number}")' and exercise.hints
    answer, test = cell(number, "answer"), cell(number, "test")
    mark = number.replace(".", "_")
    assert f"SOLUTION_{mark}" in answer.source
    assert answer.metadata.nbgrader.solution and not answer.metadata.nbgrader.locked
    if exercise.kind == "explain":
        assert answer.cell_type == "markdown" and test is None
        assert answer.metadata.nbgrader.points == sum(points for points, _ in exercise.rubric)
        return
    assert test.metadata.nbgrader.grade and test.metadata.nbgrader.locked
    assert test.metadata.nbgrader.points > 0
    assert f'assert check("{number}", ' in test.source.split("### BEGIN HIDDEN TESTS")[0]
    if exercise.kind in ("implement", "judge"):
        assert f"HIDDEN_{mark}" in test.source, "a learner may replace check: hidden tests are bare"
        assert "allclose" not in test.source
        assert body(answer.source) == body(SHEETS[number].solution, exercise.reference.__name__)
