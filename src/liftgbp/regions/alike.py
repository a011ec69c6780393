"""Ground atoms that can be exchanged for one another, two of which lie in one region.

Atoms that differ in one object of a class, such as smokes(x) for all x or friends(a,x) for one a
and all x, are exchangeable, and any two of them look like any other two. Beliefs about a single
pair then tell the mean and the variance of how many of them hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from liftgbp.regions.counts import Count
from liftgbp.signature import Atom, Cluster

Pair: TypeAlias = tuple[int, int, int]
"""A region, and two of its atoms."""


@dataclass(frozen=True, slots=True)
class AlikeAtoms:
    """Exchangeable ground atoms: a pair of them in a region, and how many there are."""

    pair: Pair
    count: Count


def alike_atoms(regions: Iterable[tuple[int, Cluster]]) -> tuple[AlikeAtoms, ...]:
    """All kinds of exchangeable atoms with a pair in a numbered region, each in the first such one.

    >>> smokes = ((0, ((0, 0),)), (0, ((0, 1),)))
    >>> [alike] = alike_atoms([(7, smokes)])
    >>> alike.pair, alike.count.at([20])
    ((7, 0, 1), 20)
    """
    found: dict[object, AlikeAtoms] = {}
    for region, cluster in regions:
        for (axis, one), (other_axis, other) in combinations(enumerate(cluster), 2):
            if exchangeable := _exchangeable(one, other):
                kind, count = exchangeable
                found.setdefault(kind, AlikeAtoms((region, axis, other_axis), count))
    return tuple(found.values())


def _exchangeable(one: Atom, other: Atom) -> tuple[object, Count] | None:
    """The kind of exchangeable atoms that two atoms are, and how many of it there are, if any."""
    (predicate, args), (other_predicate, other_args) = one, other
    if predicate != other_predicate:
        return None
    exchanged = {pair for pair in zip(args, other_args, strict=True) if pair[0] != pair[1]}
    if len(exchanged) != 1:
        return None
    [(own, new)] = exchanged
    fixed = set(args) - {own}
    if own[0] != new[0] or new in fixed or own in other_args:
        return None
    names = {obj: k for k, obj in enumerate(dict.fromkeys(args))}
    kind = predicate, tuple((obj[0], names[obj]) for obj in args), names[own]
    taken = sum(home == own[0] for home, _ in fixed)
    return kind, Count(((own[0], taken, 1),), 1)
