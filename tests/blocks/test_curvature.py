"""Curvature between halves of classes, against dense Hessians of the ground free energy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from ground_hessian import GroundHessian, smallest_belief
from hypothesis import assume, given, settings

import liftgbp
import random_models
from liftgbp.evidence import Evidence, Known, Problem
from liftgbp.lift.regions import build_regions, parse_family
from liftgbp.lift.shatter import Shattering
from liftgbp.lift.via import choose_via
from liftgbp.methods.blocks.curvature import Halves, HalvesJudge
from liftgbp.methods.counting.count_mixture import CountMixture
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.posterior import ClassReader
from liftgbp.solve import Solution, Tolerances, log_z

OWN = Tolerances()
TRANSITIVE = "r(p,p)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct"
CHAIN = "r(p,p)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct"
FRIENDS_KNOWS = "f(p,p)\nk(p,p)\n1.4 f(x,y) ^ f(y,z) => k(x,z) | distinct"
FRIENDS_SMOKERS = "f(p,p)\ns(p)\n1.4 f(x,y) ^ s(x) => s(y) | x != y"
TRIANGLES = """
e(p,p)
e(x,y) <=> e(y,x).
3 e(x,y) ^ e(y,z) => !e(x,z) | distinct
1 e(x,y) | x != y
"""
TWO_SORTS = "s(p,m)\n-1.6 s(x,a) ^ s(y,a) | x != y\n1.4 s(x,a) ^ s(x,b) | a != b"
NAMED = "r(p,p)\np = {Anna}\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct\n0.7 r(Anna,x)"


def quick(
    model: Model, sizes: dict[str, int], regions: str = "intersections"
) -> tuple[liftgbp.Answers, Shattering]:
    objects = choose_via("lifted", Problem.of(model, None, sizes), parse_family(regions))
    assert objects is not None
    answers = liftgbp.infer(model, sizes, effort="quick", regions=regions, via="lifted")
    return answers, Shattering(objects)


def halves_of(answers: liftgbp.Answers, shattering: Shattering) -> Halves:
    assert isinstance(answers.posterior.reader, ClassReader)
    return Halves.of_classes(answers.posterior.reader.prepared, shattering)


def blocks_of(model: Model, sizes: dict[str, int]) -> dict[str, list[int]]:
    """For each object its half; each named object is alone."""
    found = {}
    for sort, size in sizes.items():
        named = len(model.constants(sort))
        left = size - named
        found[sort] = [*range(2, 2 + named), *(int(k >= left - left // 2) for k in range(left))]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "size", "regions"),
    [
        (TRANSITIVE, 4, "intersections"),
        (TRANSITIVE, 5, "intersections"),
        (TRANSITIVE, 5, "objects:3"),
        (CHAIN, 4, "intersections"),
        (FRIENDS_KNOWS, 4, "intersections"),
        (FRIENDS_SMOKERS, 5, "intersections"),
        (FRIENDS_SMOKERS, 5, "bethe"),
        (TRIANGLES, 3, "intersections"),
        (TRIANGLES, 4, "intersections"),
        (TRIANGLES, 5, "intersections"),
        (TWO_SORTS, 3, "intersections"),
        (NAMED, 5, "intersections"),
    ],
)
def test_curvature_is_that_of_the_ground(text: str, size: int, regions: str) -> None:
    """In directions that treat halves alike; no other direction has a lower one here."""
    model = liftgbp.parse(text)
    sizes = dict.fromkeys(model.sorts, size)
    answers, shattering = quick(model, sizes, regions)
    halves = halves_of(answers, shattering)
    ground = reference.ground_regions(reference.ground(model, sizes), regions)
    settled = [own for own in answers.minima if own.verdict.kind is not liftgbp.Kind.UNKNOWN]
    assert settled
    for point in settled:
        hessian = GroundHessian(ground, halves.whole.reader(point.log_beliefs))
        assert hessian.steepest() < 1e-9
        (found,) = halves.curvatures(np.exp(point.log_beliefs)[None], OWN, math.inf)
        assert found == pytest.approx(hessian.curvatures(blocks_of(model, sizes))[0], abs=1e-9)
        alike = {sort: [0] * size for sort in sizes}
        if not any(model.constants(sort) for sort in sizes):
            symmetric = hessian.curvatures(alike)[0]
            assert point.verdict.curvature == pytest.approx(symmetric, abs=1e-9)
            assert found == pytest.approx(hessian.curvatures()[0], abs=1e-9)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(random_models.models(), random_models.sizes(3))
def test_random_models_have_the_curvature_of_the_ground(
    model: Model, sizes: dict[str, int]
) -> None:
    try:
        answers, shattering = quick(model, sizes)
    except liftgbp.InputError:
        return
    result = HalvesJudge(shattering, OWN, math.inf).judge(answers.posterior).result
    found = result.verdict.broken_curvature
    assume(found is not None)
    halves = halves_of(answers, shattering)
    assert isinstance(answers.result, Solution)
    best = answers.minima[0].log_beliefs if answers.minima else answers.result.log_beliefs
    reader = halves.whole.reader(best)
    ground = reference.ground_regions(reference.ground(model, sizes))
    # Dense matrices have no digits for tiny beliefs, and large ones take long.
    states = sum(table.size for region, table in ground.theta.items() if not ground.parents[region])
    assume(states < 300 and smallest_belief(ground, reader) > 1e-9)
    curvatures = GroundHessian(ground, reader).curvatures(blocks_of(model, sizes))
    # Where nothing can change, all curvatures are those of the metric.
    assert found == pytest.approx(curvatures.min(initial=1.0), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("text", [TRANSITIVE, CHAIN, FRIENDS_KNOWS, FRIENDS_SMOKERS, TRIANGLES])
@pytest.mark.parametrize("size", [5, 12, 1001])
def test_halves_are_the_same_point(text: str, size: int) -> None:
    """Over halves, beliefs have the same log Z, and regions are those found without the whole."""
    answers, shattering = quick(liftgbp.parse(text), {"p": size})
    halves = halves_of(answers, shattering)
    point = answers.minima[0]
    (row,) = halves.beliefs(np.exp(point.log_beliefs)[None])
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(row, OWN.zero_belief))
    assert log_z(halves.plan, logs) == pytest.approx(point.log_z, rel=1e-12)
    alone = build_regions(halves.graph.normal, halves.graph.family)
    assert alone.regions == halves.graph.regions
    assert alone.edges == halves.graph.edges
    assert alone.messages == halves.graph.messages


@pytest.mark.slow
def test_a_saddle_is_far_from_the_exact_answer_and_blocks_are_nearer() -> None:
    """Four objects without triangles would rather be two pairs."""
    model, sizes = liftgbp.parse(TRIANGLES), {"p": 4}
    answers, shattering = quick(model, sizes)
    assert answers.flaw is None
    judged = liftgbp.Answers(HalvesJudge(shattering, OWN, math.inf).judge(answers.posterior))
    assert judged.flaw is not None
    assert judged.verdict.kind is liftgbp.Kind.SADDLE
    assert "a saddle of the ground free energy" in judged.reason
    exact = reference.exact(reference.ground(model, sizes))
    blocked = liftgbp.infer(model, sizes, effort="normal", regions="intersections")
    assert blocked.blocks
    assert abs(exact.log_z - blocked.log_z) < (exact.log_z - answers.log_z) / 4
    chance = exact.marginals[reference.GroundAtom("e", (0, 1))][1]
    assert abs(answers.marginal("e(x,y)") - chance) > 0.1
    assert abs(blocked.marginal("e(x,y)") - chance) < 0.03


@pytest.mark.parametrize("size", [10, 11, 12])
def test_one_block_of_a_transitive_relation(size: int) -> None:
    """Up to ten objects it is a minimum of the ground free energy, and trusted."""
    answers, shattering = quick(liftgbp.parse(TRANSITIVE), {"p": size})
    judged = liftgbp.Answers(HalvesJudge(shattering, OWN, math.inf).judge(answers.posterior))
    assert (judged.flaw is None) == (size == 10)
    assert ("saddle of the ground free energy" in judged.reason) == (size > 10)


@pytest.mark.slow
def test_below_a_saddle_there_is_a_minimum_with_blocks() -> None:
    model = liftgbp.parse(TRANSITIVE)
    whole = liftgbp.infer(model, {"p": 12}, effort="quick")
    blocked = liftgbp.infer(model, {"p": 12}, effort="normal", regions="intersections")
    assert blocked.flaw is None
    assert max(own.log_z for own in blocked.blocks) > whole.log_z


@pytest.mark.slow
def test_regions_stop_growing_where_halves_would_differ() -> None:
    answers = liftgbp.infer(liftgbp.parse(TRANSITIVE), {"p": 10}, effort="normal")
    # A sample contradicts what smaller regions say, and takes their place.
    assert answers.verdict.kind is liftgbp.Kind.SAMPLED
    assert str(answers.growth[-1].graph.family) == "objects:3"
    assert "cannot be trusted" in answers.growth_end
    assert "saddle of the ground free energy" in answers.growth[-1].reason


@pytest.mark.parametrize("size", [5, 20, 200, 10**6])
def test_friends_and_smokers_behave_alike(size: int) -> None:
    model = liftgbp.parse(FRIENDS_SMOKERS)
    answers = liftgbp.infer(
        model, {"p": size}, effort="normal", sum_over=[], regions="intersections"
    )
    assert answers.flaw is None
    broken, curvature = answers.verdict.broken_curvature, answers.verdict.curvature
    assert broken is not None
    assert broken == pytest.approx(curvature)


@pytest.mark.slow
def test_sums_are_judged_by_their_most_likely_counts() -> None:
    """Counts are evidence, so the curvature is that of a run with such evidence."""
    model, sizes = liftgbp.parse(FRIENDS_KNOWS + "\ns(p)\n0.5 s(x) ^ f(x,y) | x != y"), {"p": 8}
    _, shattering = quick(model, sizes)
    summed = liftgbp.infer(model, sizes, effort="quick", sum_over="s")
    found = HalvesJudge(shattering, OWN, math.inf).judge(summed.posterior).verdict.broken_curvature
    assert isinstance(summed.posterior.reader, ClassReader)
    assert isinstance(summed.posterior.reader.source, CountMixture)
    part, place = summed.posterior.reader.source.likely
    likely = part.counts[place]
    counts = zip((1, 0), likely, strict=True)
    known = tuple(Known("p", (("s", value),), count) for value, count in counts if count)
    evidence = replace(Evidence.of(model, None), known=known)
    objects = choose_via("lifted", Problem.of(model, evidence, sizes))
    assert objects is not None
    alone = liftgbp.infer(model, sizes, evidence=evidence, effort="quick", via="lifted")
    expected = HalvesJudge(Shattering(objects), OWN, math.inf).judge(alone.posterior).verdict
    assert found is not None
    assert found == pytest.approx(expected.broken_curvature, abs=1e-9)
    assert expected.curvature is not None
    assert found < expected.curvature


def test_what_is_not_computed_is_not_there() -> None:
    model = liftgbp.parse(TRANSITIVE)
    answers, shattering = quick(model, {"p": 12})
    assert answers.verdict.broken_curvature is None
    assert HalvesJudge(shattering, OWN, 1e6).judge(answers.posterior) is answers.posterior
    # Regions that hold everything are exact.
    alone, shattering = quick(model, {"p": 3}, "objects:3")
    assert HalvesJudge(shattering, OWN, math.inf).judge(alone.posterior) is alone.posterior
