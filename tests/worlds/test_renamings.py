"""The number of renamings of a world of blocks, against writing all of them out."""

from __future__ import annotations

import math
import random
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings

import liftgbp
from liftgbp.evidence import Evidence
from liftgbp.lift.shatter import shatter
from liftgbp.worlds.blocks import BlockWorld, Layout, Row
from liftgbp.worlds.blocks.block_layout import Pattern
from liftgbp.worlds.blocks.renamings import log_renamings
from worlds.test_block_world import worlds_with_evidence
from worlds.written_worlds import ground_atoms

RELATION = liftgbp.parse("r(t, t)\n1 r(x,y)")


def renamings(world: BlockWorld) -> int:
    """Of each class, objects are named in all ways; worlds that are equal count once."""
    normal, sizes = world.normal, world.problem.sizes
    members: dict[tuple[str, int], list[int]] = {}
    for sort, size in sizes.items():
        for number in range(size):
            cls = normal.class_index[sort].of(number)
            members.setdefault((sort, cls), []).append(number)
    found = set()
    atoms = list(ground_atoms(world.problem))
    sorts = {name: own.sorts for name, own in world.problem.model.predicates.items()}
    for named in product(*(permutations(own) for own in members.values())):
        name = {
            (sort, old): new
            for (sort, _), own, renamed in zip(members, members.values(), named, strict=True)
            for old, new in zip(own, renamed, strict=True)
        }
        found.add(
            tuple(
                world.value(p, [name[s, k] for s, k in zip(sorts[p], objects, strict=True)])
                for p, objects in atoms
            )
        )
    return len(found)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(worlds_with_evidence())
def test_no_more_are_counted_than_there_are(world: BlockWorld) -> None:
    assert log_renamings(world) <= math.log(renamings(world)) + 1e-9


def matrices_like(world: BlockWorld) -> int:
    """The same for one relation over objects of one class, as matrices."""
    every = range(world.problem.sizes["t"])
    matrix = np.array([[world.value("r", [i, j]) for j in every] for i in every])
    named = np.array(list(permutations(every)))
    moved = matrix[named[:, :, None], named[:, None, :]].reshape(len(named), -1)
    return len(np.unique(moved, axis=0))


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("classes", "size", "alone"), [((0,), 3, 2), ((0,), 2, 2), ((0, 0), 2, 1), ((0, 0), 3, 0)]
)
def test_relations_over_a_row(
    classes: tuple[int, ...], size: int, alone: int, ordered: bool
) -> None:
    """Relations with all values of patterns, over one row and some objects that are alike."""
    normal = shatter(RELATION, {"t": size * len(classes) + alone})
    layout = Layout((Row(classes, ordered), *[Row((0,))] * bool(alone)))
    sizes = (size, *[alone] * bool(alone))
    patterns = list(layout.patterns(0, [(0,), (0,)], dict(enumerate(sizes))))
    generator = random.Random(0)
    for _ in range(120):
        values = {own: 1 for own in patterns if generator.random() < 0.5}
        world = BlockWorld(normal, layout, sizes, values)
        assert log_renamings(world) <= math.log(matrices_like(world)) + 1e-9


def world_of(rows: tuple[Row, ...], sizes: tuple[int, ...], *true: Pattern) -> BlockWorld:
    layout = Layout(rows)
    total = sum(layout.class_sizes(sizes).values())
    return BlockWorld(shatter(RELATION, {"t": total}), layout, sizes, dict.fromkeys(true, 1))


@pytest.mark.parametrize("size", [5, 10**3, 10**6])
def test_numbers_that_are_known(size: int) -> None:
    order = world_of((Row((0,), ordered=True),), (size,), (0, ((0, 0), (0, 1))))
    assert log_renamings(order) == pytest.approx(math.lgamma(size + 1))
    # Who likes whom: one half of all objects likes the other one.
    sides = world_of((Row((0,)), Row((0,))), (size, size), (0, ((0, 0), (1, 0))))
    chosen = math.lgamma(2 * size + 1) - 2 * math.lgamma(size + 1)
    assert log_renamings(sides) == pytest.approx(chosen - math.log(2), rel=1e-9)
    # Couples: a third of the objects or fewer that are married could be in any order.
    couples = world_of((Row((0, 0)),), (size,), (0, ((0, 0), (1, 0))))
    married = math.lgamma(2 * size + 1) - math.lgamma(size + 1)
    assert 0.4 * married < log_renamings(couples) <= married


def test_what_evidence_tells_apart_is_not_renamed() -> None:
    model = liftgbp.parse("r(t, t)\n*s(t)\n1 r(x,y)")
    normal = shatter(model, {"t": 7}, evidence=Evidence.of(model, "s(A)\ns(B)\ns(C)"))
    layout = Layout((Row((0,), ordered=True), Row((1,), ordered=True)))
    below = {(0, ((0, 0), (0, 1))): 1, (0, ((1, 0), (1, 1))): 1}
    world = BlockWorld(normal, layout, normal.class_sizes, below)
    assert log_renamings(world) == pytest.approx(math.log(math.factorial(3) * math.factorial(4)))


def test_atoms_that_nothing_is_said_about_are_not_renamed() -> None:
    sides = world_of((Row((0,)), Row((0,))), (3, 2), (0, ((0, 0), (0, 0))))
    assert log_renamings(sides) == pytest.approx(math.log(10))
    assert log_renamings(sides, told=[(0, ((0, 0), (0, 1)))]) == 0
