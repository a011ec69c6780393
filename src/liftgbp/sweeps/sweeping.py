"""Sweeping over domain sizes and named weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from numbers import Real
from typing import TypeVar

import numpy as np

from liftgbp.evidence import AnyEvidence, Evidence, Problem
from liftgbp.lift.regions import FACTOR_SCOPES, GROWING
from liftgbp.lift.shatter import TABLE_CAP, NormalModel, Shattering, object_classes, resize
from liftgbp.methods.effort import (
    EFFORTS,
    BlocksChoice,
    EffortChoice,
    checked_effort,
)
from liftgbp.methods.series import SharedPlans, by_layout, solve_batch
from liftgbp.model.model import Model
from liftgbp.model.model_checks import finite_value
from liftgbp.posterior import Answer, Posterior, pattern_text, query_all
from liftgbp.report.trust import reason_of
from liftgbp.solve import Flooding, Kind, Solution, Solver, SolverChoice, as_solver
from liftgbp.solve.energy import one_thread
from liftgbp.strategy.answering import answers_about
from liftgbp.strategy.parts import independent_parts, may_miss_minima
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import Run
from liftgbp.support.errors import (
    InputError,
    check_function,
    check_mapping,
    checked_number,
    checked_texts,
    wrong_type,
)
from liftgbp.support.limits import Limits, each_limited, limits_about, reporting
from liftgbp.support.progress import Progress, silent
from liftgbp.support.workers import checked_jobs, finished, in_order
from liftgbp.sweeps.sweep_rows import Branch, Sweep, SweepPoint, SweepRow

BATCH = 200
"""How many points are solved together, where they can be; their rows are saved together. The last
digits of a point may depend on those beside it, so nothing else decides which these are."""

STABLE = (Kind.MINIMUM, Kind.BOUNDARY)
"""Points to which small deviations return."""

Number = TypeVar("Number", int, float)


def sweep(
    model: Model,
    sizes: Mapping[str, int | Sequence[int]] | None = None,
    *,
    weights: Mapping[str, float | Sequence[float]] | None = None,
    queries: str | Iterable[str] = (),
    evidence: AnyEvidence | None = None,
    effort: EffortChoice = "normal",
    sum_over: str | Iterable[str] | None = None,
    blocks: BlocksChoice | None = None,
    regions: str | None = None,
    exact: bool | None = None,
    solver: SolverChoice = "auto",
    table_cap: int = TABLE_CAP,
    jobs: int = 1,
    batch: int = BATCH,
    limits: Limits | None = None,
    progress: Progress = silent,
) -> Sweep:
    """Answer queries for all combinations of the given sizes and weights.

    The rows come batch by batch while the result is iterated over. Evidence is the same at all
    points, and objects that it does not tell apart stay together. `effort`, `sum_over`,
    `blocks`, `regions` and `exact` are as for `infer`, and so are the answers. With
    `effort="quick"` and no sum over counts, points share their work: hundreds of them take no
    longer than a few others. `limits` are about the time and memory that all points take together.

    With `jobs=4`, four processes share the points. The rows and their digits are the same for any
    number of them. The processes end with the last point, or when the result is forgotten. At most
    `batch` points are solved together; the last digits of a point may depend on this.

    >>> import liftgbp
    >>> model = liftgbp.parse("s(person)\\n$w = 1\\n$w/|person| s(x) <=> s(y) | x != y")
    >>> result = liftgbp.sweep(model, sizes={"person": [10, 1000]}, weights={"w": [0.5, 1.0]})
    >>> [round(row.answer["true"], 3) for row in result]
    [0.5, 0.5, 0.5, 0.5]
    """
    known = Evidence.of(model, evidence)
    every = tuple(map(pattern_text, model.asked_by_default))
    texts = checked_texts("queries", queries) or every
    if not texts:
        raise InputError("the model has no predicates, so there is nothing to ask")
    chosen = as_solver(solver)
    settings = SweepSettings(
        model,
        known,
        sweep_points(sizes, weights),
        texts,
        checked_effort(effort, chosen, blocks),
        Request.of(chosen, regions=regions, sum_over=sum_over, blocks=blocks, exact=exact),
        chosen,
        checked_number("table_cap", table_cap, least=1),
        checked_number("batch", batch, least=1),
    )
    check_function("progress", progress)
    batches = solved_batches(settings, settings.batches(), reporting(progress), checked_jobs(jobs))
    return Sweep(settings, each_limited(limits_about(model, limits), in_order(batches)))


@dataclass(frozen=True, eq=False, slots=True)
class SweepSettings:
    """The points of a sweep, and what is the same at all of them."""

    model: Model
    evidence: Evidence
    points: Sequence[SweepPoint]
    queries: tuple[str, ...]
    effort: EffortChoice
    request: Request
    solver: Solver
    table_cap: int
    batch: int

    @property
    def together(self) -> bool:
        """Whether points can be solved together: with one block each, and no sum over counts."""
        request = self.request
        alone = (
            request.needs_classes
            or request.regions == GROWING
            or request.exact_states(EFFORTS[self.effort])
        )
        return self.effort == "quick" and not alone

    def __post_init__(self) -> None:
        # Refuses sorts and weights that the model lacks; all points have the same ones.
        self.problem_at(self.points[0])

    def batches(self) -> list[Sequence[SweepPoint]]:
        """The points in batches that are solved apart from each other."""
        size = self.batch if self.together else 1
        starts = range(0, len(self.points), size)
        return [self.points[first : first + size] for first in starts]

    def problem_at(self, point: SweepPoint) -> Problem:
        """The model with the weights of a point under the evidence, and over its sizes."""
        model = self.model.with_weights(dict(point.weights)) if point.weights else self.model
        return Problem.of(model, self.evidence, dict(point.sizes))


def sweep_points(
    sizes: Mapping[str, int | Sequence[int]] | None,
    weights: Mapping[str, float | Sequence[float]] | None,
) -> list[SweepPoint]:
    """All combinations of sizes and weights, the last one fastest."""
    sizes = {} if sizes is None else sizes
    weights = {} if weights is None else weights
    for what, given in (("sizes", sizes), ("weights", weights)):
        check_mapping(what, given, "from names to lists of numbers")
    chosen_sizes = product(*(_listed(name, values) for name, values in sizes.items()))
    chosen_weights = list(product(*(_listed(name, values) for name, values in weights.items())))
    return [
        SweepPoint(
            tuple((name, _whole(n)) for name, n in zip(sizes, size, strict=True)),
            tuple((name, finite_value(name, w)) for name, w in zip(weights, weight, strict=True)),
        )
        for size in chosen_sizes
        for weight in chosen_weights
    ]


def _whole(size: int) -> int:
    """A size as a whole number of Python, if it is one; `Problem.of` refuses others."""
    try:
        whole = int(size)
    except (ValueError, OverflowError):
        return size
    return whole if whole == size else size


def _listed(name: str, values: Number | Sequence[Number]) -> Sequence[Number]:
    values = values.tolist() if isinstance(values, np.ndarray) else values
    listed = values if isinstance(values, Sequence) else [values]
    if not listed:
        raise InputError(f"the sweep over {name} is empty; give at least one value")
    for value in listed:
        if not isinstance(value, Real):
            raise wrong_type(f"the sweep over {name}", "over numbers", value)
    return list(dict.fromkeys(listed))


# --- solving


def solved_batches(
    settings: SweepSettings,
    batches: Sequence[Sequence[SweepPoint]],
    progress: Progress,
    jobs: int,
) -> Iterator[tuple[int, list[SweepRow]]]:
    """The place of each batch and the rows of its points, as they are solved."""
    total, done = sum(map(len, batches)), 0
    progress("sweeping", done, total)
    for place, rows in finished(partial(_solved, settings), batches, jobs):
        yield place, rows
        done += len(batches[place])
        if done < total:
            progress("sweeping", done, total)


def _solved(settings: SweepSettings, points: Sequence[SweepPoint]) -> list[SweepRow]:
    """The rows of a batch, whichever process solves it: nothing is shared with other batches."""
    with one_thread():
        if settings.together:
            return _rows_together(settings, points)
        return [row for point in points for row in _rows_alone(settings, point)]


def _rows_together(settings: SweepSettings, points: Sequence[SweepPoint]) -> list[SweepRow]:
    normals = _normal_forms(settings, points)
    plans = SharedPlans(settings.request.regions or FACTOR_SCOPES)
    prepared = [plans.prepare(normal) for normal in normals]
    rows: dict[int, list[SweepRow]] = {}
    for members in by_layout([one.plan for one in prepared]):
        solutions = solve_batch(settings.solver, [prepared[k].plan for k in members])
        readers = [
            prepared[k].reader(solution.log_beliefs)
            for k, solution in zip(members, solutions, strict=True)
        ]
        by_query = [query_all(query, readers) for query in settings.queries]
        # Regions that share nothing have one solution, and need no search for it.
        minima = None if prepared[members[0]].plan.layout.message_entries else 1
        for place, (k, solution) in enumerate(zip(members, solutions, strict=True)):
            answers = Posterior(readers[place], solution)
            if _worth_more(settings, normals[k], answers):
                rows[k] = _rows_alone(settings, points[k])
            else:
                answer_rows = [row for every in by_query for row in every[place]]
                rows[k] = _rows(settings, points[k], answer_rows, answers, minima)
    return [row for k in range(len(points)) for row in rows[k]]


def _normal_forms(settings: SweepSettings, points: Sequence[SweepPoint]) -> list[NormalModel]:
    """The normal forms of points; those with equal weights share what does not depend on sizes."""
    last: dict[tuple[tuple[str, float], ...], NormalModel] = {}
    forms = []
    for point in points:
        sizes = dict(point.sizes)
        if point.weights in last:
            normal = resize(last[point.weights], sizes)
        else:
            objects = object_classes(settings.problem_at(point))
            normal = Shattering(objects, table_cap=settings.table_cap).normal()
        last[point.weights] = normal
        forms.append(normal)
    return forms


def _worth_more(settings: SweepSettings, normal: NormalModel, answers: Posterior) -> bool:
    """Whether a point is solved once more, alone, as `infer` does it.

    That solves independent parts apart, and tries more where an answer is refused. Message
    passing is the same either way.
    """
    if isinstance(settings.solver, Flooding):
        return False
    apart = may_miss_minima(answers.result) and len(independent_parts(normal)) > 1
    return apart or not answers.sound


def _rows_alone(settings: SweepSettings, point: SweepPoint) -> list[SweepRow]:
    """The rows of a point that is solved without regard to the others."""
    run = Run(settings.solver, settings.table_cap, silent)
    effort = EFFORTS[settings.effort]
    answers = answers_about(settings.problem_at(point), "lifted", effort, settings.request, run)
    rows = [row for query in settings.queries for row in query_all(query, [answers.reader])[0]]
    return _rows(settings, point, rows, answers)


def _rows(
    settings: SweepSettings,
    point: SweepPoint,
    rows: Sequence[Answer],
    answers: Posterior,
    minima: int | None = None,
) -> list[SweepRow]:
    result, reason = answers.result, reason_of(answers)
    if minima is None:
        minima = sum(1 for one in result.points if one.weight > 0)
    log_z, status = result.log_z, result.status.value
    branches = _branches(answers, settings.queries) or [()] * len(rows)
    return [
        SweepRow(point, row, log_z, status, minima, answers.standing, reason, some)
        for row, some in zip(rows, branches, strict=True)
    ]


def _branches(answers: Posterior, queries: Sequence[str]) -> list[tuple[Branch, ...]]:
    """For each row of an answer, what it is at all stationary points, if there are several."""
    points = answers.result.points
    if len(points) < 2 or not isinstance(answers.result, Solution):
        return []
    by_point = []
    for point in points:
        reader = answers.reader.prepared.reader(point.log_beliefs)
        by_point.append([row for query in queries for row in query_all(query, [reader])[0]])
    return [
        tuple(
            Branch(row.values, point.weight, point.verdict.kind in STABLE, point.log_z)
            for row, point in zip(rows, points, strict=True)
        )
        for rows in zip(*by_point, strict=True)
    ]
