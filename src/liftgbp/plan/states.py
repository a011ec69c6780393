"""States of tables: orbits under symmetries, and projections to smaller tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.support.arrays import Bools, Ints


@dataclass(frozen=True, eq=False, slots=True)
class Orbits:
    """The alive states of a table, grouped into orbits.

    orbit_of         for each state its orbit, or -1 for a dead one
    representatives  the first state of each orbit
    sizes            the number of states of each orbit
    """

    orbit_of: Ints
    representatives: Ints
    sizes: Ints

    def __len__(self) -> int:
        return len(self.sizes)


def find_orbits(
    shape: Sequence[int], symmetries: Sequence[Sequence[int]], alive: Bools | None = None
) -> Orbits:
    """The orbits of states under permutations of the axes; dead states must be symmetric, too.

    >>> find_orbits((2, 2), [(1, 0)]).sizes.tolist()
    [1, 2, 1]
    """
    label = _smallest_in_orbit(shape, symmetries)
    if alive is None:
        alive = np.ones(len(label), dtype=bool)
    representatives, sizes = np.unique(label[alive], return_counts=True)
    number = np.full(len(label), -1, dtype=np.int64)
    number[representatives] = np.arange(len(representatives))
    return Orbits(
        orbit_of=np.where(alive, number[label], -1),
        representatives=representatives,
        sizes=sizes.astype(np.int64),
    )


def _smallest_in_orbit(shape: Sequence[int], symmetries: Sequence[Sequence[int]]) -> Ints:
    """For each state the smallest state of its orbit.

    Labels spread along the generators until nothing changes; following labels of labels makes the
    number of rounds logarithmic in the length of cycles.
    """
    label = np.arange(math.prod(shape), dtype=np.int64)
    moves = [projection(shape, symmetry) for symmetry in symmetries]
    changed = bool(moves)
    while changed:
        before = label
        for move in moves:
            label = np.minimum(label, label[move])
        label = np.minimum(label, label[label])
        changed = not np.array_equal(label, before)
    return label


def projection(shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """For each state of a table, the state of a smaller table whose axes are some of its axes.

    States are flat indices, row-major.

    >>> projection((2, 3), (1,)).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    index = np.zeros(shape, dtype=np.int64)
    stride = math.prod(shape[axis] for axis in axes)
    for axis in axes:
        stride //= shape[axis]
        along = [1] * len(shape)
        along[axis] = shape[axis]
        index += (np.arange(shape[axis]) * stride).reshape(along)
    return index.ravel()


def project_states(states: Ints, shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """The same for some states only.

    >>> project_states(np.array([1, 5]), (2, 3), (1,)).tolist()
    [1, 2]
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    index = np.zeros(len(states), dtype=np.int64)
    for axis in axes:
        index *= shape[axis]
        index += states // strides[axis] % shape[axis]
    return index
