"""Sweeping over domain sizes and named weights."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from liftgbp.charts import drawn
from liftgbp.effort import EFFORTS, FACTOR_SCOPES, BlocksChoice, EffortChoice, checked_effort
from liftgbp.errors import (
    InputError,
    check_function,
    checked_number,
    checked_texts,
    wrong_type,
)
from liftgbp.evidence import AnyEvidence, Evidence
from liftgbp.limits import Limits, each_limited, limits_about, reporting
from liftgbp.model.model import Model, check_model
from liftgbp.model.model_checks import finite_value
from liftgbp.pictures.cards import (
    BAD,
    GOOD,
    Shown,
    badge,
    bar,
    card,
    code,
    folded,
    note,
    table,
)
from liftgbp.pictures.line_chart import line_chart
from liftgbp.pictures.markup import Content
from liftgbp.posterior import Answer, Posterior, pattern_text, query_all
from liftgbp.progress import Progress, silent
from liftgbp.report import Answers
from liftgbp.report.rows_shown import rows_table
from liftgbp.series import SharedPlans, by_layout, solve_batch
from liftgbp.shatter import TABLE_CAP, NormalModel, object_classes, resize, shatter
from liftgbp.solve import Flooding, Kind, Solution, Solver, SolverChoice, as_solver
from liftgbp.solve.problem import one_thread
from liftgbp.strategy.growth import AUTO
from liftgbp.strategy.lifted_case import LiftedCase
from liftgbp.strategy.parts import independent_parts, may_miss_minima
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import Run
from liftgbp.strategy.strategy import best_answers
from liftgbp.sweeps.sweep_curves import BranchValue, Drawn, sweep_figure, swept_curves
from liftgbp.workers import checked_jobs, finished, in_order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BATCH = 200
"""How many points are solved together, where they can be; their rows are saved together. The last
digits of a point may depend on those beside it, so nothing else decides which these are."""

Number = TypeVar("Number", int, float)
Record = dict[str, object]


ANSWER_COLUMNS = frozenset(
    [
        "query",
        "atom",
        "where",
        "value",
        "probability",
        "log_z",
        "trusted",
        "status",
        "minima",
        "reason",
    ]
)


def size_column(sort: str) -> str:
    """The name of the column that holds the size of a sort.

    >>> size_column("person"), size_column("value")
    ('person', '|value|')
    """
    return f"|{sort}|" if sort in ANSWER_COLUMNS else sort


@dataclass(frozen=True, slots=True, repr=False)
class SweepPoint(Shown):
    """One setting of the swept sizes and weights.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sweep = liftgbp.sweep(model, {"person": [10, 1000]}, queries=["smokes(x)"], effort="quick")
    >>> [row.point.sizes for row in sweep]
    [(('person', 10),), (('person', 1000),)]
    """

    sizes: tuple[tuple[str, int], ...]
    weights: tuple[tuple[str, float], ...]

    def _headline(self) -> str:
        return ", ".join(f"{name} = {value:g}" for name, value in self.as_dict().items())

    def as_dict(self) -> dict[str, float]:
        """The setting by name; named weights carry their dollar sign.

        Sizes of sorts that are called like a column of answers stand between bars, as in models.
        """
        sizes = {size_column(name): size for name, size in self.sizes}
        return {**sizes, **{f"${name}": value for name, value in self.weights}}


@dataclass(frozen=True, slots=True)
class Branch:
    """A row of an answer at one stationary point of the free energy.

    `weight` is the share of the point in the answer, and `stable` says whether it is a minimum.
    """

    values: dict[tuple[str, ...], float]
    weight: float
    stable: bool
    log_z: float


@dataclass(frozen=True, slots=True, repr=False)
class SweepRow(Shown):
    """One row of an answer at one point of a sweep.

    `trusted` says whether the numbers of the point can be used; if not, `reason` says why.
    `branches` are the probabilities at each stationary point of the free energy, the best first,
    where descent found several.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sweep = liftgbp.sweep(model, {"person": [10, 1000]}, queries=["smokes(x)"], effort="quick")
    >>> row = next(iter(sweep))
    >>> row.trusted, row.status, row.answer.atom
    (True, 'converged', 'smokes(x)')
    """

    point: SweepPoint
    answer: Answer
    log_z: float
    status: str
    minima: int
    trusted: bool
    reason: str
    branches: tuple[Branch, ...] = ()

    def _headline(self) -> str:
        trust = "" if self.trusted else " (not trusted)"
        return f"at {self.point._headline()}: {self.answer}{trust}"

    def _body(self) -> Iterable[Content]:
        yield badge(GOOD, "trusted") if self.trusted else badge(BAD, self.reason)
        yield rows_table([self.answer])

    def records(self) -> Iterator[Record]:
        """The row in long form, one record per assignment of values."""
        for assignment, probability in self.answer.values.items():
            yield {
                **self.point.as_dict(),
                "query": self.answer.query,
                "atom": self.answer.atom,
                "where": self.answer.where,
                "value": self.answer.assignment_text(assignment),
                "probability": probability,
                "log_z": self.log_z,
                "trusted": self.trusted,
                "status": self.status,
                "minima": self.minima,
                "reason": self.reason,
            }

    def branch_values(self) -> Iterator[list[BranchValue]]:
        """For each record, its probability at all stationary points."""
        for assignment in self.answer.values:
            yield [
                BranchValue(own.values[assignment], own.stable, own.weight > SMALLEST_SHARE)
                for own in self.branches
            ]


class Sweep(Shown):
    """The rows of a sweep, in the order of its points.

    Iterating over it solves batch after batch; rows that were found once are kept.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sweep = liftgbp.sweep(model, {"person": [10, 1000]}, queries=["smokes(x)"], effort="quick")
    >>> [(row.point.as_dict(), round(row.answer["true"], 4)) for row in sweep]
    [({'person': 10}, 0.5), ({'person': 1000}, 0.5)]
    """

    def __init__(self, batches: Iterator[Sequence[SweepRow]]) -> None:
        self._batches = batches
        self._rows: list[SweepRow] = []
        self._error: BaseException | None = None

    def _headline(self) -> str:
        points = len({row.point for row in self._rows})
        return f"{points} points, {len(self._rows)} rows so far"

    def _repr_html_(self) -> str:
        # A notebook that shows a sweep wants to see all of it.
        rows = self.rows
        shown = self._curves()
        points = list(dict.fromkeys(row.point for row in rows))
        doubtful = len({row.point for row in rows if not row.trusted})
        trust = f"{doubtful} of {len(points)} points are not trusted"
        lines = [
            (
                row.point._headline(),
                code(row.answer.atom),
                row.answer.where,
                bar(p),
                f"{p:.6f}",
                "" if row.trusted else "not trusted",
            )
            for row in rows
            for p in list(row.answer.shown_values.values())[-1:]
        ]
        return card(
            "Sweep ",
            f"{len(points)} points, {len(rows)} rows",
            badge(BAD, trust) if doubtful else badge(GOOD, "all points are trusted"),
            line_chart(shown.along, shown.curves).svg(),
            *([note(f"the same everywhere: {'; '.join(shown.constant)}")] * bool(shown.constant)),
            folded(
                "as a table",
                table(("at", "atom", "where", "", "probability", ""), lines, numbers=[4]),
            ),
        )

    def _curves(self) -> Drawn:
        records = [record for row in self for record in row.records()]
        branches = [own for row in self for own in row.branch_values()]
        return swept_curves(records, branches, ANSWER_COLUMNS)

    def plot(self) -> Figure:
        """A figure of Matplotlib: probabilities over the size or weight with most values.

        The axis shows where they vary. Rows that are the same everywhere are left out, and named
        below. Thin lines are all stationary points that were found, dashed where they are not
        stable; crosses are points that are not trusted.
        """
        return drawn(lambda: sweep_figure(self._curves()))

    def __iter__(self) -> Iterator[SweepRow]:
        given = 0
        while True:
            yield from self._rows[given:]
            given = len(self._rows)
            batch = self._next_batch()
            if batch is None and given == len(self._rows):
                return
            self._rows += batch or ()

    def _next_batch(self) -> Sequence[SweepRow] | None:
        if self._error is not None:
            # Otherwise a second look would show the rows before the error as if they were all.
            raise self._error
        try:
            return next(self._batches, None)
        except BaseException as error:
            self._error = error
            raise

    @property
    def rows(self) -> tuple[SweepRow, ...]:
        """All rows; what is not solved yet is solved first."""
        return tuple(self)

    def records(self) -> list[Record]:
        """All rows in long form: one record per point, row and assignment of values."""
        return [record for row in self for record in row.records()]

    def to_frame(self) -> Any:
        """The records as a data frame of pandas, or of polars where pandas is not installed."""
        for name in ("pandas", "polars"):
            try:
                library = importlib.import_module(name)
            except ImportError:
                continue
            return library.DataFrame(self.records())
        raise InputError("a data frame needs pandas or polars; pip install pandas")


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
    number of them. The processes end with the last point, or when the result is forgotten.

    >>> import liftgbp
    >>> model = liftgbp.parse("s(person)\\n$w = 1\\n$w/|person| s(x) <=> s(y) | x != y")
    >>> result = liftgbp.sweep(model, sizes={"person": [10, 1000]}, weights={"w": [0.5, 1.0]})
    >>> [round(row.answer["true"], 3) for row in result]
    [0.5, 0.5, 0.5, 0.5]
    """
    points = sweep_points(sizes, weights)
    settings = checked_settings(
        model,
        queries=queries,
        evidence=evidence,
        effort=effort,
        sum_over=sum_over,
        blocks=blocks,
        regions=regions,
        exact=exact,
        solver=solver,
        table_cap=table_cap,
    )
    settings.check_names(points[0])
    check_function("progress", progress)
    found = in_order(
        solved_batches(settings, settings.batches(points), reporting(progress), checked_jobs(jobs))
    )
    return Sweep(each_limited(limits_about(model, limits), found))


@dataclass(frozen=True, eq=False, slots=True)
class SweepSettings:
    """What is the same at all points of a sweep."""

    known: Evidence
    queries: tuple[str, ...]
    effort: EffortChoice
    request: Request
    solver: Solver
    table_cap: int

    @property
    def together(self) -> bool:
        """Whether points can be solved together: with one block each, and no sum over counts."""
        request = self.request
        alone = (
            request.needs_classes
            or request.regions == AUTO
            or request.exact_states(EFFORTS[self.effort])
        )
        return self.effort == "quick" and not alone

    def batches(self, points: Sequence[SweepPoint]) -> list[Sequence[SweepPoint]]:
        """The points in batches that are solved apart from each other."""
        size = BATCH if self.together else 1
        return [points[first : first + size] for first in range(0, len(points), size)]

    def known_at(self, point: SweepPoint) -> Evidence:
        """The evidence, about the model with the weights of a point."""
        if not point.weights:
            return self.known
        weights = dict(point.weights)
        return replace(self.known, model=self.known.model.with_weights(weights), read_for=None)

    def check_names(self, point: SweepPoint) -> None:
        """Refuse sorts and weights that the model lacks; all points have the same ones."""
        self.known_at(point).domain_sizes(dict(point.sizes))


def checked_settings(
    model: Model,
    *,
    queries: str | Iterable[str] = (),
    evidence: AnyEvidence | None = None,
    effort: EffortChoice = "normal",
    sum_over: str | Iterable[str] | None = None,
    blocks: BlocksChoice | None = None,
    regions: str | None = None,
    exact: bool | None = None,
    solver: SolverChoice = "auto",
    table_cap: int = TABLE_CAP,
) -> SweepSettings:
    """The settings; refuses what could not be answered before anything is computed."""
    check_model(model)
    known = Evidence.of(model, evidence)
    every = tuple(map(pattern_text, model.asked_by_default))
    asked = checked_texts("queries", queries) or every
    if not asked:
        raise InputError("the model has no predicates, so there is nothing to ask")
    if regions is not None and not isinstance(regions, str):
        raise wrong_type("regions", "the name of a region family, as in 'objects:3'", regions)
    chosen = as_solver(solver)
    return SweepSettings(
        known,
        asked,
        checked_effort(effort, chosen, blocks),
        Request.of(chosen, regions=regions, sum_over=sum_over, blocks=blocks, exact=exact),
        chosen,
        checked_number("table_cap", table_cap, least=1),
    )


def sweep_points(
    sizes: Mapping[str, int | Sequence[int]] | None,
    weights: Mapping[str, float | Sequence[float]] | None,
) -> list[SweepPoint]:
    """All combinations of sizes and weights, the last one fastest."""
    sizes = {} if sizes is None else sizes
    weights = {} if weights is None else weights
    for what, given in (("sizes", sizes), ("weights", weights)):
        if not isinstance(given, Mapping):
            raise wrong_type(what, "a mapping from names to lists of numbers", given)
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
    """A size as a whole number of Python, if it is one; `check_names` refuses others."""
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
        if not settings.together:
            return [row for point in points for row in _rows_alone(settings, point)]
        normal_forms = _NormalForms(settings)
        normals = [normal_forms.at(point) for point in points]
        found = _rows_of_batch(settings, points, normals)
        return [row for k in range(len(points)) for row in found[k]]


def _rows_of_batch(
    settings: SweepSettings,
    points: Sequence[SweepPoint],
    normals: Sequence[NormalModel],
) -> dict[int, list[SweepRow]]:
    plans = SharedPlans(settings.request.regions or FACTOR_SCOPES)
    prepared = [plans.prepare(normal) for normal in normals]
    found: dict[int, list[SweepRow]] = {}
    for members in by_layout([own.plan for own in prepared]):
        solutions = solve_batch(settings.solver, [prepared[k].plan for k in members])
        readers = [
            prepared[k].reader(solution.log_beliefs)
            for k, solution in zip(members, solutions, strict=True)
        ]
        by_query = [query_all(query, readers) for query in settings.queries]
        # Regions that share nothing have one solution, and need no search for it.
        alone = not prepared[members[0]].plan.layout.message_entries
        for place, (k, solution) in enumerate(zip(members, solutions, strict=True)):
            answers = Posterior(readers[place], solution)
            if _worth_more(settings, normals[k], answers):
                found[k] = _rows_alone(settings, points[k])
                continue
            rows = [row for every in by_query for row in every[place]]
            minima = 1 if alone else None
            found[k] = _rows(settings, points[k], rows, answers, minima)
    return found


def _worth_more(settings: SweepSettings, normal: NormalModel, answers: Posterior) -> bool:
    """Whether a point is solved once more, alone, as `infer` does it.

    That solves independent parts apart, and tries more where an answer is not trusted. Message
    passing is the same either way.
    """
    if isinstance(settings.solver, Flooding):
        return False
    apart = may_miss_minima(answers.result) and len(independent_parts(normal)) > 1
    return apart or not answers.trusted


def _rows_alone(settings: SweepSettings, point: SweepPoint) -> list[SweepRow]:
    """The rows of a point that is solved without regard to the others."""
    objects = object_classes(settings.known_at(point), dict(point.sizes))
    case = LiftedCase(objects, Run(settings.solver, settings.table_cap, silent))
    answers = best_answers(case, settings.request, EFFORTS[settings.effort])
    rows = [row for query in settings.queries for row in query_all(query, [answers.reader])[0]]
    return _rows(settings, point, rows, answers)


def _branches(answers: Posterior, queries: Sequence[str]) -> list[tuple[Branch, ...]]:
    """For each row of an answer, what it is at all stationary points, if there are several."""
    points = answers.result.points
    if len(points) < 2 or not isinstance(answers.result, Solution):
        return []
    readers = [answers.reader.prepared.reader(point.log_beliefs) for point in points]
    found = [query_all(query, [reader]) for query in queries for reader in readers]
    by_point = [
        [row for own in found[k :: len(points)] for row in own[0]] for k in range(len(points))
    ]
    return [
        tuple(
            Branch(row.values, point.weight, point.verdict.kind in STABLE, point.log_z)
            for row, point in zip(rows, points, strict=True)
        )
        for rows in zip(*by_point, strict=True)
    ]


SMALLEST_SHARE = 1e-6
"""Points with less are not part of an answer, as far as its digits show."""

STABLE = (Kind.MINIMUM, Kind.BOUNDARY)
"""Points to which small deviations return."""


def _rows(
    settings: SweepSettings,
    point: SweepPoint,
    rows: Sequence[Answer],
    answers: Posterior,
    minima: int | None = None,
) -> list[SweepRow]:
    result, reason = answers.result, Answers(answers).reason
    found = sum(1 for one in result.points if one.weight > 0) if minima is None else minima
    log_z, status = result.log_z, result.status.value
    branches = _branches(answers, settings.queries) or [()] * len(rows)
    return [
        SweepRow(point, row, log_z, status, found, not reason, reason, own)
        for row, own in zip(rows, branches, strict=True)
    ]


class _NormalForms:
    """Makes the normal forms of points, and keeps what the next ones can use again."""

    def __init__(self, settings: SweepSettings) -> None:
        self._settings = settings
        self._last: dict[tuple[tuple[str, float], ...], NormalModel] = {}

    def at(self, point: SweepPoint) -> NormalModel:
        """The normal form of a point."""
        sizes = dict(point.sizes)
        last = self._last.get(point.weights)
        if last is None:
            known = self._settings.known_at(point)
            cap = self._settings.table_cap
            normal = shatter(known.model, sizes, evidence=known, table_cap=cap)
        else:
            normal = resize(last, sizes)
        self._last[point.weights] = normal
        return normal
