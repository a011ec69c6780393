"""A series: one model over many domain sizes, weights or counts, prepared and solved together.

Neighbours in a series have much in common. Their region graphs are often the same but for counts,
so one layout serves many of them; and their stationary points lie close together, so descent can
follow them from one to the next. Sweeps and sums over counts both work this way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from liftgbp.lift.regions import Family, LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import NormalModel
from liftgbp.plan import Plan, compile_plan, refill
from liftgbp.posterior import PreparedLifted
from liftgbp.solve import (
    Auto,
    Descent,
    Flooding,
    Solution,
    Solver,
    solver_for,
    with_random_starts,
    with_tolerances,
)
from liftgbp.solve.auto import AnySolver

STRIDE = 10
"""Descent uses all its starts at the first 10 plans of a series, where domains are smallest and
differ most, at every 10th plan after them and at the last one. The plans between follow."""

RANDOM_STARTS = 2
"""The random starts of `auto` at each of these plans. Its default of 4 is for a plan that stands
alone; in a series, a minimum that one plan misses is found by following its neighbours."""


class SharedPlans:
    """Prepares one normal form of a model after another, and reuses layouts where they fit."""

    def __init__(self, regions: Family) -> None:
        self._regions = regions
        self._built: list[PreparedLifted] = []

    def prepare(self, normal: NormalModel) -> PreparedLifted:
        """The graph and plan of a normal form, on the layout of an earlier one where that fits."""
        # The last one was built over the largest domains so far, or fitted last: it is tried first.
        for place, base in reversed(list(enumerate(self._built))):
            if base.graph.fits(normal) and _same_supports(normal, base.graph.normal):
                self._built.append(self._built.pop(place))
                return _refilled(base, base.graph.resized(normal))
        self._built.append(self._build(normal))
        return self._built[-1]

    def _build(self, normal: NormalModel) -> PreparedLifted:
        """Build the graph. It may turn out to be like an earlier one, and share its layout."""
        graph = build_regions(normal, self._regions)
        for base in self._built:
            if graph.alike(base.graph) and _same_supports(normal, base.graph.normal):
                return _refilled(base, graph)
        return PreparedLifted(graph, compile_plan(graph))


def _refilled(base: PreparedLifted, graph: LiftedRegionGraph) -> PreparedLifted:
    same_tables = graph.normal.parfactors is base.graph.normal.parfactors
    return PreparedLifted(graph, refill(base.plan, graph, same_tables=same_tables))


def _same_supports(one: NormalModel, other: NormalModel) -> bool:
    """Whether tables rule out the same states."""
    return one.parfactors is other.parfactors or all(
        np.array_equal(np.isneginf(mine.log_table), np.isneginf(theirs.log_table))
        for mine, theirs in zip(one.parfactors, other.parfactors, strict=True)
    )


def by_layout(plans: Sequence[Plan]) -> list[list[int]]:
    """The positions of those that share a layout, in groups."""
    groups: dict[int, list[int]] = {}
    for k, plan in enumerate(plans):
        groups.setdefault(id(plan.layout), []).append(k)
    return list(groups.values())


def solve_batch(solver: Solver, plans: Sequence[Plan]) -> list[Solution]:
    """The solutions of plans with one layout, each from all starts of the solver."""
    layout = plans[0].layout
    if not layout.message_entries:
        # Regions that share nothing have one solution, which any solver finds; flooding at once.
        return Flooding().solve_all(plans)
    return _unproven(solver_for(solver, layout)).solve_all(plans)


def _unproven(solver: AnySolver) -> AnySolver:
    """The same solver, with proofs only where rounding may decide what a point is."""
    return with_tolerances(solver, surely_proven=0)


def solve_series(solver: Solver, plans: Sequence[Plan]) -> list[Solution]:
    """The solutions of plans with one layout, in the order of a series.

    Where the solver is descent, it finds the stationary points of some plans from all its starts,
    and follows them to the plans between. Plans where that fails are tried again from their
    neighbours. A minimum that only exists between is missed: this is for terms of one sum.
    """
    layout = plans[0].layout
    if not layout.message_entries:
        return solve_batch(solver, plans)
    if isinstance(solver, Auto):
        solver = with_random_starts(solver, RANDOM_STARTS)
    method = _unproven(solver_for(solver, layout))
    if not isinstance(method, Descent) or len(plans) < 2 * STRIDE:
        return method.solve_all(plans)
    return _retried(method, plans, _followed(method, plans))


def _followed(method: Descent, plans: Sequence[Plan]) -> list[Solution]:
    last = len(plans) - 1
    anchors = sorted({*range(STRIDE), *range(0, len(plans), STRIDE), last})
    found = dict(zip(anchors, method.solve_all([plans[k] for k in anchors]), strict=True))
    between = [k for k in range(len(plans)) if k not in found]
    around = [(found[k - k % STRIDE], found[min(k - k % STRIDE + STRIDE, last)]) for k in between]
    found |= zip(between, method.follow([plans[k] for k in between], around), strict=True)
    return [found[k] for k in range(len(plans))]


def _retried(method: Descent, plans: Sequence[Plan], found: list[Solution]) -> list[Solution]:
    """The solutions; plans without one are tried again from the neighbours that have one."""
    neighbours = {
        k: [found[j] for j in (k - 1, k + 1) if 0 <= j < len(found) and found[j].converged]
        for k, solution in enumerate(found)
        if not solution.converged
    }
    again = [k for k, beside in neighbours.items() if beside]
    if again:
        better = method.follow([plans[k] for k in again], [neighbours[k] for k in again])
        for k, solution in zip(again, better, strict=True):
            found[k] = solution if solution.converged else found[k]
    return found
