"""Measure the built pages as a visitor's browser does; write ``_build/report/index.html``.

Lighthouse (mobile, median of three) on three pages, and the bytes of every chapter with all its
figures: on a first visit, and for who has read another page before.
"""

import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import BrowserContext, sync_playwright

BUILD = Path(__file__).parents[1] / "_build"
PAGES = ("index.html", "chapters/07-softmax.html", "reference/glossary.html")
LIGHTHOUSE = "lighthouse@13.5.0"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
COLUMNS = ("performance", "accessibility", "best-practices", "seo", "layout shift", "kB")
BEFORE = ("45", "100", "96", "91", "0.125", "1258")  # chapter 7 before the pages were made light
TARGET = ("≥ 97", "100", "100", "100", "≤ 0.01", "≤ 250, later ≤ 100")
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>What the pages weigh</title>
<style>body {{ font: 1rem/1.5 sans-serif; margin: 2em }}
td, th {{ padding: .2em .8em; text-align: right }}
td:first-child, th:first-child {{ text-align: left }}</style>
<h1>What the pages weigh</h1>
<h2>Lighthouse, mobile, median of three</h2>{scores}
<p>Performance depends on what else this machine does: Lighthouse rated it {rating:.0f}
(a quiet desktop has 1500 or more). Bytes, shift and the other scores do not.</p>
<h2>kB of a chapter with all its figures, compressed</h2>{weights}
"""


class Compressing(SimpleHTTPRequestHandler):
    """A static host: text is compressed, files may be kept for ten minutes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            return self.send_error(404)
        body, kind = path.read_bytes(), self.guess_type(path)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "max-age=600")
        if "text" in kind or "svg" in kind:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def lighthouse(url: str, browser: str) -> tuple[list[float], float]:
    """Return the numbers of one run in the order of ``COLUMNS``, and how fast the machine is."""
    flags = "--chrome-flags=" + " ".join(["--headless=new", *FLAGS])
    command = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", "--output=json", flags]
    run = subprocess.run(
        command, env=os.environ | {"CHROME_PATH": browser}, capture_output=True, text=True
    )
    if run.returncode:
        sys.exit(f"make report: {LIGHTHOUSE} failed:\n{run.stderr}")
    found = json.loads(run.stdout)
    scores = [100 * found["categories"][name]["score"] for name in COLUMNS[:4]]
    shift = found["audits"]["cumulative-layout-shift"]["numericValue"]
    weight = found["audits"]["total-byte-weight"]["numericValue"] / 1000
    return [*scores, shift, weight], found["environment"]["benchmarkIndex"]


def weigh(context: BrowserContext, url: str) -> float:
    """Return the kB that come over the wire while a reader scrolls through the page."""
    page, sizes = context.new_page(), []
    wire = context.new_cdp_session(page)
    wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    wire.send("Network.enable")
    page.goto(url)
    for image in page.locator("img:visible").all():
        image.scroll_into_view_if_needed()
    page.wait_for_function("[...document.images].every(i => i.complete || !i.offsetParent)")
    page.close()
    return sum(sizes) / 1000


def table(head: tuple, rows: list[tuple]) -> str:
    """Return an HTML table; the first column names the row."""
    lines = [f"<th>{'<th>'.join(map(escape, head))}"]
    lines += [f"<td>{'<td>'.join(map(escape, row))}" for row in rows]
    return f"<table><tr>{'<tr>'.join(lines)}</table>"


def main() -> None:
    browser = os.environ.get("CHROME_PATH") or shutil.which("chromium") or shutil.which("chrome")
    if not browser or not shutil.which("npx"):
        sys.exit("make report: needs npx (Node.js) and Chromium; CHROME_PATH may name the latter")
    handler = partial(Compressing, directory=BUILD / "html")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}/"

    scores, ratings = [("before", *BEFORE), ("target", *TARGET)], []
    for page in PAGES:
        runs, rated = zip(*(lighthouse(root + page, browser) for _ in range(3)))
        ratings += rated
        medians = map(statistics.median, zip(*runs))
        scores.append((page, *(f"{number:.3g}" for number in medians)))
        print(*scores[-1], sep="\t")

    weights = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        reader = chromium.new_context()
        weigh(reader, root)
        for path in sorted((BUILD / "html" / "chapters").glob("*.html")):
            url = f"{root}chapters/{path.name}"
            first, later = weigh(chromium.new_context(), url), weigh(reader, url)
            weights.append((path.stem, f"{first:.0f}", f"{later:.0f}"))
            print(*weights[-1], sep="\t")

    report = BUILD / "report" / "index.html"
    report.parent.mkdir(exist_ok=True)
    columns = ("chapter", "first visit", "after another page")
    report.write_text(
        PAGE.format(
            scores=table(("page", *COLUMNS), scores),
            rating=statistics.median(ratings),
            weights=table(columns, weights),
        ),
        encoding="utf-8",
    )
    print(f"The report is {report.relative_to(BUILD.parent)}")


if __name__ == "__main__":
    main()
