"""A network of numbered variables as a model without objects: variable 3 is the atom `x3`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from liftgbp.evidence import Evidence, Relation
from liftgbp.grounding import AtomTable, GroundNetwork
from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model


def as_propositions(
    network: GroundNetwork, name: str, observed: Mapping[int, int]
) -> tuple[Evidence, AtomTable]:
    """A model that declares the variables, with what is observed, and which variable is which atom.

    The values of a variable are named by their numbers. A predicate has two of them at least: the
    second one of a variable that has a single value is ruled out as if the first were observed.
    """
    single = np.flatnonzero(network.ranges == 1).tolist()
    predicates = {
        f"x{k}": Predicate(f"x{k}", (), tuple(map(str, range(max(2, values)))))
        for k, values in enumerate(network.ranges.tolist())
    }
    facts = {
        f"x{k}": Relation(np.zeros((1, 0), np.int64), np.array([value]))
        for k, value in {**dict.fromkeys(single, 0), **observed}.items()
    }
    count = len(network.ranges)
    atoms = AtomTable(np.arange(count), np.zeros((count, 0), np.int64))
    return Evidence(Model({}, predicates, name=name), facts), atoms
