"""A solver for the linear program, in rounds: solve, add the count cuts that are violated, repeat.

Everything here is in floats. What comes out are multipliers, which are rounded to fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from liftgbp.methods.bounding.count_cuts import Cut
from liftgbp.support.arrays import Floats
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.optimum import Budget
from liftgbp.worlds.proofs.score_program import ScoreProgram

MOST_ROUNDS = 60
"""Ten are usual."""

MOST_CUTS = 300
"""From this many cuts on, those that are not tight are dropped."""

NOT_TIGHT = 1e-6
"""A cut is dropped if it is above this, its largest coefficient being one."""

BETTER = 1e-10
"""A round that gains less than this part of the bound has gained nothing."""

STALLED = 5
"""Rounds end when so many gained nothing, one after the other; there may be many optima to cut
off."""

FEASIBLE = 1e-10
"""The tolerance of the solver, the smallest that it takes."""

BITS = 60
"""Multipliers are rounded to so many binary digits after the point, the scores being about one."""


@dataclass(frozen=True, eq=False)
class _Solved:
    """What the solver says: beliefs, the value, and the multipliers of equations and cuts."""

    beliefs: Floats
    value: float
    equations: Floats
    cuts: Floats


@dataclass(frozen=True, eq=False)
class Rounds:
    """What the rounds end with: a proven bound, and the cuts that matter to it."""

    bound: Fraction
    cuts: tuple[Cut, ...]


def cutting_rounds(
    program: ScoreProgram, budget: Budget, low: Fraction | None, most_rounds: int = MOST_ROUNDS
) -> Rounds:
    """The best bound by rounds of cuts; without a solution, what multipliers of zero prove.

    They end once the bound is as low as `low`, up to the gap of the budget.
    """
    best = Rounds(program.bound({}, ()), ())
    if not program.energy:
        return best
    scale = 2 ** max(0, math.ceil(max(map(abs, program.energy), default=Fraction(0)))).bit_length()
    energy = np.array([float(own / scale) for own in program.energy])
    cuts: list[Cut] = []
    known: set[Cut] = set()
    last, stalled = -math.inf, 0
    for _ in range(most_rounds):
        checkpoint()
        solved = _solved(program, energy, cuts, budget)
        if solved is None:
            break
        bound, used = _proven(program, solved, cuts, scale)
        if bound < best.bound:
            best = Rounds(bound, used)
        enough = low is not None and best.bound <= low + Fraction(budget.gap)
        gained = solved.value - last > BETTER * abs(solved.value)
        stalled, last = 0 if gained else stalled + 1, max(solved.value, last)
        if enough or stalled >= STALLED or budget.left() <= 0:
            break
        found = dict.fromkeys(
            cut for looks in program.looks for cut in looks.violated(solved.beliefs)
        )
        fresh = [cut for cut in found if cut not in known]
        if not fresh:
            break
        if len(cuts) > MOST_CUTS:
            width = len(energy)
            kept = [cut.row(width) @ solved.beliefs < NOT_TIGHT for cut in cuts]
            known -= {cut for cut, tight in zip(cuts, kept, strict=True) if not tight}
            cuts = [cut for cut, tight in zip(cuts, kept, strict=True) if tight]
        cuts += fresh
        known |= set(fresh)
    return best


def _solved(
    program: ScoreProgram, energy: Floats, cuts: Sequence[Cut], budget: Budget
) -> _Solved | None:
    from scipy.optimize import linprog  # slow to import
    from scipy.sparse import csr_array

    consistent = program.consistent
    rows = [cut.row(len(energy)) for cut in cuts]
    options = {
        "primal_feasibility_tolerance": FEASIBLE,
        "dual_feasibility_tolerance": FEASIBLE,
    }
    if math.isfinite(budget.seconds):
        options["time_limit"] = max(budget.left(), FEASIBLE)
    found = linprog(
        -energy,
        A_ub=-csr_array(np.array(rows)) if rows else None,
        b_ub=np.zeros(len(rows)) if rows else None,
        A_eq=csr_array(consistent.matrix),
        b_eq=consistent.right_side,
        bounds=(0, None),
        method="highs",
        options=options,
    )
    if found.status != 0:
        return None
    between = -found.eqlin.marginals[consistent.outer_regions :]
    multipliers = np.maximum(-found.ineqlin.marginals, 0.0) if rows else np.zeros(0)
    return _Solved(found.x, float(found.fun), between, multipliers)


def _proven(
    program: ScoreProgram, solved: _Solved, cuts: Sequence[Cut], scale: int
) -> tuple[Fraction, tuple[Cut, ...]]:
    """The bound by rounded multipliers, and the cuts that have some."""
    equations = {
        number: _binary(own) * scale for number, own in enumerate(solved.equations.tolist()) if own
    }
    used = [
        (cut, _binary(own) * scale / (1 << cut.largest.bit_length()))
        for cut, own in (
            # A power of two near the largest coefficient keeps fractions short.
            (cut, own * ((1 << cut.largest.bit_length()) / cut.largest))
            for cut, own in zip(cuts, solved.cuts.tolist(), strict=True)
        )
        if own > 0
    ]
    return program.bound(equations, used), tuple(cut for cut, _ in used)


def _binary(number: float) -> Fraction:
    return Fraction(round(math.ldexp(number, BITS)), 1 << BITS)
