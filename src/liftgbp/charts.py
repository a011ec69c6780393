"""Charts by Matplotlib: how figures are checked, drawn and written to files.

Matplotlib draws SVG, PNG and PDF without a browser, without JavaScript and without the internet; it
is the extra `plot`, and imported only here and where drawings become figures.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liftgbp.files import check_writable, need_module, plain_texts, whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXTENSIONS = (".pdf", ".png", ".svg")
"""What figures are written as."""


def check_figure(path: Path) -> None:
    """Refuse a figure that could not be written, before anything is computed."""
    check_writable(path, EXTENSIONS)
    need_module("matplotlib", "plot", f"writing {path.suffix}")


def drawn(make: Callable[[], Figure]) -> Figure:
    """The figure that a function makes; names of users in it are never taken for formulas."""
    need_module("matplotlib", "plot", "drawing")
    with plain_texts():
        return make()


def write_figure(make: Callable[[], Figure], path: Path) -> None:
    """Write a figure to a file, which appears when it is complete."""
    check_figure(path)
    with whole_file(path) as unfinished:
        save_figure(make, unfinished)


def save_figure(make: Callable[[], Figure], path: Path) -> None:
    """Write a figure at once, for those who see to it that files are whole."""
    from matplotlib import rc_context

    # Texts that stay texts make small files; without dates and random names, they are repeatable.
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "liftgbp",
        "pdf.fonttype": 42,
    }
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context(settings), plain_texts():
        make().savefig(path, dpi=150, metadata=undated.get(path.suffix))
