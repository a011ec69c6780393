"""Worlds of blocks against the same worlds written out atom by atom."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import islice, permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import liftgbp
from liftgbp.lift.shatter import NormalModel, shatter
from liftgbp.lift.signature import objects_of
from liftgbp.model.ast import And, Exists, Forall, Implies, Is, Not, Variable, WeightedFormula
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from liftgbp.worlds.blocks import BlockWorld, Layout, Row, beliefs
from liftgbp.worlds.blocks.class_ranks import ClassRanks
from liftgbp.worlds.optimum import score_of
from random_models import models_with_evidence, rules
from worlds.written_worlds import ground_atoms, written


@st.composite
def layouts(draw: st.DrawFn, class_sizes: tuple[int, ...]) -> tuple[Layout, tuple[int, ...]]:
    """Rows of one or two blocks, some of them ordered, for classes of these sizes."""
    left = dict(enumerate(class_sizes))
    rows: list[Row] = []
    sizes: list[int] = []
    while any(left.values()):
        cls = next(k for k, number in left.items() if number)
        partners = [None, None, *(k for k, n in left.items() if n > (k == cls))]
        partner = draw(st.sampled_from(partners))
        classes = (cls,) if partner is None else (cls, partner)
        most = min(left[k] // classes.count(k) for k in classes)
        size = draw(st.integers(1, most))
        for k in classes:
            left[k] -= size
        rows.append(Row(classes, ordered=draw(st.booleans())))
        sizes.append(size)
    return Layout(tuple(rows)), tuple(sizes)


@st.composite
def block_worlds(draw: st.DrawFn, normal: NormalModel) -> BlockWorld:
    layout, sizes = draw(layouts(normal.class_sizes))
    values = {}
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    for number, predicate in enumerate(normal.predicates):
        classes = [normal.classes_of(sort) for sort in predicate.sorts]
        for own in layout.patterns(number, classes, dict(enumerate(sizes))):
            if value := int(generator.integers(len(predicate.values))):
                values[own] = value
    return BlockWorld(normal, layout, sizes, values)


@st.composite
def worlds_with_evidence(draw: st.DrawFn, most: int = 4) -> BlockWorld:
    model, sizes, evidence = draw(models_with_evidence(most=most))
    try:
        normal = shatter(model, sizes, evidence=evidence)
    except (CapacityError, ContradictionError, InputError):
        assume(False)
    return draw(block_worlds(normal))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(worlds_with_evidence())
def test_tallies_are_those_of_the_written_world(world: BlockWorld) -> None:
    plain = written(world.problem, world.value)
    for rule in world.problem.model.rules:
        assert world.tally(rule) == plain.tally(rule)
    score, violated = score_of(world)
    expected = plain.score()
    assert (violated > 0) == (expected == -np.inf)
    if not violated:
        assert float(score) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds_with_evidence(), st.data())
def test_tallies_of_other_rules(world: BlockWorld, data: st.DataObject) -> None:
    """Rules that the model does not have name objects which are not alone in their classes."""
    rule = data.draw(rules())
    plain = written(world.problem, world.value)
    assert world.tally(rule) == plain.tally(rule)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds_with_evidence(), st.data())
def test_quantifiers_inside_quantifiers(world: BlockWorld, data: st.DataObject) -> None:
    r = [
        Is(liftgbp.parse("r(person,person)\n1 r(x,y)\n1 r(y,x)\n1 r(z,y)").rules[k].formula.atom)
        for k in range(3)
    ]
    x, y, z = map(Variable, "xyz")
    inner = data.draw(st.sampled_from([Exists(z, r[2]), Forall(z, r[2]), Not(r[1])]))
    kind = data.draw(st.sampled_from([Exists, Forall]))
    for formula in (kind(y, And((r[0], inner))), kind(y, Implies(r[0], inner))):
        rule = WeightedFormula(formula, None)
        assert world.tally(rule) == written(world.problem, world.value).tally(rule)
    assert x


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds_with_evidence())
def test_values_atoms_and_numbers_agree(world: BlockWorld) -> None:
    for name in world.problem.model.predicates:
        found = dict(world.atoms(name))
        every = [objects for own, objects in ground_atoms(world.problem) if own == name]
        assert found == {o: v for o in every if (v := world.value(name, o))}
        assert world.number(name) == len(found)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds_with_evidence(), st.data())
def test_beliefs_are_means_over_all_placements(world: BlockWorld, data: st.DataObject) -> None:
    normal = world.normal
    number = data.draw(st.integers(0, len(normal.predicates) - 1))
    choices = [normal.classes_of(sort) for sort in normal.predicates[number].sorts]
    atoms = []
    for _ in range(2):
        classes = [data.draw(st.sampled_from(own)) for own in choices]
        atoms.append((number, tuple((cls, data.draw(st.integers(0, 1))) for cls in classes)))
    objects = list(objects_of(atoms))
    members = {
        cls: list(
            normal.class_index[normal.classes[cls].sort].members(
                cls, normal.sizes[normal.classes[cls].sort]
            )
        )
        for cls, _ in objects
    }
    counts: Counter[tuple[int, ...]] = Counter()
    for chosen in product(*(members[cls] for cls, _ in objects)):
        pairs = list(zip((cls for cls, _ in objects), chosen, strict=True))
        if len(set(pairs)) == len(pairs):
            where = dict(zip(objects, chosen, strict=True))
            name = normal.predicates[number].name
            counts[tuple(world.value(name, [where[o] for o in args]) for _, args in atoms)] += 1
    total = sum(counts.values())
    assert beliefs(world, atoms) == {k: Fraction(n, total) for k, n in counts.items()}


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(worlds_with_evidence(most=5))
def test_ranks_are_places_among_the_members(world: BlockWorld) -> None:
    normal = world.normal
    for cls, own in enumerate(normal.classes):
        size = normal.sizes[own.sort]
        ranks = ClassRanks(normal.class_index[own.sort], cls, size)
        members = list(normal.class_index[own.sort].members(cls, size))
        assert [ranks.of(number) for number in members] == list(range(len(members)))
        assert [ranks.member(k) for k in range(len(members))] == members


def test_a_world_over_many_objects() -> None:
    model = liftgbp.parse("r(p,p)\ns(p)\n1 r(x,y) ^ s(Eve) | x != y\nr(Eve,x) => s(x).")
    n = 10**18 + 1
    normal = shatter(model, {"p": n}, evidence=liftgbp.parse_evidence(model, "s(Anna)\n!s(Bob)"))
    eve, anna, bob, others = range(4)
    layout = Layout((Row((eve,)), Row((anna,)), Row((bob,)), Row((others,), True), Row((others,))))
    sizes = (1, 1, 1, 3, n - 6)
    before, late = (3, 0), (4, 0)
    world = BlockWorld(normal, layout, sizes, {(0, (before, (3, 1))): 1, (1, (late,)): 1})
    assert world.number("r") == 3
    assert world.number("s") == n - 5
    assert sorted(objects for objects, _ in world.atoms("r")) == [(3, 4), (3, 5), (4, 5)]
    assert len(list(islice(world.atoms("s"), 5))) == 5
    assert world.value("s", [n - 1]) == 1
    assert [world.value("s", [k]) for k in range(6)] == [0, 1, 0, 0, 0, 0]
    assert [world.value("r", pair) for pair in permutations((3, n - 1), 2)] == [0, 0]
    assert world.tally(model.rules[0]) == (n * (n - 1), 0)
    assert world.tally(model.rules[1]) == (0, n)
