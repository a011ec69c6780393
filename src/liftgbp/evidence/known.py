"""Numbers of unnamed objects about which the same is known, from texts such as `smokes(x)=3e5`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import cast

from liftgbp.errors import EvidenceError, Span
from liftgbp.evidence.evidence import Known
from liftgbp.evidence.statements import unknown_predicate
from liftgbp.model.ast import And, Atom, Formula, Is, Not, Predicate, Variable
from liftgbp.model.layout import clean_source
from liftgbp.model.model import Model
from liftgbp.model.reader import Reader, subtrees
from liftgbp.model.syntax import ParseTree, parse_tree

MAX_COUNT = 10**100
_SHAPE = "what is known is written like smokes(x) ^ !cancer(x) = 1000"


def parse_known(model: Model, text: str) -> Known:
    """How many objects without names have these values.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("smokes(person) \\n mood(person) : {low, high}")
    >>> parse_known(model, "!smokes(x) ^ mood(x) = high = 3e5")
    Known(sort='person', values=(('smokes', 0), ('mood', 1)), count=300000)
    """
    formula, equals, count = text.rpartition("=")
    if not equals:
        raise EvidenceError(f"{text} says not how many; {_SHAPE}")
    claims = dict[str, int]()
    variables = set[tuple[str, str]]()
    for atom, value, span in _claims(_formula(formula)):
        predicate = _unary(model, atom, span)
        number = _value_number(predicate, value, span)
        if claims.setdefault(predicate.name, number) != number:
            raise EvidenceError(f"{predicate.name} is given two values", span)
        variables.add((_variable(atom, span), predicate.sorts[0]))
    if len(variables) > 1:
        pairs = ", ".join(f"{name} is a {sort}" for name, sort in sorted(variables))
        raise EvidenceError(f"{formula.strip()} speaks of several objects ({pairs}); {_SHAPE}")
    ((_, sort),) = variables
    return Known(sort, tuple(claims.items()), _count(text, count))


def _formula(text: str) -> Formula:
    source = clean_source("<known>", text)
    reader = Reader(source, EvidenceError)
    tree = cast(ParseTree, parse_tree(source, "formula_text", EvidenceError))
    reader.check_nesting(tree)
    reader.refuse_expanded(tree)
    formula, *restrictions = subtrees(tree)
    if restrictions:
        raise reader.problem(f"there are no restrictions here; {_SHAPE}", restrictions[0])
    return reader.formula(formula)


def _claims(formula: Formula) -> Iterator[tuple[Atom, str, Span | None]]:
    match formula:
        case And(parts):
            for part in parts:
                yield from _claims(part)
        case Is(atom, value, span):
            yield atom, value, span
        case Not(Is(atom, "true", span)):
            yield atom, "false", span
        case _:
            raise EvidenceError(f"only values of atoms and ^ can stand here; {_SHAPE}")


def _unary(model: Model, atom: Atom, span: Span | None) -> Predicate:
    predicate = model.predicates.get(atom.predicate)
    if predicate is None:
        raise EvidenceError(unknown_predicate(model, atom.predicate), span)
    if len(predicate.sorts) != 1 or len(atom.args) != 1:
        raise EvidenceError(
            f"{predicate} cannot be known of unnamed objects, only predicates with one argument",
            span,
        )
    return predicate


def _value_number(predicate: Predicate, value: str, span: Span | None) -> int:
    if value not in predicate.values:
        known = ", ".join(predicate.values)
        raise EvidenceError(f"{predicate.name} takes the values {known}", span)
    return predicate.values.index(value)


def _variable(atom: Atom, span: Span | None) -> str:
    (term,) = atom.args
    if not isinstance(term, Variable):
        raise EvidenceError(
            f"{term} is one object; state facts about it in a file, and write a variable here", span
        )
    return term.name


def _count(text: str, written: str) -> int:
    try:
        count = Decimal(written.strip())
        # The rough size comes first: decimals with absurd exponents must not be written out.
        if 0 <= count <= MAX_COUNT and count == int(count):
            return int(count)
    except InvalidOperation:
        pass
    raise EvidenceError(
        f"the number of objects must be a whole number, got {written.strip() or 'none'} in {text}"
    )
