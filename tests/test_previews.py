"""What a search engine reads of a page: plain words, no formula twice."""

from previews import first_words, plain

ROOT = (
    "<math><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"
    "<annotation>\\sqrt{d_k}</annotation></math>"
)


def test_formula_is_read_once():
    assert plain(f"9. Why {ROOT}") == "9. Why √dk"


def test_description_is_the_first_paragraph_of_a_section():
    table = f"<table><tr><td><p>{'a cell ' * 10}</p></td></tr></table>"
    said = "One part of the formula asks on what scale, and divides. " * 4
    found = first_words(f"<section>{table}<p>Short.</p><p>{said}</p></section>")
    assert found.startswith("One part of the formula") and len(found) <= 155
