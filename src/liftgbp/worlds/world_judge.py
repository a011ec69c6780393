"""Answers judged by worlds: log Z is no less than what a best world and its renamings weigh.

Where worlds have a structure that neither regions nor blocks of independent atoms know, such as a
linear order, their number alone may refute an answer. It is found in milliseconds for any number of
objects, and hard formulas do no harm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

from liftgbp.evidence import Problem
from liftgbp.lift.shatter import NormalModel
from liftgbp.methods.blocks import Bound
from liftgbp.methods.bounding.interval import log_worlds, rounded_down
from liftgbp.posterior import Posterior
from liftgbp.solve import KnownWorlds
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.progress import Progress
from liftgbp.worlds.blocks.best_blocks import best_blocks
from liftgbp.worlds.blocks.renamings import log_renamings
from liftgbp.worlds.optimum import Budget, log_weights
from liftgbp.worlds.world_search import free_atoms, touched_patterns

SEARCHES = {"normal": "brief", "thorough": "normal"}
"""How hard a best world is looked for: less than where it is the answer."""

ROUNDING = Fraction(1, 2**48)
"""What weights in doubles differ from the decimals that scores are made of, in proportion."""


class WorldJudge:
    """Judges the answers of one model over classes of objects; the world is found once."""

    def __init__(
        self,
        effort: str,
        normal: Callable[[], NormalModel],
        tolerances: Tolerances,
        progress: Progress,
    ) -> None:
        self._budget = Budget(SEARCHES[effort])
        self._normal, self._tolerances, self._progress = normal, tolerances, progress

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are not trusted if their log Z is below what worlds weigh."""
        return self._bound.judge(answers) if answers.trusted else answers

    @cached_property
    def _bound(self) -> Bound:
        self._progress("looking for worlds", 0, 1)
        log_z, worlds = weight_of_worlds(self._normal(), self._budget)
        least = rounded_down(log_z)
        return Bound(least, self._tolerances.slack_of(least) if log_z is not None else 0.0, worlds)


def weight_of_worlds(normal: NormalModel, budget: Budget) -> tuple[Fraction | None, KnownWorlds]:
    """What log Z is at least: a best world, its renamings, and all values of atoms without rules.

    >>> from liftgbp.lift.shatter import shatter
    >>> from liftgbp.model.parser import parse
    >>> model = parse("r(t,t)\\n1 r(x,y) ^ r(y,z) => r(x,z) | distinct\\nr(x,y) v r(y,x).")
    >>> bound, worlds = weight_of_worlds(shatter(model, {"t": 1000}), Budget("brief"))
    >>> round(bound - 1000 * 999 * 998), round(math.lgamma(1001))  # the number of linear orders
    (5912, 5912)
    """
    found = best_blocks(normal, budget)
    world, score = found.world, found.score
    if world is None or score is None:
        return None, KnownWorlds()
    renamed = log_renamings(world, touched_patterns(normal))
    ranges = {own.name: len(own.values) for own in normal.predicates}
    open_atoms: dict[int, int] = {}
    for name, number in free_atoms(normal).items():
        open_atoms[ranges[name]] = open_atoms.get(ranges[name], 0) + number
    total = score + renamed + log_worlds(open_atoms) - ROUNDING * _spread(world.problem)
    return total, KnownWorlds(float(renamed))


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
