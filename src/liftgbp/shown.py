"""Values that are printed, and shown in notebooks, by a later room.

Engine rooms hold data; `report/` knows words and drawings. It is imported when a value is shown.
"""

from __future__ import annotations


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


def in_words(value: Reported) -> str:
    """What a value is, in one line."""
    from liftgbp.report import headline

    return headline(value)
