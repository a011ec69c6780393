"""Worlds that satisfy all hard factors, for chains to start from."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from liftgbp.methods.exact.junction_tree import JunctionTree
from liftgbp.methods.sampling.chains import Sweeper, Worlds
from liftgbp.methods.sampling.terms import Heat, WorldWeights
from liftgbp.support.errors import CapacityError, counted
from liftgbp.support.progress import Progress

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
