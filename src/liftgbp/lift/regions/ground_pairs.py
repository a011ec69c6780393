"""Which pairs of ground variables share a region, and sets of variables that all do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from liftgbp.support.arrays import Ints, expand, row_order, starts_of

MOST_PAIRS, MOST_PLACES = 10**6, 200_000
"""The most pairs of variables that are listed, and the most kinds of them: 6 000 papers with one
category of eight each have 168 000. Reading their beliefs takes a second."""

MOST_STEPS = 10**7
"""How much work the search for cliques takes, in neighbours that are looked at."""


@dataclass(frozen=True, eq=False)
class GroundPairs:
    """Pairs of ground variables that share a region.

    ranges   the number of values of each variable
    first    the first variable of each pair
    second   the second one; each pair is listed once
    place    the number of the place where its belief is found
    places   rows of a region and two axes of it: those of the first and of the second variable
    sources  one variable of each kind
    cliques  sets of three variables or more that share regions pairwise
    """

    ranges: Ints
    first: Ints
    second: Ints
    place: Ints
    places: Ints
    sources: Ints
    cliques: tuple[Ints, ...]


def find_cliques(first: Ints, second: Ints, variables: int, sources: Ints) -> tuple[Ints, ...]:
    """For each source, sets of variables around it that are all paired with each other.

    What is added next is paired with most of the variables that could be added, so that large sets
    are found where there are any.

    >>> pairs = np.array([(0, 1), (0, 2), (1, 2), (2, 3)])
    >>> [own.tolist() for own in find_cliques(*pairs.T, 4, np.array([0, 3]))]
    [[0, 1, 2]]
    """
    first, second, sources = _in_triangles(first, second, variables, sources)
    neighbours: dict[int, set[int]] = {}
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    found: dict[bytes, Ints] = {}
    steps = 0
    for source in sources.tolist():
        clique = [source]
        candidates = neighbours.get(source, set())
        while candidates:
            inside = {v: neighbours[v] & candidates for v in sorted(candidates)}
            steps += sum(len(neighbours[v]) for v in candidates)
            if all(len(own) == len(candidates) - 1 for own in inside.values()):
                clique += candidates
                break
            best = max(inside, key=lambda v: len(inside[v]))
            clique.append(best)
            candidates = inside[best]
        if len(clique) > 2:
            own = np.array(sorted(clique))
            found.setdefault(own.tobytes(), own)
        if steps > MOST_STEPS:
            break
    return tuple(found.values())


def _in_triangles(
    first: Ints, second: Ints, variables: int, sources: Ints
) -> tuple[Ints, Ints, Ints]:
    """The pairs that belong to three variables which share regions, and the sources in them.

    Pairs point to the variable that has more of them, so that few have many in common. If there
    are too many all the same, all pairs are returned.
    """
    pairs = np.bincount(np.concatenate([first, second]), minlength=variables)
    less = pairs[first] * variables + first < pairs[second] * variables + second
    order = row_order([np.where(less, first, second), np.where(less, second, first)])
    here, there = np.where(less, first, second)[order], np.where(less, second, first)[order]
    later = starts_of(np.bincount(here, minlength=variables))[here + 1] - np.arange(len(here)) - 1
    if int(later.sum()) > MOST_STEPS:
        return first, second, sources
    one = np.repeat(np.arange(len(here)), later)
    other = expand(np.arange(len(here)) + 1, later)
    keys = here * variables + there
    found = np.zeros(len(here), dtype=bool)
    for ends in ((there[one], there[other]), (there[other], there[one])):
        wanted = ends[0] * variables + ends[1]
        place = np.searchsorted(keys, wanted).clip(max=max(0, len(keys) - 1))
        closed = np.flatnonzero(keys[place] == wanted)
        for own in (one[closed], other[closed], place[closed]):
            found[own] = True
    kept = np.zeros(variables, dtype=bool)
    kept[here[found]] = kept[there[found]] = True
    return here[found], there[found], sources[kept[sources]]
