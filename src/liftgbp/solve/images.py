"""Images of minima under the symmetries of a plan are minima, too, and as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.plan import Plan, symmetries
from liftgbp.solve.solution import Point
from liftgbp.solve.tolerances import Tolerances


def completed(plan: Plan, points: list[Point], tolerances: Tolerances) -> list[Point]:
    """The points with all images of those that may be part of an answer, which come first.

    An image has the same log Z and the same verdict. What was found in its place is left out, since
    rounding may have hidden what it is.
    """
    if not symmetries(plan):
        return points
    found: list[Point] = []
    known: list[Floats] = []
    sound = [point for point in points if point.verdict.sound]
    for point in sorted(sound, key=lambda own: -own.exact_log_z):
        if not _is_among(known, np.exp(point.log_beliefs), tolerances):
            images = images_of(plan, point.log_beliefs, tolerances)
            found += [point, *(replace(point, log_beliefs=own) for own in images)]
            known += [np.exp(own.log_beliefs) for own in found[-1 - len(images) :]]
    others = (point for point in points if not point.verdict.sound)
    return found + [p for p in others if not _is_among(known, np.exp(p.log_beliefs), tolerances)]


def images_of(plan: Plan, log_beliefs: Floats, tolerances: Tolerances) -> list[Floats]:
    """The images of log beliefs that differ from these and from each other; none if many do."""
    generators = symmetries(plan)
    images = [log_beliefs]
    known = [np.exp(log_beliefs)]
    for own in images:
        for generator in generators:
            image = own[generator]
            beliefs = np.exp(image)
            if not _is_among(known, beliefs, tolerances):
                images.append(image)
                known.append(beliefs)
        if len(images) > tolerances.most_images:
            return []
    return images[1:]


def _is_among(known: Sequence[Floats], beliefs: Floats, tolerances: Tolerances) -> bool:
    return any(np.abs(beliefs - own).max(initial=0.0) < tolerances.same for own in known)
