"""Two ways lead from a model with evidence to a region graph; this module chooses.

`lifted` keeps objects together that evidence does not tell apart; its cost depends on how many
classes there are, not on their sizes. `ground` writes out the conditioned model and then finds what
behaves alike; it needs no symmetry in the evidence, but memory for all ground atoms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from liftgbp.evidence import Problem
from liftgbp.lift.regions import FACTOR_SCOPES, Family
from liftgbp.lift.shatter import ObjectClasses, object_classes
from liftgbp.model.model import Model
from liftgbp.support.errors import CapacityError, InputError, shown

ViaChoice: TypeAlias = Literal["auto", "lifted", "ground"]
VIAS: tuple[str, ...] = get_args(ViaChoice)

MANY_PARFACTORS = 2_000
"""A model without evidence is grounded, too, if it shatters into more parfactors than this, and has
hardly more ground factors: `1 r(+x,+z)` over 300 named objects is 90,000 rules."""

HARDLY_MORE = 2

FEW_PARFACTORS = 200
"""Up to this many parfactors over classes are cheap, whatever grounding would cost."""

SOME_PARFACTORS, MANY_MORE = 800, 20
"""Up to this many are worth it if there are so many times as many ground factors. Of the other
objects most are alike then, and may fall into blocks, which the ground does not see: facts that
name up to eight of fifty people in the transitive relation."""

MOST_GROUNDINGS = 60_000
"""Quantifiers without an exact answer over classes are grounded up to this many substitutions:
those of a rule about three of 39 objects, or about two of 244."""

MOST_ATOMS = 5 * 10**6
"""Domains with more atoms of open predicates than this are not worth grounding."""


def choose_via(
    name: ViaChoice, problem: Problem, regions: Family = FACTOR_SCOPES
) -> ObjectClasses | None:
    """The classes of objects to lift over, or `None` to go through the ground.

    `auto` is `lifted` if classes are few, or if there are too many atoms to ground; it is `ground`
    if formulas take steps in time or apply functions, as hardly any two objects are alike then.
    Without evidence, it is `lifted` unless nearly every object has a rule of its own.
    """
    if not isinstance(name, str) or name not in VIAS:
        raise InputError(f"unknown via {shown(name)}; choose among {', '.join(VIAS)}")
    if name == "ground":
        return None
    must_lift = not regions.is_over_scopes
    evidence = problem.evidence
    names_everything = any(p.kind != "relation" for p in problem.model.predicates.values())
    if name == "auto" and evidence and not must_lift and names_everything:
        return None
    try:
        objects = object_classes(problem)
    except CapacityError:
        if name == "lifted" or must_lift or not evidence:
            raise
        return None
    per_sort = Counter(c.sort for c in objects.classes)
    ways = groundings(problem.model, per_sort)
    ground = groundings(problem.model, problem.sizes)
    if evidence:
        few = ways <= FEW_PARFACTORS or (ways <= SOME_PARFACTORS and ground > MANY_MORE * ways)
    else:
        few = ways <= MANY_PARFACTORS or ground > HARDLY_MORE * ways
    too_large = open_atoms(problem) > MOST_ATOMS
    return objects if name == "lifted" or must_lift or few or too_large else None


def groundings(model: Model, sizes: Mapping[str, int]) -> int:
    """The groundings of all rules over so many objects, or over so many classes of them."""
    total = 0
    for rule in model.rules:
        scope = model.scope(rule)
        total += math.prod(sizes[scope.sorts[v]] for v in scope.free)
    return total


def open_atoms(problem: Problem) -> int:
    """The ground atoms of predicates that are not closed."""
    return sum(
        math.prod(problem.sizes[sort] for sort in predicate.sorts)
        for name, predicate in problem.model.predicates.items()
        if name not in problem.evidence.closed
    )


def few_groundings(problem: Problem) -> bool:
    """Whether a model can be grounded instead, with all objects below its quantifiers."""
    model, sizes = problem.model, problem.sizes
    every = (
        math.prod(sizes[sort] for sort in model.scope(rule).sorts.values()) for rule in model.rules
    )
    return sum(every) <= MOST_GROUNDINGS


def parfactors_of(objects: ObjectClasses) -> int:
    """About how many parfactors the rules shatter into over these classes."""
    return groundings(objects.problem.model, Counter(c.sort for c in objects.classes))
