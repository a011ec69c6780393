"""From parse trees to statements: declarations, includes and rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product
from typing import TypeAlias, cast

from lark import Token, Tree

from liftgbp.model import ast
from liftgbp.model.definite_clauses import DefiniteClause
from liftgbp.model.function_terms import Definitions
from liftgbp.model.syntax import Node, ParseTree, parse_tree
from liftgbp.model.tree_reader import (
    TreeReader,
    call_arguments,
    first_token,
    has_parentheses,
    is_lower,
    plain_name,
    subtrees,
    tokens,
    weight_name,
)
from liftgbp.support.errors import Source, Span
from liftgbp.support.limits import checkpoint

MAX_NAMED = 1_000_000
MAX_SIZE = 1e100
MAX_STARRED = 6
"""A formula with more starred atoms than this would stand for over a hundred formulas."""

NEEDS_WEIGHT = "a formula needs a weight in front or a period at its end"
NO_WEIGHT = ast.OpenWeight("")  # named when the model is put together


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
    """An atom on its own: a declaration with sorts, or a formula without a weight.

    Other statements decide. `declared` is `None` if the arguments are not the names of sorts.
    """

    formula: ast.WeightedFormula
    declared: ast.Predicate | None
    lower: bool  # whether all arguments start with lower-case letters, as sorts mostly do


@dataclass(frozen=True, slots=True)
class ExactlyOne:
    """The predicate holds for exactly one choice of its marked arguments, as in `p(x, y!)`.

    `predicate` is what the statement declares, unless another statement declares it.
    """

    predicate: ast.Predicate
    marked: tuple[int, ...]


Statement: TypeAlias = (
    WeightDeclaration
    | ast.Sort
    | ast.Predicate
    | ast.Rule
    | ast.Demand
    | BareAtom
    | ExactlyOne
    | DefiniteClause
)


def read_statements(source: Source) -> Iterator[Statement | Include]:
    """The statements of one source, in its order."""
    model = cast(ParseTree, parse_tree(source, "model"))
    reader = TreeReader(source, marked="?" in source.text and _has_marks(model))
    for tree in subtrees(model):
        checkpoint()
        reader.check_nesting(tree)
        several = {"predicate_weights": _predicate_weights, "clause": _definite_clause}
        if tree.data in several:
            yield from several[tree.data](reader, tree)
            continue
        for version in _signs_written_out(reader, tree):
            statement = _statement(reader, version)
            marks = list(tree.find_data("unique"))
            declared = statement.declared if isinstance(statement, BareAtom) else statement
            if marks and isinstance(declared, ast.Predicate):
                yield _exactly_one(reader, tree, declared, marks)
            else:
                yield statement


def _has_marks(model: ParseTree) -> bool:
    """Whether some variable is written `?x`."""
    return any(
        isinstance(child, Token) and child.type == "VARIABLE"
        for tree in model.iter_subtrees()
        for child in tree.children
    )


def _statement(reader: TreeReader, tree: ParseTree) -> Statement | Include:
    match tree.data:
        case "include":
            return Include(plain_name(tokens(tree)[0]), reader.span(tree))
        case "directive" | "definition" | "utility":
            raise _refusal(reader, tree)
        case "named_weight":
            return _weight_declaration(reader, tree)
        case "sort":
            return _sort_of_constants(reader, tree)
        case "closed":
            declared = _declared_predicate(reader, subtrees(tree)[0])
            return replace(declared, closed=True, span=reader.span(tree))
        case "many_valued":
            return _declared_predicate(reader, tree)
        case "function":
            return _function(reader, tree)
        case "demand":
            return _demand(reader, tree)
        case "data_weight":
            return _weight_from_data(reader, tree)
        case "table":
            return _table(reader, tree)
    return _rule_or_declaration(reader, tree)


# --- statements of other tools

_DIRECTIVES = {
    "fuzzy": "atoms are true or false, not true to a degree",
    "unique": "drop the line, so that each order of the constants has a weight of its own, or "
    "write out the formulas that the template stands for",
}


def _refusal(reader: TreeReader, tree: ParseTree) -> Exception:
    if tree.data == "utility":
        return reader.problem(
            "a weight with a utility (weight:utility) is not supported: decisions are not computed "
            "here; drop the utility to keep the formula",
            tree,
        )
    if tree.data == "definition":
        return reader.problem(
            "definitions with := are not supported: write comparisons in the formulas themselves "
            "(x < y, x = y, t+1), and list the atoms that another definition would compute as "
            "evidence about a closed predicate",
            tree,
        )
    written = tokens(tree)[0]
    name = cast("re.Match[str]", re.match(r"#(\w+)", written))[1]
    reason = _DIRECTIVES.get(name.lower(), "drop the line if the model does not depend on it")
    return reader.problem(f"#{name} is not supported: {reason}", written)


# --- named weights


def _weight_declaration(reader: TreeReader, tree: ParseTree) -> WeightDeclaration:
    token, expression = tree.children
    name = ast.own_weight(weight_name(cast(Token, token)))
    weight = reader.weight(expression)
    for part in ast.weight_parts(weight):
        if isinstance(part, ast.SizeOf | ast.NamedWeight):
            raise reader.error(
                f"the value of ${name} must be a number, without domain sizes and named weights",
                part.span,
            )
    return WeightDeclaration(name, ast.evaluate_weight(weight, {}), reader.span(tree))


# --- sorts


def _sort_of_constants(reader: TreeReader, tree: ParseTree) -> ast.Sort:
    operand, members = tree.children
    for token in tokens(cast(ParseTree, members)):
        if reader.is_variable(token):
            capital = token[0].upper() + token[1:]
            raise reader.problem(
                f'formulas would read {token} as a variable; write {capital} or "{token}"', token
            )
    constants = tuple(_members(reader, cast(ParseTree, members)))
    return ast.Sort(_sort_name(reader, operand), constants, span=reader.span(tree))


def _sort_of_size(reader: TreeReader, tree: ParseTree, operand: Node, size: Node) -> ast.Sort:
    name = _sort_name(reader, operand)
    number = _whole_number(size) if isinstance(size, Token) else None
    if not number:
        text = reader.span(size).text
        raise reader.problem(
            f"the size of {name} must be a whole number from 1 to 1e100, got {text}", size
        )
    return ast.Sort(name, size=number, span=reader.span(tree))


def _sort_name(reader: TreeReader, operand: Node) -> str:
    name = first_token(operand)
    if name.type != "NAME" or has_parentheses(operand):
        raise reader.problem("a sort has a plain name", operand)
    return str(name)


def _members(reader: TreeReader, tree: ParseTree) -> dict[str, None]:
    """The listed names, with `1, ..., 4` written out; a dictionary keeps their order."""
    names: dict[str, None] = {}
    listed = [_signed(part) if isinstance(part, Tree) else part for part in tree.children]
    for index, token in enumerate(listed):
        checkpoint()
        if token.type == "ELLIPSIS":
            _check_step(reader, token, listed[max(0, index - 3) : index])
            after = listed[index + 1 : index + 2]
            found = _left_out(reader, token, listed[max(0, index - 1)], after)
        else:
            found = [plain_name(token)]
        for name in found:
            if name in names:
                raise reader.problem(f"{name} is listed twice", token)
            names[name] = None
    return names


def _signed(negative: ParseTree) -> Token:
    """A negative number as one token."""
    minus, number = tokens(negative)
    return Token.new_borrow_pos("NUMBER", minus + number, minus)


def _check_step(reader: TreeReader, dots: Token, before: list[Token]) -> None:
    """Refuses `1, 3, ...`; the number that ends an earlier range does not count."""
    if len(before) < 2 or [token.type for token in before[-3:-2]] == ["ELLIPSIS"]:
        return
    one, other = map(_whole_number, before[-2:])
    if one is not None and other is not None and other != one + 1:
        raise reader.problem(
            f"... counts in steps of one: it continues {one}, {one + 1} but not {one}, {other}",
            dots,
        )


def _left_out(reader: TreeReader, dots: Token, before: Token, after: list[Token]) -> list[str]:
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
    if not 1 <= abs(float(token)) <= MAX_SIZE:
        return None
    exact = Decimal(token)
    return int(exact) if exact == int(exact) else None


# --- predicates


def _declared_predicate(reader: TreeReader, tree: ParseTree) -> ast.Predicate:
    if tree.data in ("call", "starred"):
        return _predicate(reader, tree, next(tree.find_data("call")), ast.BOOLEAN)
    call, members = subtrees(tree)
    return _predicate(reader, tree, call, tuple(_members(reader, members)))


def _predicate(
    reader: TreeReader, tree: ParseTree, call: ParseTree, values: tuple[str, ...]
) -> ast.Predicate:
    if not _could_be_declared(call):
        raise reader.problem("a predicate is declared with the names of sorts", call)
    sorts = tuple(str(tokens(argument)[0]) for argument in call_arguments(call))
    return ast.Predicate(str(call.children[0]), sorts, values, span=reader.span(tree))


def _exactly_one(
    reader: TreeReader, tree: ParseTree, predicate: ast.Predicate, marks: list[ParseTree]
) -> ExactlyOne:
    if predicate.values != ast.BOOLEAN:
        raise reader.problem(
            "marks of uniqueness are for predicates that are false or true; this one has exactly "
            "one value for each atom anyway",
            marks[0],
        )
    call = next(tree.find_data("call"))
    kinds = [argument.data for argument in call_arguments(call)]
    return ExactlyOne(predicate, tuple(i for i, kind in enumerate(kinds) if kind == "unique"))


def _could_be_declared(call: ParseTree) -> bool:
    # The first token of an argument `+x` is not a name.
    first = (argument.children[0] for argument in call_arguments(call))
    return all(isinstance(one, Token) and one.type == "NAME" for one in first)


def _function(reader: TreeReader, tree: ParseTree) -> ast.Predicate:
    """A function, as a relation with its value as the last argument."""
    result, name, arguments = tree.children
    if not _could_be_declared(tree):
        raise reader.problem("a function is declared with the names of sorts", arguments)
    sorts = tuple(str(tokens(argument)[0]) for argument in call_arguments(tree))
    return ast.Predicate(
        str(name), (*sorts, str(result)), closed=True, kind="function", span=reader.span(tree)
    )


def _predicate_weights(reader: TreeReader, tree: ParseTree) -> Iterator[Statement]:
    """The declaration of a predicate with the potentials of true and of false behind it."""
    call, true, false = tree.children
    predicate = _predicate(reader, tree, cast(ParseTree, call), ast.BOOLEAN)
    atom = ast.Atom(
        predicate.name,
        tuple(ast.Variable(f"x{k + 1}") for k in range(len(predicate.sorts))),
        reader.span(call),
    )
    if isinstance(false, Tree):
        raise reader.problem(
            "a potential cannot be negative, as no probabilities belong to it; write the "
            "quantifier (EXIST y ...) that this predicate stands for",
            false,
        )
    potentials = (reader.potential(false), reader.potential(true))
    yield predicate
    yield ast.TableParfactor((atom,), potentials, span=reader.span(tree))


# --- rules


def _table(reader: TreeReader, tree: ParseTree) -> ast.TableParfactor:
    reader.refuse_expanded(tree)
    atoms, *conditions, potentials = subtrees(tree)
    restrictions, distinct = reader.restrictions(*conditions)
    return ast.TableParfactor(
        tuple(map(reader.atom, subtrees(atoms))),
        tuple(map(reader.potential, potentials.children)),
        restrictions,
        distinct,
        reader.span(tree),
    )


def _rule_or_declaration(reader: TreeReader, tree: ParseTree) -> Statement:
    weight, formula, *rest = cast("list[Node | None]", tree.children)
    period = next((node for node in rest if isinstance(node, Token)), None)
    restriction = next((node for node in rest if isinstance(node, Tree)), None)
    if weight is None and not rest:
        declaration = _declaration(reader, tree, cast(ParseTree, formula))
        if declaration is not None:
            return declaration
    if weight is not None and period is not None:
        raise reader.problem(
            "a formula with a weight is not hard; drop its weight or this period", period
        )
    never = weight is not None and reader.rules_out(weight)
    if never or period is not None:
        stated = None
    else:
        stated = NO_WEIGHT if weight is None else reader.weight(weight)
    return ast.WeightedFormula(
        reader.rule_formula(
            cast(ParseTree, formula), _definitions(tree), hard=stated is None, negated=never
        ),
        stated,
        *reader.restrictions(restriction),
        reader.expanded(tree),
        reader.span(tree),
    )


def _definite_clause(reader: TreeReader, tree: ParseTree) -> Iterator[Statement]:
    """The formula `body => head`, and the clause, which says that nothing else makes it true."""
    weight, *rest = cast("list[Node | None]", tree.children)
    call, body_tree, *period = cast("list[Node]", rest)
    if weight is not None and period:
        raise reader.problem(
            "a formula with a weight is not hard; drop its weight or this period", period[0]
        )
    definitions = _definitions(tree)
    head = reader.atom(cast(ParseTree, call), definitions)
    head_terms = tuple(definitions.found)
    body = reader.formula(cast(ParseTree, body_tree), definitions)
    stated = None if period else NO_WEIGHT if weight is None else reader.weight(weight)
    yield ast.WeightedFormula(
        definitions.rule(
            ast.Implies(body, ast.Is(head, span=reader.span(call))), hard=stated is None
        ),
        stated,
        expanded=reader.expanded(tree),
        span=reader.span(tree),
    )
    body_terms = tuple(definitions.found[len(head_terms) :])
    yield DefiniteClause(head, head_terms, body, body_terms, reader.span(tree))


def _demand(reader: TreeReader, tree: ParseTree) -> ast.Demand:
    """The probability that a formula must have."""
    reader.refuse_expanded(tree)
    formula, *given = subtrees(tree)
    number = tokens(tree)[-1]
    if not 0 < float(number) < 1:
        raise reader.problem(
            "a probability lies between 0 and 1; what must hold is a formula with a period", number
        )
    return ast.Demand(
        reader.formula(formula),
        reader.formula(given[0]) if given else None,
        float(number),
        reader.span(tree),
    )


def _weight_from_data(reader: TreeReader, tree: ParseTree) -> ast.WeightedFormula:
    """A formula whose groundings have the weight that a variable stands for."""
    weight, formula, *restriction = subtrees(tree)
    if has_parentheses(weight) or not reader.is_variable(first_token(weight)):
        raise reader.problem(
            "what stands before this colon must be a variable of the formula, which is the weight "
            "of each grounding, or a predicate before its values {a, b}",
            weight,
        )
    return ast.WeightedFormula(
        reader.rule_formula(formula, _definitions(tree), hard=False),
        ast.DataWeight(plain_name(first_token(weight))),
        *reader.restrictions(*restriction),
        reader.expanded(tree),
        reader.span(tree),
    )


def _declaration(
    reader: TreeReader, tree: ParseTree, formula: ParseTree
) -> ast.Sort | ast.Predicate | BareAtom | None:
    """What a formula without weight, period and restriction declares, or may declare."""
    match formula.data, formula.children:
        case "truth", [Tree() as call]:
            return _bare_atom(reader, tree, call)
        case "starred", [*_, Tree() as call] if _could_be_declared(call):
            return replace(_declared_predicate(reader, formula), closed=True)
        case "comparison", [operand, Token("EQUAL"), size] if not has_parentheses(
            operand
        ) and _is_number(size):
            return _sort_of_size(reader, tree, operand, size)
    return None


def _is_number(node: Node) -> bool:
    return node.data == "negative" if isinstance(node, Tree) else node.type == "NUMBER"


def _definitions(tree: ParseTree) -> Definitions:
    """What collects the definitions that a statement needs; its names are taken."""
    return Definitions(
        {str(token).lstrip("?") for part in tree.iter_subtrees() for token in tokens(part)}
    )


def _bare_atom(reader: TreeReader, tree: ParseTree, call: ParseTree) -> ast.Predicate | BareAtom:
    names = [first_token(argument.children[0]) for argument in call_arguments(call)]
    declared = None
    if _could_be_declared(call):
        declared = _predicate(reader, tree, call, ast.BOOLEAN)
        if not names or list(call.find_data("unique")):
            return declared
    definitions = _definitions(tree)
    atom = ast.Is(reader.atom(call, definitions), span=reader.span(call))
    return BareAtom(
        ast.WeightedFormula(
            definitions.rule(atom, hard=False),
            NO_WEIGHT,
            expanded=reader.expanded(tree),
            span=reader.span(tree),
        ),
        declared,
        all(map(is_lower, names)),
    )


def _signs_written_out(reader: TreeReader, tree: ParseTree) -> Iterator[ParseTree]:
    """One tree for each choice of signs for the starred atoms of a formula without a weight."""
    formula = tree.children[1] if tree.data == "rule" else None
    starred = list(tree.find_data("starred"))
    if not isinstance(formula, Tree) or not starred or formula.data == "starred":
        yield tree
        return
    if tree.children[0] is not None or len(tree.children) > 2:
        raise reader.problem(
            "stars stand for both signs of atoms, in formulas without a weight", starred[0]
        )
    if len(starred) > MAX_STARRED:
        raise reader.problem(f"a formula can have at most {MAX_STARRED} starred atoms", tree)
    for signs in product((True, False), repeat=len(starred)):
        chosen = {id(atom): sign for atom, sign in zip(starred, signs, strict=True)}
        yield _with_signs(tree, chosen)


def _with_signs(node: ParseTree, signs: dict[int, bool]) -> ParseTree:
    if id(node) in signs:
        atom: ParseTree = Tree("truth", [*subtrees(node)], node.meta)
        return atom if signs[id(node)] else Tree("negation", [atom], node.meta)
    children = [
        _with_signs(child, signs) if isinstance(child, Tree) else child for child in node.children
    ]
    return Tree(node.data, children, node.meta)
