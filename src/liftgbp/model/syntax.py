"""From text to parse trees; the grammar itself is the file grammar.lark."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput
from lark.lexer import PatternStr

from liftgbp.errors import InputError, ModelError, Source
from liftgbp.model.layout import lay_out
from liftgbp.model.syntax_errors import pointed_error

ParseTree: TypeAlias = Tree[Token]
Node: TypeAlias = ParseTree | Token


@cache
def _grammar() -> Lark:
    # Built at the first use: importing the package must stay quick.
    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        parser="lalr",
        start=["model", "query", "formula_text", "weight", "conditions", "call"],
        propagate_positions=True,
    )


def parse_tree(source: Source, start: str, error: type[InputError] = ModelError) -> Node:
    """The parse tree of a text; only models have lines, every other text is a single phrase."""
    text = lay_out(source, error)
    if start != "model":
        text = text.replace("\n", " ")
    try:
        return _grammar().parse(text, start=start)
    except UnexpectedInput as unexpected:
        raise pointed_error(unexpected, source, text, error, _literals()) from None


def _literals() -> dict[str, str]:
    """The text of each terminal that is written in one way only."""
    return {
        terminal.name: terminal.pattern.value
        for terminal in _grammar().terminals
        if isinstance(terminal.pattern, PatternStr)
    }
