"""Images of minima under the symmetries of a plan are minima, too, and as good."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import replace
from decimal import Context, Decimal

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.plan import Plan, symmetries
from liftgbp.solve.solution import Point
from liftgbp.solve.tolerances import Tolerances

DIGITS = Context(prec=1000)
"""For log Z without rounding: it has as many digits as its proof has bits."""

SAME, PLACES = Decimal("1e-8"), 6
"""Log Z is compared to eight decimal places to order points, and beliefs to six."""


def completed(plan: Plan, points: list[Point], tolerances: Tolerances) -> list[Point]:
    """The points with all images of those that may be part of an answer, which come first.

    An image has the same log Z and the same verdict. What was found in its place is left out, since
    rounding may have hidden what it is.
    """
    generators = symmetries(plan)
    if not generators:
        return points
    found: list[Point] = []
    known = Places(tolerances.same)
    sound = [point for point in points if point.verdict.sound]
    for point in best_first(sound):
        if known.add(np.exp(point.log_beliefs)):
            images = _images(generators, point.log_beliefs, tolerances)
            found += [point, *(replace(point, log_beliefs=own) for own in images)]
            for own in images:
                known.add(np.exp(own))
    others = (point for point in points if not point.verdict.sound)
    return found + [p for p in others if not known.holds(np.exp(p.log_beliefs))]


def best_first(points: Iterable[Point]) -> list[Point]:
    """Points by falling log Z; those that rounding may tell apart, such as images, by beliefs."""

    def order(point: Point) -> tuple[Decimal, list[float]]:
        log_z = DIGITS.quantize(point.exact_log_z, SAME)
        return log_z, np.exp(point.log_beliefs).round(PLACES).tolist()

    return sorted(points, key=order, reverse=True)


def images_of(plan: Plan, log_beliefs: Floats, tolerances: Tolerances) -> list[Floats]:
    """The images of log beliefs that differ from these and from each other; none if many do."""
    return _images(symmetries(plan), log_beliefs, tolerances)


def _images(generators: list[Ints], log_beliefs: Floats, tolerances: Tolerances) -> list[Floats]:
    images = [log_beliefs]
    known = Places(tolerances.same)
    known.add(np.exp(log_beliefs))
    for own in images:
        for generator in generators:
            image = own[generator]
            if known.add(np.exp(image)):
                images.append(image)
        if len(images) > tolerances.most_images:
            return []
    return images[1:]


class Places:
    """Beliefs of which no two are near each other: some entry differs by `close` or more.

    Near ones have nearly the same weighted mean, so only those with such means are compared:
    symmetries may make a thousand minima out of ten.
    """

    def __init__(self, close: float) -> None:
        self._close = close
        self._weights = np.empty(0)
        self._found: list[tuple[float, int]] = []
        self._beliefs: list[Floats] = []

    def add(self, beliefs: Floats) -> bool:
        """Whether these beliefs were new."""
        if self.holds(beliefs):
            return False
        insort(self._found, (self._mean(beliefs), len(self._beliefs)))
        self._beliefs.append(beliefs)
        return True

    def holds(self, beliefs: Floats) -> bool:
        """Whether they are near some that were added."""
        # Twice as far, for rounding.
        mean, reach = self._mean(beliefs), 2 * self._close
        for place in range(bisect_left(self._found, (mean - reach, 0)), len(self._found)):
            other, number = self._found[place]
            if other > mean + reach:
                return False
            if np.abs(beliefs - self._beliefs[number]).max(initial=0.0) < self._close:
                return True
        return False

    def _mean(self, beliefs: Floats) -> float:
        if len(self._weights) != len(beliefs):
            # Weights differ, so that images under a symmetry have different means.
            weights = 1 + np.sin(np.arange(len(beliefs)) ** 2 + 1.0)
            self._weights = weights / weights.sum()
        return float(self._weights @ beliefs)
