"""Flooding: verdicts on known models, and the reference's numbers at every iteration."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from liftgbp import infer, parse, prepare
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve import Flooding, Status, log_z
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from random_models import models, sizes

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
TRANSITIVE = "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct"
CHAIN = "r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct"


def plan_of(text: str, people: int, regions: str = "intersections") -> Plan:
    return compile_plan(build_regions(shatter(parse(text), {"person": people}), regions))


# --- verdicts


@pytest.mark.parametrize(
    ("text", "people", "damping", "wanted"),
    [
        (FRIENDS_SMOKERS, 4, 0.5, Status.CONVERGED),
        (FRIENDS_SMOKERS, 10**9, 0.5, Status.CONVERGED),
        (TRANSITIVE, 4, 0.5, Status.CONVERGED),
        (TRANSITIVE, 6, 0.5, Status.NOT_CONVERGED),
        (CHAIN, 5, 0.5, Status.DIVERGED),
        (CHAIN, 5, 0.9, Status.CONVERGED),
    ],
)
def test_verdicts(text: str, people: int, damping: float, wanted: Status) -> None:
    solution = Flooding(damping=damping)(plan_of(text, people))
    assert solution.status is wanted
    assert solution.converged == (wanted is Status.CONVERGED)
    assert solution.sound == (solution.flaw is None)
    assert len(solution.trace) - 1 == solution.iterations <= 500
    assert solution.trace[-1] == solution.residual


def test_a_diverged_run_ends_without_warnings() -> None:
    solution = Flooding(damping=0.0, iterations=100_000)(plan_of(CHAIN, 8))
    assert solution.status is Status.DIVERGED
    assert solution.iterations < 100_000


@pytest.mark.slow
def test_a_run_with_undefined_messages_ends_without_warnings() -> None:
    """Numbers beyond the range of floats and vanishing ones, in the same messages."""
    model = parse(
        "e(place, person, place)\np(person, place) : {low, mid}\n"
        "-2.3 ((e(b_,u,c_) => e(y_,x,x_)) => p(x,z_) = low)"
    )
    plan = prepare(model, {"person": 10**100, "place": 2}).plan
    assert Flooding(adaptive=True)(plan).status is not Status.CONVERGED


def test_slow_runs_may_use_up_their_iterations() -> None:
    """Below the tolerance of a run, but good enough for a person."""
    plan = plan_of(FRIENDS_SMOKERS, 5)
    enough = Flooding(tol=1e-9)(plan)
    assert enough.status is Status.CONVERGED
    slow = Flooding(iterations=enough.iterations + 1, tol=1e-300)(plan)
    assert slow.iterations == enough.iterations + 1
    assert slow.status is Status.CONVERGED
    assert Flooding(iterations=5)(plan).status is Status.NOT_CONVERGED


def test_the_trace_falls_on_an_easy_model() -> None:
    trace = Flooding()(plan_of(FRIENDS_SMOKERS, 50)).trace
    assert trace[-1] <= 1e-12 < trace[-2]
    assert np.all(np.diff(trace[3:]) < 0)


def test_one_iteration_is_one_update() -> None:
    plan = plan_of(FRIENDS_SMOKERS, 5)
    solution = Flooding(iterations=1)(plan)
    _, after_one = islice(Flooding().iterates(plan), 2)
    np.testing.assert_array_equal(solution.log_beliefs, after_one)
    assert solution.iterations == len(solution.trace) - 1 == 1


def test_iterates_are_the_iterations_of_a_run() -> None:
    plan = plan_of(TRANSITIVE, 5)
    beliefs = list(islice(Flooding(damping=0.3).iterates(plan), 8))
    for count, wanted in list(enumerate(beliefs))[1:]:
        found = Flooding(damping=0.3, iterations=count)(plan).log_beliefs
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("p(person)\n1 p(x)", 0),
        ("p(person)\n1 p(x) ^ p(y) | x != y", 2),
        (FRIENDS_SMOKERS, 3),
        ("p(person)\n1 p(x) ^ p(y) ^ p(z) ^ p(u) | distinct", 4),
    ],
)
def test_a_run_goes_through_all_levels_before_it_may_end(text: str, levels: int) -> None:
    plan = plan_of(text, 20)
    assert plan.layout.levels == levels
    assert Flooding(tol=1e300)(plan).iterations == 2 * levels
    early = Flooding(tol=1e300, iterations=max(1, 2 * levels - 1))(plan)
    assert early.converged == (levels == 0)


def test_results_are_read_only() -> None:
    solution = Flooding()(plan_of(FRIENDS_SMOKERS, 5))
    assert not solution.log_beliefs.flags.writeable
    assert not solution.trace.flags.writeable


def test_progress_is_reported_before_each_update() -> None:
    seen: list[tuple[str, int, int]] = []
    solution = Flooding(iterations=7)(plan_of(TRANSITIVE, 6), lambda *step: seen.append(step))
    assert seen == [("passing messages", k, 7) for k in range(1, 8)]
    assert solution.iterations == 7


@pytest.mark.parametrize(
    "options",
    [
        {"damping": 1.0},
        {"damping": -0.1},
        {"damping": math.nan},
        {"damping": math.inf},
        {"iterations": 0},
        {"iterations": -5},
        {"tol": 0.0},
        {"tol": -1e-9},
        {"tol": math.nan},
    ],
)
def test_bad_options(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        Flooding(**options)  # type: ignore[arg-type]


def test_beliefs_that_floats_cannot_hold() -> None:
    """Three atoms of each person in a chain, so that beliefs are exact; e^-800 is zero as a float.

    Each half of the chain adds its own factor to the probability of the atom in the middle.
    """
    text = "p(person)\nq(person)\nr(person)\n-800 p(x)\n0.5 p(x) ^ q(x)\n0.7 p(x) ^ r(x)"
    plan = plan_of(text, 3, "bethe")
    found = Flooding()(plan)
    assert found.status is Status.CONVERGED
    wanted = -800 + math.log((1 + math.exp(0.5)) / 2) + math.log((1 + math.exp(0.7)) / 2)
    region = plan.layout.shapes.index((2,))
    logs = found.log_beliefs[plan.layout.region_slice(region)]
    assert logs.min() == pytest.approx(wanted, abs=1e-10)


# --- verdicts for large domains

POLARISED = "p(person)\n2 p(a) ^ p(b) | a != b\n"


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize("people", [10**3, 10**9, 10**12, 10**16])
def test_a_large_part_does_not_excuse_another_part(people: int) -> None:
    """The log beliefs of people are huge and coarse; those of five things are neither."""
    things = TRANSITIVE.replace("person", "thing")
    alone = infer(parse(things), {"thing": 5}, solver=Flooding(damping=0.8), effort="quick")
    beside = infer(
        parse(POLARISED + things),
        {"thing": 5, "person": people},
        solver=Flooding(damping=0.8),
        effort="quick",
    )
    # With more people, digits of their own messages are lost, and the status says so.
    assert beside.status is (Status.CONVERGED if people <= 10**9 else Status.IMPRECISE)
    assert beside.marginal("r(x,y)") == pytest.approx(alone.marginal("r(x,y)"), abs=1e-11)


def mean_field(log_odds: Callable[[float], float]) -> float:
    """The solution of p = 1 / (1 + exp(-log_odds(p))), the limit for many people."""
    p = 1.0
    for _ in range(500):
        p = 1 / (1 + math.exp(-log_odds(p)))
    return p


WEAK = {
    "pairs": ("p(person)\n2/|person| p(x) ^ p(y) | x != y", "p(x)", lambda p: 4 * p),
    # Summing over friendship leaves half the weight for each pair that differs.
    "friends-smokers": (
        FRIENDS_SMOKERS.replace("1.4", "1.4/|person|") + "0.1 smokes(x)",
        "smokes(x)",
        lambda p: 0.1 + 0.7 * (2 * p - 1),
    ),
    # An atom is the conclusion of one formula and a premise of two.
    "transitive": (
        TRANSITIVE.replace("1.4", "1.4/|person|"),
        "r(x,y)",
        lambda p: 1.4 * (p * p - 2 * p * (1 - p)),
    ),
}


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize(("people", "tolerance"), [(10**6, 1e-5), (10**9, 1e-5), (10**12, 1e-3)])
@pytest.mark.parametrize(("text", "atom", "log_odds"), WEAK.values(), ids=WEAK)
def test_small_differences_that_act_together_are_no_agreement(
    text: str, atom: str, log_odds: Callable[[float], float], people: int, tolerance: float
) -> None:
    """Messages differ by one part in `people` at first, and so many of them act on each atom."""
    model, limit = parse(text), mean_field(log_odds)
    early = infer(model, {"person": people}, solver=Flooding(iterations=5), effort="quick")
    assert early.marginal(atom) != pytest.approx(limit, abs=tolerance)
    answers = infer(model, {"person": people}, solver=Flooding(), effort="quick")
    assert answers.marginal(atom) == pytest.approx(limit, abs=tolerance)
    # Rounding may keep such a run from settling, but nothing grows.
    assert answers.status is not Status.DIVERGED


# --- numbers


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["intersections", "subsets", "bethe", "objects:2"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(3))
def test_free_energy_of_every_iterate(regions: str, model: Model, domain: dict[str, int]) -> None:
    try:
        ground = reference.ground(model, domain)
        assume(len(ground.factors) <= 80)
        assume(max((len(f.scope) for f in ground.factors), default=0) <= 5)
        ground_graph = reference.ground_regions(ground, regions)
    except (CapacityError, ContradictionError):
        assume(False)
    plan = compile_plan(build_regions(shatter(model, domain), regions))
    both = zip(
        Flooding(damping=0.4).iterates(plan),
        reference.iterates(ground_graph, damping=0.4, iterations=4),
        strict=False,
    )
    for lifted, beliefs in both:
        wanted = reference.log_z(ground_graph, beliefs)
        assert log_z(plan, lifted) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "people", "regions"),
    [
        (FRIENDS_SMOKERS, 4, "intersections"),
        (FRIENDS_SMOKERS, 4, "bethe"),
        (FRIENDS_SMOKERS, 3, "objects:2"),
        (TRANSITIVE, 4, "intersections"),
        (FRIENDS_SMOKERS, 4, "subsets"),
        ("p(person)\nq(person)\n0.3 p(x) ^ q(y)\n!(p(x) ^ q(x)).\n0.2 p(Anna)", 4, "intersections"),
    ],
)
def test_fixed_points_of_the_reference(text: str, people: int, regions: str) -> None:
    model = parse(text)
    answers = infer(
        model, {"person": people}, regions=regions, solver=Flooding(iterations=2000), effort="quick"
    )
    graph = reference.ground_regions(reference.ground(model, {"person": people}), regions)
    run = reference.run(graph, iterations=300, tol=1e-11)
    assert run.residual < 1e-10
    assert answers.log_z == pytest.approx(reference.log_z(graph, run.beliefs), abs=1e-8)
    for predicate in model.predicates.values():
        binary = len(predicate.sorts) == 2
        # The last two objects have no names and are different.
        objects = (people - 2, people - 1)[: 2 if binary else 1]
        wanted = reference.marginal(
            graph, run.beliefs, reference.GroundAtom(predicate.name, objects)
        )
        found = answers.marginal(f"{predicate.name}({'x,y' if binary else 'x'})")
        assert found == pytest.approx(wanted[1], abs=1e-8)


@pytest.mark.parametrize(
    ("text", "domain", "wanted"),
    [
        ("p(thing)", {"thing": 5}, 5 * math.log(2)),
        ("m(thing, thing) : {a, b, c}", {"thing": 4}, 16 * math.log(3)),
        ("rain", {}, math.log(2)),
        ("p(thing)\n2 p(x) v !p(x)", {"thing": 5}, 10 + 5 * math.log(2)),
        ("p(thing)\n0 p(x)", {"thing": 5}, 5 * math.log(2)),
    ],
)
def test_no_factor_at_all(text: str, domain: dict[str, int], wanted: float) -> None:
    answers = infer(parse(text), domain, solver=Flooding(), effort="quick")
    assert answers.status is Status.CONVERGED
    assert answers.result.iterations == 0
    assert answers.log_z == pytest.approx(wanted, abs=1e-12)
    assert all(len(set(row.values.values())) == 1 for row in answers.all)


@pytest.mark.parametrize("damping", [0.0, 0.5, 0.99])
def test_a_single_region_without_messages(damping: float) -> None:
    """Two atoms and one formula: three worlds of weight e, one of weight 1."""
    answers = infer(
        parse("rain\nwet\n1 rain => wet"), solver=Flooding(damping=damping), effort="quick"
    )
    assert answers.status is Status.CONVERGED
    assert (answers.result.iterations, answers.result.residual) == (0, 0.0)
    total = 3 * math.e + 1
    assert answers.log_z == pytest.approx(math.log(total), abs=1e-12)
    assert answers.marginal("wet") == pytest.approx(2 * math.e / total, abs=1e-12)


def test_regions_alone_beside_regions_with_messages() -> None:
    """Rows without exponents among rows with some."""
    answers = infer(
        parse("p(thing)\nrain\n1 p(x) ^ p(y) | x != y\n1 rain"),
        {"thing": 5},
        solver=Flooding(),
        effort="quick",
    )
    assert answers.status is Status.CONVERGED
    assert answers.marginal("rain") == pytest.approx(math.e / (1 + math.e), abs=1e-12)


def test_large_plans_give_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("r(person, person)\np(person)\n1 r(x,y) ^ p(x) => p(y)\n-1 r(x,x)", 9)
    small = Flooding()(plan)
    monkeypatch.setattr("liftgbp.plan.plan.LARGE", 0)
    large = Flooding()(plan)
    assert large.status is small.status is Status.CONVERGED
    np.testing.assert_allclose(large.log_beliefs, small.log_beliefs, atol=1e-10)
    assert large.log_z == pytest.approx(small.log_z, abs=1e-9)
