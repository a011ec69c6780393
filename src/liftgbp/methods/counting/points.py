"""The model at many counts: solved as a series, with the log of the weight of each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cache
from itertools import compress, repeat

import numpy as np

from liftgbp.lift.regions import ExactCounts, Family, LiftedRegionGraph
from liftgbp.lift.shatter import SplitShattering
from liftgbp.lift.shatter.splitting import AlikeCounts, Cell, value_text
from liftgbp.methods.counting.space import DIGITS, Counts, Space
from liftgbp.methods.series import SharedPlans, by_layout, solve_series
from liftgbp.plan import Plan, refill_all
from liftgbp.posterior import PreparedLifted
from liftgbp.solve import (
    Finding,
    Flaw,
    Solution,
    Solver,
    Status,
    Tolerances,
    exact_logs_z,
    with_tolerances,
)
from liftgbp.support.arrays import UNITS
from liftgbp.support.errors import ContradictionError

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
    def flaw(self) -> Finding | None:
        """What keeps its share in the sum from being trusted, if anything does."""
        if self.solution.sound and not self.precise:
            return Finding(Flaw.FEW_DIGITS_OF_COUNTS)
        return self.solution.flaw


class CountedModel:
    """A model at all counts of some predicates, solved where it is asked for."""

    def __init__(self, split: SplitShattering, regions: Family, solver: Solver) -> None:
        self.split = split
        self.space = Space.of(split.splits)
        self.solved: dict[Counts, SolvedPoint] = {}
        self._plans = SharedPlans(regions)
        self._solver = with_tolerances(solver, log_z_accuracy=ACCURACY, compared=True)
        self._first: dict[int, Base] = {}
        self._bases: dict[AlikeCounts, list[Base]] = {}
        self.impossible: ContradictionError | None = None

    def exponents(self, points: Sequence[Counts]) -> list[Decimal]:
        """The log of the weight of all worlds with these counts, for each point."""
        found = dict.fromkeys(points, Decimal("-Infinity"))
        possible = {own.counts: own for own in self._prepared(points)}
        # In the order of the points: descent follows solutions from one to the next.
        ordered = [possible[point] for point in points if point in possible]
        for members in by_layout([own.plan for own in ordered]):
            group = [ordered[k] for k in members]
            plans = [own.plan for own in group]
            first = self._first.setdefault(id(plans[0].layout), group[0].base)
            solutions = solve_series(self._solver, plans)
            logs = exact_logs_z(
                plans, solutions, Tolerances(log_z_accuracy=ACCURACY, compared=True)
            )
            with localcontext(Context(prec=DIGITS)):
                for own, solution, log_z in zip(group, solutions, logs, strict=True):
                    point, exponent = own.counts, Decimal("-Infinity")
                    if math.isfinite(solution.log_z):
                        exponent = self.space.log_ways(point) + log_z.value + own.offset
                    found[point] = exponent
                    self.solved[point] = SolvedPoint(first, solution, exponent, log_z.precise)
        return [found[point] for point in points]

    def _prepared(self, points: Sequence[Counts]) -> Iterator[_PlannedPoint]:
        """The plans at those of the points that are possible, many at once."""
        groups: dict[AlikeCounts, list[Counts]] = {}
        for point in points:
            groups.setdefault(self.split.alike(point), []).append(point)
        for alike, members in groups.items():
            bases = self._bases.setdefault(alike, [])
            sizes = {point: alike.class_sizes(point) for point in members}
            left, tried = members, 0
            while left:
                if tried == len(bases):
                    try:
                        bases.append(self.at(left[0]))
                    except ContradictionError as error:
                        self.impossible = error
                        left = left[1:]
                        continue
                graph = bases[tried].prepared.graph
                fits = graph.stable_among([sizes[point] for point in left])
                if any(fits):
                    fitting = {point: sizes[point] for point in compress(left, fits)}
                    yield from _planned(bases[tried], alike, fitting)
                    left = [point for point, fit in zip(left, fits, strict=True) if not fit]
                tried += 1

    @property
    def overlaps(self) -> bool:
        """Whether regions share atoms at some counts, so that beliefs there are approximations."""
        layouts = (base.prepared.plan.layout for base in self._first.values())
        return any(layout.message_entries for layout in layouts)

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


@dataclass(frozen=True, eq=False, slots=True)
class _PlannedPoint:
    """The plan at some counts, and what is known of log Z before solving it."""

    counts: Counts
    base: Base
    plan: Plan
    offset: Decimal


def _planned(
    base: Base, alike: AlikeCounts, class_sizes: Mapping[Counts, tuple[int, ...]]
) -> list[_PlannedPoint]:
    """The plans at counts that are alike, on the layout of one of them.

    `class_sizes` are the sizes of all classes at each of the counts.
    """
    sizes = list(np.array(list(class_sizes.values()), dtype=object).T)
    exact = ExactCounts(base.prepared.graph, sizes, np.ones_like(sizes[0]))
    constants = alike.factors.constants(sizes)
    plans = refill_all(base.prepared.plan, exact, alike.factors.tables(sizes), constants)
    with localcontext(Context(prec=DIGITS)):
        offsets = np.array(list(map(_decimal, constants)), dtype=object)
        for values, count in exact.free_atoms.items():
            offsets = offsets + count * _ln(values)
    return list(map(_PlannedPoint, class_sizes, repeat(base), plans, offsets.tolist()))


def exact_offset(graph: LiftedRegionGraph) -> Decimal:
    """What is known of log Z before solving: constant factors, and atoms that no factor touches."""
    with localcontext(Context(prec=DIGITS)):
        return sum(
            (count * _ln(values) for values, count in graph.free_atoms.items()),
            _decimal(graph.normal.constant_units),
        )


def _decimal(units: int) -> Decimal:
    return Decimal(units) / UNITS


@cache
def _ln(values: int) -> Decimal:
    with localcontext(Context(prec=DIGITS)):
        return Decimal(values).ln()
