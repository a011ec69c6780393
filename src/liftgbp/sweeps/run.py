"""Sweeping over domain sizes and named weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import TypeVar

import numpy as np

from liftgbp.errors import (
    InputError,
    check_function,
    checked_number,
    checked_texts,
    wrong_type,
)
from liftgbp.model.model import Model, check_model, finite_value
from liftgbp.query import Answer, PreparedLifted, Reader, pattern_text, query_all
from liftgbp.series import SharedPlans, by_layout, solve_series
from liftgbp.shatter import TABLE_CAP, NormalModel, resize, shatter
from liftgbp.solve import Solution, SolverChoice, as_solver

BATCH = 200
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
        for assignment, probability in self.answer.values.items():
            yield {
                **self.point.as_dict(),
                "query": self.answer.query,
                "atom": self.answer.atom,
                "where": self.answer.where,
                "value": self.answer.assignment_text(assignment),
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
    queries: str | Iterable[str] = (),
    regions: str = "intersections",
    solver: SolverChoice = "auto",
    table_cap: int = TABLE_CAP,
    skip: Collection[SweepPoint] = (),
    save: Save = lambda rows: None,
    progress: Progress = lambda stage, done, total: None,
) -> Sweep:
    """Answer queries for all combinations of the given sizes and weights.

    Descent starts afresh at the first few points and at every few after them, and follows what it
    found there to those between.
    Points in `skip` are left out; `save` is called with the rows of each finished batch.

    >>> import liftgbp
    >>> model = liftgbp.parse("s(person)\\n$w = 1\\n$w/|person| s(x) <=> s(y) | x != y")
    >>> result = liftgbp.sweep(model, sizes={"person": [10, 1000]}, weights={"w": [0.5, 1.0]})
    >>> [round(row.answer["true"], 3) for row in result.rows]
    [0.5, 0.5, 0.5, 0.5]
    """
    check_model(model)
    check_function("save", save)
    check_function("progress", progress)
    if isinstance(skip, str | bytes) or not isinstance(skip, Collection):
        raise wrong_type("skip", "a collection of points", skip)
    points = [p for p in sweep_points(sizes, weights) if p not in skip]
    every = [pattern_text(predicate) for predicate in model.predicates.values()]
    asked = checked_texts("queries", queries) or every
    if not asked:
        raise InputError("the model has no predicates, so there is nothing to ask")
    chosen = as_solver(solver)
    normal_forms = _NormalForms(model, checked_number("table_cap", table_cap, least=1))
    plans = SharedPlans(regions)
    rows: list[SweepRow] = []
    for first in range(0, len(points), BATCH):
        progress("sweeping", first, len(points))
        batch = points[first : first + BATCH]
        prepared = [plans.prepare(normal_forms.at(point)) for point in batch]
        found: dict[int, list[SweepRow]] = {}
        for members in by_layout(prepared):
            solutions = solve_series(chosen, [prepared[k].plan for k in members])
            readers = [
                PreparedLifted(prepared[k].graph, prepared[k].plan).reader(solution.log_beliefs)
                for k, solution in zip(members, solutions, strict=True)
            ]
            own = _rows([batch[k] for k in members], readers, solutions, asked)
            found |= zip(members, own, strict=True)
        finished = [row for k in range(len(batch)) for row in found[k]]
        save(finished)
        rows += finished
    return Sweep(tuple(rows))


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
            tuple(zip(sizes, size, strict=True)),
            tuple((name, finite_value(name, w)) for name, w in zip(weights, weight, strict=True)),
        )
        for size in chosen_sizes
        for weight in chosen_weights
    ]


def _listed(name: str, values: Number | Sequence[Number]) -> Sequence[Number]:
    values = values.tolist() if isinstance(values, np.ndarray) else values
    listed = values if isinstance(values, Sequence) else [values]
    if not listed:
        raise InputError(f"the sweep over {name} is empty; give at least one value")
    for value in listed:
        if not isinstance(value, Real):
            raise wrong_type(f"the sweep over {name}", "over numbers", value)
    return list(dict.fromkeys(listed))


class _NormalForms:
    """Makes the normal forms of points, and keeps what the next ones can use again."""

    def __init__(self, model: Model, table_cap: int) -> None:
        self._model = model
        self._table_cap = table_cap
        self._normal: dict[tuple[tuple[str, float], ...], NormalModel] = {}

    def at(self, point: SweepPoint) -> NormalModel:
        """The normal form of a point."""
        sizes = dict(point.sizes)
        last = self._normal.get(point.weights)
        if last is None:
            model = self._model.with_weights(dict(point.weights)) if point.weights else self._model
            normal = shatter(model, sizes, table_cap=self._table_cap)
        else:
            normal = resize(last, sizes)
        self._normal[point.weights] = normal
        return normal


def _rows(
    points: Sequence[SweepPoint],
    readers: Sequence[Reader],
    solutions: Sequence[Solution],
    queries: Sequence[str],
) -> Iterator[list[SweepRow]]:
    """The rows of each point, for points with one layout."""
    by_query = [query_all(query, readers) for query in queries]
    for k, (point, solution) in enumerate(zip(points, solutions, strict=True)):
        # Regions that share nothing have one solution, and need no search for it.
        alone = not readers[k].prepared.plan.layout.message_entries
        minima = 1 if alone else sum(1 for one in solution.points if one.weight > 0)
        yield [
            SweepRow(point, answer, solution.log_z, solution.status.value, minima)
            for every in by_query
            for answer in every[k]
        ]
