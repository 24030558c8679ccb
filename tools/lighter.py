"""A Sphinx extension: take out what the tool chain puts on every page and no page of ours uses."""

UNUSED = "sphinx_thebe"  # adds a loader from another host and fails in the console


def setup(app):
    for listeners in app.events.listeners.values():
        listeners[:] = [one for one in listeners if not one.handler.__module__.startswith(UNUSED)]
    app.registry.css_files[:] = [one for one in app.registry.css_files if "thebe" not in one[0]]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
