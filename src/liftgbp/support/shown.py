"""Values that are printed, and shown in notebooks, by a later room.

Engine rooms hold data; `report/` knows words and drawings. It is imported when a value is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


class HasCard:
    """Something that notebooks show as a card."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from liftgbp.report import card_of

        return card_of(self)


class Reported(HasCard):
    """Something with a card, and with a line of text that says the same."""

    __slots__ = ()

    def __repr__(self) -> str:
        from liftgbp.report import line_of

        return line_of(self)


def in_words(value: object) -> str:
    """What a value is, in one line."""
    from liftgbp.report import headline

    return headline(value)


def figure_of(value: Reported, title: str = "") -> Figure:
    """A figure of Matplotlib."""
    from liftgbp.report import figure_of

    return figure_of(value, title)


def write_picture_of(value: Reported, path: Path, title: str = "") -> None:
    """Write this figure to a file."""
    from liftgbp.report import write_picture_of

    write_picture_of(value, path, title)


def drawings() -> Any:
    """The module that draws region graphs."""
    from liftgbp.report import graph_drawing

    return graph_drawing
