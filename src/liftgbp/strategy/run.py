"""How models are solved: with which solver, which tables, and how it is told how far it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from liftgbp.posterior import Posterior, Prepared
from liftgbp.solve import Auto, Descent, Flooding, Solver, work_of
from liftgbp.support.progress import Progress

FEWEST_ITERATIONS = 20
"""Regions that an effort does not grant this many iterations are not tried: few settle in less.
Those of town.mln with three objects take 0.06 s for each, and do not settle in 500."""


@dataclass(frozen=True, slots=True)
class Run:
    """How models are solved."""

    solver: Solver
    table_cap: int
    progress: Progress

    @property
    def descent(self) -> Descent:
        """The descent of the solver."""
        if isinstance(self.solver, Flooding):
            return Descent()
        return self.solver.descent if isinstance(self.solver, Auto) else self.solver

    def iterations(self, prepared: Prepared, work: float) -> int:
        """How many iterations of descent this much work allows."""
        one = work_of(prepared.plan.layout, self.descent)
        return min(self.descent.iterations, int(work / one)) if one else self.descent.iterations

    def within(self, iterations: int) -> Run:
        """The same with a limit to the iterations of descent."""
        solver = self.solver
        if isinstance(solver, Flooding):
            return self
        limited = replace(self.descent, iterations=min(self.descent.iterations, iterations))
        chosen = replace(solver, descent=limited) if isinstance(solver, Auto) else limited
        return replace(self, solver=chosen)

    def hasty(self, work: float) -> Run:
        """The same, but messages alone are passed where a step of descent takes more work."""
        solver = self.solver
        if not isinstance(solver, Auto):
            return self
        return replace(self, solver=replace(solver, most_patience=min(solver.most_patience, work)))

    def solved(self, prepared: Prepared) -> Posterior:
        """The answers of a model that is prepared."""
        started = time.perf_counter()
        solution = self.solver(prepared.plan, self.progress)
        return Posterior.of(prepared, solution, time.perf_counter() - started)
