"""A Sphinx extension: 404.html, which a server shows for a missing address at any depth.

Its links are relative to the book's first page. A ``<base>`` says where that is: SITE_URL, or else
the page itself asks for it.
"""

from urllib.parse import urlsplit

from previews import SITE_URL

# Pages stand in few folders, so what precedes one of them is the book's place; else climb until it
# is found. It has to be known before the first style sheet, so the page waits for the answers.
FIND = """<script type="text/javascript">{
  let root = location.pathname.replace(/(%s)\\/.*|[^/]*$/, "");
  const ask = new XMLHttpRequest();
  for (; root !== "/"; root = root.replace(/[^/]*\\/$/, "")) {
    ask.open("HEAD", root + "searchindex.js", false);
    ask.send();
    if (ask.status === 200) break;
  }
  document.write(`<base href="${root}">`);
}</script>"""
BODY = """<h1>There is no such page</h1>
<p>The address is mistyped, or the page has moved.
The book starts at its <a href="index.html">first page</a>; the contents lead to every other.</p>
<form class="search-here" action="search.html" role="search">
<input type="search" name="q" class="form-control" aria-label="Search this book">
<button class="btn btn-primary">Search</button></form>
<script>
document.querySelector(".skip-link a").href = location.pathname + "#main-content";
</script>"""


def pages(app):
    if app.builder.name == "html":
        yield "404", {"title": "There is no such page", "body": BODY}, "page.html"


def add_base(app, pagename, templatename, context, doctree):
    if pagename != "404":
        return
    folders = sorted({name.split("/")[0] for name in app.env.found_docs if "/" in name})
    path = urlsplit(SITE_URL).path
    base = f'<base href="{path}">' if SITE_URL != "/" else FIND % "|".join(folders)
    context["metatags"] = base + '<meta name="robots" content="noindex"/>'


def setup(app):
    app.connect("html-collect-pages", pages)
    app.connect("html-page-context", add_base)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
