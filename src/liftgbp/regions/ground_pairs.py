"""Which pairs of ground variables share a region, and sets of variables that all do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Ints, starts_of

MOST_PAIRS, MOST_PLACES = 10**6, 20_000
"""The most pairs of variables that are listed, and the most kinds of them."""

MOST_STEPS = 10**7
"""How much work the search for cliques takes, in neighbours that are looked at."""

Place = tuple[int, int, int]
"""A region, and two of its axes."""


@dataclass(frozen=True, eq=False)
class GroundPairs:
    """Pairs of ground variables that share a region.

    ranges   the number of values of each variable
    first    the first variable of each pair
    second   the second one; each pair is listed once
    place    the number of the place where its belief is found
    places   a region and two axes of it: those of the first and of the second variable
    sources  one variable of each kind
    cliques  sets of three variables or more that share regions pairwise
    """

    ranges: Ints
    first: Ints
    second: Ints
    place: Ints
    places: tuple[Place, ...]
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
    ends = np.concatenate([first, second])
    others = np.concatenate([second, first])
    order = np.lexsort((others, ends))
    neighbours = others[order]
    starts = starts_of(np.bincount(ends, minlength=variables))
    found: dict[bytes, Ints] = {}
    steps = 0
    for source in sources.tolist():
        clique = [source]
        candidates = neighbours[starts[source] : starts[source + 1]]
        while len(candidates):
            inside = [
                own[np.isin(own, candidates, assume_unique=True)]
                for own in (neighbours[starts[v] : starts[v + 1]] for v in candidates.tolist())
            ]
            steps += sum(int(starts[v + 1] - starts[v]) for v in candidates.tolist())
            degrees = np.array([len(own) for own in inside])
            if (degrees == len(candidates) - 1).all():
                clique += candidates.tolist()
                break
            best = int(degrees.argmax())
            clique.append(int(candidates[best]))
            candidates = inside[best]
        if len(clique) > 2:
            own = np.array(sorted(clique))
            found.setdefault(own.tobytes(), own)
        if steps > MOST_STEPS:
            break
    return tuple(found.values())
