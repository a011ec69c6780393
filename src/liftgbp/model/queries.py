"""Queries checked against a model: what their terms are, and whether the model knows them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from liftgbp.model import ast
from liftgbp.model.assemble import resolved_formula
from liftgbp.model.model import Model
from liftgbp.model.model_checks import check_value
from liftgbp.model.parser import COUNT, parse_query
from liftgbp.model.scopes import constants_of, free_variables, quantified_variables, term_sorts
from liftgbp.model.syntax import clean_source
from liftgbp.model.writer import atom_text, formula_text
from liftgbp.support.errors import ModelError, QueryError, Span

MOST_NAMED = 5
"""At most this many objects are named in a message."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The sorts of a query's terms, its variables, and its constants with their sorts.

    In `query`, `weather = sunny` tests a value if weather is a predicate.
    """

    query: ast.Query
    sorts: dict[ast.Term, str]
    variables: tuple[str, ...]
    constants: tuple[tuple[str, str], ...]


# --- counts

# Compiled when a count is first asked for.
_COUNT = (
    r"(?s)\s*#\s*\{\s*\??(?P<variable>[^\W\d][\w']*)\s*:(?P<body>.*)\}"
    r"\s*(?:(?P<operator>>=|<=|!=|==|=|>|<)\s*(?P<number>\d+))?\s*"
    r"(?:\|(?P<condition>.*))?"
)

COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class CountQuery:
    """How many objects satisfy a formula (`body`), perhaps compared with a number.

    `operator` is empty if it is not. `conditions` are formulas that hold, and restrictions of the
    variables that are not counted.
    """

    text: str
    variable: str
    body: ast.Query
    operator: str = ""
    number: int = 0
    conditions: tuple[ast.Formula, ...] = ()

    @property
    def formula(self) -> ast.Formula:
        """The formula that is counted."""
        if self.body.formula is not None:
            return self.body.formula
        return ast.And(tuple(ast.Is(atom) for atom in self.body.atoms))

    @property
    def condition_texts(self) -> tuple[str, ...]:
        """The conditions as they were written: an atom that holds has no two negations."""

        def plain(formula: ast.Formula) -> ast.Formula:
            match formula:
                case ast.Not(ast.Not(ast.Is() as inner)):
                    return inner
            return formula

        return tuple(formula_text(plain(own)) for own in self.conditions)

    @property
    def rows_text(self) -> str:
        """A query whose rows are the objects that are counted, and those that are not.

        Its formula is one even if it is an atom, and so are its conditions.
        """
        after = [formula_text(own) for own in (*self.body.restrictions, *self.conditions)]
        after += ["distinct"] * self.body.distinct
        text = formula_text(ast.Not(ast.Not(self.formula)))
        return f"{text} | {', '.join(after)}" if after else text


def parse_count(text: str) -> CountQuery | None:
    """A query for a count, such as `#{x : smokes(x)} >= 10`; other queries are `None`.

    `EXIST x smokes(x)` and `FORALL x smokes(x)` are about counts, too: see `as_count`.

    >>> query = parse_count("#{x : smokes(x)} >= 10")
    >>> query.variable, str(query.body), query.operator, query.number
    ('x', 'smokes(x)', '>=', 10)
    """
    if not isinstance(text, str) or COUNT.match(text) is None:
        return None
    found = re.fullmatch(_COUNT, text)
    if found is None:
        whole = Span(clean_source("<query>", text), 0, len(text))
        raise QueryError(
            "counts are written #{x : smokes(x)}, #{x : smokes(x)} >= 10, or with a condition, "
            "#{x : smokes(x)} >= 10 | smokes(Anna)",
            whole,
        )
    body = parse_query(found["body"].strip())
    asked = CountQuery(
        text.strip(), found["variable"], body, found["operator"] or "", int(found["number"] or 0)
    )
    if found["condition"] is None:
        return asked
    whole_query = parse_query(
        f"{formula_text(ast.Not(ast.Not(asked.formula)))} | {found['condition']}"
    )
    return replace(asked, conditions=_conditions(whole_query))


def as_count(query: ast.Query) -> CountQuery | None:
    """A formula that begins with its only quantifier, as a question about a count.

    >>> found = as_count(parse_query("FORALL x smokes(x)"))
    >>> str(found.body), found.operator, found.number
    ('!smokes(x)', '=', 0)
    """
    match query.formula:
        case ast.Exists(variable, body):
            text, sign, number = formula_text(ast.Not(ast.Not(body))), ">=", 1
        case ast.Forall(variable, body):
            text, sign, number = formula_text(ast.Not(body)), "=", 0
        case _:
            return None
    return CountQuery(
        query.text, variable.name, parse_query(text), sign, number, _conditions(query)
    )


def _conditions(query: ast.Query) -> tuple[ast.Formula, ...]:
    """All that comes after the bar of a query; atoms hold."""
    held = [ast.Not(ast.Not(ast.Is(atom))) for atom in query.given]
    own = [] if query.condition is None else [query.condition]
    return (*query.restrictions, *own, *held)


def check_text(text: str, model: Model) -> None:
    """Refuse a query that does not fit the model."""
    count = parse_count(text)
    if count is None:
        checked_query(parse_query(text), model)
    else:
        checked_count(count, model)


def checked_count(count: CountQuery, model: Model) -> None:
    """Refuse a count that does not fit the model, or that is not about one variable."""
    name = count.variable
    terms = checked_query(count.body, model)
    if name not in terms.variables:
        raise QueryError(f"{count.text}: the formula that is counted is not about {name}")
    if count.body.given or terms.query.condition is not None:
        raise QueryError(
            f"{count.text}: a condition is about the whole, and goes behind the braces, as in "
            "#{x : smokes(x)} >= 10 | smokes(Anna)"
        )
    checked_query(parse_query(count.rows_text), model)
    for own in count.conditions:
        if name in free_variables(ast.WeightedFormula(own, None)):
            raise QueryError(
                f"{count.text}: {name} is counted, so the condition needs another variable"
            )


def checked_atom_query(text: str, model: Model) -> ast.Query:
    """A query for single atoms, perhaps restricted: what can be answered object by object."""
    form = f"{text} must be one atom, as in smokes(x), friends(Anna,y) or friends(x,y) | x != y"
    if parse_count(text) is not None:
        raise QueryError(form)
    query = checked_query(parse_query(text), model).query
    if len(query.atoms) != 1 or query.given or query.condition is not None:
        raise QueryError(
            f"{form}; other formulas have no list of atoms: query them without --objects, or count "
            "them in a best world by world.count(...)"
        )
    own = {term.name for term in query.atoms[0].args if isinstance(term, ast.Variable)}
    for restriction in query.restrictions:
        named = ast.variable_names(restriction)
        if not named or not own.issuperset(named):
            raise QueryError(f"{text}: restrictions are about the variables of the atom")
    return query


def checked_query(asked: ast.Query, model: Model) -> QueryTerms:
    """The terms of a query, once its atoms, its sorts and its constants fit the model."""
    query = _resolved(asked, model)
    rule = query.rule
    for atom in ast.rule_atoms(rule):
        model.check_atom(atom, QueryError)
    try:
        for formula in (query.formula, query.condition):
            _check_values(formula, model)
        sorts = term_sorts(rule, model.predicates)
        constants = tuple(dict.fromkeys(constants_of(rule, model.predicates, sorts)))
    except ModelError as error:
        raise QueryError(error.message, error.span) from None
    for sort, constant in constants:
        _check_constant(query, model, sort, constant)
    return QueryTerms(query, sorts, tuple(free_variables(rule)), constants)


def _resolved(query: ast.Query, model: Model) -> ast.Query:
    propositions = frozenset(p.name for p in model.predicates.values() if not p.sorts)
    restrictions: list[ast.Equal | ast.Not] = []
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


def _all_of(formulas: list[ast.Formula]) -> ast.Formula | None:
    if len(formulas) < 2:
        return formulas[0] if formulas else None
    return ast.And(tuple(formulas))


def _check_values(formula: ast.Formula | None, model: Model) -> None:
    for part in () if formula is None else ast.subformulas(formula):
        if isinstance(part, ast.Is):
            check_value(model, part)


def _check_constant(query: ast.Query, model: Model, sort: str, constant: str) -> None:
    if constant not in model.object_numbers(sort):
        known = model.constants(sort)
        names = ", ".join(known[:MOST_NAMED]) + (", ..." if len(known) > MOST_NAMED else "")
        raise QueryError(
            f"{sort} has no object named {constant}; "
            + (f"it names {names}" if known else f"declare {sort} = {{{constant}, ...}}"),
            _span_of(query, constant),
        )


def _span_of(query: ast.Query, constant: str) -> Span | None:
    for atom in ast.rule_atoms(query.rule):
        for term in atom.args:
            if isinstance(term, ast.Constant) and term.name == constant:
                return term.span or atom.span
    return None


def with_regions_for(model: Model, queries: Iterable[str]) -> Model:
    """The model with a table that changes nothing for each query, so that a region holds its atoms.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("r(thing, thing)\\n1 r(x,y)")
    >>> print(with_regions_for(model, ["r(x,y) ^ r(y,x)"]).rules[-1].potentials)
    (Number(value=1.0), Number(value=1.0), Number(value=1.0), Number(value=1.0))
    """
    rules = (_table_that_holds(model, parse_query(text)) for text in queries)
    return replace(model, rules=(*model.rules, *(rule for rule in rules if rule is not None)))


def added_regions(model: Model) -> list[str]:
    """The atoms that were put into one region each for queries, in words."""
    tables = (rule for rule in model.rules if isinstance(rule, ast.TableParfactor) and rule.kept)
    return [" ^ ".join(map(atom_text, table.atoms)) for table in tables]


def _table_that_holds(model: Model, asked: ast.Query) -> ast.TableParfactor | None:
    terms = checked_query(asked, model)
    rule = terms.query.rule
    atoms = tuple(dict.fromkeys(ast.rule_atoms(rule)))
    if len(atoms) < 2:
        return None
    if quantified_variables(rule):
        raise QueryError(
            f"no region is added for {asked}: its quantifier ranges over all objects, and a region "
            "is about a few of them"
        )
    for sort, constant in terms.constants:
        if constant in model.sorts[sort].from_evidence:
            raise QueryError(
                f"no region is added for {asked}: only the evidence names {constant}; declare it "
                f"in the model, {sort} = {{{constant}, ...}}"
            )
    entries = math.prod(len(model.predicates[atom.predicate].values) for atom in atoms)
    free = set(free_variables(replace(rule, restrictions=())))
    restrictions = tuple(
        own for own in rule.restrictions if free.issuperset(ast.variable_names(own))
    )
    ones = (ast.Number(1.0),) * entries
    return ast.TableParfactor(atoms, ones, restrictions, terms.query.distinct, kept=True)
