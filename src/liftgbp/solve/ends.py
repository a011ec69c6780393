"""Where descent has ended: distinct ends, with proofs of what they are, and their verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np

from liftgbp.plan import Plan
from liftgbp.solve.certified import CertifiedPoint, Proof, certify, is_affordable
from liftgbp.solve.energy import Energy
from liftgbp.solve.exact_log_z import LogZ, is_comparable, known_log_z, needs_digits
from liftgbp.solve.findings import Finding, Flaw
from liftgbp.solve.images import DIGITS, Places
from liftgbp.solve.search import PointBatch
from liftgbp.solve.solution import Point
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Candidate, Verdict, classify
from liftgbp.support.arrays import Floats


@dataclass(frozen=True, eq=False)
class End:
    """Where one start has ended, and what the last Newton step says about it.

    row       its row in a batch of free energies and of points
    logs      the logs of outer beliefs
    value     the scaled free energy
    residual  the largest relative change of a belief
    """

    energy: Energy
    place: PointBatch
    row: int
    logs: Floats
    value: float
    residual: float
    settled: bool
    iterations: int
    trace: tuple[float, ...]

    @property
    def plan(self) -> Plan:
        """The plan that it belongs to."""
        return self.energy.plans[self.row]

    @cached_property
    def curvatures(self) -> Floats:
        """The curvatures."""
        return self.place.curvatures(np.array([self.row]))[self.row]

    @property
    def scale(self) -> int:
        """What the value was divided by."""
        return self.energy.scale[self.row]

    @property
    def outer(self) -> Floats:
        """The beliefs of outer regions."""
        return np.exp(self.logs)

    @property
    def beliefs(self) -> Floats:
        """The beliefs of all regions."""
        return self.energy.consistent.all_entries(self.outer)

    @property
    def unsettled(self) -> Finding | None:
        """Why it is not stationary, if it is not."""
        return None if self.settled else Finding(Flaw.UNSETTLED)

    @property
    def log_z(self) -> float:
        """Log Z without `plan.log_offset`, rounded."""
        return -self.value * float(self.scale)


def distinct_ends(ends: list[End], tolerances: Tolerances) -> list[End]:
    """One of all the starts that reached the same end, those that settled first.

    Beliefs that are zero stay so, so a point without zeros may be the better one.
    """

    def best_first(end: End) -> tuple[bool, float, int]:
        zeros = int((end.outer <= tolerances.zero_belief).sum())
        value = round(end.value / tolerances.bound_slack)
        return not end.settled, value, zeros

    places = Places(tolerances.same)
    return [end for end in sorted(ends, key=best_first) if places.add(end.outer)]


# --- proofs


@dataclass(frozen=True, eq=False, slots=True)
class Located:
    """A point to be judged, and how well its log Z is known."""

    candidate: Candidate
    log_z: LogZ

    def judged(self, verdict: Verdict) -> Judged:
        """The point with its verdict."""
        own = self.candidate
        with np.errstate(divide="ignore"):
            log_beliefs = np.log(own.beliefs) if own.proven is None else own.proven.log_beliefs
        log_z = float(DIGITS.add(Decimal(own.plan.log_offset), self.log_z.value))
        point = Point(log_beliefs, log_z, 0.0, verdict, self.log_z.value, self.log_z.precise)
        return Judged(point, own.proven)


@dataclass(frozen=True, eq=False, slots=True)
class Judged:
    """A point with its verdict, and with its proof if there is one."""

    point: Point
    proven: CertifiedPoint | None


def located_end(end: End, ends: list[End], bound: float, tolerances: Tolerances) -> Located:
    """An end with a proof of what it is, if that is affordable, and cheap or needed."""
    plan, why = end.plan, end.unsettled
    rests = end.settled or end.residual < tolerances.far
    if rests and _is_to_be_proven(plan, end, ends, tolerances):
        found = certify(plan, end.logs, tolerances)
        if found is None:
            why = Finding(Flaw.UNPROVEN)
        elif found.proof is not Proof.DEGENERATE:
            return located_point(plan, found, bound, tolerances, end)
    candidate = Candidate(
        plan,
        end.beliefs,
        log_z_bound=bound,
        residual=end.residual,
        lowest=float(end.curvatures.min()),
        unsettled=why,
    )
    return Located(candidate, LogZ(Decimal(end.log_z), is_comparable(plan, tolerances)))


def located_point(
    plan: Plan,
    found: CertifiedPoint,
    bound: float,
    tolerances: Tolerances,
    end: End | None = None,
) -> Located:
    """A proven point, with what the end that led to it knows."""
    # Doubles have seen the curvature of most points, and finding it in balls takes longer.
    least, lowest = tolerances.plain_curvature, None
    if end is not None and not found.on_boundary and end.residual < least**2:
        lowest = float(end.curvatures.min())
    candidate = Candidate(
        plan,
        np.exp(found.log_beliefs),
        log_z_bound=bound,
        residual=found.radius,
        lowest=lowest if lowest is not None and abs(lowest) > least else None,
        entropy=float(found.entropy),
        proven=found,
    )
    return Located(candidate, known_log_z(found.log_z, found.bits, tolerances))


def _is_to_be_proven(plan: Plan, end: End, ends: list[End], tolerances: Tolerances) -> bool:
    """Whether a proof is cheap, or needed."""
    if not plan.layout.message_entries or not is_affordable(plan, end.logs, tolerances):
        return False
    return len(end.logs) <= tolerances.surely_proven or _is_open(plan, end, ends, tolerances)


def _is_open(plan: Plan, end: End, ends: list[End], tolerances: Tolerances) -> bool:
    """Whether rounding may decide what an end is, or show in marginals, log Z or shares."""
    if not end.settled or (end.logs <= math.log(tolerances.zero_belief)).any():
        return True
    if float(np.abs(end.curvatures).min()) < tolerances.plain_curvature:
        return True
    log_z = plan.log_offset + end.log_z
    return needs_digits(plan, log_z, tolerances, alone=len(ends) == 1)


def judged_points(located: Sequence[list[Located]], tolerances: Tolerances) -> list[list[Judged]]:
    """The points of each plan with their verdicts; all are judged at once."""
    verdicts = iter(classify([one.candidate for own in located for one in own], tolerances))
    return [[one.judged(next(verdicts)) for one in own] for own in located]
