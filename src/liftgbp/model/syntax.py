"""From text to parse trees; the grammar itself is the file grammar.lark."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
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
        cache=_kept_tables(),
    )


def _kept_tables() -> str | bool:
    """Where the tables of the parser are kept, as they take longer to compute than a small model.

    They lie beside the byte code and follow its rules: written where that is allowed and possible,
    and computed anew for another grammar, Python or lark, or when the file is damaged.
    """
    if sys.dont_write_bytecode:
        return False
    return str(Path(cache_from_source(__file__)).with_suffix(".lark"))


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
