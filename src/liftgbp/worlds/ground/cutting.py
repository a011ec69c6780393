"""The best world by cutting planes: a cube enters the program once a solution violates it.

What is left out costs nothing in the program, so the program's least cost is a bound, and where a
solution violates nothing that was left out it is the best world. Most clauses of large rules never
enter. Reference: S. Riedel, *Improving the accuracy and efficiency of MAP inference for Markov
logic*, UAI 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from liftgbp.support.arrays import Ints
from liftgbp.worlds.ground.program import CubeProgram, Left

Hear = Callable[[Ints | None, float], None]
"""Hears of worlds, which may break hard rules, and of bounds of all scores, in units."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the search ended: whether it is done, and whether its last world has the fewest atoms."""

    done: bool
    fewest: bool = False


def by_cutting(program: CubeProgram, left: Left, hear: Hear, nodes: int | None = None) -> Ended:
    """Cut until nothing is violated; without `nodes`, columns need not be whole.

    Of what a program was made for once, the next search with it goes on.
    """
    while left() > 0:
        solved = program.solve(left, nodes=nodes)
        hear(None if solved.x is None else program.values(solved.x), program.most(solved))
        if solved.x is None:
            return Ended(solved.done)
        if program.activate(solved.x):
            continue
        if solved.done and program.is_whole(solved.x):
            return Ended(done=True, fewest=program.decides_ties)
        break
    return Ended(done=False)
