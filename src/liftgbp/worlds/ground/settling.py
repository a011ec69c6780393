"""What is left of a network once some of its variables are known, and its independent parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.ground.grounding import FactorBlock, merged
from liftgbp.ground.grounding.network import distinct_rows
from liftgbp.lift.shatter.rule_tables import drop_indifferent
from liftgbp.support.arrays import Bools, Floats, Ints, ranks
from liftgbp.worlds.ground.whole import WholeNetwork, equal_places

if TYPE_CHECKING:
    from scipy.sparse import coo_array


def conditioned(
    network: WholeNetwork, values: Ints, open_variables: Ints
) -> tuple[WholeNetwork, float]:
    """The network over some variables while all others keep their values, and a constant.

    Factors are over the variables that they depend on. The constant is what those add that are over
    none; `-inf` says that the values are impossible.
    """
    number = np.full(network.size, -1)
    number[open_variables] = np.arange(len(open_variables))
    blocks: list[FactorBlock] = []
    tables: list[Floats] = []
    constant = 0.0
    for block in network.blocks:
        inside = number[block.scopes] >= 0
        fixed = np.where(inside, -1, values[block.scopes])
        first, kind = distinct_rows(np.column_stack([block.table_of, fixed]))
        for k, own in equal_places(kind):
            row = fixed[first[k]].tolist()
            index = tuple(slice(None) if value < 0 else value for value in row)
            table = np.asarray(network.tables[block.table_of[first[k]]][index])
            open_axes = [axis for axis, value in enumerate(row) if value < 0]
            axes, rest = drop_indifferent(tuple((axis, ()) for axis in open_axes), table)
            if axes:
                scopes = number[block.scopes[own][:, [axis for axis, _ in axes]]]
                blocks.append(FactorBlock(scopes, np.full(len(own), len(tables))))
                tables.append(rest)
            else:
                constant += float(rest) * len(own)
    rest_of = merged(network.ranges[open_variables], blocks, tables)
    if rest_of.tables and min(table.max() for table in rest_of.tables) == -np.inf:
        constant = -math.inf
    left = replace(
        network,
        ranges=rest_of.ranges,
        blocks=rest_of.blocks,
        tables=rest_of.tables,
        true=network.true[open_variables],
    )
    return left, constant


@dataclass(eq=False)
class Settling:
    """What is certain of the best worlds of a network, and the network that is left.

    values     of the variables that are certain, or that no factor ties to others
    undecided  which of these differ between best worlds
    constant   what factors add that are over none of the others; `-inf` if no world is possible
    variables  those that are left, and the network over them
    """

    left: WholeNetwork
    values: Ints = field(init=False)
    undecided: Bools = field(init=False)
    variables: Ints = field(init=False)
    constant: float = 0.0

    def __post_init__(self) -> None:
        size = self.left.size
        self.values, self.variables = np.zeros(size, np.int64), np.arange(size)
        self.undecided = np.zeros(size, np.bool_)
        if any(map(_has_indifferent_axes, self.left.tables)):
            # Factors lose variables that they do not depend on.
            self._leave(np.zeros(size, np.int64), np.zeros(size, np.bool_))
        while self.constant > -math.inf:
            values, known = _forced(self.left)
            if not known.any():
                self._leave_alone()
                return
            self._leave(values, known)

    def _leave(self, values: Ints, known: Bools) -> None:
        """Let variables leave that have these values."""
        self.values[self.variables[known]] = values[known]
        keep = np.flatnonzero(~known)
        self.left, constant = conditioned(self.left, values, keep)
        self.variables = self.variables[keep]
        self.constant += constant

    def _leave_alone(self) -> None:
        """Let variables leave that no factor ties to others, each with its best value."""
        left = self.left
        values, alone = self._alone()
        if not alone.any():
            return
        self.values[self.variables[alone]] = values[alone]
        self.variables = self.variables[~alone]
        number = np.cumsum(~alone) - 1
        blocks = []
        for block in left.blocks:
            away = alone[block.scopes[:, 0]]
            self.constant += float(left.tops[block.table_of[away]].sum())
            blocks.append(FactorBlock(number[block.scopes[~away]], block.table_of[~away]))
        some = [block for block in blocks if len(block.table_of)]
        self.left = _with_own_tables(left, np.flatnonzero(~alone), some)

    def _alone(self) -> tuple[Ints, Bools]:
        """The values of variables that no factor ties to others."""
        left = self.left
        alone = np.ones(left.size, np.bool_)
        table_of = np.full(left.size, -1)
        for block in left.blocks:
            if block.scopes.shape[1] > 1:
                alone[block.scopes] = False
            else:
                table_of[block.scopes[:, 0]] = block.table_of
        values = np.zeros(left.size, np.int64)
        own = np.flatnonzero(alone)
        for _, places in equal_places(
            table_of[own] * (left.ranges.max(initial=0) + 1) + left.ranges[own]
        ):
            some = own[places]
            number, length = int(table_of[some[0]]), int(left.ranges[some[0]])
            table = np.zeros(length) if number < 0 else left.tables[number]
            top = table.max()
            cost = np.where(table == top, left.true[some, :length], np.iinfo(np.int64).max)
            values[some] = cost.argmin(axis=1)
            self.undecided[self.variables[some]] = (table == top).sum() > 1
        return values, alone


def _has_indifferent_axes(table: Floats) -> bool:
    """Whether a table is the same for all values of some variable."""
    return any((table == table.take([0], axis)).all() for axis in range(table.ndim))


def _forced(network: WholeNetwork) -> tuple[Ints, Bools]:
    """The only possible values of variables where single factors rule out all others.

    The second array says for which variables the first one holds.
    """
    values = np.zeros(network.size, np.int64)
    known = network.ranges == 1
    for block in network.blocks:
        for number, own in equal_places(block.table_of):
            for axis, value in _only_values(network.tables[number]):
                variables = block.scopes[own, axis]
                values[variables], known[variables] = value, True
    return values, known


def _only_values(table: Floats) -> list[tuple[int, int]]:
    """Axes of a table with one possible value, and this value."""
    possible = table > -np.inf
    if possible.all():
        return []
    found = []
    for axis in range(table.ndim):
        others = tuple(k for k in range(table.ndim) if k != axis)
        left = np.flatnonzero(possible.any(axis=others))
        if len(left) == 1:
            found.append((axis, int(left[0])))
    return found


def parts_of(network: WholeNetwork) -> Ints:
    """The number of the part that each variable is in; no factor ties parts to each other."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_ties(network), directed=False)
    return np.asarray(part.astype(np.int64))


def fewest_neighbours(network: WholeNetwork) -> int:
    """Every variable has at least so many others in factors with it."""
    ties = _ties(network)
    return int(np.diff((ties + ties.T).tocsr().indptr).min(initial=network.size))


def _ties(network: WholeNetwork) -> coo_array:
    from scipy.sparse import coo_array

    one, other = neighbour_pairs(network)
    shape = (network.size, network.size)
    return coo_array((np.ones(len(one), np.bool_), (one, other)), shape=shape)


def neighbour_pairs(network: WholeNetwork) -> tuple[Ints, Ints]:
    """Pairs of variables that connect those of each factor in a ring."""
    ends = [np.zeros((0, 2), np.int64)]
    for block in network.blocks:
        width = block.scopes.shape[1]
        ends += [block.scopes[:, [axis - 1, axis]] for axis in range(1, width)]
    one, other = np.concatenate(ends).T
    return one, other


def split(network: WholeNetwork, part: Ints) -> list[tuple[Ints, WholeNetwork]]:
    """The variables and the network of each part; `part` numbers the part of each variable."""
    order = np.argsort(part, kind="stable")
    starts = np.searchsorted(part[order], np.arange(int(part.max(initial=-1)) + 2))
    number = ranks(order) - starts[part]
    blocks: list[list[FactorBlock]] = [[] for _ in starts[1:]]
    for block in network.blocks:
        where = part[block.scopes[:, 0]]
        for k, rows in equal_places(where):
            blocks[k].append(FactorBlock(number[block.scopes[rows]], block.table_of[rows]))
    return [
        (own, _with_own_tables(network, own, blocks[k]))
        for k, own in enumerate(np.split(order, starts[1:-1]))
        if len(own)
    ]


def _with_own_tables(network: WholeNetwork, own: Ints, blocks: list[FactorBlock]) -> WholeNetwork:
    """The network over some of the variables, with the tables that its factors refer to."""
    every = np.concatenate([np.zeros(0, np.int64), *(block.table_of for block in blocks)])
    used = np.unique(every)
    return replace(
        network,
        ranges=network.ranges[own],
        blocks=tuple(FactorBlock(b.scopes, np.searchsorted(used, b.table_of)) for b in blocks),
        tables=tuple(network.tables[number] for number in used.tolist()),
        true=network.true[own],
    )
