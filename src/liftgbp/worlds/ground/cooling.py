"""Good worlds by cooling: a sample whose temperature falls until nothing moves.

Reference: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, *Optimization by simulated annealing*, Science
220, 1983.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from liftgbp.ground.grounding import GroundNetwork
from liftgbp.methods.sampling.chains import Sweeper, Worlds
from liftgbp.methods.sampling.terms import WORD, Heat, WorldWeights
from liftgbp.worlds.ground.whole import WholeNetwork
from liftgbp.support.arrays import Floats, Ints

HOT, COLD = 0.1, 30.0
"""Where cooling starts and ends: what factors differ by at that temperature, as a log weight."""

LOOKS = 8
"""How often the worlds are looked at in the last half of the sweeps."""


def cooled(
    network: WholeNetwork, sweeps: int, seed: int, left: Callable[[], float] = lambda: math.inf
) -> Ints | None:
    """The best world that 64 chains met while they cooled down, or `None` if all break hard rules."""
    random = np.random.default_rng(seed)
    ground = GroundNetwork(network.ranges, network.blocks, network.tables)
    sweeper = Sweeper(ground)
    weights = WorldWeights(sweeper.index)
    start = random.integers(0, network.ranges[:, None], (network.size, WORD)).astype(np.uint8)
    worlds = Worlds(network.ranges, start)
    best: Ints | None = None
    score = -math.inf
    typical = _typical(network)
    for sweep in range(1, sweeps + 1):
        over = left() <= 0
        done = 1.0 if over else sweep / sweeps
        soft = HOT * (COLD / HOT) ** done
        # In the first half, hard rules may be broken at a price.
        sweeper.sweep(worlds, random, Heat(soft / typical, 2 * soft * (1 + 50 * done**4)))
        if over or sweep == sweeps or (2 * sweep > sweeps and sweep % max(1, sweeps // LOOKS) == 0):
            found = _scores(weights, worlds)
            if found.max() > score:
                chain = int(found.argmax())
                best, score = worlds.values[:, chain].astype(np.int64), float(found[chain])
        if over:
            break
    return best


def _typical(network: WholeNetwork) -> float:
    """What a factor typically differs by, in units."""
    every = np.concatenate([network.spreads[block.table_of] for block in network.blocks])
    every = every[every > 0]
    return float(np.median(every)) if len(every) else 1.0


def _scores(weights: WorldWeights, worlds: Worlds) -> Floats:
    broken = weights.violations(worlds.planes) > 0
    return np.where(broken, -np.inf, weights.soft(worlds.planes))
