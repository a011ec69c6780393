"""Queries checked against a model: what their terms are, and whether the model knows them."""

from __future__ import annotations

from dataclasses import dataclass

from liftgbp.errors import ModelError, QueryError, Span
from liftgbp.model.ast import Constant, Query, TableParfactor, Term
from liftgbp.model.model import Model
from liftgbp.model.scopes import constant_sorts, free_variables, term_sorts

MOST_NAMED = 5
"""At most this many objects are named in a message."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The sorts of a query's terms, its variables, and its constants with their sorts."""

    sorts: dict[Term, str]
    variables: tuple[str, ...]
    constants: tuple[tuple[str, str], ...]


def checked_query(query: Query, model: Model) -> QueryTerms:
    """The terms of a query, once its atoms, its sorts and its constants fit the model."""
    for atom in (*query.atoms, *query.given):
        model.check_atom(atom, QueryError)
    # A query has the scopes of a table parfactor over its atoms.
    scope = TableParfactor((*query.atoms, *query.given), (), query.restrictions, query.distinct)
    try:
        sorts = term_sorts(scope, model.predicates)
        constants = tuple(dict.fromkeys(constant_sorts(scope, model.predicates)))
    except ModelError as error:
        raise QueryError(error.message, error.span) from None
    for sort, constant in constants:
        _check_constant(query, model, sort, constant)
    return QueryTerms(sorts, tuple(free_variables(scope)), constants)


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
    for atom in (*query.atoms, *query.given):
        for term in atom.args:
            if isinstance(term, Constant) and term.name == constant:
                return term.span or atom.span
    return None
