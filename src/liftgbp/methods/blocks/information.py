"""What a world tells about the block of each of its objects.

If blocks look different, every way to put objects into them is a point of its own, and there are
N!/(n_1! n_2! ...) of them. If they look alike, all ways are one point. In between, the information
about the labels of objects is what is left of the number of ways once the uncertainty about the
labels, given the world, is taken off. That is bounded by pairwise distances between blocks
(Kolchinsky and Tracey, Estimating mixture entropy with pairwise distances, 2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from liftgbp.methods.blocks.flat import ways
from liftgbp.methods.blocks.products import BlockProducts, MeanField
from liftgbp.support.arrays import Floats


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
            overlap = np.einsum("si...v,sj...v->sij...", roots, roots)
            with np.errstate(divide="ignore"):
                apart = -np.log(np.minimum(overlap, 1.0))
            number = _seen(products.sizes, cls, [c for k, c in enumerate(classes) if k != place])
            seen = np.minimum(number[:, :, None], number[:, None, :])
            # Where an atom is mentioned at several places, it counts once.
            terms = np.where(seen > 0, apart, 0.0) * seen / len(symmetries)
            total += terms.reshape(len(products), blocks, blocks, -1).sum(axis=3)
    return total


def _seen(sizes: Sequence[Floats], cls: int, others: Sequence[int]) -> Floats:
    """How many atoms mention an object, by its block and the blocks of their other objects."""
    counts = ways(sizes, (cls, *others))
    own = sizes[cls].reshape(*sizes[cls].shape, *(1,) * len(others))
    return np.asarray(counts / np.where(own > 0, own, 1.0))
