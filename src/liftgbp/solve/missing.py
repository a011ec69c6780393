"""Worlds that an answer lacks: products of independent atoms that no minimum has a part in.

What independent atoms reach is a proven lower bound of log Z, so where it exceeds the log Z of all
minima, some worlds are missing. Regions may see no minimum there, as counting numbers over-count
entropy. Worlds of a product that minima hardly ever have are other worlds than theirs, and both add
up to more.

How much two distributions have in common is at most what their marginals on any region have: the
Bhattacharyya coefficient never falls when atoms are left out (A. Bhattacharyya, *On a measure of
divergence between two statistical populations*, Bulletin of the Calcutta Mathematical Society 35,
1943).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from liftgbp.plan import Plan
from liftgbp.solve.exact_log_z import is_comparable
from liftgbp.solve.mean_field import Product, distinct_products
from liftgbp.solve.solution import Point
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Candidate, Kind, classify
from liftgbp.support.arrays import Floats


def missing_worlds(
    plan: Plan, points: Sequence[Point], bound: float, tolerances: Tolerances
) -> list[Point]:
    """Products that have nothing in common with any sound point, nor with each other.

    `bound` is what log Z is at least.
    """
    known = [point.log_beliefs for point in points if point.verdict.sound]
    missing = []
    for product in distinct_products(plan, tolerances):
        if all(_in_common(plan, product.log_beliefs, own) < tolerances.acceptable for own in known):
            known.append(product.log_beliefs)
            missing.append(_as_point(plan, product, bound, tolerances))
    return missing


def _in_common(plan: Plan, one: Floats, other: Floats) -> float:
    """What two distributions with these beliefs have in common at most."""
    layout = plan.layout
    terms = layout.multiplicity * np.exp((one + other) / 2)
    return float(np.add.reduceat(terms, layout.region_starts).min(initial=1.0))


def _as_point(plan: Plan, product: Product, bound: float, tolerances: Tolerances) -> Point:
    candidate = Candidate(plan, np.exp(product.log_beliefs), log_z_bound=bound, residual=0.0)
    verdict = replace(classify([candidate], tolerances)[0], kind=Kind.PRODUCT, unknown=None)
    log_z = Decimal(product.log_z) - Decimal(plan.log_offset)
    precise = is_comparable(plan, tolerances)
    return Point(product.log_beliefs, product.log_z, 0.0, verdict, log_z, precise)
