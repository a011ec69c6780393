"""The way back to consistent beliefs, after a step along directions that keep them so.

Steps multiply beliefs, and consistency is then lost to second order. Consistent beliefs of least
relative entropy differ from given ones by factors, one per equation; Newton's method finds these.
Shapes, as in `problem`: S points, D entries of outer regions, E equations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress

import numpy as np

from liftgbp.arrays import Bools, Floats, Ints
from liftgbp.solve.factors import Factor
from liftgbp.solve.free_beliefs import Choices, FreeFactor
from liftgbp.solve.problem import FACTORED_FROM, Polytope
from liftgbp.solve.tolerances import Tolerances


def nearest_consistent(
    consistent: Polytope,
    beliefs: Floats,
    tolerances: Tolerances,
    choices: Sequence[Choices] | None = None,
) -> tuple[Floats, Floats]:
    """The consistent beliefs (S, D) of least relative entropy to given ones, and the error left.

    Beliefs are multiplied, never added to, so they stay positive however small they are. `choices`
    are those of free beliefs nearby, where few beliefs decide all others.
    """
    if choices is None:
        choices = consistent.choices(len(beliefs))
    # Steps that are far too long leave the range of floats, and their points are given up.
    with np.errstate(over="ignore", invalid="ignore"):
        points = _Points(consistent, beliefs, tolerances, choices)
        off = points.error > tolerances.consistent
        for rounds_left in range(tolerances.most_rounds, -tolerances.closing_rounds, -1):
            # Who is nearly there when rounds are used up has some more: each squares the error.
            most = math.exp(rounds_left - tolerances.last_rounds)
            off &= points.error < (most if rounds_left > 0 else tolerances.nearly_consistent)
            if not off.any():
                break
            points.keep(off)
            before = points.error
            points.improve()
            near = points.error < tolerances.nearly_consistent
            at_rounding = near & (points.error > before / 2)
            off = (points.error > tolerances.consistent) & ~at_rounding
        return points.results()


class _Points:
    """Points on their way.

    b      (S, D) the beliefs of those that are left
    error  (S) by how much some equation is off
    """

    error: Floats
    _miss: Floats

    def __init__(
        self,
        consistent: Polytope,
        beliefs: Floats,
        tolerances: Tolerances,
        choices: Sequence[Choices],
    ) -> None:
        self._consistent = consistent
        self._tolerances = tolerances
        alive = beliefs > tolerances.zero_belief
        self._alive = None if alive.all() else alive
        self._log_b = np.log(np.maximum(beliefs, tolerances.zero_belief))
        self._inverses = _Inverses(consistent, len(beliefs), tolerances, choices)
        self.b = beliefs.copy()
        self._measure()
        self._left: Ints | None = None
        self._done: tuple[Floats, Floats] | None = None

    def keep(self, chosen: Bools) -> None:
        """Leave all other points where they are."""
        if chosen.all():
            return
        self._done = self.results()
        self._left = np.flatnonzero(chosen) if self._left is None else self._left[chosen]
        self._log_b, self.b = self._log_b[chosen], self.b[chosen]
        self._alive = None if self._alive is None else self._alive[chosen]
        self._miss, self.error = self._miss[chosen], self.error[chosen]
        self._inverses.keep(chosen)

    def results(self) -> tuple[Floats, Floats]:
        """The beliefs of all points, and their errors."""
        if self._done is None:
            return self.b, self.error
        beliefs, error = self._done
        beliefs[self._left], error[self._left] = self.b, self.error
        return beliefs, error

    def improve(self) -> None:
        """One round of Newton's method."""
        if self._consistent.is_large:  # a round on few equations costs no more than to normalise
            self._normalise()
        change = self._inverses.log_change(self.b, self._miss)
        self._log_b = self._log_b + change
        self._set_beliefs()
        self._measure()

    def _normalise(self) -> None:
        """Divide beliefs that are far from summing to one by their sums.

        Newton's method makes what is far too large smaller by a factor of e only. This is a step to
        the same end, and costs nothing.
        """
        sums = 1 - self._miss[:, : self._consistent.outer_regions]
        far = np.abs(sums - 1).max(axis=1, initial=0.0) > self._tolerances.far
        if far.any():
            # A sum of zero has lost its digits.
            known = far[:, None] & (sums > self._tolerances.zero_belief)
            logs = np.log(np.where(known, sums, 1.0))
            self._log_b = self._log_b - logs[:, self._consistent.outer_region_of]
            self._set_beliefs()
            self._measure()

    def _measure(self) -> None:
        self._miss = self._consistent.right_side - self._consistent.equations(self.b)
        self.error = np.abs(self._miss).max(axis=1, initial=0.0)

    def _set_beliefs(self) -> None:
        self.b = np.exp(self._log_b)
        if self._alive is not None:
            self.b = np.where(self._alive, self.b, 0.0)


class _Inverses:
    """What makes the beliefs of points consistent, to first order.

    Factors of many equations are kept while beliefs hardly change: the error still falls by as much
    as they change, in a fraction of the time.
    """

    def __init__(
        self,
        consistent: Polytope,
        points: int,
        tolerances: Tolerances,
        choices: Sequence[Choices],
    ) -> None:
        self._consistent = consistent
        self._tolerances = tolerances
        self._choices = choices
        self._factors: list[Factor | FreeFactor | None] = [None] * points
        self._drift = np.zeros(points)

    def keep(self, chosen: Bools) -> None:
        """Leave those of all other points."""
        self._factors = list(compress(self._factors, chosen))
        self._choices = list(compress(self._choices, chosen))
        self._drift = self._drift[chosen]

    def log_change(self, b: Floats, miss: Floats) -> Floats:
        """What changes of the logs of beliefs (S, D) make up for what equations miss."""
        consistent, ridge = self._consistent, self._tolerances.zero_curvature
        equations = len(consistent.matrix)
        few = equations <= self._tolerances.decomposed_equations
        if few or equations < FACTORED_FROM:
            enough = None if few else consistent.enough(b)
            return consistent.equations.transposed(consistent.gram.solve(b, miss, ridge, enough))
        change = np.array([self._log_change_of(k, b[k], off) for k, off in enumerate(miss)])
        self._forget(change)
        return change

    def _log_change_of(self, k: int, b: Floats, miss: Floats) -> Floats:
        factor = self._factor(k, b)
        if isinstance(factor, FreeFactor):
            return factor.log_change(b)
        return self._consistent.equations.transposed(factor.solve(miss))

    def _factor(self, k: int, b: Floats) -> Factor | FreeFactor:
        found = self._factors[k]
        if found is None:
            found = self._new_factor(k, b)
            self._factors[k], self._drift[k] = found, 0.0
        return found

    def _new_factor(self, k: int, b: Floats) -> Factor | FreeFactor:
        if self._choices:
            return FreeFactor(self._choices[k].back, b, self._tolerances)
        enough = self._consistent.enough(b[None])[0]
        return Factor(self._consistent.gram, b, enough, self._tolerances.zero_curvature)

    def _forget(self, change: Floats) -> None:
        """Forget the factors of points whose beliefs have changed too much since."""
        self._drift += np.abs(change).max(axis=1, initial=0.0)
        for k in np.flatnonzero(~(self._drift < self._tolerances.kept_factor)):
            self._factors[k] = None
