"""Whether the free energy falls from one point to another without a barrier between them.

Two worlds may be minima on the boundary as far as anyone has looked, and the mixture of both a
third: a way inside leads from each of them to the mixture, on which the entropy of not knowing the
world pulls. Nothing keeps them apart, so such a world is no minimum of its own, and the mixture
counts it already.
"""

from __future__ import annotations

from collections.abc import Mapping

from flint import arb

from liftgbp.plan import Plan
from liftgbp.solve.certified import CertifiedPoint
from liftgbp.solve.frames import precision
from liftgbp.solve.tolerances import Tolerances

NEAREST = 64
"""The way is looked at at each half of what is left, down to a part of one in two to the power of
this: what happens nearer to its beginning changes log Z by less than 1e-9."""

Beliefs = Mapping[int, arb]
"""Belief entries that are not zero, as balls."""


def leads_down(start: CertifiedPoint, end: CertifiedPoint, tolerances: Tolerances) -> bool:
    """Whether the straight way between two points of a plan leads down, and never up before.

    It may rise by `tolerances.level`: beliefs that are tiny at the end raise it by less.
    """
    with precision(max(start.bits, end.bits)):
        if not end.log_z > start.log_z:
            return False
        here, there = dict(start.beliefs()), dict(end.beliefs())
        highest = -start.log_z + tolerances.level
        return all(
            _free_energy(start.plan, _between(here, there, arb(2) ** -k)) < highest
            for k in range(1, NEAREST)
        )


def _between(here: Beliefs, there: Beliefs, part: arb) -> Beliefs:
    """Beliefs a part of the way from one place to another."""
    zero = arb(0)
    return {
        entry: (1 - part) * here.get(entry, zero) + part * there.get(entry, zero)
        for entry in {**here, **there}
    }


def _free_energy(plan: Plan, beliefs: Beliefs) -> arb:
    """The free energy of beliefs, without `plan.log_offset`."""
    layout, total = plan.layout, arb(0)
    for entry, own in beliefs.items():
        weight = plan.weights[layout.region_of[entry]] * int(layout.multiplicity[entry])
        if weight and own > 0:
            theta = arb(float(plan.theta[entry])) + float(plan.theta_lost[entry])
            total = total + weight * own * (own.log() - theta)
    return total
