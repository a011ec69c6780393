"""Weights that are data: a rule `conf: formula` becomes one rule for each number there is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from liftgbp.errors import CapacityError, EvidenceError
from liftgbp.model.ast import (
    Atom,
    Constant,
    DataWeight,
    Equal,
    Formula,
    Is,
    Not,
    Number,
    Rule,
    Term,
    Variable,
    WeightedFormula,
    map_formula,
)
from liftgbp.model.model import Model

MOST_WEIGHTS = 10_000
"""Each different weight is a rule of its own, which takes milliseconds to ground."""


def with_numbers(model: Model) -> Model:
    """The model whose rules have numbers as weights; its objects keep their numbers.

    >>> from liftgbp.model.parser import parse
    >>> print(with_numbers(parse("conf = {0.5, \\"-1\\"}\\n*seen(box, conf)\\nred(box)\\n"
    ...     "c: seen(x,c) => red(x)")))
    conf = {0.5, "-1"}
    *seen(box, conf)
    red(box)
    0.5 seen(x,0.5) => red(x)
    -1 seen(x,"-1") => red(x)
    """
    if not any(_is_data(rule) for rule in model.rules):
        return model
    sorts = {
        name: replace(sort, constants=model.constants(name), from_evidence=())
        for name, sort in model.sorts.items()
    }
    rules = tuple(one for rule in model.rules for one in _rules(model, rule))
    return replace(model, sorts=sorts, rules=rules)


def _is_data(rule: Rule) -> bool:
    return isinstance(rule, WeightedFormula) and isinstance(rule.weight, DataWeight)


def _rules(model: Model, rule: Rule) -> Iterator[Rule]:
    if not isinstance(rule, WeightedFormula) or not isinstance(rule.weight, DataWeight):
        yield rule
        return
    variable = rule.weight.variable
    sort = model.variable_sorts(rule)[variable]
    names = model.constants(sort)
    if len(names) > MOST_WEIGHTS:
        raise CapacityError(
            f"{sort} has {len(names)} different weights, above the cap of {MOST_WEIGHTS}; "
            "round them",
            rule.span,
        )
    for name in names:
        yield replace(
            rule,
            formula=_put(rule.formula, variable, name),
            weight=Number(_number(sort, name, rule)),
            restrictions=tuple(
                cast("Equal | Not", _put(one, variable, name)) for one in rule.restrictions
            ),
            expanded=rule.expanded - {variable},
        )


def _number(sort: str, name: str, rule: WeightedFormula) -> float:
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise EvidenceError(
            f"{name} is an object of {sort}, whose objects are the weights of this formula; it "
            "must be a finite number",
            rule.span,
        )
    return number


def _put(formula: Formula, variable: str, name: str) -> Formula:
    """The formula with a constant in the place of a variable."""

    def term(given: Term) -> Term:
        is_meant = isinstance(given, Variable) and given.name == variable
        return Constant(name, given.span) if is_meant else given

    match formula:
        case Is(Atom(predicate, args, span), value, whole):
            return Is(Atom(predicate, tuple(map(term, args)), span), value, whole)
        case Equal(left, right, span):
            return Equal(term(left), term(right), span)
    return map_formula(lambda part: _put(part, variable, name), formula)
