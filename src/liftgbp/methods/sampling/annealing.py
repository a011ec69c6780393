"""Chains that are heated: log Z by annealing, and possible worlds for chains to start from.

Chains start at worlds of independent atoms, whose weights are known, and go through distributions
between these and the model. The ratios of weights on the way estimate Z without bias (R. M. Neal,
*Annealed importance sampling*, Statistics and Computing 11, 2001); but if few chains come to where
the model has its weight, the mean of most runs is too low. Chains that go the other way, from
sampled worlds, estimate 1/Z, and what they say about Z is too high. Hard factors cost more and more
on the way, and in the end everything: chains that violate one then have no weight.

The independent atoms have the marginals of answers, where there are any: mean field over blocks,
with the labels of objects left out. Mean field over labelled blocks is closer to the model, but
each chain then stands for all ways to put objects into blocks, and stays in one of them: for the
transitive relation over 20 objects that is 2 too low after 400 steps, with an error of 0.4.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from liftgbp.methods.exact.junction_tree import JunctionTree
from liftgbp.methods.sampling.chain_starts import drawn_values
from liftgbp.methods.sampling.chains import Sweeper, UnitClass, Worlds
from liftgbp.methods.sampling.terms import Heat, WorldWeights
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, counted
from liftgbp.support.progress import Progress

PENALTY = 12.0
"""What a violated hard factor costs just before it costs everything."""

RAREST = 1e-3
"""No value of an atom has a smaller chance at the start."""

FAR = 5.0
"""Bounds that contradict each other by so many standard errors are not due to chance."""


@dataclass(frozen=True, slots=True)
class LogZ:
    """An estimate of log Z by annealed importance sampling, with its standard error."""

    value: float
    error: float
    effective: float
    """How many chains carry the weight."""


def bracketed(cooled: Floats, heated: Floats, best: float, share: float = 0.0) -> LogZ | None:
    """log Z between two estimates, by the log ratios of chains; `None` if it cannot be there.

    That of cooled chains is seldom too high, that of heated ones seldom too low; half the gap
    between them is part of the error. Z is a sum over all worlds, so that it is no less than what
    the `best` world weighs, and if a large `share` of the chains is in that world, it is not much
    more. If an upper estimate is below a lower one, chains are not where the model has its weight.

    >>> told = bracketed(np.array([4.9, 5.0]), np.array([5.0, 5.1]), best=1.0)
    >>> round(told.value, 2), told.error < 0.1
    (5.0, True)
    >>> bracketed(np.array([4.9, 5.0]), np.array([5.0, 5.1]), best=30.0) is None
    True
    """
    low, high = _log_mean(cooled), _log_mean(-heated)
    floor, ceiling = (low.value, low.error), (-high.value, high.error)
    if best > low.value:
        floor = best, 0.0
    if share >= LEAST_SHARE:
        spread = max(math.sqrt((1 - share) / (share * len(heated))), 1 / len(heated))
        ceiling = min(ceiling, (best - math.log(share), spread))
    chance, gap = math.hypot(floor[1], ceiling[1]), ceiling[0] - floor[0]
    if not gap >= -FAR * chance - ROUNDING * abs(best):
        return None
    error = math.hypot(chance, gap) / 2
    return LogZ((floor[0] + ceiling[0]) / 2, error, min(low.effective, high.effective))


LEAST_SHARE = 0.1
"""Where fewer chains than this are in the best world, their number says little about its weight."""

ROUNDING = 1e-9
"""The relative error of log weights."""


def _log_mean(logs: Floats) -> LogZ:
    """The log of a mean, its standard error, and how many chains carry it."""
    top = logs.max()
    if not math.isfinite(top):
        return LogZ(-math.inf, 1.0, 0.0)
    weights = np.exp(logs - top)
    mean = weights.mean()
    error = weights.std(ddof=1) / math.sqrt(len(weights)) / mean
    effective = weights.sum() ** 2 / (weights**2).sum()
    return LogZ(float(top + math.log(mean)), float(error), float(effective))


class Annealing:
    """Goes between independent variables and a network, with chains that cool down or heat up.

    `chances` are those of values of variables where chains are hottest, (variables, values).
    """

    def __init__(
        self,
        sweeper: Sweeper,
        weights: WorldWeights,
        chances: Floats,
        steps: int,
        random: np.random.Generator,
        progress: Progress,
    ) -> None:
        self._sweeper, self._weights = sweeper, weights
        self._random, self._progress = random, progress
        network = sweeper.index.network
        # None of them is zero; logs have an axis for chains.
        places = np.arange(chances.shape[1]) < network.ranges[:, None]
        mixed = np.where(places, np.maximum(chances, RAREST), 0.0)[:, :, None]
        with np.errstate(divide="ignore"):
            self._logs = np.log(mixed / mixed.sum(axis=1, keepdims=True))
        self._base = _Base(self._logs)
        self._levels = np.square(np.arange(steps + 1) / steps)
        # Atoms in no factor have as many worlds as they have values.
        free = sum(count * math.log(values) for values, count in network.free.items())
        self._constant = network.log_constant + free

    def log_z(self, sampled: Worlds, met: float = -math.inf) -> LogZ | None:
        """log Z from chains that cool down, and from sampled worlds that heat up (bidirectional
        Monte Carlo: R. B. Grosse, Z. Ghahramani and R. P. Adams, *Sandwiching the marginal
        likelihood using bidirectional Monte Carlo*, 2015); `None` if these contradict each other.

        `met` is the largest log weight that chains have met before.
        """
        weights = self._weights.full(sampled.planes)
        top = sampled.values[:, [int(weights.argmax())]]
        share = float((sampled.values == top).all(axis=0).mean())
        values = drawn_values(np.exp(self._logs), sampled.chains, self._random)
        cooled = self._ratios(sampled.with_values(values), self._levels)
        heated = self._ratios(sampled.copy(), self._levels[::-1])
        best = max(met, float(weights.max()))
        # If a better world was met before, these say nothing about its share.
        share = share if best == weights.max() else 0.0
        best += self._constant
        return bracketed(cooled + self._constant, self._constant - heated, best, share)

    def _ratios(self, worlds: Worlds, levels: Floats) -> Floats:
        """The sum of what worlds weigh more from each level to the next, while they go there."""
        total = np.zeros(worlds.chains)
        for step, (before, now) in enumerate(pairwise(levels.tolist()), start=1):
            self._progress("annealing", step, len(levels) - 1)
            total += self._log_weights(worlds, now) - self._log_weights(worlds, before)
            if 0 < now < 1:
                self._base.share = 1 - now
                heat = Heat(now, now * PENALTY)
                self._sweeper.sweep(worlds, self._random, heat, self._base)
        return total

    def _log_weights(self, worlds: Worlds, level: float) -> Floats:
        """Those of a mixture of independent variables, at level 0, and the network, at 1."""
        soft, hard = self._weights.soft(worlds.planes), self._weights.violations(worlds.planes)
        every = np.broadcast_to(self._logs, (*self._logs.shape[:2], worlds.chains))
        at = worlds.values[:, None].astype(np.int64)
        start = np.take_along_axis(every, at, axis=1).sum(axis=(0, 1))
        if level == 1:
            return np.where(hard > 0, -np.inf, soft)
        return np.asarray(level * (soft - PENALTY * hard) + (1 - level) * start)


class _Base:
    """A share of the log chances at the start, for each class of units."""

    def __init__(self, logs: Floats) -> None:
        self._logs = logs
        self._known: dict[UnitClass, Floats] = {}
        self.share = 1.0

    def __call__(self, drawn: UnitClass) -> Floats:
        """The log chances of joint values relative to value 0, (U, V - 1, C or 1)."""
        if drawn not in self._known:
            every = np.sum(
                [
                    self._logs[column][:, digits]
                    for column, digits in zip(drawn.units.T, drawn.terms.digits, strict=True)
                ],
                axis=0,
            )
            self._known[drawn] = every[:, 1:] - every[:, :1]
        return self.share * self._known[drawn]


# --- worlds that satisfy all hard factors


MOST_SWEEPS = 400
"""At most this many sweeps look for possible worlds."""

PROVABLE = 2**20
"""How many states it may take to prove that there is no possible world: some seconds at most."""

PENALTIES = (1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0)
"""What a violated hard factor costs in one sweep after the other, again and again: low penalties
leave what high ones cannot mend."""


def possible_worlds(
    sweeper: Sweeper,
    weights: WorldWeights,
    worlds: Worlds,
    random: np.random.Generator,
    progress: Progress,
    provable: int = PROVABLE,
) -> tuple[Worlds, int]:
    """Possible worlds near these, and how many chains had to take one from another chain.

    While they look for one, chains may violate hard factors at a price. Each stops at the first
    possible world that it meets.
    """
    possible = weights.violations(worlds.planes) == 0
    first = worlds.copy()
    rounds = 0
    while not possible.all() and rounds < MOST_SWEEPS:
        progress("looking for possible worlds", rounds, MOST_SWEEPS)
        sweeper.sweep(worlds, random, Heat(1.0, PENALTIES[rounds % len(PENALTIES)]))
        rounds += 1
        new = (weights.violations(worlds.planes) == 0) & ~possible
        first.take(np.flatnonzero(new), worlds)
        possible |= new
    if not possible.any():
        with suppress(CapacityError):
            # Raises a `ContradictionError` if there is none.
            JunctionTree(sweeper.index.network, provable)
        chains = counted(worlds.chains, "chain")
        raise CapacityError(
            f"no world that satisfies all hard formulas was found in {MOST_SWEEPS} sweeps of "
            f"{chains}; there may be none, or too few to be found by sampling"
        )
    lost = np.flatnonzero(~possible)
    if len(lost):
        values = first.values.copy()
        values[:, lost] = values[:, random.choice(np.flatnonzero(possible), len(lost))]
        first = worlds.with_values(values)
    return first, len(lost)
