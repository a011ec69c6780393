"""Communities of a ground network: linked variables that change together between minima.

Messages start several times, from a value drawn for each variable. Inside a community of strong
couplings variables soon agree, on one value or another; two communities do so independently of each
other. So linked variables that have changed together between all runs belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from random import Random

import numpy as np

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.methods.communities.variable_messages import VariableMessages
from liftgbp.solve import Flooding, Status
from liftgbp.support.arrays import Bools, Floats, Ints, distinct, group_rows

TILT = 0.9
"""The probability of the value that a variable starts from."""

FEWEST_RUNS, MOST_RUNS, WITHOUT_NEWS = 12, 24, 4
"""How many runs there are: until so many in a row find no further community. Where one starts at
random, two neighbouring communities look like one with a chance of a half."""

MOST_FAILURES = 3
"""Runs that do not converge; where there are more, minima are no matter of communities."""

FIRST_LOOK = 3
"""Where so many runs, two of them from opposite values, end alike, there is one minimum."""

LEAST_CHANGE = 0.02
"""A variable whose probabilities change by less between minima is the same in all of them."""

SMALLEST = 3
"""Fewer variables are no community; they join one, or lie between several."""


def starting_chances(ranges: Ints, seed: int) -> Iterator[Floats]:
    """Probabilities of variables: tilted to each value alike, first and last first, then to any."""
    most = int(ranges.max(initial=1))
    for value in dict.fromkeys([0, most - 1, *range(most)]):
        yield _tilted(np.minimum(value, ranges - 1), ranges)
    generator = Random(seed)
    while True:
        drawn = [generator.randrange(size) for size in ranges.tolist()]
        yield _tilted(np.array(drawn, dtype=np.int64), ranges)


def _tilted(values: Ints, ranges: Ints) -> Floats:
    """The probabilities of variables that are tilted towards these values."""
    chances = np.repeat((1 - TILT) / np.maximum(ranges - 1, 1), ranges)
    chances[np.cumsum(ranges) - ranges + values] = np.where(ranges > 1, TILT, 1.0)
    return chances


def communities_of(
    network: GroundNetwork, messages: VariableMessages, flooding: Flooding
) -> Ints | None:
    """The community of each variable, by number; -1 for those in no factor, or between several.

    None if nothing changes between minima.
    """
    ranges, links = network.ranges, _links(network)
    ends: list[Floats] = []
    together = np.zeros(len(ranges), dtype=np.int64)
    number = idle = failures = 0
    for start in starting_chances(ranges, seed=0):
        end = messages.flooded(messages.plan, start, flooding)
        if end.status is not Status.CONVERGED:
            failures += 1
            if failures > MOST_FAILURES:
                return None
            continue
        ends.append(messages.chances(end.log_beliefs))
        if len(ends) < FIRST_LOOK:
            continue
        changes, signature = _signatures(np.array(ends), ranges)
        if not changes.any():
            return None
        first, second = links
        same = changes[first] & changes[second] & (signature[first] == signature[second])
        together = _components(len(ranges), first[same], second[same])
        before, number = number, int((np.bincount(together) >= SMALLEST).sum())
        idle = idle + 1 if number == before else 0
        if len(ends) >= FEWEST_RUNS and (idle >= WITHOUT_NEWS or len(ends) >= MOST_RUNS):
            break
    scopes = [np.zeros(0, np.int64), *(block.scopes.ravel() for block in network.blocks)]
    in_factors = np.isin(np.arange(len(ranges)), np.concatenate(scopes))
    return _completed(together, links, in_factors) if number else None


def _links(network: GroundNetwork) -> tuple[Ints, Ints]:
    """The pairs of variables that share a factor."""
    pairs = [
        block.scopes[:, list(pair)]
        for block in network.blocks
        for pair in combinations(range(block.scopes.shape[1]), 2)
    ]
    first, second = np.concatenate([np.zeros((0, 2), np.int64), *pairs]).T
    return first, second


def _components(size: int, first: Ints, second: Ints) -> Ints:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(first)), (first, second)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def _signatures(ends: Floats, ranges: Ints) -> tuple[Bools, Ints]:
    """Which variables change between runs; equal numbers for those that do so between the same.

    A variable is the same in two runs if its probabilities differ by less than half of what they do
    at most.
    """
    starts = np.cumsum(ranges) - ranges
    spans = np.zeros(len(ranges))
    labels = np.zeros((len(ends), len(ranges)), dtype=np.int64)
    for size in distinct(ranges).tolist():
        own = np.flatnonzero(ranges == size)
        chances = ends[:, starts[own][:, None] + np.arange(size)]
        spans[own] = np.ptp(chances, axis=0).max(axis=1)
        labels[:, own] = _first_alike(chances, spans[own] / 2)
    return spans > LEAST_CHANGE, group_rows(list(labels))[1]


def _first_alike(chances: Floats, near: Floats) -> Ints:
    """For each run and variable, the first run in which the variable is the same."""
    labels = np.zeros(chances.shape[:2], dtype=np.int64)
    for run in range(len(chances)):
        labels[run] = run
        for other in reversed(range(run)):
            close = np.abs(chances[run] - chances[other]).max(axis=1) <= near
            labels[run] = np.where(close & (labels[other] == other), other, labels[run])
    return labels


def _completed(together: Ints, links: tuple[Ints, Ints], in_factors: Bools) -> Ints:
    """Communities with what lies around them, and one of all that is linked to none of them.

    What borders on several communities is in none.
    """
    size, (first, second) = len(together), links
    core = np.bincount(together)[together] >= SMALLEST
    outside = ~core[first] & ~core[second]
    label = np.where(core, together, size + _components(size, first[outside], second[outside]))
    crossing = core[first] != core[second]
    inner = np.where(core[first], first, second)[crossing]
    outer = np.where(core[first], second, first)[crossing]
    least, most = np.full(2 * size, 2 * size), np.full(2 * size, -1)
    np.minimum.at(least, label[outer], label[inner])
    np.maximum.at(most, label[outer], label[inner])
    least, most = least[label], most[label]
    # Of what borders on nothing, `least` is the same.
    community = np.where(core, together, np.where((least == most) | (most < 0), least, -1))
    inside = in_factors & (community >= 0)
    numbered = np.full(size, -1)
    numbered[inside] = np.unique(community[inside], return_inverse=True)[1].ravel()
    return numbered
