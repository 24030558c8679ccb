"""Fonts: cut down to the characters that the pages show."""

import unicodedata
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

# A lone letter of a formula is drawn in italics, which are characters of their own.
ITALIC = (*range(0x1D434, 0x1D468), 0x210E, *range(0x1D6A4, 0x1D6A6), *range(0x1D6E2, 0x1D71C))
ROOT = "√"  # stands in no formula's text


def characters(formulas: str, css: str) -> set[int]:
    """Return the code points of all formulas, and of the icons that the style sheet names."""
    icons = {ord(char) for char in css if not char.isascii()}
    italic = {code for code in ITALIC if unicodedata.normalize("NFKC", chr(code)) in formulas}
    return icons | {ord(char) for char in formulas + ROOT} | italic


def keep_one_root(font: TTFont) -> None:
    """Drop the larger roots: Chromium leaves room for the widest of them after every formula."""
    variants, root = font["MATH"].table.MathVariants, font.getBestCmap()[ord(ROOT)]
    roots = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    del roots.MathGlyphVariantRecord[1:]
    roots.GlyphAssembly = None


def cut(source: Path, target: Path, wanted: set[int]) -> None:
    """Write the font with nothing but the ``wanted`` characters."""
    options = subset.Options(flavor="woff2", layout_features=["*"])
    font = subset.load_font(str(source), options)
    if "MATH" in font:
        keep_one_root(font)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=wanted)
    cutter.subset(font)
    target.parent.mkdir(parents=True, exist_ok=True)
    subset.save_font(font, str(target), options)
