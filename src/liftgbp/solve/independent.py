"""Regions that share nothing: their beliefs are their potentials, normalised."""

from __future__ import annotations

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.plan import Plan
from liftgbp.solve.free_energy import log_z
from liftgbp.solve.solution import Solution, Status
from liftgbp.solve.verdict import Kind, Verdict, entropy, entropy_bound, entropy_rounding


def solve_independent(plan: Plan) -> Solution:
    """The one solution of a plan without messages; it is exact."""
    layout = plan.layout
    log_beliefs = np.array(plan.theta)
    for region in range(len(layout.shapes)):
        own = layout.region_slice(region)
        states = log_beliefs[own] + layout.log_multiplicity[own]
        log_beliefs[own] -= np.logaddexp.reduce(states)
    return Solution(
        solver="descent",
        status=Status.CONVERGED,
        iterations=0,
        residual=0.0,
        log_beliefs=log_beliefs,
        log_z=log_z(plan, log_beliefs),
        trace=np.zeros(0),
        judged=lambda: _verdict(plan, np.exp(log_beliefs)),
    )


def _verdict(plan: Plan, beliefs: Floats) -> Verdict:
    return Verdict(
        residual=0.0,
        curvature=1.0,
        kind=Kind.MINIMUM,
        entropy=entropy(plan, beliefs),
        entropy_bound=entropy_bound(plan, beliefs, entropy_rounding(plan, beliefs)),
    )
