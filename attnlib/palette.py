"""One colour per role, the same in every figure; each legible on white and on a dark page."""

ROLES = {
    "query": "#2f7fd0",
    "key": "#c2660c",
    "value": "#1d8f5a",
    "score": "#8b68cf",
    "weight": "#cf4a80",
    "output": "#0e8c99",
    "state": "#7b7f86",
}
QUERY, KEY, VALUE, SCORE, WEIGHT, OUTPUT, INK = ROLES.values()


def color(role: str) -> str:
    """Return the colour of a role; ``ValueError`` names the roles there are."""
    if role not in ROLES:
        raise ValueError(f"unknown role {role!r}; there are: {', '.join(ROLES)}")
    return ROLES[role]
