"""Figures: what is drawn (lines, bars, texts, boxes, colours), not pixels."""

import io
import json
from itertools import combinations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba

from attnlib import palette, plots
from attnlib.palette import INK, ROLES, color

mpl.use("agg")
plt = plots.plt
TABLE = np.array([[0.1, 0.7, 0.2], [0.0, 0.25, 0.75]])
BOX = (0.0, 0.0, 2, 8, "query", "$Q$")


@pytest.fixture(autouse=True)
def fresh():
    with mpl.rc_context():
        yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def bounds(patch):
    return patch.get_bbox().bounds


ON_AXES = {
    "heatmap": lambda **ax: plots.heatmap(TABLE, **ax),
    "row_bars": lambda **ax: plots.row_bars(TABLE[0], **ax),
    "formula_strip": lambda **ax: plots.formula_strip(["Q"], **ax),
    "bands": lambda **ax: plots.bands([1, 2], {"a": [3, 4]}, **ax),
    "diagram": lambda **ax: plots.diagram({"Q": BOX}, {}, **ax),
    "shape_diagram": lambda **ax: plots.shape_diagram(2, 3, 4, 5, 6, **ax),
}


@pytest.mark.parametrize("draw", ON_AXES.values(), ids=ON_AXES)
def test_axes_that_are_given_are_drawn_on_and_returned(draw):
    figure, (left, right) = plt.subplots(1, 2)
    empty = len(right.get_children())
    assert draw(ax=left) is left and plt.get_fignums() == [figure.number]
    assert len(left.get_children()) > empty == len(right.get_children())


@pytest.mark.parametrize("draw", ON_AXES.values(), ids=ON_AXES)
def test_without_axes_a_new_figure_is_made(draw):
    old = plt.figure()
    ax = draw()
    assert ax.figure is not old and ax.figure.axes == [ax] and not old.axes
    assert len(plt.get_fignums()) == 2
    ax.figure.canvas.draw()  # nothing warns


@pytest.mark.parametrize(
    ("call", "fragments"),
    [
        (lambda: plots.heatmap([1, 2]), ["table has shape (2,)", "(n_q, n_k)"]),
        (lambda: plots.heatmap(np.ones((0, 3))), ["table has shape (0, 3)"]),
        (lambda: plots.heatmap(TABLE, rows=["a"] * 3), ["rows has 3 entries", "needs 2"]),
        (lambda: plots.heatmap(TABLE, columns="ab"), ["columns has 2 entries", "needs 3"]),
        (lambda: plots.heatmap(TABLE, role="mood"), ["unknown role 'mood'", "query, key, value"]),
        (lambda: plots.row_bars(TABLE), ["row has shape (2, 3)", "(n_k,)"]),
        (lambda: plots.row_bars([1, 2], ["a"]), ["tokens has 1 entries", "needs 2"]),
        (lambda: plots.formula_strip(["q"]), ["unknown part 'q'", "softmax, Q, K, sqrt(d_k), V"]),
        (lambda: plots.formula_strip([], new=["/"]), ["unknown part '/'"]),
        (lambda: plots.bands([1, 2], {"a": [1, 2, 3]}), ["series 'a' has shape (1, 3)", "(…, 2)"]),
        (lambda: plots.bands([1], {"a": np.ones((1, 1, 1))}), ["series 'a' has shape (1, 1, 1)"]),
        (lambda: plots.diagram({"W": (0, 0, 0, 2, "key", "")}, {}), ["box 'W'", "(0, 2)"]),
        (lambda: plots.diagram({"W": (0, 0, 2, 0, "key", "")}, {}), ["box 'W'", "(2, 0)"]),
        (lambda: plots.shape_diagram(2, 3, 4, 0, 6), ["box 'Q'", "(2, 0)"]),
    ],
)
def test_errors_name_what_is_wrong(call, fragments):
    with pytest.raises(ValueError) as raised:
        call()
    assert all(fragment in str(raised.value) for fragment in fragments), raised.value


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: plots.heatmap([["a"]]), "table"),
        (lambda: plots.row_bars(["a"]), "row"),
        (lambda: plots.before_after(["a"], [1.0]), "scores"),
        (lambda: plots.bands(["a"], {}), "x"),
        (lambda: plots.bands([1], {"loss": ["a"]}), "loss"),
    ],
)
def test_what_is_no_number_is_named(call, name):
    with pytest.raises(TypeError, match=f"^{name} has dtype"):
        call()


# ---- tables and rows ------------------------------------------------------------------------


def test_heatmap_holds_the_table_the_names_and_the_numbers():
    ax = plots.heatmap(TABLE, ["we", "it"], ["a", "b", "c"])
    assert np.array_equal(ax.images[0].get_array(), TABLE)
    assert ticks(ax.yaxis) == ["we", "it"] and ticks(ax.xaxis) == ["a", "b", "c"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("requester", "candidate")
    assert texts(ax) == ["0.10", "0.70", "0.20", "0.00", "0.25", "0.75"]
    places = [text.get_position() for text in ax.texts]
    assert places == [(j, i) for i in range(2) for j in range(3)]


def test_heatmap_names_columns_as_the_rows_and_counts_without_names():
    square = plots.heatmap(np.eye(2), ["we", "it"])
    assert ticks(square.xaxis) == ticks(square.yaxis) == ["we", "it"]
    counted = plots.heatmap(TABLE)
    assert ticks(counted.xaxis) == ["0", "1", "2"] and ticks(counted.yaxis) == ["0", "1"]


def test_long_names_of_columns_are_turned():
    for name, angle in (("short", 0), ("longer", 40)):
        ax = plots.heatmap(TABLE, columns=["a", name, "c"])
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {angle}


@pytest.mark.parametrize(("columns", "asked", "written"), [
    (12, None, 12), (13, None, 0), (13, True, 13), (3, False, 0),
])  # fmt: skip
def test_heatmap_writes_numbers_up_to_12_columns_or_as_asked(columns, asked, written):
    assert len(texts(plots.heatmap(np.zeros((1, columns)), numbers=asked))) == written


def test_heatmap_numbers_have_two_digits_for_weights_else_one_and_no_negative_zero():
    row = [[-0.0, -0.001, -0.04, -0.06, 12.346]]
    assert texts(plots.heatmap(row)) == ["0.00", "0.00", "-0.04", "-0.06", "12.35"]
    assert texts(plots.heatmap(row, role="score")) == ["0.0", "0.0", "0.0", "-0.1", "12.3"]


@pytest.mark.parametrize(
    ("table", "role", "top"),
    [
        (TABLE, "weight", 1),
        ([[-5, 2]], "score", 5),
        ([[-np.inf, 3]], "score", 3),
        ([[0, 0]], "score", 1),
        ([[-np.inf]], "score", 1),
    ],
)
def test_heatmap_shades_are_symmetric_about_zero(table, role, top):
    assert plots.heatmap(table, role=role).images[0].get_clim() == (-top, top)


def test_heatmap_shades_are_white_at_0_grey_below_and_of_the_role_above():
    image = plots.heatmap([[-1, 0, 0.7]], role="key").images[0]
    below, zero, above = image.to_rgba([-1, 0, 0.7])[:, :3]
    assert np.ptp(below) < 0.06 and below.max() < 0.4 and zero.min() > 0.95
    assert np.abs(above - to_rgb(color("key"))).max() < 0.02


def test_heatmap_outlines_one_row_and_one_column():
    assert not plots.heatmap(TABLE).patches
    both = plots.heatmap(TABLE, row=1, column=0).patches
    assert [bounds(p) for p in both] == [(-0.5, 0.5, 3, 1), (-0.5, -0.5, 1, 2)]
    assert not any(p.get_fill() for p in both)


@pytest.mark.parametrize(("role", "digits"), [("score", 1), ("weight", 2)])
def test_row_bars_have_heights_numbers_names_and_the_colour_of_the_role(role, digits):
    row = [0.75, -1.5, 0.125]
    ax = plots.row_bars(row, ["a", "b", "c"], role=role, label="$s$")
    assert [bar.get_height() for bar in ax.patches] == row
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == pytest.approx([0, 1, 2])
    assert {bar.get_facecolor() for bar in ax.patches} == {to_rgba(color(role))}
    assert texts(ax) == [f"{x:.{digits}f}" for x in row]
    assert ticks(ax.xaxis) == ["a", "b", "c"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("candidate", "$s$")
    assert list(ax.lines[0].get_ydata()) == [0, 0]
    assert ticks(plots.row_bars(row).xaxis) == ["0", "1", "2"]


def test_before_after_draws_scores_above_weights_over_the_same_candidates():
    scores, weights = [3.0, -1.0], [0.98, 0.02]
    top, bottom = plots.before_after(scores, weights, ["a", "b"])
    assert top.figure is bottom.figure and top.get_position().y0 > bottom.get_position().y1
    assert [bar.get_height() for bar in top.patches] == scores
    assert [bar.get_height() for bar in bottom.patches] == weights
    assert texts(top) == ["3.0", "-1.0"] and texts(bottom) == ["0.98", "0.02"]
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("score", "weight")
    assert (top.get_xlabel(), bottom.get_xlabel()) == ("", "candidate")
    assert ticks(bottom.xaxis) == ["a", "b"]
    assert bottom.get_ylim() == (0, 1.08) and top.get_xlim() == bottom.get_xlim()
    assert top.patches[0].get_facecolor() == to_rgba(color("score"))
    assert bottom.patches[0].get_facecolor() == to_rgba(color("weight"))


# ---- curves ---------------------------------------------------------------------------------


def test_bands_draw_the_median_and_the_range_of_repetitions():
    values = np.array([[1.0, 5, 2], [3, 4, 9], [2, 9, 4]])
    ax = plots.bands([1, 2, 4], {"a": values}, xlabel="$d_k$", ylabel="loss")
    assert np.array_equal(ax.lines[0].get_xydata(), [[1, 2], [2, 5], [4, 4]])
    edge = ax.collections[0].get_paths()[0].vertices
    for x, column in zip([1, 2, 4], values.T, strict=True):
        assert set(edge[edge[:, 0] == x, 1]) == {column.min(), column.max()}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$d_k$", "loss")
    assert ax.get_xscale() == ax.get_yscale() == "linear" and ax.get_legend() is None


def test_one_repetition_has_no_band():
    for values in ([3.0, 4], [[3.0, 4]]):
        ax = plots.bands([1, 2], {"a": values})
        assert not ax.collections and list(ax.lines[0].get_ydata()) == [3, 4]


def test_bands_give_each_series_a_role_a_marker_and_a_place_in_the_legend():
    series = {name: np.ones((2, 3)) for name in "abc"}
    ax = plots.bands([1, 2, 3], series, roles=["key", "value"])
    wanted = [color(role) for role in ("key", "value", "key")]
    assert [line.get_color() for line in ax.lines] == wanted
    bands = [tuple(band.get_facecolor()[0]) for band in ax.collections]
    assert bands == [to_rgba(c, 0.22) for c in wanted]
    assert len({line.get_marker() for line in ax.lines}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert plots.bands([1], {"a": [1]}).lines[0].get_color() == next(iter(ROLES.values()))


def test_bands_of_many_points_have_no_markers():
    for points, marked in ((20, True), (21, False)):
        line = plots.bands(range(points), {"a": np.zeros(points)}).lines[0]
        assert (line.get_marker() != "None") is marked


@pytest.mark.parametrize(("log", "x", "y"), [
    ("x", "log", "linear"), ("y", "linear", "log"), ("xy", "log", "log"),
])  # fmt: skip
def test_bands_have_logarithmic_axes_as_asked(log, x, y):
    ax = plots.bands([1, 4, 16], {"a": [1, 2, 3]}, log=log)
    assert (ax.get_xscale(), ax.get_yscale()) == (x, y)
    if x == "log":
        assert list(ax.get_xticks()) == [1, 4, 16] and ticks(ax.xaxis) == ["1", "4", "16"]


def test_many_points_on_a_logarithmic_axis_are_not_all_named():
    x = np.arange(1, 14)
    assert list(plots.bands(x, {"a": x}, log="x").get_xticks()) != list(x)


# ---- diagrams -------------------------------------------------------------------------------


def test_diagram_draws_boxes_with_symbols_and_shapes():
    boxes = {"Q": BOX, "K": (3.0, 1.0, 8, 4, "key", "$K$")}
    ax = plots.diagram(boxes, {})
    assert texts(ax) == ["$Q$", "(2, 8)", "$K$", "(8, 4)"]
    for patch, (x, y, rows, columns, role, _) in zip(ax.patches, boxes.values(), strict=True):
        left, bottom, width, height = bounds(patch)
        assert (left + width / 2, bottom + height / 2) == pytest.approx((x, y))
        wanted = [0.74 + 0.74 * np.sqrt(n / 8) for n in (columns, rows)]
        assert (width, height) == pytest.approx(wanted)
        assert patch.get_facecolor() == to_rgba(color(role))
        assert ax.get_xlim()[0] < left and left + width < ax.get_xlim()[1]
        assert ax.get_ylim()[0] < bottom and bottom + height < ax.get_ylim()[1]
    places = [text.get_position() for text in ax.texts]
    assert places[0] == (0, 0) and places[1][0] == 0 and places[1][1] < bounds(ax.patches[0])[1]


def test_diagram_arrows_run_from_box_to_box_with_their_label():
    ax = plots.diagram({"Q": BOX, "K": (3.0, 1.0, 8, 4, "key", "$K$")}, {("Q", "K"): "$W$"})
    arrow, label = ax.texts[-2:]
    assert arrow.arrow_patch is not None and label.get_text() == "$W$"
    (start_left, _, width, _), (end_left, *_) = map(bounds, ax.patches)
    (x0, y0), (x1, y1) = arrow.get_position(), arrow.xy  # tail and tip
    assert (y0, y1) == (0, 1)
    assert start_left + width < x0 < start_left + width + 0.1 and end_left - 0.1 < x1 < end_left
    off = np.subtract(label.get_position(), ((x0 + x1) / 2, (y0 + y1) / 2))
    assert off @ (x1 - x0, y1 - y0) == pytest.approx(0), "beside the middle of the arrow"
    assert off[1] > 0 and np.hypot(*off) == pytest.approx(0.3)


def test_shape_diagram_names_every_shape_of_the_read():
    ax = plots.shape_diagram(2, 3, 9, 4, 5)
    shown = [text for text in texts(ax) if text]
    symbols, shapes = shown[:16:2], shown[1:16:2]
    assert symbols == ["$H$", "$H$", "$Q$", "$K$", "$V$", r"$QK^{\top}$", r"$\alpha$", "$O$"]
    wanted = [(2, 9), (3, 9), (2, 4), (3, 4), (3, 5), (2, 3), (2, 3), (2, 5)]
    assert shapes == [str(shape) for shape in wanted]
    assert shown[16:] == ["$W_Q$", "$W_K$", "$W_V$", "softmax"]
    assert sum(text.arrow_patch is not None for text in ax.texts if hasattr(text, "xy")) == 8


def parts(ax):
    return {text.get_text(): text for text in ax.texts if text.get_text()}


def test_formula_strip_colours_what_is_earned_and_greys_the_rest():
    drawn = parts(plots.formula_strip(["Q", "K", "sqrt(d_k)"]))
    assert list(drawn) == [symbol for _, symbol, _ in plots.PARTS]
    earned = {r"$Q$": "query", r"$K^{\!\top}$": "key", r"$\sqrt{d_k}$": "score"}
    for symbol, text in drawn.items():
        assert text.get_color() == (color(earned[symbol]) if symbol in earned else INK)
        assert text.get_alpha() is None, "pale letters are hard to read"


def test_formula_strip_underlines_what_is_new_and_that_alone():
    ax = plots.formula_strip(["Q"], new=["V", "softmax"])
    lines = [text for text in ax.texts if not text.get_text()]
    under = {line.xycoords.get_text(): line.arrow_patch.get_edgecolor() for line in lines}
    wanted = {r"$\,V$": "value", r"$\mathrm{softmax}$": "weight"}
    assert under == {symbol: to_rgba(color(role)) for symbol, role in wanted.items()}
    drawn = parts(ax)
    assert drawn[r"$\,V$"].get_color() == color("value")
    assert drawn[r"$K^{\!\top}$"].get_color() == INK


# ---- style and colours ----------------------------------------------------------------------


def svg():
    ax = plots.heatmap(TABLE, row=0)
    file = io.BytesIO()
    ax.figure.savefig(file, format="svg", metadata={"Date": None})
    return ax, file.getvalue()


def test_use_style_makes_the_ground_transparent_and_the_same_svg_each_time():
    plots.use_style()
    (ax, first), (_, second) = svg(), svg()
    assert first == second
    assert ax.get_facecolor()[3] == ax.figure.get_facecolor()[3] == 0
    assert mpl.rcParams["savefig.facecolor"] == "none"
    assert ax.xaxis.label.get_color() == ax.get_xticklabels()[0].get_color() == INK
    for name in ("axes.edgecolor", "legend.labelcolor", "text.color", "ytick.color"):
        assert to_rgb(mpl.rcParams[name]) == to_rgb(INK)


def test_use_style_asks_a_notebook_for_svg_without_a_date(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "matplotlib_inline.backend_inline.set_matplotlib_formats",
        lambda *formats, **options: asked.append((formats, options)),
    )
    monkeypatch.setattr(mpl, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    plots.use_style()
    assert asked == [(("svg",), {"metadata": {"Date": None}})]


def linear(shade):
    """Return linear light, of which luminance and colour-blind sight are linear functions."""
    rgb = np.array(to_rgb(shade))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted(linear(shade) @ (0.2126, 0.7152, 0.0722) + 0.05 for shade in (one, other))
    return high / low


# Machado, Oliveira and Fernandes (2009), severity 1.
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])


def seen(shade, sight):
    """Return CIELAB coordinates as somebody of that sight sees the colour."""
    x = XYZ @ np.clip(SIGHT[sight] @ linear(shade), 0, 1) / XYZ.sum(axis=1)
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_a_role_has_its_colour():
    assert color("query") == palette.QUERY and color("state") == INK
    with pytest.raises(ValueError, match=r"^unknown role 'Q'; there are: query, key, .*state$"):
        color("Q")


@pytest.mark.parametrize("role", ROLES)
def test_a_colour_is_legible_on_white_and_on_the_dark_page(role):
    assert contrast(color(role), "white") >= 4 and contrast(color(role), "#121212") >= 4


@pytest.mark.parametrize("sight", ["full", "protanopia", "deuteranopia"])
def test_colours_are_told_apart(sight):
    gaps = {
        (a, b): np.linalg.norm(seen(color(a), sight) - seen(color(b), sight))
        for a, b in combinations(ROLES, 2)
    }
    assert {pair: round(gap) for pair, gap in gaps.items() if gap < 15} == {}


@pytest.mark.parametrize("role", ROLES)
def test_numbers_of_a_heatmap_are_legible_in_their_cells(role):
    ax = plots.heatmap(np.linspace(-1, 1, 41)[None], role=role, numbers=True)
    cells = ax.images[0].to_rgba(ax.images[0].get_array()[0])[:, :3]
    ratios = [contrast(c, text.get_color()) for c, text in zip(cells, ax.texts, strict=True)]
    assert min(ratios) >= 4.5


def test_live_figure_holds_its_numbers_and_nothing_else():
    shown = plots.live(
        "how-far", at=np.arange(2), means=np.array([1 / 3, 2.0]), name="d"
    )._repr_html_()
    start, end = '<how-far><script type="application/json">', "</script></how-far>"
    assert shown.startswith(start) and shown.endswith(end)
    stored = json.loads(shown.removeprefix(start).removesuffix(end))
    assert stored == {"at": [0, 1], "means": [0.3333, 2.0], "name": "d"}
