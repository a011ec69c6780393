"""Which solver to run."""

from __future__ import annotations

from dataclasses import replace

from liftgbp.errors import InputError
from liftgbp.plan import Layout, Plan
from liftgbp.solve.descent import Descent
from liftgbp.solve.flooding import Flooding
from liftgbp.solve.judge import is_small
from liftgbp.solve.starts import group_sizes

MOST_WORK = 5 * 10**8
"""Starts times the third power of equations that `auto` spends on descent: some seconds."""

SOLVERS = ("auto", "descent", "flooding")


def choose_solver(
    name: str,
    plan: Plan,
    *,
    damping: float,
    adaptive: bool,
    iterations: int,
    tol: float,
    seed: int,
    random: int = 4,
) -> Descent | Flooding:
    """The solver of this name.

    `auto` is descent, except where its Hessians cost too much; there it is flooding with adaptive
    damping.
    """
    flooding = Flooding(damping, iterations, tol, adaptive)
    descent = Descent(iterations, tol, random, seed)
    match name:
        case "flooding":
            return flooding
        case "descent":
            return descent
        case "auto":
            return descent if _is_quick(plan.layout, random) else replace(flooding, adaptive=True)
    raise unknown_solver(name)


def _is_quick(layout: Layout, random: int) -> bool:
    """Whether descent is a matter of seconds: each start factorises matrices over and over."""
    starts = 2 + sum(group_sizes(layout).values()) + random
    return is_small(layout) and starts * layout.message_entries**3 <= MOST_WORK


def unknown_solver(name: str) -> InputError:
    """The error for a name that no solver has."""
    return InputError(f"unknown solver {name!r}; choose among {', '.join(SOLVERS)}")
