"""A Sphinx extension: a page carries the definitions of the glossary terms it links to.

`_static/definitions.js` shows one while its link has the pointer or the focus.
"""

import re

from docutils import nodes
from sphinx import addnodes

GLOSSARY = "reference/glossary"
LINK = re.compile(
    r'(<a class="reference internal)(" href="[^"]*#term-([^"]+)"><span class="xref std)'
)
TIP = '<div class="definition" id="definition-{}" role="tooltip" popover="manual">{}</div>'


def definitions(app) -> dict[str, str]:
    """Return term -> its definition as HTML, without links: a tooltip is only read."""
    found = {}
    for item in app.env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
        definition = item.next_node(nodes.definition)
        for link in list(definition.findall(addnodes.pending_xref)):
            link.replace_self(link.children)
        html = "".join(app.builder.render_partial(part)["fragment"] for part in definition)
        for term in item.findall(nodes.term):
            found[term["ids"][0].removeprefix("term-")] = html
    return found


def add_definitions(app, pagename, templatename, context, doctree):
    """Mark the links to terms; put the definitions behind the text, where no search finds them."""
    if app.builder.name != "html" or doctree is None or pagename == GLOSSARY:
        return
    used = dict.fromkeys(found[3] for found in LINK.finditer(context["body"]))
    if not used:
        return
    known = definitions(app)
    tips = "".join(TIP.format(term, known[term]) for term in used)
    body = LINK.sub(r"\1 term\2", context["body"])
    context["body"] = f'{body}<template id="definitions">{tips}</template>'


def setup(app):
    app.connect("html-page-context", add_definitions)
    app.connect(  # a changed definition changes every page
        "env-get-outdated",
        lambda app, env, added, changed, removed: env.found_docs if GLOSSARY in changed else [],
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
