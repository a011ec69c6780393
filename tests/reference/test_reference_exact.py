from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from reference_models import (
    atom,
    chain,
    friends_smokers,
    hard,
    is_,
    model,
    random_model,
    soft,
    table,
    transitive,
)

from liftgbp.model.ast import Exists, Implies, Not, Predicate, Variable
from liftgbp.model.model import Model
from liftgbp.oracle.reference import (
    ExactValues,
    GroundAtom,
    GroundFactor,
    enumerate_worlds,
    exact,
    exact_joint,
    ground,
)
from liftgbp.support.errors import CapacityError, ContradictionError


def assert_same(one: ExactValues, other: ExactValues) -> None:
    assert one.log_z == pytest.approx(other.log_z, abs=1e-10)
    assert one.marginals.keys() == other.marginals.keys()
    for key, probabilities in one.marginals.items():
        assert np.allclose(probabilities, other.marginals[key], rtol=0, atol=1e-10), key


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("persons", [1, 2])
def test_junction_tree_equals_enumeration(seed: int, persons: int) -> None:
    try:
        grounded = ground(random_model(seed), {"person": persons, "shop": 2})
    except ContradictionError:
        return  # found before there is anything to compare
    try:
        expected = enumerate_worlds(grounded)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            exact(grounded)
    else:
        assert_same(exact(grounded), expected)


@pytest.mark.slow
@pytest.mark.parametrize("build", [friends_smokers, transitive, chain])
@pytest.mark.parametrize("persons", [1, 2, 3, 4])
def test_junction_tree_equals_enumeration_on_known_models(
    build: Callable[[float], Model], persons: int
) -> None:
    grounded = ground(build(1.4), {"person": persons})
    assert_same(exact(grounded), enumerate_worlds(grounded))


@pytest.mark.parametrize("seed", range(30))
def test_joint_distributions_equal_enumeration(seed: int) -> None:
    """The part of all worlds in which some atoms have some values: hard factors leave no others."""
    try:
        grounded = ground(random_model(seed), {"person": 2, "shop": 2})
        whole = enumerate_worlds(grounded).log_z
    except ContradictionError:
        return
    random = np.random.default_rng(seed)
    chosen = random.permutation(len(grounded.atoms))[:3]
    atoms = [grounded.atoms[k] for k in chosen]
    joint = exact_joint(grounded, atoms)
    assert joint.shape == tuple(grounded.ranges[own] for own in atoms)
    for state, probability in np.ndenumerate(joint):
        only = np.full(joint.shape, -np.inf)
        only[state] = 0.0
        fixed = replace(grounded, factors=(*grounded.factors, GroundFactor(tuple(atoms), only)))
        try:
            expected = math.exp(enumerate_worlds(fixed).log_z - whole)
        except ContradictionError:
            expected = 0.0
        assert probability == pytest.approx(expected, abs=1e-10)


def test_one_formula_over_two_objects() -> None:
    answer = exact(ground(model({"p": ("person",)}, soft(0.7, is_("p", "x"))), {"person": 2}))
    assert answer.log_z == pytest.approx(2 * math.log(1 + math.exp(0.7)))
    probability = math.exp(0.7) / (1 + math.exp(0.7))
    assert answer.marginals[GroundAtom("p", (1,))] == pytest.approx([1 - probability, probability])


def test_atoms_in_no_factor_are_uniform() -> None:
    predicates = {
        "p": Predicate("p", ("person",)),
        "size": Predicate("size", ("person",), ("S", "M", "L")),
    }
    answer = exact(ground(Model({}, predicates), {"person": 2}))
    assert answer.log_z == pytest.approx(2 * math.log(2) + 2 * math.log(3))
    assert answer.marginals[GroundAtom("size", (0,))] == pytest.approx([1 / 3] * 3)


def test_hard_and_soft_formulas_together() -> None:
    # Somebody smokes, and each smoker weighs 1: worlds with one smoker e each, with two e².
    rules = (hard(Exists(Variable("x"), is_("p", "x"))), soft(1.0, is_("p", "x")))
    answer = exact(ground(model({"p": ("person",)}, *rules), {"person": 2}))
    total = 2 * math.e + math.e**2
    assert answer.log_z == pytest.approx(math.log(total))
    assert answer.marginals[GroundAtom("p", (0,))][1] == pytest.approx((math.e + math.e**2) / total)


def test_many_valued_table() -> None:
    predicates = {"size": Predicate("size", ("thing",), ("S", "M", "L"))}
    rule = table((atom("size", "x"),), 1, 2, 5)
    answer = exact(ground(Model({}, predicates, (rule,)), {"thing": 1}))
    assert answer.log_z == pytest.approx(math.log(8))
    assert answer.marginals[GroundAtom("size", (0,))] == pytest.approx([1 / 8, 2 / 8, 5 / 8])


def test_constants_outside_all_factors_of_atoms_count() -> None:
    tautology = soft(0.25, Implies(is_("p", "x"), is_("p", "x")))
    grounded = ground(model({"p": ("person",)}, tautology), {"person": 2})
    assert exact(grounded).log_z == pytest.approx(0.5 + 2 * math.log(2))
    assert enumerate_worlds(grounded).log_z == pytest.approx(0.5 + 2 * math.log(2))


def test_contradiction() -> None:
    rules = (hard(Implies(is_("p", "x"), is_("p", "y"))), hard(is_("p", "A")))
    grounded = ground(model({"p": ("person",)}, *rules, hard(Not(is_("p", "B")))))
    with pytest.raises(ContradictionError):
        exact(grounded)
    with pytest.raises(ContradictionError):
        enumerate_worlds(grounded)


def test_caps_name_the_size() -> None:
    grounded = ground(transitive(1.0), {"person": 5})
    with pytest.raises(CapacityError, match=r"table of \d+ entries, above the cap 1024"):
        exact(grounded, cap=1024)
    with pytest.raises(CapacityError, match=f"{2**25} worlds"):
        enumerate_worlds(grounded)


def test_marginals_are_read_only() -> None:
    answer = exact(ground(friends_smokers(1.0), {"person": 2}))
    with pytest.raises(ValueError, match="read-only"):
        answer.marginals[GroundAtom("smokes", (0,))][0] = 1.0


KNOWN = [
    (friends_smokers, "friends", 1.4, 4, 0.4509442376, 26.6952622902),
    (friends_smokers, "friends", 1.4, 8, 0.4844365200, 118.2833322),
    (transitive, "r", 1.4, 4, 0.3844870272, 39.8939129),
    (transitive, "r", 1.4, 5, 0.3457443539, 93.4948928),
    (chain, "r", 1.4, 4, 0.3357653316, 39.4176369),
    (chain, "r", 1.4, 5, 0.1854276855, 175.1361623),
]


@pytest.mark.parametrize(("build", "name", "w", "persons", "probability", "log_z"), KNOWN)
def test_known_values(
    build: Callable[[float], Model],
    name: str,
    w: float,
    persons: int,
    probability: float,
    log_z: float,
) -> None:
    answer = exact(ground(build(w), {"person": persons}))
    # The known values leave the diagonal atoms out; each of them is free and adds log 2.
    assert answer.log_z - persons * math.log(2) == pytest.approx(log_z, abs=6e-8)
    assert answer.marginals[GroundAtom(name, (0, 1))][1] == pytest.approx(probability, abs=6e-11)
