"""Best worlds over classes of objects against lists of all worlds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from all_worlds import scores, states
from liftgbp.evidence import Problem
from liftgbp.lift.shatter import NormalModel, shatter
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError
from liftgbp.worlds import Budget, ModelQuestion, Optimum, structure_of
from liftgbp.worlds.blocks import BlockWorld
from liftgbp.worlds.world_search import OverBlocks, OverCells, OverClasses
from random_models import models_with_evidence
from worlds.test_block_world import worlds_with_evidence
from worlds.written_worlds import ground_atoms, written

MOST_STATES = 2**16
SLIGHT = 1e-9


def check(found: Optimum, problem: Problem, optimum: float) -> None:
    """What was found is a world of that score; the bound holds, and a proof is one."""
    assert found.upper >= optimum - SLIGHT
    if found.world is None:
        return
    plain = written(problem, found.world.value)
    assert plain.score() == pytest.approx(float(found.known_score), abs=1e-8)
    assert found.known_score <= optimum + SLIGHT
    for rule in problem.model.rules:
        assert found.world.tally(rule) == plain.tally(rule)
    if found.proven:
        assert float(found.known_score) == pytest.approx(optimum, abs=SLIGHT)


def check_methods(normal: NormalModel, optimum: float) -> None:
    """Each method over classes by itself; the bound with and without a world to meet."""
    budget = Budget("quick")
    known = Optimum(None, None)
    for method in (OverCells(normal, {}), OverBlocks(normal, budget, {})):
        found = method.optimum(Optimum(None, None))
        check(found, normal.problem, optimum)
        known = known.joined(found)
    bound = OverClasses(normal, budget).optimum(known)
    assert bound.upper >= optimum - SLIGHT
    check(known.joined(bound), normal.problem, optimum)


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(models_with_evidence(most=3))
def test_random_models(case) -> None:
    model, sizes, evidence = case
    try:
        normal = shatter(model, sizes, evidence=evidence)
        ground = reference.ground(model, sizes, evidence)
    except (CapacityError, ContradictionError):
        assume(False)
    assume(states(ground) <= MOST_STATES)
    optimum = float(scores(ground)[1].max())
    if optimum == -math.inf:
        question = ModelQuestion(normal.problem, "lifted", Budget("quick"), 2**20)
        with pytest.raises((ContradictionError, CapacityError)):
            question.answered()
        return
    check_methods(normal, optimum)


# Score and number of best worlds, by a list of all worlds elsewhere; over atoms with different
# arguments where the model is about these.
PUBLISHED = {
    "friends-smokers": (4, 16.8, 13_824),
    "transitive": (4, 33.6, 355),
    "chain": (4, 33.6, 154),
    "married": (4, 16.0, 10),
    "moods": (4, 13.862944, 1),
    "celebrity": (4, 11.1, 864),
    "town": (4, 3.6, 1),
    "friends-knows": (3, 8.4, 2_025),
    "smoking-network": (3, 9.3, 64),
}


def every_world(name: str, sizes: dict[str, int]) -> tuple[float, int]:
    """The largest score, and how many worlds of atoms that rules are about have it."""
    _, total = scores(reference.ground(liftgbp.load(f"example:{name}"), sizes, None))
    best = float(total.max())
    return best, int(np.count_nonzero(total >= best - SLIGHT))


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_scores(name: str) -> None:
    size, score, number = PUBLISHED[name]
    model = liftgbp.load(f"example:{name}")
    (sort,) = model.sorts
    assert every_world(name, {sort: size}) == (pytest.approx(score, abs=1e-6), number)
    for via in ("lifted", "ground"):
        world = liftgbp.best_world(model, {sort: size}, via=via)
        assert world.score == pytest.approx(score, abs=1e-6)
        assert world.proven


def test_two_sorts() -> None:
    model, sizes = liftgbp.load("example:movies"), {"person": 3, "movie": 2}
    assert every_world("movies", sizes) == (pytest.approx(10.8), 64)
    for via in ("lifted", "ground"):
        world = liftgbp.best_world(model, sizes, via=via)
        assert world.score == pytest.approx(10.8)
        assert world.proven


EXAMPLES = [*PUBLISHED, "movies"]


@pytest.mark.parametrize("size", [5, 100, 10**6])
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_proven_world(name: str, size: int) -> None:
    model = liftgbp.load(f"example:{name}")
    world = liftgbp.best_world(model, dict.fromkeys(model.sorts, size))
    assert world.proven, world.reason
    assert world.structure is None or world.structure.words
    assert sum(rule.score for rule in world.rules) == pytest.approx(world.score, rel=1e-12)


# --- structure


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds_with_evidence())
def test_structure_tells_every_atom(world: BlockWorld) -> None:
    problem = world.problem
    plain = replace(problem, evidence=replace(problem.evidence, closed=frozenset()))
    normal = replace(world.normal, problem=plain)
    world = replace(world, normal=normal)
    structure = structure_of(world)
    assert structure is not None
    for name in problem.model.predicates:
        kinds = [kind for kind in structure.kinds if kind.predicate == name]
        assert sum(kind.number for kind in kinds if kind.value) == world.number(name)
        value = {kind.places: kind.value for kind in kinds}
        place = {
            (sort, number): (block, index)
            for block, sort in enumerate(structure.sorts)
            for index, number in enumerate(structure.members[block])
        }
        for own, objects in ground_atoms(problem):
            if own == name:
                sorts = problem.model.predicates[name].sorts
                where = [place[key] for key in zip(sorts, objects, strict=True)]
                pattern = structure.layout.pattern(0, where)
                assert value[pattern[1]] == world.value(name, objects)


class Plain:
    """A world that is no world of blocks."""

    def __init__(self, world: BlockWorld) -> None:
        self.problem, self.value, self.atoms = world.problem, world.value, world.atoms


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(worlds_with_evidence())
def test_structure_that_is_found_tells_every_atom(world: BlockWorld) -> None:
    structure = structure_of(Plain(world))  # type: ignore[arg-type]
    assume(structure is not None)
    assert sorted(
        (sort, number)
        for sort, members in zip(structure.sorts, structure.members, strict=True)
        for number in members
    ) == sorted(
        (sort, number)
        for sort in set(structure.sorts)
        for number in range(world.problem.sizes[sort])
    )
    for name in {kind.predicate for kind in structure.kinds}:
        true = (k.number for k in structure.kinds if k.predicate == name and k.value)
        assert sum(true) == world.number(name)


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_a_table_that_evidence_leaves_no_state(via: str) -> None:
    rules = "p(person)\nq(person)\nparfactor p(Anna), q(x) : [1, 2, 0, 0]"
    model = liftgbp.parse("person = {Anna, Bob}\n" + rules)
    with pytest.raises(liftgbp.ContradictionError):
        liftgbp.best_world(model, evidence={"p(Anna)": True}, via=via)  # type: ignore[arg-type]
