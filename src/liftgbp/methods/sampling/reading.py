"""Which bits of a world answer a query: the ground atoms of each row, and literals about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.lift.shatter import TABLE_CAP, NormalModel, Obj, object_classes
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.lift.shatter.ways import observed
from liftgbp.lift.signature import objects_of
from liftgbp.lift.via import choose_via
from liftgbp.methods.sampling.chain_starts import Variables
from liftgbp.methods.sampling.terms import SPREAD, WORD, Planes, Words, count_bits
from liftgbp.methods.sampling.tied import Tied
from liftgbp.model.parser import parse_query
from liftgbp.posterior.ground_reader import NOBODY, GroundReader
from liftgbp.posterior.readers import ClassReader, Reader, pattern_text
from liftgbp.posterior.rows import Row, query_rows
from liftgbp.support.arrays import Floats, Ints, places_of_rows, starts_of
from liftgbp.support.errors import QueryError

MOST_GROUNDINGS = 4000
"""A row of a query is averaged over at most this many groundings, chosen at random if there are
more."""

FEW_GROUNDINGS = 64
"""Groups with more groundings than this are counted one by one."""

MOST_CELLS = 4096
"""The most assignments of values in one row."""


def sampled_objects(problem: Problem) -> NormalModel:
    """The classes of objects that rows of queries are about, without any factors.

    Where evidence tells so many objects apart that answers are found on the ground, all objects of
    a sort are one class.
    """
    objects = choose_via("auto", problem)
    if objects is None:
        plain = Problem.of(problem.model.without_rules(), None, problem.sizes)
        objects = object_classes(plain)
    return NormalModel(
        problem=objects.problem,
        classes=objects.classes,
        class_index=objects.index,
        observations=observed(objects),
        predicates=tuple(problem.model.predicates.values()),
        parfactors=(),
        constant_units=0,
        table_cap=TABLE_CAP,
    )


@dataclass(frozen=True, eq=False, slots=True)
class GroundRow:
    """A row of a query with its groundings.

    For each of its different atoms `objects` has an array (groundings, arity). `places` says which
    of these each atom of the row is; those of the condition come last.
    """

    query: str
    row: Row
    predicates: tuple[int, ...]
    objects: tuple[Ints, ...]
    places: tuple[int, ...]


class Grounder:
    """The groundings of rows, for answers over classes of objects and for those on the ground."""

    def __init__(self, normal: NormalModel, seed: int = 0) -> None:
        self._normal = normal
        self._seed = seed

    def rows(self, query: str) -> list[GroundRow]:
        """The rows of a query."""
        rows = query_rows(parse_query(query), self._normal)
        if not rows:
            raise QueryError(f"no objects satisfy the restrictions of {query}")
        return [self._of_classes(query, row, self._normal) for row in rows]

    def every_row(self) -> list[GroundRow]:
        """The rows of a query for each predicate."""
        texts = [pattern_text(p) for p in self._normal.predicates if p.kind == "relation"]
        return [
            self._of_classes(text, row, self._normal)
            for text in texts
            for row in query_rows(parse_query(text), self._normal)
        ]

    def rows_of(self, reader: Reader, queries: Sequence[str]) -> list[GroundRow]:
        """The rows that a reader of answers has for queries, or for every predicate."""
        named = (
            [(query, row) for query in queries for row in reader.rows(query)]
            if queries
            else list(reader.rows_of_everything())
        )
        return self.grounded(named, reader)

    def grounded(self, rows: Sequence[tuple[str, Row]], reader: Reader) -> list[GroundRow]:
        """Rows of a reader of answers, each with the text of its query.

        Objects of a class are alike, so a row about named ones is read off all of them.
        """
        if isinstance(reader, ClassReader):
            unnamed = [(query, replace(row, constants=())) for query, row in rows]
            grounded = [self._of_classes(query, row, reader.normal) for query, row in unnamed]
            return [replace(own, row=row) for own, (_, row) in zip(grounded, rows, strict=True)]
        if isinstance(reader, GroundReader):
            return [_on_the_ground(query, row, reader) for query, row in rows]
        return []

    def _of_classes(self, query: str, row: Row, normal: NormalModel) -> GroundRow:
        """A row over classes: every choice of different objects, or many of them."""
        atoms, places = _different(row)
        chosen = self._chosen(row, objects_of(atoms), normal)
        count = max(map(len, chosen.values()), default=1)
        columns = ([np.zeros((0, count), np.int64), *(chosen[o] for o in own)] for _, own in atoms)
        objects = tuple(np.vstack(own).T for own in columns)
        return GroundRow(query, row, tuple(predicate for predicate, _ in atoms), objects, places)

    def _chosen(self, row: Row, objects: Sequence[Obj], normal: NormalModel) -> dict[Obj, Ints]:
        """For each placeholder the object that it stands for in each grounding."""
        constants = dict(row.constants)
        open_ones = [obj for obj in objects if obj not in constants and obj not in row.bound]
        members = {cls: self._members(cls, constants, normal) for cls, _ in open_ones}
        choices = [members[cls] for cls, _ in open_ones]
        grid = np.prod([float(len(some)) for some in choices])
        if grid <= 4 * MOST_GROUNDINGS:
            columns = [c.ravel() for c in np.meshgrid(*choices, indexing="ij")] if choices else []
        else:
            random = np.random.default_rng(self._seed)
            columns = [
                some[random.integers(len(some), size=2 * MOST_GROUNDINGS)] for some in choices
            ]
        count = len(columns[0]) if columns else 1
        keep = np.ones(count, bool)
        for j, (cls, _) in enumerate(open_ones):
            for k in range(j):
                if open_ones[k][0] == cls:
                    keep &= columns[j] != columns[k]
        rows = np.flatnonzero(keep)
        if len(rows) > MOST_GROUNDINGS:
            rows = rows[np.random.default_rng(self._seed).permutation(len(rows))[:MOST_GROUNDINGS]]
        chosen = {obj: column[rows] for obj, column in zip(open_ones, columns, strict=True)}
        chosen |= {obj: np.full(len(rows), number) for obj, number in constants.items()}
        for cls in {cls for cls, _ in row.bound}:
            taken = np.column_stack(
                [np.full((len(rows), 1), -1), *(c for o, c in chosen.items() if o[0] == cls)]
            )
            every = self._members(cls, {}, normal)
            bound = [obj for obj in row.bound if obj[0] == cls]
            rest = np.array([np.setdiff1d(every, used)[: len(bound)] for used in taken])
            chosen |= {obj: rest[:, k] for k, obj in enumerate(bound)}
        return chosen

    @staticmethod
    def _members(number: int, constants: dict[Obj, int], normal: NormalModel) -> Ints:
        """The objects of a class that the query does not name."""
        sort = normal.classes[number].sort
        every = np.arange(normal.sizes[sort])
        named = [obj for (home, _), obj in constants.items() if home == number]
        inside = normal.class_index[sort].of_all(every) == number
        return np.asarray(every[inside & ~np.isin(every, named)])


def _different(row: Row) -> tuple[list[ObjAtom], tuple[int, ...]]:
    """The different atoms of a row, and which of them each of its atoms is."""
    atoms = list(dict.fromkeys(row.every))
    return atoms, tuple(map(atoms.index, row.every))


def _on_the_ground(query: str, row: Row, reader: GroundReader) -> GroundRow:
    """A row of ground atoms: those that behave like the one that it names."""
    atoms, places = _different(row)
    objects = tuple(
        np.array([[number for _, number in args]], np.int64).reshape(1, len(args))
        for _, args in atoms
    )
    predicates = tuple(predicate for predicate, _ in atoms)
    if len(atoms) == 1 and NOBODY not in objects[0]:
        variables, args = reader.variables(predicates[0])
        kinds = reader.kinds[variables]
        rows = np.flatnonzero((args == objects[0]).all(axis=1))
        if len(rows):
            alike = args[kinds == kinds[rows[0]]]
            objects = (alike[:MOST_GROUNDINGS],)
    return GroundRow(query, row, predicates, objects, places)


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Conjunctions of literals to count in each world, in groups that are added up.

    `literals` has a column for each literal of a conjunction; group k has those from `starts[k]`.
    What a group counts is multiplied by `weights[k]`, and belongs to cell `cell[k]`.
    """

    literals: Ints
    starts: Ints
    weights: Floats
    cell: Ints
    number: int
    """The number of cells."""


class Literals:
    """Which rows of bits say that a ground atom has a value."""

    def __init__(self, variables: Variables, tied: Tied, problem: Problem):
        self._variables = variables
        self._problem = problem
        planes = Planes(tied.network.ranges)
        self.never, self.always = planes.never, planes.never + 1
        back = tied.root_values()
        rows = planes.first[tied.root][:, None] + back
        widest = max(len(own.values) for own in variables.predicates)
        self._rows = np.full((len(rows), max(widest, rows.shape[1])), self.never)
        self._rows[:, : rows.shape[1]] = np.where(back >= 0, rows, self.never)

    @cached_property
    def _facts(self) -> dict[str, tuple[Ints, Ints]]:
        return {name: (own.args, own.values) for name, own in self._problem.facts().items()}

    def of(self, predicate: int, objects: Ints) -> tuple[Ints, Floats]:
        """For ground atoms and each value: the row of bits, and a factor for each atom.

        Atoms in no factor are uniform: all their values hold, with one over their number.
        """
        declared = self._variables.predicates[predicate]
        values = len(declared.values)
        closed = declared.name in self._problem.evidence.closed
        literals = np.full((len(objects), values), self.never if closed else self.always)
        literals[:, 0] = self.always
        factors = np.full(len(objects), 1.0 if closed else 1 / values)
        variables, args = self._variables.of(predicate)
        at = _places(objects, args)
        inside = at >= 0
        literals[inside] = self._rows[variables[at[inside]], :values]
        factors[inside] = 1.0
        if declared.name in self._facts:
            listed, known = self._facts[declared.name]
            at = _places(objects, listed)
            seen = at >= 0
            exact = known[at[seen]][:, None] == np.arange(values)
            literals[seen] = np.where(exact, self.always, self.never)
            factors[seen] = 1.0
        return literals, factors

    def cells(self, row: GroundRow) -> Cells:
        """The cells of a row: one for each assignment of values to its atoms."""
        atoms = [
            self.of(predicate, objects)
            for predicate, objects in zip(row.predicates, row.objects, strict=True)
        ]
        shape = [literals.shape[1] for literals, _ in atoms]
        if np.prod(shape) > MOST_CELLS:
            raise QueryError(f"{row.row.text} has more than {MOST_CELLS} assignments")
        # A formula that always holds, or never, is about no atom.
        count = len(atoms[0][0]) if atoms else 1
        certain = np.full(count, self.always)
        factor = np.prod([np.ones(count), *(factors for _, factors in atoms)], axis=0)
        # Groundings with equal factors are counted together.
        levels, level = np.unique(factor, return_inverse=True)
        literals: list[Ints] = []
        sizes: list[int] = []
        weights: list[float] = []
        cell: list[int] = []
        for number, digits in enumerate(product(*map(range, shape))):
            pairs = zip(atoms, digits, strict=True)
            columns = np.column_stack([r[:, digit] for (r, _), digit in pairs] or [certain])
            for k, value in enumerate(levels.tolist()):
                members = columns[level.ravel() == k]
                literals.append(members)
                sizes.append(len(members))
                weights.append(value / count)
                cell.append(number)
        return Cells(
            np.concatenate(literals),
            starts_of(np.array(sizes))[:-1],
            np.array(weights),
            np.array(cell),
            int(np.prod(shape)),
        )


def _places(wanted: Ints, listed: Ints) -> Ints:
    """Where each row is listed; -1 if it is not."""
    # A column more, since atoms may be about no object.
    return places_of_rows(*([np.zeros(len(rows), bool), *rows.T] for rows in (wanted, listed)))


def joined(every: Sequence[Cells]) -> Cells:
    """The cells of several rows, one after the other."""
    widest = max((one.literals.shape[1] for one in every), default=1)
    firsts = np.cumsum([0, *(one.number for one in every)])
    lengths = np.cumsum([0, *(len(one.literals) for one in every)])
    # A literal that is repeated changes nothing.
    wide = [
        np.pad(one.literals, ((0, 0), (0, widest - one.literals.shape[1])), "edge") for one in every
    ]
    none = np.zeros(0, np.int64)
    return Cells(
        np.concatenate([np.zeros((0, widest), np.int64), *wide]),
        np.concatenate([none, *(one.starts + n for one, n in zip(every, lengths, strict=False))]),
        np.concatenate([np.zeros(0), *(one.weights for one in every)]),
        np.concatenate([none, *(one.cell + n for one, n in zip(every, firsts, strict=False))]),
        int(firsts[-1]),
    )


def traces_of(
    worlds: Callable[[], Iterator[Words]], every: Sequence[Cells], most: float = math.inf
) -> Iterator[Floats]:
    """The traces of the cells of each row; at most so many cells are read off a world at once."""
    first = 0
    while first < len(every):
        filled, last = every[first].number, first + 1
        while last < len(every) and filled + every[last].number <= most:
            filled, last = filled + every[last].number, last + 1
        drawn = traces(worlds(), joined(every[first:last]))
        ends = np.cumsum([cells.number for cells in every[first:last]])
        yield from np.split(drawn, ends[:-1], axis=2)
        first = last


def traces(worlds: Iterator[Words], cells: Cells) -> Floats:
    """What each cell has in each world and chain: (draws, C, number of cells)."""
    draws = []
    bounds = [*cells.starts.tolist(), len(cells.literals)]
    few = len(cells.literals) > FEW_GROUNDINGS * len(cells.starts)
    for planes in worlds:
        words = planes[cells.literals[:, 0]]
        for column in cells.literals.T[1:]:
            words &= planes[column]
        if few:
            parts = [words[a:b, None] for a, b in pairwise(bounds)]
            sums = np.concatenate(list(map(count_bits, parts)))
        else:
            bits = SPREAD[np.ascontiguousarray(words).view(np.uint8)].view(np.uint8)
            rows = bits.reshape(len(words), -1)
            sums = np.add.reduceat(rows, cells.starts, axis=0, dtype=np.int64)
        total = np.zeros((cells.number, planes.shape[1] * WORD))
        np.add.at(total, cells.cell, sums * cells.weights[:, None])
        draws.append(total.T)
    return np.array(draws)
