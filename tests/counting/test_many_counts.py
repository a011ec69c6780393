"""Plans at many counts at once against plans at each of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.lift.regions import FACTOR_SCOPES, ExactCounts
from liftgbp.lift.shatter import Shattering, SplitShattering, object_classes, splits_by_value
from liftgbp.methods.counting.points import CountedModel, exact_offset
from liftgbp.methods.counting.space import SplitClass
from liftgbp.methods.series import SharedPlans
from liftgbp.oracle import reference
from liftgbp.plan import refill_all
from liftgbp.support.arrays import Integers

FRIENDS = """
friends(person, person)
smokes(person)
$w = 1.4
$w friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.3 smokes(x) ^ smokes(y)
"""
RICH = """
rich(person)
0.7 rich(x) ^ friends(x,y) => rich(y) | x != y
-0.3 rich(x) ^ smokes(x)
0.2 friends(x,y) ^ friends(y,x) | x != y
"""
LONELY = """
lonely(person)
-0.4 lonely(x) ^ lonely(y) | x != y
0.1 lonely(x) ^ smokes(y)
"""
HARD = "friends(x,y) ^ smokes(x) => smokes(y).\n"
MOODS = """
mood(person): {low, fair, high}
0.4 mood(x) = high ^ friends(x,y) => mood(y) = high
-0.2/|person| mood(x) = low ^ smokes(y)
"""
SHOPS = """
open(shop)
visits(person, shop)
0.5 visits(x,s) ^ smokes(x) => open(s)
0.2 open(s) ^ open(t) | s != t
"""
QUANTIFIED = "0.6 smokes(x) => EXIST y friends(x,y) ^ smokes(y)\n"
EVIDENCE = "smokes(A)\n!smokes(B)\n0.8 smokes(C)\nfriends(A,B)\n0.3 friends(A,C)\n"
CASES = {
    "one": (FRIENDS, "", ("smokes",), 12),
    "two": (FRIENDS + RICH, "", ("smokes", "rich"), 40),
    "diagonal": (FRIENDS, "", ("smokes", "friends"), 5),
    "sums left over": (FRIENDS + LONELY, "", ("smokes",), 10**20),
    "evidence": (FRIENDS + LONELY, EVIDENCE, ("smokes",), 14),
    "many values": (FRIENDS + MOODS, "", ("mood",), 14),
    "sizes in weights": (FRIENDS + MOODS, EVIDENCE, ("smokes",), 20),
    "two sorts": (FRIENDS + SHOPS, "", ("smokes", "open"), 9),
    "hard": (FRIENDS + HARD, EVIDENCE.replace("friends(A,B)", ""), ("smokes",), 14),
}


def split_of(case: str) -> SplitShattering:
    text, facts, names, size = CASES[case]
    model = liftgbp.parse(text)
    problem = Problem.of(model, facts or None, dict.fromkeys(model.sorts, size))
    shattering = Shattering(object_classes(problem))
    return SplitShattering(shattering, splits_by_value(shattering, names))


def points_of(split: SplitShattering) -> list[tuple[int, ...]]:
    space = CountedModel(split, FACTOR_SCOPES, liftgbp.Flooding()).space
    if space.number < 200:
        return list(space.all())
    random = Random(1)

    def spread(own: SplitClass) -> list[int]:
        cuts = sorted(random.randint(0, own.size) for _ in range(own.cells - 1))
        return [stop - start for start, stop in pairwise([0, *cuts, own.size])]

    some = [tuple(n for own in space.classes for n in spread(own)) for _ in range(20)]
    return list(dict.fromkeys([*space.grid(20), *some]))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_plans_at_many_counts_are_those_at_each(case: str) -> None:
    split = split_of(case)
    together = 0
    left = points_of(split)
    while left:
        point = left[0]
        alike = split.alike(point)
        normal = alike.at(point).normal
        base = SharedPlans(FACTOR_SCOPES).prepare(normal)
        others = [
            own
            for own in left
            if split.alike(own) is alike and base.graph.is_stable_at(alike.class_sizes(own))
        ]
        left = [own for own in left if own not in others]
        sizes = list(np.array([alike.class_sizes(own) for own in others], dtype=object).T)
        exact = ExactCounts(base.graph, sizes, np.ones_like(sizes[0]))
        tables, constants = alike.factors.tables(sizes), alike.factors.constants(sizes)
        plans = refill_all(base.plan, exact, tables, constants)
        together = max(together, len(plans))
        for k, own in enumerate(others):
            alone = split.at(own).normal
            assert constants[k] == alone.constant_units
            for stack, parfactor in zip(tables, alone.parfactors, strict=True):
                assert np.array_equal(stack[k], parfactor.log_table)
            graph = base.graph.resized(alone)
            assert_counts(exact, graph, k)
            plan = SharedPlans(FACTOR_SCOPES).prepare(alone).plan
            assert np.array_equal(plans[k].theta, plan.theta)
            assert np.array_equal(plans[k].theta_lost, plan.theta_lost)
            assert np.array_equal(plans[k].exponents.values, plan.exponents.values)
            assert plans[k].weights == plan.weights
            assert plans[k].atom_counts == plan.atom_counts
            assert plans[k].order_counts == plan.order_counts
            assert plans[k].alike_counts == plan.alike_counts
            assert plans[k].log_offset == pytest.approx(plan.log_offset, rel=1e-15)
    assert together > 1


def assert_counts(exact: ExactCounts[Integers], graph: liftgbp.LiftedRegionGraph, k: int) -> None:
    def at(columns: Sequence[np.ndarray]) -> tuple[int, ...]:
        return tuple(own[k] for own in columns)

    assert at(exact.n) == graph.n
    assert at(exact.kappa) == graph.kappa
    assert at(exact.counting_numbers) == graph.counting_numbers
    assert {atom: own[k] for atom, own in exact.atom_counts.items()} == graph.atom_counts
    assert {values: own[k] for values, own in exact.free_atoms.items()} == graph.free_atoms


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_offsets_of_many_counts_are_those_at_each(case: str) -> None:
    split = split_of(case)
    model = CountedModel(split, FACTOR_SCOPES, liftgbp.Flooding())
    planned = list(model._prepared(points_of(split)))
    assert planned
    for own in planned:
        assert abs(own.offset - exact_offset(model.at(own.counts).prepared.graph)) < 1e-30


def test_quantifiers_leave_no_counts_alike() -> None:
    """What a quantifier is expanded over depends on every count."""
    model = liftgbp.parse(FRIENDS + QUANTIFIED)
    shattering = Shattering(object_classes(Problem.of(model, None, {"person": 3})))
    split = SplitShattering(shattering, splits_by_value(shattering, ("smokes",)))
    points = points_of(split)
    assert len({id(split.alike(point)) for point in points}) == len(points)
    exact = reference.exact(reference.ground(model, {"person": 3}))
    answers = liftgbp.infer(model, {"person": 3}, sum_over="smokes", regions="objects:3")
    assert answers.log_z == pytest.approx(exact.log_z, rel=1e-9)
