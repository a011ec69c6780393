"""An upper bound of all scores: the best consistent beliefs of the regions of a network.

Over the scopes of factors this is the usual relaxation; loops make it tight where pairs are
frustrated. Whatever solves the linear program, any multipliers λ of the equations A b = 0 between
regions give a bound,

    max_x score(x)  ≤  Σ_regions max_x (c - A'λ)(x),

as beliefs of each region are a distribution. With whole numbers c and multipliers that are rounded
to binary fractions, the right side is computed without any error. Reference: D. Sontag and
T. Jaakkola, *New outer bounds on the marginal polytope*, NIPS 2007.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.worlds.ground.whole import WholeNetwork
from liftgbp.plan import Plan, compile_plan
from liftgbp.support.arrays import Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BINARY_DIGITS = 20
"""Multipliers are rounded to so many binary digits after the point."""


def upper_bound(network: WholeNetwork, family: str, seconds: float) -> float:
    """A bound of the scores of all worlds, in units, over the regions of a family."""
    soft = network.softened()
    ground = GroundNetwork(soft.ranges, soft.blocks, soft.tables)
    graph = compress(ground_region_graph(ground, family), ground)
    return _bound(compile_plan(graph), seconds)


def _bound(plan: Plan, seconds: float) -> float:
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    layout = plan.layout
    counts = np.array(plan.weights, float)
    gains = counts[layout.region_of] * layout.multiplicity * plan.theta
    equations = _equations(plan)
    regions = len(layout.shapes)
    places = layout.region_of, np.arange(layout.belief_entries)
    sums = coo_array(
        (layout.multiplicity.astype(float), places), shape=(regions, layout.belief_entries)
    )
    scale = float(np.abs(gains).max(initial=1.0))
    result = linprog(
        -gains / scale,
        A_eq=vstack([equations, sums]).tocsr(),
        b_eq=np.concatenate([np.zeros(equations.shape[0]), np.ones(regions)]),
        bounds=(0, None),
        method="highs",
        options={"time_limit": seconds},
    )
    multipliers = np.zeros(equations.shape[0])
    if result.eqlin is not None and result.eqlin.marginals is not None and result.status == 0:
        multipliers = -result.eqlin.marginals[: len(multipliers)] * scale
    rounded = np.rint(multipliers * 2.0**BINARY_DIGITS) / 2.0**BINARY_DIGITS
    rest = (gains - equations.T @ rounded) / layout.multiplicity
    most = np.full(regions, -np.inf)
    np.maximum.at(most, layout.region_of, rest)
    return math.floor(math.fsum(most)) + plan.log_offset


def _equations(plan: Plan) -> csr_array:
    """The beliefs of children are sums of those of their parents: zero equals these rows."""
    from scipy.sparse import coo_array

    layout = plan.layout
    entries = layout.message_entries
    ends = np.append(layout.source_starts[1:], len(layout.sources))
    rows = np.repeat(np.arange(entries), ends - layout.source_starts)
    numbers = np.concatenate([layout.source_counts.astype(float), -np.ones(entries)])
    places = (
        np.concatenate([rows, np.arange(entries)]),
        np.concatenate([layout.sources, layout.children]),
    )
    return coo_array((numbers, places), shape=(entries, layout.belief_entries)).tocsr()


__all__ = ["Floats", "upper_bound"]
