"""Free beliefs and what follows from them, against dense linear algebra and the other way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import liftgbp
from liftgbp import parse
from liftgbp.plan import compile_plan
from liftgbp.plan.plan import Plan
from liftgbp.regions import build_regions
from liftgbp.shatter import shatter
from liftgbp.solve import newton, problem
from liftgbp.solve.free_beliefs import FreeBeliefs, FreeFactor
from liftgbp.solve.problem import Energy, Polytope, polytope
from liftgbp.solve.retraction import nearest_consistent
from liftgbp.solve.starts import starting_beliefs
from liftgbp.solve.tolerances import Tolerances

RULES = "\n".join(
    [
        *(f"p{k}(person)" for k in range(7)),
        "r(person, person)",
        *(f"0.{k}5 p{k}(x) ^ r(x,y) => p{k - 1}(y) | x != y" for k in range(1, 7)),
        *(f"-0.{k}2 p{k}(x) ^ p{k - 2}(x) => p0(y) | x != y" for k in range(3, 7)),
        *(f"0.1{k} p{k}(x) ^ r(y,x) => p{k - 3}(y) | x != y" for k in range(3, 7)),
        *(f"0.2{k} p{k}(x) ^ p{k - 1}(y) => p{k - 2}(y) | x != y" for k in range(2, 7)),
    ]
)


def rules(people: int = 20) -> Plan:
    return compile_plan(build_regions(shatter(parse(RULES), {"person": people})))


def points(consistent: Polytope, plan: Plan, tilt: float) -> np.ndarray:
    """Consistent beliefs, of which more are tiny the larger the tilt."""
    beliefs = starting_beliefs(plan.layout, random=3, seed=1)[:, consistent.outer]
    tilted = beliefs ** (1 + tilt)
    found, error = nearest_consistent(consistent, tilted, Tolerances())
    assert (error < 1e-9).any()
    return found[error < 1e-9]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return rules()


@pytest.fixture(scope="module")
def consistent(plan: Plan) -> Polytope:
    found = polytope(plan.layout)
    assert found.has_few_free
    return found


# --- which beliefs are free


def some_choice(consistent: Polytope) -> FreeBeliefs:
    return FreeBeliefs(consistent.matrix, consistent.right_side, consistent.to_inner, Tolerances())


def is_right(choice: FreeBeliefs, consistent: Polytope) -> None:
    """Any free beliefs, with those that follow, keep all equations."""
    generator = np.random.default_rng(0)
    b = np.zeros((3, len(consistent.outer)))
    free = generator.normal(size=(3, len(choice.free)))
    b[:, choice.free] = free
    b[:, choice.bound] = choice.constant + free @ choice.across.T
    np.testing.assert_allclose(
        b @ consistent.matrix.T, consistent.right_side[None].repeat(3, 0), atol=1e-11
    )
    change = (b[1:] - b[0]) @ consistent.to_inner.T
    np.testing.assert_allclose((free[1:] - free[0]) @ choice.inner.T, change, atol=1e-11)


def test_as_many_beliefs_are_free_as_equations_leave(consistent: Polytope) -> None:
    choice = some_choice(consistent)
    assert len(choice.bound) == np.linalg.matrix_rank(consistent.matrix)
    assert sorted([*choice.free, *choice.bound]) == list(range(len(consistent.outer)))
    is_right(choice, consistent)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 1000), spread=st.floats(0, 30))
def test_exchanges_keep_equations_and_leave_no_large_belief_free(
    consistent: Polytope, seed: int, spread: float
) -> None:
    generator = np.random.default_rng(seed)
    choice = some_choice(consistent)
    for _ in range(3):
        b = 10 ** -generator.uniform(0, spread, len(consistent.outer))
        b[generator.uniform(size=len(b)) < 0.1] = 0.0
        choice.suit(b)
        depends = choice.across != 0
        assert (
            depends * b[choice.free] <= Tolerances().free_slack * b[choice.bound][:, None]
        ).all()
        is_right(choice, consistent)


def test_copies_change_on_their_own(consistent: Polytope) -> None:
    first = some_choice(consistent)
    before = first.across.copy(), first.free.copy()
    generator = np.random.default_rng(0)
    second = first.copy()
    second.suit(10 ** -generator.uniform(0, 20, len(consistent.outer)))
    assert (second.free != first.free).any()
    np.testing.assert_array_equal(first.across, before[0])
    np.testing.assert_array_equal(first.free, before[1])


# --- the way back to consistent beliefs


@pytest.mark.parametrize("tilt", [0.0, 2.0, 8.0])
def test_changes_are_those_of_least_relative_entropy(
    consistent: Polytope, plan: Plan, tilt: float
) -> None:
    """They are combinations of equations, and make up for what these miss."""
    generator = np.random.default_rng(0)
    for own in points(consistent, plan, tilt):
        b = own * np.exp(0.01 * generator.normal(size=len(own)))
        change = FreeFactor(some_choice(consistent), b, Tolerances()).log_change(b)
        miss = consistent.right_side - consistent.matrix @ b
        np.testing.assert_allclose(consistent.matrix @ (b * change), miss, atol=1e-14)
        multipliers = np.linalg.lstsq(consistent.matrix.T, change, rcond=None)[0]
        np.testing.assert_allclose(consistent.matrix.T @ multipliers, change, atol=1e-8)


# --- Newton steps


def by_equations(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, b: np.ndarray, tolerances: Tolerances
) -> newton.Step:
    """The step of all points at once, by equations instead of free beliefs."""
    with monkeypatch.context() as patched:
        patched.setattr(problem, "FACTORED_FROM", 10**6)
        consistent = problem._polytope(plan.layout)
        assert not consistent.is_large
        return newton.newton_step(Energy([plan] * len(b), consistent, tolerances), b)


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_steps_and_curvatures_are_those_by_equations(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, consistent: Polytope, tilt: float
) -> None:
    b = points(consistent, plan, tilt)
    step = newton.newton_step(Energy([plan] * len(b), consistent, Tolerances()), b)
    wanted = by_equations(monkeypatch, plan, b, Tolerances())
    for name in ("slope", "residual", "lowest", "flattest"):
        np.testing.assert_allclose(getattr(step, name), getattr(wanted, name), rtol=1e-6)
    np.testing.assert_allclose(step.change / b, wanted.change / b, rtol=1e-6, atol=1e-8)


def test_bounds_of_curvatures_are_below_them(plan: Plan, consistent: Polytope) -> None:
    b = points(consistent, plan, 0.5)
    energy = Energy([plan] * len(b), consistent, Tolerances())
    exact, bounded = newton.newton_step(energy, b), newton.newton_step(energy, b, bounds_do=True)
    assert exact.exact.all()
    assert (bounded.lowest <= exact.lowest * (1 + 1e-9)).all()
    same = bounded.exact | (exact.lowest > 0)
    np.testing.assert_allclose(bounded.change[same], exact.change[same], rtol=1e-6, atol=1e-12)


# --- whole answers


def test_answers_do_not_depend_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["r(x,y)", *(f"p{k}(x)" for k in range(7))]

    def marginals() -> list[float]:
        model = parse(RULES)
        answers = liftgbp.infer(model, {"person": 20}, solver=liftgbp.Descent(), effort="quick")
        return [answers.log_z, *(answers.marginal(query) for query in queries)]

    by_free_beliefs = marginals()
    monkeypatch.setattr(Polytope, "has_few_free", False)
    # By equations, a belief of 2e-13 is known to eight digits only.
    np.testing.assert_allclose(by_free_beliefs, marginals(), rtol=1e-11, atol=1e-15)


def test_nothing_is_free_where_hard_formulas_decide_all() -> None:
    number = 160
    declared = [f"p{k}(thing)" for k in range(number)]
    hard = [f"p{k}(x) ^ p{(k + 1) % number}(x)." for k in range(number)]
    plan = compile_plan(build_regions(shatter(parse("\n".join([*declared, *hard])), {"thing": 5})))
    consistent = problem.polytope(plan.layout)
    assert consistent.has_few_free
    assert not len(consistent.choices(1)[0].step.free)
    solution = liftgbp.Descent()(plan)
    assert solution.trusted
    assert solution.log_z == 0


def test_a_step_beyond_the_range_of_floats_is_none() -> None:
    """Curvatures then tell how far to go (four people over 1e100)."""
    plan = rules()
    consistent = polytope(plan.layout)
    start = starting_beliefs(plan.layout, 0, 0)[:1, consistent.outer]
    here = newton._Here(Energy([plan], consistent, Tolerances()), start)
    assert here.convex_step() is not None
    here._metric.root = np.full_like(start, 10.0)
    here._curvatures = SimpleNamespace(solve_as_is=lambda _: np.full_like(start, 1.7e308))
    assert here.convex_step() is None
