"""The façade: it only composes the stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from liftgbp.compress import compress, ground_region_graph
from liftgbp.evidence import Evidence
from liftgbp.grounding import ground_network
from liftgbp.model.model import Model
from liftgbp.plan import compile_plan
from liftgbp.query import Answers, GroundReader, LiftedReader, Reader
from liftgbp.regions import build_regions
from liftgbp.road import choose_road
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
    road: str = "auto",
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
    `auto`, which is descent where that can be afforded. With evidence, `road` is `classes` (objects
    that evidence does not tell apart stay together), `ground` (the model is written out and then
    compressed) or `auto`, the cheaper one.

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
    if evidence is None and any(predicate.closed for predicate in model.predicates.values()):
        evidence = Evidence.of(model)
    progress("shattering", 0, 1)
    reader: Reader
    if choose_road(road, evidence, sizes, regions) == "classes":
        normal = shatter(model, sizes, evidence=evidence, table_cap=table_cap)
        progress("building regions", 0, 1)
        graph = build_regions(normal, regions)
        progress("compiling", 0, 1)
        plan = compile_plan(graph)
        reader = LiftedReader(graph, plan, () if evidence is None else evidence.notes)
    else:
        reader = _ground(evidence or Evidence.of(model), sizes, regions, table_cap, progress)
    solve = choose_solver(
        solver,
        reader.plan,
        damping=damping,
        adaptive=adaptive,
        iterations=iterations,
        tol=tol,
        seed=seed,
    )
    solution = solve(reader.plan, lambda done, total: progress("solving", done, total))
    return Answers(reader, solution, time.perf_counter() - started)


def _ground(
    evidence: Evidence,
    sizes: Mapping[str, int] | None,
    regions: str,
    table_cap: int,
    progress: Progress,
) -> GroundReader:
    """The model written out under its evidence, and compressed."""
    network = ground_network(
        evidence.model,
        sizes,
        evidence,
        table_cap=table_cap,
        progress=lambda done, total: progress("grounding", done, total),
    )
    ground_regions = ground_region_graph(network, regions, progress=progress)
    graph = compress(ground_regions, network, progress=progress)
    progress("compiling", 0, 1)
    return GroundReader(graph, compile_plan(graph), evidence, evidence.domain_sizes(sizes))
