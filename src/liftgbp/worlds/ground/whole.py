"""Ground networks with whole numbers as weights: what every search for a best world works on.

Weights are decimals that people write, so that all scores are multiples of one decimal unit. In
this unit they are whole numbers: sums do not depend on their order, ties are ties, and a bound less
than one unit above a score proves it. Weights without a common unit, such as logs of potentials,
are rounded to a unit of which all weights together are 2^52: doubles that stand for logs are not
much closer to these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.support.arrays import Floats, Ints, stable_order, starts_of
from liftgbp.worlds.optimum import exact

DECIMALS = 9
"""Weights are looked at to so many decimals for a common unit."""

SAME = 2.0**-44
"""A double this close to a multiple of the unit, in proportion, is meant to be that multiple: sums
of some hundred weights are closer."""

MOST_SCALED = 2**37
"""Larger numbers of a unit are not told from whole ones."""

MOST_MULTIPLE = 2**12
"""Logs of potentials are multiples of one of them, such as log 2, at most so many times; of unlike
ones, none is that close to such a multiple by chance."""

MOST_TOTAL = 2**52
"""Sums of whole numbers up to this are exact in doubles."""


@dataclass(frozen=True, eq=False)
class WholeNetwork:
    """A network whose tables are whole numbers, in doubles; `-inf` is impossible.

    ranges    the number of values of each variable
    blocks    factors; those of one block have equally many variables
    tables    what factors refer to, in units
    true      how many atoms are true for each value of each variable; hard rules may tie several
              atoms to one variable
    unit      what one stands for
    rounded   whether weights are no whole numbers of units
    """

    ranges: Ints
    blocks: tuple[FactorBlock, ...]
    tables: tuple[Floats, ...]
    true: Ints
    unit: Fraction = Fraction(1)
    rounded: bool = False

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.ranges)

    @cached_property
    def factors(self) -> int:
        """The number of factors."""
        return sum(len(block.table_of) for block in self.blocks)

    @cached_property
    def as_ground(self) -> GroundNetwork:
        """The same for methods that take any network."""
        return GroundNetwork(self.ranges, self.blocks, self.tables)

    @cached_property
    def tops(self) -> Floats:
        """The largest entry of each table."""
        return np.array([table.max() for table in self.tables])

    @cached_property
    def spreads(self) -> Floats:
        """What the possible entries of each table differ by."""
        return np.array(
            [
                top - table[table > -np.inf].min(initial=top)
                for table, top in zip(self.tables, self.tops, strict=True)
            ]
        )

    @cached_property
    def ceiling(self) -> int:
        """The sum of the largest entries of all factors: no world has a larger score."""
        return sum(int(self.tops[block.table_of].sum()) for block in self.blocks)

    @cached_property
    def spread(self) -> int:
        """How much worlds can differ that break no hard rule."""
        return sum(int(self.spreads[block.table_of].sum()) for block in self.blocks)

    @cached_property
    def hard(self) -> bool:
        """Whether some factor rules states out."""
        return any(np.isneginf(table).any() for table in self.tables)

    @cached_property
    def most_true(self) -> int:
        """How many atoms can be true at most."""
        return int(self.true.max(axis=1, initial=0).sum())

    @property
    def fewest_true(self) -> int:
        """How many atoms are true at least."""
        inside = np.arange(self.true.shape[1]) < self.ranges[:, None]
        return int(np.where(inside, self.true, self.true.max(initial=0)).min(axis=1).sum())

    def true_atoms(self, values: Ints) -> int:
        """How many atoms are true in a world."""
        return int(self.true[np.arange(self.size), values].sum())

    # --- scores

    @cached_property
    def _entries(self) -> tuple[Floats, Ints]:
        """All tables in a row, and where each one starts."""
        flat = [np.zeros(0), *(np.ravel(table) for table in self.tables)]
        return np.concatenate(flat), starts_of(np.array([table.size for table in self.tables]))

    def entries(self, block: FactorBlock, values: Ints) -> Ints:
        """Which entry of all tables each factor of a block takes in a world."""
        _, starts = self._entries
        place = np.zeros(len(block.table_of), np.int64)
        for column in block.scopes.T:
            place = place * self.ranges[column] + values[column]
        return place + starts[:-1][block.table_of]

    def score(self, values: Ints) -> float:
        """The score of a world in units; `-inf` if it breaks a hard rule."""
        flat, _ = self._entries
        return math.fsum(float(flat[self.entries(own, values)].sum()) for own in self.blocks)

    # --- the same question in another form

    def softened(self) -> WholeNetwork:
        """The network with costs for what is impossible: breaking a hard rule costs more than all.

        >>> one = FactorBlock(np.array([[0]]), np.array([0]))
        >>> tables = (np.array([-np.inf, 0.0, 5.0]),)
        >>> own = WholeNetwork(np.array([3]), (one,), tables, np.array([[0, 1, 1]]))
        >>> own.softened().tables[0].tolist()
        [-1.0, 0.0, 5.0]
        """
        cost = self.spread + 1
        tables = tuple(
            np.where(table == -np.inf, top - cost, table)
            for table, top in zip(self.tables, self.tops, strict=True)
        )
        return replace(self, tables=tables)

    @cached_property
    def with_fewest_true(self) -> WholeNetwork | None:
        """The network whose best worlds are those with the fewest true atoms among the best.

        Each unit of the score counts one more than all atoms together, and each true atom takes one
        off. `None` if the numbers are too large for that.
        """
        scale = self.most_true + 1
        if (self.spread + abs(self.ceiling) + 1) * scale > MOST_TOTAL:
            return None
        kinds, kind = np.unique(
            np.column_stack([self.ranges, self.true]), axis=0, return_inverse=True
        )
        tables = [table * scale for table in self.tables]
        singles = [-row[1 : 1 + row[0]].astype(float) for row in kinds]
        unary = FactorBlock(np.arange(self.size)[:, None], len(tables) + kind.ravel())
        network = merged(self.ranges, [*self.blocks, unary], [*tables, *singles])
        unit = self.unit / scale
        return WholeNetwork(network.ranges, network.blocks, network.tables, self.true, unit)


def equal_places(numbers: Ints) -> Iterator[tuple[int, Ints]]:
    """Each number with the places where it occurs.

    >>> [(number, places.tolist()) for number, places in equal_places(np.array([7, 5, 7]))]
    [(5, [1]), (7, [0, 2])]
    """
    order = stable_order(numbers)
    ordered = numbers[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    yield from zip(ordered[starts].tolist(), np.split(order, starts[1:]), strict=False)


def whole_network(network: GroundNetwork, true: Ints | None = None) -> WholeNetwork:
    """A ground network in whole numbers of the largest unit that it allows.

    Without `true`, each variable is an atom, which is false if it has its first value.

    >>> block = FactorBlock(np.array([[0], [1]]), np.array([0, 1]))
    >>> tables = [np.array([0.0, 0.7 + 0.7]), np.array([0.25, 0.0])]
    >>> whole = whole_network(merged(np.array([2, 2]), [block], tables))
    >>> whole.unit, [table.tolist() for table in whole.tables]
    (Fraction(1, 20), [[0.0, 28.0], [5.0, 0.0]])
    """
    finite = [table[np.isfinite(table)] for table in network.tables]
    sizes = np.array([np.abs(table).max(initial=0.0) for table in finite])
    total = math.fsum(float(sizes[block.table_of].sum()) for block in network.blocks)
    numbers = np.unique(np.concatenate([np.zeros(0), *map(np.abs, finite)]))
    # Smaller numbers are what sums of decimals leave, as for `exact`.
    unit = _common_unit(numbers[numbers > SAME])
    rounded = False
    if unit is None or total / float(unit) > MOST_TOTAL:
        unit, rounded = Fraction(2) ** math.ceil(math.log2(total / MOST_TOTAL)), True
    if true is None:
        places = np.arange(int(network.ranges.max(initial=1)))
        true = ((places > 0) & (places < network.ranges[:, None])).astype(np.int64)
    tables = tuple(np.rint(table / float(unit)) for table in network.tables)
    return WholeNetwork(network.ranges, network.blocks, tables, true, unit, rounded)


def _common_unit(numbers: Floats) -> Fraction | None:
    """What all numbers are whole multiples of: a decimal, or the least of few unlike numbers."""
    if not len(numbers):
        return Fraction(1)
    for decimals in range(DECIMALS + 1):
        scaled = numbers * 10.0**decimals
        if scaled[-1] > MOST_SCALED:
            break
        if _are_whole(scaled):
            shared = int(np.gcd.reduce(np.rint(scaled).astype(np.int64)))
            return Fraction(shared, 10**decimals)
    if numbers[-1] / MOST_MULTIPLE <= numbers[0] and _are_whole(numbers / numbers[0]):
        return exact(float(numbers[0]))
    return None


def _are_whole(numbers: Floats) -> bool:
    far = np.abs(numbers - np.rint(numbers))
    return bool((far <= SAME * np.maximum(numbers, 1.0)).all())


def exact_score(network: GroundNetwork, values: Sequence[int] | Ints) -> Fraction | None:
    """The log weight of a world, from the decimals that its factors stand for.

    `None` if it breaks a hard rule. Atoms that no factor touches add nothing.
    """
    own = WholeNetwork(network.ranges, network.blocks, network.tables, np.zeros((0, 0), np.int64))
    world = np.asarray(values, np.int64)
    flat, starts = own._entries
    used = np.zeros(int(starts[-1]), np.int64)
    for block in network.blocks:
        np.add.at(used, own.entries(block, world), 1)
    total = exact_constant(network)
    for place in np.flatnonzero(used).tolist():
        if flat[place] == -np.inf:
            return None
        total += exact(float(flat[place])) * int(used[place])
    return total


def exact_constant(network: GroundNetwork) -> Fraction:
    """What factors without variables add, from the decimals that they stand for."""
    if network.constants:
        return sum((exact(log) * n for log, n in network.constants.items()), Fraction(0))
    return exact(network.log_constant)
