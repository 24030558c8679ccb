"""A Sphinx extension: what search engines and link previews read of a page.

Title and description are plain text. The address of a page and the preview image follow where the
environment variable SITE_URL says where the book will stand: a link preview takes nothing relative.
"""

import os
import textwrap
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup
from matplotlib.figure import Figure

from attnlib import load_head, load_states

SITE_URL = os.environ.get("SITE_URL", "").rstrip("/") + "/"
IMAGE = "_static/preview.png"
GROUND, INK = "#22182e", "#f4eef8"


def plain(html: str) -> str:
    """Return the text of ``html``; of a formula its symbols, without the TeX that stands beside."""
    soup = BeautifulSoup(html, "html.parser")
    for root in soup.select("msqrt"):
        root.insert(0, "√")
    for aside in soup.select("annotation, .headerlink"):
        aside.decompose()
    return " ".join(soup.get_text().split())


def first_words(body: str) -> str:
    """Return the first paragraph that says something, as long as a search engine shows it."""
    paragraphs = (
        plain(str(node)) for node in BeautifulSoup(body, "html.parser").select("section > p")
    )
    text = next((text for text in paragraphs if len(text) > 50), "")
    return textwrap.shorten(text, 155, placeholder=" …")


def written_description(metatags: str) -> str:
    node = BeautifulSoup(metatags, "html.parser").select_one("meta[name=description]")
    return node["content"] if node else ""


def add_tags(app, pagename, templatename, context, doctree):
    """Give a page its title and description, twice: as a page and as an Open Graph object."""
    if app.builder.name != "html":
        return
    title = context["title"] = context["pagetitle"] = plain(context.get("title") or "")
    metatags, book = context.get("metatags") or "", app.config.html_title
    written = written_description(metatags)
    about = written or first_words(context.get("body") or "") or f"{title}: {book}"
    tags = [("property", "og:type", "article"), ("property", "og:site_name", book)]
    tags += [("property", "og:title", title), ("property", "og:description", about)]
    if not written:
        tags.append(("name", "description", about))
    if SITE_URL != "/":
        address = SITE_URL + app.builder.get_target_uri(pagename)
        tags += [("property", "og:url", address), ("property", "og:image", SITE_URL + IMAGE)]
        tags += [("property", "og:image:alt", "The formula, and the weights of a trained head.")]
        tags += [("name", "twitter:card", "summary_large_image")]
    context["metatags"] = metatags + "".join(
        f'<meta {kind}="{name}" content="{escape(content)}"/>\n' for kind, name, content in tags
    )


def draw_image(app, error):
    """Draw the preview: the title, the formula, and what one trained head reads."""
    if error or app.builder.name != "html":
        return
    tokens, H = load_states("the cat sat on the mat", layer=3)
    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor=GROUND)
    figure.text(0.05, 0.62, app.config.html_title, size=42, color=INK)
    figure.text(0.05, 0.38, "softmax(QKᵀ / √dₖ) V", size=36, color="#ff5cb8")
    axes = figure.add_axes((0.57, 0.1, 0.4, 0.8))
    axes.imshow(load_head("L3H1").read(H, tokens).weights, cmap="magma")
    axes.axis("off")
    figure.savefig(Path(app.outdir) / IMAGE)


def setup(app):
    if SITE_URL != "/":
        app.connect("config-inited", lambda app, config: setattr(config, "html_baseurl", SITE_URL))
    app.connect("html-page-context", add_tags, priority=600)  # after the theme has set a title
    app.connect("build-finished", draw_image)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
