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
from liftgbp.methods.exact.cells import MOST_OPERATIONS, CellSum, log_factorials
from liftgbp.methods.exact.exact_result import ExactLimits
from liftgbp.methods.exact.fixed_objects import FixedObjects
from liftgbp.methods.exact.pair_tables import about_objects
from liftgbp.methods.exact.recognition import recognised
from liftgbp.methods.exact.structures import AFTER, BEFORE, SAME, arrangements, relation
from liftgbp.posterior import ClassReader
from liftgbp.posterior.count_cases import Counted, CountedCase, binomials
from liftgbp.posterior.lookup import alone
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import CapacityError, QueryError

MOST_PLACED = 2**12
"""The most ways to put the objects of a query into blocks and cells."""

MOST_WAYS = 2**18
"""The most ways in which others are around an object whose relations are counted."""


class StructuredCells(CellSum):
    """The sum over the counts of cells, and over the arrangements of objects in blocks."""

    def __init__(self, normal: NormalModel, limits: ExactLimits) -> None:
        """Sum over all; more than `limits` allow is a `CapacityError`."""
        found = recognised(normal)
        self._related = found.tables
        self._block_rules = found.block_rules
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
            most = self._limits.states // self._tables.worlds
            # How large blocks are takes memory to find out.
            if sums.least_work > most or sums.work > most:
                raise CapacityError(
                    f"a sum over all ways to put objects into blocks takes more than {most} states"
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
            self._rules_logs,
            ordered=self._related.structure.ordered,
        )

    def _rules_logs(self, inside: Ints) -> Floats:
        """What rules about three objects or more add in blocks with these objects."""
        owners = [self._owners[k] for k in self._columns]
        of_class = {
            cls: inside[[k for k, owner in enumerate(owners) if owner == cls]].sum(axis=0)
            for cls in self._related.related_classes
        }
        logs = np.zeros(inside.shape[1:])
        for rule in self._block_rules:
            logs = logs + rule.logs(of_class)
        return logs

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
        about = [about_objects((atom,)) for atom in case.atoms]
        pairs = [pair for pair in about if len(pair) == 2 and self._are_related(*pair)]
        if not pairs:
            return super().counted(case, reader)
        if len(case.fixed) > 1 or (self._related.structure.ordered and self._has_ties):
            return reader.listed(case)
        return self._counted_beside(case)

    def _counted_beside(self, case: CountedCase) -> Counted:
        """The same beside one object, from the objects in its block, or before and after it.

        Given their merged cells and where they are, they satisfy the formula independently.
        """
        (fixed,) = case.fixed
        own_class, normal = self._classes[fixed[0]], self._normal
        known = [
            FixedObjects(self._related.at(way, fixed), normal, case, lambda a: alone(a, normal))
            for way in (SAME, BEFORE, AFTER)
        ]
        expected = [[own.expected(row) for row in case.free] for own in known]
        counted = [row.obj[0] for row in case.free]
        picked = [k for cls in counted for k, owner in enumerate(self._owners) if owner == cls]
        total = np.zeros(case.objects + 1)
        for world in range(self._tables.worlds):
            splits = [own.split(world) for own in self._classes]
            for state in np.flatnonzero(known[0].given[world] > 0).tolist():
                (cell,) = known[0].cells(state)
                place = int(own_class.group[cell])
                if place < 0:
                    continue
                shares, numbers = self._around(world, *self._columns_of([fixed], [place]))
                shares *= known[0].given[world, state] * splits[fixed[0]][place, cell]
                chances = np.concatenate(
                    [
                        own[world, state] @ splits[cls].T
                        for way in expected
                        for own, cls in zip(way, counted, strict=True)
                    ]
                ).clip(0.0, 1.0)
                numbers = numbers[:, :, picked].reshape(len(shares), chances.size)
                spread = np.broadcast_to(chances, numbers.shape)
                objects = sum(row.number for row in case.free)
                found = binomials(numbers, spread, shares, objects, MOST_OPERATIONS)
                first = int(known[0].number[world, state])
                total[first : first + len(found)] += found
        return Counted(total)

    def _around(self, world: int, column: int) -> tuple[Floats, Ints]:
        """How likely an object has a merged cell, and others are around it in all possible ways.

        These say how many of each merged cell (T, relation, columns) are in its block, and in
        blocks that it comes before or after.
        """
        ordered, columns = self._related.structure.ordered, self._columns
        inside, outside = (BEFORE, AFTER) if ordered else (SAME, BEFORE)
        size = self._classes[self._owners[column]].size
        shares, numbers, ways = [], [], 0
        for share, counts in zip(self._shares[world], self._counts, strict=True):
            if not share > 0 or not counts[column]:
                continue
            others = counts.copy()
            others[column] -= 1
            if column in columns:
                sums = self._sums_of(world)
                placed = tuple(int(k == column) for k in columns)
                logs = sums.beside(tuple(others[columns].tolist()), placed)
                near = np.indices(logs.shape).reshape(len(columns), -1).T
                chances = np.exp(logs.ravel() - sums.logs(counts[None, columns])[0])
            else:
                near = np.zeros((1, len(columns)), np.int64)
                chances = counts[[column]]
            ways += len(near)
            if ways > MOST_WAYS:
                raise QueryError("there are too many ways to put others around an object")
            own = np.zeros((len(near), 3, len(counts)), np.int64)
            own[:, outside] = others
            own[:, outside, columns] -= near
            own[:, inside, columns] = near
            shares.append(share * chances / size)
            numbers.append(own)
        empty = np.zeros((0, 3, len(self._owners)), np.int64)
        return np.concatenate([np.zeros(0), *shares]), np.concatenate([empty, *numbers])

    @cached_property
    def _has_ties(self) -> bool:
        """Whether several objects may be in one block."""
        own = self._columns
        tables = [self._by_relation(world)[SAME] for world in range(self._tables.worlds)]
        return any(bool(np.isfinite(table[own][:, own]).any()) for table in tables)

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
