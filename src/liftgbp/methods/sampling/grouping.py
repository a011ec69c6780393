"""Chains that stay apart: each group tells of one part of the worlds, and log Z of its weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from liftgbp.methods.sampling.diagnostics import Diagnosis, diagnose
from liftgbp.support.arrays import Floats, Ints

MOST_R_HAT = 1.05
"""Chains have mixed if R-hat is at most this. With 64 chains that says that each half of a chain
spans some ten autocorrelation times; the usual 1.01 is for four long chains."""

ROUNDS = 5
"""How often each chain is put into the group that it is most like."""

FAR_APART = 4.0
"""Groups are apart if their means differ by this many times the spread of chains inside both. Where
slow chains are cut into two groups at their median, it is 1.3 times."""

MOST_MOVED = 0.25
"""At most this part of the chains may have left the group that they started in."""

FEWEST_CHAINS = 2
"""A group of fewer chains says nothing."""


@dataclass(frozen=True, eq=False, slots=True)
class Grouping:
    """The group of each chain, and the share of each group; one group if chains have mixed."""

    group_of: Ints
    shares: dict[int, float] = field(default_factory=dict)

    @property
    def apart(self) -> bool:
        """Whether there are several groups."""
        return len(self.shares) > 1

    def diagnosed(self, draws: Floats) -> Diagnosis:
        """What all chains say, or what groups say that are weighed by their shares."""
        if not self.apart:
            return diagnose(draws)
        by_group = {number: diagnose(draws[:, self.group_of == number]) for number in self.shares}
        shares = np.array(list(self.shares.values()))[:, None]
        every = list(by_group.values())
        return Diagnosis(
            np.asarray((shares * [one.mean for one in every]).sum(axis=0)),
            np.sqrt((shares**2 * np.square([one.error for one in every])).sum(axis=0)),
            np.sum([one.effective for one in every], axis=0),
            np.max([one.r_hat for one in every], axis=0),
        )


def grouped(draws: Floats, start_of: Ints, shares: Sequence[float | None]) -> Grouping:
    """The groups of chains: all together if they have mixed, or if groups would not mix, either.

    A chain that left its start belongs to where it went. Nothing is known about the weight of
    random worlds, so chains from there join the group that they are most like.
    """
    together = Grouping(np.zeros(len(start_of), np.int64))
    known = {number: share for number, share in enumerate(shares) if share}
    if len(known) < 2 or not draws.shape[2] or diagnose(draws).r_hat.max() <= MOST_R_HAT:
        return together
    means = draws.mean(axis=0)
    scale = means.std(axis=0)
    means = means[:, scale > 0] / scale[scale > 0]
    group_of = start_of.copy()
    for _ in range(ROUNDS):
        centres = {n: means[group_of == n].mean(axis=0) for n in known if (group_of == n).any()}
        distance = np.array([((means - centre) ** 2).sum(axis=1) for centre in centres.values()])
        group_of = np.array(list(centres))[distance.argmin(axis=0)]
    numbers, counts = np.unique(group_of, return_counts=True)
    if len(numbers) < 2 or counts.min() < FEWEST_CHAINS:
        return together
    if not _far_apart(means, group_of) or _moved(start_of, group_of, known) > MOST_MOVED:
        return together
    total = sum(known[number] for number in numbers.tolist())
    apart = Grouping(group_of, {n: known[n] / total for n in numbers.tolist()})
    return apart if apart.diagnosed(draws).r_hat.max() <= MOST_R_HAT else together


def _far_apart(means: Floats, group_of: Ints) -> bool:
    """Whether each two groups differ in something by far more than the chains of a group do."""
    inside = [means[group_of == number] for number in np.unique(group_of).tolist()]
    for one, other in combinations(inside, 2):
        gap = np.abs(one.mean(axis=0) - other.mean(axis=0))
        spread = one.std(axis=0, ddof=1) + other.std(axis=0, ddof=1)
        if not (gap > FAR_APART * spread).any():
            return False
    return True


def _moved(start_of: Ints, group_of: Ints, known: Mapping[int, float]) -> float:
    """The part of the chains with a known start that are in another group."""
    settled = np.isin(start_of, list(known))
    return float((start_of != group_of)[settled].mean())
