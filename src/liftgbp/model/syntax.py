"""From text to parse trees, with errors that point at the text; the grammar is grammar.lark.

Comments become blanks, and so do line breaks inside a statement. Every character keeps its offset,
so that positions found later point into the user's text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, TypeAlias, cast

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from liftgbp.model.ast import is_reserved, reserved_message
from liftgbp.support.errors import InputError, ModelError, QueryError, Source, Span, wrong_type
from liftgbp.support.input_files import read_text
from liftgbp.support.limits import checkpoint

# A string without its end goes to the end of the line, so that no quote inside it is tried again;
# blanks are matched possessively for the same reason: long runs of either would take forever.
_STRING = r'"(?:\\.|[^"\\\n])*+"?'
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*(?s:.*?)\*/|/\*")
_STRINGS = re.compile(_STRING)
_NOT_BREAKS = re.compile(r"[^\n]")

# `v` at the end of a line is an operator unless it is an operand, as in `x != v`; at the beginning
# of a line it is an operator unless it is compared, as in `v != x`.
_CONTINUES_BELOW = re.compile(r'(?:[\^&∧∨,|:=>+\-*/]|(?:^|[\w)"])\s*(?<!\w)(?:v|AND|OR))$')

# `-` and `+` are missing, since a statement may begin with a negative weight; so may a statement
# with a domain size, which is why a bar counts only when no second one closes it. A star before
# a name marks a closed predicate, for no weight is a bare name.
_CONTINUES_ABOVE = re.compile(
    r"\s*(?:[\^&∧∨=,/]|:(?!\s*-?\d)|(?:AND|OR)\s|\*(?!\s*[^\W\d])|!=|<=>|v(?!\w|\s*!?=)|\|(?!\s*\w+\s*\|))"
)


def clean_source(name: str, text: str) -> Source:
    """The source without byte order mark and with `\\n` at the end of each line."""
    if not isinstance(text, str):
        raise wrong_type(name, "text", text)
    return Source(name, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))


def read_source(
    path: Path,
    span: Span | None = None,
    error: type[InputError] = ModelError,
    *,
    regular: bool = False,
    most: int | None = None,
) -> Source:
    """The text of a file; `span` is where the user named it, and `pieces` has the other options."""
    text = read_text(path, regular=regular, most=most, error=error, span=span)
    if "\0" in text:
        raise error(f"cannot read {path}: it is a binary file", span)
    return clean_source(str(path), text)


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
    """The text with blanks instead of comments and, unless `keep_lines`, of line breaks in them."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found == "/*":
            raise error("this comment has no end; close it with */", Span(source, *match.span()))
        if found.startswith('"'):
            return found
        return _NOT_BREAKS.sub(" ", found) if keep_lines else " " * len(found)

    return _STRING_OR_COMMENT.sub(blank, source.text)


# A bar between two atoms can only mean "or", as restrictions compare variables and constants. This
# and the next pattern are compiled when a text has a bar.
_BAR = r"(?:(?<=\))|(?<=\)\s))\|(?=[\s!~¬(]*[^\W\d][\w']*\s*\([^()]*\)(?!\s*(?:!=|=(?!>))))"


_PROBABILITY = r"\s*P\s*\(.*\)\s*=\s*[\d.]"  # here, a bar states a condition


def _bars_between_atoms(text: str) -> str:
    """The text with the sign for "or" instead of a bar between two atoms.

    >>> _bars_between_atoms("0.5 p(x) | !q(x)"), _bars_between_atoms("0.5/|s| p(x) | x != y")
    ('0.5 p(x) ∨ !q(x)', '0.5/|s| p(x) | x != y')
    """
    if "|" not in text:
        return text
    lines = text.split("\n")
    return "\n".join(
        one if re.match(_PROBABILITY, one) else re.sub(_BAR, "∨", one) for one in lines
    )


# --- parse trees


ParseTree: TypeAlias = Tree[Token]
Node: TypeAlias = ParseTree | Token


@cache
def _grammar() -> Lark:
    # Built at first use, since importing the package must stay fast.
    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        parser="lalr",
        start=["model", "query", "formula_text", "weight", "conditions", "call"],
        propagate_positions=True,
        lexer_callbacks=dict.fromkeys(_FREQUENT, _within_limits),
        cache=_cached_tables(),
    )


_FREQUENT = ("NAME", "NUMBER", "LPAR", "RPAR", "NOT", "MINUS")
"""A text with few of these is short, or no model."""


def _within_limits(token: Token) -> Token:
    """The token, unless a limit is exceeded."""
    checkpoint()
    return token


def _cached_tables() -> str | bool:
    """Where the parser's tables are cached, since computing them takes longer than a small model.

    They are stored beside the byte code and follow its rules: written where that is allowed and
    possible, and computed again for another grammar, Python or lark, or if the file is damaged.
    """
    if sys.dont_write_bytecode:
        return False
    return str(Path(cache_from_source(__file__)).with_suffix(".lark"))


def parse_tree(source: Source, start: str, error: type[InputError] = ModelError) -> Node:
    """The parse tree of a text; line breaks matter in models only."""
    text = lay_out(source, error)
    if start != "model":
        text = text.replace("\n", " ")
    if start != "query":
        text = _bars_between_atoms(text)
    try:
        return _grammar().parse(text, start=start)
    except UnexpectedInput as unexpected:
        raise pointed_error(unexpected, source, text, error, _literals()) from None


def _literals() -> dict[str, str]:
    """The text of each terminal that has only one spelling, or one that is ours."""
    return {"_AND": "^"} | {
        terminal.name: terminal.pattern.value
        for terminal in _grammar().terminals
        if isinstance(terminal.pattern, PatternStr)
    }


# --- syntax errors


_OPERATORS = {"_AND", "_OR", "IMPLIES", "IFF"}
_STEPS = {"PLUS", "MINUS", "STEP"}
_COMPARISONS = {"EQUAL", "UNEQUAL", "ORDER"}
_TERMS = {"NAME", "NUMBER", "STRING", "VARIABLE"}
_NUMBERS = {
    *("NUMBER", "NOT_FINITE", "WEIGHT_NAME", "MINUS", "BAR", "LPAR"),
    *("LOG", "DOMAIN_SIZE", "_FLOAT"),
}
_ENDS = {"$END": "the end of the text", "_NEWLINE": "the end of the line"}
_FORMULAS = _TERMS | {"NOT", "_TILDE", "LPAR", "LSQB", "TIMES", "EXIST", "FORALL"}
_NOT_IN_QUERIES = _OPERATORS - {"_AND"} | _FORMULAS - {"NAME", "LPAR"} | _COMPARISONS | _STEPS

# Where all terminals of the first set are possible, the words describe them and those of the second
# set. General words come first, so that specific ones describe only what is left.
_WORDS: tuple[tuple[set[str], set[str], tuple[str, ...]], ...] = (
    (
        {"PARFACTOR"},
        _FORMULAS | _NUMBERS | {"INCLUDE", "_FIXED", "DIRECTIVE", "COLON", "$END"},
        ("a statement",),
    ),
    ({"NOT"}, _FORMULAS | _COMPARISONS | {"COLON"}, ("a formula",)),
    (
        {"IFF"},
        _OPERATORS | _COMPARISONS | _STEPS | {"PERIOD", "COLON", "COMMA", "BAR", "LPAR"},
        ("an operator (^, v, =>, <=>)",),
    ),
    (_TERMS | {"LBRACE"}, {"MINUS"}, ("a name", "a number", "'{'")),
    (_TERMS, {"PLUS", "MINUS", "DISTINCT", "LSQB"}, ("a variable", "a constant")),
    ({"NUMBER", "MINUS"}, _NUMBERS, ("a number",)),
    ({"EQUAL"}, _COMPARISONS | _STEPS | {"LPAR"}, ("'='",)),
    ({"PLUS", "MINUS"}, {"TIMES", "DIVIDE"}, ("an arithmetic operator",)),
    ({"ELLIPSIS"}, _TERMS, ("a name",)),
    ({"NAME"}, {"LPAR"}, ("a name",)),
    ({"NUMBER"}, set(), ("a number",)),
    ({"STRING"}, set(), ("a name in quotes",)),
)

# What people used to other notations write, as a pattern at the place of the error. Patterns that
# only mistakes need are compiled when there is one.
_HINTS = (
    (r"/\\|and\b", "'and' is written ^"),
    (r"(?<=\|)\||\\/|or\b|V\b(?!\()", "'or' is written v"),
    (r"(?<=\bnot )", "'not' is written !"),
    (r"->|→|⇒|(?<=-)>", "'implies' is written =>"),
    (r"<->|↔|⇔", "equivalence is written <=>"),
    (r"(?<==)=", "equality is written ="),
    (r"[≤≥]", "orders are written <= and >="),
    (r"∃", "this quantifier is written EXIST"),
    (r"∀", "this quantifier is written FORALL"),
    (r"\$(?![^\W\d])", "a named weight is written like $alpha"),
    (r"\+(?=\s*[\d.$])", "a positive number is written without +"),
    (r'""', "a name in quotes cannot be empty"),
    (r"in\b", "sorts are declared with predicates, as in smokes(person), not in formulas"),
    (r"'", 'names are quoted with "'),
    (
        r"(?<=\w)[.@#:/](?=\w)|(?<=\w-)[^\W\d]",
        'a name with other characters than letters and digits is quoted, as in "A-1.5"',
    ),
    (r'"(?![^"\n]*")', "the closing quote is missing"),
)

# A bar and the beginning of a condition after it, up to the error.
_CONDITION = r"\|(?:[^|]*,)?\s*(?:[^\W\d]\w*\s*(?:\([^()]*\)\s*)?)?$"
_RESTRICTIONS = "; 'or' is written v, and restrictions such as x != y follow |"

# What looks like the declaration of a predicate or a sort, as a whole statement.
_DECLARATION = r"\s*+(\w++)\s*+(?:\([\w\s,]*+\))?\s*+(?:$|:\s*\{|=\s*[\d{])"


def pointed_error(
    unexpected: UnexpectedInput,
    source: Source,
    text: str,
    error: type[InputError],
    literals: Mapping[str, str],
) -> InputError:
    """The error for a source that was laid out as `text` and did not parse.

    `literals` holds the text of each terminal that has only one spelling.
    """
    unsupported = _unsupported(text, cast(int, unexpected.pos_in_stream))
    if unsupported is not None:
        message, start, end = unsupported
        return error(message, Span(source, start, end))
    reserved = _reserved_name(source, text, cast(int, unexpected.pos_in_stream))
    if reserved is not None:
        return error(reserved_message(reserved.text), reserved)
    token = unexpected.token if isinstance(unexpected, UnexpectedToken) else None
    kind = token.type if token is not None else None
    offset = len(text) if kind == "$END" else cast(int, unexpected.pos_in_stream)
    if kind == "_NEWLINE":
        offset = len(text[:offset].rstrip())
    length = 1 if token is None or kind in _ENDS else len(token)
    found = _ENDS.get(kind or "") or _quoted(source.text[offset : offset + length])
    # Lark attaches its interactive parser to every error that leaves the LALR parser.
    accepted: set[str] = cast(Any, unexpected).interactive_parser.accepts()
    if error is QueryError:
        accepted = accepted - _NOT_IN_QUERIES or accepted
    message = f"expected {_in_words(accepted, literals)}, got {found}"
    hint = _hint(text, offset)
    if not hint and error is not QueryError and _in_condition(text[:offset], accepted):
        hint = _RESTRICTIONS
    message += _still_open(source, text, offset) + hint
    return error(message, Span(source, offset, offset + length))


def _quoted(found: str) -> str:
    """The text in quotes, with escapes for characters that cannot be printed."""
    return f"'{found}'" if found.isprintable() else repr(found)


def _in_words(accepted: set[str], literals: Mapping[str, str]) -> str:
    left = set(accepted)
    phrases: list[str] = []
    for needed, covered, words in _WORDS:
        if needed <= left:
            phrases.extend(words)
            left -= needed | covered
    phrases.extend(sorted(f"'{literals[terminal]}'" for terminal in left & literals.keys()))
    phrases.extend([_ENDS[end] for end in ("_NEWLINE", "$END") if end in left][:1])
    *most, last = phrases or [_ENDS["$END"]]
    return f"{', '.join(most)} or {last}" if most else last


def _still_open(source: Source, text: str, offset: int) -> str:
    """Names a bracket that is still open from an earlier line, since the error is far below it."""
    open_brackets: list[int] = []
    for position, character in enumerate(text[:offset]):
        if character in "([{":
            open_brackets.append(position)
        elif character in ")]}" and open_brackets:
            open_brackets.pop()
    if not open_brackets:
        return ""
    bracket = Span(source, open_brackets[-1], open_brackets[-1] + 1)
    if bracket.line == Span(source, offset, offset).line:
        return ""
    return f"; the '{bracket.text}' of line {bracket.line} is still open"


# Statements of other tools that have no place here, as patterns for a whole statement.
_UNSUPPORTED = (
    (
        r"\s*count\s*\(.*\)\s*=",
        "constraints on counts are not supported, as they are about all atoms of an object at "
        "once; drop the line, or declare p(x, y!) if there is exactly one",
    ),
    (
        r".*\)\s*(?:\*\s*[-(]|\^\s*\d)",
        "numeric terms of hybrid models are not supported: an atom has one of finitely many "
        "values, as in length(wall) : {short, long}",
    ),
    (
        r".*[(,]\s*\[",
        "arithmetic in brackets is not supported but for steps such as [t+1]; list what it "
        "would compute as evidence about a closed predicate, such as sum(x,y,z)",
    ),
)


def _unsupported(text: str, offset: int) -> tuple[str, int, int] | None:
    """What a statement that did not parse is in another tool, and where it begins and ends."""
    start = text.rfind("\n", 0, offset) + 1
    statement = text[start:].split("\n", 1)[0]
    begin = start + len(statement) - len(statement.lstrip())
    for pattern, message in _UNSUPPORTED:
        if re.match(pattern, statement):
            return message, begin, start + len(statement.rstrip())
    return None


def _reserved_name(source: Source, text: str, offset: int) -> Span | None:
    """The first word of the statement at an offset, if it is reserved and seems to be declared."""
    start = text.rfind("\n", 0, offset) + 1
    statement = text[start:].split("\n", 1)[0]
    match = re.match(_DECLARATION, statement)
    if match is None or not is_reserved(match[1]):
        return None
    return Span(source, start + match.start(1), start + match.end(1))


def _in_condition(before: str, accepted: set[str]) -> bool:
    """Whether a restriction was expected or begun where only some terminals were accepted."""
    begun = "EQUAL" in accepted and "IFF" not in accepted
    return ("DISTINCT" in accepted or begun) and bool(re.search(_CONDITION, before))


def _hint(text: str, offset: int) -> str:
    hints = (hint for pattern, hint in _HINTS if re.compile(pattern).match(text, offset))
    return "".join(f"; {hint}" for hint in hints)
