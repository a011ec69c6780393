"""Symmetries of models map consistent beliefs to beliefs as good, and minima to minima."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import liftgbp
import random_models
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.plan import Plan, compile_plan, symmetries
from liftgbp.solve import Auto, Descent, Flooding, Kind, Tolerances, log_z
from liftgbp.solve.energy import polytope
from liftgbp.solve.frames import faces_of
from liftgbp.solve.images import Places, completed, images_of
from liftgbp.solve.search import nearest_consistent
from liftgbp.solve.starts import starting_beliefs
from liftgbp.solve.verdict import curvatures_at
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import ContradictionError


def plan_of(text: str, things: int = 10, facts: str = "") -> Plan:
    model = liftgbp.parse(text)
    evidence = liftgbp.parse_evidence(model, facts)
    return compile_plan(build_regions(shatter(model, {"thing": things}, evidence=evidence)))


def random_beliefs(plan: Plan, number: int) -> Iterator[Floats]:
    """Consistent beliefs that have nothing to do with the minima of a plan."""
    consistent = polytope(plan.layout)
    rows = starting_beliefs(plan.layout, number, seed=5)[1:]
    noisy = rows * np.random.default_rng(5).uniform(0.5, 1.5, rows.shape)
    logs = np.log(noisy[:, consistent.outer])
    outer, near = nearest_consistent(faces_of(plan.layout), logs, Tolerances())
    for own in outer[near]:
        yield consistent.all_entries(np.exp(own))


def is_symmetric(plan: Plan, generator: Ints) -> None:
    """Evaluates the free energy: nothing about the symmetry is taken for granted."""
    consistent = polytope(plan.layout)
    assert sorted(generator) == list(range(plan.layout.belief_entries))
    for beliefs in random_beliefs(plan, 3):
        image = beliefs[generator]
        outer = image[consistent.outer]
        assert consistent.matrix @ outer == pytest.approx(consistent.right_side, abs=1e-12)
        assert consistent.all_entries(outer) == pytest.approx(image, abs=1e-12)
        assert log_z(plan, np.log(image)) == pytest.approx(log_z(plan, np.log(beliefs)), rel=1e-10)


FLIP = "p(thing)\n0.4 p(x) => p(y) | x != y"
"""Each pair of things has both implications, so that only agreement counts."""

POTTS = "c(thing) : {red, green, blue}\nparfactor c(x), c(y) | x != y : [2, 1, 1, 1, 2, 1, 1, 1, 2]"

EXCHANGES = {
    "values": (FLIP, ""),
    "three values": (POTTS, ""),
    "predicates": ("p(thing)\nq(thing)\n-0.9 p(x) ^ q(y)\n0.3 p(x)\n0.3 q(x)", ""),
    "predicates and values": ("p(thing)\nq(thing)\n-0.9 p(x) ^ !q(y)\n0.3 p(x)\n-0.3 q(x)", ""),
    "positions": ("r(thing,thing)\n0.8 r(x,y) ^ r(y,z) => r(x,z) | distinct", ""),
    "friends": ("f(thing,thing)\ns(thing)\n1.4 f(x,y) ^ s(x) => s(y) | x != y", ""),
    "classes": ("p(thing)\nq(thing)\n0.2 p(x) ^ p(y)\n0.1 p(x) ^ q(x)", "q(A)\n!q(B)\n!q(C)"),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_symmetries_leave_the_free_energy_as_it_is(name: str) -> None:
    plan = plan_of(EXCHANGES[name][0], 10, EXCHANGES[name][1])
    generators = symmetries(plan)
    assert bool(generators) == (name != "classes"), "no class has an equal"
    for generator in generators:
        is_symmetric(plan, generator)


def test_classes_with_equal_evidence_about_different_predicates_are_exchanged() -> None:
    text = "p(thing)\nq(thing)\nr(thing)\n0.2 p(x) ^ p(y)\n0.1 p(x) ^ q(x)\n0.1 p(x) ^ r(x)"
    facts = "q(A)\n!r(A)\nr(B)\n!q(B)"
    plan = plan_of(text, 10, facts)
    # A and B change places, and so do the predicates q and r of all others.
    assert len(symmetries(plan)) == 2
    for generator in symmetries(plan):
        is_symmetric(plan, generator)
    assert not symmetries(plan_of(text.replace("0.1 p(x) ^ r(x)", "0.2 p(x) ^ r(x)"), 10, facts))


@pytest.mark.parametrize(
    "text",
    [
        f"{FLIP}\n1e-9 p(x)",
        "p(thing)\n0.4 p(x) ^ p(y) | x != y",
        "p(thing)\nq(thing)\n-0.9 p(x) ^ q(y)\n0.3 p(x)\n0.2 q(x)",
        "r(thing,thing)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct",
    ],
)
def test_nothing_is_taken_for_a_symmetry(text: str) -> None:
    assert not symmetries(plan_of(text, 5))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(random_models.models(max_rules=2), random_models.sizes(4))
def test_symmetries_of_random_models(model: Model, sizes: dict[str, int]) -> None:
    mirrored = random_models.mirrored(model)
    try:
        plan = compile_plan(build_regions(shatter(mirrored, sizes)))
    except ContradictionError:
        return
    for generator in symmetries(plan):
        is_symmetric(plan, generator)


# --- minima


@pytest.mark.parametrize("name", ["values", "three values", "predicates", "friends"])
def test_one_minimum_of_an_orbit_leads_to_all(name: str) -> None:
    """Images are stationary points with the same log Z: by a Newton step there, and by summing."""
    plan, tolerances = plan_of(EXCHANGES[name][0], 10), Tolerances()
    found = [own for own in Descent()(plan).points if own.weight > 0]
    orbit = completed(plan, found[:1], tolerances)
    assert len(orbit) == len(found) > 1
    beliefs = np.exp([own.log_beliefs for own in orbit])
    for own in orbit:
        assert log_z(plan, own.log_beliefs) == pytest.approx(found[0].log_z, rel=1e-12)
    logs = np.log(beliefs)
    for lowest, unsettled in curvatures_at([plan] * len(orbit), logs, tolerances):
        assert lowest is not None
        assert not unsettled
        assert lowest > 0
    for own in found:
        assert np.abs(beliefs - np.exp(own.log_beliefs)).max(axis=1).min() < 1e-6
    followed = Descent().follow([plan], [[Descent()(plan).only(found[0])]])[0]
    assert sorted(own.weight for own in followed.points) == pytest.approx(
        [1 / len(found)] * len(found)
    )


def test_images_of_a_point_under_all_orders_of_values() -> None:
    plan = plan_of(POTTS)
    (single,) = (k for k, shape in enumerate(plan.layout.shapes) if shape == (3,))
    beliefs = np.full(plan.layout.belief_entries, 0.1)
    beliefs[plan.layout.region_slice(single)] = 0.1, 0.3, 0.6
    images = images_of(plan, np.log(beliefs), Tolerances())
    rows = {tuple(np.exp(own[plan.layout.region_slice(single)]).round(9)) for own in images}
    assert rows == set(permutations((0.1, 0.3, 0.6))) - {(0.1, 0.3, 0.6)}
    few = Tolerances(most_images=4)
    assert not images_of(plan, np.log(beliefs), few)


def test_flooding_that_ends_in_one_of_two_worlds_gives_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even if it never starts anywhere else."""
    plan = plan_of("p(thing)\n0.4 p(x) <=> p(y) | x != y", 10)
    both = Descent()(plan)
    (world, _) = (own for own in both.points if own.weight > 0)
    messages = world.log_beliefs[plan.layout.children][None]
    monkeypatch.setattr("liftgbp.solve.restarts._starting_messages", lambda *_: [messages])
    flooding = Flooding(adaptive=True)
    (end,) = flooding.ends([plan], messages=messages)
    monkeypatch.setattr(Flooding, "solve_all", lambda *_: [both.only(world)])
    solution = Auto(flooding, most_work=0)(plan)
    assert np.exp(end.log_beliefs) == pytest.approx(np.exp(world.log_beliefs), abs=1e-6)
    assert [own.weight for own in solution.points] == pytest.approx([0.5, 0.5])
    assert solution.log_z == pytest.approx(both.log_z, rel=1e-9)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(random_models.models(max_rules=2), random_models.sizes(6))
def test_what_can_be_turned_has_chance_one_half(model: Model, sizes: dict[str, int]) -> None:
    try:
        answers = liftgbp.infer(random_models.mirrored(model), sizes, effort="quick")
    except ContradictionError:
        return
    if answers.flaw is not None:
        return
    queries = ["rain", "p(x)", "r(x,y)", "s(x,a)", "t(x,y,a)"]
    for own in (row for query in queries for row in answers.query(query)):
        assert own.values[("true",)] == pytest.approx(0.5, abs=1e-6)
    for own in answers.query("q(a)"):
        assert own.values[("low",)] == pytest.approx(own.values[("high",)], abs=1e-6)


def test_the_verdict_of_an_image_is_that_of_its_minimum() -> None:
    plan = plan_of(EXCHANGES["friends"][0], 10)
    points = Descent()(plan).points
    minima = [own for own in points if own.weight > 0]
    hidden = [minima[0], *(own for own in points if own.verdict.kind is Kind.SADDLE)]
    kinds = [own.verdict.kind for own in completed(plan, hidden, Tolerances())]
    assert kinds == [Kind.MINIMUM, Kind.MINIMUM, Kind.SADDLE]


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Auto(), Auto(most_work=0, most_patience=0)])
def test_networks_without_fields_have_no_preferred_value(solver: Auto, tmp_path: Path) -> None:
    """Random couplings on a grid and no fields: each world is as likely as its opposite."""
    size, random = 6, np.random.default_rng(7)
    spots = [(row, column) for row in range(size) for column in range(size)]
    pairs = [(a, b) for a in spots for b in spots if b in ((a[0] + 1, a[1]), (a[0], a[1] + 1))]
    trusted = 0
    for strength in (0.5, 1.0, 2.0):
        weights = [strength * value for value in random.normal(0.5, 0.5, len(pairs))]
        lines = ["MARKOV", str(size**2), " ".join("2" for _ in spots), str(len(pairs))]
        lines += [f"2 {spots.index(a)} {spots.index(b)}" for a, b in pairs]
        lines += [f"4 {np.exp(own)} 1 1 {np.exp(own)}" for own in weights]
        path = tmp_path / "couplings.uai"
        path.write_text("\n".join(lines))
        network = liftgbp.load_network(path)
        answers = liftgbp.infer(network, effort="quick", solver=solver, exact=False)
        if answers.flaw is None:
            trusted += 1
            for spot in range(size**2):
                assert answers.marginal(f"x{spot}", "1") == pytest.approx(0.5, abs=1e-6)
    assert trusted


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.3, 0.30009, 0.3002, 1.0]), min_size=3, max_size=3))
)
def test_places_are_those_that_comparing_all_pairs_leaves(rows: list[list[float]]) -> None:
    places, kept = Places(1e-4), list[np.ndarray]()
    for row in map(np.array, rows):
        new = all(np.abs(row - other).max() >= 1e-4 for other in kept)
        assert places.holds(row) is not new
        assert places.add(row) is new
        if new:
            kept.append(row)
