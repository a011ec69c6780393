"""What a search for a best world gives, and what a world is.

Scores are fractions. Weights are decimals that people write, so that `exact` finds the number that
a double stands for, and ties are ties.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from threading import Event
from typing import Protocol

from liftgbp.evidence import Problem
from liftgbp.model.ast import Rule, TableParfactor, evaluate_weight
from liftgbp.support.errors import InternalError
from liftgbp.support.limits import checkpoint

DECIMALS = 12
"""Weights are read to so many decimals; sums of decimals in doubles are closer than this."""

DIGITS = 16
"""Decimals of so many digits are what people write; sums of doubles mostly have one more."""

SAME = 2.0**-48
"""A double this close to a decimal, in proportion, stands for it."""

ROUNDING = 2.0**-44
"""What a sum of weights in doubles is off by at most, in proportion to the largest of them."""


def exact(number: float) -> Fraction:
    """The shortest decimal that a double stands for, or else the double itself.

    >>> exact(0.1 + 0.2), exact(1234567890.7), exact(1 / 3) == Fraction(1 / 3)
    (Fraction(3, 10), Fraction(12345678907, 10), True)
    """
    written = Decimal(repr(float(number)))
    _, digits, exponent = written.as_tuple()
    if len(digits) <= DIGITS and int(exponent) >= -DECIMALS:
        return Fraction(written)
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

    def examples(self, sort: str, most: int) -> list[int]:
        """Some objects of a sort, of all kinds that the world has, for pictures."""

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
    free       how many atoms of each predicate no rule touches
    """

    world: World | None
    score: Fraction | None
    upper: Fraction | float = math.inf
    fewest: bool = False
    undecided: tuple[tuple[str, tuple[int, ...]], ...] | None = None
    how: tuple[str, ...] = ()
    free: Mapping[str, int] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        """Whether no world has a larger score."""
        return self.score is not None and self.score >= self.upper

    @property
    def known_score(self) -> Fraction:
        """The score, where a world was found."""
        if self.score is None:
            raise InternalError("no world was found")
        return self.score

    def joined(self, other: Optimum) -> Optimum:
        """The better of two worlds with the smaller of two bounds."""
        one, two = self, other
        if two.score is not None and (
            one.score is None
            or (two.score, two.fewest, -two.true_atoms) > (one.score, one.fewest, -one.true_atoms)
        ):
            one, two = two, one
        upper = min(one.upper, two.upper)
        better = two if two.upper < one.upper else one
        undecided = one.undecided
        if undecided is None and two.score == one.score:
            undecided = two.undecided
        return replace(
            one,
            upper=upper,
            undecided=undecided,
            fewest=one.fewest
            or (two.fewest and two.score == one.score and two.true_atoms >= one.true_atoms),
            how=(*one.how, *better.how),
        )

    @property
    def true_atoms(self) -> int:
        """How many atoms of the world do not have their first value."""
        if self.world is None:
            return 0
        return sum(map(self.world.number, self.world.problem.model.predicates))


def log_weights(
    rule: Rule, sizes: Mapping[str, int], named: Mapping[str, float]
) -> tuple[float, ...]:
    """What a grounding adds to the score in each of its states, in the order of `tally`."""
    if isinstance(rule, TableParfactor):
        numbers = [evaluate_weight(own, sizes, named) for own in rule.potentials]
        return tuple(math.log(number) if number else -math.inf for number in numbers)
    if rule.weight is None:
        return -math.inf, 0.0
    return 0.0, evaluate_weight(rule.weight, sizes, named)


def score_of(world: World) -> tuple[Fraction, int]:
    """The sum of the weights of satisfied groundings, and how many hard ones are violated.

    Potentials count by their logarithms; uncertain facts count, too.
    """
    problem = world.problem
    total, violated = Fraction(0), 0
    for rule in problem.model.rules:
        counts = world.tally(rule)
        weights = log_weights(rule, problem.sizes, problem.model.weights)
        for number, weight in zip(counts, weights, strict=True):
            if weight == -math.inf:
                violated += number
            elif number:
                total += number * exact(weight)
    for name, relation in problem.evidence.soft.items():
        for row, logs in zip(relation.args.tolist(), relation.log_potentials, strict=True):
            checkpoint()
            weight = float(logs[world.value(name, row)])
            if weight == -math.inf:
                violated += 1
            else:
                total += exact(weight)
    return total, violated


def hidden_by_rounding(problem: Problem) -> Fraction:
    """How much better than it looks a world may be where weights are added in doubles.

    Nothing, if sums of the weights are so small that each stands for one decimal of theirs.

    >>> from liftgbp.model.parser import parse
    >>> rules = "p(t)\\n0.3 p(x)\\n{} p(x)\\n{} p(x)"
    >>> for text in (rules.format(2, -2), rules.format(2e12, -2e12)):
    ...     print(hidden_by_rounding(Problem.of(parse(text), None, {"t": 3})) > 0)
    False
    True
    """
    model, sizes = problem.model, problem.sizes
    unit, total, spread = 1, Fraction(0), Fraction(0)
    for rule in model.rules:
        scope = model.scope(rule)
        groundings = math.prod(sizes[scope.sorts[name]] for name in scope.free)
        logs = [exact(own) for own in log_weights(rule, sizes, model.weights) if own > -math.inf]
        largest = max(map(abs, logs), default=Fraction(0))
        # Other numbers than decimals are not told apart to the last place.
        unit = math.lcm(unit, *(own.denominator for own in logs if _is_decimal(own)))
        total, spread = total + largest, spread + groundings
    off = total * Fraction(ROUNDING)
    return Fraction(0) if 2 * off * unit < 1 else off * spread


def _is_decimal(number: Fraction) -> bool:
    return bool(10**DECIMALS % number.denominator == 0)


Report = Callable[[Fraction | float, Fraction | float], None]
"""Hears of the best score and the bound so far."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a search may take.

    effort   `quick`, `normal` or `thorough`: counted in steps, but for branching
    seconds  the end in any case; the best world so far is the answer then
    gap      a search ends when the bound is this close to the score
    seed     of everything that is random
    report   hears of progress
    stopped  set from outside where the best world so far is wanted at once
    """

    effort: str = "normal"
    seconds: float = math.inf
    gap: float = 0.0
    seed: int = 0
    report: Report = lambda score, upper: None
    started: float = field(default_factory=time.monotonic)
    stopped: Event = field(default_factory=Event)

    def left(self) -> float:
        """The seconds that are left; none once somebody stopped the search."""
        if self.stopped.is_set():
            return 0.0
        return self.seconds - (time.monotonic() - self.started)

    @property
    def time_text(self) -> str:
        """The seconds that were allowed, for messages."""
        return "" if math.isinf(self.seconds) else f" within {self.seconds:g} seconds"

    def anew(self) -> Budget:
        """The same for another search, which starts now."""
        return replace(self, started=time.monotonic(), stopped=Event())

    def tell(self, known: Optimum) -> None:
        """Report how far a search is."""
        self.report(-math.inf if known.score is None else known.score, known.upper)

    def is_enough(self, known: Optimum) -> bool:
        """Whether a search ends: at a proof, at the gap that was asked for, or out of time.

        Without a world, the next method is tried even then: most find one at once.
        """
        if known.upper == -math.inf:
            return True
        if known.score is None:
            return False
        return self.left() <= 0 or known.upper - known.score <= self.gap
