"""How text that users wrote is shown: as it is written, and never as anything but text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

JOINERS = "\u200c\u200d"
"""They cannot be seen, but scripts such as Persian and emoji are written with them."""

IN_A_SENTENCE = 12
"""A sentence names so many things."""


def visible(text: str, keep: str = "") -> str:
    r"""Text with escapes for characters that are not seen, or that a terminal obeys.

    >>> visible("\x1b[31mred\x07 a\tb"), visible("Zoë\n", keep="\n")
    ('\\x1b[31mred\\x07 a\\tb', 'Zoë\n')
    """
    if text.isprintable():
        return text
    kept = keep + JOINERS
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text
    )


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, in which columns stand below each other.

    >>> aligned([("region", "n"), ("0", "36")])
    ['region  n', '0       36']
    """
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in listed]


def quoted(value: str) -> str:
    """A value as it is or, where it could be taken for several, in quotes.

    >>> quoted("low"), quoted("a,b")
    ('low', '"a,b"')
    """
    if re.fullmatch(r"[^\s,|\"]+", value):
        return value
    import json  # rarely needed

    return json.dumps(value, ensure_ascii=False)


def some_of(texts: Sequence[str], most: int = IN_A_SENTENCE, number: int | None = None) -> str:
    """Some texts, and how many more there are; the number is that of the texts by default.

    >>> some_of(["A", "B", "C"], 2), some_of(["A", "B"]), some_of(["A", "B"], number=7)
    ('A, B and 1 more', 'A, B', 'A, B and 5 more')
    """
    named = texts[:most]
    more = (len(texts) if number is None else number) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")
