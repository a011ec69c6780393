"""Soft clauses about terms of functions, as two rules with one constant each.

Where its definitions fail, a rule `f(x,y) ^ (p(y) => q(x))` is false; where they hold and the
clause has a false premise, it is true. Only one of these constants can be left to counting. As
w [d ^ c] = w [d] - w [d ^ !c], the rule is the same as one about the definitions alone, which is a
number, and one that is false unless the definitions and all premises hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from liftgbp.model.ast import (
    And,
    Arithmetic,
    Implies,
    Is,
    Not,
    Number,
    Or,
    Rule,
    Variable,
    WeightedFormula,
)
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables


def with_one_constant(model: Model, rule: Rule, sizes: Mapping[str, int]) -> tuple[Rule, ...]:
    """The rule, or the two rules that stand for it."""
    if (
        not isinstance(rule, WeightedFormula)
        or rule.weight is None
        or rule.restrictions
        or rule.distinct
    ):
        return (rule,)
    match rule.formula:
        case And((*definitions, Or() | Implies() as clause)) if all(
            isinstance(part, Is) and model.predicates[part.atom.predicate].kind != "relation"
            for part in definitions
        ):
            defined = {
                term.name
                for part in definitions
                if isinstance(part, Is)
                for term in part.atom.args
                if isinstance(term, Variable)
            }
            sorts = model.variable_sorts(rule)
            others = [v for v in free_variables(rule) if v not in defined]
            times = Number(float(math.prod(sizes[sorts[v]] for v in others)))
            return (
                replace(
                    rule,
                    formula=And(tuple(definitions)),
                    weight=Arithmetic("*", rule.weight, times),
                    expanded=frozenset(),
                ),
                replace(
                    rule,
                    formula=And((*definitions, Not(clause))),
                    weight=Arithmetic("-", Number(0.0), rule.weight),
                ),
            )
    return (rule,)
