"""The lifted Kikuchi free energy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from liftgbp.plan import Plan


def log_z(plan: Plan, log_beliefs: NDArray[np.float64]) -> float:
    """The log partition function that normalised beliefs stand for: minus the free energy."""
    energy = plan.layout.multiplicity * np.exp(log_beliefs) * (log_beliefs - plan.theta)
    parts = [
        weight * math.fsum(energy[plan.layout.region_slice(region)])
        for region, weight in enumerate(plan.weights)
        if weight
    ]
    return plan.log_offset - math.fsum(parts)
