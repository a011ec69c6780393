"""The model at many counts: solved as a series, with the log of the weight of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from liftgbp.counting.space import DIGITS, Counts, Space, SplitClass
from liftgbp.errors import ContradictionError
from liftgbp.query import PreparedLifted
from liftgbp.regions import LiftedRegionGraph
from liftgbp.series import SharedPlans, by_layout, solve_series
from liftgbp.shatter import SplitShattering
from liftgbp.shatter.splitting import Cell, value_text
from liftgbp.solve import (
    Solution,
    Solver,
    Status,
    Tolerances,
    exact_logs_z,
    with_tolerances,
)

ACCURACY = 1e-13
"""How far off the log Z at some counts may be, in proportion: weights depend on the differences
between large ones."""


@dataclass(frozen=True, eq=False, slots=True)
class Base:
    """The model at some counts, and which class each part of a class became."""

    prepared: PreparedLifted
    class_of: dict[Cell, int]


@dataclass(frozen=True, eq=False, slots=True)
class SolvedPoint:
    """The solution at some counts; `base` is one that it shares its layout with.

    `precise` says whether `exponent`, the log of its weight, has enough digits to be compared with
    those of other counts.
    """

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
    def flaw(self) -> str:
        """What keeps its share in the sum from being trusted; empty if nothing does."""
        if self.solution.trusted and not self.precise:
            return "log Z has too few digits to be compared with that of other counts"
        return self.solution.flaw


class CountedModel:
    """A model at all counts of some predicates, solved where it is asked for."""

    def __init__(self, split: SplitShattering, regions: str, solver: Solver) -> None:
        self.split = split
        self.space = Space(tuple(SplitClass(s.size, len(s.cells)) for s in split.splits))
        self.solved: dict[Counts, SolvedPoint] = {}
        self._plans = SharedPlans(regions)
        self._solver = with_tolerances(solver, log_z_accuracy=ACCURACY, compared=True)
        self._first: dict[int, Base] = {}
        self.impossible: ContradictionError | None = None

    def exponents(self, points: Sequence[Counts]) -> list[Decimal]:
        """The log of the weight of all worlds with these counts, for each point."""
        found = dict.fromkeys(points, Decimal("-Infinity"))
        possible: list[tuple[Counts, Base]] = []
        for point in points:
            try:
                possible.append((point, self.at(point)))
            except ContradictionError as error:
                self.impossible = error
        for members in by_layout([own.prepared for _, own in possible]):
            group = [possible[k] for k in members]
            plans = [own.prepared.plan for _, own in group]
            first = self._first.setdefault(id(plans[0].layout), group[0][1])
            solutions = solve_series(self._solver, plans)
            logs = exact_logs_z(
                plans, solutions, Tolerances(log_z_accuracy=ACCURACY, compared=True)
            )
            for (point, own), solution, log_z in zip(group, solutions, logs, strict=True):
                if np.isfinite(solution.log_z):
                    found[point] = self._exponent(point, own.prepared.graph, log_z.value)
                self.solved[point] = SolvedPoint(first, solution, found[point], log_z.precise)
        return [found[point] for point in points]

    def is_rough(self, point: Counts) -> bool:
        """Whether the weight at some counts has too few digits to be compared."""
        return point in self.solved and not self.solved[point].precise

    def at(self, point: Counts) -> Base:
        """The model at some counts, prepared."""
        own = self.split.at(point)
        return Base(self._plans.prepare(own.normal), own.class_of)

    def words(self, point: Counts) -> str:
        """Counts as a person would say them, such as `smokes: 3`."""
        base = self.split.base
        left = iter(point)
        words = []
        for split in self.split.splits:
            own = base.classes[split.cls]
            where = own.constant or ", ".join(fact.replace("{}", "x") for fact in own.facts)
            for cell in split.cells:
                count = next(left)
                if any(value or len(base.predicates[p].values) > 2 for p, value in cell):
                    names = " ^ ".join(
                        value_text(base.predicates[p], "x", value).replace("(x)", "")
                        for p, value in cell
                    )
                    words.append(f"{names}: {count}" + (f" ({where})" if where else ""))
        return "; ".join(words)

    def _exponent(self, point: Counts, graph: LiftedRegionGraph, of_regions: Decimal) -> Decimal:
        with localcontext(Context(prec=DIGITS)):
            return self.space.log_ways(point) + of_regions + exact_offset(graph)


def exact_offset(graph: LiftedRegionGraph) -> Decimal:
    """What is known of log Z before solving: constant factors, and atoms that no factor touches."""
    with localcontext(Context(prec=DIGITS)):
        return sum(
            (count * Decimal(values).ln() for values, count in graph.free_atoms.items()),
            _decimal(graph.normal.exact_constant),
        )


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator
