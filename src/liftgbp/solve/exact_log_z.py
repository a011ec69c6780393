"""The log Z of solutions with digits for differences: shares depend on these.

The weights of the free energy are counts and reach N to the power of the objects in a region, while
log Z may differ from one solution to the next by as little as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, getcontext, localcontext

import numpy as np
from flint import arb

from liftgbp.plan import Plan
from liftgbp.solve.certified import Proof, certify, is_affordable
from liftgbp.solve.energy import polytope, scale_of
from liftgbp.solve.frames import precision
from liftgbp.solve.solution import Solution
from liftgbp.solve.tolerances import Tolerances

GUARD_DIGITS = 50
"""Digits beyond those of the counts: sixteen for doubles, the others for sums of exponentials."""


@dataclass(frozen=True, slots=True)
class LogZ:
    """A log Z without `plan.log_offset`; is it good enough for differences to other ones?"""

    value: Decimal
    precise: bool = True


def known_log_z(log_z: arb, bits: int, tolerances: Tolerances) -> LogZ:
    """The log Z of a ball."""
    digits = round(bits * 0.3)
    value = Decimal(log_z.mid().str(digits, radius=False))
    return LogZ(value, float(log_z.rad()) < tolerances.share_accuracy)


def needs_digits(plan: Plan, log_z: float, tolerances: Tolerances, *, alone: bool) -> bool:
    """Whether rounding may change log Z, or a share that depends on it, by more than it should."""
    if tolerances.rounding * scale_of(plan) > tolerances.log_z_accuracy * abs(log_z):
        return True
    return not is_comparable(plan, tolerances) and (tolerances.compared or not alone)


def is_comparable(plan: Plan, tolerances: Tolerances) -> bool:
    """Whether differences of log Z in doubles are good enough for shares."""
    return tolerances.rounding * scale_of(plan) <= tolerances.share_accuracy


def exact_logs_z(
    plans: Sequence[Plan], solutions: Sequence[Solution], tolerances: Tolerances
) -> list[LogZ]:
    """For plans with one layout the log Z of their solutions, with digits for differences."""
    largest = max((abs(weight) for plan in plans for weight in plan.weights), default=1)
    with localcontext(Context(prec=GUARD_DIGITS + len(str(largest)))):
        if not plans[0].layout.message_entries:
            return [LogZ(value) for value in _independent(plans)]
        return [
            _of_points(solution) or _of_beliefs(plan, solution, tolerances)
            for plan, solution in zip(plans, solutions, strict=True)
        ]


def _of_points(solution: Solution) -> LogZ | None:
    """The log of the sum over the points of a mixture; nothing if there are none."""
    points = [point for point in solution.points if point.weight > 0] or solution.points[:1]
    if not points:
        return None
    top = max(point.exact_log_z for point in points)
    total = sum(((point.exact_log_z - top).exp() for point in points), Decimal(0))
    return LogZ(top + total.ln(), all(point.precise for point in points))


def _of_beliefs(plan: Plan, solution: Solution, tolerances: Tolerances) -> LogZ:
    """That of beliefs which message passing has found."""
    if np.isfinite(solution.log_z) and needs_digits(plan, solution.log_z, tolerances, alone=True):
        # Only large plans are solved without points, and not all of them can be proven.
        logs = solution.log_beliefs[polytope(plan.layout).outer]
        small = is_affordable(plan, logs, tolerances)
        found = certify(plan, logs, tolerances) if small else None
        if found is not None and found.proof is not Proof.DEGENERATE:
            return known_log_z(found.log_z, found.bits, tolerances)
    value = Decimal(solution.log_z) - Decimal(plan.log_offset)
    return LogZ(value, is_comparable(plan, tolerances))


def _independent(plans: Sequence[Plan]) -> list[Decimal]:
    """Regions that share nothing: each has a partition function of its own."""
    layout = plans[0].layout
    slices = [layout.region_slice(region) for region in range(len(layout.shapes))]
    counts = [layout.multiplicity[own].tolist() for own in slices]
    digits = getcontext().prec
    # Plans of a series often differ in how many regions there are, and not in what is in them.
    known: dict[tuple[int, bytes, bytes], Decimal] = {}
    found = []
    for plan in plans:
        total = Decimal(0)
        for region, weight in enumerate(plan.weights):
            theta, lost = plan.theta[slices[region]], plan.theta_lost[slices[region]]
            key = region, theta.tobytes(), lost.tobytes()
            log_z = known.get(key)
            if log_z is None:
                parts = zip(counts[region], theta.tolist(), lost.tolist(), strict=True)
                with precision(4 * digits):
                    terms = (n * (arb(own) + rest).exp() for n, own, rest in parts)
                    text = sum(terms, arb(0)).log().str(digits, radius=False)
                log_z = known[key] = Decimal(text)
            total += weight * log_z
        found.append(total)
    return found
