"""The cells of a class; those that no other object tells apart are one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from liftgbp.methods.exact.pair_tables import PairTables
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import ContradictionError


@dataclass(frozen=True, eq=False, slots=True)
class MergedCells:
    """The cells of a class; those that no other object notices are one.

    cls         the class
    size        its number of objects
    group       (C) the merged cell of each cell, -1 for impossible ones
    examples    a cell of each merged one
    weights     (W, C) the logarithm of the weight of each cell
    log_single  (W, M) that of each merged cell
    """

    cls: int
    size: int
    group: Ints
    examples: Ints
    weights: Floats
    log_single: Floats

    @property
    def cells(self) -> int:
        """How many merged cells there are."""
        return len(self.examples)

    @property
    def ways(self) -> int:
        """How many counts there are."""
        return math.comb(self.size + self.cells - 1, self.cells - 1)

    def split(self, world: int) -> Floats:
        """How a merged cell (row) falls into its cells (columns)."""
        shares = np.zeros((self.cells, len(self.group)))
        inside = np.flatnonzero(self.group >= 0)
        total = self.log_single[world][self.group[inside]]
        possible = total > -np.inf
        shares[self.group[inside[possible]], inside[possible]] = np.exp(
            self.weights[world][inside[possible]] - total[possible]
        )
        return shares


def merged_cells(cls: int, tables: PairTables) -> MergedCells:
    """The cells of a class, merged; if none is possible, the model contradicts itself."""
    weights = tables.single(cls)
    possible = np.flatnonzero((weights > -np.inf).any(axis=0))
    rows = tables.seen(cls)
    if not len(possible):
        raise ContradictionError("the hard formulas leave an object no possible cell")
    group = np.full(weights.shape[1], -1)
    _, examples, inverse = np.unique(rows[possible], axis=0, return_index=True, return_inverse=True)
    group[possible] = inverse.ravel()
    log_single = np.full((len(weights), len(examples)), -np.inf)
    for cell in possible.tolist():
        place = group[cell]
        log_single[:, place] = np.logaddexp(log_single[:, place], weights[:, cell])
    return MergedCells(cls, tables.sizes[cls], group, possible[examples], weights, log_single)
