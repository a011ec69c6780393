"""Plans: flat read-only arrays, exact exponents, and the states that hard formulas leave."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from liftgbp import parse
from liftgbp.lift.regions import LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import canonise
from liftgbp.model.ast import WeightedFormula
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.oracle.messages import GroundObjects
from liftgbp.plan import Plan, compile_plan, refill
from liftgbp.plan.plan import Exponents, Factored, stacked
from liftgbp.plan.states import projection
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, sizes

FAMILIES = ["intersections", "subsets", "bethe", "objects:2"]


def graph_of(
    text: str, domain: dict[str, int], regions: str = "intersections"
) -> LiftedRegionGraph:
    return build_regions(shatter(parse(text), domain), regions)


def plan_of(text: str, domain: dict[str, int], regions: str = "intersections") -> Plan:
    return compile_plan(graph_of(text, domain, regions), symmetric=False)


# --- arrays


def arrays(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays(part)


def test_arrays_are_read_only() -> None:
    plan = plan_of("r(person, person)\n1 r(x,y) ^ r(y,z) => r(x,z)", {"person": 5})
    layout = plan.layout
    everything = [
        *arrays(tuple(vars(layout).values())),
        *arrays(tuple(vars(plan).values())),
        *arrays(tuple(vars(plan.exponents).values())),
        *(layout.region_of, layout.by_message.of, layout.by_target.of),
    ]
    assert len(everything) > 10
    assert not any(array.flags.writeable for array in everything)


def test_segments_cover_all_entries() -> None:
    plan = plan_of("p(person)\nq(person)\n1 p(x) ^ q(y)\n!(p(x) ^ q(x)).", {"person": 5})
    layout = plan.layout
    assert len(layout.region_of) == layout.belief_entries == len(plan.theta)
    assert len(layout.by_message.of) == layout.message_entries == len(layout.children)
    assert len(layout.by_target.of) == len(layout.sources)
    # Each message entry has a source: an alive state of a child has an alive extension.
    assert set(layout.by_target.of.tolist()) == set(range(layout.message_entries))


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((2, 3, 2), (2, 0)), ((2, 3, 2), (1,)), ((3,), (0,)), ((2, 2), ()), ((), ())],
)
def test_projection_by_brute_force(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    smaller = tuple(shape[axis] for axis in axes)
    wanted = [
        int(np.ravel_multi_index([state[axis] for axis in axes], smaller)) if axes else 0
        for state in np.ndindex(*shape)
    ]
    assert projection(shape, axes).tolist() == wanted


# --- numbers


def test_exponents_and_weights_by_hand() -> None:
    """Pairs of ten things: a pair excludes itself from the nine parents of each of its atoms."""
    plan = plan_of("p(thing)\n1 p(x) ^ p(y) | x != y", {"thing": 10})
    assert plan.weights == (45, 10 * (1 - 9))
    assert plan.layout.terms.starts.tolist() == [0, 2, 3]
    assert plan.layout.terms.inside.tolist() == [1, 1, 0]
    assert sorted(set(plan.exponents.values.tolist())) == [8.0, 9.0]
    np.testing.assert_allclose(plan.theta, [0, 0, 0, 2, 0, 0])
    assert plan.log_offset == 0.0


def test_free_atoms_and_constants_are_an_offset() -> None:
    text = "p(thing)\nm(thing, thing) : {a, b, c}\nrain\n0.5 p(x) v !p(x)\n1 p(x)"
    plan = plan_of(text, {"thing": 4})
    assert plan.log_offset == pytest.approx(0.5 * 4 + 16 * math.log(3) + math.log(2), abs=1e-12)


def test_a_plan_prints_itself() -> None:
    plan = plan_of("p(thing)\nq(thing)\n1 p(x) ^ q(x)\n!(p(x) ^ q(x)).", {"thing": 10**6})
    assert str(plan).splitlines() == [
        "plan: 3 belief entries in 1 regions, 0 message entries in 0 messages, 0 exponents",
        "  0  2×2  3 entries for 3 of 4 states  n·c=1000000  0 terms",
    ]


@pytest.mark.parametrize(
    "text", ["p(thing)", "rain", "p(thing)\n0 p(x)", "p(thing)\n1 p(x) v !p(x)"]
)
def test_no_factor_at_all(text: str) -> None:
    plan = plan_of(text, {"thing": 3} if "thing" in text else {})
    assert (plan.layout.belief_entries, plan.layout.message_entries) == (0, 0)
    assert (plan.exponents @ np.zeros(0)).tolist() == []


@pytest.mark.parametrize("regions", FAMILIES)
def test_large_plans_use_another_product(regions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "r(person, person)\np(person)\n1 r(x,y) ^ r(y,z) => r(x,z)\n1 r(x,y) => p(x)\nrain\n1 rain"
    )
    plan = plan_of(text, {"person": 7}, regions)
    assert len(plan.exponents.values) > 0
    messages = np.random.default_rng(1).normal(size=plan.layout.message_entries)
    small = plan.exponents @ messages
    monkeypatch.setattr("liftgbp.plan.plan.LARGE", 0)
    np.testing.assert_allclose(plan.exponents @ messages, small, rtol=1e-13, atol=1e-13)
    by_hand = np.zeros(plan.layout.belief_entries)
    ends = [*plan.exponents.row_starts[1:].tolist(), len(plan.exponents.values)]
    for row, (start, end) in enumerate(zip(plan.exponents.row_starts, ends, strict=True)):
        columns, values = plan.exponents.columns[start:end], plan.exponents.values[start:end]
        by_hand[row] = math.fsum(v * messages[c] for c, v in zip(columns, values, strict=True))
    np.testing.assert_allclose(small, by_hand, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("regions", FAMILIES)
def test_factored_exponents_are_the_same(
    regions: str, symmetric: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "r(person, person)\np(person)\n1 r(x,y) ^ r(y,z) => r(x,z)\n1 r(x,y) => p(x)\n!p(A)."
    graph = graph_of(text, {"person": 7}, regions)
    plain = compile_plan(graph, symmetric=symmetric)
    monkeypatch.setattr("liftgbp.plan.compile.FACTORED_FROM", 0)
    monkeypatch.setattr("liftgbp.plan.compile._kept", {})
    factored = compile_plan(graph, symmetric=symmetric)
    assert isinstance(plain.exponents, Exponents)
    assert isinstance(factored.exponents, Factored)
    messages = np.random.default_rng(1).normal(size=(3, plain.layout.message_entries))
    expected = plain.exponents @ messages
    np.testing.assert_allclose(factored.exponents @ messages, expected, rtol=0, atol=1e-12)
    resized = graph_of(text, {"person": 70}, regions)
    plans = [refill(factored, resized), factored, factored]
    together = stacked([plan.exponents for plan in plans])
    np.testing.assert_allclose((together @ messages)[1:], expected[1:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        (together.kept(np.array([0])) @ messages[:1])[0],
        refill(plain, resized).exponents @ messages[0],
        rtol=1e-12,
    )


# --- supports


def hardened(model: Model) -> Model:
    """The same model with hard formulas only."""
    hard = tuple(
        replace(rule, weight=None) if isinstance(rule, WeightedFormula) else rule
        for rule in model.rules
    )
    return Model(model.sorts, model.predicates, hard)


@pytest.mark.slow
@pytest.mark.parametrize("regions", FAMILIES)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(max_rules=2).map(hardened), domain=sizes(3))
def test_supports(regions: str, model: Model, domain: dict[str, int]) -> None:
    try:
        ground = reference.ground(model, domain)
        assume(len(ground.factors) <= 80)
        assume(max((len(f.scope) for f in ground.factors), default=0) <= 5)
        wanted = reference.ground_regions(ground, regions).alive
    except CapacityError:
        assume(False)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            compile_plan(build_regions(shatter(model, domain), regions))
        return
    graph = build_regions(shatter(model, domain), regions)
    layout = compile_plan(graph).layout
    objects = GroundObjects(graph.normal)
    number = {region.cluster: k for k, region in enumerate(graph.regions)}
    for region, alive in wanted.items():
        atoms = [objects.placeholders(atom) for atom in sorted(region)]
        signature = canonise(tuple(sorted(atoms)))
        axes = [
            signature.cluster.index((p, tuple(signature.renaming[obj] for obj in args)))
            for p, args in atoms
        ]
        ones = np.ones(layout.belief_entries)
        table = layout.full_table(number[signature.cluster], ones, missing=0.0)
        assert np.array_equal(table.transpose(axes) == 1.0, alive)


SUPPORTS = {
    "a hard atom": ("p(thing)\np(x).", ["1 of 2"]),
    "equivalent to a fixed atom": (
        "p(thing)\nq(thing)\nrain\np(x) <=> q(x).\np(x) => rain.\n!rain.",
        ["1 of 4", "1 of 4", "1 of 2", "1 of 2"],
    ),
    "potentials of zero": (
        "p(thing)\nparfactor p(x), p(y) | x != y : [1, 0, 0, 2]",
        ["2 of 4", "2"],
    ),
    "nothing is hard": ("p(thing)\n1 p(x)", ["2 of 2"]),
}


@pytest.mark.parametrize(("text", "wanted"), SUPPORTS.values(), ids=SUPPORTS)
def test_supports_by_hand(text: str, wanted: list[str]) -> None:
    lines = str(plan_of(text, {"thing": 5})).splitlines()[1:]
    assert len(lines) == len(wanted)
    assert all(f" for {states}" in line for states, line in zip(wanted, lines, strict=True))


def test_contradiction_names_the_hard_formulas() -> None:
    text = """
        p(thing)
        q(thing)
        rain
        2 p(x)
        parfactor p(x), q(x) : [1, 2, 3, 4]
        p(x) ^
            q(x).
        q(x) => rain.
        !rain.
    """
    with pytest.raises(ContradictionError) as caught:
        plan_of(text, {"thing": 5})
    message = caught.value.message
    assert all(part in message for part in ("p(x) ^ q(x).", "q(x) => rain.", "!rain."))
    assert "2 p(x)" not in message
    assert "parfactor" not in message
    assert caught.value.span is not None


def test_contradiction_of_tables() -> None:
    text = "p(thing)\nparfactor p(x) : [0, 1]\nparfactor p(x) : [1, 0]"
    with pytest.raises(ContradictionError, match="parfactor"):
        plan_of(text, {"thing": 5})


def test_contradiction_without_text() -> None:
    model = parse("p(thing)\np(x).\n!p(x).")
    silent = Model(model.sorts, model.predicates, tuple(replace(r, span=None) for r in model.rules))
    with pytest.raises(ContradictionError, match="the 2 hard rules"):
        compile_plan(build_regions(shatter(silent, {"thing": 5})))
