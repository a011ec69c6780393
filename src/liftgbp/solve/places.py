"""Places among consistent beliefs in ball arithmetic, and the ways from one to the next.

Balls are numbers with a proven bound of their error. Their exponents have no bounds, so a belief of
exp(-1e9) is an ordinary number. A `Place` is known by the logs of the free beliefs of a `Frame`.
`newton` goes on to the stationary point beside it, and `descend` goes down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from flint import arb, arb_mat

from liftgbp.plan import Plan
from liftgbp.solve.energy import Polytope
from liftgbp.solve.frames import Face, Frame, size_in_bits
from liftgbp.support.arrays import Floats

NEWTON_ROUNDS = 16
DESCENT_ROUNDS = 60
"""The most steps of each; most points take four, and sixty where the free energy is flat."""

LEAST_DAMPING, MOST_DAMPING = 2.0**-100, 2.0**40
"""What the metric is multiplied by in damped steps: counts of large domains need both ends."""

NEARLY_SETTLED = 2.0**-10
"""Smaller steps may leave the free energy as it is, up to the rounding of balls."""

LONGEST_RISE = 4.0
"""The most that the log of a free belief may grow in one step of descent. It may fall as far as it
likes: steps by logs are exact where beliefs are tiny."""

ZERO = arb(0)


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """Weights and log potentials of the beliefs of a face, outer ones first."""

    weights: list[int]
    theta: list[arb]

    @staticmethod
    def of(plan: Plan, consistent: Polytope, outer: Sequence[int], inner: Sequence[int]) -> Numbers:
        """Those of some outer and inner beliefs of a plan."""
        entries = [*consistent.outer[list(outer)].tolist(), *consistent.inner[list(inner)].tolist()]
        regions = plan.layout.region_of[entries].tolist()
        states = plan.layout.multiplicity[entries].tolist()
        weights = [plan.weights[r] * n for r, n in zip(regions, states, strict=True)]
        pairs = zip(plan.theta[entries].tolist(), plan.theta_lost[entries].tolist(), strict=True)
        return Numbers(weights, [arb(first) + second for first, second in pairs])


class Place:
    """A point of a face, or a box of such points: the logs of the free beliefs of a frame."""

    def __init__(self, face: Face, numbers: Numbers, frame: Frame, logs: Sequence[arb]) -> None:
        self.face = face
        self.numbers = numbers
        self.frame = frame
        self.free_logs = list(logs)

    def at(self, logs: Sequence[arb]) -> Place:
        """Another place in the same frame."""
        return Place(self.face, self.numbers, self.frame, logs)

    @cached_property
    def free(self) -> list[arb]:
        """The free beliefs."""
        return [own.exp() for own in self.free_logs]

    @cached_property
    def beliefs(self) -> list[arb]:
        """All beliefs, outer ones first."""
        return self.frame.beliefs(self.free)

    @cached_property
    def is_inside(self) -> bool:
        """Whether all beliefs are positive."""
        return all(own > 0 for own in self.beliefs)

    @cached_property
    def logs(self) -> list[arb]:
        """The logs of all beliefs."""
        logs: list[arb] = [ZERO] * len(self.beliefs)
        for number, own in zip(self.frame.free, self.free_logs, strict=True):
            logs[number] = own
        free = set(self.frame.free)
        for number, own in enumerate(self.beliefs):
            if number not in free:
                logs[number] = own.log()
        return logs

    @cached_property
    def slopes(self) -> list[arb]:
        """The slope of the free energy by each belief as if it were alone."""
        own = self.numbers
        return [
            weight * (log - theta + 1) if weight else ZERO
            for weight, log, theta in zip(own.weights, self.logs, own.theta, strict=True)
        ]

    @cached_property
    def free_energy(self) -> arb:
        """The free energy, without `plan.log_offset`."""
        own, total = self.numbers, ZERO
        for weight, belief, log, theta in zip(
            own.weights, self.beliefs, self.logs, own.theta, strict=True
        ):
            if weight:
                total = total + weight * (belief * (log - theta))
        return total

    @cached_property
    def entropy(self) -> arb:
        """The entropy in the Kikuchi approximation."""
        total = ZERO
        for weight, belief, log in zip(self.numbers.weights, self.beliefs, self.logs, strict=True):
            if weight:
                total = total - weight * (belief * log)
        return total

    @cached_property
    def roots(self) -> list[arb]:
        """The roots of free beliefs: what steps by logs are multiplied by to be of one size."""
        return [own.sqrt() for own in self.free]

    def gradient(self) -> list[arb]:
        """The slopes by free beliefs, times their roots."""
        slopes = self.frame.along(self.slopes)
        return [root * own for root, own in zip(self.roots, slopes, strict=True)]

    def second_derivatives(self, *, outer_only: bool = False) -> list[list[arb]]:
        """Second derivatives by free beliefs, of the free energy or of the outer entropy alone."""
        ratios = [
            weight / belief if weight else ZERO
            for weight, belief in zip(self.numbers.weights, self.beliefs, strict=True)
        ]
        if outer_only:
            inner = len(ratios) - len(self.face.outer)
            ratios[len(self.face.outer) :] = [ZERO] * inner
        rows: list[list[arb]] = self.frame.squared(ratios).tolist()
        return rows

    def hessian(self, *, outer_only: bool = False) -> list[list[arb]]:
        """The same, times the roots of both free beliefs."""
        rows, roots = self.second_derivatives(outer_only=outer_only), self.roots
        return [
            [value * here * there for value, there in zip(row, roots, strict=True)]
            for row, here in zip(rows, roots, strict=True)
        ]

    @property
    def sizes(self) -> Floats:
        """The sizes of outer beliefs, in bits."""
        logs = [float(own) for own in self.logs[: len(self.face.outer)]]
        return np.array([size_in_bits(own) for own in logs])

    def suited(self) -> Place:
        """The same place in a frame in which nothing cancels."""
        sizes = self.sizes
        if self.frame.suits(sizes):
            return self
        frame = self.face.frame(sizes)
        if frame is None or frame is self.frame:
            return self
        return Place(self.face, self.numbers, frame, [self.logs[e].mid() for e in frame.free])

    def moved(self, change: Sequence[arb], part: arb | int = 1) -> Place:
        """The place that a part of a change of logs leads to."""
        pairs = zip(self.free_logs, change, strict=True)
        return self.at([(log + part * own).mid() for log, own in pairs])


def middles(rows: Sequence[Sequence[arb]]) -> list[list[arb]]:
    """The middles of balls."""
    return [[own.mid() for own in row] for row in rows]


def solved(rows: list[list[arb]], right: Sequence[arb]) -> list[arb] | None:
    """The solution of linear equations; nothing if the matrix may be singular."""
    try:
        return list(arb_mat(rows).solve(arb_mat(len(right), 1, list(right))).entries())
    except ZeroDivisionError:
        return None


def largest_of(change: Sequence[arb]) -> float:
    """The size of the largest number of a change."""
    return max((float(abs(own).upper()) for own in change), default=0.0)


# --- on the way


def _change(place: Place, hessian: list[list[arb]]) -> list[arb] | None:
    """The Newton step by logs, for some second derivatives."""
    found = solved(middles(hessian), [-own for own in place.gradient()])
    if found is None:
        return None
    return [own / root for own, root in zip(found, place.roots, strict=True)]


class Outcome(Enum):
    """How Newton's method ended."""

    SETTLED = "settled"
    FLAT = "flat"
    LOST = "lost"


def newton(place: Place, tolerance: float) -> tuple[Place, Outcome, float]:
    """The stationary point that Newton's method leads to, or where it ended without one.

    And the size of the last step.
    """
    size = math.inf
    for _ in range(NEWTON_ROUNDS):
        place = place.suited()
        change = _change(place, place.hessian())
        if change is None:
            return place, Outcome.FLAT, size
        size = largest_of(change)
        if size < tolerance:
            return place.moved(change), Outcome.SETTLED, size
        part = arb(1)
        while not (there := place.moved(change, part)).is_inside:
            part = part / 2
            if part < 2.0**-60:
                return place, Outcome.LOST, size
        place = there
    return place, Outcome.LOST, size


def descend(place: Place, tolerance: float) -> Place:
    """Where the free energy leads downwards, with steps of Levenberg and Marquardt.

    The metric is the entropy of outer regions.
    """
    place = place.suited()
    for _ in range(DESCENT_ROUNDS):
        step = _downwards(place, tolerance)
        if step is None:
            break
        there, size, newtons = step
        # A belief of exp(-1e5) may bend the free energy without lowering it in any digit.
        falls = there.free_energy < place.free_energy
        place = there.suited()
        if size < tolerance if newtons else not falls:
            break
    return place


def _downwards(place: Place, tolerance: float) -> tuple[Place, float, bool] | None:
    """One step downwards, its size and whether it was Newton's; nothing if there is none."""
    hessian = middles(place.hessian())
    metric: list[list[arb]] = []
    damping = 0.0
    while damping < MOST_DAMPING:
        damped = hessian
        if damping:
            metric = metric or middles(place.hessian(outer_only=True))
            damped = [
                [(own + damping * more).mid() for own, more in zip(row, other, strict=True)]
                for row, other in zip(hessian, metric, strict=True)
            ]
        if is_positive(damped) is True:
            change = _change(place, damped)
            if change is not None:
                there = _line_search(place, change, tolerance, lengthen=damping > 0)
                if there is not None:
                    return there, largest_of(change), damping == 0
        damping = 1000 * damping if damping else LEAST_DAMPING
    return None


def _line_search(
    place: Place, change: Sequence[arb], tolerance: float, *, lengthen: bool
) -> Place | None:
    """A place along a change at which the free energy is lower."""
    rise = max((float(own) for own in change), default=0.0)
    part = arb(1) if rise < LONGEST_RISE else arb(LONGEST_RISE) / arb(rise)
    near = largest_of(change) < NEARLY_SETTLED
    for _ in range(6):
        there = place.moved(change, part)
        if there.is_inside:
            higher = there.free_energy > place.free_energy
            if there.free_energy <= place.free_energy or (near and not higher):
                break
            if largest_of(change) < tolerance:
                break
        part = part / 4
    else:
        return None
    while lengthen and part * 2 * rise < LONGEST_RISE:
        further = place.moved(change, 2 * part)
        if not further.is_inside or not further.free_energy < there.free_energy:
            break
        there, part = further, 2 * part
    return there


def is_positive(rows: Sequence[Sequence[arb]]) -> bool | None:
    """Whether a form is positive, if that is certain."""
    place = _first_bad_pivot(rows)
    return True if place is None else None


def _first_bad_pivot(rows: Sequence[Sequence[arb]]) -> int | None:
    """The first pivot of an elimination that is not certainly positive; none if all are."""
    left = [list(row) for row in rows]
    for k, pivots in enumerate(left):
        pivot = pivots[k]
        if not pivot > 0:
            return k
        for i in range(k + 1, len(left)):
            row = left[i]
            if row[k].is_zero():
                continue
            factor = row[k] / pivot
            for j in range(k + 1, i + 1):
                row[j] = row[j] - factor * left[j][k]
    return None


def falls_along_of(rows: Sequence[Sequence[arb]]) -> list[arb] | None:
    """A direction along which a form is certainly negative, if one is found."""
    k = _first_bad_pivot(rows)
    if k is None:
        return None
    direction = [ZERO] * len(rows)
    direction[k] = arb(1)
    if k:
        above = solved(middles([row[:k] for row in rows[:k]]), [-row[k].mid() for row in rows[:k]])
        if above is None:
            return None
        direction[:k] = [own.mid() for own in above]
    total = ZERO
    for here, row in zip(direction, rows, strict=True):
        for there, value in zip(direction, row, strict=True):
            total = total + here * value * there
    return direction if total < 0 else None
