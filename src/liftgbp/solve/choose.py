"""Which solver to run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from liftgbp.errors import InputError
from liftgbp.plan import Layout, Plan
from liftgbp.solve.descent import Descent
from liftgbp.solve.flooding import Flooding
from liftgbp.solve.judge import is_small
from liftgbp.solve.progress import Progress, silent
from liftgbp.solve.solution import Solution
from liftgbp.solve.starts import number_of_starts

MOST_WORK, MOST_PATIENCE = 10**8, 4 * 10**10
"""Starts times the third power of equations that `auto` spends on descent: a second or two at once,
about a minute if flooding has failed."""

SOLVERS = ("auto", "descent", "flooding")


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """What steers a solver, whichever it is."""

    damping: float = 0.5
    adaptive: bool = False
    iterations: int = 500
    tol: float = 1e-12
    seed: int = 0

    def __post_init__(self) -> None:
        # Solvers check their options themselves; here, before there is anything to solve.
        Flooding(self.damping, self.iterations, self.tol, self.adaptive)
        Descent(self.iterations, self.tol, seed=self.seed)
        if not self.tol < 1:
            raise InputError(f"tol must be below 1, or any start would do; got {self.tol}")


def choose_solver(
    name: str, plan: Plan, options: SolverOptions, *, random: int = 4
) -> Descent | Flooding:
    """The solver of this name.

    `auto` is descent, except where its Hessians cost too much; there flooding with adaptive
    damping comes first.
    """
    check_solver(name)
    damping, iterations, tol = options.damping, options.iterations, options.tol
    flooding = Flooding(damping, iterations, tol, options.adaptive)
    descent = Descent(iterations, tol, random, options.seed)
    match name:
        case "flooding":
            return flooding
        case "descent":
            return descent
        case "auto":
            if _work(plan.layout, random) <= MOST_WORK:
                return descent
            return FloodingFirst(damping, iterations, tol, adaptive=True, otherwise=descent)
    raise AssertionError(name)


@dataclass(frozen=True, slots=True)
class FloodingFirst(Flooding):
    """Flooding, and descent where that fails, unless it would take very long."""

    otherwise: Descent = field(default_factory=Descent)

    def solve_all(self, plans: Sequence[Plan], progress: Progress = silent) -> list[Solution]:
        """The solutions of plans with one layout."""
        flooded = Flooding.solve_all(self, plans, progress)
        if _work(plans[0].layout, self.otherwise.random) > MOST_PATIENCE:
            return flooded
        return [
            solution if solution.converged else self.otherwise(plan, progress)
            for plan, solution in zip(plans, flooded, strict=True)
        ]


def _work(layout: Layout, random: int) -> float:
    """What descent costs: each start factorises matrices over and over."""
    starts = 1 + number_of_starts(layout, random)
    return starts * float(layout.message_entries) ** 3 if is_small(layout) else math.inf


def check_solver(name: object) -> None:
    """Refuse a name that no solver has.

    >>> check_solver("newton")
    Traceback (most recent call last):
    liftgbp.errors.InputError: unknown solver 'newton'; choose among auto, descent, flooding
    """
    if not isinstance(name, str) or name not in SOLVERS:
        raise InputError(f"unknown solver {name!r}; choose among {', '.join(SOLVERS)}")
