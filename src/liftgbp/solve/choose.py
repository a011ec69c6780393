"""Which solver to run."""

from __future__ import annotations

from liftgbp.errors import InputError
from liftgbp.plan import Plan
from liftgbp.solve.descent import Descent
from liftgbp.solve.flooding import Flooding
from liftgbp.solve.judge import is_small

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
    """The solver of this name; `auto` is descent, except where the Hessian is out of reach."""
    flooding = Flooding(damping, iterations, tol, adaptive)
    descent = Descent(iterations, tol, random, seed)
    match name:
        case "flooding":
            return flooding
        case "descent":
            return descent
        case "auto":
            return descent if is_small(plan.layout) else flooding
    raise unknown_solver(name)


def unknown_solver(name: str) -> InputError:
    """The error for a name that no solver has."""
    return InputError(f"unknown solver {name!r}; choose among {', '.join(SOLVERS)}")
