"""Solving the model at many counts: one region graph and one layout serve as many as they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from liftgbp.counting.space import DIGITS, Block, Counts, Space
from liftgbp.errors import ContradictionError
from liftgbp.plan import Plan, compile_plan, refill
from liftgbp.regions import LiftedRegionGraph, build_regions
from liftgbp.shatter import CountedNormal, CountedShattering
from liftgbp.shatter.counted import Cell
from liftgbp.solve import (
    Descent,
    Flooding,
    Solution,
    Solver,
    Status,
    Tolerances,
    exact_logs_z,
    solve_along,
    solver_for,
    with_random_starts,
)

STRIDE = 8
"""Descent starts afresh at every so many counts, and follows what it found to those between."""

SMALL = 6
"""Classes that are larger than this hardly ever differ in their region graph."""


@dataclass(frozen=True, eq=False, slots=True)
class Base:
    """A region graph with its plan, and which class each part of a class became."""

    graph: LiftedRegionGraph
    plan: Plan
    class_of: dict[Cell, int]


@dataclass(frozen=True, eq=False, slots=True)
class SolvedPoint:
    """The solution at some counts; `base` is one that it shares its layout with."""

    base: Base
    solution: Solution
    exponent: Decimal
    precise: bool

    @property
    def rejected(self) -> Decimal:
        """What the exponent would be by the best of the points that the solver did not trust."""
        others = [p.log_z for p in self.solution.points if not p.weight and np.isfinite(p.log_z)]
        gain = max(others, default=-np.inf) - self.solution.log_z
        return self.exponent + Decimal(gain)

    @property
    def status(self) -> Status:
        """How the solver ended, or that its log Z has too few digits to be compared."""
        if self.solution.converged and not self.precise:
            return Status.IMPRECISE
        return self.solution.status

    @property
    def trusted(self) -> bool:
        """Whether its share in the sum can be relied upon."""
        if not self.base.plan.layout.message_entries:
            return True
        return self.status is Status.CONVERGED and self.solution.verdict.plausible


class CountedModel:
    """A model at all counts of some predicates, solved where it is asked for."""

    def __init__(self, counted: CountedShattering, regions: str, solver: Solver) -> None:
        self.counted = counted
        self.space = Space(tuple(Block(s.size, len(s.cells)) for s in counted.splits))
        self.solved: dict[Counts, SolvedPoint] = {}
        self._regions = regions
        self._solver = with_random_starts(solver, 0)
        self._bases: list[Base] = []
        self._likely: dict[tuple[int, ...], Base] = {}
        self.impossible: ContradictionError | None = None

    def exponents(self, points: Sequence[Counts]) -> list[Decimal]:
        """The log of the weight of all worlds with these counts, for each point."""
        found = dict.fromkeys(points, Decimal("-Infinity"))
        by_layout: dict[int, list[tuple[Counts, Base, Base]]] = {}
        for point in points:
            try:
                base, own = self._prepare(point)
            except ContradictionError as error:
                self.impossible = error
            else:
                by_layout.setdefault(id(base), []).append((point, base, own))
        for group in by_layout.values():
            plans = [own.plan for _, _, own in group]
            solutions = _solve(solver_for(self._solver, plans[0].layout), plans)
            logs = exact_logs_z(plans, solutions, Tolerances())
            for (point, base, own), solution, log_z in zip(group, solutions, logs, strict=True):
                if np.isfinite(solution.log_z):
                    found[point] = self._exponent(point, own.graph, log_z.value)
                self.solved[point] = SolvedPoint(base, solution, found[point], log_z.precise)
        return [found[point] for point in points]

    def is_rough(self, point: Counts) -> bool:
        """Whether the weight at some counts has too few digits to be compared."""
        return point in self.solved and not self.solved[point].precise

    def at(self, point: Counts) -> Base:
        """The region graph and the plan at some counts."""
        return self._prepare(point)[1]

    def _exponent(self, point: Counts, graph: LiftedRegionGraph, of_regions: Decimal) -> Decimal:
        with localcontext(Context(prec=DIGITS)):
            free = sum(
                (count * Decimal(values).ln() for values, count in graph.free_atoms.items()),
                _decimal(graph.normal.exact_constant),
            )
            return self.space.log_ways(point) + of_regions + free

    def _prepare(self, point: Counts) -> tuple[Base, Base]:
        """The base that a point shares its layout with, and its own graph and plan."""
        normal = self.counted.at(point)
        key = tuple(min(count, SMALL) for count in point)
        likely = self._likely.get(key)
        for base in ([likely] if likely is not None else []) + self._bases:
            if base.graph.fits(normal.normal):
                self._likely[key] = base
                return base, _refit(base, normal)
        graph = build_regions(normal.normal, self._regions)
        base = self._likely[key] = Base(graph, compile_plan(graph), normal.class_of)
        self._bases.append(base)
        return base, base


def _refit(base: Base, normal: CountedNormal) -> Base:
    graph = base.graph.resized(normal.normal)
    return Base(graph, refill(base.plan, graph), normal.class_of)


def _solve(method: Solver, plans: Sequence[Plan]) -> list[Solution]:
    """All solutions; descent follows those of every few points to the points between."""
    if not plans[0].layout.message_entries:
        return Flooding().solve_all(plans)
    if not isinstance(method, Descent) or len(plans) < 2 * STRIDE:
        return method.solve_all(plans)
    return solve_along(method, plans, STRIDE)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator
