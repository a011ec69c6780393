"""How the best world of one part of a network is found: one list of methods, the exact ones first.

Each method adds worlds and bounds to what is `Known` of the part, until the best world is proven,
or close enough to the bound. A new method is a frozen value with `could_improve` and `improve`, and
stands in the list of `methods_for`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from liftgbp.support.arrays import Bools, Ints
from liftgbp.support.errors import CapacityError
from liftgbp.worlds.ground.cooling import cooled
from liftgbp.worlds.ground.cutting import by_cutting
from liftgbp.worlds.ground.elimination import Elimination
from liftgbp.worlds.ground.flow import best_by_flow
from liftgbp.worlds.ground.neighbourhoods import improved
from liftgbp.worlds.ground.program import CubeProgram
from liftgbp.worlds.ground.relaxation import upper_bound
from liftgbp.worlds.ground.settling import fewest_neighbours
from liftgbp.worlds.ground.whole import WholeNetwork


@dataclass(frozen=True, slots=True)
class Steps:
    """What an effort allows. All but one are counted, so that runs can be repeated.

    states     entries of all tables of an elimination
    sweeps     of the sampler while it cools
    rounds     how often each variable is in a neighbourhood without any gain
    variables  of a linear program
    entries    beliefs of regions in a linear program
    nodes      of a tree of programs in whole numbers; large ones get fewer
    seconds    of branching: a node may take minutes (sixty records of which an eighth of the pairs
               mislead), and the solver counts no other steps
    """

    states: int
    sweeps: int
    rounds: int
    variables: int
    entries: int
    nodes: int
    seconds: float


STEPS = {
    "brief": Steps(2**14, 30, 1, 0, 0, 0, 0.0),
    "quick": Steps(2**18, 60, 5, 10_000, 20_000, 100, 2.0),
    "normal": Steps(2**22, 300, 20, 50_000, 200_000, 2_000, 20.0),
    "thorough": Steps(2**25, 1_500, 100, 500_000, 2_000_000, 200_000, 200.0),
}
"""By effort; `brief` is for worlds that only judge other answers, and proves little."""

FEW_ACTIVE = 0.1
"""A program is sparse if cutting planes left most of its cubes out: this share is in it at most."""

SPARSE_NODES = 10
"""Nodes of sparse programs take a tenth of the time."""

LARGE = 5_000
"""From so many variables on, the time that a node takes grows like their square."""

EARLIER_SHARE = 0.5
"""What a method may take of the time that is left, if others are to follow."""


def methods_for(steps: Steps) -> Iterator[Method]:
    """The methods of an effort in their order."""
    yield MaximumFlow()
    yield Eliminating(steps.states)
    yield CuttingPlanes(steps.variables)
    yield WholeNumbers(steps.variables, SPARSE_NODES * steps.nodes, steps.seconds, sparse=True)
    yield Cooling(steps.sweeps)
    yield Neighbourhoods(steps.rounds)
    yield Regions("loops:4", steps.entries)
    yield WholeNumbers(steps.variables, steps.nodes, steps.seconds, sparse=False)


def search(known: Known, steps: Steps) -> None:
    """Find the best world of a part, or a good one with a bound."""
    if known.is_over:
        known.how.append("no rule is broken")
    for method in methods_for(steps):
        if known.left() > 0 and method.could_improve(known) and method.improve(known):
            known.how.append(method.name)
    if known.values is not None and known.score >= known.upper:
        known.fewest |= known.part.true_atoms(known.values) == known.part.fewest_true


class Method(Protocol):
    """A way to worlds or bounds."""

    @property
    def name(self) -> str:
        """What it is called."""

    def could_improve(self, known: Known) -> bool:
        """Whether it applies."""

    def improve(self, known: Known) -> bool:
        """Tell what it finds; whether that was anything new."""


@dataclass(eq=False)
class Known:
    """What is known of the best world of a part.

    values     the best world so far, and its score in units
    upper      no score is larger
    fewest     whether no world of this score has fewer true atoms
    undecided  which variables differ between best worlds, where known
    gap        bounds need not be closer than this
    """

    part: WholeNetwork
    left: Callable[[], float] = lambda: math.inf
    told: Callable[[], None] = lambda: None
    gap: float = 0.0
    seed: int = 0
    values: Ints | None = None
    score: float = -math.inf
    upper: float = math.inf
    fewest: bool = False
    undecided: Bools | None = None
    how: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.upper = float(self.part.ceiling)
        self.hear(np.zeros(self.part.size, np.int64))

    def hear(self, values: Ints | None, upper: float = math.inf) -> bool:
        """Take a world if it is better, and a bound if it is closer; whether any of them is."""
        before = self.score, self.upper
        self.upper = min(self.upper, upper)
        score = -math.inf if values is None else self.part.score(values)
        if values is not None and score > -math.inf:
            fewer = self.values is None or self._true(values) < self._true(self.values)
            if score > self.score or (score == self.score and fewer):
                self.values, self.score = values, score
        self.told()
        return before != (self.score, self.upper)

    def _true(self, values: Ints) -> int:
        return self.part.true_atoms(values)

    @property
    def impossible(self) -> bool:
        """Whether every world breaks a hard rule."""
        return self.upper == -math.inf

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to find, or no time to find it."""
        return self.impossible or self.score >= self.upper - self.gap or self.left() <= 0

    def earlier(self) -> Callable[[], float]:
        """The seconds that are left for a method that is not the last one."""
        end = self.left() * (1 - EARLIER_SHARE)
        return self.left if math.isinf(end) else lambda: self.left() - end

    @cached_property
    def program(self) -> CubeProgram:
        """The part as a linear program, with what entered it so far."""
        return CubeProgram(self.part, prefer_false=True)


# --- methods


@dataclass(frozen=True, slots=True)
class MaximumFlow:
    """The best world of a network that is attractive after turns."""

    name = "maximum flow"

    def could_improve(self, known: Known) -> bool:
        """Where it does not apply, it says so soon. It tells what is undecided, too."""
        return known.undecided is None and not known.impossible

    def improve(self, known: Known) -> bool:
        """The best world with the fewest true atoms, and what is undecided."""
        cut = best_by_flow(known.part)
        if cut is None:
            return False
        known.hear(cut.values, known.part.score(cut.values))
        if not known.impossible:
            known.values, known.undecided, known.fewest = cut.values, cut.undecided, True
        return True


@dataclass(frozen=True, slots=True)
class Eliminating:
    """The best world of a narrow network, variable by variable."""

    states: int
    name = "elimination"

    def could_improve(self, known: Known) -> bool:
        """The variable that leaves first meets all its neighbours. It tells what is undecided."""
        if known.undecided is not None or known.impossible or known.part.factors > self.states:
            return False
        return 2.0 ** fewest_neighbours(known.part) < self.states

    def improve(self, known: Known) -> bool:
        """The best world, the fewest true atoms if numbers allow, and what is undecided."""
        part, finer = known.part, known.part.with_fewest_true
        try:
            best = Elimination(part if finer is None else finer, self.states)
        except CapacityError:
            return False
        values = best.values
        known.hear(values, part.score(values))
        if known.impossible:
            return True
        scale = 1 if finer is None else part.most_true + 1
        bests = np.ceil(best.bests() / scale)
        known.values, known.fewest = values, finer is not None
        known.undecided = (bests == known.score).sum(axis=1) > 1
        return True


@dataclass(frozen=True, slots=True)
class CuttingPlanes:
    """The linear program of cubes; for rules that are clauses, its solution is often a world."""

    variables: int
    name = "cutting planes"

    def could_improve(self, known: Known) -> bool:
        """If the program is not too large."""
        return not known.is_over and known.part.size <= self.variables

    def improve(self, known: Known) -> bool:
        """A bound, and perhaps the best world."""
        return _cut(known, known.earlier(), None)


@dataclass(frozen=True, slots=True)
class Cooling:
    """Worlds by sampling at falling temperature."""

    sweeps: int
    name = "cooling"

    def could_improve(self, known: Known) -> bool:
        """Always."""
        return not known.is_over

    def improve(self, known: Known) -> bool:
        """Worlds."""
        found = [
            known.hear(values)
            for values in cooled(known.part, self.sweeps, known.seed, known.earlier())
        ]
        return any(found)


@dataclass(frozen=True, slots=True)
class Neighbourhoods:
    """Worlds by solving for some variables while all others stay."""

    rounds: int
    name = "large neighbourhoods"

    def could_improve(self, known: Known) -> bool:
        """Once there is a world."""
        return not known.is_over and known.values is not None

    def improve(self, known: Known) -> bool:
        """Better worlds, or worlds with fewer true atoms."""
        if known.values is None:
            return False
        part = known.part.with_fewest_true or known.part
        found = False
        for values in improved(part, known.values, self.rounds, known.seed, known.earlier()):
            found |= known.hear(values)
            if known.is_over:
                break
        return found


@dataclass(frozen=True, slots=True)
class Regions:
    """A bound over regions."""

    family: str
    entries: int
    name = "regions"

    def could_improve(self, known: Known) -> bool:
        """Where variables have so many neighbours that loops are without number, it does not."""
        if known.is_over:
            return False
        part = known.part
        degree = np.zeros(part.size)
        for block in part.blocks:
            width = block.scopes.shape[1]
            degree += (width - 1) * np.bincount(block.scopes.ravel(), minlength=part.size)
        return float((degree**2).sum()) <= self.entries

    def improve(self, known: Known) -> bool:
        """A bound, if there are not too many loops."""
        try:
            upper = upper_bound(known.part, self.family, known.earlier(), self.entries)
        except CapacityError:
            return False
        return known.hear(None, upper)


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """The program of cubes in whole numbers, by branching.

    If cutting left it `sparse`, it is small, and is solved first; otherwise last.
    """

    variables: int
    nodes: int
    seconds: float
    sparse: bool
    name = "branching"

    def could_improve(self, known: Known) -> bool:
        """If the program is not too large."""
        if known.is_over or known.part.size > self.variables:
            return False
        program = known.program
        return self.sparse == (program.active <= FEW_ACTIVE * program.cubes)

    def improve(self, known: Known) -> bool:
        """Worlds and bounds."""
        nodes = max(1, int(self.nodes * min(1.0, (LARGE / known.part.size) ** 2)))
        left = known.earlier() if self.sparse else known.left
        end = time.monotonic() + self.seconds
        return _cut(known, lambda: min(left(), end - time.monotonic()), nodes)


def _cut(known: Known, left: Callable[[], float], nodes: int | None) -> bool:
    found = False
    last: list[Ints] = []

    def hear(values: Ints | None, upper: float) -> None:
        nonlocal found
        found |= known.hear(values, upper)
        last[:] = [] if values is None else [values]

    ended = by_cutting(known.program, left, hear, nodes)
    if ended.fewest and last and known.part.score(last[0]) == known.score == known.upper:
        known.values, known.fewest = last[0], True
    return found
