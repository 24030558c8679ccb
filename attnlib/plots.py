"""Figures. Each function draws one kind of figure from arrays on ``ax`` and returns the axes.

Without ``ax`` a new figure is made. Colours come from ``palette``. Figures have a transparent
ground and hold symbols, numbers and tokens; what to see in them stands in the caption.
"""

import json
from collections.abc import Iterable, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from attnlib.checks import as_float, check_known, check_shape
from attnlib.palette import INK, ROLES, color

Place, Tokens = Axes | None, Sequence[str] | None  # no place: a new figure

REQUESTER, CANDIDATE, SCORE, WEIGHT = "requester", "candidate", "score", "weight"
CENTRED = {"ha": "center", "va": "center"}
# (part, symbol, role); what has the role of the state comes with its part, and is not underlined
PARTS = (
    ("softmax", r"$\mathrm{softmax}$", "weight"), ("softmax", r"$($", "state"),
    ("Q", r"$Q$", "query"), ("K", r"$K^{\!\top}$", "key"), ("sqrt(d_k)", r"$\,/\,$", "state"),
    ("sqrt(d_k)", r"$\sqrt{d_k}$", "score"), ("softmax", r"$)$", "state"), ("V", r"$\,V$", "value"),
)  # fmt: skip


def use_style() -> None:
    """Set fonts, sizes and a transparent ground; in a notebook, draw figures as SVG."""
    plt.style.use("attnlib.data.book")
    if mpl.get_backend().endswith("inline"):
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None})


def live(name: str, /, **data):
    """Return the element ``name`` of the site's script, with ``data``; elsewhere it is empty."""
    from IPython.display import HTML

    stored = json.dumps(data, default=lambda array: np.round(array.astype(float), 4).tolist())
    return HTML(f'<{name}><script type="application/json">{stored}</script></{name}>')


def _axes(ax: Place, size: tuple[float, float] | None = None) -> Axes:
    return plt.subplots(figsize=size)[1] if ax is None else ax


def _names(name: str, tokens: Tokens, count: int) -> list[str]:
    tokens = range(count) if tokens is None else tokens
    if len(tokens) != count:
        raise ValueError(f"{name} has {len(tokens)} entries, the table needs {count}")
    return [str(token) for token in tokens]


def _number(x: float, role: str) -> str:
    return f"{x:z.2f}" if role == "weight" else f"{x:z.1f}"


def heatmap(
    table: ArrayLike, rows: Tokens = None, columns: Tokens = None, *, role: str = "weight",
    numbers: bool | None = None, row: int | None = None, column: int | None = None, ax: Place = None
) -> Axes:  # fmt: skip
    """Draw a table (n_q, n_k) of scores or weights: rows requesters, columns candidates.

    The ground is 0, the role's colour positive, grey negative; weights have the fixed range 0 to 1.
    ``rows`` and ``columns`` name the tokens (columns default to the rows). ``numbers`` writes
    them into the cells (default: up to 12 columns). ``row`` and ``column`` outline one of each.
    """
    table = as_float("table", table)
    check_shape(table.ndim == 2 and table.size, "table", table, "(n_q, n_k), at least one each")
    n_q, n_k = table.shape
    columns = _names("columns", rows if columns is None else columns, n_k)
    rows = _names("rows", rows, n_q)
    ax = _axes(ax, (1.4 + 0.62 * n_k, 1.0 + 0.5 * n_q))
    top = 1.0 if role == "weight" else np.abs(table[np.isfinite(table)]).max(initial=0) or 1.0
    steps = [(0, "#4d535b"), (0.5, "#f6f4f8"), (0.85, color(role)), (1, "#22182e")]
    shades = mpl.colors.LinearSegmentedColormap.from_list(role, steps)
    image = ax.imshow(table, cmap=shades, vmin=-top, vmax=top, aspect="auto")
    if n_k <= 12 if numbers is None else numbers:
        for (i, j), number in np.ndenumerate(table):
            luminance = np.dot(np.power(image.to_rgba(number)[:3], 2.2), (0.2126, 0.7152, 0.0722))
            # At least 4.5:1. Pure black is left out of an SVG, and would not be turned in the dark.
            ink = "white" if luminance < 0.18 else "#010101"
            ax.text(j, i, _number(number, role), size=9, color=ink, **CENTRED)
    ax.set_xticks(range(n_k), columns, rotation=0 if max(map(len, columns)) < 6 else 40)
    ax.set_yticks(range(n_q), rows)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlabel=CANDIDATE, ylabel=REQUESTER)
    outline = {"fill": False, "ec": INK, "lw": 2.2, "clip_on": False}
    if row is not None:
        ax.add_patch(plt.Rectangle((-0.5, row - 0.5), n_k, 1, **outline))
    if column is not None:
        ax.add_patch(plt.Rectangle((column - 0.5, -0.5), 1, n_q, **outline))
    return ax


def row_bars(
    row: ArrayLike, tokens: Tokens = None, *, role: str = "score", label: str = "", ax: Place = None
) -> Axes:
    """Draw one requester's row (n_k,) as bars over the candidates, with the numbers."""
    row = as_float("row", row)
    check_shape(row.ndim == 1, "row", row, "(n_k,), one requester's row")
    ax = _axes(ax, (1.4 + 0.62 * len(row), 2.4))
    bars = ax.bar(range(len(row)), row, color=color(role), width=0.7)
    ax.bar_label(bars, [_number(x, role) for x in row], color=INK, size=9, padding=2)
    ax.axhline(0, color=INK, lw=0.8)
    ax.margins(y=0.18)
    ax.set_xticks(range(len(row)), _names("tokens", tokens, len(row)))
    ax.tick_params(axis="x", length=0)
    ax.set(xlabel=CANDIDATE, ylabel=label)
    return ax


def formula_strip(earned: Iterable[str], *, new: Iterable[str] = (), ax: Place = None) -> Axes:
    """Draw the formula: parts in ``earned`` in their colours, the rest grey, ``new`` underlined.

    Parts: softmax, Q, K, sqrt(d_k), V. ``ValueError`` names an unknown one.
    """
    new = set(new)
    shown = new | set(earned)
    for part in shown:
        check_known("part", part, dict.fromkeys(name for name, _, _ in PARTS))
    ax = _axes(ax, (3.9, 0.8))
    ax.set_axis_off()
    end, anchor = 0.02, "axes fraction"
    for name, symbol, role in PARTS:
        ink = color(role) if name in shown else INK
        place = {"xy": (end, 0.35), "xycoords": (anchor, "axes fraction")}
        text = ax.annotate(symbol, **place, size=24, color=ink)
        if name in new and role != "state":
            line = {"arrowstyle": "-", "color": color(role), "lw": 2.5}
            ax.annotate("", (0, -0.15), (1, -0.15), xycoords=text, arrowprops=line)
        end, anchor = 1, text
    return ax


def before_after(scores: ArrayLike, weights: ArrayLike, tokens: Tokens = None) -> tuple[Axes, Axes]:
    """Draw one requester's scores above its weights, over the same candidates (n_k,)."""
    count = len(as_float("scores", scores))
    _, (top, bottom) = plt.subplots(2, 1, figsize=(1.4 + 0.62 * count, 4.2), sharex=True)
    row_bars(scores, tokens, role="score", label=SCORE, ax=top).set_xlabel("")
    row_bars(weights, tokens, role="weight", label=WEIGHT, ax=bottom).set_ylim(0, 1.08)
    return top, bottom


def bands(
    x: ArrayLike, series: dict[str, ArrayLike], *, roles: Sequence[str] = tuple(ROLES),
    log: str = "", xlabel: str = "", ylabel: str = "", ax: Place = None,
) -> Axes:  # fmt: skip
    """Draw one line a series over ``x`` (m,), with the spread over repetitions as a band.

    Each series has shape (m,), or (repetitions, m): then the line is the median and the band
    reaches from the smallest to the largest. ``log`` is "", "x", "y" or "xy".
    Raises ``ValueError`` when a series does not have m columns.
    """
    x, ax = as_float("x", x), _axes(ax)
    for (name, values), role, marker in zip(series.items(), roles * len(series), "osD^vPX" * 9):
        values = np.atleast_2d(as_float(name, values))
        check_shape(values.shape[1:] == (x.size,), f"series {name!r}", values, f"(…, {x.size})")
        shown = marker if len(x) <= 20 else None
        ax.plot(x, np.median(values, axis=0), color=color(role), marker=shown, ms=5, label=name)
        if len(values) > 1:
            ax.fill_between(x, values.min(0), values.max(0), color=color(role), alpha=0.22, lw=0)
    if "x" in log:
        ax.set_xscale("log", base=2)
        if len(x) <= 12:
            ax.set_xticks(x, [f"{value:g}" for value in x], minor=False)
    if "y" in log:
        ax.set_yscale("log")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if len(series) > 1:
        ax.legend()
    return ax


def diagram(
    boxes: dict[str, tuple[float, float, int, int, str, str]], arrows: dict[tuple[str, str], str],
    *, size: tuple[float, float] = (7.4, 4.0), ax: Place = None,
) -> Axes:  # fmt: skip
    """Draw arrays as boxes, with arrows between them.

    ``boxes`` maps a name to (x, y, rows, columns, role, symbol): a box grows with the root of its
    rows and columns, and carries its shape. ``arrows`` maps (from, to) to a label.
    """
    for name, (_, _, *shape, _, _) in boxes.items():
        if min(shape) < 1:
            raise ValueError(f"box {name!r} has shape {tuple(shape)}; expected at least 1")
    largest = max(max(rows, columns) for _, _, rows, columns, *_ in boxes.values())
    ax, half = _axes(ax, size), {}
    ax.set_axis_off()
    for name, (x, y, rows, columns, role, symbol) in boxes.items():
        w, h = 0.37 + 0.37 * np.sqrt(np.array([columns, rows]) / largest)
        half[name] = w
        ax.add_patch(plt.Rectangle((x - w, y - h), 2 * w, 2 * h, fc=color(role), ec="none"))
        ax.text(x, y, symbol, color="white", size=13, **CENTRED)
        ax.text(x, y - h - 0.08, f"({rows}, {columns})", ha="center", va="top", size=10)
    for (start, end), label in arrows.items():
        (x0, y0, *_), (x1, y1, *_) = boxes[start], boxes[end]
        tail, tip = (x0 + half[start] + 0.06, y0), (x1 - half[end] - 0.06, y1)
        ax.annotate("", tip, tail, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.2})
        side = np.array([tail[1] - tip[1], tip[0] - tail[0]])  # to the left of the arrow
        ax.text(*np.add(tail, tip) / 2 + 0.3 * side / np.hypot(*side), label, size=11, **CENTRED)
    xs, ys, *_ = zip(*boxes.values())
    ax.set(xlim=(min(xs) - 0.9, max(xs) + 0.9), ylim=(min(ys) - 1.2, max(ys) + 0.9))
    return ax


def shape_diagram(
    n_q: int, n_k: int, d_model: int, d_k: int, d_v: int, *, ax: Place = None
) -> Axes:
    """Draw the whole single-head read with every shape: states, views, table, weights, output."""
    boxes = {
        "requesters": (0.0, 2.0, n_q, d_model, "state", "$H$"),
        "candidates": (0.0, -1.2, n_k, d_model, "state", "$H$"),
        "Q": (2.6, 2.0, n_q, d_k, "query", "$Q$"),
        "K": (2.6, 0.0, n_k, d_k, "key", "$K$"),
        "V": (2.6, -2.4, n_k, d_v, "value", "$V$"),
        "scores": (4.9, 1.0, n_q, n_k, "score", r"$QK^{\top}$"),
        "weights": (7.6, 1.0, n_q, n_k, "weight", r"$\alpha$"),
        "output": (9.8, -0.7, n_q, d_v, "output", "$O$"),
    }
    arrows = {("requesters", "Q"): "$W_Q$", ("candidates", "K"): "$W_K$"}
    arrows |= {("candidates", "V"): "$W_V$", ("Q", "scores"): "", ("K", "scores"): ""}
    arrows |= {("scores", "weights"): "softmax", ("weights", "output"): "", ("V", "output"): ""}
    return diagram(boxes, arrows, size=(7.4, 4.4), ax=ax)
