"""What is stored about other libraries: complete, and what an installed one does now."""

import re

import libraries
import pytest

ROWS = libraries.load()


@pytest.mark.parametrize("name", libraries.LIBRARIES)
def test_every_library_has_every_property_once_with_one_version_and_date(name):
    rows = [row for row in ROWS if row["library"] == name]
    assert tuple(row["property"] for row in rows) == libraries.PROPERTIES
    assert all(tuple(row) == libraries.COLUMNS and all(row.values()) for row in rows)
    ((version, date),) = {(row["version"], row["date"]) for row in rows}
    assert re.match(r"\d+\.\d+", version) and re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def test_no_row_is_of_an_unknown_library_and_no_answer_is_unexplained():
    assert {row["library"] for row in ROWS} == set(libraries.LIBRARIES)
    assert [row for row in ROWS if row["value"] == "none of these"] == []


@pytest.mark.parametrize("name", libraries.LIBRARIES)
def test_stored_answers_are_what_the_installed_library_gives(name):
    for package in libraries.LIBRARIES[name].packages:
        pytest.importorskip(package)
    if not libraries.LIBRARIES[name].installed:
        pytest.skip("another release is installed")
    assert libraries.measure(name) == libraries.stored_values(ROWS, name)


def test_experiments_tell_a_library_that_differs():
    def backwards(*three, mask=None, is_causal=False, scale=None):
        V, K, Q = three  # another order, drops where true, never scales
        keep = None if mask is None or mask.dtype != bool else ~mask
        return libraries.call_attnlib(Q, K, V, mask=keep, is_causal=is_causal, scale=scale or 1)

    found = libraries.experiments(
        libraries.Library("backwards", "", ("attnlib",), backwards, libraries.FOUR)
    )
    assert (found["arguments"], found["default scale"]) == ("V, K, Q", "none")
    assert (found["True"], found["0/1 float"], found["weights"]) == (
        "drops",
        "none of these",
        "not offered",
    )


def test_update_touches_only_what_was_measured_and_differs(tmp_path):
    path = tmp_path / "libraries.csv"
    stored = libraries.STORED.read_text(encoding="utf-8")
    current = libraries.LIBRARIES["attnlib"].version
    text = re.sub(r"^attnlib,[^,]+", f"attnlib,{current}", stored, flags=re.M)
    path.write_text(text, encoding="utf-8")
    assert libraries.update(path, ["attnlib"]) == []
    assert path.read_text(encoding="utf-8") == text
    path.write_text(text.replace(f"attnlib,{current}", "attnlib,0.0.0"), encoding="utf-8")
    assert libraries.update(path, ["attnlib"]) == ["attnlib"]
    rows = libraries.load(path)
    assert [r for r in rows if r["library"] != "attnlib"] == [
        r for r in ROWS if r["library"] != "attnlib"
    ]
    assert libraries.stored_values(rows, "attnlib") == libraries.stored_values(ROWS, "attnlib")
