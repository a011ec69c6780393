"""Answers judged by worlds: log Z is no less than what a best world and its renamings weigh.

Where worlds have a structure that neither regions nor blocks of independent atoms know, such as a
linear order, they may refute an answer. Over classes that takes milliseconds for any number of
objects, and hard formulas do no harm.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.lift.shatter import NormalModel
from liftgbp.methods.blocks import Bound
from liftgbp.methods.bounding.interval import log_worlds, rounded_down
from liftgbp.posterior import Posterior
from liftgbp.solve import KnownWorlds
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.errors import CapacityError
from liftgbp.support.progress import Progress
from liftgbp.worlds.blocks import BlockWorld
from liftgbp.worlds.blocks.best_blocks import best_blocks
from liftgbp.worlds.blocks.renamings import log_renamings
from liftgbp.worlds.ground import best_of_network
from liftgbp.worlds.optimum import Budget, log_weights
from liftgbp.worlds.world_search import free_atoms, touched_patterns

SEARCHES = {"normal": "brief", "thorough": "quick"}
"""How hard a best world is looked for: less than where it is the answer."""

MOST_FACTORS = {"normal": 30_000, "thorough": 1_000_000}
"""In larger networks no world is looked for; so many factors take some tenths of a second."""

ROUNDING = Fraction(1, 2**48)
"""What weights in doubles differ from the decimals that scores are made of, in proportion."""


ONE_WORLD = KnownWorlds()


@dataclass(frozen=True, slots=True)
class Weight:
    """What log Z is at least, since some worlds weigh so much; `None` if no world was found."""

    log_z: Fraction | None = None
    worlds: KnownWorlds = ONE_WORLD


class WorldJudge:
    """Judges the answers of one model by the weight of some worlds, which is found out once."""

    def __init__(
        self, weigh: Callable[[], Weight], tolerances: Tolerances, progress: Progress
    ) -> None:
        self._weigh, self._tolerances, self._progress = weigh, tolerances, progress

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are refused if their log Z is below what worlds weigh."""
        return self._bound.judge(answers) if answers.sound else answers

    @cached_property
    def _bound(self) -> Bound:
        self._progress("looking for worlds", 0, 1)
        weight = self._weigh()
        least = rounded_down(weight.log_z)
        slack = self._tolerances.slack_of(least) if weight.log_z is not None else 0.0
        return Bound(least, slack, weight.worlds)


def weight_over_classes(normal: NormalModel, effort: str) -> Weight:
    """The weight of a best world over classes, of its renamings, and of all values of free atoms.

    >>> from liftgbp.lift.shatter import shatter
    >>> from liftgbp.model.parser import parse
    >>> model = parse("r(t,t)\\n1 r(x,y) ^ r(y,z) => r(x,z) | distinct\\nr(x,y) v r(y,x).")
    >>> weight = weight_over_classes(shatter(model, {"t": 1000}), "normal")
    >>> round(weight.log_z - 1000 * 999 * 998), round(math.lgamma(1001))  # all linear orders
    (5912, 5912)
    """
    found = best_blocks(normal, Budget(SEARCHES[effort]))
    world, score = found.world, found.score
    if not isinstance(world, BlockWorld) or score is None:
        return Weight()
    renamed = log_renamings(world, touched_patterns(normal))
    free = Counter[int]()
    for name, number in free_atoms(normal).items():
        free[normal.ranges[normal.predicate_number[name]]] += number
    total = score + renamed + _log_free(free) - ROUNDING * _spread(world.problem)
    return Weight(total, KnownWorlds(float(renamed)))


def weight_on_ground(network: GroundNetwork, effort: str) -> Weight:
    """The weight of a best world of a network, and of all values of variables without factors.

    >>> from liftgbp.ground.grounding import FactorBlock, merged
    >>> pair = FactorBlock(np.array([[0, 1]]), np.array([0]))
    >>> table = np.array([[3.0, 0.0], [0.0, 3.0]])
    >>> network = merged(np.array([2, 2, 2]), [pair], [table])
    >>> round(float(weight_on_ground(network, "normal").log_z), 6)  # 3 + log 2
    3.693147
    """
    if network.factors > MOST_FACTORS[effort]:
        return Weight()
    try:
        best = best_of_network(network, Budget(SEARCHES[effort]))
    except CapacityError:
        return Weight()
    free = Counter(network.ranges[best.free].tolist())
    free.update(network.free)
    spread = Fraction(abs(network.log_constant))
    largest = [float(np.abs(own[np.isfinite(own)]).max(initial=0.0)) for own in network.tables]
    for block in network.blocks:
        for table, number in Counter(block.table_of.tolist()).items():
            spread += number * Fraction(largest[table])
    return Weight(best.score + _log_free(free) - ROUNDING * spread)


def _log_free(atoms: Mapping[int, int]) -> Fraction:
    """The log of the number of worlds of atoms, by their numbers of values."""
    return log_worlds({values: number for values, number in atoms.items() if values > 1})


def _spread(problem: Problem) -> Fraction:
    """The sum of all weights without their signs, over all groundings."""
    model, sizes = problem.model, problem.sizes
    total = Fraction(0)
    for rule in model.rules:
        scope = model.scope(rule)
        groundings = math.prod(sizes[scope.sorts[name]] for name in scope.free)
        logs = [abs(own) for own in log_weights(rule, sizes, model.weights) if own > -math.inf]
        total += groundings * Fraction(max(logs, default=0.0))
    return total
