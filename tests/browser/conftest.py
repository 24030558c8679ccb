"""The built book, served under a sub-path, and a Chromium that reaches nothing else."""

import functools
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"
PREFIX = "/a/sub/path"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAGES = sorted(str(p.relative_to(SITE)) for p in SITE.rglob("*.html") if "_static" not in p.parts)


class Handler(SimpleHTTPRequestHandler):
    """Serves the site below ``PREFIX``, and the site's own page for what is not there."""

    def translate_path(self, path):
        inside = path.startswith(PREFIX + "/")
        return super().translate_path(path.removeprefix(PREFIX) if inside else "/nowhere")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def address():
    if not PAGES:
        pytest.exit("the book is not built: run 'make book' first")
    handler = functools.partial(Handler, directory=str(SITE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium")
    if path is None:
        pytest.exit("chromium is missing (on Debian: apt install chromium)")
    with sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield one
        one.close()


class Visit:
    """A page in one mode and width, with what it asked of other hosts and said on the console."""

    def __init__(self, browser, address, mode="light", width=1440, touch=False):
        self.address, self.outside, self.errors = address, [], []
        size = {"width": width, "height": 900}
        device = {"has_touch": touch, "is_mobile": touch}
        self.context = browser.new_context(viewport=size, color_scheme=mode, **device)
        self.context.route("**/*", self.answer)
        self.page = self.context.new_page()
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def answer(self, route):
        if route.request.url.startswith((self.address, "data:")):
            route.continue_()
        else:
            self.outside.append(route.request.url)
            route.abort()

    def open(self, name):
        self.page.goto(f"{self.address}/{name}", wait_until="load")
        return self.page


@pytest.fixture
def visit(browser, address):
    opened = []

    def new(**options):
        opened.append(Visit(browser, address, **options))
        return opened[-1]

    yield new
    for one in opened:
        one.context.close()
