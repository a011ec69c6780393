"""What a Python user may hand to the model builder: text or syntax trees, checked one by one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, SupportsFloat, cast

from liftgbp.errors import ModelError
from liftgbp.model.ast import (
    And,
    Arithmetic,
    Atom,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Is,
    Logarithm,
    NamedWeight,
    Not,
    Number,
    Or,
    SizeOf,
    Weight,
    WeightedFormula,
)
from liftgbp.model.layout import clean_source
from liftgbp.model.reader import Reader, subtrees
from liftgbp.model.statements import MAX_SIZE
from liftgbp.model.syntax import Node, ParseTree, parse_tree

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


# --- names and sizes


def predicate_name(given: str) -> str:
    """A name made of letters, digits and underscores."""
    if not isinstance(given, str) or not _IDENTIFIER.fullmatch(given):
        raise ModelError(f"a name consists of letters, digits and underscores, got {given!r}")
    return given


def sort_name(given: str) -> str:
    """A name that starts with a lower-case letter."""
    if predicate_name(given)[0].isupper():
        raise ModelError(f"the name of a sort starts with a lower-case letter, got {given}")
    return given


def names(given: Iterable[str | int], what: str) -> tuple[str, ...]:
    """The names of constants or values; whole numbers are names, too."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ModelError(f"{what} must be a list of names, got {given!r}")
    listed: dict[str, None] = {}  # keeps the order
    for item in given:
        name = str(item) if isinstance(item, Integral) else item
        if not isinstance(name, str) or not name or not name.isprintable():
            raise ModelError(f"{name!r} among the {what} is not a name")
        if name in listed:
            raise ModelError(f"{name} is listed twice among the {what}")
        listed[name] = None
    return tuple(listed)


def sort_size(sort: str, given: SupportsFloat) -> int:
    """A whole number of at least one."""
    value = _as_float(given)
    if value is not None and 1 <= value <= MAX_SIZE:
        whole = int(cast(Any, given))  # not through the float, which rounds large numbers
        if whole == given:
            return whole
    raise ModelError(f"the size of {sort} must be a whole number from 1 to 1e100, got {given!r}")


def _as_float(given: object) -> float | None:
    """The value of a number of whatever type."""
    if not isinstance(given, Real) or isinstance(given, bool):
        return None
    try:
        return float(given)
    except OverflowError:
        return math.inf


# --- weights


def weight(given: SupportsFloat | str | Weight) -> Weight:
    """A number, a text such as `1.4/|person|` or `2*$alpha`, or a tree."""
    if isinstance(given, str):
        reader, node = _parsed(given, "weight", "weight")
        return reader.weight(node)
    if isinstance(given, Number | SizeOf | NamedWeight | Arithmetic | Logarithm):
        return given
    value = _as_float(given)
    if value is None:
        raise ModelError(f"a weight is a number or a text such as '1.4/|person|', got {given!r}")
    if not math.isfinite(value):
        raise ModelError(f"{value} is not a finite number; state what must hold with hard(...)")
    return Number(value)


def potential(given: SupportsFloat | str | Weight) -> Weight:
    """A weight that is not negative, as far as one can tell from its literal numbers."""
    if isinstance(given, str):
        reader, node = _parsed(given, "potential", "weight")
        return reader.potential(node)
    result = weight(given)
    if isinstance(result, Number) and result.value < 0:
        raise ModelError(f"a potential cannot be negative, got {given!r}")
    return result


# --- formulas


def atom(given: str | Atom) -> Atom:
    """An atom from text or as it is."""
    if isinstance(given, Atom):
        return given
    if not isinstance(given, str):
        raise ModelError(f"an atom is a text such as 'smokes(x)' or an Atom, got {given!r}")
    reader, node = _parsed(given, "atom", "call")
    reader.refuse_expanded(cast(ParseTree, node))
    return reader.atom(cast(ParseTree, node))


def formula(given: str | Formula | Atom) -> WeightedFormula:
    """A hard formula from text, which may end in `| restrictions`, or from a tree."""
    if isinstance(given, Atom):
        return WeightedFormula(Is(given), None)
    if isinstance(given, Is | Equal | Not | And | Or | Implies | Iff | Exists | Forall):
        return WeightedFormula(given, None)
    if not isinstance(given, str):
        raise ModelError(f"a formula is a text or a syntax tree, got {given!r}")
    reader, node = _parsed(given, "formula", "formula_text")
    tree, *conditions = subtrees(cast(ParseTree, node))
    return WeightedFormula(
        reader.formula(tree),
        None,
        *reader.restrictions(*conditions),
        reader.expanded(tree),
        reader.span(node),
    )


def conditions(
    given: str | Equal | Not | Iterable[Equal | Not],
) -> tuple[tuple[Equal | Not, ...], bool]:
    """Restrictions from text such as `x != y, distinct`, or as trees."""
    if isinstance(given, str):
        if not given.strip():
            return (), False
        reader, node = _parsed(given, "where", "conditions")
        return reader.restrictions(cast(ParseTree, node))
    restrictions = tuple(given) if isinstance(given, Iterable) else (given,)
    for restriction in restrictions:
        compared = restriction.body if isinstance(restriction, Not) else restriction
        if not isinstance(compared, Equal):
            raise ModelError(f"a restriction is Equal(...) or Not(Equal(...)), got {restriction!r}")
    return restrictions, False


def _parsed(text: str, what: str, start: str) -> tuple[Reader, Node]:
    source = clean_source(f"<{what}>", text)
    reader = Reader(source)
    node = parse_tree(source, start)
    reader.check_nesting(node)
    return reader, node
