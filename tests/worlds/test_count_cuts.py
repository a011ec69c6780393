"""Count cuts hold at the exact beliefs of all worlds."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from all_worlds import Atom, placed_beliefs
from liftgbp.evidence import Problem
from liftgbp.lift.regions import LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import NormalModel, shatter
from liftgbp.methods.bounding.count_cuts import Cut
from liftgbp.methods.bounding.looks_in_regions import looks_of
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve.energy import polytope
from liftgbp.support.errors import CapacityError, ContradictionError
from worlds.drawn_worlds import Case, cases, random_world

FAMILIES = ["intersections", "objects:2", "objects:3", "clusters:2"]


def prepared(normal: NormalModel, family: str) -> tuple[LiftedRegionGraph, Plan]:
    graph = build_regions(normal, family)
    return graph, compile_plan(graph)


def exact_beliefs(
    graph: LiftedRegionGraph, plan: Plan, world: dict[Atom, int]
) -> list[Fraction] | None:
    """The beliefs of all entries of outer regions; nothing if a state is ruled out."""
    layout = plan.layout
    consistent = polytope(layout)
    found = [Fraction(0)] * len(consistent.outer)
    place = {int(entry): k for k, entry in enumerate(consistent.outer)}
    for region, own in enumerate(graph.regions):
        start = layout.region_slice(region).start
        if start not in place:
            continue
        shape = layout.shapes[region]
        for state, belief in placed_beliefs(graph.normal, world, own.cluster).items():
            flat = 0
            for value, size in zip(state, shape, strict=True):
                flat = flat * size + value
            entry = int(layout.entry_of[region][flat])
            if entry < 0:
                return None
            found[place[start + entry]] += belief / int(layout.multiplicity[start + entry])
    return found


@pytest.mark.slow
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(cases(), st.sampled_from(FAMILIES), st.integers(0, 2**30))
def test_cuts_hold_at_random_worlds(case: Case, family: str, seed: int) -> None:
    model, sizes, evidence = case
    try:
        normal = shatter(model, sizes, evidence=evidence, table_cap=2**9)
        graph, plan = prepared(normal, family)
    except (CapacityError, ContradictionError):
        assume(False)
        return
    looks = looks_of(graph, plan.layout, polytope(plan.layout))
    assume(looks)
    source = random.Random(seed)
    for _ in range(3):
        beliefs = exact_beliefs(graph, plan, random_world(normal, source))
        if beliefs is None:
            continue
        consistent = polytope(plan.layout)
        for row, right in zip(consistent.matrix, consistent.right_side, strict=True):
            assert sum(int(a) * b for a, b in zip(row, beliefs, strict=True)) == int(right)
        # Those of several classes come last.
        for own in [*source.sample(looks, min(5, len(looks))), *looks[-3:]]:
            for _ in range(6):
                vector = [source.randint(-3, 3) for _ in range(own.kinds)]
                for whole in range(-4, 4):
                    cut = own.cut(vector, whole)
                    assert cut is None or cut.at(beliefs) >= 0
            for cut, left in islice(own.nearly_tight(beliefs, 200), 20):
                assert (cut.at(beliefs) == 0) == (left == 0)


def pairs_program() -> tuple[LiftedRegionGraph, Plan]:
    model = liftgbp.parse("s(node)\n1 s(x) ^ s(y) | x != y")
    return prepared(shatter(model, {"node": 5}), "objects:2")


@pytest.mark.parametrize("whole", range(-1, 6))
def test_one_look_by_hand(whole: int) -> None:
    """(K - m)(K - m - 1) for K of five nodes with s, from the share of pairs by how many have s."""
    graph, plan = pairs_program()
    (own,) = looks_of(graph, plan.layout, polytope(plan.layout))
    assert (own.size, own.kinds) == (5, 2)
    for true in range(6):
        world: dict[Atom, int] = {(0, ((0, k),)): int(k < true) for k in range(5)}
        beliefs = exact_beliefs(graph, plan, world)
        assert beliefs is not None
        cut = own.cut((0, 1), whole)
        assert cut is not None
        raw = (true - whole) * (true - whole - 1)
        assert (cut.at(beliefs) == 0) == (raw == 0)
        assert cut.at(beliefs) >= 0


def two_classes() -> tuple[LiftedRegionGraph, Plan]:
    model = liftgbp.parse("old(node)\ns(node)\n1 s(x) ^ s(y) | x != y")
    facts = "old(A)\nold(B)\nold(C)\n!old(D)\n!old(E)\n!old(F)\n!old(G)"
    problem = Problem.of(model, facts, {"node": 7})
    return prepared(shatter(model, {"node": 7}, evidence=problem.evidence), "objects:2")


@pytest.mark.parametrize("vector", [(0, 1, 0, 1), (0, 1, 0, -1), (0, 2, 1, -1), (1, 0, 0, 3)])
@pytest.mark.parametrize("whole", [-2, 0, 1, 3])
def test_looks_of_two_classes_by_hand(vector: tuple[int, ...], whole: int) -> None:
    """Three old nodes and four others: (v·K - m)(v·K - m - 1), where K counts both."""
    graph, plan = two_classes()
    *_, own = looks_of(graph, plan.layout, polytope(plan.layout))
    assert sorted(own.among) == [3, 3, 4, 4]
    assert own.size == 7
    cut = own.cut(vector, whole)
    assert cut is not None
    ratios = set()
    sizes = graph.normal.class_sizes
    for true in product(*(range(n + 1) for n in sizes)):
        world = {(1, ((c, k),)): int(k < true[c]) for c, n in enumerate(sizes) for k in range(n)}
        beliefs = exact_beliefs(graph, plan, world)
        assert beliefs is not None
        counts = [own for n, k in zip(sizes, true, strict=True) for own in (n - k, k)]
        total = sum(v * k for v, k in zip(vector, counts, strict=True))
        raw = (total - whole) * (total - whole - 1)
        assert (raw == 0) == (cut.at(beliefs) == 0)
        ratios |= {cut.at(beliefs) / raw} if raw else set()
    # Cuts are divided by what all coefficients have in common.
    assert len(ratios) == 1
    assert ratios.pop() > 0


def test_violated_cuts_cut_off_the_beliefs() -> None:
    """All pairs differ: impossible with three nodes or more."""
    graph, plan = pairs_program()
    (own,) = looks_of(graph, plan.layout, polytope(plan.layout))
    columns = own.column[own.first != own.second]
    beliefs = np.zeros(len(polytope(plan.layout).outer))
    beliefs[columns] = 0.5
    found: list[Cut] = list(own.violated(beliefs))
    assert found
    assert all(cut.row(len(beliefs)) @ beliefs < 0 for cut in found)
