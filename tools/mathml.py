"""A Sphinx extension: formulas become MathML while the book is built, so no page needs a script.

The mathematics font (STIX Two Math, as the package ziamath carries it) is cut down to the
characters that formulas use and shipped once with the pages.
"""

from html import escape
from importlib.resources import files
from pathlib import Path

from docutils import nodes
from fontTools import subset
from math_core import LatexError, LatexToMathML
from roles import color
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

CONVERTER = LatexToMathML(annotation=True)
FONT = "stix-two-math.woff2"
CHARACTERS = (
    (0x20, 0x7E),  # ASCII
    (0xA0, 0xFF),
    (0x370, 0x3FF),  # Greek
    (0x2000, 0x206F),  # spaces, primes, dots
    (0x2100, 0x214F),  # ℝ, ℎ
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x22FF),  # operators
    (0x27E8, 0x27E9),
    (0x1D434, 0x1D467),  # italic
    (0x1D6A4, 0x1D6E1),  # italic Greek and dotless letters
    (0x1D6FC, 0x1D71B),
)


def to_mathml(writer, node, display: bool) -> str:
    """Return the formula of ``node``; one that cannot be converted is a warning with its place."""
    latex = node.astext()
    try:
        return color(CONVERTER.convert_with_local_state(latex, displaystyle=display))
    except LatexError as error:
        logging.getLogger(__name__).warning("formula %r: %s", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"


def visit_inline(writer, node):
    writer.body.append(to_mathml(writer, node, display=False))
    raise nodes.SkipNode


def visit_block(writer, node):
    number = ""
    if node.get("number"):
        number = f'<span class="eqno">({get_node_equation_number(writer, node)})</span>'
    anchor = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    formula = to_mathml(writer, node, display=True)
    writer.body.append(f'<div class="formula" tabindex="0"{anchor}>{formula}{number}</div>')
    raise nodes.SkipNode


def ship_font(app, error):
    """Write the cut-down font beside the other static files."""
    target = Path(app.outdir) / "_static" / FONT
    if error or app.builder.format != "html" or target.exists():
        return
    options = subset.Options(flavor="woff2", layout_features=["*"])
    font = subset.load_font(str(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"), options)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[c for low, high in CHARACTERS for c in range(low, high + 1)])
    cutter.subset(font)
    subset.save_font(font, str(target), options)


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", ship_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
