"""An upper bound of the score of all worlds, over the families of regions that an effort allows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from liftgbp.lift.regions import FACTOR_SCOPES, Family, build_regions
from liftgbp.lift.shatter import NormalModel
from liftgbp.lift.signature import Cluster, objects_of
from liftgbp.methods.effort import EFFORTS
from liftgbp.plan import compile_plan
from liftgbp.solve.energy import one_thread
from liftgbp.support.errors import CapacityError
from liftgbp.worlds.optimum import Budget
from liftgbp.worlds.proofs.cutting_rounds import cutting_rounds
from liftgbp.worlds.proofs.score_program import ScoreProgram, coarsest, score_program
from liftgbp.worlds.proofs.tight_world import Beliefs, tight_bound

NEARLY = Fraction(1, 10**5)
"""Where the bound by floats exceeds the score of a world by a larger part than this, the world is
not tried as a proof."""

MOST_COMBINATIONS = 20
"""The most ways to choose as many classes as a region has objects: beyond, larger regions take
seconds to build."""

MOST_ENTRIES = 2**12
"""Larger families with more beliefs than this are left out: solving takes seconds in each round."""


def upper_bound(
    normal: NormalModel,
    budget: Budget,
    low: Fraction | None = None,
    beliefs: Beliefs | None = None,
) -> Fraction | None:
    """What no world's score exceeds; nothing if there is no proof at all.

    `low` is the score of the best world that is known: once the bound is as low, the search is
    over. `beliefs` are those of that world (see `tight_world`), with which the bound may equal its
    score exactly, however many objects there are.
    """
    best: Fraction | None = None
    for program in _programs(normal, budget):
        with one_thread():
            rounds = cutting_rounds(program, budget, low)
        if rounds is None:
            continue
        best = rounds.bound if best is None else min(best, rounds.bound)
        if low is None:
            continue
        if best - low <= Fraction(budget.gap):
            break
        scale = max(abs(best), abs(low), *map(abs, program.energy), 1)
        if beliefs is not None and rounds.bound - low <= NEARLY * scale:
            exact = tight_bound(program, beliefs, rounds.cuts)
            if exact is not None and exact < best:
                best = exact
            if best - low <= Fraction(budget.gap):
                break
    return best


def _programs(normal: NormalModel, budget: Budget) -> list[ScoreProgram]:
    """Over factor scopes and the larger families that an effort allows, those of few beliefs first.

    A rule about four people may need less regions of four people than pieces of these.
    """
    families = _families(normal, budget.effort)
    found: list[ScoreProgram] = []
    seen: set[frozenset[Cluster]] = set()
    for family in families:
        if found and budget.left() <= 0:
            break
        # Rules over few atoms about many objects leave few states of all atoms.
        table = EFFORTS["thorough" if family == families[-1] else budget.effort].table
        own = normal if family == FACTOR_SCOPES else replace(normal, table_cap=table)
        try:
            graph = build_regions(own, family)
        except CapacityError:
            if family == FACTOR_SCOPES:
                raise
            continue
        key = frozenset(own.cluster for own in graph.regions if own.outer)
        if key in seen:
            continue
        seen.add(key)
        program = score_program(graph, compile_plan(graph).layout)
        if not found or len(program.energy) <= MOST_ENTRIES:
            found.append(program)
    # What one of them knows of possible scores holds for all.
    lattices = tuple(map(coarsest, zip(*(own.lattices for own in found), strict=True)))
    found.sort(key=lambda own: len(own.energy))
    return [replace(own, lattices=lattices) for own in found]


def _families(normal: NormalModel, effort: str) -> list[Family]:
    """Factor scopes, and regions over as many objects as the effort allows or a rule is about."""
    families = EFFORTS[effort].families
    if not families or all(own.size == 1 or own.constant is not None for own in normal.classes):
        return [FACTOR_SCOPES]
    largest = max((len(objects_of(own.atoms)) for own in normal.parfactors), default=0)
    wanted = dict.fromkeys((*families, Family("objects", max(largest, 2))))
    classes = len(normal.classes)
    return [
        FACTOR_SCOPES,
        *(
            own
            for own in wanted
            if math.comb(classes + own.size - 1, own.size) <= MOST_COMBINATIONS
        ),
    ]
