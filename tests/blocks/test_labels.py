"""What a world tells about blocks, against mixtures that are written out."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from itertools import combinations, product

import numpy as np
import pytest

import liftgbp
from liftgbp.lift.shatter import shatter
from liftgbp.methods.blocks.labels import distances, label_information
from liftgbp.methods.blocks.products import BlockProducts, MeanField

MODEL = liftgbp.parse("r(thing, thing)\np(thing)\n1 r(x,y) ^ p(x) => p(y) | x != y")


def true_information(field: MeanField, products: BlockProducts, sizes: tuple[int, int]) -> float:
    """The entropy of the mixture of all ways, less that of one of them, world by world."""
    things = sum(sizes)
    of_kind = {field.kinds[k][0]: own[0] for k, own in enumerate(products.chances)}
    names = [predicate.name for predicate in MODEL.predicates.values()]
    atoms = [("p", (x,)) for x in range(things)]
    atoms += [("r", pair) for pair in product(range(things), repeat=2) if pair[0] != pair[1]]
    worlds = np.array(list(product((0, 1), repeat=len(atoms))))
    ways = []
    for members in combinations(range(things), sizes[1]):
        block = [int(x in members) for x in range(things)]
        chance = np.ones(len(worlds))
        for column, (name, objects) in zip(worlds.T, atoms, strict=True):
            own = of_kind[names.index(name)][tuple(block[x] for x in objects)]
            chance *= own[column]
        ways.append(chance)

    def entropy(chance: np.ndarray) -> float:
        alive = chance[chance > 0]
        return -float((alive * np.log(alive)).sum())

    return entropy(np.mean(ways, axis=0)) - entropy(ways[0])


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("sharp", [0.2, 1.0, 5.0])
def test_it_is_at_most_the_information(sizes: tuple[int, int], sharp: float) -> None:
    field = MeanField(shatter(MODEL, {"thing": sum(sizes)}))
    generator = np.random.default_rng(sum(sizes))
    for _ in range(3):
        chances = []
        for classes in field.classes_of_kind:
            one = 1 / (1 + np.exp(sharp * generator.normal(size=(1, *[2] * len(classes)))))
            chances.append(np.stack([1 - one, one], axis=-1))
        products = BlockProducts((np.array([sizes], dtype=float),), tuple(chances))
        found, wanted = label_information(products, field), true_information(field, products, sizes)
        assert 0 <= found <= wanted + 1e-9
        if sharp == 5.0:
            assert found > 0.1 * wanted


def test_certain_blocks_tell_everything() -> None:
    field = MeanField(shatter(MODEL, {"thing": 10}))
    chances = []
    for classes in field.classes_of_kind:
        index = np.indices((2,) * len(classes))[0]
        chances.append(np.stack([1.0 - index, index], axis=-1)[None])
    products = BlockProducts((np.array([[5.0, 5.0]]),), tuple(chances))
    assert label_information(products, field) == pytest.approx(np.log(252), rel=1e-9)


def test_rare_atoms_of_many_objects_tell_nothing_apart() -> None:
    """Against Decimal: 1e15 people with three friends each, a hair more in one block."""
    people = 10**15
    field = MeanField(shatter(MODEL, {"thing": people}))
    rare = np.array([3.0, 3.01]) / people
    chances = []
    for classes in field.classes_of_kind:
        index = np.indices((2,) * len(classes))[0]
        chance = np.where(len(classes) == 2, rare[index], 0.5)
        chances.append(np.stack([1 - chance, chance], axis=-1)[None])
    sizes = np.array([[0.5, 0.5]]) * people
    found = distances(BlockProducts((sizes,), tuple(chances)), field, 0)[0, 0, 1]
    with localcontext(Context(prec=60)):
        one, other = (Decimal(own) for own in rare.tolist())
        wanted = (one * other).sqrt() + ((1 - one) * (1 - other)).sqrt()
        # Atoms that people begin, which differ; those that they end differ nowhere.
        wanted = -wanted.ln() * people
    assert found == pytest.approx(float(wanted), rel=1e-9)
