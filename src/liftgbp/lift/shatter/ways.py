"""What a rule becomes where its variables coincide in one way, and what evidence leaves of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from liftgbp.lift.shatter.assignments import Size, falling
from liftgbp.lift.shatter.classes import ObjectClasses
from liftgbp.lift.shatter.normal import (
    SOFT,
    ClassIndex,
    NormalParfactor,
    Obj,
    ObjAtom,
    ObjectClass,
    Observations,
    pattern_of,
)
from liftgbp.lift.shatter.rule_tables import drop_indifferent
from liftgbp.support.arrays import Floats, Integers, Ints, in_units


@dataclass(frozen=True, eq=False, slots=True)
class Uncounted:
    """A parfactor but for how often each of its factors occurs, which depends on class sizes.

    `gone` and `present` count the objects of each class that left the scope and those in it;
    `substitution` says what the variables of the rule stand for.
    `swaps` is how often each factor occurs however large the classes are; a `sized` table depends
    on the sizes of domains.
    """

    atoms: tuple[ObjAtom, ...]
    table: Floats
    groups: tuple[tuple[Obj, ...], ...]
    rule: int
    sized: bool
    swaps: int
    gone: Counter[int]
    present: Counter[int]
    substitution: Mapping[str, Obj] = field(default_factory=dict)

    @property
    def scope(self) -> object:
        """What is equal for ways that add up to one parfactor."""
        return self.rule, self.atoms, self.groups

    def parfactor(self, sizes: Sequence[int]) -> NormalParfactor:
        """The parfactor over classes of these sizes: variables that left the scope are free."""
        copies = self.copies(sizes)
        elastic = self.sized or bool(self.gone)
        if not self.atoms:
            return NormalParfactor(self.atoms, self.table, self.groups, self.rule, elastic, copies)
        table = self.table if copies == 1 else self.table * float(copies)
        return NormalParfactor(self.atoms, table, self.groups, self.rule, elastic)

    def copies(self, sizes: Sequence[Size]) -> Size:
        """How often each factor occurs; arrays are many sizes of each class at once."""
        copies: Any = self.swaps
        for cls, count in self.gone.items():
            copies = copies * falling(sizes[cls] - self.present[cls], count)
        return cast(Size, copies)


class ManySizes:
    """The tables of parfactors, and their constant, over many sizes of the same classes."""

    def __init__(self, ways: Iterable[Uncounted]) -> None:
        self._constant: list[Uncounted] = []
        scopes: dict[object, list[Uncounted]] = {}
        for way in ways:
            if way.atoms:
                scopes.setdefault(way.scope, []).append(way)
            else:
                self._constant.append(way)
        self._scopes = list(scopes.values())

    def tables(self, sizes: Sequence[Integers]) -> list[Floats]:
        """The log tables of each parfactor, stacked: one for each entry of the sizes of a class."""
        number = len(sizes[0])
        found: list[Floats] = []
        for ways in self._scopes:
            shape = number, *(1,) * ways[0].table.ndim
            added = (
                way.table * np.broadcast_to(way.copies(sizes), number).astype(float).reshape(shape)
                for way in ways
            )
            found.append(sum(added, next(added)))
        return found

    def constants(self, sizes: Sequence[Integers]) -> list[int]:
        """What factors without atoms add to log Z, in the smallest doubles (see `arrays.UNITS`)."""
        total = np.zeros(len(sizes[0]), dtype=object)
        for way in self._constant:
            total = total + way.copies(sizes) * in_units(float(way.table))
        return list(map(int, total))


def observed(objects: ObjectClasses) -> Observations:
    """The observed atoms by pattern. One fact speaks for all atoms of its pattern."""
    problem, class_index = objects.problem, objects.index
    evidence, predicates = problem.evidence, problem.model.predicates
    number = {name: k for k, name in enumerate(predicates)}
    counts: Counter[int] = Counter()
    values: dict[ObjAtom, int] = {}
    for name, relation in evidence.hard.items():
        counts[number[name]] += len(relation.values)
        telling = _telling_rows(relation.args, predicates[name].sorts, objects.classes)
        patterns = _patterns(
            number[name], predicates[name].sorts, relation.args[telling], class_index
        )
        values.update(zip(patterns, relation.values[telling].tolist(), strict=True))
    for known, start in problem.known_blocks():
        for name, value in known.values:
            counts[number[name]] += known.count
            values[number[name], ((class_index[known.sort].of(start), 0),)] = value
    for name in evidence.closed:
        counts[number[name]] = math.prod(problem.sizes[sort] for sort in predicates[name].sorts)
    closed = frozenset(number[name] for name in evidence.closed)
    return Observations(values=values, closed=closed, counts=counts)


def soft_ways(objects: ObjectClasses, observations: Observations) -> Iterator[Uncounted]:
    """One parfactor per pattern of atoms that are observed with uncertainty."""
    soft = objects.problem.evidence.soft
    for number, (name, predicate) in enumerate(objects.problem.model.predicates.items()):
        if name not in soft:
            continue
        relation = soft[name]
        telling = _telling_rows(relation.args, predicate.sorts, objects.classes)
        patterns = _patterns(number, predicate.sorts, relation.args[telling], objects.index)
        tables = dict(zip(patterns, relation.log_potentials[telling], strict=True))
        for pattern, table in tables.items():
            atoms, left = sliced(*drop_indifferent((pattern,), table), observations)
            yield soft_way(pattern, atoms, left)


def soft_way(pattern: ObjAtom, atoms: tuple[ObjAtom, ...], table: Floats) -> Uncounted:
    """What an uncertain observation of a pattern leaves: if no atom, then for each ground one."""
    gone = Counter() if atoms else Counter(cls for cls, _ in set(pattern[1]))
    return Uncounted(atoms, table, (), SOFT, sized=True, swaps=1, gone=gone, present=Counter())


def _telling_rows(args: Ints, sorts: Sequence[str], classes: Sequence[ObjectClass]) -> Ints:
    """Rows that have every pattern; of unary facts, those about the example of a class."""
    if len(sorts) != 1:
        return np.arange(len(args))
    examples = [c.examples[0] for c in classes if c.sort == sorts[0]]
    return np.flatnonzero(np.isin(args[:, 0], examples))


def _patterns(
    predicate: int, sorts: Sequence[str], args: Ints, class_index: Mapping[str, ClassIndex]
) -> Iterator[ObjAtom]:
    for row in args.tolist():
        objects = tuple((class_index[s].of(k), k) for s, k in zip(sorts, row, strict=True))
        yield pattern_of((predicate, objects))


def sliced(
    atoms: tuple[ObjAtom, ...], table: Floats, observations: Observations, *, kept: bool = False
) -> tuple[tuple[ObjAtom, ...], Floats]:
    """The table at the observed values, without the atoms that it no longer depends on.

    All others stay if they are to be kept together.
    """
    values = [observations.value(atom) for atom in atoms]
    if all(value is None for value in values):
        return atoms, table
    table = table[tuple(slice(None) if value is None else value for value in values)]
    left = tuple(atom for atom, value in zip(atoms, values, strict=True) if value is None)
    return (left, table) if kept else drop_indifferent(left, table)
