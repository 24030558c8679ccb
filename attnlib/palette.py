"""One colour per role, the same in every figure; each legible on white and on a dark page."""

from attnlib.checks import check_known

ROLES = {"query": "#4680ca", "key": "#c2660b", "value": "#398f48", "score": "#6766e0"}
ROLES |= {"weight": "#d22e91", "output": "#008aa5", "state": "#7e7466"}
QUERY, KEY, VALUE, SCORE, WEIGHT, OUTPUT, INK = ROLES.values()


def color(role: str) -> str:
    """Return the colour of a role; ``ValueError`` names the roles there are."""
    check_known("role", role, ROLES)
    return ROLES[role]
