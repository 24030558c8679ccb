"""A Sphinx extension: the EPUB as its standard wants it, where Sphinx and its guests write HTML."""

import re
from pathlib import Path

from fonts import characters, cut
from mathml import FONT
from sphinx.builders.epub3 import Epub3Builder


def rewrite(path: Path, *changes) -> None:
    """Make the changes, pairs as ``re.sub`` takes them, in a file."""
    text = path.read_text("utf-8")
    for wrong, right in changes:
        text = re.sub(wrong, right, text, flags=re.DOTALL)
    path.write_text(text, "utf-8")


class Book(Epub3Builder):
    media_types = Epub3Builder.media_types | {".woff2": "font/woff2"}

    def build_epub(self):
        """Mend what was written, then pack it."""
        out = Path(self.outdir)
        for page in out.rglob("*.xhtml"):
            rewrite(
                page,
                (r'<link[^>]*/mystnb\.\w+\.css" />', ""),  # is not packed
                (r"<summary.*?</summary>", lambda found: re.sub(r"(</?)p\b", r"\1span", found[0])),
                (r'href="(\w+/[\w-]+)\.html"', r'href="\1.xhtml"'),  # in the home page's formula
                (r"\\sqrt\{(\w+)\}(?=</a>)", r"√\1"),  # in a title of the contents
            )
        rewrite(out / "toc.ncx", (r"\\sqrt\{(\w+)\}", r"√\1"))
        for image in out.rglob("*.svg"):
            rewrite(image, (r"<!DOCTYPE.*?>", ""), (r"<path(?![^>]* d=)", '<path d=""'))
        pages = {page: page.read_text("utf-8") for page in out.rglob("*.xhtml")}
        font = out / "_static" / FONT
        cut(font, font, characters("".join(pages.values()), ""))
        for page in (page for page, text in pages.items() if "<math" in text):
            name = re.escape(page.relative_to(out).as_posix())
            rewrite(out / "content.opf", (f'(<item [^>]*href="{name}")', r'\1 properties="mathml"'))
        super().build_epub()


def setup(app):
    app.add_builder(Book, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
