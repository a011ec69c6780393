"""Units that are drawn at once, and classes of units that can be drawn together.

Most units are single variables. Hard factors may forbid every single change of a world (if exactly
one of two atoms holds, neither can change alone), so the variables of a small hard factor are a
unit, too. Units of one class share no factor: given all other variables they are independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.methods.sampling.terms import FactorIndex
from liftgbp.support.arrays import Bools, Ints
from liftgbp.support.limits import checkpoint

MOST_JOINT_VALUES = 32
"""Units of several variables have at most this many joint values."""

MOST_PAIRS = 200
"""At most this many pairs of the variables of one wide hard factor become units."""

MOST_HARD_UNITS = 20_000
"""At most this many units of several variables are made."""


def single_classes(index: FactorIndex) -> list[Ints]:
    """Classes of single variables, each with one column."""
    ranges = index.network.ranges
    open_ones = np.flatnonzero(ranges > 1)
    colours = coloured(index, open_ones[:, None])
    classes = []
    for colour in range(int(colours.max(initial=-1)) + 1):
        units = open_ones[colours == colour]
        classes += [units[ranges[units] == r][:, None] for r in np.unique(ranges[units]).tolist()]
    return classes


def hard_classes(index: FactorIndex) -> list[Ints]:
    """Classes of units of several variables that hard factors connect."""
    by_shape: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    ranges = index.network.ranges
    for unit in _hard_units(index.network):
        shape = tuple(ranges[list(unit)].tolist())
        by_shape.setdefault(shape, set()).add(unit)
        if sum(map(len, by_shape.values())) >= MOST_HARD_UNITS:
            break
    classes: list[Ints] = []
    for same in by_shape.values():
        units = np.array(sorted(same), np.int64)
        colours = coloured(index, units)
        classes += [units[colours == colour] for colour in range(int(colours.max()) + 1)]
    return classes


def _hard_units(network: GroundNetwork) -> Iterator[tuple[int, ...]]:
    possible = [np.isfinite(table) for table in network.tables]
    is_hard = np.array([not states.all() for states in possible], bool)
    for block in network.blocks:
        if block.scopes.shape[1] < 2:
            continue
        for factor in np.flatnonzero(is_hard[block.table_of]).tolist():
            scope = tuple(block.scopes[factor].tolist())
            table = possible[block.table_of[factor]]
            if table.size <= MOST_JOINT_VALUES:
                yield scope
            elif not _connected(table):
                yield from _pairs(scope, network.ranges)


def _pairs(scope: Sequence[int], ranges: Ints) -> Iterator[tuple[int, ...]]:
    pairs = list(combinations(scope, 2))
    step = -(-len(pairs) // MOST_PAIRS)
    for one, other in pairs[::step]:
        if ranges[one] * ranges[other] <= MOST_JOINT_VALUES:
            yield one, other


def _connected(possible: Bools) -> bool:
    """Whether changes of one variable at a time lead from each possible state to every other."""
    reached = np.zeros(possible.shape, bool)
    if not possible.any():
        return True
    reached.flat[possible.argmax()] = True
    while True:
        grown = reached.copy()
        for axis in range(possible.ndim):
            grown |= grown.any(axis=axis, keepdims=True) & possible
        if (grown == reached).all():
            return bool((reached == possible).all())
        reached = grown


def coloured(index: FactorIndex, units: Ints) -> Ints:
    """The class of each unit: the first that holds no neighbour of it."""
    near, starts = index.neighbours
    taken_by: list[set[int]] = [set() for _ in index.network.ranges]
    colours = np.zeros(len(units), np.int64)
    # In a random order a third fewer classes are needed than in that of the atoms.
    for number in np.random.default_rng(0).permutation(len(units)).tolist():
        checkpoint()
        unit = units[number].tolist()
        around = set(unit)
        for variable in unit:
            around.update(near[starts[variable] : starts[variable + 1]].tolist())
        # Two units may not even be about the same variable.
        used: set[int] = set().union(*(taken_by[variable] for variable in around))
        colour = next(k for k in range(len(used) + 1) if k not in used)
        colours[number] = colour
        for variable in unit:
            taken_by[variable].add(colour)
    return colours
