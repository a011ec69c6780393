"""Some beliefs are free, and all others follow from them: few unknowns for many equations.

Sets of formulas that share atoms have nearly as many equations as beliefs, and most of these follow
from others. What is left to choose is a fraction of either. Sixty rules over seven predicates have
328 beliefs of outer regions and 492 equations, and 94 beliefs decide all. Where that is so, Newton
steps and the way back to consistent beliefs solve for free beliefs alone.

Which beliefs are free decides how many digits are left. A belief that follows from others is a sum
of them, so none of these may be much larger. `FreeBeliefs.suit` sees to that: it exchanges a free
belief for one that follows, as the simplex method does, until no free belief exceeds one that
depends on it by more than `Tolerances.free_slack`. Scaled by beliefs, all coefficients are then of
moderate size, however small some beliefs are.

Shapes, as in `problem`: D beliefs of outer regions, I of inner regions, E equations; F free
beliefs, R = D - F that follow from them.
"""

from __future__ import annotations

import contextlib
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.solve.factors import Inverse, Spectrum, eigenvectors
from liftgbp.solve.tolerances import Tolerances


class FreeBeliefs:
    """A choice of free beliefs, and how all others depend on them.

    free   (F) beliefs that are free
    bound  (R) beliefs that follow from them
    """

    def __init__(
        self, matrix: Floats, right_side: Floats, to_inner: Floats, tolerances: Tolerances
    ) -> None:
        """Those of a `Polytope`, by its equations and what makes beliefs of inner regions."""
        self._tolerances = tolerances
        reduced, bound = self._eliminated(np.concatenate([matrix, right_side[:, None]], axis=1))
        self.bound: Ints = bound
        self.free: Ints = np.delete(np.arange(matrix.shape[1]), bound)
        of_bound = np.concatenate([-reduced[:, self.free], reduced[:, -1:]], axis=1)
        of_inner = to_inner[:, self.bound] @ of_bound
        of_inner[:, :-1] += to_inner[:, self.free]
        # One row for each belief that follows, then for each of inner regions; the last column is
        # what they are if all free beliefs are zero.
        self._rows = self._whole(np.concatenate([of_bound, of_inner]))
        self._is_shared = True

    def _eliminated(self, rows: Floats) -> tuple[Floats, Ints]:
        """Equations, each about one unknown that no other has, and these unknowns.

        The last column is the right side. Equations that follow from others are left out. Going
        through unknowns in order leaves most coefficients zero, and nearly all of them whole.
        """
        unknowns: list[int] = []
        for column in range(rows.shape[1] - 1):
            done = len(unknowns)
            sizes = np.abs(rows[done:, column])
            if sizes.max(initial=0.0) <= self._tolerances.whole:
                continue
            pivot = done + int(sizes.argmax())
            rows[[done, pivot]] = rows[[pivot, done]]
            rows[done] /= rows[done, column]
            (hit,) = np.nonzero(rows[:, column])
            hit = hit[hit != done]
            rows[hit] = self._whole(rows[hit] - rows[hit, column, None] * rows[done])
            unknowns.append(column)
        return rows[: len(unknowns)], np.array(unknowns, dtype=np.int64)

    def copy(self) -> FreeBeliefs:
        """The same choice, to be changed on its own; numbers are copied once that happens."""
        other = copy(self)
        self._is_shared = other._is_shared = True
        return other

    @property
    def across(self) -> Floats:
        """(R, F) what a change of free beliefs makes of those that follow."""
        return self._rows[: len(self.bound), :-1]

    @property
    def inner(self) -> Floats:
        """(I, F) what a change of free beliefs makes of those of inner regions."""
        return self._rows[len(self.bound) :, :-1]

    @property
    def constant(self) -> Floats:
        """(R) what beliefs that follow are if all free ones are zero."""
        return self._rows[: len(self.bound), -1]

    def suit(self, sizes: Floats) -> None:
        """Exchange free beliefs that are much larger than others that follow from them.

        `sizes` (D) are beliefs, or what takes their place in a metric. Each exchange makes the
        product of the sizes of all free beliefs smaller, so that there is an end.
        """
        slack = self._tolerances.free_slack
        found = True
        while found:
            free, bound = sizes[self.free], slack * sizes[self.bound]
            (small,) = np.nonzero(bound < free.max(initial=0.0))
            used = ((self.across[small] != 0) * free).max(axis=1, initial=0.0)
            excess = used - bound[small]
            found = False
            # Those that come later may depend on others by then.
            for row in small[np.argsort(-excess)][: np.count_nonzero(excess > 0)].tolist():
                used = (self._rows[row, :-1] != 0) * sizes[self.free]
                largest = int(used.argmax())
                if used[largest] > slack * sizes[self.bound[row]]:
                    self._exchange(row, largest)
                    found = True

    def _exchange(self, bound: int, free: int) -> None:
        """Make a belief free that followed, and let a free one follow."""
        if self._is_shared:
            self._rows, self.bound, self.free = (
                self._rows.copy(),
                self.bound.copy(),
                self.free.copy(),
            )
            self._is_shared = False
        pivot = self._rows[bound, free]
        row = self._rows[bound] / -pivot
        row[free] = 1 / pivot
        # Most coefficients are zero.
        hit, columns = self._rows[:, free].nonzero()[0][:, None], row.nonzero()[0]
        factors = self._rows[hit, free]
        self._rows[hit, free] = 0.0
        self._rows[hit, columns] = self._whole(self._rows[hit, columns] + factors * row[columns])
        self._rows[bound] = row
        self.bound[bound], self.free[free] = self.free[free], self.bound[bound]

    def _whole(self, values: Floats) -> Floats:
        """Coefficients without the rounding that would build up with exchanges."""
        nearest = np.rint(values)
        return np.where(np.abs(values - nearest) < self._tolerances.whole, nearest, values)


class Choices(NamedTuple):
    """The choices of free beliefs near one point.

    step  for Newton steps, whose metric also has the weights of regions: over a million people
          they differ by many orders of magnitude
    back  for the way back to consistent beliefs
    """

    step: FreeBeliefs
    back: FreeBeliefs


def divided(values: Floats, by: Floats) -> Floats:
    """Quotients, zero where something is divided by zero: beliefs of zero stay zero."""
    shape = np.broadcast_shapes(values.shape, by.shape)
    return np.divide(values, by, out=np.zeros(shape), where=by > 0)


class Scaled:
    """Free beliefs at a point, in units where the size of a change is what it costs.

    A change p of beliefs has coordinates p / root. Those of free beliefs decide all.

    """

    def __init__(self, choice: FreeBeliefs, root: Floats) -> None:
        self._free, self._bound = choice.free, choice.bound
        self._size = len(root)
        self.root_free = root[self._free]
        inverse = divided(np.ones(len(self._bound)), root[self._bound])
        self._across = choice.across * self.root_free
        self._across *= inverse[:, None]

    @cached_property
    def gram(self) -> Floats:
        """(F, F) the products of directions, one for each free belief: the identity and more."""
        gram = self._across.T @ self._across
        np.einsum("ii->i", gram)[...] += 1
        return gram

    def scaled_gram(self) -> tuple[Floats, Floats]:
        """The products with ones in the diagonal, and what rows and columns were multiplied by.

        Tiny directions keep their digits.
        """
        scale = 1 / np.sqrt(np.diagonal(self.gram))
        scaled = self.gram * scale
        scaled *= scale[:, None]
        return scaled, scale

    def along(self, gradient: Floats) -> Floats:
        """The products (F) of all directions with a gradient (D)."""
        return np.asarray(gradient[self._free] + gradient[self._bound] @ self._across)

    def combined(self, change: Floats) -> Floats:
        """The sum (D) of all directions, each times a number of `change` (F)."""
        full = np.empty(self._size)
        full[self._free] = change
        full[self._bound] = self._across @ change
        return full


class FreeFactor:
    """What makes beliefs consistent to first order, at one point and near to it.

    Of all changes that do, it is the one of least relative entropy.
    """

    def __init__(self, choice: FreeBeliefs, b: Floats, tolerances: Tolerances) -> None:
        choice.suit(b)
        self._choice = choice.copy()  # the other one may change
        self._root = np.sqrt(b)
        self._directions = Scaled(self._choice, self._root)
        gram, self._scale = self._directions.scaled_gram()
        self._inverse = Inverse(gram, tolerances.zero_curvature)

    def log_change(self, b: Floats) -> Floats:
        """The changes (D) of the logs of beliefs (D)."""
        own, miss = self._choice, np.zeros_like(b)
        miss[own.bound] = own.constant + own.across @ b[own.free] - b[own.bound]
        off = divided(miss, self._root)
        right = -self._scale * self._directions.along(off)
        change = self._scale * (self._inverse @ right)
        return divided(off + self._directions.combined(change), self._root)


class FreeCurvatures(Spectrum):
    """The Hessian at one point, over free beliefs, and its eigenvalues; all others are one.

    A gradient has one number for each free belief, as `Scaled.along` returns it.
    """

    def __init__(self, directions: Scaled, bent: Floats, tolerances: Tolerances) -> None:
        self._directions = directions
        self.tolerances = tolerances
        self._gram, self._scale = directions.scaled_gram()
        self._bent = bent * self._scale * self._scale[:, None]

    @cached_property
    def _decomposed(self) -> tuple[Floats, Floats]:
        """The eigenvalues, and the directions that belong to them as columns."""
        from scipy.linalg import solve_triangular

        lower = np.linalg.cholesky(self._gram)
        half = solve_triangular(lower, self._bent, lower=True)
        whole = solve_triangular(lower, half.T, lower=True)
        (bend,), (turn,) = eigenvectors(whole[None])
        return 1 + bend, solve_triangular(lower, turn, trans="T", lower=True)

    @property
    def values(self) -> Floats:
        """The eigenvalues (1, F)."""
        return self._decomposed[0][None]

    def solve(self, gradient: Floats, values: Floats) -> Floats:
        """The inverse Hessian, with these eigenvalues, applied to a gradient."""
        if (values == self.values).all():
            # Eigenvectors mix large beliefs with tiny ones; elimination keeps their digits.
            with contextlib.suppress(np.linalg.LinAlgError):
                return self.solve_as_is(gradient)
        turn = self._decomposed[1]
        return self._combined(turn @ ((gradient[0] * self._scale) @ turn / values[0]))

    def solve_as_is(self, gradient: Floats) -> Floats:
        """The inverse Hessian applied to a gradient, by elimination."""
        hessian = self._gram + self._bent
        return self._combined(np.linalg.solve(hessian, gradient[0] * self._scale))

    def _combined(self, change: Floats) -> Floats:
        return self._directions.combined(self._scale * change)[None]

    def exceed(self, bound: float) -> bool:
        """Whether all eigenvalues exceed a bound below one."""
        try:
            np.linalg.cholesky((1 - bound) * self._gram + self._bent)
        except np.linalg.LinAlgError:
            return False
        return True
