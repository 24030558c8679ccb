"""Figures. Each function draws one kind of figure from arrays on ``ax`` and returns the axes.

Without ``ax`` a new figure is made. Colours come from ``palette``. Figures have a transparent
ground and hold symbols, numbers and tokens; what to see in them stands in the caption.
"""

from collections.abc import Iterable, Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from attnlib.checks import as_float
from attnlib.palette import INK, color

REQUESTER, CANDIDATE = "requester", "candidate"
PARTS = (
    ("softmax", r"$\mathrm{softmax}$", "weight"),
    ("(", r"$($", "state"),
    ("Q", r"$Q$", "query"),
    ("K", r"$K^{\top}$", "key"),
    ("/", r"$\,/\,$", "state"),
    ("sqrt(d_k)", r"$\sqrt{d_k}$", "score"),
    (")", r"$)$", "state"),
    ("V", r"$\,V$", "value"),
)


def use_style() -> None:
    """Set fonts, sizes and a transparent ground; in a notebook, draw figures as SVG."""
    mpl.rcParams.update(
        {
            "axes.edgecolor": INK,
            "axes.facecolor": "none",
            "axes.labelcolor": INK,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.facecolor": "none",
            "figure.figsize": (6.0, 3.4),
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "legend.frameon": False,
            "legend.labelcolor": INK,
            "mathtext.fontset": "cm",
            "savefig.facecolor": "none",
            "svg.hashsalt": "attnlib",
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    )
    if mpl.get_backend().endswith("inline"):
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None})


def _axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    return plt.subplots(figsize=size)[1] if ax is None else ax


def _names(name: str, tokens: Sequence[str] | None, count: int) -> list[str]:
    if tokens is None:
        return [str(i) for i in range(count)]
    if len(tokens) != count:
        raise ValueError(f"{name} has {len(tokens)} entries, the table needs {count}")
    return [str(token) for token in tokens]


def _heatmap(table, rows, columns, role, limits, numbers, row, column, ax) -> Axes:
    table = as_float("table", table)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"table has shape {table.shape}; expected (n_q, n_k), at least one each")
    columns = _names("columns", rows if columns is None else columns, table.shape[1])
    rows = _names("rows", rows, table.shape[0])
    n_q, n_k = table.shape
    ax = _axes(ax, (1.4 + 0.62 * n_k, 1.0 + 0.5 * n_q))
    shades = LinearSegmentedColormap.from_list(role, ["#f6f4f8", color(role), "#22182e"])
    low, high = limits
    ax.imshow(table, cmap=shades, vmin=low, vmax=high + 0.35 * (high - low), aspect="auto")
    if n_k <= 12 if numbers is None else numbers:
        for (i, j), number in np.ndenumerate(table):
            dark = number > low + 0.5 * (high - low)
            digits = 2 if role == "weight" else 1
            text = f"{round(number, digits) + 0.0:.{digits}f}"
            ax.text(
                j, i, text, ha="center", va="center", size=9, color="white" if dark else "#1b1b1f"
            )
    ax.set_xticks(range(n_k), columns, rotation=0 if max(map(len, columns)) < 6 else 40)
    ax.set_yticks(range(n_q), rows)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(CANDIDATE)
    ax.set_ylabel(REQUESTER)
    for place, (x, y, width, height) in (
        (row, (-0.5, (row or 0) - 0.5, n_k, 1)),
        (column, ((column or 0) - 0.5, -0.5, 1, n_q)),
    ):
        if place is not None:
            box = Rectangle((x, y), width, height, fill=False, ec=INK, lw=2.2, clip_on=False)
            ax.add_patch(box)
    return ax


def score_heatmap(
    scores: ArrayLike,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    numbers: bool | None = None,
    row: int | None = None,
    column: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a score table (n_q, n_k): rows are requesters, columns candidates, darker is higher.

    ``rows`` and ``columns`` name the tokens (columns default to the rows); ``numbers`` writes
    them into the cells (default: up to 12 columns); ``row``, ``column`` outline one of each.
    """
    table = as_float("scores", scores)
    shown = table[np.isfinite(table)]
    limits = (shown.min(), shown.max()) if shown.size else (0, 1)
    return _heatmap(table, rows, columns, "score", limits, numbers, row, column, ax)


def weight_heatmap(
    weights: ArrayLike,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    numbers: bool | None = None,
    row: int | None = None,
    column: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a table of weights (n_q, n_k) on the fixed range 0 to 1; else as ``score_heatmap``."""
    return _heatmap(weights, rows, columns, "weight", (0, 1), numbers, row, column, ax)


def row_bars(
    row: ArrayLike,
    tokens: Sequence[str] | None = None,
    *,
    role: str = "score",
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw one requester's row (n_k,) as bars over the candidates, with the numbers."""
    row = as_float("row", row)
    if row.ndim != 1:
        raise ValueError(f"row has shape {row.shape}; expected (n_k,), one requester's row")
    ax = _axes(ax, (1.4 + 0.62 * len(row), 2.4))
    digits = 2 if role == "weight" else 1
    bars = ax.bar(range(len(row)), row, color=color(role), width=0.7)
    ax.bar_label(bars, [f"{x:.{digits}f}" for x in row], color=INK, size=9, padding=2)
    ax.axhline(0, color=INK, lw=0.8)
    ax.margins(y=0.18)
    ax.set_xticks(range(len(row)), _names("tokens", tokens, len(row)))
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel(CANDIDATE)
    ax.set_ylabel(label)
    return ax


def formula_strip(
    earned: Iterable[str], *, new: Iterable[str] = (), ax: Axes | None = None
) -> Axes:
    """Draw the formula: parts in ``earned`` in their colours, the rest grey, ``new`` underlined.

    Parts: softmax, Q, K, sqrt(d_k), V. ``ValueError`` names an unknown one.
    """
    earned, new = set(earned), set(new)
    names = [name for name, _, _ in PARTS if len(name) > 1 or name.isalpha()]
    for part in earned | new:
        if part not in names:
            raise ValueError(f"unknown part {part!r}; there are: {', '.join(names)}")
    brackets = {"(": "softmax", ")": "softmax", "/": "sqrt(d_k)"}
    ax = _axes(ax, (6.0, 0.8))
    ax.set_axis_off()
    end, anchor = 0.02, "axes fraction"
    for name, symbol, role in PARTS:
        have = brackets.get(name, name) in earned | new
        text = ax.annotate(
            symbol, (end, 0.35), xycoords=(anchor, "axes fraction"), size=24, color=color(role)
        )
        text.set_alpha(1 if have else 0.3)
        if name in new:
            line = {"arrowstyle": "-", "color": color(role), "lw": 2.5}
            ax.annotate("", (0, -0.15), (1, -0.15), xycoords=text, arrowprops=line)
        end, anchor = 1, text
    return ax


def flow_diagram(
    n_q: int, n_k: int, d_model: int, d_k: int, d_v: int, *, ax: Axes | None = None
) -> Axes:
    """Draw the whole single-head read with every shape: states, views, table, weights, output.

    Boxes are as tall as they have rows and as wide as they have columns (on a root scale).
    """
    for name, size in dict(n_q=n_q, n_k=n_k, d_model=d_model, d_k=d_k, d_v=d_v).items():
        if size < 1:
            raise ValueError(f"{name} is {size}; expected at least 1")
    ax = _axes(ax, (7.4, 4.4))
    ax.set_axis_off()
    boxes = {
        "H_q": ("$H$", n_q, d_model, "state", 0.0, 2.0, "$n_q$, $d_{model}$"),
        "H_k": ("$H$", n_k, d_model, "state", 0.0, -1.2, "$n_k$, $d_{model}$"),
        "Q": ("$Q$", n_q, d_k, "query", 2.6, 2.0, "$n_q$, $d_k$"),
        "K": ("$K$", n_k, d_k, "key", 2.6, 0.0, "$n_k$, $d_k$"),
        "V": ("$V$", n_k, d_v, "value", 2.6, -2.4, "$n_k$, $d_v$"),
        "S": (r"$QK^{\top}$", n_q, n_k, "score", 4.9, 1.0, "$n_q$, $n_k$"),
        "A": (r"$\alpha$", n_q, n_k, "weight", 7.1, 1.0, "$n_q$, $n_k$"),
        "O": ("$O$", n_q, d_v, "output", 9.2, -0.7, "$n_q$, $d_v$"),
    }
    largest = max(n_q, n_k, d_model, d_k, d_v)
    scale = lambda size: 0.75 + 0.75 * (size / largest) ** 0.5  # noqa: E731
    for symbol, rows, columns, role, x, y, shape in boxes.values():
        w, h = scale(columns), scale(rows)
        ax.add_patch(Rectangle((x - w / 2, y - h / 2), w, h, fc=color(role), ec="none", alpha=0.9))
        ax.text(x, y, symbol, ha="center", va="center", color="white", size=12)
        ax.text(
            x, y - h / 2 - 0.08, f"{shape}\n({rows}, {columns})", ha="center", va="top", size=10
        )
    arrows = {
        ("H_q", "Q"): "$W_Q$",
        ("H_k", "K"): "$W_K$",
        ("H_k", "V"): "$W_V$",
        ("Q", "S"): "",
        ("K", "S"): "",
        ("S", "A"): r"$/\sqrt{d_k}$" + "\n" + "softmax",
        ("A", "O"): "",
        ("V", "O"): "",
    }
    for (start, end), label in arrows.items():
        (_, _, c0, _, x0, y0, _), (_, _, c1, _, x1, y1, _) = boxes[start], boxes[end]
        a, b = (x0 + scale(c0) / 2 + 0.06, y0), (x1 - scale(c1) / 2 - 0.06, y1)
        ax.annotate("", b, a, arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.2})
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2 + 0.12)
        ax.text(*middle, label, ha="center", va="bottom", size=11)
    ax.set(xlim=(-0.9, 10.1), ylim=(-3.7, 2.8))
    return ax
