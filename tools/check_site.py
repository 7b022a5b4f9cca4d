# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0
"""Finds links of a built site that lead nowhere: python tools/check_site.py build/docs.

Follows links, images, scripts and style sheets between the files of the site, with their anchors.
What a page loads must be in the site: it works without a network. Exits with 1 if it finds any.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {("img", "src"), ("script", "src"), ("link", "href"), ("object", "data")}


class Page(HTMLParser):
    """The links, the loaded files and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = set(), set(), {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Collect what a tag refers to."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in LOADING:
                self.loaded.add(value)
            elif (tag, name) == ("a", "href"):
                self.links.add(value)


def problems(root):
    """Yield the errors of a site, one line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"{root}: there is no page"
    for path, page in pages.items():
        for link in sorted(page.links | page.loaded):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loaded and url.scheme != "data":
                    yield f"{path}: loads {link}"
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.is_file():
                yield f"{path}: {link} does not exist"
            elif target in pages and unquote(url.fragment) not in pages[target].anchors:
                yield f"{path}: {link} has no such anchor"


def main(root):
    """Check a site and return the exit status."""
    found = list(problems(Path(root).resolve()))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
