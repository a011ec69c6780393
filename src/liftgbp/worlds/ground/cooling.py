"""Good worlds by cooling: a sample whose temperature falls until nothing moves.

Reference: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, *Optimization by simulated annealing*,
Science 220, 1983.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from liftgbp.methods.sampling.chains import Sweeper, Worlds
from liftgbp.methods.sampling.terms import WORD, Heat, WorldWeights
from liftgbp.support.arrays import Floats, Ints
from liftgbp.worlds.ground.whole import WholeNetwork

HOT, COLD = 0.1, 30.0
"""Where cooling starts and ends: what factors differ by at that temperature, as a log weight."""

HARD_AT_FIRST, HARD_IN_THE_END = 2.0, 100.0
"""What breaking a hard rule costs, as a multiple of what factors differ by: worlds that break some
are a way to others."""

LOOKS = 8
"""How often the worlds are looked at in the last half of the sweeps."""


def cooled(
    network: WholeNetwork, sweeps: int, seed: int, left: Callable[[], float]
) -> Iterator[Ints]:
    """The best worlds that 64 chains met while they cooled down; they may break hard rules."""
    random = np.random.default_rng(seed)
    sweeper = Sweeper(network.as_ground)
    weights = WorldWeights(sweeper.index)
    start = random.integers(0, network.ranges[:, None], (network.size, WORD)).astype(np.uint8)
    worlds = Worlds(network.ranges, start)
    typical = _typical(network)
    every = max(1, sweeps // (2 * LOOKS))
    for sweep in range(1, sweeps + 1):
        over = left() <= 0
        done = 1.0 if over else sweep / sweeps
        soft = HOT * (COLD / HOT) ** done
        hard = soft * HARD_AT_FIRST * (HARD_IN_THE_END / HARD_AT_FIRST) ** done
        sweeper.sweep(worlds, random, Heat(soft / typical, hard))
        if over or (2 * sweep > sweeps and (sweeps - sweep) % every == 0):
            chain = int(_scores(weights, worlds).argmax())
            yield worlds.values[:, chain].astype(np.int64)
        if over:
            return


def _typical(network: WholeNetwork) -> float:
    """What a factor typically differs by, in units."""
    every = np.concatenate([network.spreads[block.table_of] for block in network.blocks])
    every = every[every > 0]
    return float(np.median(every)) if len(every) else 1.0


def _scores(weights: WorldWeights, worlds: Worlds) -> Floats:
    broken = weights.violations(worlds.planes) > 0
    return np.where(broken, -np.inf, weights.soft(worlds.planes))
