"""The documentation site: `make docs` builds it from these pages and from the docstrings."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import reference  # noqa: E402 - of this folder

import staticgraph as sg  # noqa: E402 - of the folder above it

project = "staticgraph"
author = "the staticgraph authors"
version = release = sg.__version__
extensions = ["myst_parser", "sphinx.ext.mathjax"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
default_role = "code"
add_module_names = False
myst_heading_anchors = 3
suppress_warnings = [
    "myst.xref_missing",  # links to sources, which are in the repository and not on the site
    "myst.header",
]
html_show_copyright = False  # LICENSE says it
html_theme = "furo"
html_title = f"staticgraph {version}"
html_static_path = ["results.svg", "site.css", "view.png"]
html_css_files = ["site.css"]
maximum_signature_line_length = 100


def setup(app: Sphinx) -> None:
    """Write the pages of the reference before Sphinx looks for pages."""
    reference.write(HERE / "reference")
