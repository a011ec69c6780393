"""The search for blocks: products over more and more of them, as long as that pays.

What a product is worth is its expected energy plus its entropy, plus what it tells about the blocks
of objects (see `information`). Blocks grow one at a time: each block is halved, and one half starts
like another block, or like that one turned around, beside starts at random. Then objects move from
block to block as long as that leads uphill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from liftgbp.methods.blocks.labels import distances, information
from liftgbp.methods.blocks.products import ROUNDING, BlockProducts, MeanField
from liftgbp.support.arrays import Floats

ROUNDS = 25
"""The rounds from a start: each halves the distance to the end. After objects have moved to another
block they are as many: a product that is not at rest yet seems to be worth more than it is
(transitive over 20 objects)."""

HEAT = 2.0
"""The largest pull on an atom at first, where products start hot. In large domains pulls are so
strong that the first one decides, whatever it is (the transitive relation over 1e6 objects)."""

FRESH = 8
"""How many products at random each number of blocks starts from, hot."""

TILTED, TILT = 24, 0.99
"""How many products it starts from, cold, whose atoms are random or tilted towards some value this
far. Hard formulas need them: triangle-free graphs over 1000 objects."""

NOISE, LEAST = 1.0, 1e-9
"""How far the logs of probabilities move at random where a block is halved, and the smallest
probability before that: what is zero could not move. Less noise finds a lower point of
friends-knows over 28 objects, by 0.05 nats."""

KEPT = 2
"""How many of the best products have their sizes improved, and are split further. With one, the
best of friends-knows over 28 objects is missed; a third changes nothing on the paper's models."""

LENGTHS = 4
"""How many lengths of moves are tried together, each a quarter of the one before. One at a time
finds the same, and the search takes half as long again."""

FIRST_STEP, LAST_STEP = 1 / 8, 1e-6
"""The longest and the shortest move between blocks, as a part of a class; at least one object."""

WORK = 600.0
"""The work of a level for each operation of a round."""

GAIN = 1e-6
"""What one more block must be worth, in nats, beyond rounding; or the search ends. Without it, one
random model in ten would be searched on for blocks that are alike, two or three times as long."""

ALIKE = 1e-4
"""Two blocks are alike if what tells their objects apart is less than this, in nats. It allows for
rounding only: blocks that differ by half a nat are a minimum of transitive over 11 objects."""


@dataclass(frozen=True, eq=False, slots=True)
class Found:
    """A product with its value, and what it tells about blocks; `products` has one row."""

    products: BlockProducts
    value: float
    information: float
    alike: bool

    @property
    def total(self) -> float:
        """What it is worth."""
        return self.value + self.information

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """The number of objects in each block of each class."""
        return tuple(tuple(round(size) for size in own[0]) for own in self.products.sizes)


def find_blocks(
    field: MeanField,
    most: Sequence[int],
    seed: int = 0,
    most_work: float = math.inf,
    *,
    patient: bool = False,
    hot: bool = True,
) -> list[Found]:
    """The best product for each number of blocks that pays; the first has one block per class.

    `most` is the largest number of blocks of each class. The search ends where it would take more
    than some work; if that is at once, nothing is found. With `patient`, it goes on where a block
    does not pay, up to the largest numbers. Without `hot` starts it takes half the time, and misses
    some blocks in large domains.
    """
    search = _Search(field, most, seed, hot)
    left = most_work - search.work((1,) * len(most))
    if left < 0:
        return []
    level = search.level((1,) * len(most), ())
    found = [level[0]]
    while larger := list(search.larger(level[0].products.blocks)):
        left -= sum(map(search.work, larger))
        if left < 0:
            break
        level = max(
            (search.level(blocks, level) for blocks in larger), key=lambda own: own[0].total
        )
        last = found[-1].total
        if not patient and level[0].total < last + GAIN + ROUNDING * abs(last):
            break
        found.append(level[0])
    return found


class _Search:
    def __init__(self, field: MeanField, most: Sequence[int], seed: int, hot: bool) -> None:
        self._heat = HEAT if hot else 0.0
        self._field = field
        sizes = field.class_sizes
        self._most = [min(own, size) for own, size in zip(most, sizes, strict=True)]
        self._generator = np.random.default_rng(seed)

    def larger(self, blocks: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Numbers of blocks with one more in some class."""
        for cls, most in enumerate(self._most):
            if blocks[cls] < most:
                yield (*blocks[:cls], blocks[cls] + 1, *blocks[cls + 1 :])

    def work(self, blocks: tuple[int, ...]) -> float:
        """What a level takes, in units of `solve.work_of`."""
        rows = FRESH + TILTED + 4 * KEPT * max(blocks) ** 2
        return WORK * self._field.operations(rows, blocks)

    def level(self, blocks: tuple[int, ...], parents: Sequence[Found]) -> list[Found]:
        """The best products with these numbers of blocks, the best first."""
        parts = [self._fresh(blocks), self._tilted(blocks)]
        parts += [own for parent in parents for own in self._halves(parent.products, blocks)]
        starts = BlockProducts.joined(parts)
        # Of halved blocks, every other start is cold: it remembers what fewer blocks have found.
        number = np.arange(len(starts))
        hot = (number < FRESH) | ((number >= FRESH + TILTED) & (number % 2 == 0))
        heat = np.where(hot, self._heat, 0.0)
        kept = self._best(self._field.improved(starts, ROUNDS, heat), KEPT)
        # A second one of the same worth is the first with its blocks in another order.
        apart = GAIN + ROUNDING * abs(kept[0].total)
        kept = [own for k, own in enumerate(kept) if not k or own.total < kept[0].total - apart]
        climbed = [own if own.alike else self._climbed(own) for own in kept]
        return sorted(climbed, key=lambda own: -own.total)

    # --- starts

    def _fresh(self, blocks: tuple[int, ...]) -> BlockProducts:
        """Products at random, with blocks of equal size."""
        return self._with_equal_blocks(
            blocks, FRESH, lambda values, shape: self._generator.dirichlet(np.ones(values), shape)
        )

    def _tilted(self, blocks: tuple[int, ...]) -> BlockProducts:
        """Products whose atoms are uniform or nearly certain, with blocks of equal size."""

        def chances(values: int, shape: tuple[int, ...]) -> Floats:
            certain = np.full((values, values), (1 - TILT) / max(values - 1, 1))
            np.fill_diagonal(certain, TILT)
            choices = np.vstack([np.full((1, values), 1 / values), certain])
            return np.asarray(choices[self._generator.integers(values + 1, size=shape)])

        return self._with_equal_blocks(blocks, TILTED, chances)

    def _with_equal_blocks(
        self,
        blocks: tuple[int, ...],
        number: int,
        chances: Callable[[int, tuple[int, ...]], Floats],
    ) -> BlockProducts:
        field = self._field
        sizes = [_shares(size, k) for size, k in zip(field.class_sizes, blocks, strict=True)]
        return BlockProducts(
            tuple(np.tile(own, (number, 1)) for own in sizes),
            tuple(
                chances(values, (number, *(blocks[c] for c in classes)))
                for classes, values in zip(field.classes_of_kind, field.ranges, strict=True)
            ),
        )

    def _halves(self, parent: BlockProducts, blocks: tuple[int, ...]) -> Iterator[BlockProducts]:
        """A product after one of the blocks of a class is halved, in several ways."""
        cls = next(c for c, new in enumerate(blocks) if new > parent.blocks[c])
        halved = np.flatnonzero(parent.sizes[cls][0] >= 2).tolist()
        models = range(parent.blocks[cls])
        for block, model, turned in product(halved, models, (False, True)):
            yield self._halved(parent, cls, block, model, turned).repeated(2)

    def _halved(
        self, parent: BlockProducts, cls: int, block: int, model: int, turned: bool
    ) -> BlockProducts:
        """One half of a block looks like a model block, or like that turned around."""
        size = parent.sizes[cls]
        half = np.floor(size[:, block] / 2)
        sizes = np.column_stack([size, half])
        sizes[:, block] -= half
        chances = [
            self._noisy(_with_block(own, classes, cls, model, turned))
            for own, classes in zip(parent.chances, self._field.classes_of_kind, strict=True)
        ]
        new_sizes = (*parent.sizes[:cls], sizes, *parent.sizes[cls + 1 :])
        return BlockProducts(new_sizes, tuple(chances))

    def _noisy(self, chances: Floats) -> Floats:
        noise = NOISE * self._generator.standard_normal(chances.shape)
        moved = np.maximum(chances, LEAST) * np.exp(noise)
        return np.asarray(moved / moved.sum(axis=-1, keepdims=True))

    # --- sizes

    def _best(self, products: BlockProducts, number: int) -> list[Found]:
        values = self._field.values(products)
        extra = information(products, self._field)
        order = np.argsort(-(values + extra), kind="stable")[:number]
        rows = [(products.rows([k]), float(values[k]), float(extra[k])) for k in order]
        return [Found(*own, alike=alike(own[0], self._field)) for own in rows]

    def _climbed(self, found: Found) -> Found:
        """The product after objects have moved from block to block, uphill."""
        length = FIRST_STEP
        while length >= LAST_STEP:
            moved = self._moved(found.products, length)
            if moved is None:
                break
            best = self._best(self._field.improved(moved, ROUNDS), 1)[0]
            if best.total > found.total:
                found = best
            else:
                length /= 4**LENGTHS
        return found

    def _moved(self, products: BlockProducts, length: float) -> BlockProducts | None:
        """A product with some objects in other blocks, in all ways; none if none is possible."""
        moves: list[tuple[int, int, int, float]] = []
        for cls, (sizes,) in enumerate(products.sizes):
            longest = length * self._field.class_sizes[cls]
            steps = {max(1.0, math.floor(longest / 4**k)) for k in range(LENGTHS)}
            for source, target in permutations(range(len(sizes)), 2):
                moves += [(cls, source, target, s) for s in steps if sizes[source] > s]
        if not moves:
            return None
        moved = products.repeated(len(moves))
        for row, (cls, source, target, step) in enumerate(moves):
            moved.sizes[cls][row, source] -= step
            moved.sizes[cls][row, target] += step
        return moved


def alike(products: BlockProducts, field: MeanField) -> bool:
    """Whether two blocks of some class look alike, in the first of some products."""
    several = [cls for cls, blocks in enumerate(products.blocks) if blocks > 1]
    if not several:
        return False
    first = products.rows([0])
    for cls in several:
        others = ~np.eye(products.blocks[cls], dtype=bool)
        if distances(first, field, cls)[0][others].min() < ALIKE:
            return True
    return False


def _with_block(
    chances: Floats, classes: Sequence[int], cls: int, model: int, turned: bool
) -> Floats:
    """Probabilities with one more block that looks like another one.

    Turned around, the two first arguments of that class are exchanged.
    """
    places = [k for k, own in enumerate(classes) if own == cls]
    if not places:
        return chances
    blocks = chances.shape[1 + places[0]]
    for place in places:
        chances = np.take(chances, [*range(blocks), model], axis=1 + place)
    if not turned or len(places) < 2:
        return chances
    new = np.zeros(chances.shape[1:-1], dtype=bool)
    for place in places:
        np.moveaxis(new, place, 0)[blocks] = True
    swapped = np.swapaxes(chances, 1 + places[0], 1 + places[1])
    return np.where(new[None, ..., None], swapped, chances)


def _shares(size: int, blocks: int) -> Floats:
    """Whole shares of a size, as equal as they can be."""
    return np.array([float(size * (k + 1) // blocks - size * k // blocks) for k in range(blocks)])
