"""Whether chains have mixed, how far their means are off, and which of them stay apart.

The definitions are those of A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner,
*Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of
MCMC*, Bayesian Analysis 16, 2021. All functions take draws as (draws, chains, quantities).

Where chains stay apart, each group tells of one part of the worlds, and log Z of its weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from liftgbp.support.arrays import Floats, Ints

FEWEST_DRAWS = 4
"""With fewer draws of a chain nothing can be said."""


@dataclass(frozen=True, eq=False, slots=True)
class Diagnosis:
    """Means of quantities, with standard errors, effective sample sizes and R-hat."""

    mean: Floats
    error: Floats
    effective: Floats
    r_hat: Floats


def diagnose(draws: Floats) -> Diagnosis:
    """What the draws of all chains say about each quantity.

    >>> draws = np.random.default_rng(0).normal(size=(500, 4, 1))
    >>> found = diagnose(draws)
    >>> bool(found.r_hat[0] < 1.01), bool(1000 < found.effective[0] < 4000)
    (True, True)
    """
    halves = split(draws)
    spread = draws.std(axis=(0, 1), ddof=1) if draws.size > draws.shape[2] else np.inf
    return Diagnosis(
        draws.mean(axis=(0, 1)),
        np.asarray(spread / np.sqrt(effective_size(halves))),
        effective_size(rank_normalised(halves)),
        r_hat(draws),
    )


def split(draws: Floats) -> Floats:
    """Each chain as two: its first and its second half."""
    half = len(draws) // 2
    return np.concatenate([draws[:half], draws[len(draws) - half :]], axis=1)


def rank_normalised(draws: Floats) -> Floats:
    """The normal scores of the ranks of all draws of a quantity; equal draws share a mean rank."""
    count = draws.shape[0] * draws.shape[1]
    result = np.empty_like(draws)
    for k in range(draws.shape[2]):
        _, place, times = np.unique(draws[:, :, k], return_inverse=True, return_counts=True)
        rank = np.cumsum(times) - (times - 1) / 2
        scores = ndtri((rank - 0.375) / (count + 0.25))
        result[:, :, k] = scores[place.reshape(draws.shape[:2])]
    return result


def r_hat(draws: Floats) -> Floats:
    """The larger R-hat of two: of draws, and of their distances from the median."""
    halves = split(draws)
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    both = [_plain_r_hat(rank_normalised(one)) for one in (halves, folded)]
    return np.maximum(*both)


def _plain_r_hat(chains: Floats) -> Floats:
    """The square root of total variance over variance within chains; 1 if nothing varies."""
    length = len(chains)
    if length < FEWEST_DRAWS // 2:
        return np.full(chains.shape[2], np.inf)
    within, total = _variances(chains)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(total / within)
    tiny = 1e-14 * np.maximum(1.0, np.abs(chains).max(axis=(0, 1), initial=0.0)) ** 2
    return np.where(total <= tiny, 1.0, np.where(within <= tiny, np.inf, ratio))


def _variances(chains: Floats) -> tuple[Floats, Floats]:
    length = len(chains)
    within = chains.var(axis=0, ddof=1).mean(axis=0)
    between = chains.mean(axis=0).var(axis=0, ddof=1) if chains.shape[1] > 1 else 0.0
    return within, within * (length - 1) / length + between


def effective_size(chains: Floats) -> Floats:
    """How many independent draws would tell as much about the mean.

    Autocorrelations are summed in pairs up to the first negative pair (Geyer's initial monotone
    sequence).
    """
    length, number, quantities = chains.shape
    count = length * number
    if length < FEWEST_DRAWS // 2:
        return np.ones(quantities)
    _, total = _variances(chains)
    centred = chains - chains.mean(axis=0)
    padded = 1 << (2 * length - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, n=padded, axis=0)) ** 2
    covariance = np.fft.irfft(power.mean(axis=1), n=padded, axis=0)[:length] / length
    within = covariance[0] * length / (length - 1)
    result = np.full(quantities, float(count))
    for k in np.flatnonzero(total > 0).tolist():
        # The correlation at each lag, chains apart counting as correlated.
        lags = 1 - (within[k] - covariance[:, k]) / total[k]
        lags[0] = 1.0
        last = max(0, (length - 3) // 2)
        pairs = lags[: 2 * last + 2].reshape(-1, 2).sum(axis=1)
        negative = np.flatnonzero(pairs < 0)
        last = int(negative[0]) if len(negative) else last
        # Of the pair that ends the sum, a positive first half counts once.
        time = 2 * np.minimum.accumulate(pairs[:last]).sum() - 1 + max(lags[2 * last], 0.0)
        result[k] = count / max(time, 1 / np.log10(max(count, 10)))
    return result


# --- chains that stay apart


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

    @property
    def weights(self) -> Floats:
        """The weight of each chain: equal ones, or the share of its group divided among these."""
        if not self.apart:
            return np.full(len(self.group_of), 1 / len(self.group_of))
        weights = np.zeros(len(self.group_of))
        for number, share in self.shares.items():
            members = self.group_of == number
            weights[members] = share / members.sum()
        return weights

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
