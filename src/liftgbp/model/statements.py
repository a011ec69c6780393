"""From parse trees to statements: declarations, includes and rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeAlias, cast

from lark import Token, Tree

from liftgbp.errors import Source, Span
from liftgbp.model.ast import (
    BOOLEAN,
    NamedWeight,
    Predicate,
    Rule,
    SizeOf,
    Sort,
    TableParfactor,
    WeightedFormula,
    evaluate_weight,
    weight_parts,
)
from liftgbp.model.syntax import Node, ParseTree, parse_tree
from liftgbp.model.tree_reader import (
    Reader,
    call_arguments,
    first_token,
    has_parentheses,
    is_variable,
    plain_name,
    subtrees,
    tokens,
    weight_name,
)

MAX_NAMED = 1_000_000
MAX_SIZE = 1e100
NEEDS_WEIGHT = "a formula needs a weight in front or a period at its end"


@dataclass(frozen=True, slots=True)
class Include:
    """Another file, whose statements are included here."""

    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class WeightDeclaration:
    """A named weight with its value."""

    name: str
    value: float
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BareAtom:
    """An atom on its own, without the weight of a rule or the sorts of a declaration."""

    predicate: str
    capitalised: bool  # whether some argument starts with a capital letter
    span: Span


@dataclass(frozen=True, slots=True)
class ExactlyOne:
    """The predicate holds for exactly one choice of its marked arguments, as in `p(x, y!)`.

    `predicate` is what the statement declares, unless another statement declares it.
    """

    predicate: Predicate
    marked: tuple[int, ...]


Statement: TypeAlias = WeightDeclaration | Sort | Predicate | Rule | BareAtom | ExactlyOne


def read_statements(source: Source) -> Iterator[Statement | Include]:
    """The statements of one source, in its order."""
    reader = Reader(source)
    for tree in subtrees(cast(ParseTree, parse_tree(source, "model"))):
        reader.check_nesting(tree)
        statement = _statement(reader, tree)
        marks = list(tree.find_data("unique"))
        if marks and isinstance(statement, Predicate):
            yield _exactly_one(reader, tree, statement, marks)
        else:
            yield statement


def _statement(reader: Reader, tree: ParseTree) -> Statement | Include:
    match tree.data:
        case "include":
            return Include(plain_name(tokens(tree)[0]), reader.span(tree))
        case "named_weight":
            return _weight_declaration(reader, tree)
        case "sort":
            return _sort_of_constants(reader, tree)
        case "sort_size":
            return _sort_of_size(reader, tree, *tree.children)
        case "closed":
            declared = _declared_predicate(reader, subtrees(tree)[0])
            return replace(declared, closed=True, span=reader.span(tree))
        case "many_valued":
            return _declared_predicate(reader, tree)
        case "table":
            return _table(reader, tree)
    return _rule_or_declaration(reader, tree)


# --- named weights


def _weight_declaration(reader: Reader, tree: ParseTree) -> WeightDeclaration:
    token, expression = tree.children
    name = weight_name(cast(Token, token))
    weight = reader.weight(expression)
    for part in weight_parts(weight):
        if isinstance(part, SizeOf | NamedWeight):
            raise reader.error(
                f"the value of ${name} must be a number, without domain sizes and named weights",
                part.span,
            )
    return WeightDeclaration(name, evaluate_weight(weight, {}), reader.span(tree))


# --- sorts


def _sort_of_constants(reader: Reader, tree: ParseTree) -> Sort:
    operand, members = tree.children
    for token in tokens(cast(ParseTree, members)):
        if is_variable(token):
            capital = token[0].upper() + token[1:]
            raise reader.problem(
                f'formulas would read {token} as a variable; write {capital} or "{token}"', token
            )
    constants = tuple(_members(reader, cast(ParseTree, members)))
    return Sort(_sort_name(reader, operand), constants, span=reader.span(tree))


def _sort_of_size(reader: Reader, tree: ParseTree, operand: Node, size: Node) -> Sort:
    name = _sort_name(reader, operand)
    number = _whole_number(size) if isinstance(size, Token) else None
    if not number:
        text = reader.span(size).text
        raise reader.problem(
            f"the size of {name} must be a whole number from 1 to 1e100, got {text}", size
        )
    return Sort(name, size=number, span=reader.span(tree))


def _sort_name(reader: Reader, operand: Node) -> str:
    name = first_token(operand)
    if not is_variable(name) or has_parentheses(operand):
        raise reader.problem(
            "a sort has a plain name that starts with a lower-case letter", operand
        )
    return str(name)


def _members(reader: Reader, tree: ParseTree) -> dict[str, None]:
    """The listed names, with `1, ..., 4` written out; a dictionary keeps their order."""
    names: dict[str, None] = {}
    listed = tokens(tree)
    for index, token in enumerate(listed):
        if token.type == "ELLIPSIS":
            _check_step(reader, token, listed[:index])
            found = _left_out(reader, token, listed[max(0, index - 1)], listed[index + 1 :])
        else:
            found = [plain_name(token)]
        for name in found:
            if name in names:
                raise reader.problem(f"{name} is listed twice", token)
            names[name] = None
    return names


def _check_step(reader: Reader, dots: Token, before: list[Token]) -> None:
    """Refuses `1, 3, ...`; the number that ends an earlier range does not count."""
    if len(before) < 2 or [token.type for token in before[-3:-2]] == ["ELLIPSIS"]:
        return
    one, other = map(_whole_number, before[-2:])
    if one is not None and other is not None and other != one + 1:
        raise reader.problem(
            f"... counts in steps of one: it continues {one}, {one + 1} but not {one}, {other}",
            dots,
        )


def _left_out(reader: Reader, dots: Token, before: Token, after: list[Token]) -> list[str]:
    first = _whole_number(before)
    last = _whole_number(after[0]) if after else None
    if first is None or last is None or first >= last:
        raise reader.problem("... goes between a whole number and a larger one", dots)
    if last - first >= MAX_NAMED:
        raise reader.problem(
            f"a range can name at most {MAX_NAMED} objects; declare unnamed objects by the size of "
            "their sort, as in person = 1000",
            dots,
        )
    return [str(number) for number in range(first + 1, last)]


def _whole_number(token: Token) -> int | None:
    if token.type != "NUMBER":
        return None
    if token == "0":
        return 0
    # The bound is checked first: decimals with absurd exponents must not become integers.
    if not 1 <= float(token) <= MAX_SIZE:
        return None
    exact = Decimal(token)
    return int(exact) if exact == int(exact) else None


# --- predicates


def _declared_predicate(reader: Reader, tree: ParseTree) -> Predicate:
    if tree.data == "call":
        return _predicate(reader, tree, tree, BOOLEAN)
    call, members = subtrees(tree)
    return _predicate(reader, tree, call, tuple(_members(reader, members)))


def _predicate(
    reader: Reader, tree: ParseTree, call: ParseTree, values: tuple[str, ...]
) -> Predicate:
    if not _could_be_declared(call):
        raise reader.problem(
            "a predicate is declared with sorts, which start with a lower-case letter", call
        )
    sorts = tuple(str(tokens(argument)[0]) for argument in call_arguments(call))
    return Predicate(str(call.children[0]), sorts, values, span=reader.span(tree))


def _exactly_one(
    reader: Reader, tree: ParseTree, predicate: Predicate, marks: list[ParseTree]
) -> ExactlyOne:
    if predicate.values != BOOLEAN:
        raise reader.problem(
            "marks of uniqueness are for predicates that are false or true; this one has exactly "
            "one value for each atom anyway",
            marks[0],
        )
    call = next(tree.find_data("call"))
    kinds = [argument.data for argument in call_arguments(call)]
    return ExactlyOne(predicate, tuple(i for i, kind in enumerate(kinds) if kind == "unique"))


def _could_be_declared(call: ParseTree) -> bool:
    # The first token of an argument `+x` is not a variable.
    return all(is_variable(tokens(argument)[0]) for argument in call_arguments(call))


# --- rules


def _table(reader: Reader, tree: ParseTree) -> TableParfactor:
    reader.refuse_expanded(tree)
    atoms, *conditions, potentials = subtrees(tree)
    restrictions, distinct = reader.restrictions(*conditions)
    return TableParfactor(
        tuple(map(reader.atom, subtrees(atoms))),
        tuple(map(reader.potential, potentials.children)),
        restrictions,
        distinct,
        reader.span(tree),
    )


def _rule_or_declaration(reader: Reader, tree: ParseTree) -> Statement:
    weight, formula, *rest = cast("list[Node | None]", tree.children)
    period = next((node for node in rest if isinstance(node, Token)), None)
    restriction = next((node for node in rest if isinstance(node, Tree)), None)
    if weight is None and not rest:
        return _declaration(reader, tree, cast(ParseTree, formula))
    if weight is None and period is None:
        raise reader.problem(NEEDS_WEIGHT, tree)
    if weight is not None and period is not None:
        raise reader.problem(
            "a formula with a weight is not hard; drop its weight or this period", period
        )
    restrictions, distinct = reader.restrictions(restriction)
    return WeightedFormula(
        reader.formula(cast(ParseTree, formula)),
        None if weight is None else reader.weight(weight),
        restrictions,
        distinct,
        reader.expanded(tree),
        reader.span(tree),
    )


def _declaration(
    reader: Reader, tree: ParseTree, formula: ParseTree
) -> Sort | Predicate | BareAtom:
    match formula.data, formula.children:
        case "truth", [Tree() as call] if _could_be_declared(call):
            return _predicate(reader, tree, call, BOOLEAN)
        case "truth", [Tree() as call]:
            return _bare_atom(reader, call)
        case "comparison", [operand, Token("EQUAL"), Token("NUMBER") as size]:
            return _sort_of_size(reader, tree, operand, size)
    raise reader.problem(NEEDS_WEIGHT, tree)


def _bare_atom(reader: Reader, call: ParseTree) -> BareAtom:
    terms = (tokens(argument)[-1] for argument in call_arguments(call))
    capitalised = any(term.type == "NAME" and term[0].isupper() for term in terms)
    return BareAtom(str(call.children[0]), capitalised, reader.span(call))
