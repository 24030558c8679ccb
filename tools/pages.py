"""Make the pages light: ``python tools/pages.py SRC DST``.

SRC is what Sphinx wrote. DST gets the same pages with one style sheet (the rules in use), one
script (deferred), fonts cut down to the characters in use, and figures in two modes.
"""

import posixpath
import re
import shutil
import sys
from copy import copy
from hashlib import sha256
from pathlib import Path

import rjsmin
import styles
from bs4 import BeautifulSoup, Tag
from figures import colours, size, twins
from fonts import characters, cut

STYLE, SCRIPT = "_static/all.css", "_static/all.js"
PARTS = {"_static", "_images"}  # of these, DST gets the files that a page, style or script names
# Fonts that a page shows at once, by the markup that asks for them.
FONTS = {"_static/fa-solid-900.woff2": "fa-solid", "_static/stix-two-math.woff2": "<math"}
FORMULAS = "math, [class^=formula]"
PRELOAD = '<link rel="preload" as="font" type="font/woff2" crossorigin href="{}">'
UNUSED = (
    "script[src*=fontawesome]",  # draws the icons that the icon font draws as well
    "script[data-cfasync]",  # the theme's way to set the mode; ours is below
    "script:-soup-contains('DOCUMENTATION_OPTIONS.pagename')",  # for a choice of versions
    "link[rel=preload]",
    "meta[name=viewport] ~ meta[name=viewport]",
)
# Before the first paint, so that no page turns dark or loses its contents while it is read.
MODE = """{
  const root = document.documentElement.dataset;
  root.mode = localStorage.getItem("mode") || "auto";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.theme = root.mode == "auto" ? system : root.mode;
  root.contents = localStorage.getItem("contents") || "open";
}"""


class Page:
    """A page of the book: where it stands below ``root``, and its markup."""

    def __init__(self, root: Path, file: Path):
        self.file, self.folder = file.relative_to(root), file.parent
        self.up = "../" * (len(self.file.parts) - 1)
        self.soup = BeautifulSoup(file.read_bytes(), "html.parser")
        for node in self.soup.select(", ".join(UNUSED)):
            node.decompose()

    def path(self, address: str) -> Path:
        """Return the file that the page means by ``address``."""
        return Path(posixpath.normpath(self.folder / address.split("?")[0]))

    def take_sheets(self) -> list[Path]:
        """Take the style sheets out of the page and return them."""
        links = self.soup.select("link[rel=stylesheet]")
        return [self.path(link.extract()["href"]) for link in links]

    def scripts(self) -> dict[str, Tag]:
        """Return the code of the page's files and of the scripts in its head, in order."""
        tags = self.soup.select("script[src]:not([type]), head script:not([src], [type])")
        texts = (
            self.path(tag["src"]).read_text("utf-8") if "src" in tag.attrs else tag.string
            for tag in tags
        )
        return dict(zip(texts, tags))

    def leave_own_scripts(self, common: list[str]) -> None:
        """Take the common scripts out; the page's own files run after the common one."""
        for code, tag in self.scripts().items():
            if code in common:
                tag.decompose()
            elif "src" in tag.attrs:
                tag["defer"] = ""

    def own_code(self) -> list[str]:
        """Return the code of the files that the page still names, of any type."""
        tags = self.soup.select("script[src]")
        return [self.path(tag["src"]).read_text("utf-8") for tag in tags]

    def improve(self) -> None:
        """Add what Sphinx leaves undone for machines and for readers with a screen reader."""
        self.soup.html["data-theme"] = "light"  # where no script runs
        for node in self.soup.select(".citation-list[role], .citation[role]"):
            del node["role"]  # outdated, and a list of what is no item
        for node in self.soup.select("summary[aria-label]"):
            del node["aria-label"]  # says less than the words that a reader sees

    def hold_together(self) -> None:
        """Let no line break between a formula and the full stop or comma after it."""
        for formula in self.soup.select("math:not([display=block])"):
            text = formula.next_sibling
            mark = isinstance(text, str) and re.match(r"[.,;:!?)\]]+", text)
            if mark:
                held = formula.wrap(self.soup.new_tag("span", attrs={"class": "together"}))
                held.append(mark[0])
                text.replace_with(text[mark.end() :])

    def draw_in_two_modes(self, modes: dict, target: Path) -> None:
        """Put the twins of each figure in its place; a browser fetches the one that is shown."""
        for image in self.soup.select("img"):
            image["loading"] = "lazy"
            path = self.path(image["src"])
            if path.suffix != ".svg" or not path.exists():
                continue
            svg = path.read_text("utf-8")
            image.attrs |= (extent := size(svg))
            if int(extent.get("width", 0)) > 560:  # on a phone it moves sideways, and stays legible
                image["style"] = f"min-width: {round(0.75 * int(extent['width']))}px"
            # The theme hides what stands beside a twin.
            pair = self.soup.new_tag("span", attrs={"class": "twins"})
            for mode, drawing in twins(svg, modes).items():
                twin = copy(image)
                twin["src"] = image["src"].removesuffix(".svg") + f"-{mode}.svg"
                twin["class"] = [*image.get("class", []), f"only-{mode}"]
                pair.append(twin)
                (target / "_images" / f"{path.stem}-{mode}.svg").write_text(drawing, "utf-8")
            if pair.contents:
                image.replace_with(pair)

    def html(self, version: str) -> str:
        """Return the page with its new head."""
        html, head = str(self.soup), f"<script>{MODE}</script>"
        head += "".join(
            PRELOAD.format(self.up + font) for font, markup in FONTS.items() if markup in html
        )
        head += f'<link rel="stylesheet" href="{self.up}{STYLE}?{version}">'
        head += f'<script defer src="{self.up}{SCRIPT}?{version}"></script>'
        return html.replace("<title>", head + "<title>", 1)


def shared(scripts: list[dict[str, Tag]]) -> list[str]:
    """Return the code that every page runs, in order."""
    first, *others = scripts
    return [code for code in first if all(code in own for own in others)]


def copy_parts(src: Path, new: Path, text: str) -> None:
    """Copy the files that ``text`` names: all markup and all scripts."""
    for part in PARTS:
        for path in (src / part).rglob("*"):
            name = path.relative_to(src / part)
            if path.is_file() and name.as_posix() in text and not (new / part / name).exists():
                (new / part / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, new / part / name)


def tidy_search(path: Path) -> None:
    """Let search results show no formula twice: as symbols and as TeX."""
    code = path.read_text("utf-8")
    path.write_text(code.replace('[".headerlink",', '[".headerlink", "annotation",'), "utf-8")


def main(src: Path, dst: Path) -> None:
    new = dst.with_name(dst.name + ".new")  # a pass that fails leaves the old pages
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(src, new, ignore=lambda _, names: PARTS.intersection(names))
    for part in PARTS:
        (new / part).mkdir()

    files = sorted(file for file in src.rglob("*.html") if "_static" not in file.parts)
    pages = [Page(src, file) for file in files]
    modes = colours((src / "_static" / "book.css").read_text("utf-8"))
    for page in pages:
        page.improve()
        page.hold_together()
        page.draw_in_two_modes(modes, new)
    sheets = dict.fromkeys(sheet for page in pages for sheet in page.take_sheets())
    common = shared([page.scripts() for page in pages])
    for page in pages:
        page.leave_own_scripts(common)
    script = rjsmin.jsmin("\n;".join(common))
    own = {code for page in pages for code in page.own_code()}
    text = "\n".join([script, *own, *(str(page.soup) for page in pages)])
    style = styles.purge("".join(map(styles.read, sheets)), text)
    version = sha256((style + script).encode()).hexdigest()[:8]

    (new / STYLE).write_text(style, "utf-8")
    (new / SCRIPT).write_text(script, "utf-8")
    for page in pages:
        (new / page.file).write_text(page.html(version), "utf-8")
    formulas = (node.get_text() for page in pages for node in page.soup.select(FORMULAS))
    wanted = characters("".join(formulas), style)
    for path in styles.files(style, src / "_static"):
        if path.suffix == ".woff2":
            cut(path, new / "_static" / path.name, wanted)
        else:
            shutil.copy(path, new / "_static" / path.name)
    copy_parts(src, new, text)
    tidy_search(new / "_static" / "searchtools.js")

    shutil.rmtree(dst, ignore_errors=True)
    new.rename(dst)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
