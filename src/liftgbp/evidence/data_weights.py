"""Weights that differ between groundings of a rule, which becomes one rule for each of them.

A rule `conf: formula` has the numbers that evidence states, and one about `+x` may have a weight
for each constant.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations
from typing import cast

from liftgbp.model.ast import (
    Arithmetic,
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
    Weight,
    WeightedFormula,
    applied,
    is_own,
    map_formula,
)
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables, shared_weight
from liftgbp.support.errors import CapacityError, EvidenceError, ModelError

MOST_WEIGHTS = 10_000
"""Each different weight is a rule of its own, which takes milliseconds to ground."""


def with_numbers(model: Model) -> Model:
    """The model whose rules have numbers as weights; its objects keep their numbers.

    >>> from liftgbp.model.parser import parse
    >>> print(with_numbers(parse("conf = {0.5, -1}\\n*seen(box, conf)\\nred(box)\\n"
    ...     "c: seen(x,c) => red(x)")))
    conf = {0.5, -1}
    *seen(box, conf)
    red(box)
    0.5 seen(x,0.5) => red(x)
    -1 seen(x,-1) => red(x)
    """
    _check_own_weights(model)
    if not any(_is_data(rule) or model.own_weights(rule) for rule in model.rules):
        return model
    sorts = {
        name: replace(sort, constants=model.constants(name), from_evidence=())
        for name, sort in model.sorts.items()
    }
    rules = tuple(one for rule in model.rules for one in _rules(model, rule))
    weights = {name: value for name, value in model.weights.items() if not is_own(name)}
    return replace(model, sorts=sorts, rules=rules, weights=weights)


def _check_own_weights(model: Model) -> None:
    """Refuse weights for constants that are none."""
    stated = list(filter(is_own, model.weights))
    if stated:
        used = {
            applied(cast(str, shared_weight(rule)), chosen)
            for rule in model.rules
            for chosen in model.own_weights(rule)
        }
        for name in stated:
            if name not in used:
                raise ModelError(
                    f"${name} is the weight of no formula; a formula with the weight "
                    f"${name.partition('(')[0]} has weights for the constants of variables "
                    "written +x, in order of appearance"
                )


def _is_data(rule: Rule) -> bool:
    return isinstance(rule, WeightedFormula) and isinstance(rule.weight, DataWeight)


def _rules(model: Model, rule: Rule) -> Iterator[Rule]:
    if not isinstance(rule, WeightedFormula):
        yield rule
    elif isinstance(rule.weight, DataWeight):
        yield from _with_data(model, rule, rule.weight)
    else:
        yield from _with_own_weights(model, rule)


def _with_own_weights(model: Model, rule: WeightedFormula) -> Iterator[Rule]:
    """The rule with the weight that is common to all constants, and what each adds to that."""
    own = model.own_weights(rule)
    if len(own) > MOST_WEIGHTS:
        raise CapacityError(
            f"{shared_weight(rule)} has {len(own)} weights for single constants, above the cap of "
            f"{MOST_WEIGHTS}",
            rule.span,
        )
    common = shared_weight(rule) in model.weights or not own
    if common or any(chosen not in own for chosen in model.choices_of_constants(rule)):
        yield rule
    names = [name for name in free_variables(rule) if name in rule.expanded]
    for chosen, value in own.items():
        weight: Weight = Number(value)
        if common and rule.weight is not None:
            weight = Arithmetic("-", weight, rule.weight)
        yield from _with_constants(model, rule, dict(zip(names, chosen, strict=True)), weight)


def _with_constants(
    model: Model, rule: WeightedFormula, names: dict[str, str], weight: Weight
) -> Iterator[Rule]:
    """The rule with constants in the place of some variables; none if its restrictions fail."""
    formula, restrictions = rule.formula, [*rule.restrictions, *_distinct_from(model, rule, names)]
    for variable, name in names.items():
        formula = _put(formula, variable, name)
        restrictions = [cast("Equal | Not", _put(one, variable, name)) for one in restrictions]
    decided = {one: _decided(one) for one in restrictions}
    if False not in decided.values():
        yield replace(
            rule,
            formula=formula,
            weight=weight,
            restrictions=tuple(one for one in restrictions if decided[one] is None),
            expanded=rule.expanded - names.keys(),
        )


def _distinct_from(
    model: Model, rule: WeightedFormula, names: Collection[str]
) -> Iterator[Equal | Not]:
    """What `distinct` says about variables that are replaced."""
    sorts = model.variable_sorts(rule) if rule.distinct else {}
    for one, other in combinations(free_variables(rule) if rule.distinct else (), 2):
        if sorts[one] == sorts[other] and (one in names or other in names):
            yield Not(Equal(Variable(one), Variable(other)))


def _decided(restriction: Equal | Not) -> bool | None:
    """Whether a restriction holds, if it compares two constants."""
    match restriction:
        case Equal(Constant(one), Constant(other)):
            return one == other
        case Not(Equal(Constant(one), Constant(other))):
            return one != other
    return None


def _with_data(model: Model, rule: WeightedFormula, weight: DataWeight) -> Iterator[Rule]:
    variable = weight.variable
    sort = model.variable_sorts(rule)[variable]
    names = model.constants(sort)
    if len(names) > MOST_WEIGHTS:
        raise CapacityError(
            f"{sort} has {len(names)} different weights, above the cap of {MOST_WEIGHTS}; "
            "round them",
            rule.span,
        )
    for name in names:
        number = Number(_number(sort, name, rule))
        yield from _with_constants(model, rule, {variable: name}, number)


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
