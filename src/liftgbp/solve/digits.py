"""The log Z of a solution with more digits than a float has, for differences between large ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.plan.plan import Plan
from liftgbp.solve.polytope import polytope
from liftgbp.solve.refine import GUARD_DIGITS, refine
from liftgbp.solve.solution import Solution

ROUNDING = 4e-16
ACCURATE = 2e-10
"""Rounding of log Z up to this does not matter."""

TOLERABLE = 1e-6
"""Rounding beyond this makes shares wrong that depend on differences."""

POLISHED = 1e-9
"""What polishing leaves to correct if it worked."""


@dataclass(frozen=True, slots=True)
class LogZ:
    """A log Z without `plan.log_offset`; is it good enough for differences to other ones?"""

    value: Decimal
    precise: bool = True


def logs_z_of_regions(plans: Sequence[Plan], solutions: Sequence[Solution]) -> list[LogZ]:
    """For plans with one layout the log Z, with digits for differences.

    Where rounding would show, the points of a solution are polished.
    """
    largest = max(abs(weight) for plan in plans for weight in (*plan.weights, 0))
    with localcontext(Context(prec=2 * GUARD_DIGITS + len(str(largest)))):
        if not plans[0].layout.message_entries:
            return [LogZ(_independent(plan)) for plan in plans]
        doubtful = [k for k in range(len(plans)) if _is_rounded(plans[k], solutions[k])]
        points = {k: _points(plans[k], solutions[k]) for k in doubtful}
        polished = _polished([(plans[k], *point) for k in doubtful for point in points[k]])
        result = [
            LogZ(Decimal(solution.log_z) - Decimal(plan.log_offset))
            for plan, solution in zip(plans, solutions, strict=True)
        ]
        for k in doubtful:
            result[k] = _log_sum([next(polished) for _ in points[k]])
        return result


def _log_sum(parts: Sequence[LogZ]) -> LogZ:
    top = max(part.value for part in parts)
    total = sum(((part.value - top).exp() for part in parts), Decimal(0))
    return LogZ(top + total.ln(), all(part.precise for part in parts))


def _is_rounded(plan: Plan, solution: Solution) -> bool:
    largest = max(abs(solution.log_z), *map(abs, plan.weights))
    return bool(np.isfinite(solution.log_z) and ROUNDING * largest > ACCURATE)


def _points(plan: Plan, solution: Solution) -> list[tuple[Floats, Decimal]]:
    """The beliefs that a solution mixes, each with its log Z as far as a float knows it."""
    mixed = [(p.log_beliefs, p.log_z) for p in solution.points if p.weight > 0]
    mixed = mixed or [(solution.log_beliefs, solution.log_z)]
    return [(beliefs, Decimal(log_z) - Decimal(plan.log_offset)) for beliefs, log_z in mixed]


def _polished(points: Sequence[tuple[Plan, Floats, Decimal]]) -> Iterator[LogZ]:
    if not points:
        return
    consistent = polytope(points[0][0].layout)
    outer = [np.exp(beliefs[consistent.outer]) for _, beliefs, _ in points]
    found = refine([plan for plan, _, _ in points], consistent, outer)
    for refined, (plan, _, rounded) in zip(found, points, strict=True):
        if refined.residual <= POLISHED:
            yield LogZ(-refined.free_energy)
        else:
            yield LogZ(rounded, ROUNDING * max(map(abs, plan.weights)) <= TOLERABLE)


def _independent(plan: Plan) -> Decimal:
    """Regions that share nothing: each has a partition function of its own."""
    layout = plan.layout
    total = Decimal(0)
    for region, weight in enumerate(plan.weights):
        own = layout.region_slice(region)
        counts, theta = layout.multiplicity[own].tolist(), list(map(Decimal, plan.theta[own]))
        # The largest term comes out of the sum, as it may be beyond any number.
        top = max(theta)
        terms = (n * (own - top).exp() for n, own in zip(counts, theta, strict=True))
        total += weight * (top + sum(terms, Decimal(0)).ln())
    return total
