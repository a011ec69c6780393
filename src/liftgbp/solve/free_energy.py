"""The lifted Kikuchi free energy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from liftgbp.plan import Layout, Plan

MANY = 10**4
"""From this many regions on, sums are taken in one go; each is over a few entries then."""


def log_z(plan: Plan, log_beliefs: NDArray[np.float64]) -> float:
    """The log partition function that normalised beliefs stand for: minus the free energy."""
    energy = plan.layout.multiplicity * np.exp(log_beliefs) * (log_beliefs - plan.theta)
    sums = sums_by_region(plan.layout, energy)
    parts = (weight * total for weight, total in zip(plan.weights, sums, strict=True) if weight)
    return plan.log_offset - math.fsum(parts)


def sums_by_region(layout: Layout, values: NDArray[np.float64]) -> list[float]:
    """The sum of the entries of each region; exact before its last rounding if there are few."""
    if len(layout.shapes) >= MANY:
        totals: list[float] = np.add.reduceat(values, layout.region_starts).tolist()
        return totals
    return [math.fsum(values[layout.region_slice(r)]) for r in range(len(layout.shapes))]
