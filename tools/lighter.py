"""A Sphinx extension: what the tool chain does to every page, where the book wants it otherwise."""

from pathlib import Path

UNUSED = "sphinx_thebe"  # adds a loader from another host and fails in the console


def setup(app):
    app.config.html_search_scorer = str(Path(__file__).with_name("scorer.js"))
    for listeners in app.events.listeners.values():
        listeners[:] = [one for one in listeners if not one.handler.__module__.startswith(UNUSED)]
    app.registry.css_files[:] = [one for one in app.registry.css_files if "thebe" not in one[0]]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
