"""No world scores above the bounds, and bounds are exact where a proof exists."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from all_worlds import placed_beliefs
from liftgbp.evidence import Problem
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import NormalModel, shatter
from liftgbp.model.example_models import FOLDER
from liftgbp.model.model import Model
from liftgbp.plan import compile_plan
from liftgbp.support.errors import CapacityError, ContradictionError
from liftgbp.worlds import Budget
from liftgbp.worlds.proofs.cutting_rounds import cutting_rounds
from liftgbp.worlds.proofs.score_program import ScoreProgram, score_program
from liftgbp.worlds.proofs.tight_world import tight_bound
from liftgbp.worlds.proofs.upper import upper_bound
from worlds.drawn_worlds import Case, cases, random_world
from worlds.exhaustive import largest_score

ROUNDING = Fraction(1, 10**9)
"""Listed scores are sums of doubles."""


def program_of(normal: NormalModel, family: str = "intersections") -> ScoreProgram:
    graph = build_regions(normal, family)
    return score_program(graph, compile_plan(graph).layout)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.sampled_from(["quick", "normal"]), st.integers(0, 2**30))
def test_no_listed_world_is_better(case: Case, effort: str, seed: int) -> None:
    """Also where the bound is computed from an arbitrary world instead of the best one."""
    model, domain, facts = case
    try:
        problem = Problem.of(model, facts, domain)
        best = largest_score(problem)
        assume(best is not None and best > -math.inf)
        assert best is not None
        normal = shatter(model, domain, evidence=facts, table_cap=2**9)
        budget = Budget(effort=effort)
        upper = upper_bound(normal, budget)
    except (CapacityError, ContradictionError):
        assume(False)
        return
    least = Fraction(best) - ROUNDING * max(1, abs(Fraction(best)))
    assert upper is None or upper >= least
    world = random_world(normal, random.Random(seed))
    beliefs = partial(placed_beliefs, normal, world)
    guided = upper_bound(normal, budget, Fraction(best), beliefs)
    assert guided is None or guided >= least
    exact = tight_bound(program_of(normal), beliefs)
    assert exact is None or exact >= least


def pairs(number: int) -> int:
    """Ordered pairs across halves."""
    return 2 * (number**2 // 4)


def three_parts(number: int) -> int:
    """Ordered pairs across three parts that are as equal as can be."""
    sizes = [(number + k) // 3 for k in range(3)]
    return number**2 - sum(own**2 for own in sizes)


def cycles(number: int) -> int:
    return (number**3 - (1 if number % 2 else 4) * number) // 8


EXTREMAL = {
    "couples": lambda n: 2 * (n // 2),
    "cycles": cycles,
    "no-four-friends": three_parts,
    "no-shortcuts": pairs,
    "no-triangles": pairs,
    "one-step": lambda n: n**2 // 4,
    "opposites": pairs,
    "pairs": lambda n: 2 * (n // 2),
    "ranking": lambda n: n * (n - 1) * (n - 2),
    "three-teams": three_parts,
    "two-sides": pairs,
}


def example(name: str, number: int) -> tuple[Model, dict[str, int]]:
    model = liftgbp.load(FOLDER / "worlds" / f"{name}.mln")
    return model, dict.fromkeys(model.sorts, number)


def test_all_examples_are_there() -> None:
    assert set(EXTREMAL) == {path.stem for path in (FOLDER / "worlds").glob("*.mln")}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREMAL)
@pytest.mark.parametrize("number", [1000, 10**9, 10**9 + 1, 10**18])
def test_extremal_worlds_are_proven(name: str, number: int) -> None:
    world = liftgbp.best_world(*example(name, number))
    assert world.exact_score == EXTREMAL[name](number)
    assert world.optimum.upper == world.exact_score
    assert world.proven


# Bounds at 1000 objects by consistent beliefs alone, and with count cuts.
WITHOUT_CUTS = {
    "two-sides": ("intersections", 999_000),
    "no-triangles": ("objects:3", 666_000),
    "no-four-friends": ("intersections", 832_500),
    "cycles": ("objects:3", 498_501_000),
    "couples": ("objects:3", 333_000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT_CUTS)
def test_cuts_are_needed(name: str) -> None:
    family, plain = WITHOUT_CUTS[name]
    program = program_of(shatter(*example(name, 1000)), family)
    assert cutting_rounds(program, Budget(), None, most_rounds=1).bound == plain
    assert upper_bound(shatter(*example(name, 1000)), Budget()) == EXTREMAL[name](1000)


@pytest.mark.parametrize("name", EXTREMAL)
@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.1, 10.0])
def test_any_multipliers_give_a_bound(name: str, noise: float) -> None:
    """However wrong a solver is, what is evaluated in fractions is a bound."""
    number = 12
    program = program_of(shatter(*example(name, number)), "intersections")
    generator = np.random.default_rng(0)
    for _ in range(5):
        beliefs = generator.dirichlet(np.ones(len(program.energy)))
        cuts = [cut for looks in program.looks for cut in looks.violated(beliefs)]
        numbers = generator.normal(scale=noise, size=len(program.equations))
        equations = {k: Fraction(own) for k, own in enumerate(numbers.tolist())}
        weights = np.abs(generator.normal(scale=noise, size=len(cuts))).tolist()
        used = [(cut, Fraction(own)) for cut, own in zip(cuts, weights, strict=True)]
        assert program.bound(equations, used) >= EXTREMAL[name](number)


@pytest.mark.parametrize("name", ["no-triangles", "cycles", "couples"])
def test_a_wrong_solver_gives_a_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers with random noise: the bound is worse, and still a bound."""
    from scipy import optimize

    generator = np.random.default_rng(1)
    solve = optimize.linprog

    def noisy(*args: object, **options: object) -> optimize.OptimizeResult:
        found = solve(*args, **options)
        for part in (found.eqlin, found.ineqlin):
            part.marginals = part.marginals + generator.normal(
                scale=0.01, size=part.marginals.shape
            )
        return found

    normal = shatter(*example(name, 1000))
    right = upper_bound(normal, Budget())
    monkeypatch.setattr(optimize, "linprog", noisy)
    assert upper_bound(normal, Budget()) >= right == EXTREMAL[name](1000)


TWO_KINDS = """
vip(person)
friends(person, person)
!friends(x,x).
friends(x,y) => friends(y,x) | x != y.
!(friends(x,y) ^ friends(y,z) ^ friends(x,z)) | distinct.
1 friends(x,y) | x != y
0.5 vip(x) ^ friends(x,y) | x != y
"""
SIDES = """
vip(person)
left(person)
1 !(left(x) <=> left(y)) | x != y
0.5 vip(x) ^ left(x)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("important", "others"), [(3, 5), (33, 67), (100, 100)])
def test_classes_of_evidence(important: int, others: int) -> None:
    """Cuts count over all classes. Truth: all ways to put some of each class on the left.

    Without triangles, of two people who are no friends one may live like the other one without
    loss; what that ends with are two sides with all friendships across (Zykov 1949).
    """
    facts = [f"vip(A{k})" for k in range(important)] + [f"!vip(B{k})" for k in range(others)]
    total = important + others
    ways = [
        (Fraction(a), Fraction(a + b), Fraction(total - a - b))
        for a in range(important + 1)
        for b in range(others + 1)
    ]
    across = max(
        2 * left * right + (a * right + (important - a) * left) / 2 for a, left, right in ways
    )
    sides = max(2 * left * right + a / 2 for a, left, right in ways)
    for text, best in ((TWO_KINDS, across), (SIDES, sides)):
        problem = Problem.of(liftgbp.parse(text), "\n".join(facts), {"person": total})
        normal = shatter(problem.model, {"person": total}, evidence=problem.evidence)
        assert upper_bound(normal, Budget()) == best
