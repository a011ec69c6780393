"""Answers by listing all worlds over a few atoms, from the definition of a weight in Python.

No part of the project is used, so that reading a text wrongly cannot go unnoticed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import product

World = Mapping[str, bool]


def listed_worlds(
    atoms: Iterable[str], log_weight: Callable[[World], float]
) -> tuple[float, dict[str, float]]:
    """Log Z, and the probability that each atom is true; -inf rules a world out."""
    names = tuple(atoms)
    total = 0.0
    sums = dict.fromkeys(names, 0.0)
    for values in product((False, True), repeat=len(names)):
        world = dict(zip(names, values, strict=True))
        weight = math.exp(log_weight(world))
        total += weight
        for name in names:
            sums[name] += weight * world[name]
    return math.log(total), {name: weight / total for name, weight in sums.items()}
