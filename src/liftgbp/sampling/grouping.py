"""Chains that stay apart: each group tells of one part of the worlds, and log Z of its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.sampling.diagnostics import Diagnosis, diagnose

MOST_R_HAT = 1.05
"""Chains have mixed if R-hat is at most this. With 64 chains that says that each half of a chain
spans some ten autocorrelation times; the usual 1.01 is for four long chains."""

ROUNDS = 5
"""How often each chain is put into the group that it is most like."""

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
        found = {number: diagnose(draws[:, self.group_of == number]) for number in self.shares}
        shares = np.array(list(self.shares.values()))[:, None]
        every = list(found.values())
        return Diagnosis(
            np.asarray((shares * [own.mean for own in every]).sum(axis=0)),
            np.sqrt((shares**2 * np.square([own.error for own in every])).sum(axis=0)),
            np.sum([own.effective for own in every], axis=0),
            np.max([own.r_hat for own in every], axis=0),
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
        distance = np.array([((means - own) ** 2).sum(axis=1) for own in centres.values()])
        group_of = np.array(list(centres))[distance.argmin(axis=0)]
    numbers, counts = np.unique(group_of, return_counts=True)
    if len(numbers) < 2 or counts.min() < FEWEST_CHAINS:
        return together
    total = sum(known[number] for number in numbers.tolist())
    found = Grouping(group_of, {n: known[n] / total for n in numbers.tolist()})
    return found if found.diagnosed(draws).r_hat.max() <= MOST_R_HAT else together
