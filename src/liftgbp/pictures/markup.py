"""HTML and SVG in which text is never taken for markup.

Whatever is not `Markup` becomes text when it is put into an element, so that names that users chose
cannot become elements or scripts. The result is also well-formed XML.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from liftgbp.support.texts import visible


@dataclass(frozen=True, slots=True)
class Markup:
    """A piece of HTML or SVG that is put into others as it is."""

    source: str

    def __str__(self) -> str:
        return self.source


Content: TypeAlias = Markup | str
"""What can be put into an element: markup, or text."""


def element(name: str, *content: Content, **attributes: object) -> Markup:
    """An element; text in it and in its attributes is escaped.

    Names of attributes are written with underscores (`stroke_width`, `class_`), and those that are
    `None` are left out.

    >>> print(element("b", "a < b", class_="large"), element("rect", x=1.50))
    <b class="large">a &lt; b</b> <rect x="1.5"/>
    """
    own = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(visible(_value(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = joined(content).source
    if not inside and name in EMPTY:
        return Markup(f"<{name}{own}/>")
    return Markup(f"<{name}{own}>{inside}</{name}>")


EMPTY = frozenset(["br", "circle", "line", "path", "polygon", "polyline", "rect"])
"""Elements that have no content; browsers want others to be closed by a tag of their own."""


def joined(content: Iterable[Content]) -> Markup:
    """Pieces after each other."""
    return Markup(
        "".join(
            own.source if isinstance(own, Markup) else _escaped(visible(own, keep="\n"))
            for own in content
        )
    )


def _value(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _escaped(text: str) -> str:
    from html import escape  # every command imports this module, and few make pictures

    return escape(text)
