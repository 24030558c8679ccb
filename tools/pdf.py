"""Print the book that Sphinx wrote on one page (builder singlehtml) to one PDF, with Chromium.

python tools/pdf.py PAGE TARGET
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bs4 import BeautifulSoup

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer")
STYLE = """
@page { size: A4; }
html { font-size: 10pt !important; }
#contents, .toctree-wrapper > section { break-before: page; }
#contents h2 { margin: .8em 0 .2em; }
#contents ul { list-style: none; padding: 0; }
"""


def contents(soup: BeautifulSoup) -> str:
    """Return the list of chapters, under the captions of the sidebar."""
    captions = [caption.get_text() for caption in soup.select(".bd-links .caption")]
    parts = []
    for caption, part in zip(captions, soup.select("article .toctree-wrapper")):
        parts.append(f"<h2>{caption}</h2><ul>")
        for place, title in zip(
            part.select(":scope > span[id]"), part.select(":scope > section > h2")
        ):
            title = "".join(map(str, title.contents[:-1]))  # without the link to itself
            parts.append(f'<li><a href="#{place["id"]}">{title}</a></li>')
        parts.append("</ul>")
    return f'<nav id="contents"><h1>Contents</h1>{"".join(parts)}</nav>'


def on_paper(html: str) -> str:
    """Return the page with everything open, a list of contents, and links that stay in it."""
    html = re.sub(r'href="index.html#', 'href="#', html)
    html = re.sub(r'href="(\w+/[\w-]+).html"', r'href="#document-\1"', html)
    soup = BeautifulSoup(html, "html.parser")
    soup.html["data-theme"] = "light"
    for node in soup.select("script"):
        node.decompose()
    for node in soup.select("details"):
        node["open"] = ""
    soup.head.append(soup.new_tag("style", string=STYLE))
    soup.select_one("article .toctree-wrapper").insert_before(
        BeautifulSoup(contents(soup), "html.parser")
    )
    return str(soup)


def main(page: Path, target: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("pdf: no Chromium is installed (on Debian: apt install chromium)")
    paper = page.with_name("paper.html")
    paper.write_text(on_paper(page.read_text("utf-8")), "utf-8")
    command = [browser, *OPTIONS, "--generate-pdf-document-outline", f"--print-to-pdf={target}"]
    done = subprocess.run([*command, paper.as_uri()], capture_output=True, text=True)
    if done.returncode or not target.exists():
        sys.exit(f"pdf: {browser} failed: {done.stderr.strip().splitlines()[-1:]}")


if __name__ == "__main__":
    main(*(Path(name).resolve() for name in sys.argv[1:]))
