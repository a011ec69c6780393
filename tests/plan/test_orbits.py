"""Orbits of states: brute force on small tables, and the same numbers as full tables everywhere."""

from __future__ import annotations

from collections import Counter
from itertools import islice, permutations, product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from liftgbp import parse
from liftgbp.lift.regions import LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.plan import Plan, compile_plan
from liftgbp.plan.states import find_orbits
from liftgbp.solve import Descent, Flooding, Kind, Solution, log_z
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, sizes

FAMILIES = ["intersections", "subsets", "bethe", "objects:2"]
MOST_STATES = 5_000

Permutation = tuple[int, ...]
State = tuple[int, ...]


# --- brute force


@st.composite
def shapes_with_symmetries(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Permutation]]:
    """A table, and permutations of its axes that only move axes of the same range."""
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=5)))
    symmetries = []
    for _ in range(draw(st.integers(0, 3))):
        moved = list(range(len(shape)))
        for size in set(shape):
            own = [axis for axis in range(len(shape)) if shape[axis] == size]
            for axis, target in zip(own, draw(st.permutations(own)), strict=True):
                moved[axis] = target
        symmetries.append(tuple(moved))
    return shape, symmetries


def brute_force_orbits(shape: tuple[int, ...], symmetries: list[Permutation]) -> list[set[State]]:
    """All orbits, by walking from state to state until nothing new turns up."""
    left = set(product(*map(range, shape)))
    orbits = []
    while left:
        frontier = {min(left)}
        orbit: set[State] = set()
        while frontier:
            orbit |= frontier
            moved = {tuple(s[axis] for axis in move) for s in frontier for move in symmetries}
            frontier = moved - orbit
        orbits.append(orbit)
        left -= orbit
    return orbits


def flat(shape: tuple[int, ...], state: State) -> int:
    number = 0
    for size, digit in zip(shape, state, strict=True):
        number = number * size + digit
    return number


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(table=shapes_with_symmetries(), data=st.data())
def test_orbits_by_brute_force(
    table: tuple[tuple[int, ...], list[Permutation]], data: st.DataObject
) -> None:
    shape, symmetries = table
    wanted = [{flat(shape, s) for s in own} for own in brute_force_orbits(shape, symmetries)]
    dead_orbits = data.draw(st.sets(st.sampled_from(range(len(wanted)))))
    dead = set().union(*(wanted[k] for k in dead_orbits))
    alive = np.array([k not in dead for k in range(int(np.prod(shape, dtype=int)))])
    found = find_orbits(shape, symmetries, alive)
    left = sorted((own for own in wanted if not own & dead), key=min)
    assert len(found) == len(left)
    assert found.representatives.tolist() == [min(own) for own in left]
    assert found.sizes.tolist() == [len(own) for own in left]
    assert {k for k, orbit in enumerate(found.orbit_of) if orbit == -1} == dead
    for number, own in enumerate(left):
        assert {k for k, orbit in enumerate(found.orbit_of) if orbit == number} == own


def test_without_symmetries_each_state_is_alone() -> None:
    alive = np.array([True, False, True, True, False, True])
    found = find_orbits((2, 3), (), alive)
    assert found.orbit_of.tolist() == [0, -1, 1, 2, -1, 3]
    assert found.representatives.tolist() == [0, 2, 3, 5]
    assert found.sizes.tolist() == [1, 1, 1, 1]


def test_tables_of_no_axes_and_of_dead_states() -> None:
    assert find_orbits((), ()).sizes.tolist() == [1]
    assert find_orbits((), [()]).sizes.tolist() == [1]
    nothing = find_orbits((2, 2), [(1, 0)], np.zeros(4, dtype=bool))
    assert len(nothing) == 0
    assert nothing.orbit_of.tolist() == [-1] * 4


@pytest.mark.parametrize("length", [2, 7, 12])
def test_one_long_cycle_makes_necklaces(length: int) -> None:
    """A generator alone, whose powers make up the group."""
    cycle = (*range(1, length), 0)
    found = find_orbits((2,) * length, [cycle])
    rotations = {
        min(tuple(word[k:] + word[:k]) for k in range(length))
        for word in product((0, 1), repeat=length)
    }
    assert len(found) == len(rotations)
    assert found.sizes.sum() == 2**length


def test_all_permutations_leave_the_number_of_each_value() -> None:
    swap, cycle = (1, 0, 2, 3, 4), (1, 2, 3, 4, 0)
    found = find_orbits((3,) * 5, [swap, cycle])
    wanted = Counter(tuple(sorted(state)) for state in product(range(3), repeat=5))
    assert Counter(found.sizes.tolist()) == Counter(wanted.values())
    every = find_orbits((3,) * 5, list(permutations(range(5))))
    np.testing.assert_array_equal(found.orbit_of, every.orbit_of)


# --- known numbers of graphs


def digraphs_graph(objects: int) -> LiftedRegionGraph:
    model = parse("r(person, person)\n0.5 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    return build_regions(shatter(model, {"person": 12}), f"objects:{objects}")


@pytest.mark.slow
@pytest.mark.parametrize(("objects", "wanted"), [(3, 16), (4, 218), (5, 9608)])
def test_a_table_over_objects_has_one_entry_per_digraph(objects: int, wanted: int) -> None:
    graph = digraphs_graph(objects)
    layout = compile_plan(graph).layout
    largest = layout.region_slice(0)
    assert largest.stop - largest.start == wanted
    assert layout.multiplicity[largest].sum() == 2 ** (objects * (objects - 1))
    assert layout.entry_of[0].shape == (2 ** (objects * (objects - 1)),)


def test_all_symmetries_of_objects_are_used() -> None:
    """Renaming objects by any permutation leaves the entry of a state as it is."""
    graph = digraphs_graph(3)
    layout = compile_plan(graph).layout
    cluster = graph.regions[0].cluster
    entries = layout.entry_of[0].reshape(layout.shapes[0])
    objects = sorted({o for _, args in cluster for o in args})
    for image in permutations(objects):
        renamed = dict(zip(objects, image, strict=True))
        move = [cluster.index((p, tuple(renamed[o] for o in args))) for p, args in cluster]
        np.testing.assert_array_equal(entries.transpose(move), entries)


# --- random models: the same numbers as with full tables


def both_plans(model: Model, domain: dict[str, int], regions: str) -> tuple[Plan, Plan]:
    """The plan with orbits and the one with full tables; hopeless cases are skipped."""
    try:
        graph = build_regions(shatter(model, domain, table_cap=500), regions)
        assume(sum(2 ** len(region.cluster) for region in graph.regions) <= MOST_STATES)
        full = compile_plan(graph, symmetric=False)
        assume(full.layout.belief_entries <= MOST_STATES)
        return compile_plan(graph), full
    except (CapacityError, ContradictionError):
        assume(False)
        raise


def full_tables(plan: Plan, log_beliefs: np.ndarray) -> list[np.ndarray]:
    beliefs = np.exp(log_beliefs)
    return [plan.layout.full_table(k, beliefs, 0.0) for k in range(len(plan.layout.shapes))]


@pytest.mark.slow
@pytest.mark.parametrize("regions", FAMILIES)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes())
def test_flooding_on_orbits(regions: str, model: Model, domain: dict[str, int]) -> None:
    small, full = both_plans(model, domain, regions)
    flooding = Flooding(damping=0.4)
    pairs = zip(flooding.iterates(small), flooding.iterates(full), strict=False)
    for ours, theirs in islice(pairs, 6):
        for own, wanted in zip(full_tables(small, ours), full_tables(full, theirs), strict=True):
            assert own.sum() == pytest.approx(1, abs=1e-12)
            np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-13)
        wanted_log_z = log_z(full, theirs)
        assert log_z(small, ours) == pytest.approx(wanted_log_z, rel=1e-11, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("regions", FAMILIES)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes())
def test_layouts_count_every_alive_state_once(
    regions: str, model: Model, domain: dict[str, int]
) -> None:
    small, full = both_plans(model, domain, regions)
    ours, theirs = small.layout, full.layout
    assert ours.belief_entries <= theirs.belief_entries
    assert ours.message_entries <= theirs.message_entries
    assert set(theirs.multiplicity.tolist()) <= {1}
    assert set(theirs.source_counts.tolist()) <= {1}
    for region in range(len(ours.shapes)):
        alive = ours.entry_of[region] >= 0
        np.testing.assert_array_equal(alive, theirs.entry_of[region] >= 0)
        own = ours.region_slice(region)
        assert ours.multiplicity[own].sum() == alive.sum()
        counts = np.bincount(ours.entry_of[region][alive])
        np.testing.assert_array_equal(ours.multiplicity[own], counts)
        np.testing.assert_array_equal(
            ours.entry_of[region][ours.representatives[region]], np.arange(own.stop - own.start)
        )
    assert small.weights == full.weights
    assert small.log_offset == full.log_offset
    assert small.atom_counts == full.atom_counts


def spread_out(small: Plan, full: Plan, log_beliefs: np.ndarray) -> np.ndarray:
    """Beliefs of orbits as beliefs of single states."""
    tables = full_tables(small, log_beliefs)
    states = [t.ravel()[r] for t, r in zip(tables, full.layout.representatives, strict=True)]
    return np.concatenate(states) if states else np.zeros(0)


def check_minima(small: Plan, full: Plan, solution: Solution) -> None:
    """Minima on orbits are consistent beliefs of full tables, with the same log Z.

    Descent itself needs orbits: full tables are symmetric only if they start so and stay so.
    """
    for point in solution.points:
        if point.verdict.kind is Kind.UNKNOWN:
            continue
        beliefs = spread_out(small, full, point.log_beliefs)
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(beliefs, 1e-300))
        assert log_z(full, logs) == pytest.approx(point.log_z, rel=1e-10, abs=1e-9)
        layout = full.layout
        sums = np.bincount(
            layout.by_target.of, beliefs[layout.sources], minlength=layout.message_entries
        )
        np.testing.assert_allclose(sums, beliefs[layout.children], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("regions", FAMILIES)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(max_rules=2), domain=sizes(3))
def test_descent_on_orbits(regions: str, model: Model, domain: dict[str, int]) -> None:
    small, full = both_plans(model, domain, regions)
    assume(small.layout.belief_entries <= 60)
    check_minima(small, full, Descent(random=1, iterations=50)(small))


@pytest.mark.parametrize(
    ("text", "people", "regions"),
    [
        ("p(person)\n1.5 p(x) <=> p(y) | x != y", 7, "intersections"),
        ("r(person, person)\n0.5 r(x,y) ^ r(y,z) => r(x,z) | distinct", 8, "intersections"),
        ("r(person, person)\n0.5 r(x,y) ^ r(y,z) => r(x,z) | distinct", 8, "objects:3"),
        ("r(person, person)\nr(x,y) => r(y,x).\n0.7 r(x,y) ^ r(y,z) => r(x,z)", 6, "subsets"),
        (
            "m(person) : {a, b, c}\nparfactor m(x), m(y) | x != y : [3, 1, 0, 1, 3, 1, 0, 1, 3]",
            6,
            "intersections",
        ),
    ],
)
def test_minima_on_orbits(text: str, people: int, regions: str) -> None:
    graph = build_regions(shatter(parse(text), {"person": people}), regions)
    small, full = compile_plan(graph), compile_plan(graph, symmetric=False)
    assert small.layout.belief_entries < full.layout.belief_entries
    solution = Descent()(small)
    assert any(p.verdict.kind is not Kind.UNKNOWN for p in solution.points)
    check_minima(small, full, solution)
