"""Two ways lead from a model with evidence to a region graph; this module chooses.

`lifted` keeps objects that evidence does not tell apart together and costs what the classes cost,
whatever their sizes. `ground` writes the conditioned model out and finds afterwards what behaves
alike; it needs no symmetry in the evidence, but room for all ground atoms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from liftgbp.errors import CapacityError, InputError
from liftgbp.evidence import Evidence
from liftgbp.model.scopes import free_variables
from liftgbp.shatter.classes import object_classes

VIAS = ("auto", "lifted", "ground")

FEW_PARFACTORS = 200
"""Up to this many parfactors over classes are cheap, whatever grounding would cost."""

MOST_ATOMS = 5 * 10**6
"""Domains with more atoms of open predicates than this are not worth grounding."""


def choose_via(name: str, evidence: Evidence, sizes: Mapping[str, int] | None, regions: str) -> str:
    """How the region graph is found; `auto` is `lifted` if classes are few or atoms too many."""
    if not isinstance(name, str) or name not in VIAS:
        raise InputError(f"unknown via {name!r}; choose among {', '.join(VIAS)}")
    if name != "auto":
        return name
    if not evidence or regions not in ("intersections", "bethe", "subsets"):
        return "lifted"
    domain_sizes = evidence.domain_sizes(sizes)
    try:
        classes, _ = object_classes(evidence, domain_sizes)
    except CapacityError:
        return "ground"
    per_sort = Counter(c.sort for c in classes)
    few = _ways(evidence, per_sort) <= FEW_PARFACTORS
    return "lifted" if few or _open_atoms(evidence, domain_sizes) > MOST_ATOMS else "ground"


def _ways(evidence: Evidence, per_sort: Mapping[str, int]) -> int:
    """About how many parfactors the rules shatter into."""
    model = evidence.model
    return sum(
        math.prod(per_sort[model.variable_sorts(rule)[v]] for v in free_variables(rule))
        for rule in model.rules
    )


def _open_atoms(evidence: Evidence, sizes: Mapping[str, int]) -> int:
    return sum(
        math.prod(sizes[sort] for sort in predicate.sorts)
        for name, predicate in evidence.model.predicates.items()
        if name not in evidence.closed
    )
