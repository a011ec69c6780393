"""What evidence says about patterns of atoms, and what it leaves of tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.shatter.classes import ObjectClasses
from liftgbp.shatter.normal import (
    SOFT,
    ClassIndex,
    ObjAtom,
    ObjectClass,
    Observations,
    pattern_of,
)
from liftgbp.shatter.rule_tables import drop_indifferent
from liftgbp.shatter.ways import Way


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


def soft_ways(objects: ObjectClasses, observations: Observations) -> Iterator[Way]:
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


def soft_way(pattern: ObjAtom, atoms: tuple[ObjAtom, ...], table: Floats) -> Way:
    """What an uncertain observation of a pattern leaves: if no atom, then for each ground one."""
    gone = Counter() if atoms else Counter(cls for cls, _ in set(pattern[1]))
    return Way(atoms, table, (), SOFT, sized=True, swaps=1, gone=gone, present=Counter())


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
