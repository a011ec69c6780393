"""A verdict on beliefs from any solver."""

from __future__ import annotations

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.plan.plan import Layout, Plan
from liftgbp.solve.free_energy import log_z
from liftgbp.solve.lower_bound import log_z_of_independent_atoms
from liftgbp.solve.newton import SMALLEST, Energy, nearest_consistent, newton_step
from liftgbp.solve.polytope import polytope
from liftgbp.solve.threads import few_threads
from liftgbp.solve.verdict import (
    Kind,
    Verdict,
    count_margin,
    entropy,
    entropy_bound,
    entropy_rounding,
)

MOST_UNKNOWNS = 20_000
MOST_EQUATIONS = 2_000
ROUNDING = 1e-12
"""Curvatures nearer to zero than this are not told from it."""

SETTLING = 1.0
"""Messages that still change by more than this, in proportion, have led to no point yet."""

STATIONARY = 1e-5
"""Beliefs that a Newton step would change by more than this are not at a stationary point."""


def is_small(layout: Layout) -> bool:
    """Whether the Hessian of the free energy can be afforded."""
    inner = len(np.unique(layout.children))
    fits = layout.belief_entries <= MOST_UNKNOWNS and layout.message_entries <= MOST_EQUATIONS
    return fits and inner <= MOST_EQUATIONS


def judge(plan: Plan, log_beliefs: Floats, residual: float) -> Verdict:
    """What the free energy looks like at beliefs, which need not be quite consistent."""
    # Runs that diverge leave beliefs that are no numbers.
    with np.errstate(over="ignore", invalid="ignore"):
        beliefs = np.exp(log_beliefs)
        curvature, kind = None, Kind.UNKNOWN
        if residual < SETTLING and is_small(plan.layout):
            curvature, kind = _curvature(plan, beliefs)
        return Verdict(
            residual=residual,
            curvature=curvature,
            kind=kind,
            entropy=entropy(plan, beliefs),
            entropy_bound=entropy_bound(plan, beliefs, entropy_rounding(plan, beliefs)),
            count_margin=count_margin(plan, beliefs),
            log_z=log_z(plan, log_beliefs),
            log_z_bound=log_z_of_independent_atoms(plan),
        )


def _curvature(plan: Plan, beliefs: Floats) -> tuple[float | None, Kind]:
    consistent = polytope(plan.layout)
    with few_threads(len(consistent.matrix)):
        outer, error = nearest_consistent(consistent, beliefs[None, consistent.outer])
        if error[0] > 1e-9:
            return None, Kind.UNKNOWN
        step = newton_step(Energy([plan], consistent), outer)
    curvature = float(step.lowest[0])
    if step.residual[0] > STATIONARY:
        return curvature, Kind.UNKNOWN
    if curvature < -ROUNDING:
        return curvature, Kind.SADDLE
    return curvature, Kind.BOUNDARY if (outer <= SMALLEST).any() else Kind.MINIMUM
