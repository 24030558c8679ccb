"""Figures for both modes: a light and a dark twin of each SVG, in the colours of the style sheet.

A figure in a notebook has one colour per role, legible on any ground (``attnlib.palette``). On a
page the ground is known: there a role has the colour that ``_static/book.css`` gives it. In the
dark a heat map is turned over: what is next to nothing is nearly black, the largest nearly white.
"""

import re
from base64 import b64decode, b64encode
from io import BytesIO

import numpy as np
from matplotlib.image import imread, imsave

from attnlib.palette import ROLES

WHITE, BLACK = "#ffffff", "#010101"  # of the numbers in a heat map
WEIGHTS = np.array([[0.2126], [0.7152], [0.0722]])  # of red, green and blue in luminance
CELLS = re.compile(r"data:image/png;base64,\s*([A-Za-z0-9+/=\s]+)")
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


def turned(rgb: np.ndarray) -> np.ndarray:
    """Return colours (…, 3) of 0 to 1, each as far from black as it was from white.

    Contrast is (one luminance + 0.05) / (the other + 0.05), as in WCAG 2. A lighter colour is mixed
    with white; a darker one has less light, and more of its hue, lest pale tints become greys.
    """
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = light @ WEIGHTS
    wanted = 1.05 * 0.05 / (luminance + 0.05) - 0.05
    deep = light ** (1 + 3 * (luminance - wanted).clip(0))
    darker = deep * wanted / np.maximum(deep @ WEIGHTS, 1e-9)
    mixed = light + (1 - light) * (wanted - luminance) / np.maximum(1 - luminance, 1e-9)
    light = np.where(wanted < luminance, darker, mixed).clip(0, 1)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def turn_cells(found: re.Match) -> str:
    """Return an image in an SVG with its colours turned."""
    pixels, file = imread(BytesIO(b64decode(found[1])), format="png"), BytesIO()
    imsave(file, np.dstack([turned(pixels[..., :3]), pixels[..., 3:]]), format="png")
    return "data:image/png;base64," + b64encode(file.getvalue()).decode()


def twins(svg: str, modes: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return mode -> the figure in its colours; empty for a figure that has none of the roles."""
    if not any(middle in svg for middle in ROLES.values()):
        return {}
    svg = re.sub(r"\s*\n\s*", " ", NOISE.sub("", svg)).strip()
    found = {mode: recolour(svg, table) for mode, table in modes.items()}
    if "<image" in svg:
        dark = modes["dark"] | {WHITE: BLACK, BLACK: WHITE}
        found["dark"] = CELLS.sub(turn_cells, recolour(svg, dark))
    return found


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
