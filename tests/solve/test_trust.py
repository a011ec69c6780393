"""One notion of trust: what each solver says about answers whose truth is known."""

from __future__ import annotations

import ast
import gc
import inspect
import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import liftgbp
from liftgbp import Descent, Flooding, load, parse
from liftgbp.lift.regions import build_regions, parse_family
from liftgbp.lift.shatter import shatter
from liftgbp.methods.series import SharedPlans
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile, compile_plan
from liftgbp.report.wording import sentence
from liftgbp.solve import (
    NO_BLOCKS,
    Auto,
    Finding,
    Flaw,
    Kind,
    Remedy,
    Solution,
    Status,
    Tolerances,
    energy,
    tolerances,
)
from liftgbp.solve.verdict import Candidate, classify, curvatures_at

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
CHAIN = "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct"
SOLVERS = [Flooding(), Descent(), Auto()]


def plan_of(text: str, people: int, regions: str = "intersections") -> Plan:
    return compile_plan(build_regions(shatter(parse(text), {"person": people}), regions))


def what_and_where(finding: Finding | None) -> tuple[Flaw | Status, int | None] | None:
    return None if finding is None else (finding.kind, finding.region)


def is_consistent(solution: Solution) -> None:
    assert solution.sound == (solution.flaw is None)
    if solution.sound:
        assert solution.converged
        assert solution.verdict.sound


@pytest.mark.parametrize("people", [10, 20, 1000, 10**6])
def test_flooding_on_a_saddle_is_not_trusted(people: int) -> None:
    """The undecided point is a saddle, plausible or not: in truth nearly all smoke or nobody."""
    solution = Flooding()(plan_of(FRIENDS_SMOKERS, people))
    is_consistent(solution)
    assert solution.status is Status.CONVERGED
    assert solution.verdict.kind is Kind.SADDLE
    assert not solution.sound
    assert solution.flaw == Finding(Flaw.SADDLE)
    assert solution.remedies == (Remedy.DESCENT,)
    # And what it advises works.
    assert Descent()(plan_of(FRIENDS_SMOKERS, people)).sound


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(
    ("text", "people"),
    [(FRIENDS_SMOKERS, 3), (FRIENDS_SMOKERS, 10), (CHAIN, 5), (CHAIN, 10**9)],
)
def test_reason_and_trust_go_together(solver: Auto, text: str, people: int) -> None:
    is_consistent(solver(plan_of(text, people)))


def test_the_chain_over_a_billion_people_says_why_it_is_not_trusted() -> None:
    solution = Descent()(plan_of(CHAIN, 10**9))
    assert solution.status is Status.NO_MINIMUM
    assert not solution.sound
    assert solution.doubt is not None
    assert solution.flaw is solution.doubt


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_one_region_that_holds_everything_is_exact_and_trusted(solver: Auto) -> None:
    """Its table has 2 ** 15 entries: too many for a Hessian, which nobody needs here."""
    atoms = " v ".join(f"p{k}" for k in range(15))
    model = parse("\n".join(f"p{k}" for k in range(15)) + f"\n1 {atoms}")
    plan = compile_plan(build_regions(shatter(model, {})))
    assert plan.layout.belief_entries == 2**15 > Tolerances().most_unknowns
    solution = solver(plan)
    assert solution.sound
    assert solution.verdict.kind is Kind.MINIMUM
    exact = np.log((2**15 - 1) * np.e + 1)
    assert solution.log_z == pytest.approx(exact, rel=1e-12)


def test_what_is_too_large_for_a_hessian_says_so() -> None:
    plan = plan_of(FRIENDS_SMOKERS, 3)
    solution = Flooding(tolerances=Tolerances(most_unknowns=3))(plan)
    assert solution.verdict.kind is Kind.UNCHECKED
    assert solution.verdict.unknown == Finding(Flaw.TOO_LARGE)
    assert "Hessian" in str(solution.verdict)
    assert solution.sound


def test_an_answer_below_what_independent_atoms_reach_is_refused() -> None:
    plan = plan_of(FRIENDS_SMOKERS, 3)
    beliefs = np.exp(Flooding()(plan).log_beliefs)
    candidate = Candidate(plan, beliefs, log_z_bound=11.0, residual=0.0)
    (verdict,) = classify([candidate], Tolerances())
    assert verdict.sound
    assert verdict.shortfall(10.0) == 1.0
    assert verdict.shortfall(11.0) == 0.0
    solution = replace(Flooding()(plan), judged=verdict, log_z=10.0)
    assert not solution.sound
    assert solution.flaw == Finding(Flaw.TOO_LIGHT, (1.0,), by=NO_BLOCKS)
    assert sentence(solution.flaw) == "log Z is 1 below what independent atoms reach"
    assert replace(solution, log_z=11.0).sound


# --- batches


@pytest.mark.parametrize("regions", ["intersections", "bethe", "objects:2"])
@pytest.mark.parametrize("name", ["friends-smokers", "transitive", "chain", "movies", "moods"])
def test_a_batch_is_judged_like_its_points(name: str, regions: str) -> None:
    """Points of many domain sizes, with tables that fit into memory together or one at a time."""
    model, shared = load(MODELS / f"{name}.mln"), SharedPlans(parse_family(regions))
    sizes = (10, 20, 1000, 10**6, 10**9)
    plans = [
        shared.prepare(shatter(model, dict.fromkeys(model.sorts, size))).plan for size in sizes
    ]
    assert len({id(plan.layout) for plan in plans}) == 1
    logs = np.array([own.log_beliefs for own in Flooding(iterations=50).solve_all(plans)])
    curvatures = curvatures_at(plans, logs, Tolerances())
    candidates = [
        Candidate(*one, log_z_bound=0.0, residual=0.0, lowest=lowest, unsettled=unsettled)
        for *one, (lowest, unsettled) in zip(plans, np.exp(logs), curvatures, strict=True)
    ]
    alone = [classify([own], Tolerances())[0] for own in candidates]
    for most in (Tolerances().most_numbers, 1):
        together = classify(candidates, Tolerances(most_numbers=most))
        for one, other in zip(alone, together, strict=True):
            assert one.kind is other.kind
            assert what_and_where(one.implausible) == what_and_where(other.implausible)
            # Sums may be taken in another order.
            assert other.entropy == one.entropy
            assert other.entropy_bound == pytest.approx(one.entropy_bound, rel=1e-13)
            assert other.count_margin == pytest.approx(one.count_margin, rel=1e-13, abs=1e-13)


def test_nothing_to_judge() -> None:
    assert classify([], Tolerances()) == []


# --- tolerances


def test_every_tolerance_says_what_it_is_for() -> None:
    (definition,) = ast.parse(inspect.getsource(Tolerances)).body
    assert isinstance(definition, ast.ClassDef)
    described = {
        field.target.id: text.value.value
        for field, text in zip(definition.body[1:], definition.body[2:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }
    assert set(described) == {field.name for field in fields(Tolerances)}
    assert all(len(text) > 10 for text in described.values())


def test_every_tolerance_is_used() -> None:
    room = Path(tolerances.__file__).parent
    texts = [p.read_text(encoding="utf-8") for p in room.glob("*.py") if p.name != "tolerances.py"]
    unused = [f.name for f in fields(Tolerances) if not any(f".{f.name}" in t for t in texts)]
    assert unused == []


@pytest.mark.slow
def test_no_number_is_compared_with_outside_tolerances() -> None:
    """Small constants in code are thresholds without a name."""
    room = Path(tolerances.__file__).parent
    found = [
        (path.name, node.lineno, node.value)
        for path in room.glob("*.py")
        if path.name != "tolerances.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, float)
        and 0 < abs(node.value) < 1e-3
    ]
    defaults = [("descent.py", 1e-12), ("flooding.py", 1e-12)]
    assert sorted((name, value) for name, _, value in found) == defaults


# --- polytopes that are kept


@pytest.fixture
def _no_kept_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    compile._kept.clear()
    gc.collect()
    monkeypatch.setattr(compile, "MOST_KEPT", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_kept_layouts")
def test_kept_polytopes_take_little_memory_and_go_with_their_layouts() -> None:
    plans = [plan_of(FRIENDS_SMOKERS, people) for people in (5, 6, 7)]
    found = [energy.polytope(plan.layout) for plan in plans]
    assert [energy.polytope(plan.layout) for plan in plans] == found
    assert sum(own.nbytes for own in energy._kept.values()) <= energy.MOST_KEPT
    before = len(energy._kept)
    del plans, found
    gc.collect()
    assert len(energy._kept) <= before - 3


@pytest.mark.slow
@pytest.mark.usefixtures("_no_kept_layouts")
def test_polytopes_beyond_the_limit_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = [plan_of(FRIENDS_SMOKERS, people) for people in (5, 6)]
    size = energy.polytope(plans[0].layout).nbytes
    monkeypatch.setattr(energy, "MOST_KEPT", size)
    energy.polytope(plans[1].layout)
    assert list(energy._kept) == [plans[1].layout.structure]
    monkeypatch.setattr(energy, "MOST_KEPT", 0)
    assert energy.polytope(plans[0].layout).nbytes == size
    assert list(energy._kept) == []


# --- points that are nearly the same


@pytest.mark.slow
def test_a_world_is_not_counted_twice() -> None:
    """A second stationary point lies 3e-5 beside the best one, with tiny beliefs for small ones."""
    text = """
    person = {Anna}
    s(person, thing)
    t(person, person, thing)
    rain
    parfactor t(Anna,Anna,a), s(x,b), t(Anna,Anna,b) | distinct : [0, 1, 2, 0.5, 2, 2, 1, 0.5]
    0.7 rain = false => s(z,a)
    """
    model, sizes = parse(text), {"person": 10, "thing": 3}
    exact = reference.exact(reference.ground(model, sizes), cap=2**20)
    solution = Descent()(compile_plan(build_regions(shatter(model, sizes))))
    assert solution.sound
    assert solution.log_z == pytest.approx(exact.log_z, abs=1e-6)


def test_a_part_of_a_mixture_is_not_counted_twice() -> None:
    """Where nobody has p, all rules hold, with rain or without it; nothing else weighs as much."""
    people, things = 1000, 50
    text = """
    p(person)
    rain
    r(person, person)
    s(person, thing)
    0.7 (rain => !r(x,y)) => (p(x) => !s(z,a))
    """
    answers = liftgbp.infer(
        liftgbp.parse(text), {"person": people, "thing": things}, effort="quick"
    )
    assert answers.flaw is None
    assert answers.marginal("rain") == pytest.approx(0.5, abs=1e-9)
    free = people**2 + people * things + 1
    log_z = 0.7 * people**3 * things + free * math.log(2)
    assert answers.log_z == pytest.approx(log_z, rel=1e-12)


def test_mixtures_that_overlap_count_each_world_once() -> None:
    """Three worlds: Anna likes nobody, with rain or without it; or all like Anna, without rain.

    Everybody has p and nobody has s, which makes no other worlds, but regions that see more.
    """
    people, things = 1000, 50
    text = """
    person = {Anna, Bob}
    rain
    p(person)
    q(thing) : {low, mid, high}
    likes(person, person)
    s(person, thing)
    -1.2 !p(x) ^ (!(q(a) = low) => rain) | distinct
    parfactor p(y), s(x,a) | distinct : [0.5, 0.5, 2, 1]
    0.3 (!likes(x,Anna) v rain) => (likes(Anna,y) => likes(x,z))
    """
    answers = liftgbp.infer(
        liftgbp.parse(text), {"person": people, "thing": things}, effort="quick"
    )
    assert answers.flaw is None
    assert answers.marginal("rain") == pytest.approx(1 / 3, abs=1e-6)
    assert answers.marginal("likes(Anna,Anna)") == pytest.approx(1 / 3, abs=1e-6)
    free = people * (people - 1) * (things + 1)
    log_z = 0.3 * people**3 + free * math.log(2) + (things + 1) * math.log(3)
    assert answers.log_z == pytest.approx(log_z, abs=1e-4)
