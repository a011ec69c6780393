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
from liftgbp.plan import Plan, compile_plan, refill
from liftgbp.query import Answer, LiftedReader, pattern_text, query_all
from liftgbp.regions import LiftedRegionGraph, build_regions
from liftgbp.shatter import TABLE_CAP, NormalModel, resize, shatter
from liftgbp.solve import (
    Descent,
    Solution,
    Solver,
    SolverChoice,
    as_solver,
    solve_along,
    solver_for,
    with_random_starts,
)

STRIDE = 10
"""Descent starts afresh at the first so many points of a batch, and at every so many after them."""

RANDOM = 2
"""How many random starts there are then."""

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
    >>> [round(row.answer.values["true"], 3) for row in result.rows]
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
    chosen = with_random_starts(as_solver(solver), RANDOM)
    workshop = _Workshop(model, regions, checked_number("table_cap", table_cap, least=1))
    rows: list[SweepRow] = []
    for first in range(0, len(points), BATCH):
        progress("sweeping", first, len(points))
        batch = points[first : first + BATCH]
        prepared = [workshop.prepare(point) for point in batch]
        found: dict[int, list[SweepRow]] = {}
        for members in _by_layout(prepared):
            plans = [prepared[k].plan for k in members]
            solutions = _solve(solver_for(chosen, plans[0].layout), plans)
            readers = [LiftedReader(prepared[k].graph, prepared[k].plan) for k in members]
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


@dataclass(frozen=True, eq=False, slots=True)
class _Prepared:
    """All that a solver needs for one point."""

    graph: LiftedRegionGraph
    plan: Plan


class _Workshop:
    """Prepares point after point, and keeps what the next ones can use again."""

    def __init__(self, model: Model, regions: str, table_cap: int) -> None:
        self._model = model
        self._regions = regions
        self._table_cap = table_cap
        self._normal: dict[tuple[tuple[str, float], ...], NormalModel] = {}
        self._bases: list[_Prepared] = []

    def prepare(self, point: SweepPoint) -> _Prepared:
        """The graph and plan of a point, on the layout of an earlier one where that fits."""
        normal = self._normal_form(point)
        # The last one that was built is over the largest domains so far, and fits most often.
        for base in reversed(self._bases):
            if base.graph.fits(normal) and _same_supports(normal, base.graph.normal):
                return _refitted(base, base.graph.resized(normal))
        built = self._built(build_regions(normal, self._regions))
        self._bases.append(built)
        return built

    def _built(self, graph: LiftedRegionGraph) -> _Prepared:
        """Over small domains graphs may differ, and have to be built; often they do not."""
        for base in self._bases:
            if graph.alike(base.graph) and _same_supports(graph.normal, base.graph.normal):
                return _refitted(base, graph)
        return _Prepared(graph, compile_plan(graph))

    def _normal_form(self, point: SweepPoint) -> NormalModel:
        sizes = dict(point.sizes)
        last = self._normal.get(point.weights)
        if last is None:
            model = self._model.with_weights(dict(point.weights)) if point.weights else self._model
            normal = shatter(model, sizes, table_cap=self._table_cap)
        else:
            normal = resize(last, sizes)
        self._normal[point.weights] = normal
        return normal


def _refitted(base: _Prepared, graph: LiftedRegionGraph) -> _Prepared:
    same_tables = graph.normal.parfactors is base.graph.normal.parfactors
    return _Prepared(graph, refill(base.plan, graph, same_tables=same_tables))


def _same_supports(one: NormalModel, other: NormalModel) -> bool:
    """Whether tables rule out the same states."""
    return one.parfactors is other.parfactors or all(
        np.array_equal(np.isneginf(mine.log_table), np.isneginf(theirs.log_table))
        for mine, theirs in zip(one.parfactors, other.parfactors, strict=True)
    )


def _solve(method: Solver, plans: Sequence[Plan]) -> list[Solution]:
    """All solutions; descent follows those of every few points to the points between."""
    if not isinstance(method, Descent) or len(plans) < 2 * STRIDE:
        return method.solve_all(plans)
    # The smallest domains come first, and differ most from each other.
    return _mended(method, plans, solve_along(method, plans, STRIDE, afresh=range(STRIDE)))


def _mended(method: Descent, plans: Sequence[Plan], found: list[Solution]) -> list[Solution]:
    """The solutions; a point without one tries again from those next to it."""
    good = {
        k: [found[j] for j in (k - 1, k + 1) if 0 <= j < len(found) and found[j].converged]
        for k, solution in enumerate(found)
        if not solution.converged
    }
    again = [k for k, beside in good.items() if beside]
    if again:
        better = method.follow([plans[k] for k in again], [good[k] for k in again])
        for k, solution in zip(again, better, strict=True):
            found[k] = solution if solution.converged else found[k]
    return found


def _by_layout(prepared: Sequence[_Prepared]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for k, one in enumerate(prepared):
        groups.setdefault(id(one.plan.layout), []).append(k)
    return list(groups.values())


def _rows(
    points: Sequence[SweepPoint],
    readers: Sequence[LiftedReader],
    solutions: Sequence[Solution],
    queries: Sequence[str],
) -> Iterator[list[SweepRow]]:
    """The rows of each point, for points with one layout."""
    beliefs = [solution.log_beliefs for solution in solutions]
    by_query = [query_all(query, readers, beliefs) for query in queries]
    for k, (point, solution) in enumerate(zip(points, solutions, strict=True)):
        minima = sum(1 for one in solution.points if one.weight > 0)
        yield [
            SweepRow(point, answer, solution.log_z, solution.status.value, minima)
            for every in by_query
            for answer in every[k]
        ]
