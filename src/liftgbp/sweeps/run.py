"""Sweeping over domain sizes and named weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from liftgbp.errors import InputError
from liftgbp.model.model import Model
from liftgbp.plan import Plan, compile_plan, refill
from liftgbp.query import Answer, Answers
from liftgbp.regions import LiftedRegionGraph, build_regions
from liftgbp.shatter import TABLE_CAP, NormalModel, shatter
from liftgbp.solve import Descent, Flooding, Solution, choose_solver

STRIDE = 8
"""Descent starts afresh at every so many points of a sweep."""

BATCH = 100
"""Points that are solved together, and saved together."""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One setting of the swept sizes and weights."""

    sizes: tuple[tuple[str, int], ...]
    weights: tuple[tuple[str, float], ...]

    def as_dict(self) -> dict[str, float]:
        """The setting by name; named weights carry their dollar sign."""
        return {**dict(self.sizes), **{f"${name}": value for name, value in self.weights}}


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One row of an answer at one point of a sweep."""

    point: SweepPoint
    answer: Answer
    log_z: float
    status: str
    minima: int

    def records(self) -> Iterator[dict[str, object]]:
        """The row in long form, one record per value."""
        for value, probability in self.answer.values.items():
            yield {
                **self.point.as_dict(),
                "query": self.answer.query,
                "atom": self.answer.atom,
                "where": self.answer.where,
                "value": value,
                "probability": probability,
                "log_z": self.log_z,
                "status": self.status,
                "minima": self.minima,
            }


@dataclass(frozen=True, slots=True)
class Sweep:
    """The rows of a sweep, in the order of its points."""

    rows: tuple[SweepRow, ...]

    def records(self) -> list[dict[str, object]]:
        """All rows in long form: a table with one record per point, row and value."""
        return [record for row in self.rows for record in row.records()]

    @property
    def failed(self) -> int:
        """The number of points whose numbers should not be trusted."""
        return len({row.point for row in self.rows if row.status != "converged"})


Save = Callable[[Sequence[SweepRow]], None]
Progress = Callable[[str, int, int], None]


def sweep(
    model: Model,
    sizes: Mapping[str, int | Sequence[int]] | None = None,
    *,
    weights: Mapping[str, float | Sequence[float]] | None = None,
    queries: Sequence[str] = (),
    regions: str = "intersections",
    solver: str = "auto",
    damping: float = 0.5,
    adaptive: bool = False,
    iterations: int = 500,
    tol: float = 1e-12,
    seed: int = 0,
    table_cap: int = TABLE_CAP,
    skip: Collection[SweepPoint] = (),
    save: Save = lambda rows: None,
    progress: Progress = lambda stage, done, total: None,
) -> Sweep:
    """Answer queries for all combinations of the given sizes and weights.

    Descent starts afresh at every few points and follows what it found there to those between.
    Points in `skip` are left out; `save` is called with the rows of each finished batch.

    >>> import liftgbp
    >>> model = liftgbp.parse("s(person)\\n$w = 1\\n$w/|person| s(x) <=> s(y) | x != y")
    >>> result = liftgbp.sweep(model, sizes={"person": [10, 1000]}, weights={"w": [0.5, 1.0]})
    >>> [round(row.answer.values["true"], 3) for row in result.rows]
    [0.5, 0.5, 0.5, 0.5]
    """
    points = [p for p in sweep_points(sizes or {}, weights or {}) if p not in skip]
    bases: list[_Base] = []
    rows: list[SweepRow] = []
    for first in range(0, len(points), BATCH):
        progress("sweeping", first, len(points))
        batch = points[first : first + BATCH]
        prepared = [_prepare(model, point, regions, table_cap, bases) for point in batch]
        answers: dict[int, Answers] = {}
        for members in _by_layout(prepared):
            plans = [prepared[k].plan for k in members]
            method = choose_solver(
                solver,
                plans[0],
                damping=damping,
                adaptive=adaptive,
                iterations=iterations,
                tol=tol,
                seed=seed,
                random=0,
            )
            for k, solution in zip(members, _solve(method, plans), strict=True):
                answers[k] = Answers.lifted(prepared[k].graph, prepared[k].plan, solution)
        found = [row for k, point in enumerate(batch) for row in _rows(point, answers[k], queries)]
        save(found)
        rows += found
    return Sweep(tuple(rows))


def sweep_points(
    sizes: Mapping[str, int | Sequence[int]], weights: Mapping[str, float | Sequence[float]]
) -> list[SweepPoint]:
    """All combinations of sizes and weights, the last one fastest."""
    chosen_sizes = product(*(_listed(name, values) for name, values in sizes.items()))
    chosen_weights = list(product(*(_listed(name, values) for name, values in weights.items())))
    return [
        SweepPoint(
            tuple(zip(sizes, size, strict=True)),
            tuple((name, float(w)) for name, w in zip(weights, weight, strict=True)),
        )
        for size in chosen_sizes
        for weight in chosen_weights
    ]


def _listed(name: str, values: Number | Sequence[Number]) -> Sequence[Number]:
    listed = values if isinstance(values, Sequence) else [values]
    if not listed:
        raise InputError(f"the sweep over {name} is empty; give at least one value")
    return listed


@dataclass(frozen=True, eq=False, slots=True)
class _Base:
    graph: LiftedRegionGraph
    plan: Plan


def _prepare(
    model: Model, point: SweepPoint, regions: str, table_cap: int, bases: list[_Base]
) -> _Base:
    """The graph and plan of a point, on the layout of an earlier one where that fits."""
    if point.weights:
        model = model.with_weights(dict(point.weights))
    normal = shatter(model, dict(point.sizes), table_cap=table_cap)
    for base in bases:
        if base.graph.fits(normal):
            return _refit(base, normal)
    graph = build_regions(normal, regions)
    bases.append(_Base(graph, compile_plan(graph)))
    return bases[-1]


def _refit(base: _Base, normal: NormalModel) -> _Base:
    graph = base.graph.resized(normal)
    return _Base(graph, refill(base.plan, graph))


def _solve(method: Descent | Flooding, plans: Sequence[Plan]) -> list[Solution]:
    """All solutions; descent follows those of every few points to the points between."""
    if isinstance(method, Flooding) or len(plans) < 2 * STRIDE:
        return method.solve_all(plans)
    anchors = sorted({*range(0, len(plans), STRIDE), len(plans) - 1})
    found = dict(zip(anchors, method.solve_all([plans[k] for k in anchors]), strict=True))
    between = [k for k in range(len(plans)) if k not in found]
    around = [
        (found[k - k % STRIDE], found[min(k - k % STRIDE + STRIDE, len(plans) - 1)])
        for k in between
    ]
    found |= zip(between, method.follow([plans[k] for k in between], around), strict=True)
    return [found[k] for k in range(len(plans))]


def _by_layout(prepared: Sequence[_Base]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for k, one in enumerate(prepared):
        groups.setdefault(id(one.plan.layout), []).append(k)
    return list(groups.values())


def _rows(point: SweepPoint, answers: Answers, queries: Sequence[str]) -> Iterator[SweepRow]:
    asked = [row for query in queries for row in answers.query(query)] if queries else answers.all
    minima = sum(1 for one in answers.minima if one.weight > 0)
    for answer in asked:
        yield SweepRow(point, answer, answers.log_z, answers.status.value, minima)
