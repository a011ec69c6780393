"""Intervals that contain log Z for certain, in exact arithmetic.

Both ends of an interval are huge and nearly equal in large domains: log Z of the chain over 1e9
objects is about 1e36, and what is not known of it about 1e17. So ends are exact fractions, and are
rounded outwards when they become floats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from liftgbp.solve import NO_BLOCKS, IndependentAtoms

DIGITS = 80
"""Digits of the logs of small numbers: far more than any count of atoms has."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Two numbers between which log Z lies; `lower` is missing if nothing is known.

    `reached` is what reaches the lower one, `family` names the regions that prove the upper one; it
    is empty if that is the sum of the largest energies of all factors.
    """

    lower: Fraction | None
    upper: Fraction
    reached: IndependentAtoms = NO_BLOCKS
    family: str = ""


def known_first(end: tuple[Fraction | None, IndependentAtoms]) -> tuple[bool, Fraction]:
    """The order of lower bounds, some of which are missing."""
    return end[0] is not None, end[0] or Fraction(0)


def rounded_down(number: Fraction | None) -> float:
    """The next float below, or the number itself; minus infinity for a missing one."""
    if number is None:
        return -math.inf
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def rounded_up(number: Fraction) -> float:
    """The next float above, or the number itself."""
    return -rounded_down(-number)


def log_worlds(atoms: Mapping[int, int]) -> Fraction:
    """The log of the number of worlds of atoms, given how many have how many values each."""
    with localcontext(Context(prec=DIGITS)):
        return sum(
            (count * Fraction(Decimal(values).ln()) for values, count in atoms.items()), Fraction(0)
        )


def log_ratio(above: Fraction | None, below: Fraction) -> float:
    """The difference of two logs as a float; minus infinity if the first is missing."""
    return -math.inf if above is None else float(above - below)
