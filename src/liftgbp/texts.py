"""How text that users wrote is shown: as it is written, and never as anything but text."""

from __future__ import annotations

JOINERS = "\u200c\u200d"
"""They cannot be seen, but scripts such as Persian and emoji are written with them."""


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
