"""A lower bound of log Z: what atoms reach that are independent of each other.

For a product of single-atom distributions the Kikuchi entropy is exact, since the counting numbers
count each atom once, and so is the energy. By the variational principle, minus its free energy is
at most the true log Z.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from liftgbp.plan.plan import Floats, Layout, Plan
from liftgbp.solve.starts import TILT, starting_beliefs

MOST_ENTRIES = 10**6

TILTS, MOST_ENTRIES_FOR_TILTS = (0.7, 0.9, 0.97, 0.99), 10**5
"""How far atoms are tilted, where tables are small enough for more than one choice."""


def log_z_of_independent_atoms(plan: Plan) -> float:
    """The largest that flat and tilted independent atoms reach; minus infinity if that is unknown.

    Hard formulas rule independent atoms out.
    """
    products = _products(plan.layout)
    if products is None:
        return -math.inf
    beliefs, negative_entropy = products
    energies = plan.layout.multiplicity * beliefs * plan.theta
    sums = np.add.reduceat(negative_entropy - energies, plan.layout.region_starts, axis=1)
    weights = np.array([float(weight) for weight in plan.weights])
    return plan.log_offset - float((sums @ weights).min())


@lru_cache(maxsize=8)
def _products(layout: Layout) -> tuple[Floats, Floats] | None:
    """Beliefs of independent atoms, and what each entry adds to their negative entropy."""
    states = np.add.reduceat(layout.multiplicity, layout.region_starts) if layout.shapes else None
    if states is None or layout.belief_entries > MOST_ENTRIES:
        return None
    if states.tolist() != [math.prod(shape) for shape in layout.shapes]:
        return None
    tilts = TILTS if layout.belief_entries <= MOST_ENTRIES_FOR_TILTS else (TILT,)
    beliefs = starting_beliefs(layout, random=0, seed=0, tilts=tilts)
    return beliefs, layout.multiplicity * beliefs * np.log(beliefs)
