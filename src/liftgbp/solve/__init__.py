"""The solve room: from a plan to beliefs, with a verdict and a trace; one method per file.

Takes a `Plan`; gives a `Solution`. Imports `support` and `plan`. Knows flat arrays; knows nothing
of logic, regions, drawing and sentences.
"""

from liftgbp.solve.auto import (
    Auto,
    Solver,
    SolverChoice,
    as_solver,
    solver_for,
    with_random_starts,
    with_tolerances,
    work_of,
)
from liftgbp.solve.descent import Descent
from liftgbp.solve.energy import log_z
from liftgbp.solve.exact_log_z import exact_logs_z
from liftgbp.solve.findings import (
    NO_BLOCKS,
    Algorithm,
    Finding,
    Flaw,
    IndependentAtoms,
    KnownWorlds,
    SolvedBy,
    Status,
)
from liftgbp.solve.flooding import Flooding
from liftgbp.solve.solution import Point, Points, Remedy, Solution
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Kind, Verdict

__all__ = [
    "NO_BLOCKS",
    "Algorithm",
    "Auto",
    "Descent",
    "Finding",
    "Flaw",
    "Flooding",
    "IndependentAtoms",
    "Kind",
    "KnownWorlds",
    "Point",
    "Points",
    "Remedy",
    "Solution",
    "SolvedBy",
    "Solver",
    "SolverChoice",
    "Status",
    "Tolerances",
    "Verdict",
    "as_solver",
    "exact_logs_z",
    "log_z",
    "solver_for",
    "with_random_starts",
    "with_tolerances",
    "work_of",
]
