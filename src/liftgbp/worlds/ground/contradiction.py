"""Which hard rules contradict each other: those without any of which there is a world.

Rules leave one by one, and stay away where no world is possible without them either. Reference:
J. Chinneck and E. Dravnieks, *Locating minimal infeasible constraint sets in linear programs*,
ORSA Journal on Computing 1991.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from liftgbp.evidence import Problem
from liftgbp.model.ast import Rule, TableParfactor, evaluate_weight
from liftgbp.model.writer import rule_text
from liftgbp.support.errors import ContradictionError


def contradiction(problem: Problem, impossible: Callable[[Problem], bool]) -> ContradictionError:
    """The error for a problem without any world; it names rules that contradict each other.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("p(t)\\nq(t)\\np(x).\\nq(x) => p(x).\\n!p(A) ^ !q(A).\\n1 q(x)")
    >>> problem = Problem.of(model, None, {"t": 2})
    >>> print(contradiction(problem, lambda own: len(own.model.rules) > 1).message)
    the hard rules contradict each other: no world satisfies all of q(x) => p(x).; !p(A) ^ !q(A).
    """
    rules = [rule for rule in problem.model.rules if _is_hard(rule, problem)]
    for rule in tuple(rules):
        others = [own for own in rules if own is not rule]
        if impossible(replace(problem, model=problem.model.with_rules(others))):
            rules = others
    if not rules:
        return ContradictionError("no world is possible under this evidence")
    under = " under this evidence" if problem.evidence else ""
    texts = "; ".join(" ".join(rule_text(rule).split()) for rule in rules)
    message = (
        f"the hard rules contradict each other{under}: no world satisfies all of {texts}"
        if len(rules) > 1
        else f"no world satisfies this hard rule{under}: {texts}"
    )
    return ContradictionError(message, rules[-1].span)


def _is_hard(rule: Rule, problem: Problem) -> bool:
    """Whether a rule may rule worlds out."""
    if isinstance(rule, TableParfactor):
        return not all(evaluate_weight(own, problem.sizes) for own in rule.potentials)
    return rule.weight is None
