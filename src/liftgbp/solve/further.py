"""The search for minima that doubles have missed, in balls."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from liftgbp.plan import Plan
from liftgbp.solve.certified import (
    CertifiedPoint,
    Proof,
    beside,
    certify,
    followed,
    is_affordable,
)
from liftgbp.solve.ends import End, Judged, judged_points, located_point
from liftgbp.solve.images import Places
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.verdict import Kind, is_possible
from liftgbp.support.arrays import Floats


class Further:
    """The search for minima that doubles have missed, in balls.

    The free energy falls from a saddle, and from a point that has not settled. If such a point lies
    below all minima that were found, another one is below it.
    """

    def __init__(
        self,
        plan: Plan,
        ends: list[End],
        starts: Sequence[Floats],
        bound: float,
        tolerances: Tolerances,
    ) -> None:
        self._plan = plan
        self._ends = ends
        self._bound = bound
        self._tolerances = tolerances
        least = math.log(tolerances.zero_belief)
        self._followable = len(ends[0].logs) <= tolerances.followed_up_to
        self._inside = next((own for own in starts if (own > least).all()), None)

    def completed(self, judged: list[Judged]) -> list[Judged]:
        """The points with those that lie below some of them."""
        if len(self._ends[0].logs) > self._tolerances.most_proven:
            return judged
        judged, found = self._below_ends(judged)
        fresh = judged
        for _ in range(self._tolerances.most_followed):
            new = self._new(judged, found)
            judged, fresh = judged + new, fresh + new
            found = self._below_saddles(fresh, self._best(judged))
            if not found:
                break
            fresh = []
        return judged

    def _new(self, judged: list[Judged], found: Sequence[CertifiedPoint]) -> list[Judged]:
        """Those of the points that are not known yet, with their verdicts."""
        # A saddle may lie beside a minimum. What is degenerate is not proven to be either.
        known = {own: Places(self._tolerances.same) for own in (Proof.MINIMUM, Proof.SADDLE)}
        for own in judged:
            if own.proven is not None:
                known[own.proven.proof].add(np.exp(own.point.log_beliefs))
        fresh = [
            own
            for own in found
            if own.proof in known and known[own.proof].add(np.exp(own.log_beliefs))
        ]
        located = [located_point(self._plan, own, self._bound, self._tolerances) for own in fresh]
        return judged_points([located], self._tolerances)[0] if located else []

    def _best(self, judged: Sequence[Judged]) -> float:
        """The largest log Z of minima, without `plan.log_offset`."""
        sound = (float(own.point.exact_log_z) for own in judged if own.point.verdict.sound)
        return max(sound, default=-math.inf)

    def _below_ends(self, judged: list[Judged]) -> tuple[list[Judged], list[CertifiedPoint]]:
        """What ends lead to that were not proven, but lie below all minima or rest beside them.

        An end from which descent leads to a minimum is no point of its own, and is left out.
        """
        best = self._best(judged)
        left = [
            k
            for k, (end, own) in enumerate(zip(self._ends, judged, strict=True))
            if own.point.verdict.kind is Kind.UNKNOWN and self._may_count(end, best)
        ]
        left.sort(key=lambda k: -self._ends[k].log_z)
        found = {k: self._followed(self._ends[k]) for k in left[: self._tolerances.most_followed]}
        points = {k: own for k, own in found.items() if own is not None}
        ended = {k for k, own in points.items() if own.proof is Proof.MINIMUM}
        kept = [own for k, own in enumerate(judged) if k not in ended]
        return kept, list(points.values())

    def _followed(self, end: End) -> CertifiedPoint | None:
        if not is_affordable(self._plan, end.logs, self._tolerances):
            return None
        near = certify(self._plan, end.logs, self._tolerances)
        if near is not None and near.proof is Proof.MINIMUM:
            return near
        if self._inside is None or not self._followable:
            return near
        return followed(self._plan, end.logs, self._inside, self._tolerances) or near

    def _may_count(self, end: End, best: float) -> bool:
        own = self._tolerances
        near = abs(end.log_z - best) < own.rival_log_z
        below = end.log_z > best - own.rounding * float(end.scale)
        return (near or below) and is_possible(self._plan, end.beliefs, own)

    def _below_saddles(self, judged: Sequence[Judged], best: float) -> list[CertifiedPoint]:
        """What is below saddles with a larger log Z than all minima, or below any without them."""
        if not self._followable:
            return []
        saddles = [
            own.proven
            for own in judged
            if own.proven is not None
            and own.proven.falls_along is not None
            and (
                math.isinf(best)
                or (own.point.verdict.plausible and float(own.point.exact_log_z) > best)
            )
        ]
        saddles.sort(key=lambda own: -float(own.log_z))
        return [
            point
            for own in saddles[: self._tolerances.most_followed]
            for point in beside(own, self._tolerances)
        ]
