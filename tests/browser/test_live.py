"""The figures that answer, by keyboard alone, with their numbers held to the library's."""

import numpy as np
import pytest

from attnlib import load_head, load_states, softmax

FIGURES = {
    "how-far": "01-dynamic-read",
    "tied-separate": "03-key-value-split",
    "softmax-bench": "07-softmax",
    "width-temperature": "09-sqrt-dk",
    "routing-explorer": "10-whole-formula",
    "mask-bench": "a1-masks",
}
figures = pytest.mark.parametrize("name", FIGURES)


def open_figure(visit, name, state="", **options):
    one = visit(**options)
    page = one.open(f"chapters/{FIGURES[name]}.html{state}")
    figure = page.locator(name)
    figure.locator("table tbody tr").first.wait_for()
    return page, figure


def cells(figure):
    """Return the rows of a figure's table as texts, numbers as a program reads them."""
    rows = [row.locator("th, td").all_inner_texts() for row in figure.locator("tbody tr").all()]
    return [[text.replace("\u2212", "-") for text in row] for row in rows]


def press(page, figure, label, key, times=1):
    """Reach a control with the Tab key alone, from the figure's start, and press ``key``."""
    figure.locator(".title").evaluate("e => { e.tabIndex = -1; e.focus(); }")
    for _ in range(60):
        page.keyboard.press("Tab")
        named = "document.activeElement.labels?.[0]?.innerText.trim()"
        if page.evaluate(named) == label:
            break
    else:
        raise AssertionError(f"Tab does not reach {label!r}")
    for _ in range(times):
        page.keyboard.press(key)


def test_softmax_of_the_page_is_that_of_the_library(visit, address):
    rows = np.random.default_rng(0).normal(0, 20, (1000, 7))
    page = visit().open("index.html")
    call = "async ([at, rows]) => rows.map((await import(at)).softmax)"
    got = page.evaluate(call, [f"{address}/_static/live.js", rows.tolist()])
    assert np.abs(np.array(got) - softmax(rows)).max() < 1e-6


@figures
def test_figure_stands_beside_its_plain_one(visit, name):
    page, figure = open_figure(visit, name)
    assert page.locator(f"article figure img:visible, {name}").count() >= 2
    assert figure.locator("p.words").inner_text().endswith(".")


SCORES = [-1.8, 0.7, 4.2, 3.3]


def test_softmax_bench_moves(visit):
    page, figure = open_figure(visit, "softmax-bench")
    press(page, figure, "score 4", "ArrowRight", 10)
    moved = softmax(np.array(SCORES))
    rows = cells(figure)
    assert [float(row[2]) for row in rows[:4]] == moved.round(2).tolist()
    assert float(rows[4][2]) == 1 and float(rows[4][1]) == 6.4
    assert "s4=3.3" in page.url
    ends = "e => ['--from', '--to'].map(name => parseFloat(e.style.getPropertyValue(name)))"
    drawn = [bar.evaluate(ends) for bar in figure.locator("td.bar").all()[::2]]
    right = [[50, 50 + score / 0.12] if score > 0 else [50 + score / 0.12, 50] for score in SCORES]
    assert np.allclose(drawn, right), "scores have one zero, in the middle of their column"
    again = cells(open_figure(visit, "softmax-bench", page.url[page.url.index("#") :])[1])
    assert again == rows, "the address does not open the same state"


def test_routing_explorer_reads_as_the_head(visit):
    page, figure = open_figure(visit, "routing-explorer")
    press(page, figure, "requester", "ArrowDown")
    tokens, H = load_states("the cat sat on the mat", layer=3)
    read = load_head("L3H1").read(H, tokens)
    got = np.array([[float(x) for x in row[1:]] for row in cells(figure)])
    assert np.abs(got[:, 0] - read.scores[2]).max() < 0.0551
    assert np.abs(got[:, 1] - read.scores[2] / np.sqrt(32)).max() < 0.0061
    assert np.abs(got[:, 2] - read.weights[2]).max() < 0.0051


def test_width_and_temperature_move(visit):
    page, figure = open_figure(visit, "width-temperature")
    before = figure.locator("p.words").inner_text()
    press(page, figure, "temperature", "Home")
    page.wait_for_timeout(400)
    after = figure.locator("p.words").inner_text()
    assert before != after and "below it" in after
    top = [float(row[2]) for row in cells(figure)]
    assert min(top) > 0.8, "at the lowest temperature every width is nearly hard"


@pytest.mark.parametrize("name, label", [("tied-separate", "width"), ("how-far", "distance")])
def test_measured_numbers_change_with_the_place(visit, name, label):
    page, figure = open_figure(visit, name)
    press(page, figure, label, "Home")
    first = cells(figure)
    press(page, figure, label, "End")
    assert cells(figure) != first
    shown = {float(x) for row in first for x in row[1:]}
    assert shown, "no numbers"


def test_mask_bench_forbids(visit):
    page, figure = open_figure(visit, "mask-bench")
    press(page, figure, "2 cat", "Space")
    tokens, H = load_states("the cat sat on the mat", layer=3)
    scaled = load_head("L3H1").read(H, tokens).scores[3] / np.sqrt(32)
    scaled[2] = -np.inf
    got = [float(row[3]) for row in cells(figure)]
    assert np.abs(got - softmax(scaled)).max() < 0.0006 and got[2] == 0
    press(page, figure, "start from", "End")
    page.wait_for_timeout(400)
    assert "may read nobody" in figure.locator("p.words").inner_text()


@figures
def test_a_finger_moves_it_on_a_phone(visit, name):
    page, figure = open_figure(visit, name, width=390, touch=True)
    seen, control = [cells(figure)], figure.locator("input").last
    if control.count():
        control.scroll_into_view_if_needed()
        box, holder = control.bounding_box(), control.locator("xpath=..").bounding_box()
        assert max(box["height"], holder["height"]) >= 24, "too small for a finger"
        for place in (0.5,) if control.get_attribute("type") == "checkbox" else (0.1, 0.9):
            page.touchscreen.tap(box["x"] + place * box["width"], box["y"] + box["height"] / 2)
            page.wait_for_timeout(400)
            seen.append(cells(figure))
    else:  # the list of a select is the system's own
        figure.locator("select").last.select_option(index=3)
        seen.append(cells(figure))
    assert any(table != seen[0] for table in seen)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@figures
def test_unknown_state_falls_back_to_the_default(visit, name):
    default = cells(open_figure(visit, name)[1])
    for state in (f"#{name}?nonsense=1", f"#{name}?s1=99&head=L9H9&at=-3&may=2", "#%E0%A4%A"):
        assert cells(open_figure(visit, name, state)[1]) == default


@figures
@pytest.mark.parametrize("data", ["", "{", "{}", "null"])
def test_broken_data_is_one_sentence_and_no_empty_box(visit, name, data):
    page, _ = open_figure(visit, name)
    text = page.evaluate(
        """([name, data]) => {
            const one = document.createElement(name);
            one.innerHTML = `<script type="application/json">${data}</script>`;
            document.querySelector("article").append(one);
            return one.innerText.trim();
        }""",
        [name, data],
    )
    assert text.endswith("the plain figure shows them.")
    assert page.locator(f"article > {name} table").count() == 0


@figures
def test_without_scripts_the_plain_figure_stands(browser, address, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/chapters/{FIGURES[name]}.html")
    assert page.locator("article figure img").count() >= 2
    assert page.locator(name).bounding_box()["height"] < 2
    context.close()
