# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Pages for the source files and the folders to which pages of the site link.

A link of a page to a file outside the site, such as ``../include/gpukern/gpukern.h``, leads to a
page that shows the file; a link to a folder, to a list of its files.
"""

import html
import posixpath
from pathlib import Path

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

# The files of these paths have pages.
SHOWN = (
    "LICENSE",
    "benchmarks/notes",
    "cython/gpukern/__init__.pyi",
    "cython/gpukern/_typing.pyi",
    "examples",
    "include/gpukern",
)
SUFFIXES = {
    "",
    ".c",
    ".cpp",
    ".cu",
    ".h",
    ".hpp",
    ".md",
    ".py",
    ".pyi",
    ".pyx",
    ".sh",
    ".toml",
    ".txt",
}


def page_of(root, path):
    """Return the URI of the page that shows a file or a folder, or None without such a page."""
    if not any(path == shown or path.startswith(f"{shown}/") for shown in SHOWN):
        return None
    if (root / path).is_dir():
        return f"{path}/index.html"
    if Path(path).suffix == ".md":  # a page of Sphinx
        return f"{path.removesuffix('.md')}.html"
    return f"{path}.html" if (root / path).is_file() else None


class LinkToSourcePages(SphinxTransform):
    """Lets links to files and folders lead to their pages."""

    default_priority = 5  # before links are resolved and files are collected for download

    def apply(self):
        """Replace the links of a page."""
        page = self.env.docname
        for link in list(self.document.findall(addnodes.download_reference)) + [
            xref
            for xref in self.document.findall(addnodes.pending_xref)
            if xref["reftype"] == "myst"
        ]:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link["reftarget"]))
            if uri := page_of(Path(self.env.srcdir), path):
                here = self.app.builder.get_target_uri(page)
                reference = nodes.reference("", "", internal=True, refuri=relative_uri(here, uri))
                reference += link.children
                link.replace_self(reference)


def language_of(path):
    """Return the name of the language of a file for the highlighter."""
    try:
        return get_lexer_for_filename(path.name).aliases[0]
    except ClassNotFound:
        return "none"


def file_page(app, path):
    """Return the HTML of a file."""
    text = path.read_text(encoding="utf-8")
    return app.builder.highlighter.highlight_block(text, language_of(path))


def folder_page(root, folder):
    """Return the HTML of the list of a folder."""
    here = f"{folder.relative_to(root)}/index.html"
    items = [
        (child.name, page_of(root, str(child.relative_to(root))))
        for child in sorted(folder.iterdir())
        if is_shown(child)
    ]
    links = (
        f'<li><a href="{relative_uri(here, page)}"><code>{html.escape(name)}</code></a></li>'
        for name, page in items
    )
    return f"<ul>{''.join(links)}</ul>"


def is_shown(path):
    """Return whether a file or a folder is a source, not an output of a build."""
    if path.is_dir():
        return path.name != "build" and any(is_shown(child) for child in path.iterdir())
    return path.suffix in SUFFIXES


def pages(app):
    """Yield the name, the context and the template of each page."""
    root = Path(app.srcdir)
    for shown in SHOWN:
        for path in [root / shown, *sorted((root / shown).rglob("*"))]:
            name = str(path.relative_to(root))
            if not is_shown(path) or path.suffix == ".md":
                continue
            body = folder_page(root, path) if path.is_dir() else file_page(app, path)
            page = page_of(root, name).removesuffix(".html")
            title = f"<h1><code>{html.escape(name)}</code></h1>"
            yield page, {"title": name, "body": title + body}, "page.html"


def setup(app):
    """Register the extension."""
    app.add_transform(LinkToSourcePages)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
