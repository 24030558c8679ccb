"""A Sphinx extension: formulas become MathML while the book is built, so no page needs a script.

The mathematics font (STIX Two Math, as the package ziamath carries it) is shipped with the pages.
"""

from html import escape
from importlib.resources import files
from pathlib import Path

from docutils import nodes
from fontTools.ttLib import TTFont
from math_core import LatexError, LatexToMathML
from roles import color
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

CONVERTER = LatexToMathML(annotation=True)
FONT = "stix-two-math.woff2"


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
    """Write the mathematics font beside the other static files; tools/pages.py cuts it down."""
    target = Path(app.outdir) / "_static" / FONT
    if error or app.builder.format != "html" or target.exists():
        return
    font = TTFont(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf")
    font.flavor = "woff2"
    font.save(target)


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", ship_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
