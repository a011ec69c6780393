"""The façade: it only composes the stages.

What not every run needs is imported where it is used, as a small model is solved in less time: sums
over counts, and the via over the ground.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from liftgbp.errors import (
    InputError,
    InternalError,
    check_function,
    checked_number,
    checked_path,
    checked_texts,
    wrong_type,
)
from liftgbp.evidence import Evidence
from liftgbp.growth import AUTO, grow, via_of_growth
from liftgbp.model.model import Model, check_model
from liftgbp.model.parser import parse_query
from liftgbp.plan import compile_plan
from liftgbp.progress import Progress, silent
from liftgbp.query import Answers, Prepared, PreparedLifted
from liftgbp.query.rows import query_rows
from liftgbp.regions import build_regions
from liftgbp.shatter import TABLE_CAP, NormalModel, Shattering, shatter
from liftgbp.solve import Solver, SolverChoice, as_solver
from liftgbp.via import choose_via

if TYPE_CHECKING:
    from liftgbp.compress import QuotientGraph
    from liftgbp.grounding import GroundNetwork


def infer(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    via: str = "auto",
    sum_over: str | Iterable[str] | None = None,
    regions: str = "intersections",
    solver: SolverChoice = "auto",
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> Answers:
    """Lifted generalized belief propagation on a model over domains of these sizes.

    `regions` names a family of regions, such as `objects:3`; `auto` grows the family as long as the
    answer can be trusted, and the answers tell of each step in `growth`. `solver` is a
    `Flooding(...)` (message passing), a `Descent(...)` (all minima of the free energy, mixed), or
    `"auto"`, which is descent where that is affordable. With evidence, `via` is
    `lifted` (objects that evidence does not tell apart stay together), `ground` (the model is
    written out and then compressed) or `auto`, the cheaper one.
    `sum_over` names unary predicates, or one of them, over whose counts the
    answers are summed; `auto` takes the one that changes log Z most.

    >>> import liftgbp
    >>> model = liftgbp.parse('''
    ... friends(person, person)
    ... smokes(person)
    ... 1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
    ... ''')
    >>> answers = liftgbp.infer(model, sizes={"person": 20})
    >>> round(answers.marginal("friends(x,y)"), 6)
    0.499962
    >>> flooding = liftgbp.infer(model, sizes={"person": 20}, solver=liftgbp.Flooding())
    >>> round(flooding.marginal("friends(x,y)"), 6)
    0.441985
    """
    known = _checked(model, evidence, regions, table_cap, progress)
    counted = () if sum_over is None else checked_texts("sum_over", sum_over)
    chosen_solver = as_solver(solver)
    if counted and via == "ground":
        raise InputError(
            "counts are summed over classes of objects; use via='lifted' with sum_over"
        )

    @cache
    def normal() -> NormalModel:
        # All families of regions that grow share the classes of objects and the normal form.
        return shatter(model, sizes, evidence=known, table_cap=table_cap)

    def answer(family: str, way: str, counted: Sequence[str] = counted) -> Answers:
        if counted:
            from liftgbp.counting import sum_over_counts

            return sum_over_counts(
                model,
                sizes,
                counted,
                evidence=known,
                regions=family,
                solver=chosen_solver,
                table_cap=table_cap,
                progress=progress,
            )
        started = time.perf_counter()
        if regions == AUTO:
            prepared = _lifted(normal(), family, progress)
        else:
            prepared = prepare(
                model,
                sizes,
                evidence=known,
                via=way,
                regions=family,
                table_cap=table_cap,
                progress=progress,
            )
        return _solved(prepared, chosen_solver, started, progress)

    if regions != AUTO:
        return answer(regions, via)
    way = via_of_growth(via)
    if AUTO not in counted:
        return grow(lambda family: answer(family, way))
    from liftgbp.counting import SummedAnswers, with_choice

    # What counts gain is found out once, over the scopes of factors.
    first = answer("intersections", way)
    if not isinstance(first, SummedAnswers):
        raise InternalError("a sum over counts that gives plain answers")
    predicates = first.sum_over.predicates
    grown = grow(lambda family: answer(family, way, predicates))
    return with_choice(grown, first.choice)


def _solved(prepared: Prepared, solver: Solver, started: float, progress: Progress) -> Answers:
    solution = solver(prepared.plan, progress)
    return Answers.of(prepared, solution, time.perf_counter() - started)


def _checked(
    model: Model,
    evidence: Evidence | None = None,
    regions: object = "intersections",
    table_cap: object = TABLE_CAP,
    progress: object = silent,
) -> Evidence:
    """The evidence about the model; refuses what would only fail deep inside."""
    check_model(model)
    known = Evidence.of(model, evidence)
    if not isinstance(regions, str):
        raise wrong_type("regions", "the name of a region family, as in 'objects:3'", regions)
    checked_number("table_cap", table_cap, least=1)
    check_function("progress", progress)
    return known


def prepare(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    via: str = "auto",
    regions: str = "intersections",
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> Prepared:
    """All stages before solving; the result holds the region graph and the plan, and prints them.

    >>> import liftgbp
    >>> model = liftgbp.parse("s(thing)\\n0.5 s(x) <=> s(y) | x != y", name="pairs")
    >>> print(liftgbp.prepare(model, {"thing": 9}))
    pairs (thing = 9)
    2 canonical regions for 45 ground regions, 1 edge (intersections, via lifted)
    <BLANKLINE>
    region  n   c   atoms
    0       36  1   s(1) s(2)
    1       9   -7  s(1)
    <BLANKLINE>
    edge  κ  parent → child
    0     8  0 → 1
    <BLANKLINE>
    plan               entries
    beliefs            5
    messages           2
    sums over parents  4
    """
    known = _checked(model, evidence, regions, table_cap, progress)
    objects = choose_via(via, known, sizes, regions)
    if objects is None:
        return _ground(known, sizes, regions, table_cap, progress)
    progress("shattering", 0, 1)
    return _lifted(Shattering(objects, table_cap=table_cap).normal(), regions, progress)


def _lifted(normal: NormalModel, regions: str, progress: Progress) -> Prepared:
    progress("building regions", 0, 1)
    graph = build_regions(normal, regions)
    progress("compiling", 0, 1)
    return PreparedLifted(graph, compile_plan(graph))


def _ground(
    evidence: Evidence,
    sizes: Mapping[str, int] | None,
    regions: str,
    table_cap: int,
    progress: Progress,
) -> Prepared:
    """The model written out under its evidence, and compressed."""
    from liftgbp.grounding import ground_network
    from liftgbp.query.ground_reader import PreparedGround

    network = ground_network(
        evidence,
        sizes,
        table_cap=table_cap,
        progress=progress,
    )
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    graph = _quotient(network, regions, progress)
    sizes = evidence.domain_sizes(sizes)
    return PreparedGround(graph, compile_plan(graph), evidence, sizes, network.atoms)


def _quotient(network: GroundNetwork, regions: str, progress: Progress) -> QuotientGraph:
    from liftgbp.compress import compress, ground_region_graph

    ground_regions = ground_region_graph(network, regions, progress=progress)
    graph = compress(ground_regions, network, progress=progress)
    progress("compiling", 0, 1)
    return graph


def check_queries(
    model: Model,
    queries: str | Iterable[str],
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
) -> None:
    """Refuse queries that no run could answer, before one is started.

    >>> import liftgbp
    >>> liftgbp.check_queries(liftgbp.parse("person = 9\\nsmokes(person)"), ["smokes(x,y)"])
    Traceback (most recent call last):
    liftgbp.errors.QueryError: <query>:1:1: smokes takes 1 argument, got 2
      smokes(x,y)
      ^~~~~~~~~~~
    """
    known = _checked(model, evidence)
    objects = shatter(known.model.without_rules(), known.domain_sizes(sizes))
    for query in checked_texts("queries", queries):
        query_rows(parse_query(query), objects)


# --- networks of other tools


def infer_network(
    path: str | os.PathLike[str],
    *,
    evidence: str | os.PathLike[str] | Mapping[int, int] | None = None,
    queries: str | Iterable[str] = (),
    regions: str = "intersections",
    solver: SolverChoice = "auto",
    progress: Progress = silent,
) -> Answers:
    """Generalized belief propagation on a Markov random field in a `.uai` or `.fg` file.

    Variables that behave alike are found and treated together. Queries name variable 3 `x3`, and
    its values `0`, `1` and so on. Evidence is a `.uai.evid` file or a mapping from variables to
    values. Queries that are stated already here are checked before the run.
    """
    from liftgbp.formats import read_network
    from liftgbp.query.ground_reader import PreparedGround

    chosen_solver = as_solver(solver)
    check_function("progress", progress)
    file = checked_path("the network", path)
    started = time.perf_counter()
    progress("reading", 0, 1)
    network = read_network(file)
    observed = network.observed(evidence)
    given = network.conditioned(observed)
    known, atoms = network.as_evidence(observed)
    if queries:
        check_queries(known.model, queries)
    graph = _quotient(given, regions, progress)
    prepared = PreparedGround(graph, compile_plan(graph), known, {}, atoms)
    return _solved(prepared, chosen_solver, started, progress)


def export_network(
    model: Model,
    path: str | os.PathLike[str],
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    table_cap: int = TABLE_CAP,
    progress: Progress = silent,
) -> None:
    """Write the ground model for other tools, as a `.uai` or `.fg` file.

    Beside it, a file `.atoms.csv` tells which variable is which ground atom. Observed atoms, and
    atoms that no formula touches, are no variables there; they count in the constant factor.
    """
    from liftgbp.formats import check_target, write_network
    from liftgbp.grounding import atom_names, ground_network

    known = _checked(model, evidence, table_cap=table_cap, progress=progress)
    file = checked_path("path", path)
    check_target(file)
    network = ground_network(
        known,
        sizes,
        table_cap=table_cap,
        progress=progress,
    )
    progress("writing", 0, 1)
    if network.atoms is None:
        raise InternalError("a ground model without a table of its atoms")
    write_network(network, file, atom_names(network.atoms, known.model))
