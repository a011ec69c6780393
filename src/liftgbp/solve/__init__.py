"""The solve room: from a plan to beliefs, with a verdict and a trace; one method per file.

Knows flat arrays; knows nothing of logic and regions.
"""

from liftgbp.solve.along import solve_along
from liftgbp.solve.auto import (
    Auto,
    Solver,
    SolverChoice,
    as_solver,
    solver_for,
    with_random_starts,
)
from liftgbp.solve.descent import Descent
from liftgbp.solve.digits import logs_z_of_regions
from liftgbp.solve.flooding import Flooding
from liftgbp.solve.free_energy import log_z
from liftgbp.solve.independent import solve_independent
from liftgbp.solve.solution import Point, Solution, Status
from liftgbp.solve.verdict import Kind, Verdict

__all__ = [
    "Auto",
    "Descent",
    "Flooding",
    "Kind",
    "Point",
    "Solution",
    "Solver",
    "SolverChoice",
    "Status",
    "Verdict",
    "as_solver",
    "log_z",
    "logs_z_of_regions",
    "solve_along",
    "solve_independent",
    "solver_for",
    "with_random_starts",
]
