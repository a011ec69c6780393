"""Beliefs that belong to a joint distribution: read off one, world by world."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume

from liftgbp.lift.regions import LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.oracle.messages import GroundObjects
from liftgbp.oracle.reference import GroundAtom
from liftgbp.oracle.reference.log_tables import expand
from liftgbp.plan import Plan, compile_plan
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, ContradictionError

MOST_WORLDS = 2**14


def mentioned(ground: reference.GroundModel) -> list[GroundAtom]:
    return sorted({atom for factor in ground.factors for atom in factor.scope})


def few_worlds(ground: reference.GroundModel) -> bool:
    worlds = math.prod(ground.ranges[atom] for atom in mentioned(ground))
    return bool(ground.factors) and worlds <= MOST_WORLDS


def joint_of(ground: reference.GroundModel) -> tuple[list[GroundAtom], Floats]:
    """The distribution of all atoms that factors mention, world by world."""
    atoms = mentioned(ground)
    logs = np.zeros([ground.ranges[atom] for atom in atoms])
    for factor in ground.factors:
        logs = logs + expand(factor.log_table, factor.scope, atoms)
    worlds = np.exp(logs - logs.max())
    return atoms, worlds / worlds.sum()


def beliefs_of(
    graph: LiftedRegionGraph, plan: Plan, atoms: list[GroundAtom], joint: Floats
) -> Floats:
    """The beliefs of all canonical regions, read off a distribution of the ground atoms."""
    objects = GroundObjects(graph.normal)
    beliefs = []
    for number, region in enumerate(graph.regions):
        places = [atoms.index(objects.atom(atom)) for atom in region.cluster]
        others = tuple(k for k in range(joint.ndim) if k not in places)
        marginal = joint.sum(axis=others).transpose(np.argsort(np.argsort(places)))
        beliefs.append(marginal.ravel()[plan.layout.representatives[number]])
    return np.concatenate(beliefs)


def truth_of(model: Model, domain: dict[str, int], regions: str) -> tuple[Plan, Floats, Floats]:
    """The plan of a random model with few worlds, its true beliefs and its joint distribution."""
    try:
        ground = reference.ground(model, domain)
        assume(few_worlds(ground))
        reference.exact(ground)
        graph = build_regions(shatter(model, domain), regions)
    except (CapacityError, ContradictionError):
        assume(False)
    atoms, joint = joint_of(ground)
    plan = compile_plan(graph)
    return plan, beliefs_of(graph, plan, atoms, joint), joint
