"""The façade: it only composes the stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from liftgbp.evidence import Evidence
from liftgbp.model.model import Model
from liftgbp.plan import compile_plan
from liftgbp.query import Answers
from liftgbp.regions import build_regions
from liftgbp.shatter import TABLE_CAP, shatter
from liftgbp.solve import SOLVERS, choose_solver, unknown_solver

Progress = Callable[[str, int, int], None]
"""Called with a stage and how much of it is done."""


def silent(stage: str, done: int, total: int) -> None:
    """Report no progress."""


def infer(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    regions: str = "intersections",
    solver: str = "auto",
    damping: float = 0.5,
    adaptive: bool = False,
    iterations: int = 500,
    tol: float = 1e-12,
    seed: int = 0,
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> Answers:
    """Lifted generalized belief propagation on a model over domains of these sizes.

    `solver` is `flooding` (message passing), `descent` (all minima of the free energy, mixed) or
    `auto`, which is descent where that can be afforded.

    >>> import liftgbp
    >>> model = liftgbp.parse('''
    ... friends(person, person)
    ... smokes(person)
    ... 1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
    ... ''')
    >>> answers = liftgbp.infer(model, sizes={"person": 20})
    >>> round(answers.marginal("friends(x,y)"), 6)
    0.499962
    >>> flooding = liftgbp.infer(model, sizes={"person": 20}, solver="flooding")
    >>> round(flooding.marginal("friends(x,y)"), 6)
    0.441985
    """
    if solver not in SOLVERS:
        raise unknown_solver(solver)
    started = time.perf_counter()
    progress("shattering", 0, 1)
    normal = shatter(model, sizes, evidence=evidence, table_cap=table_cap)
    progress("building regions", 0, 1)
    graph = build_regions(normal, regions)
    progress("compiling", 0, 1)
    plan = compile_plan(graph)
    method = choose_solver(
        solver,
        plan,
        damping=damping,
        adaptive=adaptive,
        iterations=iterations,
        tol=tol,
        seed=seed,
    )
    solution = method(plan, lambda done, total: progress("solving", done, total))
    return Answers.lifted(graph, plan, solution, time.perf_counter() - started)
