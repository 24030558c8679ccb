"""Every page, in light and dark, on a phone and on a desk: quiet, whole, accessible, linked."""

import re
from functools import cache
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup

from tests.browser.conftest import PAGES, SITE

# The pages have one size of root (tools/fonts.py): what stands under it must be low enough.
TALL_ROOTS = """[...document.querySelectorAll("msqrt")].filter(root =>
    root.firstElementChild.getBoundingClientRect().height >
    1.1 * parseFloat(getComputedStyle(root).fontSize)
).map(root => root.textContent)"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OPTIONS = {"runOnly": RULES, "resultTypes": ["violations"]}
# One style sheet colours all code; its thousands of tokens are looked at on these pages.
CODE_CHECKED = ("chapters/07-softmax.html", "chapters/a3-libraries.html", "reference/teaching.html")
pages = pytest.mark.parametrize("name", PAGES)
modes = pytest.mark.parametrize("mode", ["light", "dark"])


@pages
@modes
def test_page_is_quiet_whole_and_accessible(visit, name, mode):
    one = visit(mode=mode)
    for width in (390, 1440):
        one.page.set_viewport_size({"width": width, "height": 900})
        page = one.open(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "scrolls sideways"
        shown = page.evaluate("document.documentElement.dataset.theme")
        assert shown == mode, "does not follow the system's mode"
        broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.evaluate(broken) == []
        assert page.evaluate(TALL_ROOTS) == [], "taller than the root over it"
    context = None if name in CODE_CHECKED else {"exclude": [[".highlight"]]}
    found = Axe().run(page, context, OPTIONS).response["violations"]
    assert [(v["id"], [n["target"] for n in v["nodes"]][:5]) for v in found] == []
    assert one.outside == [], "asks another host"
    assert one.errors == []


@cache
def tree(path):
    return BeautifulSoup(path.read_bytes(), "html.parser")


@pages
def test_no_formula_is_left_unrendered(name):
    for text in tree(SITE / name).select_one("article, main, body").find_all(string=True):
        if not text.find_parent(["code", "pre", "script", "annotation", "style"]):
            assert not re.search(r"\\[a-z]{3,}|\$[^$]+\$", text), text


@pages
def test_internal_links_and_anchors_resolve(name):
    here = SITE / name
    for node in tree(here).select("a[href], link[href], img[src], script[src]"):
        link = node.get("href") or node.get("src")
        if re.match(r"[a-z]+:", link):
            continue
        target, anchor = urldefrag(link)
        target = unquote(target.split("?")[0])
        path = (here.parent / target).resolve() if target else here
        path = path / "index.html" if path.is_dir() else path
        assert path.is_file(), f"{link} leads nowhere"
        if anchor and path.suffix == ".html":
            assert tree(path).find(id=unquote(anchor)), f"{link}: no such place"


def test_search_finds_the_chapter_first_and_says_when_there_is_nothing(visit):
    page = visit().open("search.html?q=softmax")
    page.wait_for_selector("#search-results li a")
    first = page.locator("#search-results li a").first
    assert "07-softmax" in first.get_attribute("href")
    page.goto(page.url.replace("q=softmax", "q=xylophone"))
    page.wait_for_function(
        "document.querySelector('#search-results').innerText.includes('did not match')"
    )
