"""The shape of one line of facts, and what to say about a line that has another one."""

from __future__ import annotations

import re

# Possessive quantifiers and atomic groups: a name such as 12 could be read in two ways, and a line
# of many such names that ends in a mistake in very many ways. Frequent names come first.
_NUMBER = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_PLAIN, _QUOTED = r"[^\W\d]\w*+", r'"(?:\\.|[^"\\])++"'
_NUMBER_NAME = r"(?:\d++(?:\.\d++)?|\.\d++)(?:[eE][+-]?\d++)?(?!\w)"
_NAME = rf"(?>{_PLAIN}|{_QUOTED}|{_NUMBER_NAME}|\w++)"

NAMES = re.compile(_NAME)
FACT = re.compile(
    rf"\s*+(?:(?P<chance>{_NUMBER})\s++)?"
    r"(?:(?P<negation>!)\s*+)?"
    rf"(?P<atom>(?P<predicate>{_PLAIN})"
    rf"(?:\s*+\(\s*+(?P<arguments>{_NAME}(?>\s*+,\s*+{_NAME})*+)?\s*+\))?)\s*+"
    rf"(?:=\s*+(?P<value>{_NAME})\s*+)?"
)

# A line that names objects of a sort, as some tools write it above the facts.
OBJECTS = re.compile(
    rf"\s*+(?P<sort>{_PLAIN})\s*+=\s*+\{{\s*+(?P<names>{_NAME}(?>\s*+,\s*+{_NAME})*+)\s*+\}}\s*+"
)

# Pieces of the same shape, each with the blanks after it.
_BEGINNING = re.compile(rf"\s*(?:{_NUMBER}\s+)?(?:!\s*)?")
_PREDICATE = re.compile(r"[^\W\d]\w*\s*")
_OPENING, _COMMA, _CLOSING, _EQUALS = (re.compile(rf"{c}\s*") for c in (r"\(", ",", r"\)", "="))
_ONE_NAME = re.compile(rf"{_NAME}\s*")

_FOUND = re.compile(r'"[^"]*"?|\d+\.\d+|\w+|\S')
_HINTS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"\.\s*$", "a fact ends without a period"),
        (r'""', "a name in quotes cannot be empty"),
        (r'"(?![^"]*")', "the closing quote is missing"),
        (r"'", 'names are quoted with "'),
        (r"\{", "objects of a sort are listed like person = {Anna, Bob}"),
        (r"\?", "an atom of which nothing is known is not listed"),
        (r"(?<==)>", "a fact is one atom; formulas stand in the model"),
        (r"!=", "state the value that the atom has"),
        (r"[,;^&]|\w", "a line states one fact"),
        (r"[-.:/@+#]", "a name with other characters than letters and digits stands in quotes"),
    )
)


def plain_name(name: str) -> str:
    """The name without its quotes, if it has some."""
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith('"') else name


def malformed(line: str) -> tuple[str, int, int]:
    """What is wrong with a line that states no fact, and the columns (from 0) to point at.

    >>> malformed("Friends(Anna, Bob")
    ("expected ',' or ')', got the end of the line", 17, 18)
    """
    line = line.rstrip()
    column, expected = _where_it_ends(line)
    found = _FOUND.match(line, column)
    if found is None:
        return f"expected {expected}, got the end of the line", column, column + 1
    hint = next((f"; {hint}" for pattern, hint in _HINTS if pattern.match(line, column)), "")
    return f"expected {expected}, got '{found[0]}'{hint}", column, found.end()


def _where_it_ends(line: str) -> tuple[int, str]:
    """The column up to which a line can be read, and what could stand there."""
    pieces = _Pieces(line)
    pieces.take(_BEGINNING)
    if not pieces.take(_PREDICATE):
        return pieces.column, "a predicate"
    expected = "'(', '=' or the end of the line"
    if pieces.take(_OPENING):
        if not pieces.take(_ONE_NAME):
            return pieces.column, "a constant"
        while pieces.take(_COMMA):
            if not pieces.take(_ONE_NAME):
                return pieces.column, "a constant"
        if not pieces.take(_CLOSING):
            return pieces.column, "',' or ')'"
        expected = "'=' or the end of the line"
    if not pieces.take(_EQUALS):
        return pieces.column, expected
    if not pieces.take(_ONE_NAME):
        return pieces.column, "a value"
    return pieces.column, "the end of the line"


class _Pieces:
    """Takes pieces off the front of a line."""

    def __init__(self, line: str) -> None:
        self._line = line
        self.column = 0

    def take(self, piece: re.Pattern[str]) -> bool:
        found = piece.match(self._line, self.column)
        if found is not None:
            self.column = found.end()
        return found is not None
