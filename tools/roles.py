"""Give the symbols of a MathML formula the class of their role: `q_i` is a query everywhere.

Formulas stay plain LaTeX, which any notebook renders; the style sheet colours the classes.
"""

from xml.etree import ElementTree

ROLE_OF = {"Q": "query", "q": "query", "K": "key", "k": "key", "V": "value", "v": "value"}
ROLE_OF |= {"s": "score", "S": "score", "α": "weight", "softmax": "weight", "O": "output"}
ROLE_OF |= {"o": "output"}
SCRIPTS = {"msub", "msup", "msubsup"}
LIMITS = {"munder", "mover", "munderover"}
MATRIX = "W"  # W_Q makes queries, so the subscript names the role


def role_of(element) -> str | None:
    """Return the role of a symbol, an index and all: W_Q, k_j, s_ij, or None."""
    if element.tag == "mi":
        return ROLE_OF.get(element.text)
    if element.tag in SCRIPTS:
        base, *scripts = element
        if base.tag == "mi" and base.text == MATRIX and element.tag != "msup":
            return role_of(scripts[0]) if scripts[0].tag == "mi" else None
        return role_of(base)
    if element.tag == "msqrt":  # the part of the formula that chapter 9 earns
        return "score" if "".join(element.itertext()) == "dk" else None
    return None


def mark(element) -> None:
    """Set the classes below ``element``; an index takes the role of what it belongs to."""
    for child in element:
        if child.tag == "annotation":
            continue
        role = role_of(child)
        if role:
            child.set("class", f"role-{role}")
        elif child.tag in SCRIPTS | LIMITS:
            mark(child[0])
        else:
            mark(child)


def color(mathml: str) -> str:
    """Return the formula with a class on each symbol that plays a role."""
    root = ElementTree.fromstring(mathml.replace("&ApplyFunction;", "\u2061"))
    mark(root)
    return ElementTree.tostring(root, encoding="unicode")
