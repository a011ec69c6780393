"""An upper bound of the score of all worlds, over the families of regions that an effort allows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from liftgbp.lift.regions import FACTOR_SCOPES, Family, LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import NormalModel
from liftgbp.lift.signature import objects_of
from liftgbp.methods.effort import EFFORTS
from liftgbp.plan import compile_plan
from liftgbp.solve.energy import one_thread
from liftgbp.support.errors import CapacityError
from liftgbp.worlds.optimum import Budget
from liftgbp.worlds.proofs.cutting_rounds import cutting_rounds
from liftgbp.worlds.proofs.score_program import (
    ScoreProgram,
    coarsest,
    largest_score,
    score_program,
)
from liftgbp.worlds.proofs.tight_world import Beliefs, tight_bound

NEARLY = Fraction(1, 10**5)
"""Where the bound by floats exceeds the score of a world by a larger part than this, the world is
not tried as a proof."""

MOST_COMBINATIONS = 20
"""The most ways to choose as many classes as a region has objects: beyond, larger regions take
seconds to build."""

MOST_ENTRIES = {"quick": 2**12, "normal": 2**12, "thorough": 2**14}
"""Families with more beliefs than this are left out: 2¹³ take seconds, and squares of that many
numbers."""


def upper_bound(
    normal: NormalModel,
    budget: Budget,
    low: Fraction | None = None,
    beliefs: Beliefs | None = None,
) -> Fraction | float:
    """What no world's score exceeds; minus infinity if some factor leaves no world.

    `low` is the score of the best world that is known: once the bound is as low, the search is
    over. `beliefs` are those of that world (see `tight_world`), with which the bound may equal its
    score exactly, however many objects there are.
    """
    scopes = build_regions(normal, FACTOR_SCOPES)
    if not all(np.isfinite(own.log_table).any() for own in normal.parfactors):
        return -math.inf
    best = largest_score(scopes)
    for program in _programs(scopes, budget):
        if low is not None and best - low <= Fraction(budget.gap):
            break
        with one_thread():
            rounds = cutting_rounds(program, budget, low)
        best = min(best, rounds.bound)
        enough = low is not None and best - low <= Fraction(budget.gap)
        if low is None or beliefs is None or enough or budget.left() <= 0:
            continue
        scale = max(abs(best), abs(low), Fraction(1), *map(abs, program.energy))
        if rounds.bound - low <= NEARLY * scale:
            exact = tight_bound(program, beliefs, rounds.cuts)
            best = best if exact is None else min(best, exact)
    return best


def _programs(scopes: LiftedRegionGraph, budget: Budget) -> list[ScoreProgram]:
    """Over factor scopes and the larger families that an effort allows, those of few beliefs first.

    A rule about four people may need less regions of four people than pieces of these.
    """
    graphs = [scopes, *_larger(scopes.normal, budget)]
    outer = [frozenset(own.cluster for own in graph.regions if own.outer) for graph in graphs]
    found: list[ScoreProgram] = []
    for number, graph in enumerate(graphs):
        if outer[number] in outer[:number] or (found and budget.left() <= 0):
            continue
        layout = compile_plan(graph).layout
        if layout.belief_entries <= MOST_ENTRIES[budget.effort]:
            found.append(score_program(graph, layout))
    # What one of them knows of possible scores holds for all.
    lattices = tuple(map(coarsest, zip(*(own.lattices for own in found), strict=True)))
    found.sort(key=lambda own: len(own.energy))
    return [replace(own, lattices=lattices) for own in found]


def _larger(normal: NormalModel, budget: Budget) -> Iterator[LiftedRegionGraph]:
    """Regions over as many objects as the effort allows, or as a rule is about."""
    families = _families(normal, budget.effort)
    for family in families:
        # Rules over few atoms about many objects leave few states of all atoms.
        table = EFFORTS["thorough" if family == families[-1] else budget.effort].table
        if budget.left() <= 0:
            return
        try:
            yield build_regions(replace(normal, table_cap=table), family)
        except CapacityError:
            continue


def _families(normal: NormalModel, effort: str) -> list[Family]:
    """Regions over as many objects as an effort allows, or as a rule is about."""
    families = EFFORTS[effort].families
    if not families or all(own.size == 1 or own.constant is not None for own in normal.classes):
        return []
    largest = max((len(objects_of(own.atoms)) for own in normal.parfactors), default=0)
    classes = len(normal.classes)
    wanted = dict.fromkeys((*families, Family("objects", max(largest, 2))))
    return [
        family
        for family in wanted
        if math.comb(classes + family.size - 1, family.size) <= MOST_COMBINATIONS
    ]
