"""Ground networks with whole numbers as weights: what every search for a best world works on.

Weights are decimals that people write, so that all scores are multiples of one decimal unit. In this
unit they are whole numbers: sums do not depend on their order, ties are ties, and a bound less than
one unit above a score proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.ground.grounding.network import distinct_rows
from liftgbp.support.arrays import Bools, Floats, Ints, distinct, ranks

DECIMALS = 9
"""Weights are read to so many decimals. Sums of decimals of doubles are closer than this."""

SAME = 2.0**-40
"""A double this close to a multiple of the unit, in proportion, is meant to be that multiple."""

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
    rounding  by how much the score of a world can differ from what the tables say, in units
    """

    ranges: Ints
    blocks: tuple[FactorBlock, ...]
    tables: tuple[Floats, ...]
    true: Ints
    unit: Fraction = Fraction(1)
    rounding: Fraction = Fraction(0)

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.ranges)

    @cached_property
    def factors(self) -> int:
        """The number of factors."""
        return sum(len(block.table_of) for block in self.blocks)

    @cached_property
    def tops(self) -> Floats:
        """The largest entry of each table."""
        return np.array([table.max() for table in self.tables])

    @cached_property
    def ceiling(self) -> int:
        """The sum of the largest entries of all factors: no world has a larger score."""
        return sum(int(self.tops[block.table_of].sum()) for block in self.blocks)

    @cached_property
    def spread(self) -> int:
        """How much worlds can differ that break no hard rule."""
        return sum(int(self.spreads[block.table_of].sum()) for block in self.blocks)

    @cached_property
    def spreads(self) -> Floats:
        """What the possible entries of each table differ by."""
        return np.array(
            [top - t[t > -np.inf].min() for t, top in zip(self.tables, self.tops, strict=True)]
        )

    def factor_values(self, block: FactorBlock, values: Ints) -> Floats:
        """What each factor of a block says of a world."""
        found = np.empty(len(block.table_of))
        for table in distinct(block.table_of):
            rows = np.flatnonzero(block.table_of == table)
            found[rows] = self.tables[table][tuple(values[block.scopes[rows]].T)]
        return found

    def score(self, values: Ints) -> float:
        """The score of a world in units; `-inf` if it breaks a hard rule."""
        return math.fsum(float(self.factor_values(block, values).sum()) for block in self.blocks)

    # --- parts of it

    def split(self, part: Ints) -> list[tuple[Ints, WholeNetwork]]:
        """The variables and the network of each part; `part` numbers the part of each variable."""
        order = np.argsort(part, kind="stable")
        starts = np.searchsorted(part[order], np.arange(int(part.max(initial=-1)) + 2))
        number = ranks(order) - starts[part]
        blocks: list[list[FactorBlock]] = [[] for _ in starts[1:]]
        for block in self.blocks:
            where = part[block.scopes[:, 0]]
            by_part = np.argsort(where, kind="stable")
            ends = np.searchsorted(where[by_part], np.arange(len(starts)))
            for k in distinct(where).tolist():
                rows = by_part[ends[k] : ends[k + 1]]
                blocks[k].append(FactorBlock(number[block.scopes[rows]], block.table_of[rows]))
        return [
            (
                own,
                replace(
                    self, ranges=self.ranges[own], blocks=tuple(blocks[k]), true=self.true[own]
                ),
            )
            for k, own in enumerate(np.split(order, starts[1:-1]))
        ]

    def conditioned(self, values: Ints, open_variables: Ints) -> tuple[WholeNetwork, float]:
        """The network over some variables while all others keep their values, and a constant.

        The constant is what factors add that are over none of them.
        """
        number = np.full(self.size, -1)
        number[open_variables] = np.arange(len(open_variables))
        constant = 0.0
        blocks, tables = [], []
        for block in self.blocks:
            inside = number[block.scopes] >= 0
            touched = inside.any(axis=1)
            rest = FactorBlock(block.scopes[~touched], block.table_of[~touched])
            constant += float(self.factor_values(rest, values).sum())
            rows = np.flatnonzero(touched)
            if not len(rows):
                continue
            inside, scopes, table_of = inside[rows], block.scopes[rows], block.table_of[rows]
            fixed = np.where(inside, -1, values[scopes])
            first, kind = distinct_rows(np.column_stack([table_of, fixed]))
            for k, row in enumerate(first):
                own = np.flatnonzero(kind == k)
                index = tuple(slice(None) if v < 0 else v for v in fixed[row].tolist())
                kept = scopes[own][:, inside[row]]
                blocks.append(FactorBlock(number[kept], np.full(len(own), len(tables))))
                tables.append(self.tables[table_of[row]][index])
        network = merged(self.ranges[open_variables], blocks, tables)
        whole = WholeNetwork(
            network.ranges, network.blocks, network.tables, self.true[open_variables], self.unit
        )
        return whole, constant

    # --- the same question in another form

    def softened(self) -> WholeNetwork:
        """The network with costs for what is impossible: breaking one hard rule costs more than all."""
        cost = self.spread + 1
        tables = tuple(
            np.where(t == -np.inf, top - cost, t)
            for t, top in zip(self.tables, self.tops, strict=True)
        )
        return replace(self, tables=tables)

    def with_fewest_true(self) -> WholeNetwork | None:
        """The network whose best worlds are those with the fewest true atoms among the best.

        Every score counts more than all atoms together, and one is taken off for each true atom.
        `None` if the numbers are too large for that.
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

    @cached_property
    def most_true(self) -> int:
        """How many atoms can be true at most."""
        return int(self.true.max(axis=1, initial=0).sum())


def whole_network(network: GroundNetwork, true: Ints | None = None) -> WholeNetwork:
    """A ground network in whole numbers of the largest decimal unit that it allows.

    Without `true`, each variable is an atom, which is false if it has its first value.

    >>> from liftgbp.ground.grounding import FactorBlock, merged
    >>> block = FactorBlock(np.array([[0], [1]]), np.array([0, 1]))
    >>> tables = [np.array([0.0, 0.7 + 0.7]), np.array([0.25, 0.0])]
    >>> whole = whole_network(merged(np.array([2, 2]), [block], tables))
    >>> whole.unit, [table.tolist() for table in whole.tables]
    (Fraction(1, 20), [[0.0, 28.0], [5.0, 0.0]])
    """
    finite = [table[np.isfinite(table)] for table in network.tables]
    every = np.concatenate([np.zeros(1), *finite])
    sizes = np.array([np.abs(table).max(initial=0.0) for table in finite])
    total = sum(float(sizes[block.table_of].sum()) for block in network.blocks)
    decimals = _decimals(every)
    exact = decimals is not None and total * 10**decimals < MOST_TOTAL
    if not exact:
        room = math.floor(math.log10(MOST_TOTAL / max(total, 1.0)))
        decimals = min(DECIMALS, room)
    scaled = np.rint(every * 10.0 ** (decimals or 0))
    shared = int(np.gcd.reduce(np.abs(scaled).astype(np.int64))) or 1
    unit = shared / Fraction(10) ** (decimals or 0)
    tables = tuple(np.rint(table / float(unit)) for table in network.tables)
    rounding = Fraction(0) if exact else Fraction(network.factors, 2)
    if true is None:
        places = np.arange(int(network.ranges.max(initial=1)))
        true = ((places > 0) & (places < network.ranges[:, None])).astype(np.int64)
    return WholeNetwork(network.ranges, network.blocks, tables, true, unit, rounding)


def _decimals(numbers: Floats) -> int | None:
    """With how many decimals all numbers are written, or `None`."""
    for decimals in range(DECIMALS + 1):
        scaled = numbers * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= SAME * np.maximum(np.abs(scaled), 1.0)).all():
            return decimals
    return None


def parts_of(network: WholeNetwork) -> Ints:
    """The number of the part that each variable is in; no factor ties parts to each other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends: list[tuple[Ints, Ints]] = [
        (block.scopes[:, axis - 1], block.scopes[:, axis])
        for block in network.blocks
        for axis in range(1, block.scopes.shape[1])
    ]
    if not ends:
        return np.arange(network.size)
    one, other = (np.concatenate(side) for side in zip(*ends, strict=True))
    shape = (network.size, network.size)
    ties = coo_array((np.ones(len(one), np.bool_), (one, other)), shape=shape)
    _, part = connected_components(ties, directed=False)
    return np.asarray(part.astype(np.int64))


def settled(network: WholeNetwork) -> tuple[Ints, Bools]:
    """The only possible values of variables where single factors rule out all others.

    The second array says for which variables the first one holds.
    """
    values = np.zeros(network.size, np.int64)
    known = np.zeros(network.size, np.bool_)
    for block in network.blocks:
        if block.scopes.shape[1] != 1:
            continue
        for table in distinct(block.table_of):
            possible = np.flatnonzero(network.tables[table] > -np.inf)
            if len(possible) == 1:
                fixed = block.scopes[block.table_of == table, 0]
                values[fixed], known[fixed] = possible[0], True
    return values, known
