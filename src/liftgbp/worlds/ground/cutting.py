"""The best world by cutting planes: a cube enters the program once a solution violates it.

What is left out costs nothing in the program, so the program's least cost is a bound, and where a
solution violates nothing that was left out it is the best world. Most clauses of large rules never
enter. Reference: S. Riedel, *Improving the accuracy and efficiency of MAP inference for Markov
logic*, UAI 2008.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from liftgbp.worlds.ground.program import CubeProgram
from liftgbp.worlds.ground.whole import WholeNetwork
from liftgbp.support.arrays import Ints

SAFETY = 1e-2
"""The solver's bound may be wrong by this much, in units; scores are whole numbers of units."""

MOST_TIED = 10_000
"""With more variables, costs that decide ties would be smaller than the solver's tolerances."""


@dataclass(frozen=True, eq=False, slots=True)
class Bounded:
    """A world, if one was found, and a bound of the scores of all worlds, in units.

    The bound is `-inf` if no world breaks no hard rule. `fewest` says that no world of the same
    score has fewer true atoms.
    """

    values: Ints | None
    upper: float
    fewest: bool = False


def best_by_cutting(
    network: WholeNetwork,
    left: Callable[[], float],
    start: Ints | None,
    report: Callable[[float, float], None] = lambda score, upper: None,
) -> Bounded:
    """The best world within the time left; `start` is one that is known."""
    ties = network.size <= MOST_TIED
    program = CubeProgram(network, prefer_false=ties)
    best, score = start, -math.inf if start is None else network.score(start)
    upper, whole = float(network.ceiling), False
    while left() > 0:
        solved = program.solve(left(), whole=whole)
        if solved.lower < math.inf:
            upper = min(upper, network.ceiling - math.ceil(solved.lower - SAFETY))
        else:
            return Bounded(None, -math.inf)
        if solved.x is None:
            break
        values = program.values(solved.x)
        found = network.score(values)
        if best is None or found > score:
            best, score = values, found
        report(score, upper)
        integral = bool(
            (
                np.abs(solved.x[: program.columns] - np.rint(solved.x[: program.columns])) < 1e-6
            ).all()
        )
        if program.activate(solved.x):
            continue
        if integral and solved.done:
            return Bounded(values if found >= score else best, upper, fewest=ties)
        if whole:
            break
        whole = True
    return Bounded(best if score > -math.inf else None, upper)
