"""Where statements end: comments become blanks, and so do line breaks inside a statement.

Every character keeps its offset, so that positions found later point into the user's text.
"""

from __future__ import annotations

import re

from liftgbp.errors import InputError, ModelError, Source, Span, wrong_type

_STRING = r'"(?:\\.|[^"\\\n])*"'
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*(?s:.*?)\*/|/\*")
_STRINGS = re.compile(_STRING)
_NOT_BREAKS = re.compile(r"[^\n]")

# `v` at the end of a line is an operator unless it is itself an operand, as in `x != v`; at the
# beginning of a line it is one unless it is compared, as in `v != x`.
_CONTINUES_BELOW = re.compile(r'(?:[\^,|:=>+\-*/]|(?:^|[\w)"])\s*(?<!\w)v)$')

# `-` and `+` are missing, since a statement may begin with a negative weight; so may a statement
# with a domain size, which is why a bar counts only when no second one closes it. A star before
# a name marks a closed predicate, for no weight is a bare name.
_CONTINUES_ABOVE = re.compile(
    r"\s*(?:[\^=,:/]|\*(?!\s*[^\W\d])|!=|<=>|v(?!\w|\s*!?=)|\|(?!\s*\w+\s*\|))"
)


def clean_source(name: str, text: str) -> Source:
    """The source without byte order mark and with `\\n` at the end of each line."""
    if not isinstance(text, str):
        raise wrong_type(name, "text", text)
    return Source(name, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def lay_out(source: Source, error: type[InputError] = ModelError) -> str:
    r"""The text with one statement per line, comments and all other line breaks blank.

    >>> lay_out(Source("<text>", "p(x) ^ // both\n  q(x)\n\nr(x)"))
    'p(x) ^           q(x)\n r(x)'
    """
    lines = without_comments(source, error).split("\n")
    breaks = [" "] * len(lines)
    above: int | None = None
    open_brackets = 0
    for index, line in enumerate(lines):
        if not line or line.isspace():
            continue
        if above is not None and open_brackets == 0 and _starts_statement(lines[above], line):
            breaks[above] = "\n"
        open_brackets = max(0, open_brackets + _bracket_balance(line))
        above = index
    return "".join(line + end for line, end in zip(lines, breaks, strict=True)).rstrip()


def _starts_statement(above: str, line: str) -> bool:
    return not (_CONTINUES_BELOW.search(above.rstrip()) or _CONTINUES_ABOVE.match(line))


def _bracket_balance(line: str) -> int:
    code = _STRINGS.sub("", line)
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


def without_comments(
    source: Source, error: type[InputError] = ModelError, *, keep_lines: bool = False
) -> str:
    """The text with blanks for comments, and for the line breaks in them unless they are kept."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found == "/*":
            raise error("this comment has no end; close it with */", Span(source, *match.span()))
        if found.startswith('"'):
            return found
        return _NOT_BREAKS.sub(" ", found) if keep_lines else " " * len(found)

    return _STRING_OR_COMMENT.sub(blank, source.text)
