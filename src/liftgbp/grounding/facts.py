"""What evidence says about the atoms of each predicate: listed states, and one for all others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Ints
from liftgbp.evidence import Evidence, Relation
from liftgbp.model.ast import Predicate


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """The states of all atoms of one predicate: a value number, or `unknown`.

    The atom over the objects `args[k]` has value number `values[k]`, and every atom that is not
    listed has the state `default`; no listed atom has that one. `unobserved` counts the atoms with
    the state unknown.
    """

    args: Ints
    values: Ints
    range: int
    default: int
    unobserved: int

    @property
    def unknown(self) -> int:
        """The state of an atom without an observed value."""
        return self.range

    @property
    def complete(self) -> bool:
        """Whether every atom has an observed value."""
        return self.default != self.unknown


def open_facts(values: int) -> Facts:
    """Facts that list nothing and leave all atoms unknown, for formulas that stand for atoms."""
    return Facts(np.zeros((0, 0), np.int64), np.zeros(0, np.int64), values, values, 0)


def all_facts(evidence: Evidence, sizes: Mapping[str, int]) -> tuple[Facts, ...]:
    """The facts about each predicate, in the order of the model."""
    relations = evidence.facts(sizes)
    return tuple(
        _facts(predicate, relations.get(name), name in evidence.closed, sizes)
        for name, predicate in evidence.model.predicates.items()
    )


def _facts(
    predicate: Predicate, relation: Relation | None, closed: bool, sizes: Mapping[str, int]
) -> Facts:
    atoms = math.prod(sizes[sort] for sort in predicate.sorts)
    if relation is None:
        relation = Relation(np.zeros((0, len(predicate.sorts)), np.int64), np.zeros(0, np.int64))
    args, values, length = relation.args, relation.values, len(predicate.values)
    if closed:
        default, unobserved = 0, 0
    elif len(values) == atoms:
        # Atoms with the most frequent value need no row when every atom is listed.
        default, unobserved = int(np.bincount(values).argmax()), 0
    else:
        default, unobserved = length, atoms - len(values)
    listed = values != default
    return Facts(args[listed], values[listed], length, default, unobserved)


def row_keys(rows: Ints, sizes: Sequence[int]) -> Ints:
    """One number per row, in the order of the rows; equal rows have equal numbers.

    >>> row_keys(np.array([[0, 4], [2, 1], [0, 4]]), [3, 5]).tolist()
    [4, 11, 4]
    """
    keys = np.zeros(len(rows), np.int64)
    below = 1
    for column, size in zip(rows.T, sizes, strict=True):
        if below * size >= 2**63:
            # Ranks keep the order and are no more than the rows.
            keys = np.unique(keys, return_inverse=True)[1].ravel()
            column = np.unique(column, return_inverse=True)[1].ravel()  # noqa: PLW2901
            below, size = len(rows), len(rows)  # noqa: PLW2901
        keys = keys * size + column
        below *= size
    return keys
