"""Every page, in light and dark, on a phone and on a desk: quiet, whole, accessible, linked."""

import re
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe
from lxml import html

from tests.browser.conftest import PAGES, SITE

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
pages = pytest.mark.parametrize("name", PAGES)
modes = pytest.mark.parametrize("mode", ["light", "dark"])


@pages
@modes
@pytest.mark.parametrize("width", [390, 1440])
def test_page_is_quiet_and_fits(visit, name, mode, width):
    one = visit(mode=mode, width=width)
    page = one.open(name)
    assert one.outside == [], "asks another host"
    assert one.errors == []
    scroll = page.evaluate("document.documentElement.scrollWidth")
    assert scroll <= width, "scrolls sideways"
    shown = page.evaluate("document.documentElement.dataset.theme")
    assert shown == mode, "does not follow the system's mode"
    broken = "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    assert page.evaluate(broken) == []


@pages
@modes
def test_axe_finds_nothing(visit, name, mode):
    page = visit(mode=mode).open(name)
    found = Axe().run(page, options=RULES).response["violations"]
    assert [(v["id"], [n["target"] for n in v["nodes"]][:5]) for v in found] == []


def tree(name):
    return html.parse(str(SITE / name), html.HTMLParser(encoding="utf-8")).getroot()


@pages
def test_no_formula_is_left_unrendered(name):
    for node in tree(name).xpath("//article//*[not(self::script or self::annotation)]"):
        if not node.xpath("ancestor-or-self::code|ancestor-or-self::pre|ancestor::math"):
            text = (node.text or "") + "".join(child.tail or "" for child in node)
            assert not re.search(r"\\[a-z]{3,}|\$[^$]+\$", text), text


@pages
def test_internal_links_and_anchors_resolve(name):
    here = SITE / name
    for link in tree(name).xpath("//a/@href | //link/@href | //img/@src | //script/@src"):
        if re.match(r"[a-z]+:", link):
            continue
        target, anchor = urldefrag(link)
        path = (here.parent / unquote(target)).resolve() if target else here
        assert path.is_file() or (path / "index.html").is_file(), f"{link} leads nowhere"
        if anchor and path.suffix == ".html":
            ids = tree(path.relative_to(SITE)).xpath("//@id")
            assert unquote(anchor) in ids, f"{link}: no such place"


def test_search_finds_the_chapter_first_and_says_when_there_is_nothing(visit):
    page = visit().open("search.html?q=softmax")
    page.wait_for_selector("#search-results li a")
    first = page.locator("#search-results li a").first
    assert "07-softmax" in first.get_attribute("href")
    page.goto(page.url.replace("q=softmax", "q=xylophone"))
    page.wait_for_function(
        "document.querySelector('#search-results').innerText.includes('did not match')"
    )
