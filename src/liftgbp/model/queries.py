"""Queries checked against a model: what their terms are, and whether the model knows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from liftgbp.errors import ModelError, QueryError, Span
from liftgbp.model.assemble import resolved_formula
from liftgbp.model.ast import (
    And,
    Constant,
    Equal,
    Formula,
    Is,
    Not,
    Query,
    Term,
    rule_atoms,
    subformulas,
)
from liftgbp.model.model import Model
from liftgbp.model.scopes import constant_sorts, free_variables, term_sorts

MOST_NAMED = 5
"""At most this many objects are named in a message."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The sorts of a query's terms, its variables, and its constants with their sorts.

    In `query`, `weather = sunny` tests a value if weather is a predicate.
    """

    query: Query
    sorts: dict[Term, str]
    variables: tuple[str, ...]
    constants: tuple[tuple[str, str], ...]


def checked_query(asked: Query, model: Model) -> QueryTerms:
    """The terms of a query, once its atoms, its sorts and its constants fit the model."""
    query = _resolved(asked, model)
    rule = query.rule
    for atom in rule_atoms(rule):
        model.check_atom(atom, QueryError)
    try:
        for formula in (query.formula, query.condition):
            _check_values(formula, model)
        sorts = term_sorts(rule, model.predicates)
        constants = tuple(dict.fromkeys(constant_sorts(rule, model.predicates)))
    except ModelError as error:
        raise QueryError(error.message, error.span) from None
    for sort, constant in constants:
        _check_constant(query, model, sort, constant)
    return QueryTerms(query, sorts, tuple(free_variables(rule)), constants)


def _resolved(query: Query, model: Model) -> Query:
    propositions = frozenset(p.name for p in model.predicates.values() if not p.sorts)
    restrictions: list[Equal | Not] = []
    conditions = (
        [] if query.condition is None else [resolved_formula(query.condition, propositions)]
    )
    for restriction in query.restrictions:
        found = resolved_formula(restriction, propositions)
        if found == restriction:
            restrictions.append(restriction)
        else:
            conditions.append(found)
    formula = query.formula
    return replace(
        query,
        restrictions=tuple(restrictions),
        formula=None if formula is None else resolved_formula(formula, propositions),
        condition=_all_of(conditions),
    )


def _all_of(formulas: list[Formula]) -> Formula | None:
    if len(formulas) < 2:
        return formulas[0] if formulas else None
    return And(tuple(formulas))


def _check_values(formula: Formula | None, model: Model) -> None:
    for part in () if formula is None else subformulas(formula):
        if isinstance(part, Is):
            model.check_value(part)


def _check_constant(query: Query, model: Model, sort: str, constant: str) -> None:
    if constant not in model.object_numbers(sort):
        known = model.constants(sort)
        names = ", ".join(known[:MOST_NAMED]) + (", ..." if len(known) > MOST_NAMED else "")
        raise QueryError(
            f"{sort} has no object named {constant}; "
            + (f"it names {names}" if known else f"declare {sort} = {{{constant}, ...}}"),
            _span_of(query, constant),
        )


def _span_of(query: Query, constant: str) -> Span | None:
    for atom in rule_atoms(query.rule):
        for term in atom.args:
            if isinstance(term, Constant) and term.name == constant:
                return term.span or atom.span
    return None
