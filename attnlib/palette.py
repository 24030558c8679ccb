"""One colour per role, the same in every figure; each legible on white and on a dark page."""

QUERY = "#2f7fd0"
KEY = "#c2660c"
VALUE = "#1d8f5a"
SCORE = "#8b68cf"
WEIGHT = "#cf4a80"
OUTPUT = "#0e8c99"
INK = "#7b7f86"
ROLES = {
    "query": QUERY,
    "key": KEY,
    "value": VALUE,
    "score": SCORE,
    "weight": WEIGHT,
    "output": OUTPUT,
    "state": INK,
}


def color(role: str) -> str:
    """Return the colour of a role; ``ValueError`` names the roles there are."""
    if role not in ROLES:
        raise ValueError(f"unknown role {role!r}; there are: {', '.join(ROLES)}")
    return ROLES[role]
