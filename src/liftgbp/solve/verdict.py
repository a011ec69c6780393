"""How far a point of the free energy can be trusted; `classify` decides, for every solver.

Is it stationary, is it a minimum, are its beliefs possible? The last is left to `bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from liftgbp.plan import Layout, Plan
from liftgbp.solve.bounds import Bounds, Limits, in_balls, limits_of
from liftgbp.solve.certified import CertifiedPoint, Proof
from liftgbp.solve.energy import Energy, one_thread, polytope, rounding_hides_entropy, scale_of
from liftgbp.solve.findings import NO_BLOCKS, Finding, Flaw, IndependentAtoms, KnownWorlds
from liftgbp.solve.frames import faces_of
from liftgbp.solve.search import PointBatch, nearest_consistent
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats, distinct, stacked_rows
from liftgbp.support.errors import InternalError
from liftgbp.support.shown import HasCard, Reported, in_words


class Kind(HasCard, Enum):
    """What a point of the free energy is.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> liftgbp.infer(model, {"person": 20}, effort="quick").verdict.kind
    <Kind.MINIMUM: 'minimum'>
    >>> liftgbp.Kind("saddle") is liftgbp.Kind.SADDLE
    True
    """

    MINIMUM = "minimum"
    SADDLE = "saddle"
    BOUNDARY = "minimum on the boundary"
    VALLEY = "any point of a flat valley"
    PRODUCT = "independent atoms"
    EXACT = "exact"
    SAMPLED = "sampled"
    UNCHECKED = "not checked"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Reported):
    """What is known about a point.

    residual       how far it is from stationary, as the largest relative change of a belief
    curvature      the smallest eigenvalue of the Hessian of F in the metric of the outer regions'
                   entropy; positive at a minimum, `None` where it was not computed
    kind           minimum, saddle, minimum on the boundary (some beliefs are zero), any point of a
                   flat valley (others are as good), independent atoms (no stationary point, but
                   worlds that all minima lack), exact (no approximation at all), sampled (no
                   approximation, but with standard errors), not checked (the
                   Hessian is too large, and other minima are not ruled out), or unknown
    entropy        the entropy that log Z implies
    entropy_bound  what no joint entropy with these marginals exceeds
    count_margin   how far exchangeable atoms are from excluding each other more than their number
                   allows, in proportion; negative where no joint distribution has such pairs
    log_z_bound    what the true log Z is at least, since independent atoms or worlds reach it
    log_z_slack    how far rounding may take a log Z below that bound
    log_z_ceiling  what the true log Z is at most, if that was proven
    ceiling_slack  how far rounding may take a log Z above that
    implausible    what is impossible about the beliefs, if anything is
    unknown        why the kind is not known or not checked, if it is not
    bound_by       what reaches the bound of log Z
    contradicted   what a second opinion says instead, or why there is none that was due
    bits           with how many bits it was proven to be what it is; `None` without a proof
    broken_curvature  the smallest curvature of the ground free energy if the halves of each class
                   of objects may differ; `None` where it was not computed

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> verdict = liftgbp.infer(model, {"person": 20}, effort="quick").verdict
    >>> verdict.kind.value, verdict.plausible, verdict.curvature > 0
    ('minimum', True, True)
    """

    residual: float
    curvature: float | None
    kind: Kind
    entropy: float
    entropy_bound: float
    count_margin: float
    log_z_bound: float
    log_z_slack: float
    implausible: Finding | None = None
    unknown: Finding | None = None
    bound_by: IndependentAtoms | KnownWorlds = NO_BLOCKS
    broken_curvature: float | None = None
    log_z_ceiling: float = math.inf
    ceiling_slack: float = 0.0
    contradicted: Finding | None = None
    bits: int | None = None

    def __post_init__(self) -> None:
        if self.kind is Kind.UNKNOWN and not self.unknown:
            raise InternalError("a verdict is unknown without a reason")

    @property
    def proven(self) -> bool:
        """Whether ball arithmetic proves that the point is there, and that it is what `kind` says.

        >>> import liftgbp
        >>> model = liftgbp.load("example:friends-smokers")
        >>> verdict = liftgbp.infer(model, {"person": 20}, effort="quick").verdict
        >>> verdict.proven, verdict.bits
        (True, 146)
        """
        return self.bits is not None

    @property
    def plausible(self) -> bool:
        """Whether entropy and counts lie within their bounds, up to rounding."""
        return self.implausible is None

    @property
    def crowded(self) -> bool:
        """Whether it is a minimum at which atoms exclude each other more than they can.

        Its log Z is somewhat too large, and its beliefs are not possible. But worlds like these
        are, so if it is heavier than all sound minima, the answer may lie there.
        """
        wrong = self.implausible
        impossible = wrong is not None and wrong.kind in (Flaw.CROWDED, Flaw.FRUSTRATED)
        return impossible and self.kind in (Kind.MINIMUM, Kind.BOUNDARY)

    @property
    def flaw(self) -> Finding | None:
        """What keeps the point from being (part of) an answer, if anything does."""
        match self.kind:
            case Kind.SADDLE if self.broken_curvature is not None:
                return Finding(Flaw.SADDLE_BETWEEN_HALVES)
            case Kind.SADDLE:
                return Finding(Flaw.SADDLE)
            case Kind.VALLEY:
                return Finding(Flaw.VALLEY)
            case Kind.UNKNOWN:
                return self.unknown
        return self.implausible or self.contradicted

    @property
    def sound(self) -> bool:
        """Whether the point may be (part of) an answer."""
        return self.flaw is None

    @property
    def breaks(self) -> bool:
        """Whether objects of a class would rather behave differently, as far as is known."""
        bent = self.broken_curvature is not None and self.kind is Kind.SADDLE
        by = self.bound_by
        return bent or (isinstance(by, IndependentAtoms) and bool(by.blocks))

    def shortfall(self, log_z: float) -> float:
        """By how much a log Z falls short of the bound; zero if it does not, up to rounding."""
        short = self.log_z_bound - log_z
        return short if short > self.log_z_slack else 0.0

    def excess(self, log_z: float) -> float:
        """By how much a log Z exceeds its ceiling; zero if it does not, up to rounding."""
        over = log_z - self.log_z_ceiling
        return over if over > self.ceiling_slack else 0.0

    def outside(self, log_z: float) -> Finding | None:
        """How far a log Z lies outside its bounds, if it does."""
        if short := self.shortfall(log_z):
            return Finding(Flaw.TOO_LIGHT, (short,), by=self.bound_by)
        over = self.excess(log_z)
        return Finding(Flaw.TOO_HEAVY, (over,)) if over else None

    def bounded_by(self, log_z: float, by: IndependentAtoms | KnownWorlds, slack: float) -> Verdict:
        """The verdict with another bound of log Z, and what reaches it."""
        return replace(self, log_z_bound=log_z, log_z_slack=slack, bound_by=by)

    def capped_by(self, log_z: float, slack: float) -> Verdict:
        """The verdict with a proven upper bound of log Z."""
        return replace(self, log_z_ceiling=log_z, ceiling_slack=slack)

    def contradicted_by(self, opinion: Finding) -> Verdict:
        """The verdict once a second opinion says something else."""
        return replace(self, contradicted=opinion)

    def broken_by(self, curvature: float, tolerances: Tolerances) -> Verdict:
        """The verdict once the curvature is known where halves of classes may differ.

        Independent atoms are no stationary point, and have none.
        """
        if self.kind is Kind.PRODUCT:
            return self
        if curvature < -tolerances.zero_curvature:
            return replace(self, broken_curvature=curvature, kind=Kind.SADDLE, bits=None)
        return replace(self, broken_curvature=curvature)

    def as_only_minimum(self) -> Verdict:
        """The verdict once no other point is stationary: the free energy has a minimum somewhere.

        It is not on the boundary, where all states are possible.
        """
        if self.kind is not Kind.UNCHECKED:
            return self
        return replace(self, kind=Kind.MINIMUM, unknown=None)

    def as_valley(self) -> Verdict:
        """The verdict once another point of the same flat valley has turned up."""
        return replace(self, kind=Kind.VALLEY, bits=None)

    def __str__(self) -> str:
        return in_words(self)


# --- the judge


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """A point to be judged.

    beliefs      one number per belief entry of the plan
    log_z_bound  what the true log Z is at least
    residual     how far it is from stationary, as the largest relative change of a belief
    lowest       the smallest curvature as doubles see it, missing where it cannot be afforded
    unsettled    why the point is not stationary, if it is not
    entropy      the implied entropy, if it is known better than from rounded beliefs
    proven       the proof of what it is, if there is one
    """

    plan: Plan
    beliefs: Floats
    log_z_bound: float
    residual: float
    lowest: float | None = None
    unsettled: Finding | None = None
    entropy: float | None = None
    proven: CertifiedPoint | None = None


def classify(candidates: Sequence[Candidate], tolerances: Tolerances) -> list[Verdict]:
    """The verdicts on points of plans that share one layout."""
    if not candidates:
        return []
    plans = [own.plan for own in candidates]
    beliefs = stacked_rows([own.beliefs for own in candidates])
    limits = limits_of(plans, beliefs, tolerances, [own.entropy for own in candidates])
    on_boundary = _on_boundary(candidates, beliefs, tolerances)
    return [
        _verdict(own, possible, zeros, tolerances)
        for own, possible, zeros in zip(candidates, limits, on_boundary, strict=True)
    ]


def _verdict(own: Candidate, limits: Limits, on_boundary: bool, tolerances: Tolerances) -> Verdict:
    if own.proven is not None:
        limits = in_balls(own.plan, limits, own.proven, tolerances)
    kind, unknown = _kind(own, on_boundary, tolerances)
    slack = tolerances.slack_of(own.log_z_bound) if math.isfinite(own.log_z_bound) else 0.0
    crowded = limits.count_margin < -tolerances.acceptable
    implausible = limits.entropy_flaw
    if crowded and implausible is None:
        implausible = Finding(Flaw.CROWDED, region=limits.region)
    if limits.cycle_margin < -tolerances.acceptable and implausible is None:
        implausible = Finding(Flaw.FRUSTRATED)
    return Verdict(
        residual=own.residual,
        curvature=_curvature(own),
        kind=kind,
        entropy=limits.entropy,
        entropy_bound=limits.entropy_bound,
        count_margin=limits.count_margin,
        log_z_bound=own.log_z_bound,
        log_z_slack=slack,
        implausible=implausible,
        unknown=unknown,
        bits=None if own.proven is None or not own.proven.ways_proven else own.proven.bits,
    )


def is_possible(plan: Plan, beliefs: Floats, tolerances: Tolerances) -> bool:
    """Whether the entropy of beliefs is possible."""
    with np.errstate(over="ignore", invalid="ignore"):
        (possible,) = Bounds([plan], beliefs[None], tolerances).entropy_is_possible()
    return possible


def is_small(layout: Layout, tolerances: Tolerances) -> bool:
    """Whether the Hessian of the free energy can be afforded."""
    most = tolerances.most_equations
    fits = layout.belief_entries <= tolerances.most_unknowns and layout.message_entries <= most
    return fits and len(distinct(layout.children)) <= most


def curvatures_at(
    plans: Sequence[Plan], logs: Floats, tolerances: Tolerances
) -> list[tuple[float | None, Finding | None]]:
    """The smallest curvatures at log beliefs that need not be consistent, and what is wrong there.

    One row of log beliefs for each plan; the plans share a layout. Where it is too large for a
    Hessian, there are no curvatures, and nothing is known to be wrong.
    """
    layout = plans[0].layout
    if not layout.message_entries or not is_small(layout, tolerances):
        return [(None, None)] * len(plans)
    consistent, faces = polytope(layout), faces_of(layout)
    found: list[tuple[float | None, Finding | None]]
    found = [(None, Finding(Flaw.INCONSISTENT))] * len(plans)
    with one_thread(consistent):
        outer, near = nearest_consistent(faces, logs[:, consistent.outer], tolerances)
        rows = np.flatnonzero(near)
        if len(rows):
            energy = Energy([plans[k] for k in rows.tolist()], consistent)
            points = PointBatch(energy, faces, outer[rows], tolerances)
            own = np.arange(len(rows))
            points.take_steps(own)
            lowest = points.curvatures(own)
            for k in own.tolist():
                residual = float(points.step.residual[k])
                settled = residual <= tolerances.same
                why = None if settled else Finding(Flaw.STILL_FALLS, (residual,))
                found[rows[k]] = float(lowest[k].min()), why
    return found


def _kind(own: Candidate, on_boundary: bool, tolerances: Tolerances) -> tuple[Kind, Finding | None]:
    """What a point is by its proof or its smallest curvature, or why that is not known."""
    if own.proven is not None:
        if own.proven.proof is Proof.SADDLE:
            return Kind.SADDLE, None
        return Kind.BOUNDARY if own.proven.on_boundary else Kind.MINIMUM, None
    if own.unsettled:
        return Kind.UNKNOWN, own.unsettled
    if not own.plan.layout.message_entries:
        # Regions that share nothing: beliefs are normalised potentials, and exact.
        return Kind.MINIMUM, None
    if rounding_hides_entropy(own.plan, tolerances):
        return Kind.UNKNOWN, Finding(Flaw.HIDDEN_ENTROPY)
    if own.lowest is None:
        return Kind.UNCHECKED, Finding(Flaw.TOO_LARGE)
    hidden = abs(own.lowest) < tolerances.zero_curvature
    if hidden and tolerances.zero_curvature * scale_of(own.plan) > 1:
        # Curvatures fall to one in so many counts, and below this their signs are chance.
        return Kind.UNKNOWN, Finding(Flaw.HIDDEN_CURVATURE)
    if own.lowest < -tolerances.zero_curvature:
        return Kind.SADDLE, None
    return Kind.BOUNDARY if on_boundary else Kind.MINIMUM, None


def _on_boundary(
    candidates: Sequence[Candidate], beliefs: Floats, tolerances: Tolerances
) -> list[bool]:
    """Whether some belief of an outer region is zero; not looked at where there are no steps."""
    if all(own.lowest is None for own in candidates):
        return [False] * len(candidates)
    outer = beliefs[:, polytope(candidates[0].plan.layout).outer]
    zeros = np.asarray((outer <= tolerances.zero_belief).any(axis=1))
    return [bool(own) for own in zeros]


def _curvature(own: Candidate) -> float | None:
    if not own.plan.layout.message_entries:
        return 1.0
    if own.proven is not None and own.lowest is None:
        return own.proven.curvature
    return own.lowest
