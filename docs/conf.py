"""How Sphinx makes a site of the pages in this folder (`make docs`)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

import liftgbp

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "liftgbp"
author = "the authors of liftgbp"
version = release = liftgbp.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "equations", "option_tables", "public_names"]
exclude_patterns = ["_ext", "_static"]
nitpicky = True
smartquotes = False  # --option is no dash

# Pages are plain Markdown, as on GitHub: its anchors of headings, its mathematics between dollars.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False

html_theme = "furo"
html_title = f"liftgbp {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

LINK = re.compile(r"^- \[.+?\]\((.+?)\.md\)", re.MULTILINE)
END_OF_EXAMPLE = re.compile(r"\n+```$", re.MULTILINE)
SECTION = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def with_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Make the list of pages in the index the table of contents, one part per heading."""
    if page == "index":
        for title, body in SECTION.findall(source[0]):
            pages = "\n".join(LINK.findall(body))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"


def without_gaps(app: Sphinx, page: str, source: list[str]) -> None:
    """Drop the empty line at the end of an example, which doctest needs and readers do not."""
    source[0] = END_OF_EXAMPLE.sub("\n```", source[0])


def setup(app: Sphinx) -> None:
    """Connect what this file adds."""
    app.connect("source-read", with_contents)
    app.connect("source-read", without_gaps)
