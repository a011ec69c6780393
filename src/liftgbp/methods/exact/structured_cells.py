"""Exact answers where a relation is an equivalence or an order: a sum over counts of cells.

Given the cells of all objects, pairs are independent but for this relation, which says in which
blocks objects are. A sum over all arrangements in blocks takes the place of the product over pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product

import numpy as np

from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.methods.exact.block_sums import BlockSums
from liftgbp.methods.exact.cells import CellSum, log_factorials
from liftgbp.methods.exact.exact_result import ExactLimits
from liftgbp.methods.exact.pair_tables import about_objects
from liftgbp.methods.exact.recognition import related
from liftgbp.methods.exact.structures import AFTER, BEFORE, SAME, arrangements, relation
from liftgbp.posterior import ClassReader
from liftgbp.posterior.count_cases import Counted, CountedCase
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import CapacityError, QueryError

MOST_PLACED = 2**12
"""The most ways to put the objects of a query into blocks and cells."""


class StructuredCells(CellSum):
    """The sum over the counts of cells, and over the arrangements of objects in blocks."""

    def __init__(self, normal: NormalModel, limits: ExactLimits) -> None:
        """Sum over all; more than `limits` allow is a `CapacityError`."""
        found = related(normal)
        self._related = found.tables
        self._limits = limits
        self._sums: dict[int, BlockSums] = {}
        super().__init__(normal, limits.terms, found.tables)
        self.log_z += found.log_constant

    # --- weights

    def _beyond_pairs(self, numbers: Ints, world: int) -> Floats | float:
        """What arrangements in blocks add to some counts, as a logarithm."""
        if not self._columns:
            return 0.0
        own = numbers[:, self._columns]
        logs: Floats = self._sums_of(world).logs(own) + log_factorials(own).sum(axis=1)
        return logs

    def _sums_of(self, world: int) -> BlockSums:
        if world not in self._sums:
            sums = self._block_sums(world)
            work = self._tables.worlds * sums.work
            if max(work, sums.entries) > self._limits.states:
                raise CapacityError(
                    f"the sum over all {self._related.structure.name}s takes about {work} states, "
                    f"above {self._limits.states}"
                )
            self._sums[world] = sums
        return self._sums[world]

    def _block_sums(self, world: int) -> BlockSums:
        own = self._columns
        tables = self._by_relation(world)[:, own][..., own] - self._apart(world)[own][:, own]
        return BlockSums(
            [own.size for own in self._classes],
            [self._owners[k] for k in self._columns],
            tables[SAME],
            tables[BEFORE],
            ordered=self._related.structure.ordered,
        )

    def _pairs(self, world: int) -> Floats:
        """What a pair of objects with given cells adds wherever they are."""
        related = np.isin(self._owners, self._related.related_classes)
        both = np.logical_and.outer(related, related)
        return np.where(both, self._apart(world), super()._pairs(world))

    def _apart(self, world: int) -> Floats:
        """What a pair of objects with given cells adds in different blocks.

        If there is an order, that is the mean of both orders: sums over blocks are about what is
        more or less, so that few digits are lost.
        """
        orders = self._by_relation(world)[[BEFORE, AFTER]]
        possible = orders > -np.inf
        total = np.where(possible, orders, 0.0).sum(axis=0)
        summed = np.isin(np.arange(len(total)), self._columns)
        impossible = ~possible.any(axis=0) & ~np.logical_and.outer(summed, summed)
        return np.where(impossible, -np.inf, total / possible.sum(axis=0).clip(min=1))

    def _by_relation(self, world: int) -> Floats:
        """What a pair of objects with given merged cells adds, for each relation."""
        tables = self._related
        return np.block(
            [
                [
                    np.moveaxis(tables.by_relation(one.cls, other.cls)[world], -1, 0)[
                        :, one.examples[:, None], other.examples
                    ]
                    for other in self._classes
                ]
                for one in self._classes
            ]
        )

    @cached_property
    def _owners(self) -> list[int]:
        """The class of each column of counts."""
        return [own.cls for own in self._classes for _ in range(own.cells)]

    @cached_property
    def _columns(self) -> list[int]:
        """The columns of counts that blocks are summed over.

        What is always alone in its block, and there is no order, need not be.
        """
        related = np.isin(self._owners, self._related.related_classes)
        if not self._related.structure.ordered:
            together = [self._by_relation(world)[SAME] for world in range(self._tables.worlds)]
            related &= (np.array(together) > -np.inf).any(axis=(0, 2))
        return [int(column) for column in np.flatnonzero(related)]

    # --- distributions

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """How likely a condition holds with each number of objects that satisfy a formula."""
        pairs = (about_objects((atom,)) for atom in case.atoms)
        if any(len(pair) == 2 and self._are_related(*pair) for pair in pairs):
            return reader.listed(case)
        return super().counted(case, reader)

    def _are_related(self, one: Obj, other: Obj) -> bool:
        """Whether two objects are in blocks."""
        return self._related.are_related(one[0], other[0])

    def _given_cells(self, one: Obj, other: Obj, atoms: Sequence[ObjAtom]) -> Floats:
        """The distribution of atoms about two objects, given their cells and their blocks."""
        if self._are_related(one, other):
            return self._related.given_relation(one, other, atoms)
        return super()._given_cells(one, other, atoms)

    def _merged_cells_of(
        self, objects: Sequence[Obj], related: Sequence[tuple[Obj, Obj]]
    ) -> Floats:
        """The distribution of the atoms about nothing, merged cells, and relations of pairs."""
        if not related:
            return super()._merged_cells_of(objects, related)
        in_blocks = [obj for obj in objects if obj[0] in self._related.related_classes]
        shape = [self._classes[cls].cells for cls, _ in objects]
        ways = list(arrangements(len(in_blocks), ordered=self._related.structure.ordered))
        if len(ways) * math.prod(shape) > MOST_PLACED:
            raise QueryError("the objects of the query can be in too many blocks together")
        merged = np.zeros([self._tables.worlds, *shape, *[3] * len(related)])
        for cells, way in product(np.ndindex(*shape), ways):
            block = dict(zip(in_blocks, way, strict=True))
            relations = [relation(block[one], block[other]) for one, other in related]
            columns = dict(zip(objects, self._columns_of(objects, cells), strict=True))
            for world in range(self._tables.worlds):
                place = (world, *cells, *relations)
                merged[place] += self._shares[world] @ self._likely_in(world, columns, block)
        return merged

    def _likely_in(
        self, world: int, columns: Mapping[Obj, int], block: Mapping[Obj, int]
    ) -> Floats:
        """How likely objects have these cells and are in these blocks, for each count."""
        placed = np.zeros((1 + max(block.values()), len(self._owners)), np.int64)
        for obj, number in block.items():
            placed[number, columns[obj]] += 1
        alone = [k for k in range(len(self._owners)) if k not in self._columns]
        if (placed[:, alone].any(axis=1) & (placed.sum(axis=1) > 1)).any():
            return np.zeros(len(self._counts))
        chance = np.ones(len(self._counts))
        for column, number in Counter(columns.values()).items():
            if column not in self._columns:
                chance *= np.prod([self._counts[:, column] - k for k in range(number)], axis=0)
        for cls, number in Counter(cls for cls, _ in columns).items():
            chance /= falling(self._classes[cls].size, number)
        if not self._columns:
            return chance
        blocks = [tuple(row) for row in placed[:, self._columns].tolist() if any(row)]
        if not self._related.structure.ordered:
            # Blocks of few objects first: beside one object alone, nothing has to be summed anew.
            blocks.sort(key=lambda own: (sum(own), own))
        sums, numbers = self._sums_of(world), self._counts[:, self._columns]
        whole = sums.logs(numbers)
        possible = np.flatnonzero(whole > -np.inf)
        left = numbers[possible] - placed[:, self._columns].sum(axis=0)
        logs = sums.logs(left, blocks) - whole[possible]
        return chance * np.bincount(possible, np.exp(logs), minlength=len(chance))
