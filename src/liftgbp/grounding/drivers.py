"""Which atoms must be listed before a rule says anything about a substitution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.grounding.facts import Facts


@dataclass(frozen=True, slots=True)
class Drivers:
    """Sets of atoms, by position: where none of them is listed as a whole, the table is `constant`.

    No set holds another. The empty set says that every substitution matters.
    """

    sets: tuple[frozenset[int], ...]
    constant: float


def drivers_of(table: Floats, facts: Sequence[Facts]) -> Drivers:
    """The smallest such sets for a log table whose axis k is an atom with `facts[k]`.

    Listing an atom that is unknown otherwise only takes entries away from the table that remains.
    So a driver is an atom of a predicate whose atoms all have values, and differ from most.
    """
    unlisted = table[np.ix_(*(_unlisted(some) for some in facts))]
    if not np.all(unlisted == unlisted.flat[0]):
        return Drivers((frozenset(),), 0.0)
    constant = float(unlisted.flat[0])
    telling = [k for k, some in enumerate(facts) if some.complete and len(some.values)]
    # Most rules are clauses, in which every one of these atoms is needed: look there first.
    needed = frozenset(k for k in telling if np.all(_without(table, facts, k) == constant))
    others = [k for k in telling if k not in needed]
    found: list[frozenset[int]] = []
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            atoms = needed.union(more)
            covered = any(smaller <= atoms for smaller in found)
            if not covered and not np.all(_listing(table, facts, atoms) == constant):
                found.append(atoms)
    return Drivers(tuple(found), constant)


def _listing(table: Floats, facts: Sequence[Facts], atoms: frozenset[int]) -> Floats:
    """The entries that evidence may leave when exactly these atoms are listed."""
    axes = [_listed(some) if k in atoms else _unlisted(some) for k, some in enumerate(facts)]
    return table[np.ix_(*axes)]


def _without(table: Floats, facts: Sequence[Facts], atom: int) -> Floats:
    """The entries that evidence may leave when this atom is not listed."""
    axes = [
        _unlisted(some) if k == atom else np.union1d(_unlisted(some), _listed(some))
        for k, some in enumerate(facts)
    ]
    return table[np.ix_(*axes)]


def _listed(facts: Facts) -> Ints:
    return np.unique(facts.values)


def _unlisted(facts: Facts) -> Ints:
    return np.array([facts.default]) if facts.complete else np.arange(facts.range)
