"""How the atoms of a unit are pulled: sums over conjunctions of literals, 64 chains at a time.

The log weights of a unit given all other atoms are a sum over the factors around it. A factor adds
one of few vectors, and which one depends on the values of its other atoms. So each vector comes
with conjunctions of literals ("y is related to z, and x is not related to z"). A literal is a word
of 64 bits with one bit for each chain; a conjunction is the bitwise *and* of its literals. What is
left is to count, for each unit and chain, how many conjunctions hold.

Arrays: U units of a class, V joint values of a unit, C chains, W = C / 64 words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.ground.grounding import FactorBlock, GroundNetwork
from liftgbp.ground.grounding.network import distinct_rows
from liftgbp.support.arrays import Floats, Ints, expand, starts_of

WORD = 64
"""Chains in one word."""

HARD = 1e6
"""What a violated hard formula costs in log weight: no world that violates one is ever drawn."""

MOST_CONFIGURATIONS = 64
"""A factor with more configurations of its other atoms is looked up in its table instead."""

MOST_VECTORS = 12
"""With more different vectors than this, terms have coefficients of their own."""

MOST_COUNTED = 255
"""Counts are bytes."""

CHUNK = 2**20
"""Bits are counted in parts of at most this many bytes, which fit in a cache."""

Words: TypeAlias = NDArray[np.uint64]
Bytes: TypeAlias = NDArray[np.uint8]

SPREAD: Words = (
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    .view(np.uint64)
    .ravel()
)
"""For each byte, a word with one byte for each of its bits."""


@dataclass(frozen=True, slots=True)
class Heat:
    """How much of the model holds: `soft` multiplies log tables, `hard` is what violations cost."""

    soft: float = 1.0
    hard: float = HARD


FULL, ONLY_SOFT, VIOLATIONS = Heat(), Heat(1.0, 0.0), Heat(0.0, -1.0)


class Planes:
    """Where the bits of each variable are: one row of words for each of its values."""

    def __init__(self, ranges: Ints) -> None:
        starts = starts_of(ranges)
        self.first, self.never = starts[:-1], int(starts[-1])
        """The row of each variable's first value, and a row that is zero."""
        self.rows = self.never + 1


class Vectors:
    """What terms add to the log weights of values 1, 2, ... of a unit, relative to value 0.

    The two arrays hold soft log weights, and how many hard factors are violated.
    """

    def __init__(self, soft: Floats, hard: Floats) -> None:
        self.soft, self.hard = soft, hard
        self._last: tuple[Heat, Floats] | None = None

    def at(self, heat: Heat) -> Floats:
        """The log weights at some heat."""
        if self._last is None or self._last[0] is not heat:
            self._last = heat, heat.soft * self.soft - heat.hard * self.hard
        return self._last[1]


@dataclass(frozen=True, eq=False)
class Counted:
    """Terms of equal vectors: it is enough to count how many hold.

    `literals` has the shape (literals of a term, terms of a unit, units); missing terms are false.
    """

    units: Ints
    literals: Ints
    vectors: Vectors

    def add(self, planes: Words, heat: Heat, weights: Floats) -> None:
        """Add to the log weights of all units, (U, V - 1, C)."""
        counts = count_bits(self._holding(planes))
        added = self.vectors.at(heat)[:, None] * counts[:, None, :]
        if len(self.units) == len(weights):
            weights += added
        else:
            weights[self.units] += added

    def _holding(self, planes: Words) -> Words:
        words: Words = planes[self.literals[0]]
        for literal in self.literals[1:]:
            words &= planes[literal]
        return words


@dataclass(frozen=True, eq=False)
class Weighted(Counted):
    """Terms with vectors of their own, (U, V - 1, terms of a unit)."""

    def add(self, planes: Words, heat: Heat, weights: Floats) -> None:
        """Add to the log weights of all units."""
        words = np.ascontiguousarray(self._holding(planes).transpose(1, 0, 2))
        bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
        weights[self.units] += self.vectors.at(heat) @ bits.astype(float)


@dataclass(frozen=True, eq=False)
class LookedUp:
    """Wide factors: the values of their other atoms are the place of a vector in a table.

    `first` has the first rows of bits of the other atoms of each factor, sorted by unit; `starts`
    is where units begin.
    """

    units: Ints
    starts: Ints
    first: Ints
    strides: Ints
    vectors: Vectors

    def add(self, planes: Words, heat: Heat, weights: Floats) -> None:
        """Add to the log weights of all units."""
        table = self.vectors.at(heat)
        place = np.zeros((len(self.first), weights.shape[-1]), np.int64)
        for rows, (stride, length) in zip(self.first.T, self.strides.tolist(), strict=True):
            for value in range(1, length):
                words = planes[rows + value]
                bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
                place += bits * np.int64(stride * value)
        added = np.add.reduceat(table[place], self.starts, axis=0)
        weights[self.units] += added.transpose(0, 2, 1)


def count_bits(words: Words) -> NDArray[np.float64]:
    """For each unit and chain how many of its terms hold; words have shape (terms, U, W).

    >>> count_bits(np.array([[[3]], [[1]]], dtype=np.uint64))[0, :3].tolist()
    [2.0, 1.0, 0.0]
    """
    terms, units, width = words.shape
    total = np.zeros(units * width * WORD)
    step = max(1, min(MOST_COUNTED, CHUNK // (units * width * WORD)))
    spread = np.empty((min(step, terms), units * width * 8), np.uint64)
    rows = np.ascontiguousarray(words).reshape(terms, -1).view(np.uint8)
    for start in range(0, terms, step):
        part = rows[start : start + step]
        target = spread[: len(part)]
        # With a mode other than "raise", NumPy needs no copy.
        SPREAD.take(part, out=target, mode="clip")
        total += np.add.reduce(target.view(np.uint8), axis=0, dtype=np.uint8)
    return total.reshape(units, width * WORD)


class FactorIndex:
    """The factors of a network, by the variables that they are about."""

    def __init__(
        self, network: GroundNetwork, most_configurations: int = MOST_CONFIGURATIONS
    ) -> None:
        self.network = network
        self.most_configurations = most_configurations
        self.planes = Planes(network.ranges)
        self._by_variable = [_sorted_factors(block, network) for block in network.blocks]

    def around(self, variables: Ints) -> Iterator[tuple[FactorBlock, Ints]]:
        """For each block of factors, the numbers of those about some of the variables."""
        for block, (factors, starts) in zip(self.network.blocks, self._by_variable, strict=True):
            lengths = starts[variables + 1] - starts[variables]
            yield block, np.unique(factors[expand(starts[variables], lengths)])

    @cached_property
    def neighbours(self) -> tuple[Ints, Ints]:
        """For each variable those it shares a factor with, one after the other, and the starts."""
        count = len(self.network.ranges)
        keys = [np.zeros(0, np.int64)]
        for block in self.network.blocks:
            width = block.scopes.shape[1]
            for one in range(width):
                for other in range(width):
                    if one != other:
                        pairs = block.scopes[:, one] * count + block.scopes[:, other]
                        keys.append(np.unique(pairs))
        pairs = np.unique(np.concatenate(keys))
        return pairs % max(count, 1), np.searchsorted(pairs, np.arange(count + 1) * count)


def _sorted_factors(block: FactorBlock, network: GroundNetwork) -> tuple[Ints, Ints]:
    variables = block.scopes.ravel()
    order = np.argsort(variables, kind="stable")
    starts = np.searchsorted(variables[order], np.arange(len(network.ranges) + 1))
    return order // block.scopes.shape[1], starts


class Terms:
    """What pulls at the units of a class, which no factor connects.

    `units` has one row of variables for each unit; all of them have the same numbers of values.
    """

    def __init__(self, index: FactorIndex, units: Ints) -> None:
        self.shape = tuple(index.network.ranges[units[0]].tolist())
        self.values = int(np.prod(self.shape, dtype=np.int64))
        """The number of joint values."""
        self._unit_of = np.full(len(index.network.ranges), -1)
        self._unit_of[units] = np.arange(len(units))[:, None]
        self._place_of = np.full(len(index.network.ranges), -1)
        self._place_of[units] = np.arange(units.shape[1])
        self.digits = np.indices(self.shape).reshape(len(self.shape), -1)
        """For each variable of a unit, its value in each joint value."""
        self._sum = _Sum(index, len(units), self.values - 1)
        for block, factors in index.around(units.ravel()):
            self._collect(index, block, factors)

    def _collect(self, index: FactorIndex, block: FactorBlock, factors: Ints) -> None:
        scopes = block.scopes[factors]
        places = self._place_of[scopes]
        unit = self._unit_of[scopes].max(axis=1, initial=-1)
        first, kind = distinct_rows(np.column_stack([block.table_of[factors], places]))
        for number, example in enumerate(first.tolist()):
            table = index.network.tables[block.table_of[factors[example]]]
            same = np.flatnonzero(kind == number)
            self._add_kind(table, places[example], scopes[same], unit[same])

    def _add_kind(self, table: Floats, places: Ints, scopes: Ints, unit: Ints) -> None:
        """Factors with the same table and with the same axes inside their units."""
        others = np.flatnonzero(places < 0)
        inside = np.flatnonzero(places >= 0)
        lengths = [table.shape[axis] for axis in others]
        rows = table.transpose(*others, *inside).reshape(int(np.prod(lengths)), -1)
        own_shape = [table.shape[axis] for axis in inside]
        at = np.ravel_multi_index(tuple(self.digits[places[axis]] for axis in inside), own_shape)
        pulls = rows[:, at]
        hard = np.isneginf(pulls)
        soft = np.where(hard, 0.0, pulls)
        self._sum.add(
            soft[:, 1:] - soft[:, :1],
            hard[:, 1:] - hard[:, :1].astype(float),
            np.array(lengths, np.int64),
            scopes[:, others],
            unit,
        )

    def log_weights(self, planes: Words, heat: Heat = FULL) -> Floats:
        """The log weights of values 1, 2, ... of each unit, relative to value 0: (U, V - 1, C)."""
        return self._sum.at(planes, heat)


class WorldWeights:
    """The log weights of worlds: the sum over all factors, soft and hard apart.

    If only some variables change, it is enough to sum over the factors about these.
    """

    def __init__(self, index: FactorIndex, about: Ints | None = None) -> None:
        network = index.network
        # As many rows as there are terms in a chunk; all rows are added up in the end.
        rows = min(512, max(1, network.factors))
        self._sum = _Sum(index, rows, 1)
        for block, factors in _every_factor(network) if about is None else index.around(about):
            for number in np.unique(block.table_of[factors]).tolist():
                own = factors[block.table_of[factors] == number]
                unit = np.arange(len(own)) % rows
                table = network.tables[number]
                hard = np.isneginf(table).reshape(-1, 1)
                soft = np.where(hard, 0.0, table.reshape(-1, 1))
                lengths = np.array(table.shape, np.int64)
                self._sum.add(soft, hard.astype(float), lengths, block.scopes[own], unit)

    def soft(self, planes: Words) -> Floats:
        """The log weight of each chain's world, without hard factors that it violates."""
        return np.asarray(self._sum.at(planes, ONLY_SOFT).sum(axis=(0, 1)))

    def violations(self, planes: Words) -> Floats:
        """How many hard factors each chain's world violates."""
        return np.asarray(np.rint(self._sum.at(planes, VIOLATIONS).sum(axis=(0, 1))))

    def full(self, planes: Words) -> Floats:
        """The log weights of worlds; those that violate hard factors have next to none."""
        return np.asarray(self._sum.at(planes, FULL).sum(axis=(0, 1)))


def _every_factor(network: GroundNetwork) -> Iterator[tuple[FactorBlock, Ints]]:
    for block in network.blocks:
        yield block, np.arange(len(block.scopes))


class _Sum:
    """What all factors around some units add to log weights, collected factor by factor."""

    def __init__(self, index: FactorIndex, units: int, size: int) -> None:
        self._planes = index.planes
        self._most_configurations = index.most_configurations
        self._constant = Vectors(np.zeros((units, size)), np.zeros((units, size)))
        self._wide: list[LookedUp] = []
        # By the number of literals and by vector: the units, and the literals of each term.
        self._terms: dict[int, dict[bytes, list[tuple[Ints, Ints]]]] = {}
        self._vector: dict[bytes, list[Floats]] = {}

    def add(self, soft: Floats, hard: Floats, lengths: Ints, scopes: Ints, unit: Ints) -> None:
        """Factors that add row k of `soft` and `hard` where their other atoms are in state k."""
        rows = np.concatenate([soft, hard], axis=1)
        different, row_of = np.unique(rows, axis=0, return_inverse=True)
        row_of = row_of.ravel()
        # What most states add goes to the constant, so that fewer states are left.
        common = int(np.bincount(row_of).argmax())
        number = np.bincount(unit, minlength=len(self._constant.soft))[:, None]
        common_soft, common_hard = np.split(different[common], 2)
        self._constant.soft[:] += number * common_soft
        self._constant.hard[:] += number * common_hard
        left = np.flatnonzero(row_of != common)
        rows = rows - different[common]
        if len(left) > self._most_configurations:
            order = np.argsort(unit, kind="stable")
            units, starts = np.unique(unit[order], return_index=True)
            strides = np.append(np.cumprod(lengths[::-1])[-2::-1], 1)
            first, vectors = self._planes.first[scopes[order]], Vectors(*np.split(rows, 2, axis=1))
            digits = np.column_stack([strides, lengths])
            self._wide.append(LookedUp(units, starts, first, digits, vectors))
            return
        for state in left.tolist():
            digits = np.array(np.unravel_index(state, lengths), np.int64)
            literals = self._planes.first[scopes] + digits
            key = rows[state].tobytes()
            self._vector[key] = np.split(rows[state], 2)
            self._terms.setdefault(len(lengths), {}).setdefault(key, []).append((unit, literals))

    def at(self, planes: Words, heat: Heat) -> Floats:
        """The sum in each chain, (units, size, C)."""
        units, size = self._constant.soft.shape
        weights = np.empty((units, size, planes.shape[1] * WORD))
        weights[:] = self._constant.at(heat)[:, :, None]
        for group in self._groups:
            group.add(planes, heat, weights)
        return weights

    @cached_property
    def _groups(self) -> list[Counted | LookedUp]:
        return [*self._rectangular(), *self._wide]

    def _rectangular(self) -> Iterator[Counted]:
        """The terms in rectangles, one row for each term of a unit."""
        never = self._planes.never
        for by_vector in self._terms.values():
            if len(by_vector) > MOST_VECTORS:
                yield from self._weighted(by_vector, never)
                continue
            for key, parts in by_vector.items():
                units, literals = (np.concatenate(part) for part in zip(*parts, strict=True))
                for members, places in _rectangles(units):
                    filled = _filled(literals, places, never)
                    yield Counted(members, filled, Vectors(*self._vector[key]))

    def _weighted(
        self, by_vector: dict[bytes, list[tuple[Ints, Ints]]], never: int
    ) -> Iterator[Counted]:
        parts = [(*part, key) for key, members in by_vector.items() for part in members]
        units = np.concatenate([part[0] for part in parts])
        literals = np.concatenate([part[1] for part in parts])
        repeats = [len(part[0]) for part in parts]
        vectors = [
            np.repeat([self._vector[part[2]][k] for part in parts], repeats, axis=0)
            for k in range(2)
        ]
        for members, places in _rectangles(units):
            present = (places >= 0)[..., None]
            added = (np.where(present, vector[places], 0.0) for vector in vectors)
            soft, hard = (own.transpose(1, 2, 0) for own in added)
            yield Weighted(members, _filled(literals, places, never), Vectors(soft, hard))


def _rectangles(units: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Units with about equally many terms, and the places of these: (terms of a unit, units).

    Where a unit has fewer terms than others, a place is -1.
    """
    order = np.argsort(units, kind="stable")
    different, starts, counts = np.unique(units[order], return_index=True, return_counts=True)
    # At most a third of a rectangle is empty.
    level = np.ceil(np.log(counts) / np.log(1.5)).astype(np.int64)
    for one in np.unique(level).tolist():
        members = np.flatnonzero(level == one)
        height = int(counts[members].max())
        row = np.arange(height)[:, None]
        places = np.minimum(starts[members] + row, len(order) - 1)
        yield different[members], np.where(row < counts[members], order[places], -1)


def _filled(literals: Ints, places: Ints, never: int) -> Ints:
    filled = np.where(places >= 0, literals.T[:, places], never)
    return np.ascontiguousarray(filled)
