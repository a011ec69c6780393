"""Best worlds of ground networks: what is certain is settled, independent parts are solved apart.

Variables that hard rules tie together become one, variables with one possible value leave, and what
is left falls into parts. An attractive network is solved as a whole.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.ground.grounding import GroundNetwork, ground_network
from liftgbp.lift.shatter import TABLE_CAP
from liftgbp.methods.sampling.tied import Tied, tie
from liftgbp.support.arrays import Bools, Ints
from liftgbp.support.errors import (
    CapacityError,
    ContradictionError,
    InternalError,
    LimitExceeded,
)
from liftgbp.support.limits import Limits, Watch, watch_for
from liftgbp.support.progress import Progress, silent
from liftgbp.worlds.ground.contradiction import contradiction
from liftgbp.worlds.ground.flow import is_attractive
from liftgbp.worlds.ground.ground_world import GroundWorld
from liftgbp.worlds.ground.part_search import STEPS, Known, search
from liftgbp.worlds.ground.settling import Settling, parts_of, split
from liftgbp.worlds.ground.whole import (
    WholeNetwork,
    exact_constant,
    exact_score,
    whole_network,
)
from liftgbp.worlds.optimum import Budget, Optimum

IMPOSSIBLE = "the hard formulas leave no possible world"

REPORT_EVERY = 0.1
"""Seconds between two reports."""

MOST_FACTORS = 20_000_000
"""Larger networks take more memory than most machines have."""


@dataclass(frozen=True, eq=False, slots=True)
class NetworkOptimum:
    """The best world of a network that was found, and what no world exceeds.

    values     of all variables
    score      the log weight of the world, with what factors without variables add
    upper      no world has a larger score
    fewest     whether no world of this score has fewer true atoms
    undecided  which variables differ between best worlds, where known; not those that are free
    free       which variables with several values no factor touches
    how        what found it
    """

    values: Ints
    score: Fraction
    upper: Fraction | float
    fewest: bool
    undecided: Bools | None
    free: Bools
    how: tuple[str, ...]

    def as_optimum(self, world: GroundWorld) -> Optimum:
        """The same about the ground atoms of a world with these values."""
        undecided = None if self.undecided is None else world.named(self.undecided)
        free = Counter(name for name, _ in world.named(self.free))
        free.update(world.untouched())
        return Optimum(world, self.score, self.upper, self.fewest, undecided, self.how, +free)


def best_on_ground(
    problem: Problem, budget: Budget, table_cap: int = TABLE_CAP, *, progress: Progress = silent
) -> Optimum:
    """The best world of a problem, written out.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("smokes(person)\\n0.7 smokes(x) v smokes(y) | x != y\\n-1 smokes(x)")
    >>> best = best_on_ground(Problem.of(model, None, {"person": 3}), Budget())
    >>> best.score, best.proven, best.world.number("smokes"), len(best.undecided)
    (Fraction(11, 5), True, 2, 3)
    """

    def impossible(other: Problem) -> bool:
        """Whether that is certain."""
        try:
            _written_out(other, budget, table_cap, silent)
        except ContradictionError:
            return True
        except CapacityError:
            pass
        return False

    try:
        return _written_out(problem, budget, table_cap, progress)
    except ContradictionError as error:
        if error.span is not None:
            raise
        raise contradiction(problem, impossible) from None


def _written_out(problem: Problem, budget: Budget, table_cap: int, progress: Progress) -> Optimum:
    with _within(budget):
        network = ground_network(problem, table_cap=table_cap, chained=True, progress=progress)
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    # Stand-ins for parts of large formulas are no atoms of the model.
    atoms = network.atoms.predicate < len(problem.model.predicates)
    best = best_of_network(network, budget, atoms)
    return best.as_optimum(GroundWorld(problem, network.atoms, best.values))


@contextmanager
def _within(budget: Budget) -> Iterator[None]:
    """Write out a model in the time of a budget; there is no world to show yet."""
    left = budget.left()
    if math.isinf(left):
        yield
        return
    watch = cast(Watch, watch_for(Limits(seconds=max(left, REPORT_EVERY))))
    try:
        with watch.running():
            yield
    except LimitExceeded:
        if budget.left() > 0:
            raise
        text = f"the model was not written out atom by atom{budget.time_text}; allow more time"
        raise CapacityError(f"{text} (--seconds), or use fewer objects") from None


def best_of_network(
    network: GroundNetwork, budget: Budget, atoms: Bools | None = None
) -> NetworkOptimum:
    """The best world of a network; `atoms` says which variables count as true atoms.

    >>> from liftgbp.ground.grounding import FactorBlock, merged
    >>> pair = FactorBlock(np.array([[0, 1]]), np.array([0]))
    >>> one = FactorBlock(np.array([[0]]), np.array([1]))
    >>> tables = [np.array([[0.8, 0.0], [0.0, 0.8]]), np.array([0.0, 0.5])]
    >>> best = best_of_network(merged(np.array([2, 2]), [pair, one], tables), Budget())
    >>> best.values.tolist(), best.score, best.upper, best.fewest
    ([1, 1], Fraction(13, 10), Fraction(13, 10), True)
    """
    if network.factors > MOST_FACTORS:
        raise CapacityError(
            f"the ground network has {network.factors} factors, above {MOST_FACTORS}; close a "
            "predicate (--closed), use fewer objects, or give evidence about few objects, so that "
            "classes of objects suffice (--via lifted)"
        )
    tied = tie(network)
    whole = whole_network(tied.network, _true_atoms(network, tied, atoms))
    settling = Settling(whole)
    constant = exact_constant(network)
    if settling.constant == -math.inf:
        raise ContradictionError(IMPOSSIBLE)
    parts = _Parts(settling, budget, constant)
    parts.solve()
    values = settling.values.copy()
    values[settling.variables] = parts.values
    values = tied.value[np.arange(len(tied.root)), values[tied.root]]
    undecided = parts.undecided
    if undecided is not None:
        every = settling.undecided.copy()
        every[settling.variables] = undecided
        undecided = every[tied.root]
    free = network.ranges > 1
    for block in network.blocks:
        free[block.scopes] = False
    if undecided is not None:
        undecided &= ~free
    best = NetworkOptimum(
        values, parts.score, parts.upper, parts.fewest, undecided, free, parts.how
    )
    if not whole.rounded:
        return best
    # Scores that differ by less than rounding can change are not told from ties.
    score = _score(network, values)
    upper = score + (parts.upper - parts.score)
    return replace(best, score=score, upper=upper, fewest=False, undecided=None)


def _score(network: GroundNetwork, values: Ints) -> Fraction:
    score = exact_score(network, values)
    if score is None:
        raise InternalError("a best world breaks a hard rule")
    return score


def _true_atoms(network: GroundNetwork, tied: Tied, atoms: Bools | None) -> Ints:
    """How many atoms are true for each value of each deciding variable."""
    true = np.zeros((len(tied.decides), tied.value.shape[1]), np.int64)
    counted = np.arange(len(network.ranges)) if atoms is None else np.flatnonzero(atoms)
    # The value -1 stands for a value that a variable does not have.
    np.add.at(true, tied.root[counted], (tied.value[counted] > 0).astype(np.int64))
    return true


class _Parts:
    """The independent parts of what is left of a network; those that are alike are solved once."""

    def __init__(self, settling: Settling, budget: Budget, constant: Fraction) -> None:
        left = settling.left
        self._look_again = 0.0
        self._size, self._budget, self._unit = left.size, budget, left.unit
        self._constant = constant + int(settling.constant) * left.unit
        self._found = [
            (members, Known(part, budget.left, seed=budget.seed))
            for members, part in _different_parts(left)
        ]
        gap = budget.gap / float(left.unit) / max(1, left.spread)
        for _, known in self._found:
            known.gap, known.told = gap * known.part.spread, self._report

    def solve(self) -> None:
        """Solve all parts."""
        budget = self._budget
        for _, known in self._found:
            search(known, STEPS[budget.effort])
            if known.impossible:
                raise ContradictionError(IMPOSSIBLE)
        self._look_again = 0.0
        self._report()
        if not self._has_world:
            raise CapacityError(
                f"no world that satisfies all hard formulas was found with effort {budget.effort}"
                f"{budget.time_text}; allow more effort or time (--effort thorough, --seconds), or "
                "give some of the hard formulas a weight"
            )

    @property
    def _has_world(self) -> bool:
        return all(known.values is not None for _, known in self._found)

    @property
    def values(self) -> Ints:
        """The values of all variables."""
        values = np.zeros(self._size, np.int64)
        for members, known in self._found:
            if known.values is not None:
                values[members] = known.values
        return values

    @property
    def score(self) -> Fraction:
        """The score of the whole world."""
        units = sum(len(members) * int(known.score) for members, known in self._found)
        return units * self._unit + self._constant

    @property
    def upper(self) -> Fraction | float:
        """What no world exceeds; infinite as long as nothing is known of some part."""
        if any(math.isinf(known.upper) for _, known in self._found):
            return math.inf
        units = sum(len(members) * math.floor(known.upper) for members, known in self._found)
        return units * self._unit + self._constant

    @property
    def fewest(self) -> bool:
        """Whether no world of this score has fewer true atoms."""
        return all(known.fewest for _, known in self._found)

    @property
    def undecided(self) -> Bools | None:
        """Which variables differ between best worlds."""
        undecided = np.zeros(self._size, np.bool_)
        for members, known in self._found:
            if known.undecided is None:
                return None
            undecided[members] = known.undecided
        return undecided

    @property
    def how(self) -> tuple[str, ...]:
        """The methods that found anything."""
        return tuple(dict.fromkeys(name for _, known in self._found for name in known.how))

    def _report(self) -> None:
        """Tell how far the search is, from time to time."""
        now = time.monotonic()
        if now >= self._look_again:
            self._look_again = now + REPORT_EVERY
            self._budget.report(self.score if self._has_world else -math.inf, self.upper)


def _different_parts(network: WholeNetwork) -> list[tuple[Ints, WholeNetwork]]:
    """The parts that differ, small ones first, with the variables of those like it in rows.

    An attractive network is one part: one flow solves all of it.
    """
    if not network.size:
        return []
    if is_attractive(network):
        return [(np.arange(network.size)[None], network)]
    alike: dict[tuple[object, ...], tuple[list[Ints], WholeNetwork]] = {}
    for own, part in split(network, parts_of(network)):
        blocks = ((b.scopes.tobytes(), b.table_of.tobytes()) for b in part.blocks)
        key = part.ranges.tobytes(), part.true.tobytes(), *blocks, *map(id, part.tables)
        alike.setdefault(key, ([], part))[0].append(own)
    found = [(np.array(members), part) for members, part in alike.values()]
    return sorted(found, key=lambda own: own[1].size)
