# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""Sphinx's configuration of the site; `make docs` builds it.

The source directory is the root of the repository, so that links between pages are the same on the
site and in a view of the repository.
"""

import sys
from pathlib import Path

import gpukern

sys.path.insert(0, str(Path(__file__).parent))  # for source_pages

project = "gpukern"
author = "The gpukern authors"
copyright = "2026, The gpukern authors"  # noqa: A001  (a name of Sphinx)
version = release = gpukern.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "breathe",
    "sphinx_copybutton",
    "source_pages",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "benchmarks/**",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "src/threading/README.md",
]
exclude_patterns = ["build", ".*", "**/_static"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
nitpick_ignore_regex = [
    ("c:identifier", r"u?int\d+_t|size_t"),
    ("cpp:identifier", r"gpukern_.*|GPUKERN_.*|detail\b.*|.*element_t<.*"),  # of C, and internal
    ("py:.*", r"(numpy|collections)\..*"),
]
highlight_language = "none"

myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["toc.not_included"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
linkcheck_ignore = [r"(?!https?:)"]  # within the site: tools/check_site.py
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

breathe_projects = {"gpukern": "../build/docs-work/doxygen/xml"}
breathe_default_project = "gpukern"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"gpukern {release}"
html_static_path = ["_static"]
html_extra_path = ["_extra"]  # leads to root_doc
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": False}
