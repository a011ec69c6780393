"""What a world tells about the block of each of its objects: an estimate, and a lower bound.

If blocks look different, every way to put objects into them is a point of its own, and there are
N!/(n_1! n_2! ...) of them. If they look alike, all ways are one point. In between, the information
about the labels of objects is what is left of the number of ways once the uncertainty about the
labels, given the world, is taken off. That is bounded by pairwise distances between blocks
(A. Kolchinsky and B. D. Tracey, *Estimating mixture entropy with pairwise distances*, Entropy 19,
2017).

For a lower bound, a product over blocks is one of many: objects can be put into the blocks in any
way. Their uniform mixture has the same expected energy, and more entropy by the information that a
world carries about the way. For any mixture of p_1, p_2, ... with shares c_i, that is at least

    -Σ_i c_i log Σ_j c_j ∫ √(p_i p_j)

in the same paper. All ways look the same from each of them, so one i stands for all, and the
integral is a product over ground atoms that depends on how many objects change from which block to
which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.methods.blocks.flat import ways
from liftgbp.methods.blocks.products import BlockProducts, MeanField
from liftgbp.solve import IndependentAtoms
from liftgbp.support.arrays import Floats

if TYPE_CHECKING:
    from liftgbp.methods.blocks.block_search import Found


def information(products: BlockProducts, field: MeanField) -> Floats:
    """What products tell about the blocks of all objects, in nats, (S)."""
    total = np.zeros(len(products))
    for cls, sizes in enumerate(products.sizes):
        if sizes.shape[1] > 1:
            unknown = uncertainty(sizes, distances(products, field, cls))
            total += np.maximum(0.0, log_ways(sizes) - unknown)
    return total


def log_ways(sizes: Floats) -> Floats:
    """The log of the number of ways to put objects into blocks of some sizes (S, k)."""
    return np.asarray(_log_factorial(sizes.sum(axis=1)) - _log_factorial(sizes).sum(axis=1))


def _log_factorial(numbers: Floats) -> Floats:
    return np.array([math.lgamma(number + 1) for number in numbers.ravel()]).reshape(numbers.shape)


def uncertainty(sizes: Floats, apart: Floats) -> Floats:
    """What remains unknown about the labels of all objects at most, (S).

    `apart` (S, k, k) are the Bhattacharyya distances between what objects of two blocks look like.
    """
    present = sizes > 0
    logs = np.log(np.where(present, sizes, 1.0))
    terms = np.where(present[:, None, :], logs[:, None, :] - logs[:, :, None] - apart, -np.inf)
    own = np.logaddexp.reduce(terms, axis=2)
    return np.asarray((sizes * np.where(present, own, 0.0)).sum(axis=1))


def distances(products: BlockProducts, field: MeanField, cls: int) -> Floats:
    """How different objects of any two blocks of a class look to all others, (S, k, k).

    A sum over all atoms that mention an object, by the place where they do.
    """
    blocks = products.sizes[cls].shape[1]
    total = np.zeros((len(products), blocks, blocks))
    kinds = zip(products.chances, field.classes_of_kind, field.ties.symmetries, strict=True)
    for chances, classes, symmetries in kinds:
        for place in (k for k, own in enumerate(classes) if own == cls):
            roots = np.moveaxis(np.sqrt(chances), 1 + place, 1)
            apart = _apart(roots[:, :, None], roots[:, None])
            number = _seen(products.sizes, cls, [c for k, c in enumerate(classes) if k != place])
            seen = np.minimum(number[:, :, None], number[:, None, :])
            # Where an atom is mentioned at several places, it counts once.
            terms = np.where(seen > 0, apart, 0.0) * seen / len(symmetries)
            total += terms.reshape(len(products), blocks, blocks, -1).sum(axis=3)
    return total


def _apart(one: Floats, other: Floats) -> Floats:
    """The Bhattacharyya distances between distributions with these roots, along the last axis.

    That of two which are alike comes from their differences: objects see 1e15 atoms in a town of as
    many people, and the last digit of a sum near one would tell blocks apart.
    """
    overlap = (one * other).sum(axis=-1)
    differ = ((one - other) ** 2).sum(axis=-1) / 2
    with np.errstate(divide="ignore"):
        near = -np.log1p(-np.minimum(differ, 0.75))
        return np.asarray(np.where(overlap < 0.5, -np.log(overlap), near))


def _seen(sizes: Sequence[Floats], cls: int, others: Sequence[int]) -> Floats:
    """How many atoms mention an object, by its block and the blocks of their other objects."""
    counts = ways(sizes, (cls, *others))
    own = sizes[cls].reshape(*sizes[cls].shape, *(1,) * len(others))
    return np.asarray(counts / np.where(own > 0, own, 1.0))


# --- a lower bound


MOST_OBJECTS = 20_000
"""In larger classes nothing is said: there the information is a tiny part of log Z."""

ROUNDING = 1e-12
"""What rounding does to the log of a number of ways, in proportion; generously."""


def label_information(products: BlockProducts, field: MeanField) -> float:
    """What a world tells about blocks, at least, for the first of some products.

    Zero unless exactly one class has two blocks, and no hard formula ties atoms together.
    """
    split = [cls for cls, number in enumerate(products.blocks) if number > 1]
    tied = any(len(own) > 1 for own in field.ties.symmetries)
    if len(split) != 1 or products.blocks[split[0]] != 2 or tied:
        return 0.0
    (cls,) = split
    first, second = (round(size) for size in products.sizes[cls][0])
    if not first or not second or first + second > MOST_OBJECTS:
        return 0.0
    # So many objects of each block are in the other one in another way.
    moved = np.arange(min(first, second) + 1)
    changes = np.array([first - moved, moved, moved, second - moved], dtype=float).T
    logs = _log_shares(first, second, changes) - _distances(products, field, cls, changes)
    top = float(logs.max())
    total = top + math.log(math.fsum(np.exp(logs - top)))
    slack = ROUNDING * (1 + math.lgamma(first + second + 1) + abs(total))
    return max(0.0, -total - slack)


def best_mixture(
    found: Sequence[Found], values: Sequence[float], field: MeanField
) -> tuple[float, IndependentAtoms]:
    """The most that products over blocks reach, mixed in all ways; and which they are.

    `values` are what the products reach alone.
    """
    told = [label_information(own.products, field) for own in found]
    reached = [value + more for value, more in zip(values, told, strict=True)]
    best = max(range(len(found)), key=reached.__getitem__)
    return reached[best], over_blocks(found[best].sizes, mixed=told[best] > 0)


def over_blocks(sizes: Sequence[Sequence[float]], *, mixed: bool) -> IndependentAtoms:
    """What reaches a bound, by the sizes of the blocks of each class.

    >>> over_blocks([(5, 5), (7,)], mixed=True)
    IndependentAtoms(blocks=((5, 5),), mixed=True, atom='')
    """
    split = tuple(tuple(own) for own in sizes if len(own) > 1)
    return IndependentAtoms(split, mixed and bool(split))


def _log_shares(first: int, second: int, changes: Floats) -> Floats:
    """The logs of the shares of ways, by how many objects change from which block to which."""
    factorials = np.array([math.lgamma(k + 1) for k in range(first + second + 1)])
    own = factorials[first] + factorials[second]
    every = factorials[first + second] - own
    return np.asarray(own - factorials[changes.astype(np.int64)].sum(axis=1) - every)


def _distances(products: BlockProducts, field: MeanField, cls: int, changes: Floats) -> Floats:
    """Minus the logs of the integrals, for each row of `changes`."""
    rows = len(changes)
    sizes = [
        changes if other == cls else np.tile(own[0], (rows, 1))
        for other, own in enumerate(products.sizes)
    ]
    total = np.zeros(rows)
    # The block in one way and in the other, for each kind of change.
    before, after = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    for chances, classes in zip(products.chances, field.classes_of_kind, strict=True):
        one = other = np.sqrt(chances[0])
        for place in (k for k, own in enumerate(classes) if own == cls):
            one, other = np.take(one, before, axis=place), np.take(other, after, axis=place)
        number = ways(sizes, classes)
        terms = np.where(number > 0, _apart(one, other), 0.0) * number
        total += terms.reshape(rows, -1).sum(axis=1)
    return total * (1 - ROUNDING)
