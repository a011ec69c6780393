"""Formulas become MathML while the site is built: no script and no internet when it is read.

The font is STIX Two Math, which the package ziamath brings along; browsers whose system has a font
for mathematics would do without.
"""

from __future__ import annotations

import re
from pathlib import Path

import ziamath
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset_file
from sphinx.writers.html5 import HTML5Translator

FONT = Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"

BEFORE_LOG = re.compile(r"(?<=[\w)}])(\s*)\\log\b")
AFTER_LOG = re.compile(r"\\log\b(?!\s*\()")


def mathml(formula: str, display: str) -> str:
    """A formula of LaTeX as MathML, with the spaces around `log` that the converter leaves out."""
    spaced = AFTER_LOG.sub(r"\\log\\,", BEFORE_LOG.sub(r"\1\\,\\log", formula))
    return convert(spaced, display=display)


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a sentence."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def displayed(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    formula = mathml(node.astext(), "block")
    writer.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def copy_font(app: Sphinx, problem: Exception | None) -> None:
    """Put the font beside the style sheet that names it."""
    if problem is None:
        copy_asset_file(FONT, Path(app.outdir) / "_static")


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of the writers that need a script."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    app.config.html_math_renderer = "mathml"
    app.connect("build-finished", copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
