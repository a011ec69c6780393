"""Images of minima under the symmetries of a plan are minima, too, and as good."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Context, Decimal

import numpy as np

from liftgbp.plan import Plan, symmetries
from liftgbp.solve.solution import Point
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats

DIGITS = Context(prec=1000)
"""For log Z without rounding: it has as many digits as its proof has bits."""

SAME, PLACES = Decimal("1e-8"), 6
"""Log Z is compared to eight decimal places to order points, and beliefs to six."""


def completed(plan: Plan, points: list[Point], tolerances: Tolerances) -> list[Point]:
    """The points with all images of those that may be part of an answer, which come first.

    An image has the same log Z and the same verdict. What was found in its place is left out, since
    rounding may have hidden what it is.
    """
    if not symmetries(plan):
        return points
    found: list[Point] = []
    known = Places(tolerances.same)
    sound = [point for point in points if point.verdict.sound]
    for point in best_first(sound):
        if known.add(np.exp(point.log_beliefs)):
            images = images_of(plan, point.log_beliefs, tolerances)
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
    generators, images = symmetries(plan), [log_beliefs]
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
    """Beliefs of which no two are near each other: some entry differs by `close` or more."""

    def __init__(self, close: float) -> None:
        self._close = close
        self._known: Floats | None = None

    def add(self, beliefs: Floats) -> bool:
        """Whether these beliefs were new."""
        if self.holds(beliefs):
            return False
        own = beliefs[None]
        self._known = own if self._known is None else np.concatenate([self._known, own])
        return True

    def holds(self, beliefs: Floats) -> bool:
        """Whether they are near some that were added."""
        if self._known is None:
            return False
        away = np.abs(self._known - beliefs).max(axis=1, initial=0.0)
        return bool((away < self._close).any())
