"""The upper bound is the maximum of the program that one writes down by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

import liftgbp
from liftgbp.lift.regions import LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.methods.bounding.decomposition import Program, common_energy, program_of
from liftgbp.methods.bounding.looks_in_regions import looks_of
from liftgbp.methods.bounding.maximise import maximise
from liftgbp.methods.bounding.tightening import tightened
from liftgbp.model.model import Model
from liftgbp.plan import compile_plan
from liftgbp.solve.energy import polytope

SMOKERS = """
friends(person, person)
smokes(person)
{} friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""


def prepared(model: Model, people: int, regions: str = "intersections") -> tuple[Program, int]:
    graph = build_regions(shatter(model, {"person": people}), regions)
    plan = compile_plan(graph)
    return program_of(graph, plan), sum(plan.order_counts)


def cut(model: Model, people: int, regions: str, rounds: int = 3) -> Program:
    """The program with count cuts."""
    graph = build_regions(shatter(model, {"person": people}), regions)
    plan = compile_plan(graph)
    looks = looks_of(graph, plan.layout, polytope(plan.layout))
    program, _ = tightened(program_of(graph, plan), looks, rounds, -math.inf)
    assert len(program.cuts)
    return program


def upper(model: Model, people: int, regions: str = "intersections") -> float:
    """The upper bound, less the atoms that no factor touches."""
    graph = build_regions(shatter(model, {"person": people}), regions)
    program, atoms = prepared(model, people, regions)
    return float(common_energy(graph)) + atoms * maximise(program).bound


def entropy(table: np.ndarray) -> float:
    alive = table[table > 0]
    return -float((alive * np.log(alive)).sum())


@pytest.mark.parametrize(("people", "weight"), [(2, 1.4), (5, 1.4), (5, -0.7), (30, 0.1)])
def test_friends_smokers_by_hand(people: int, weight: float) -> None:
    """N(N-1) (E + H(friends | smokes, smokes)) + H(smokes) + (N-1) H(smokes | smokes).

    Given who smokes, friends are independent, so that one parameter is left for each of the three
    kinds of pairs of people: who smokes in a pair is the same seen from either side.
    """
    pairs = people * (people - 1)
    # The log of the sum over friends(x,y) for smokes(x), smokes(y).
    free = {
        (x, y): math.log(sum(math.exp(weight * (not (f and x and not y))) for f in (0, 1)))
        for x, y in product((0, 1), repeat=2)
    }

    def value(both: float, one: float) -> float:
        table = np.array([[1 - both - 2 * one, one], [one, both]])
        if table.min() < 0:
            return -math.inf
        single = table.sum(axis=1)
        energy = sum(table[key] * own for key, own in free.items())
        chain = entropy(single) + (people - 1) * (entropy(table) - entropy(single))
        return pairs * energy + chain

    grid = [(b, o) for b in np.linspace(0, 1, 81) for o in np.linspace(0, 0.5, 81)]
    best = max(grid, key=lambda point: value(*point))
    ended = minimize(
        lambda point: -value(*point),
        best,
        method="Nelder-Mead",
        options={"xatol": 1e-12, "fatol": 1e-13},
    )
    wanted = -float(ended.fun)
    found = upper(liftgbp.parse(SMOKERS.format(weight)), people)
    assert found == pytest.approx(wanted, rel=1e-9)
    assert found >= wanted - 1e-12 * abs(wanted)


@pytest.mark.parametrize("people", [1, 4, 10**9])
def test_independent_atoms_are_exact(people: int) -> None:
    model = liftgbp.parse("p(person)\n0.7 p(x)")
    bounds = liftgbp.bounds(model, {"person": people})
    exact = people * math.log1p(math.exp(0.7))
    assert bounds.lower == pytest.approx(exact, rel=1e-11)
    assert bounds.upper == pytest.approx(exact, rel=1e-11)
    assert bounds.lower <= bounds.upper


TRIANGLES = liftgbp.parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")
SIDES = liftgbp.parse("left(person)\n0.6 !(left(x) <=> left(y)) | x != y")
OPPOSITES = liftgbp.parse(
    "likes(person, person)\nleft(person)\n"
    "1 likes(x,y) | x != y\n-3 likes(x,y) ^ (left(x) <=> left(y)) | x != y"
)


@pytest.mark.parametrize(
    "program",
    [
        prepared(liftgbp.parse(SMOKERS.format(1.4)), 4)[0],
        prepared(TRIANGLES, 4)[0],
        prepared(TRIANGLES, 6, "objects:3")[0],
        prepared(
            liftgbp.parse("p(person)\nq(person)\np(x) => q(x).\n-1 p(x) ^ q(y) | x != y"),
            5,
            "objects:2",
        )[0],
        cut(SIDES, 5, "objects:2"),
        cut(SIDES, 6, "objects:3"),
        cut(OPPOSITES, 5, "intersections"),
    ],
)
def test_another_optimiser_finds_the_same_maximum(program: Program) -> None:
    """SciPy maximises the same concave function, with the least entropy of each step."""
    conditionals = program.conditionals
    ends = np.append(conditionals.starts, len(conditionals.joint))

    def entropy_of(choice: int, b: np.ndarray) -> float:
        """H(atom, given) - H(given), from the tables of joint states."""
        rows = slice(ends[choice], ends[choice + 1])
        joint, times = conditionals.joint[rows] @ b, conditionals.times[rows]
        group = conditionals.group[rows] - conditionals.group[rows].min()
        given = np.bincount(group, joint)[group]
        alive = joint > 0
        ratio = np.log(joint[alive] / given[alive])
        return -float((times[alive] * joint[alive]) @ ratio)

    def value(b: np.ndarray) -> float:
        b = np.maximum(b, 0.0)
        entropies = [entropy_of(choice, b) for choice in program.chosen]
        least = [
            min(own for own, of in zip(entropies, program.step, strict=True) if of == step)
            for step in range(len(program.shares))
        ]
        return float(program.energy @ b + program.shares @ least)

    constraints = [LinearConstraint(program.matrix, program.right_side, program.right_side)]
    if len(program.cuts):
        constraints.append(LinearConstraint(program.cuts, 0, math.inf))
    start = np.full(len(program.energy), 1.0) / program.multiplicity.sum()
    ended = minimize(
        lambda b: -value(b),
        start,
        method="SLSQP",
        bounds=[(0, 1)] * len(start),
        constraints=constraints,
        options={"ftol": 1e-13, "maxiter": 500},
    )
    found = maximise(program)
    reached = value(ended.x)
    assert np.abs(program.matrix @ ended.x - program.right_side).max() < 1e-8
    assert found.bound >= reached - 1e-7
    assert found.bound == pytest.approx(reached, abs=1e-4)
    assert found.value <= found.bound + 1e-7


@pytest.mark.parametrize(
    "program", [prepared(TRIANGLES, 10, "objects:3")[0], cut(OPPOSITES, 10, "objects:2")]
)
def test_any_multipliers_and_conditionals_give_a_bound(program: Program) -> None:
    """A proof does not depend on how well the program was solved."""
    best = maximise(program).value
    generator = np.random.default_rng(0)
    conditionals = program.conditionals
    for _ in range(50):
        b = generator.exponential(size=len(program.energy))
        slopes = conditionals.slopes(conditionals.beliefs(b)[1])
        weights = generator.exponential(size=len(program.step))
        multipliers = generator.normal(size=len(program.matrix))
        cut_weights = generator.exponential(size=len(program.cuts))
        assert program.bound(weights, slopes, multipliers, cut_weights) >= best


def test_steps_count_all_atoms() -> None:
    for people in (3, 10, 10**9):
        graph = build_regions(shatter(TRIANGLES, {"person": people}), "objects:3")
        assert isinstance(graph, LiftedRegionGraph)
        assert sum(graph.order_counts) == people * (people - 1)
