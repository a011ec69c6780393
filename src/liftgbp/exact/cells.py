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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, permutations
from typing import Any, TypeAlias

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import CapacityError, ContradictionError
from liftgbp.query.count_queries import binomials
from liftgbp.shatter.normal import NormalModel, NormalParfactor, Obj, ObjAtom
from liftgbp.signature import objects_of

Atoms: TypeAlias = tuple[ObjAtom, ...]

MOST_TABLE = 2**16
"""The most states of all atoms about one pair of objects."""

MOST_OBJECTS = 2**53
"""Doubles count no further, even where the cells of all objects are independent."""

MOST_OPERATIONS = 2e9
"""The most operations for the distribution of a count: some ten seconds."""

ROUNDING = 1e-10
"""How far off a probability may be. The logarithms of weights grow with the number of pairs, and
their last digit decides: friends-smokers may have some 450 people."""


class NoCellsError(CapacityError):
    """The model is none whose pairs of objects are independent given their cells."""


class CellSum:
    """The sum over the counts of cells; what has too many terms is refused."""

    def __init__(self, normal: NormalModel, most_terms: int) -> None:
        """Sum over all counts of cells; more than `most_terms` of them are a `CapacityError`."""
        if max(normal.class_sizes, default=0) > MOST_OBJECTS:
            raise CapacityError(
                f"classes of more than {MOST_OBJECTS} objects are not counted exactly"
            )
        pairs = len(normal.classes) ** 2
        if pairs > most_terms:
            raise CapacityError(f"there are {pairs} pairs of classes, above {most_terms}")
        self._normal = normal
        self._tables = _Tables(normal)
        self._classes = [_merged(cls, self._tables) for cls in range(len(normal.classes))]
        self.terms = self._tables.worlds * math.prod(own.ways for own in self._classes)
        if self.terms > most_terms:
            raise CapacityError(
                f"there are {self.terms} ways to count who has which properties, above {most_terms}"
            )
        self._counts = _counts(self._classes)
        self._log_weights = self._weighed()
        top = self._log_weights.max()
        if top == -math.inf:
            raise ContradictionError("the hard formulas leave no possible world")
        shares = np.exp(self._log_weights - top)
        self.log_z = float(top + math.log(shares.sum()))
        self._shares = shares / shares.sum()

    # --- weights

    def _weighed(self) -> Floats:
        """The logarithm of the weight of each count, a row for each value of atoms about nothing.

        An impossible cell or pair of cells weighs nothing if it occurs.
        """
        counts = self._counts.astype(float)
        ways = -_log_factorials(self._counts).sum(axis=1)
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
            )
            largest = max(largest, float(np.abs(rows[-1]).max()))
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

    # --- distributions

    def holds(self, atom: ObjAtom) -> bool:
        """Whether factors are about an atom."""
        return _placed(atom, _order(objects_of((atom,)))) in self._tables.atoms

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of different atoms that factors are about, one axis each."""
        objects = sorted(objects_of(atoms))
        labels: dict[ObjAtom, int] = {}

        def label(atom: ObjAtom) -> int:
            return labels.setdefault(atom, len(labels))

        world = [label(atom) for atom in self._tables.about_nothing]
        own = [[label(atom) for atom in self._tables.about(obj)] for obj in objects]
        shape = [self._range(atom) for atom in labels]
        operands: list[Any] = [self._cells_of(objects).reshape(shape), list(range(len(labels)))]
        for (j, one), (k, other) in combinations(enumerate(objects), 2):
            asked = [atom for atom in atoms if _about((atom,)) == {one, other}]
            if asked:
                table = self._tables.conditional(one, other, asked)
                operands += [table, [*world, *own[j], *own[k], *map(label, asked)]]
        return np.asarray(np.einsum(*operands, [labels[atom] for atom in atoms], optimize=True))

    def counted(self, classes: Sequence[CountedClass]) -> Floats:
        """How likely each number of objects satisfies a formula, over some classes together.

        Given the counts of merged cells, each object satisfies it on its own.
        """
        objects = sum(own.number for own in classes)
        starts = np.cumsum([0, *(own.cells for own in self._classes)])
        total = np.zeros(objects + 1)
        for world in range(self._tables.worlds):
            numbers, chances = [], []
            for own in classes:
                by_cell = self._by_cell(own, world)
                if own.cls is None:
                    numbers.append(np.full((len(self._counts), 1), own.number))
                    chances.append(by_cell[:1])
                else:
                    start = int(starts[own.cls])
                    merged = self._classes[own.cls]
                    numbers.append(self._counts[:, start : start + merged.cells])
                    chances.append(merged.split(world) @ by_cell)
            every = np.concatenate(numbers, axis=1)
            total += binomials(
                every,
                np.broadcast_to(np.concatenate(chances).clip(0.0, 1.0), every.shape),
                self._shares[world],
                objects,
                MOST_OPERATIONS,
            )
        return total

    def _by_cell(self, own: CountedClass, world: int) -> Floats:
        """How likely a formula holds in each cell of its class."""
        nothing = self._tables.about_nothing
        place = (0 if own.cls is None else own.cls, 0)
        cell = () if own.cls is None else self._tables.about(place)
        order = dict.fromkeys(objects_of(own.atoms), place)
        atoms = [_placed(atom, order) for atom in own.atoms]
        every = (*nothing, *cell)
        axes = np.argsort([every.index(atom) for atom in atoms]).tolist()
        shape = [self._range(atom) if atom in atoms else 1 for atom in every]
        wide = np.broadcast_to(
            own.chance.transpose(axes).reshape(shape), [self._range(atom) for atom in every]
        )
        return np.asarray(wide.reshape(self._tables.worlds, -1)[world])

    def _range(self, atom: ObjAtom) -> int:
        return self._normal.ranges[atom[0]]

    def _cells_of(self, objects: Sequence[Obj]) -> Floats:
        """The distribution of the atoms about nothing and the cells of some objects."""
        classes = [self._classes[cls] for cls, _ in objects]
        starts = np.cumsum([0, *(own.cells for own in self._classes)])
        shape = [own.cells for own in classes]
        merged = np.zeros([self._tables.worlds, *shape])
        for choice in np.ndindex(*shape):
            columns = [int(starts[own.cls]) + k for own, k in zip(classes, choice, strict=True)]
            merged[(slice(None), *choice)] = self._shares @ self._likely(classes, columns)
        number = len(objects)
        operands: list[Any] = [merged, list(range(1 + number))]
        for k, own in enumerate(classes, start=1):
            split = np.array([own.split(world) for world in range(self._tables.worlds)])
            operands += [split, [0, k, number + k]]
        cells = [0, *range(1 + number, 1 + 2 * number)]
        return np.asarray(np.einsum(*operands, cells, optimize=True))

    def _likely(self, classes: Sequence[_Merged], columns: Sequence[int]) -> Floats:
        """How likely objects have these cells, for each count."""
        chance = np.ones(len(self._counts))
        used: Counter[int] = Counter()
        taken: Counter[int] = Counter()
        for own, column in zip(classes, columns, strict=True):
            chance *= (self._counts[:, column] - used[column]) / (own.size - taken[own.cls])
            used[column] += 1
            taken[own.cls] += 1
        return np.maximum(chance, 0.0)


@dataclass(frozen=True, eq=False, slots=True)
class CountedClass:
    """How likely each of `number` objects of a class satisfies a formula, for values of `atoms`.

    Without a class, the formula is about no object.
    """

    number: int
    atoms: Atoms
    chance: Floats
    cls: int | None


@dataclass(frozen=True, eq=False, slots=True)
class _Merged:
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


def _merged(cls: int, tables: _Tables) -> _Merged:
    weights = tables.single(cls)
    possible = np.flatnonzero((weights > -np.inf).any(axis=0))
    seen = [tables.pair(cls, other) for other in range(tables.classes)]
    rows = np.concatenate(
        [np.moveaxis(own, 1, 0).reshape(own.shape[1], -1) for own in seen], axis=1
    )
    if not len(possible):
        raise ContradictionError("the hard formulas leave an object no possible cell")
    group = np.full(weights.shape[1], -1)
    _, examples, inverse = np.unique(rows[possible], axis=0, return_index=True, return_inverse=True)
    group[possible] = inverse.ravel()
    log_single = np.full((len(weights), len(examples)), -np.inf)
    for cell in possible.tolist():
        place = group[cell]
        log_single[:, place] = np.logaddexp(log_single[:, place], weights[:, cell])
    return _Merged(cls, tables.sizes[cls], group, possible[examples], weights, log_single)


def _counts(classes: Sequence[_Merged]) -> Ints:
    """All ways to spread the objects of each class over its cells, one row each."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for own in classes:
        ways = _compositions(own.size, own.cells)
        left = np.repeat(rows, len(ways), axis=0)
        rows = np.concatenate([left, np.tile(ways, (len(rows), 1))], axis=1)
    return rows


def _compositions(total: int, parts: int) -> Ints:
    """All ways to write a number as a sum, in order.

    >>> _compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    if parts == 1:
        return np.array([[total]])
    bars = np.array(list(combinations(range(total + parts - 1), parts - 1)), dtype=np.int64)
    ends = np.full((len(bars), 1), total + parts - 1)
    return np.diff(np.concatenate([np.full((len(bars), 1), -1), bars, ends], axis=1)) - 1


def _log_factorials(numbers: Ints) -> Floats:
    different, places = np.unique(numbers, return_inverse=True)
    logs = np.array([math.lgamma(number + 1) for number in different.tolist()])
    return logs[places].reshape(numbers.shape)


# --- tables


def _about(atoms: Iterable[ObjAtom]) -> frozenset[Obj]:
    return frozenset(objects_of(atoms))


def _order(objects: Iterable[Obj]) -> dict[Obj, Obj]:
    """Placeholders for some objects: the first ones of their classes."""
    used: Counter[int] = Counter()
    order = {}
    for obj in sorted(objects):
        order[obj] = (obj[0], used[obj[0]])
        used[obj[0]] += 1
    return order


def _placed(atom: ObjAtom, objects: Mapping[Obj, Obj]) -> ObjAtom:
    return atom[0], tuple(objects[obj] for obj in atom[1])


class _Tables:
    """What factors add for each value of the atoms about nothing, an object, and a pair.

    A *world* is a combination of values of the atoms about nothing. The objects of a pair are
    `(a, 0)` and `(b, 0)`, or `(a, 0)` and `(a, 1)` if both are of one class.
    """

    def __init__(self, normal: NormalModel) -> None:
        self._normal = normal
        self.sizes = normal.class_sizes
        self.classes = len(normal.classes)
        self._placements: dict[frozenset[Obj], list[tuple[Atoms, Floats]]] = {}
        for parfactor in normal.parfactors:
            for own in _placements(parfactor):
                self._placements.setdefault(_about(own[0]), []).append(own)
        every = chain.from_iterable(self._placements.values())
        self.atoms = {atom for atoms, _ in every for atom in atoms}
        self._atoms_about: dict[frozenset[Obj], list[ObjAtom]] = {}
        for atom in sorted(self.atoms):
            self._atoms_about.setdefault(_about((atom,)), []).append(atom)
        self.about_nothing = self._about(frozenset())
        self.worlds = math.prod(normal.ranges[p] for p, _ in self.about_nothing)
        self._pair: dict[tuple[int, int], Floats] = {}
        self.of_world = self._table(frozenset(), self.about_nothing).reshape(-1)

    def _about(self, objects: frozenset[Obj]) -> Atoms:
        """The atoms of factors that are about just these objects."""
        return tuple(self._atoms_about.get(objects, ()))

    def about(self, obj: Obj) -> Atoms:
        """The atoms about one object alone."""
        first = (obj[0], 0)
        return tuple(_placed(atom, {first: obj}) for atom in self._about(frozenset({first})))

    def _table(self, objects: frozenset[Obj], atoms: Atoms) -> Floats:
        """The sum of the factors about just these objects."""
        shape = tuple(self._normal.ranges[p] for p, _ in atoms)
        if math.prod(shape) > MOST_TABLE:
            raise NoCellsError(f"a pair of objects has more than {MOST_TABLE} states")
        table = np.zeros(shape)
        axis = {atom: k for k, atom in enumerate(atoms)}
        for scope, log_table in self._placements.get(objects, ()):
            places = [axis[atom] for atom in scope]
            order = sorted(range(len(scope)), key=places.__getitem__)
            lengths = dict(zip(places, log_table.shape, strict=True))
            table = table + log_table.transpose(order).reshape(
                [lengths.get(k, 1) for k in range(len(shape))]
            )
        return table

    def single(self, cls: int) -> Floats:
        """The weights (W, C) of the cells of a class, as logarithms."""
        obj = (cls, 0)
        atoms = (*self.about_nothing, *self.about(obj))
        return self._table(frozenset({obj}), atoms).reshape(self.worlds, -1)

    def pair(self, one: int, other: int) -> Floats:
        """What a pair of objects adds (W, C, C), as a logarithm; a class of one object has none."""
        if (one, other) not in self._pair:
            first, second = self._objects(one, other)
            logs, cells = self._with_pair(first, second)
            total = np.logaddexp.reduce(logs.reshape(*cells, -1), axis=-1)
            self._pair[one, other] = total
            self._pair[other, one] = np.swapaxes(total, 1, 2)
        return self._pair[one, other]

    @staticmethod
    def _objects(one: int, other: int) -> tuple[Obj, Obj]:
        return (one, 0), (other, 1 if one == other else 0)

    def _with_pair(self, first: Obj, second: Obj) -> tuple[Floats, tuple[int, int, int]]:
        """The table about a pair, with the numbers of worlds and cells."""
        pair = self._about(frozenset({first, second}))
        singles = (self.about_nothing, self.about(first), self.about(second))
        atoms = (*singles[0], *singles[1], *singles[2], *pair)
        table = self._table(frozenset({first, second}), atoms)
        worlds, one, other = (math.prod(self._normal.ranges[p] for p, _ in own) for own in singles)
        return table, (worlds, one, other)

    def conditional(self, one: Obj, other: Obj, atoms: Sequence[ObjAtom]) -> Floats:
        """The distribution of atoms about a pair, given the atoms about nothing and both cells."""
        order = _order({one, other})
        first, second = order[one], order[other]
        table, _ = self._with_pair(first, second)
        given = len(self.about_nothing) + len(self.about(first)) + len(self.about(second))
        pair = self._about(frozenset({first, second}))
        axes = tuple(range(given, table.ndim))
        top = table.max(axis=axes, keepdims=True)
        weights = np.exp(table - np.where(top > -np.inf, top, 0.0))
        total = weights.sum(axis=axes, keepdims=True)
        shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        wanted = [given + pair.index(_placed(atom, order)) for atom in atoms]
        others = tuple(k for k in axes if k not in wanted)
        kept = [*range(given), *sorted(wanted)]
        places = [kept.index(axis) for axis in (*range(given), *wanted)]
        return np.asarray(shares.sum(axis=others).transpose(places))


def _placements(parfactor: NormalParfactor) -> Iterator[tuple[Atoms, Floats]]:
    """The factors of a parfactor about one object or one pair: both orders, unless they are one."""
    objects = sorted(objects_of(parfactor.atoms))
    if len(objects) > 2:
        raise NoCellsError("a formula is about more than two objects")
    orders = [_order(objects)]
    if len(objects) == 2 and objects[0][0] == objects[1][0]:
        places = list(orders[0].values())
        if not any(len(group) > 1 for group in parfactor.exchangeable):
            orders = [dict(zip(objects, own, strict=True)) for own in permutations(places)]
    for order in orders:
        yield tuple(_placed(atom, order) for atom in parfactor.atoms), parfactor.log_table
