"""What `solver="auto"` means, and what all solvers have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from liftgbp.plan import Layout, Plan
from liftgbp.solve.descent import Descent
from liftgbp.solve.flooding import Flooding
from liftgbp.solve.restarts import flooded_again
from liftgbp.solve.solution import Remedy, Solution
from liftgbp.solve.starts import number_of_starts
from liftgbp.solve.verdict import is_small
from liftgbp.support.errors import InputError, checked_number, shown, wrong_type
from liftgbp.support.progress import Progress, silent
from liftgbp.support.shown import HasCard


@dataclass(frozen=True, slots=True)
class Auto(HasCard):
    """Descent where it is affordable; elsewhere flooding, and descent only if that fails.

    Flooding starts again from tilted atoms and from the mirror image of what it has found. What
    either finds is completed by its images under the symmetries of the plan.

    Descent factorises dense matrices: its work is the number of starts times the cube of the number
    of equations. Beyond `most_work`, which takes a second or two, flooding comes first; beyond
    `most_patience`, which takes a minute or so, descent is not tried at all.

    Flooding that may choose its damping first does without any, for `undamped` iterations: most
    large networks need a third of the iterations then.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> cautious = liftgbp.Auto(descent=liftgbp.Descent(random=20))
    >>> answers = liftgbp.infer(model, {"person": 20}, solver=cautious)
    >>> round(answers.marginal("friends(x,y)"), 6)
    0.499962
    """

    flooding: Flooding = field(default_factory=partial(Flooding, adaptive=True))
    descent: Descent = field(default_factory=Descent)
    most_work: float = 1e8
    most_patience: float = 4e10
    undamped: int = 100

    def __post_init__(self) -> None:
        if not isinstance(self.flooding, Flooding):
            raise wrong_type("flooding", "a Flooding(...)", self.flooding)
        if not isinstance(self.descent, Descent):
            raise wrong_type("descent", "a Descent(...)", self.descent)
        checked_number("undamped", self.undamped, least=0)

    def __call__(self, plan: Plan, progress: Progress = silent) -> Solution:
        """Solve one plan."""
        return self.solve_all([plan], progress)[0]

    def solve_all(self, plans: Sequence[Plan], progress: Progress = silent) -> list[Solution]:
        """The solutions of plans with one layout, processed as a batch."""
        layout = plans[0].layout
        if self.descends_first(layout):
            return self.descent.solve_all(plans, progress)
        flooded = self._flooded(plans, progress)
        if work_of(layout, self.descent) > self.most_patience:
            return [replace(own, remedies=(Remedy.DAMPING, Remedy.BETHE)) for own in flooded]
        return [
            solution if solution.sound else self.descent(plan, progress)
            for plan, solution in zip(plans, flooded, strict=True)
        ]

    def _flooded(self, plans: Sequence[Plan], progress: Progress) -> list[Solution]:
        """What flooding finds, from several starts where it converges."""
        own, least = self.flooding, min(self.undamped, self.flooding.iterations)
        if not own.adaptive or own.damping > Flooding().damping or not least:
            found = own.solve_all(plans, progress)
            return [self._again(own, *each, progress) for each in zip(plans, found, strict=True)]
        free = replace(own, damping=0.0)
        first = replace(free, iterations=least).solve_all(plans, progress)
        left = [plan for plan, solution in zip(plans, first, strict=True) if not solution.converged]
        damped = iter(own.solve_all(left, progress) if left else [])
        return [
            self._again(free, plan, solution, progress)
            if solution.converged
            else self._again(own, plan, next(damped), progress)
            for plan, solution in zip(plans, first, strict=True)
        ]

    @staticmethod
    def _again(flooding: Flooding, plan: Plan, first: Solution, progress: Progress) -> Solution:
        return flooded_again(flooding, plan, first, progress) if first.converged else first

    def descends_first(self, layout: Layout) -> bool:
        """Whether descent is cheap enough to come first."""
        return work_of(layout, self.descent) <= self.most_work


Solver: TypeAlias = Auto | Descent | Flooding
SolverChoice: TypeAlias = Literal["auto"] | Solver
"""What a caller may ask for."""

AnySolver = TypeVar("AnySolver", bound="Auto | Descent | Flooding")


def as_solver(given: SolverChoice) -> Solver:
    """The solver that a caller asks for; `"auto"` is `Auto()`.

    >>> as_solver("auto") == Auto()
    True
    >>> as_solver("newton")
    Traceback (most recent call last):
    liftgbp.InputError: unknown solver 'newton'; use "auto", liftgbp.Descent(), \
liftgbp.Flooding() or liftgbp.Auto()
    """
    if isinstance(given, Solver):
        _check_goal(given)
        return given
    if isinstance(given, str) and given == "auto":
        return Auto()
    named = None
    if isinstance(given, str):
        named = {"flooding": "Flooding", "descent": "Descent"}.get(given.lower())
    if named is not None:
        raise InputError(f"solvers are values: write solver=liftgbp.{named}()")
    raise InputError(
        f'unknown solver {shown(given)}; use "auto", liftgbp.Descent(), liftgbp.Flooding() or '
        "liftgbp.Auto()"
    )


def _check_goal(solver: Solver) -> None:
    parts = (solver.flooding, solver.descent) if isinstance(solver, Auto) else (solver,)
    for part in parts:
        if not part.tol < 1:
            raise InputError(f"tol must be below 1, or any start would do; got {part.tol}")


def solver_for(solver: Solver, layout: Layout) -> Solver:
    """The solver that plans of one layout get: `Auto` gives way to its descent where that is cheap.

    Unlike `Auto`, a `Descent` can follow its points from plan to plan.
    """
    return solver.descent if isinstance(solver, Auto) and solver.descends_first(layout) else solver


def with_random_starts(solver: Solver, random: int) -> Solver:
    """The same solver, but with this many random starts where it uses any.

    >>> with_random_starts(Auto(), 2).descent.random
    2
    """
    match solver:
        case Auto():
            return replace(solver, descent=replace(solver.descent, random=random))
        case Descent():
            return replace(solver, random=random)
        case Flooding():
            return solver


def with_tolerances(solver: AnySolver, **changes: Any) -> AnySolver:
    """The same solver with some tolerances changed.

    >>> with_tolerances(Descent(), same=1e-3).tolerances.same
    0.001
    """
    if isinstance(solver, Auto):
        return replace(
            solver,
            flooding=with_tolerances(solver.flooding, **changes),
            descent=with_tolerances(solver.descent, **changes),
        )
    return replace(solver, tolerances=replace(solver.tolerances, **changes))


def work_of(layout: Layout, descent: Descent) -> float:
    """What descent costs: each start factorises matrices over and over."""
    if not is_small(layout, descent.tolerances):
        return math.inf
    # Regions that share nothing have an equation each, though they send no message.
    equations = float(max(layout.message_entries, len(layout.shapes)))
    return (1 + number_of_starts(layout, descent.random)) * equations**3
