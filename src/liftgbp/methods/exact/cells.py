"""Exact answers where no factor is about more than two objects: a sum over counts of cells.

The *cell* of an object says which values all atoms have that are about it alone. Once all cells are
known, the atoms about different pairs of objects are independent, so a world weighs the same
whichever objects have which cell: Z is a sum over how many objects of each class have each cell.
Reference: Beame, Van den Broeck, Gribkoff and Suciu, *Symmetric weighted first-order model
counting*, PODS 2015, for the two-variable fragment without evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.lift.signature import objects_of
from liftgbp.methods.exact.fixed_objects import FixedObjects
from liftgbp.methods.exact.merged_cells import MergedCells, merged_cells
from liftgbp.methods.exact.pair_tables import PairTables, about_objects
from liftgbp.posterior import ClassReader, Source
from liftgbp.posterior.count_cases import Counted, CountedCase, binomials
from liftgbp.posterior.lookup import alone
from liftgbp.support.arrays import Floats, Ints, expand
from liftgbp.support.errors import CapacityError, ContradictionError

MOST_OBJECTS = 2**53
"""Doubles count no further, even where the cells of all objects are independent."""

CHANCE_DIGITS = 14
"""States in which objects count with equal probabilities, up to these digits, become one."""

MOST_OPERATIONS = 2e9
"""The most operations for the distribution of a count: some ten seconds."""

ROUNDING = 1e-10
"""How far off a probability may be. The logarithms of weights grow with the number of pairs, and
their last digit decides: friends-smokers may have some 450 people."""

MANY_TERMS = 1000
"""From this many on, looking at a few counts first is cheap, and may save listing all of them: for
a million people, 0.7 s."""


class CellSum(Source):
    """The sum over the counts of cells; what has too many terms is refused."""

    def __init__(
        self, normal: NormalModel, most_terms: int, tables: PairTables | None = None
    ) -> None:
        """Sum over all counts of cells; more than `most_terms` of them are a `CapacityError`."""
        if max(normal.class_sizes, default=0) > MOST_OBJECTS:
            raise CapacityError(
                f"classes of more than {MOST_OBJECTS} objects are not counted exactly"
            )
        pairs = len(normal.classes) ** 2
        if pairs > most_terms:
            raise CapacityError(f"there are {pairs} pairs of classes, above {most_terms}")
        self._normal = normal
        self._tables = tables or PairTables(normal)
        self._classes = [merged_cells(cls, self._tables) for cls in range(len(normal.classes))]
        self.terms = self._tables.worlds * math.prod(own.ways for own in self._classes)
        if self.terms > most_terms:
            raise CapacityError(
                f"there are {self.terms} ways to count who has which properties, above {most_terms}"
            )
        spread = [(own.size, own.cells) for own in self._classes]
        if self.terms > MANY_TERMS:
            # Weights tend to be largest where all objects are alike, and are refused there at once.
            self._weighed(_alike_counts(spread))
        self._counts = all_counts(spread)
        self._log_weights = self._weighed(self._counts)
        top = self._log_weights.max()
        if top == -math.inf:
            raise ContradictionError("the hard formulas leave no possible world")
        shares = np.exp(self._log_weights - top)
        self.log_z = float(top + math.log(shares.sum()))
        self._shares = shares / shares.sum()

    # --- weights

    def _weighed(self, numbers: Ints) -> Floats:
        """The logarithm of the weight of some counts, a row for each value of atoms about nothing.

        An impossible cell or pair of cells weighs nothing if it occurs. Weights that are too large
        for their last digits to count are a `CapacityError`.
        """
        counts = numbers.astype(float)
        ways = -log_factorials(numbers).sum(axis=1)
        ways += sum(math.lgamma(own.size + 1) for own in self._classes)
        rows = []
        largest = 0.0
        for world in range(self._tables.worlds):
            single = np.concatenate(
                [np.zeros(0), *(own.log_single[world] for own in self._classes)]
            )
            pair = self._pairs(world)
            ruled_out = np.isneginf(pair).astype(float)
            pair = np.where(np.isneginf(pair), 0.0, pair)
            barred = np.isneginf(single).astype(float)
            single = np.where(np.isneginf(single), 0.0, single)
            rows.append(
                ways
                + counts @ (single - np.diag(pair) / 2)
                + np.einsum("ti,ij,tj->t", counts, pair, counts, optimize=True) / 2
                + self._tables.of_world[world]
                + self._beyond_pairs(numbers, world)
            )
            finite = np.where(np.isneginf(rows[-1]), 0.0, rows[-1])
            largest = max(largest, float(np.abs(finite).max()))
            occurs = counts @ (barred - np.diag(ruled_out) / 2)
            occurs += np.einsum("ti,ij,tj->t", counts, ruled_out, counts, optimize=True) / 2
            rows[-1][occurs > 0] = -np.inf
        if largest * np.finfo(float).eps > ROUNDING:
            # Weights grow with the number of pairs.
            part = math.sqrt(ROUNDING / (largest * np.finfo(float).eps))
            most = int(part * max(self._normal.class_sizes))
            raise CapacityError(
                "the sum over how many objects have which properties would lose digits beyond "
                f"about {most} objects of a class"
            )
        return np.array(rows)

    def _pairs(self, world: int) -> Floats:
        """What a pair of objects with given cells adds, for all cells of all classes."""
        if not self._classes:
            return np.zeros((0, 0))
        rows = [
            [
                self._tables.pair(one.cls, other.cls)[world][np.ix_(one.examples, other.examples)]
                for other in self._classes
            ]
            for one in self._classes
        ]
        return np.block(rows)

    def _beyond_pairs(self, numbers: Ints, world: int) -> Floats | float:
        """What counts add that is no sum over pairs, as a logarithm: nothing."""
        return 0.0

    # --- distributions

    def holds(self, atom: ObjAtom) -> bool:
        """Whether factors are about an atom."""
        return self._tables.holds(atom)

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of different atoms that factors are about, one axis each."""
        objects = sorted(objects_of(atoms))
        about = {pair: _about_both(pair, atoms) for pair in combinations(objects, 2)}
        related = [pair for pair, asked in about.items() if asked and self._are_related(*pair)]
        labels: dict[ObjAtom | tuple[Obj, Obj], int] = {}

        def label(axis: ObjAtom | tuple[Obj, Obj]) -> int:
            return labels.setdefault(axis, len(labels))

        world = [label(atom) for atom in self._tables.about_nothing]
        own = {obj: [label(atom) for atom in self._tables.about(obj)] for obj in objects}
        cells = self._cells_of(objects, related)
        shape = [self._range(atom) for obj in objects for atom in self._tables.about(obj)]
        lead = [self._range(atom) for atom in self._tables.about_nothing]
        cells = cells.reshape([*lead, *shape, *cells.shape[1 + len(objects) :]])
        operands: list[Any] = [cells, [*range(len(labels)), *map(label, related)]]
        for pair, asked in about.items():
            if asked:
                given = [*world, *own[pair[0]], *own[pair[1]]]
                given += [label(pair)] if pair in related else []
                table = self._given_cells(*pair, asked)
                operands += [table, [*given, *map(label, asked)]]
        return np.asarray(np.einsum(*operands, [labels[atom] for atom in atoms], optimize=True))

    def _are_related(self, one: Obj, other: Obj) -> bool:
        """Whether atoms about both depend on more than the cells of the two: on a relation."""
        return False

    def _given_cells(self, one: Obj, other: Obj, atoms: Sequence[ObjAtom]) -> Floats:
        """The distribution of atoms about two objects, given their cells and a relation, if any."""
        return self._tables.conditional(one, other, atoms)

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """How likely a condition holds with each number of objects that satisfy a formula.

        Given the merged cells of all objects, those that are not fixed satisfy it independently of
        each other.
        """
        normal = self._normal
        known = FixedObjects(self._tables, normal, case, lambda atom: alone(atom, normal))
        classes = [self._classes[cls] for cls, _ in case.fixed]
        starts = np.cumsum([0, *(own.cells for own in self._classes)]).tolist()
        expected = [known.expected(row) for row in case.free]
        total = np.zeros(case.objects + 1)
        for world in range(self._tables.worlds):
            splits = [own.split(world) for own in self._classes]
            chances = np.concatenate(
                [
                    np.zeros((known.states, 0)),
                    *(
                        own[world] @ splits[row.obj[0]].T
                        for own, row in zip(expected, case.free, strict=True)
                    ),
                ],
                axis=1,
            ).clip(0.0, 1.0)
            groups: dict[tuple[Any, ...], Floats] = {}
            for state in np.flatnonzero(known.given[world] > 0).tolist():
                cells = known.cells(state)
                merged = tuple(
                    int(own.group[cell]) for own, cell in zip(classes, cells, strict=True)
                )
                if -1 in merged:
                    continue
                weight = known.given[world, state]
                for own, place, cell in zip(classes, merged, cells, strict=True):
                    weight *= splits[own.cls][place, cell]
                key = (merged, np.round(chances[state], CHANCE_DIGITS).tobytes())
                own_counts = groups.setdefault(key, np.zeros(len(case.certain) + 1))
                own_counts[known.number[world, state]] += weight
            for (merged, own_chances), of_fixed in groups.items():
                total += self._beside(case, classes, merged, starts, world, own_chances, of_fixed)
        return Counted(total)

    def _beside(
        self,
        case: CountedCase,
        classes: Sequence[MergedCells],
        merged: Sequence[int],
        starts: Sequence[int],
        world: int,
        chances: bytes,
        of_fixed: Floats,
    ) -> Floats:
        """How likely each count is where fixed objects have these cells."""
        columns = [starts[own.cls] + k for own, k in zip(classes, merged, strict=True)]
        left = self._counts.copy()
        for column in columns:
            left[:, column] -= 1
        picked = [
            column
            for row in case.free
            for column in range(starts[row.obj[0]], starts[row.obj[0] + 1])
        ]
        numbers = left[:, picked]
        shares = self._shares[world] * self._likely(classes, columns)
        found = binomials(
            numbers,
            np.broadcast_to(np.frombuffer(chances), numbers.shape),
            shares,
            sum(row.number for row in case.free),
            MOST_OPERATIONS,
        )
        return np.convolve(found, of_fixed)

    def _range(self, atom: ObjAtom) -> int:
        return self._normal.ranges[atom[0]]

    def _cells_of(self, objects: Sequence[Obj], related: Sequence[tuple[Obj, Obj]]) -> Floats:
        """The distribution of the atoms about nothing and the cells of some objects.

        Pairs that are related have an axis, too, for their relation.
        """
        number = len(objects)
        merged = self._merged_cells_of(objects, related)
        relations = list(range(1 + 2 * number, 1 + 2 * number + len(related)))
        operands: list[Any] = [merged, [*range(1 + number), *relations]]
        for k, (cls, _) in enumerate(objects, start=1):
            own = self._classes[cls]
            split = np.array([own.split(world) for world in range(self._tables.worlds)])
            operands += [split, [0, k, number + k]]
        cells = [0, *range(1 + number, 1 + 2 * number), *relations]
        return np.asarray(np.einsum(*operands, cells, optimize=True))

    def _merged_cells_of(
        self, objects: Sequence[Obj], related: Sequence[tuple[Obj, Obj]]
    ) -> Floats:
        """The same for merged cells."""
        classes = [self._classes[cls] for cls, _ in objects]
        shape = [own.cells for own in classes]
        merged = np.zeros([self._tables.worlds, *shape])
        for choice in np.ndindex(*shape):
            columns = self._columns_of(objects, choice)
            merged[(slice(None), *choice)] = self._shares @ self._likely(classes, columns)
        return merged

    def _columns_of(self, objects: Sequence[Obj], cells: Sequence[int]) -> list[int]:
        """The columns of counts for merged cells of some objects."""
        starts = np.cumsum([0, *(own.cells for own in self._classes)]).tolist()
        return [starts[cls] + cell for (cls, _), cell in zip(objects, cells, strict=True)]

    def _likely(self, classes: Sequence[MergedCells], columns: Sequence[int]) -> Floats:
        """How likely objects have these cells, for each count."""
        chance = np.ones(len(self._counts))
        used: Counter[int] = Counter()
        taken: Counter[int] = Counter()
        for own, column in zip(classes, columns, strict=True):
            chance *= (self._counts[:, column] - used[column]) / (own.size - taken[own.cls])
            used[column] += 1
            taken[own.cls] += 1
        return np.maximum(chance, 0.0)


def _about_both(pair: tuple[Obj, Obj], atoms: Sequence[ObjAtom]) -> list[ObjAtom]:
    """The atoms that are about both objects of a pair and no other."""
    return [atom for atom in atoms if about_objects((atom,)) == {*pair}]


def all_counts(classes: Sequence[tuple[int, int]]) -> Ints:
    """All ways to spread the objects of each class (size, cells) over its cells, one row each."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for size, cells in classes:
        ways = _compositions(size, cells)
        left = np.repeat(rows, len(ways), axis=0)
        rows = np.concatenate([left, np.tile(ways, (len(rows), 1))], axis=1)
    return rows


def _alike_counts(classes: Sequence[tuple[int, int]]) -> Ints:
    """Some ways to put all objects of each class (size, cells) into one of its cells.

    >>> _alike_counts([(5, 2), (7, 3)]).tolist()
    [[5, 0, 7, 0, 0], [0, 5, 0, 7, 0], [0, 5, 0, 0, 7]]
    """
    most = max(cells for _, cells in classes)
    chosen = [np.minimum(np.arange(most), cells - 1) for _, cells in classes]
    parts = zip(classes, chosen, strict=True)
    return np.hstack([size * np.eye(cells, dtype=np.int64)[own] for (size, cells), own in parts])


def _compositions(total: int, parts: int) -> Ints:
    """All ways to write a number as a sum, in order.

    >>> _compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    left, found = np.array([total]), np.zeros((0, 1), dtype=np.int64)
    for _ in range(parts - 1):
        ways = left + 1
        found = np.vstack([found.repeat(ways, axis=1), expand(np.zeros_like(left), ways)])
        left = left.repeat(ways) - found[-1]
    return np.vstack([found, left]).T


def log_factorials(numbers: Ints) -> Floats:
    """The log of the factorial of each number.

    >>> log_factorials(np.array([0, 1, 3])).round(4).tolist()
    [0.0, 0.0, 1.7918]
    """
    largest = int(numbers.max(initial=0))
    if largest >= numbers.size:
        return np.array([math.lgamma(own + 1) for own in numbers.ravel()]).reshape(numbers.shape)
    return np.array([math.lgamma(own + 1) for own in range(largest + 1)])[numbers]
