"""Figures for both modes: a light and a dark twin of each SVG, in the colours of the style sheet.

A figure in a notebook has one colour per role, legible on any ground (``attnlib.palette``). On a
page the ground is known: there a role has the colour that ``_static/book.css`` gives it.
"""

import re

from attnlib.palette import ROLES

WHITE = "#ffffff"
NOISE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)


def colours(css: str) -> dict[str, dict[str, str]]:
    """Return mode -> {colour in the notebook: colour on the page}."""
    modes = {}
    for mode, selector in {"light": ":root", "dark": 'html[data-theme="dark"]'}.items():
        block = re.search(re.escape(selector) + r" \{\s*--query.*?\}", css, re.DOTALL)[0]
        found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
        modes[mode] = {middle: found[role] for role, middle in ROLES.items()}
        modes[mode][WHITE] = found["on-role"]
    return modes


def recolour(svg: str, table: dict[str, str]) -> str:
    """Return the figure with each colour of ``table`` replaced."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: table.get(found[0], found[0]), svg)


def twins(svg: str, modes: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return mode -> the figure in its colours; empty for a figure that has none of the roles."""
    if not any(middle in svg for middle in ROLES.values()):
        return {}
    svg = re.sub(r"\s*\n\s*", " ", NOISE.sub("", svg)).strip()
    if "<image" in svg:  # white stands on the cells of a heatmap, which keep their shades
        modes = {mode: {**table, WHITE: WHITE} for mode, table in modes.items()}
    return {mode: recolour(svg, table) for mode, table in modes.items()}


def size(svg: str) -> dict[str, str]:
    """Return width and height in CSS pixels, as attributes of an image; a point is 4/3 pixels."""
    head = re.search(r"<svg[^>]*>", svg)[0]
    found = [re.search(rf'\s{side}="([\d.]+)(pt|px)?"', head) for side in ("width", "height")]
    if None in found:
        return {}
    pixels = [
        float(number) * (4 / 3 if unit == "pt" else 1)
        for number, unit in map(re.Match.groups, found)
    ]
    return {side: str(round(length)) for side, length in zip(("width", "height"), pixels)}
