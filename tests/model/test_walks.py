"""Walking and rebuilding formulas."""

from __future__ import annotations

import pytest

from liftgbp.model.ast import (
    Atom,
    Equal,
    Formula,
    Is,
    Not,
    Variable,
    WeightedFormula,
    children,
    map_formula,
    rule_atoms,
    subformulas,
)
from liftgbp.model.parser import parse
from liftgbp.model.scopes import free_variables

EVERY_KIND = "(!p(x) v x = y) ^ (EXIST z q(x,z) => FORALL w q(w,y)) <=> p(y) v mood(x) = high"


def formula(text: str) -> Formula:
    (rule,) = parse(f"p(t)\nq(t, t)\nmood(t) : {{low, high}}\n1 {text}").rules
    assert isinstance(rule, WeightedFormula)
    return rule.formula


def rebuilt(part: Formula) -> Formula:
    return map_formula(rebuilt, part)


def test_rebuilding_without_a_change_gives_the_same_formula() -> None:
    assert rebuilt(formula(EVERY_KIND)) == formula(EVERY_KIND)


def test_the_walk_meets_every_kind_of_formula_from_left_to_right() -> None:
    parts = list(subformulas(formula(EVERY_KIND)))
    kinds = {"Iff", "And", "Or", "Not", "Is", "Equal", "Implies", "Exists", "Forall"}
    assert {type(part).__name__ for part in parts} == kinds
    atoms = [str(atom) for atom in rule_atoms(WeightedFormula(formula(EVERY_KIND), None))]
    assert atoms == ["p(x)", "q(x,z)", "q(w,y)", "p(y)", "mood(x)"]


def test_bound_variables_are_not_free() -> None:
    assert free_variables(WeightedFormula(formula(EVERY_KIND), None)) == ("x", "y")


@pytest.mark.parametrize("leaf", [Is(Atom("rain")), Equal(Variable("x"), Variable("y"))])
def test_leaves_have_no_children_and_stay_as_they_are(leaf: Formula) -> None:
    assert children(leaf) == ()
    assert map_formula(Not, leaf) is leaf


def test_a_change_below_a_quantifier_keeps_its_variable() -> None:
    exists = formula("p(x) ^ EXIST z q(x,z)")
    (_, inner) = children(exists)
    assert map_formula(Not, inner) == formula("p(x) ^ EXIST z !q(x,z)").parts[1]  # type: ignore[union-attr]
