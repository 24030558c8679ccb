"""A Sphinx extension: the script of the figures that answer, on the pages that have one."""

from pathlib import Path


def ship_script(app):
    # Not in _static: Jupyter Book puts every .js file of that folder on every page.
    app.config.html_static_path.append(str(Path(__file__).with_name("live.js")))


def add_script(app, pagename, templatename, context, doctree):
    if '<script type="application/json">' in context.get("body", ""):
        app.add_js_file("live.js", type="module")


def setup(app):
    app.connect("builder-inited", ship_script)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
