"""Rounds of count cuts: maximise, add the cuts that the beliefs violate, repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from liftgbp.methods.bounding.count_cuts import Cut, Looks
from liftgbp.methods.bounding.decomposition import Program
from liftgbp.methods.bounding.maximise import Maximum, maximise
from liftgbp.support.limits import checkpoint

GAIN = 1e-3
"""A round gains something if it lowers the bound by this much for each atom. Where less is open,
there are none: beliefs of celebrity.mln over a million people violate cuts by rounding only."""

STALLED = 2
"""Rounds end after so many that gained nothing: a cut may first move the beliefs to where others
are violated."""


def tightened(
    program: Program, looks: Sequence[Looks], rounds: int, lower: float
) -> tuple[Program, Maximum]:
    """A program with as many rounds of cuts as lower its bound, and its maximum.

    `lower` is a lower bound per atom of what the program bounds, or minus infinity.
    """
    best = maximise(program)
    tightest, beliefs = program, best.beliefs
    # How large weights of cuts may become: the two bounds may meet.
    reach = best.bound - lower if np.isfinite([best.bound, lower]).all() else 0.0
    cuts: dict[Cut, None] = {}
    stalled = 0
    while rounds > 0 and stalled < STALLED and best.bound - lower > GAIN:
        checkpoint()
        if not np.isfinite(beliefs).all():
            break
        rounds -= 1
        known = len(cuts)
        cuts |= dict.fromkeys(cut for own in looks for cut in own.violated(beliefs))
        if len(cuts) == known:
            break
        rows = np.array([cut.row(len(beliefs)) for cut in cuts])
        cut_off = replace(program, cuts=rows, reach=reach)
        found = maximise(cut_off)
        stalled = 0 if found.bound < best.bound - GAIN else stalled + 1
        if found.bound < best.bound:
            tightest, best = cut_off, found
        beliefs = found.beliefs
    return tightest, best
