"""What a search for a best world gives, and what a world is.

Scores are fractions. Weights are decimals that people write, so that `exact` finds the number that
a double stands for, and ties are ties.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from liftgbp.evidence import Problem
from liftgbp.model.ast import Rule

DECIMALS = 12
"""Weights are read to so many decimals; sums of decimals in doubles are closer than this."""

SAME = 2.0**-48
"""A double this close to a decimal, in proportion, stands for it."""


def exact(number: float) -> Fraction:
    """The shortest decimal that a double stands for, or else the double itself.

    >>> exact(0.1 + 0.2), exact(1234567890.7), exact(1 / 3) == Fraction(1 / 3)
    (Fraction(3, 10), Fraction(12345678907, 10), True)
    """
    for decimals in range(DECIMALS + 1):
        decimal = Fraction(f"{number:.{decimals}f}")
        if abs(float(decimal) - number) <= SAME * max(abs(number), 1.0):
            return decimal
    return Fraction(number)


class World(Protocol):
    """A value for every ground atom of a problem. Objects are their numbers inside their sort."""

    @property
    def problem(self) -> Problem:
        """What it is a world of."""

    def value(self, predicate: str, objects: Sequence[int]) -> int:
        """The value of a ground atom, by number; 0 is false, or the first value."""

    def atoms(self, predicate: str) -> Iterator[tuple[tuple[int, ...], int]]:
        """The ground atoms that do not have their first value, with their values."""

    def number(self, predicate: str) -> int:
        """How many atoms of a predicate do not have their first value."""

    def tally(self, rule: Rule) -> tuple[int, ...]:
        """The groundings of a rule by their state.

        A formula is (violated, satisfied); a table has one number for each of its potentials. The
        rule need not be one of the model.
        """


@dataclass(frozen=True, eq=False, slots=True)
class Optimum:
    """The best world that was found, and what no world exceeds.

    world      `None` if none was found
    score      of the world: the logarithm of its weight, hard rules aside
    upper      no world has a larger score; infinite if nothing is known
    fewest     whether no world of that score is known or possible with fewer true atoms
    undecided  ground atoms (predicate, objects) that differ between best worlds, where known
    how        what found the world and the bound, as a word or two for notes
    """

    world: World | None
    score: Fraction | None
    upper: Fraction | float = math.inf
    fewest: bool = False
    undecided: tuple[tuple[str, tuple[int, ...]], ...] | None = None
    how: tuple[str, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether no world has a larger score."""
        return self.score is not None and self.score >= self.upper


Report = Callable[[Fraction | float, Fraction | float], None]
"""Hears of the best score and the bound so far."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a search may take.

    effort   `quick`, `normal` or `thorough`: counted in steps, so that runs can be repeated
    seconds  the end in any case; the best world so far is the answer then
    gap      a search ends when the bound is this close to the score
    seed     of everything that is random
    """

    effort: str = "normal"
    seconds: float = math.inf
    gap: float = 0.0
    seed: int = 0
    report: Report = lambda score, upper: None
    started: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """The seconds that are left."""
        return self.seconds - (time.monotonic() - self.started)
