"""How far minima of a community lie apart, beside how far it fluctuates inside each of them.

Where fluctuations in one minimum reach another, a community has worlds that belong to both, and to
neither: close to a critical strength of couplings, in small communities. Minima are counted as if
there were no such worlds.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from liftgbp.methods.communities.phases import Phases
from liftgbp.methods.communities.variable_messages import VariableMessages
from liftgbp.solve import Flooding
from liftgbp.support.arrays import Floats, Ints

SMALL_FIELD = 1e-3
"""A field that beliefs respond to in proportion."""

LEAST_SHARE = 0.01
"""Minima that are less likely hardly count, however close they are."""


def least_separation(
    messages: VariableMessages, community: Ints, phases: Phases, shares: Floats, flooding: Flooding
) -> float:
    """The distance of the closest minima of a community, in standard deviations of both together.

    What is looked at is the sum over all variables of the values in which two minima differ,
    weighted by how much they do. Its variance in a minimum is its response to a field of that kind.
    `shares` has the probability of each minimum, by runs and communities.
    """
    owner = np.repeat(community, np.diff(messages.starts))
    inside = owner >= 0
    least = math.inf

    def by_community(values: Floats) -> Floats:
        found = np.bincount(owner[inside], values[inside], minlength=len(phases.number))
        return np.asarray(found, dtype=float)

    for pair in combinations(range(len(phases.ends)), 2):
        counts = (shares[list(pair)] > LEAST_SHARE).all(axis=0) & (phases.number > max(pair))
        if not counts.any():
            continue
        direction = phases.chances[pair[0]] - phases.chances[pair[1]]
        spread = np.zeros(len(phases.number))
        # Towards the other minimum, where fluctuations matter.
        for run, sign in zip(pair, (-1, 1), strict=True):
            field = sign * SMALL_FIELD * direction
            plan = messages.with_fields(phases.ends[run].plan, field, flooding)
            end = messages.flooded(plan, phases.chances[run], flooding)
            response = (messages.chances(end.log_beliefs) - phases.chances[run]) / SMALL_FIELD
            spread += np.sqrt(np.maximum(by_community(sign * response * direction), 0.0))
        gap = by_community(direction**2)
        least = min(least, float((gap[counts] / spread[counts]).min()))
    return least
