"""Style sheets: join those of the pages into one, keep the rules that a page or script can use."""

import re
from collections.abc import Iterable
from pathlib import Path

import rcssmin
import tinycss2

IMPORT = re.compile(r"""@import\s+["']([^"']+)["'];""")
URL = re.compile(r"""url\((["']?)(?!data:|#)([^"')]+)\1\)""")
TRUETYPE = re.compile(r',\s*url\([^)]*\)\s*format\("truetype"\)')  # every browser reads woff2
JOINED_BY_SCRIPT = {"bs-tooltip-auto"}  # class names that no script holds in one piece


def read(path: Path) -> str:
    """Return the sheet with those it imports; it names files without their folders."""
    css = TRUETYPE.sub("", path.read_text(encoding="utf-8")).removeprefix('@charset "UTF-8";')
    css = URL.sub(lambda found: f'url("{found[2].split("?")[0].split("/")[-1]}")', css)
    return IMPORT.sub(lambda found: read(path.parent / found[1]), css)


def files(css: str, root: Path) -> list[Path]:
    """Return the files below ``root`` that a sheet names."""
    named = {found[2] for found in URL.finditer(css)}
    return [path for path in sorted(root.rglob("*")) if path.name in named]


def names(selector: list) -> Iterable[str]:
    """Yield the elements, classes and ids that a selector needs, without what ``:not()`` holds."""
    before = None
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            yield token.value
        before = token.value if token.type == "literal" else None


def selectors(prelude: list) -> Iterable[list]:
    """Yield the parts between the commas."""
    part = []
    for token in prelude:
        if token == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def used(rules: list, words: set[str]) -> Iterable[tuple[str, str]]:
    """Yield (name, text) of the rules whose names all are ``words``.

    The name is that of an animation or a font, which another rule has to ask for; else empty.
    """
    for rule in rules:
        if rule.type == "qualified-rule":
            kept = [part for part in selectors(rule.prelude) if words.issuperset(names(part))]
            if kept:
                head = ",".join(tinycss2.serialize(part) for part in kept)
                yield "", f"{head}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.content is not None:
            head, content = tinycss2.serialize(rule.prelude), tinycss2.serialize(rule.content)
            name = ""
            if rule.at_keyword == "font-face":
                name = re.search(r"""font-family:\s*["']?([^"';}]+)""", content)[1]
            elif rule.at_keyword.endswith("keyframes"):
                name = head.strip()
            elif rule.at_keyword in ("media", "supports"):
                inner = tinycss2.parse_rule_list(rule.content, True, True)
                content = "".join(text for _, text in used(inner, words))
            if content:
                yield name, f"@{rule.at_keyword}{head}{{{content}}}"


def purge(css: str, text: str) -> str:
    """Return the rules of ``css`` that can apply where ``text`` is all markup and all scripts."""
    words = set(re.findall(r"[\w-]+", text)) | JOINED_BY_SCRIPT
    rules = list(used(tinycss2.parse_stylesheet(css, True, True), words))
    asked = "".join(rule for name, rule in rules if not name)
    return rcssmin.cssmin("".join(rule for name, rule in rules if not name or name in asked))
