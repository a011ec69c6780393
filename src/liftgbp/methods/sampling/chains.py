"""Many chains at once: their worlds as bits, and sweeps that draw every unit anew.

Most units are single variables. Hard factors may forbid every single change of a world (if exactly
one of two atoms holds, neither can change alone), so the variables of a small hard factor are a
unit, too. Units of one class share no factor: given all other variables they are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.methods.sampling.terms import (
    FULL,
    MOST_CONFIGURATIONS,
    WORD,
    Bytes,
    FactorIndex,
    Heat,
    Planes,
    Terms,
    Words,
)
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.limits import checkpoint


class Worlds:
    """The worlds of all chains: the values of variables, and the same as bits."""

    def __init__(self, ranges: Ints, values: Bytes) -> None:
        self.values = values
        """The value of each variable in each chain, (variables, C)."""
        self.where = Planes(ranges)
        self.planes: Words = np.zeros((self.where.rows, values.shape[1] // WORD), np.uint64)
        self._ranges = ranges
        self.put(np.arange(len(ranges)), values)

    @classmethod
    def of_bits(cls, ranges: Ints, words: Words) -> Worlds:
        """Worlds by the bits of all values but the first of each variable, in rows."""
        values = np.zeros((len(ranges), words.shape[1] * WORD), np.uint8)
        row = np.concatenate([[0], np.cumsum(ranges - 1)])
        for value in range(1, int(ranges.max(initial=1))):
            some = np.flatnonzero(ranges > value)
            own = np.ascontiguousarray(words[row[some] + value - 1])
            values[some] += np.uint8(value) * np.unpackbits(
                own.view(np.uint8), axis=1, bitorder="little"
            )
        return cls(ranges, values)

    @property
    def chains(self) -> int:
        """The number of chains."""
        return int(self.values.shape[1])

    def write(self, variables: Ints, values: NDArray[Any], length: int) -> None:
        """Set variables with `length` values each, (variables, C)."""
        self.values[variables] = values
        first = self.where.first[variables]
        if length == 2:
            words = np.packbits(values, axis=1, bitorder="little").view(np.uint64)
            self.planes[first + 1] = words
            self.planes[first] = ~words
            return
        for value in range(length):
            bits = np.packbits(values == value, axis=1, bitorder="little")
            self.planes[first + value] = bits.view(np.uint64)

    def put(self, variables: Ints, values: Bytes) -> None:
        """Set different variables, whatever numbers of values they have, (variables, C)."""
        lengths = self._ranges[variables]
        for length in np.unique(lengths).tolist():
            same = np.flatnonzero(lengths == length)
            self.write(variables[same], values[same], length)

    def forget(self, variables: Ints) -> None:
        """Make every literal about some variables false; their values stay as they are."""
        for value in range(int(self._ranges[variables].max(initial=0))):
            some = variables[self._ranges[variables] > value]
            self.planes[self.where.first[some] + value] = 0

    def with_values(self, values: Bytes) -> Worlds:
        """Worlds of the same variables."""
        return Worlds(self._ranges, values)

    def copy(self) -> Worlds:
        """The same worlds, to be changed apart."""
        return self.with_values(self.values.copy())

    def take(self, chains: Ints, other: Worlds) -> None:
        """Let some chains have the worlds that they have among others."""
        mask = np.zeros(self.chains, np.uint8)
        mask[chains] = 1
        words = np.packbits(mask, bitorder="little").view(np.uint64)
        self.values[:, chains] = other.values[:, chains]
        self.planes[:] = (self.planes & ~words) | (other.planes & words)


def settled(
    gain: Floats, variables: Ints, old: Bytes, worlds: Worlds, random: np.random.Generator
) -> Bools:
    """Let chains go back to old values that do not accept a move, by the log of its chance."""
    accepted = -random.standard_exponential(worlds.chains) < gain
    worlds.put(variables, np.where(accepted, worlds.values[variables], old))
    return np.asarray(accepted)


class UnitClass:
    """Units that no factor connects, all drawn in one step."""

    def __init__(self, index: FactorIndex, units: Ints) -> None:
        checkpoint()
        self.units = units
        self.terms = Terms(index, units)

    def draw(
        self,
        worlds: Worlds,
        random: np.random.Generator,
        heat: Heat = FULL,
        base: Floats | None = None,
    ) -> None:
        """Draw each unit given all else. `base` is added to log weights, (U, V - 1, C or 1)."""
        weights = self.log_weights(worlds, heat, base)
        joint = drawn(weights, random)
        if self.terms.shape == (2,):
            worlds.write(self.units[:, 0], joint, 2)
        else:
            self.write(worlds, joint)

    def log_weights(self, worlds: Worlds, heat: Heat, base: Floats | None = None) -> Floats:
        """The log weights of all values but the first, relative to that one."""
        weights = self.terms.log_weights(worlds.planes, heat)
        if base is not None:
            weights += base
        return weights

    def joint(self, worlds: Worlds) -> Ints:
        """The joint value of each unit in each chain."""
        values = tuple(worlds.values[column] for column in self.units.T)
        return np.asarray(np.ravel_multi_index(values, self.terms.shape))

    def write(self, worlds: Worlds, joint: NDArray[Any]) -> None:
        """Set the joint value of each unit in each chain."""
        digits = self.terms.digits.astype(np.uint8)
        for column, length, digit in zip(self.units.T, self.terms.shape, digits, strict=True):
            worlds.write(column, digit[joint], length)


def drawn(weights: Floats, random: np.random.Generator) -> NDArray[Any]:
    """A value for each unit and chain, by log weights relative to value 0: (U, V - 1, C)."""
    units, others, chains = weights.shape
    if others == 1:
        # In single precision, the last digit of an exponential, which differs between processors,
        # would decide about a draw of every other sample. Zero times infinity is not below one, so
        # that what hard factors forbid is never drawn.
        with np.errstate(over="ignore", invalid="ignore"):
            against = np.exp(-weights[:, 0])
            uniform = random.random((units, chains), dtype=np.float32)
            return np.asarray(uniform * (1 + against) < 1)
    noise = -np.log(random.standard_exponential((units, others + 1, chains)))
    noise[:, 1:] += weights
    return np.asarray(noise.argmax(axis=1))


def log_chances(weights: Floats, joint: Ints) -> Floats:
    """The log probability of drawing these joint values, for each unit and chain."""
    every = np.concatenate([np.zeros_like(weights[:, :1]), weights], axis=1)
    every -= every.max(axis=1, keepdims=True)
    total = np.log(np.exp(every).sum(axis=1))
    return np.asarray(np.take_along_axis(every, joint[:, None], axis=1)[:, 0] - total)


class Sweeper:
    """Draws all variables of a network, class by class.

    A sweep draws every single variable, and some classes of units of several variables: about as
    many again, in turn, since there may be far more of these.
    """

    def __init__(
        self, network: GroundNetwork, most_configurations: int = MOST_CONFIGURATIONS
    ) -> None:
        self.index = FactorIndex(network, most_configurations)
        open_ones = np.flatnonzero(network.ranges > 1)
        self.singles = single_classes(self.index, open_ones)
        self._several = hard_classes(self.index)
        self._made: dict[int, UnitClass] = {}
        self._next = 0

    @property
    def classes(self) -> int:
        """How many classes of units are drawn in a sweep, at most."""
        return len(self.singles) + min(len(self.singles), len(self._several))

    def sweep(
        self,
        worlds: Worlds,
        random: np.random.Generator,
        heat: Heat = FULL,
        base: Callable[[UnitClass], Floats] | None = None,
    ) -> None:
        """Draw every variable once. `base` has log weights to add for each class of units."""
        for units in (*self.singles, *self._turn()):
            checkpoint()
            units.draw(worlds, random, heat, None if base is None else base(units))

    def _turn(self) -> Iterator[UnitClass]:
        """The next classes of units of several variables: no more classes or units than singles.

        What they are pulled by is collected when it is their turn for the first time.
        """
        budget = sum(len(single.units) for single in self.singles)
        for _ in range(self.classes - len(self.singles)):
            number = self._next % len(self._several)
            self._next += 1
            if number not in self._made:
                self._made[number] = UnitClass(self.index, self._several[number])
            yield self._made[number]
            budget -= len(self._several[number])
            if budget <= 0:
                return


# --- units that are drawn at once, and classes of units that can be drawn together


MOST_JOINT_VALUES = 32
"""Units of several variables have at most this many joint values."""

MOST_PAIRS = 200
"""At most this many pairs of the variables of one wide hard factor become units."""

HARD_UNITS = 4
"""There are at most this many units of several variables for each variable, chosen at random: an
equivalence relation over 40 objects has 9880 hard factors over 780 pairs."""


def single_classes(index: FactorIndex, variables: Ints) -> list[UnitClass]:
    """Classes of single variables."""
    ranges = index.network.ranges
    colours = coloured(index, variables[:, None])
    classes = []
    for colour in range(int(colours.max(initial=-1)) + 1):
        units = variables[colours == colour]
        same = (units[ranges[units] == length] for length in np.unique(ranges[units]).tolist())
        classes += [UnitClass(index, own[:, None]) for own in same]
    return classes


def hard_classes(index: FactorIndex) -> list[Ints]:
    """Classes of units of several variables that hard factors connect."""
    by_shape: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    ranges = index.network.ranges
    every = sorted(set(_hard_units(index.network)))
    chosen = np.random.default_rng(0).permutation(len(every))[: HARD_UNITS * len(ranges)]
    for number in chosen.tolist():
        shape = tuple(ranges[list(every[number])].tolist())
        by_shape.setdefault(shape, set()).add(every[number])
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
