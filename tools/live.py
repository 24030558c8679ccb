"""A Sphinx extension: the script of the figures that answer, on the pages that have one."""


def add_script(app, pagename, templatename, context, doctree):
    if '<script type="application/json">' in context.get("body", ""):
        app.add_js_file("live.js", type="module")


def setup(app):
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
