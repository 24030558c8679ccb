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
NAMESPACE = 'xmlns="http://www.w3.org/1998/Math/MathML"'
FONT = "stix-two-math.woff2"


def is_xml(writer) -> bool:
    return writer.builder.name == "epub"


def to_mathml(writer, node, display: bool) -> str:
    """Return the formula of ``node``; one that cannot be converted is a warning with its place."""
    latex = node.astext()
    try:
        mathml = color(CONVERTER.convert_with_local_state(latex, displaystyle=display))
        # the pages of an EPUB are XML, where the namespace makes an element a formula
        return mathml.replace("<math", f"<math {NAMESPACE}", 1) if is_xml(writer) else mathml
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


def ship_font(app):
    """Write the mathematics font to the static files, before an EPUB is packed."""
    target = Path(app.outdir) / "_static" / FONT
    if app.builder.format != "html" or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    font = TTFont(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf")
    font.flavor = "woff2"
    font.save(target)


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("builder-inited", ship_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
