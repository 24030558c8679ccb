"""The pass that makes the pages light: nothing in use is lost, each mode has its figures."""

import io
import re
from base64 import b64decode
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from figures import CELLS, colours, size, twins
from fonts import characters
from matplotlib.colors import to_hex
from matplotlib.image import imread
from pages import main
from styles import purge

from attnlib.palette import ROLES
from attnlib.plots import heatmap

CSS = (Path(__file__).parents[1] / "_static" / "book.css").read_text(encoding="utf-8")
MODES = colours(CSS)
GROUNDS = {"light": ("#ffffff", "#f3f4f5"), "dark": ("#121212", "#29313d")}  # page, table and note
PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><title>A page</title>
<script>let before = 1;</script><script src="../_static/a.js?v=1"></script>
<link rel="stylesheet" href="../_static/styles/a.css?v=1"/>
<link rel="stylesheet" href="../_static/book.css"/></head>
<body><article><p>A first paragraph that is long enough to say what the page is about.</p>
<figure><img alt="bars" src="../_images/f.svg"/><figcaption>Bars.</figcaption></figure>
</article>OWN</body></html>"""


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        (".in-page{a:b}", True),
        (".in-script{a:b}", True),
        (".nowhere{a:b}", False),
        ("#nowhere .in-page{a:b}", False),
        (".in-page:not(.nowhere):hover::before{a:b}", True),
        ('[data-x="y"]{a:b}', True),
        ("@media print{.in-page{a:b}}", True),
        ("@media print{.nowhere{a:b}}", False),
        ("@keyframes unasked{to{a:b}}", False),
        ("@keyframes turn{to{a:b}}.in-page{animation:turn 1s}", True),
        ('@font-face{font-family:"Nowhere";src:url(n.woff2)}', False),
    ],
)
def test_purge_keeps_what_can_apply_and_nothing_else(rule, kept):
    text = '<p class="in-page">x</p><script>y.classList.add("in-script")</script>'
    assert purge(rule, text) == (rule if kept else "")


def test_purge_takes_the_unused_half_of_a_rule():
    assert purge(".nowhere,.in-page{a:b}", "in-page") == ".in-page{a:b}"


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("role", ROLES)
def test_role_is_legible_on_the_grounds_of_its_mode(role, mode):
    colour = MODES[mode][ROLES[role]]
    for ground in (*GROUNDS[mode], MODES[mode]["#ffffff"]):  # the last: what is written on it
        assert contrast(colour, ground) >= 4.5, f"{role}, {colour} on {ground}"


def test_twins_have_the_colours_of_their_mode():
    svg = (
        f'<svg width="3pt" height="6px"><path fill="{ROLES["query"]}"/><text fill="#ffffff"/></svg>'
    )
    found = twins(svg, MODES)
    assert list(found) == ["light", "dark"] and len(set(found.values())) == 2
    assert ROLES["query"] not in "".join(found.values()) and "#ffffff" not in found["dark"]
    assert twins("<svg></svg>", MODES) == {}
    assert size(svg) == {"width": "4", "height": "6"}


@pytest.mark.parametrize("role", ROLES)
def test_cells_of_a_heatmap_are_turned_in_the_dark_and_their_numbers_stay_legible(role):
    levels, file = np.linspace(-1, 1, 41), io.BytesIO()
    ax = heatmap(levels[:, None], role=role, numbers=True)
    with plt.rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(file, format="svg")
    plt.close(ax.figure)
    svg = file.getvalue().decode()
    for mode, drawing in twins(svg, MODES).items():
        inks = re.findall(r"fill: (#\w{6})[^>]*>-?\d\.\d+</text>", drawing)[-len(levels) :]
        cells = imread(io.BytesIO(b64decode(CELLS.search(drawing)[1])), format="png")
        at = (np.arange(len(levels)) + 0.5) * len(cells) / len(levels)
        shades = [to_hex(cells[int(y), cells.shape[1] // 2]) for y in at]
        assert min(map(contrast, inks, shades)) >= 4.5
        assert contrast(shades[20], GROUNDS[mode][0]) < 1.2, "no white boxes in the dark"
        assert len(set(shades)) > 35, "each number has its shade"


def test_fonts_get_the_italics_of_formulas_roots_and_icons():
    assert characters("x", "a{content:'\uf002'}") == set(map(ord, "x\U0001d465√\uf002"))


def test_pages_are_whole_after_the_pass(tmp_path):
    src, dst = tmp_path / "raw", tmp_path / "html"
    files = {
        "a/one.html": PAGE.replace("OWN", '<script src="../_static/searchtools.js"></script>'),
        "a/two.html": PAGE.replace("OWN", '<script src="../_static/m.js" type="module"></script>'),
        "_static/a.js": "let common = before;",
        "_static/searchtools.js": 'common; [".headerlink", "script"];',
        "_static/m.js": "export const name = 'in-module';",
        "_static/unused.js": "",
        "_static/styles/a.css": "p{background:url(../b/c.png)} .nowhere{a:b} .in-module{c:d}",
        "_static/b/c.png": "",
        "_static/book.css": CSS,
        "_images/f.svg": f'<svg width="3pt" height="6pt"><path fill="{ROLES["key"]}"/></svg>',
        "searchindex.js": "",
    }
    for name, text in files.items():
        (src / name).parent.mkdir(parents=True, exist_ok=True)
        (src / name).write_text(text, encoding="utf-8")
    main(src, dst)
    main(src, dst)  # a second time over the first

    there = {str(path.relative_to(dst)) for path in dst.rglob("*") if path.is_file()}
    assert there == {
        *(
            "a/one.html",
            "a/two.html",
            "searchindex.js",
            "_images/f-light.svg",
            "_images/f-dark.svg",
        ),
        *(f"_static/{name}" for name in ("all.css", "all.js", "searchtools.js", "m.js", "c.png")),
    }
    script = (dst / "_static/all.js").read_text()
    assert script.index("let before") < script.index("let common")
    style = (dst / "_static/all.css").read_text()
    assert 'url("c.png")' in style and ".in-module" in style and ".nowhere" not in style
    one, two = ((dst / "a" / name).read_text() for name in ("one.html", "two.html"))
    assert re.search(r'<script defer src="../_static/all.js\?\w+">', one)
    assert '<script defer="" src="../_static/searchtools.js">' in one
    assert '<script src="../_static/m.js" type="module">' in two
    assert "annotation" in (dst / "_static/searchtools.js").read_text()
    assert re.findall(r'<img [^>]*class="only-(\w+)"[^>]*width="4"', one) == ["light", "dark"]
