"""The largest score of all worlds, by listing them; on the plain grounding of the oracle."""

from __future__ import annotations

import math

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.oracle import reference

MOST_WORLDS = 2**20


def largest_score(problem: Problem) -> float | None:
    """The largest score, `-inf` if hard rules leave no world, `None` if there are too many worlds.

    Parts of the network that no factor ties together are listed one by one.
    """
    ground = reference.ground(problem.model, problem.sizes, problem.evidence)
    part = {atom: {atom} for factor in ground.factors for atom in factor.scope}
    for factor in ground.factors:
        joined = set().union(*(part[atom] for atom in factor.scope))
        for atom in joined:
            part[atom] = joined
    total = ground.log_constant
    for atoms in {id(own): sorted(own) for own in part.values()}.values():
        lengths = [ground.ranges[atom] for atom in atoms]
        count = math.prod(lengths)
        if count > MOST_WORLDS:
            return None
        states = dict(zip(atoms, np.unravel_index(np.arange(count), lengths), strict=True))
        scores = np.zeros(count)
        for factor in ground.factors:
            if factor.scope[0] in states:
                scores += factor.log_table[tuple(states[atom] for atom in factor.scope)]
        total += float(scores.max())
    return total
