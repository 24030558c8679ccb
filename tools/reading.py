"""A Sphinx extension: contents that a reader has folded are folded from the first paint on."""

# It has a type, so that it stays in the page where other scripts are joined and deferred.
STATE = """<script type="text/javascript">
document.documentElement.dataset.contents = localStorage.getItem("contents") || "open";
</script>
"""


def add_state(app, pagename, templatename, context, doctree):
    if app.builder.name == "html":
        context["metatags"] = context.get("metatags", "") + STATE


def setup(app):
    app.connect("html-page-context", add_state)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
