"""Chains that are heated: log Z by annealing, and possible worlds for chains to start from.

Each chain starts at a world of independent atoms, whose weights are known, and goes through
distributions between these and the model. The ratios of weights on the way estimate Z without bias
(R. M. Neal, *Annealed importance sampling*, Statistics and Computing 11, 2001). Hard factors cost
more and more on the way, and in the end everything: chains that violate one then have no weight.

The independent atoms have the marginals of answers, where there are any: mean field over blocks,
with the labels of objects left out. Mean field over labelled blocks is closer to the model, but
each chain then stands for all ways to put objects into blocks, and stays in one of them: for the
transitive relation over 20 objects that is 2 too low after 400 steps, with an error of 0.4.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.methods.exact.junction_tree import JunctionTree
from liftgbp.methods.sampling.chain_starts import drawn_values
from liftgbp.methods.sampling.chains import Sweeper, UnitClass, Worlds
from liftgbp.methods.sampling.terms import Heat, WorldWeights
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, counted
from liftgbp.support.progress import Progress

PENALTY = 12.0
"""What a violated hard factor costs just before it costs everything."""

FEWEST_CHAINS = 8.0
"""Where fewer chains carry the weight, the error of the mean says too little."""

ROUNDING = 1e-9
"""The relative error of log weights."""

RAREST = 1e-3
"""No value of an atom has a smaller chance at the start."""


@dataclass(frozen=True, slots=True)
class LogZ:
    """An estimate of log Z by annealed importance sampling, with its standard error."""

    value: float
    error: float
    effective: float
    """How many chains carry the weight."""


FAR = 5.0
"""Log weights of sampled and of annealed worlds differ by at most this many standard errors."""


@dataclass(frozen=True, eq=False, slots=True)
class Annealing:
    """Where heated chains end.

    ratios  the logs of what their means estimate, one for each chain
    worlds  the log weights of the worlds that they end in
    """

    ratios: Floats
    worlds: Floats

    @property
    def log_z(self) -> LogZ:
        """The log of the mean weight; its error, unless few chains have it all."""
        return _estimate(self.ratios)

    def doubt(self, sampled: Floats) -> str:
        """Why log Z cannot be right, by the log weights of sampled worlds; empty if it may be.

        Z is a sum over all worlds, so one of them proves a bound. And chains that end where the
        model has its weight end in worlds like the sampled ones.

        >>> annealing = Annealing(np.array([10.0, 10.1]), np.array([9.0, 9.2]))
        >>> annealing.doubt(np.array([9.1, 30.0]))
        'annealing ends at log Z = 10.1, but one sampled world alone weighs 30.0'
        """
        told = self.log_z
        best = float(sampled.max())
        if told.value + FAR * told.error < best:
            return (
                f"annealing ends at log Z = {told.value:.1f}, but one sampled world alone weighs "
                f"{best:.1f}"
            )
        if not math.isfinite(told.value):
            return ""
        shares = np.exp(self.ratios - self.ratios.max())
        shares /= shares.sum()
        ended = np.where(shares > 0, self.worlds, 0.0)
        mean, other = float(shares @ ended), float(sampled.mean())
        spread = math.sqrt(max(float(shares @ (ended - mean) ** 2), float(sampled.var())))
        error = spread * math.sqrt(1 / told.effective + 1 / len(sampled))
        if abs(mean - other) <= FAR * error + ROUNDING * max(1.0, abs(best)):
            return ""
        return (
            f"annealing ends in worlds of log weight {mean:.1f}, but sampled ones weigh {other:.1f}"
        )


def anneal(
    sweeper: Sweeper,
    weights: WorldWeights,
    chances: Floats,
    steps: int,
    chains: int,
    random: np.random.Generator,
    progress: Progress,
) -> Annealing:
    """log Z of a network from independent variables.

    `chances` are those of values of variables, (variables, values).
    """
    ranges = sweeper.index.network.ranges
    # None of them is zero; logs have an axis for chains.
    places = np.arange(chances.shape[1]) < ranges[:, None]
    mixed = np.where(places, np.maximum(chances, RAREST), 0.0)[:, :, None]
    with np.errstate(divide="ignore"):
        logs = np.log(mixed / mixed.sum(axis=1, keepdims=True))
    worlds = Worlds(ranges, drawn_values(np.exp(logs), chains, random))
    base = _Base(logs)
    total = np.zeros(chains)
    before = 0.0
    for step in range(1, steps + 1):
        progress("annealing", step, steps)
        now = (step / steps) ** 2 if step < steps else 1.0
        # What the current worlds weigh more in the next distribution than in this one.
        soft, hard = weights.soft(worlds.planes), weights.violations(worlds.planes)
        # Their log chances at the start.
        every = np.broadcast_to(logs, (*logs.shape[:2], chains))
        at = worlds.values[:, None].astype(np.int64)
        start = np.take_along_axis(every, at, axis=1).sum(axis=(0, 1))
        if step < steps:
            total += (now - before) * (soft - PENALTY * hard - start)
            heat = Heat(now, now * PENALTY)
            base.share = 1 - now
            sweeper.sweep(worlds, random, heat, base)
        else:
            total += (now - before) * (soft - start) + before * PENALTY * hard
            total = np.where(hard > 0, -np.inf, total)
        before = now
    constant = log_constant(sweeper.index.network)
    ended = np.where(hard > 0, -np.inf, soft)
    return Annealing(total + constant, ended + constant)


def log_constant(network: GroundNetwork) -> float:
    """What is the same in all worlds; atoms in no factor have as many worlds as values."""
    free = sum(count * math.log(values) for values, count in network.free.items())
    return network.log_constant + free


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


def _estimate(total: Floats) -> LogZ:
    """The log of the mean weight; its error by that of the mean, unless few chains have it all."""
    top = total.max()
    if not math.isfinite(top):
        return LogZ(-math.inf, math.inf, 0.0)
    weights = np.exp(total - top)
    mean = weights.mean()
    error = weights.std(ddof=1) / math.sqrt(len(weights)) / mean
    effective = weights.sum() ** 2 / (weights**2).sum()
    if effective < FEWEST_CHAINS:
        # What the best chains say is then no more than the top of a wide distribution.
        error = max(error, float(total[np.isfinite(total)].std()))
    return LogZ(float(top + math.log(mean)), float(error), float(effective))


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
