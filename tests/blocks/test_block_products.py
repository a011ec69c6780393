"""Independent atoms over blocks against sums over all ground worlds, and against exact log Z."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import liftgbp
from liftgbp.lift.shatter import shatter
from liftgbp.methods.blocks.block_search import find_blocks
from liftgbp.methods.blocks.products import BlockProducts, MeanField
from liftgbp.oracle import reference

MODELS = {
    "transitive": "r(p,p)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct",
    "unary and binary": "s(p)\nr(p,p)\n1.1 s(x) ^ r(x,y) => s(y)\n-0.4 r(x,x)\n0.3 s(x)",
    "undirected": "e(p,p)\ng(p)\n0.7 e(x,y) ^ g(x) => g(y) | x != y\ne(x,y) <=> e(y,x).",
    "tournament": "r(p,p)\nq(p)\n0.6 r(x,y) ^ q(x) => q(y) | x != y\nr(x,y) <=> !r(y,x) | x != y.",
    "two names for one": "e(p,p)\nf(p,p)\ng(p)\n0.7 e(x,y) ^ g(x) => g(y)\ne(x,y) <=> f(y,x).",
    "proposition": "rain\nwet(p)\n0.9 rain => wet(x)\n-0.5 rain",
    "three arguments": "t(p,p,p)\n0.2 t(x,y,z) => t(z,y,x) | distinct",
}


def ground_value(model: liftgbp.Model, field: MeanField, products: BlockProducts) -> float:
    """Expected log weight plus entropy of a product, from its probability of every world."""
    sizes = [round(size) for size in products.sizes[0][0]]
    block = [k for k, size in enumerate(sizes) for _ in range(size)]
    ground = reference.ground(model, {"p": len(block)})
    touched = {atom for factor in ground.factors for atom in factor.scope}
    names = list(model.predicates)
    values: dict[object, tuple[object, tuple[int, ...]]] = {}
    chances: dict[object, np.ndarray] = {}
    for atom in sorted(touched):
        objects = list(dict.fromkeys(atom.objects))
        tied = field.ties.of(
            (names.index(atom.predicate), tuple((0, o) for o in atom.objects)),
            [(0, o) for o in sorted(objects)],
        )
        decider = tied.kind, tuple(sorted(objects)[k] for k in tied.places)
        values[atom] = decider, tied.values
        blocks = tuple(block[o] for o in decider[1])
        chances[decider] = products.chances[tied.kind][0][blocks]
    deciders = sorted(chances, key=str)
    total = entropy = 0.0
    for state in itertools.product(*(range(len(chances[d])) for d in deciders)):
        world = dict(zip(deciders, state, strict=True))
        p = math.prod(float(chances[d][v]) for d, v in world.items())
        if not p:
            continue
        energy = sum(
            float(f.log_table[tuple(values[a][1][world[values[a][0]]] for a in f.scope)])
            for f in ground.factors
        )
        total += p * energy
        entropy -= p * math.log(p)
    return total + entropy


@pytest.mark.parametrize("name", MODELS)
def test_the_bound_is_the_expected_log_weight_plus_the_entropy(name: str) -> None:
    model = liftgbp.parse(MODELS[name])
    largest = 4 if name in ("undirected", "tournament", "proposition") else 3
    sizes = [(1, largest - 1), (2, largest - 2)]
    field = MeanField(shatter(model, {"p": largest}))
    generator = np.random.default_rng(3)
    for row in sizes:
        chances = tuple(
            generator.dirichlet(np.ones(values), size=(1, *(2,) * len(classes)))
            for values, classes in zip(field.ranges, field.classes_of_kind, strict=True)
        )
        start = BlockProducts((np.array([row], dtype=float),), chances)
        products = field.improved(start, rounds=1)
        bound = float(field.bounds(products)[0])
        assert bound == pytest.approx(ground_value(model, field, products), rel=1e-12, abs=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_no_product_exceeds_the_exact_log_z(name: str) -> None:
    model = liftgbp.parse(MODELS[name])
    sizes = {"p": 3}
    field = MeanField(shatter(model, sizes))
    exact = reference.exact(reference.ground(model, sizes)).log_z
    offset = liftgbp.prepare(model, sizes).plan.log_offset
    for found in find_blocks(field, [3]):
        assert offset + float(field.bounds(found.products)[0]) <= exact + 1e-10


def test_more_rounds_never_lead_downhill() -> None:
    field = MeanField(shatter(liftgbp.parse(MODELS["transitive"]), {"p": 30}))
    generator = np.random.default_rng(0)
    chances = (generator.dirichlet(np.ones(2), size=(20, 3, 3)),)
    products = BlockProducts((np.tile([10.0, 10.0, 10.0], (20, 1)),), chances)
    values = field.values(products)
    for _ in range(6):
        products = field.improved(products, rounds=3)
        better = field.values(products)
        assert (better >= values - 1e-9 * np.abs(values)).all()
        values = better
