"""Points on the boundary: is a belief zero, or tiny? Exact whole numbers decide.

A way inside leaves a face, on which some beliefs are zero. A part t of the way, the free energy has
changed by t (a + k log t) to first order, where k is what the entropies of all beliefs that were
zero count for: a whole number times the way. If k is positive, the free energy is least at log t =
-1 - a/k, and the point is no minimum, at any precision. If k is negative on all ways inside, it is
one. Where k is zero, a decides.

Ways inside form a cone that depends on the layout alone. Its extreme ways, and the way on which k
is largest, are found by the simplex method in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from flint import fmpq, fmpz_mat

from liftgbp.plan import Plan
from liftgbp.solve.frames import Face, Faces
from liftgbp.values import dataclass

MOST_PIVOTS = 2000
"""Steps of the simplex method for one way inside; the rule of Bland ends it, but may take long."""


MOST_STEEP = 200
"""As many pivots go where the objective grows most, before Bland's rule."""

FEW_ZEROS = 24
"""Up to this many beliefs that are zero, extreme ways are looked for in both directions of each,
which takes milliseconds; for each of 170 (thirty formulas over 1e9 objects) it takes seconds."""


class Cone:
    """Vectors d of one sum, not negative, with rows @ d = 0: its vertices, in fractions."""

    def __init__(self, rows: Sequence[Sequence[int]], width: int) -> None:
        self._width = width
        table = [[*map(fmpq, row), fmpq(0)] for row in rows if any(row)]
        table.append([fmpq(1)] * (width + 1))
        self._rows = table
        self._basis: list[int] = []
        self.is_empty = not self._find_vertex()

    def largest(self, objective: Sequence[int]) -> tuple[fmpq, list[fmpq]] | None:
        """The vertex at which an objective is largest; nothing if that takes too long."""
        if not self._climb([fmpq(value) for value in objective]):
            return None
        vertex = [fmpq(0)] * self._width
        for row, place in zip(self._rows, self._basis, strict=True):
            vertex[place] = row[-1]
        total = sum((fmpq(v) * d for v, d in zip(objective, vertex, strict=True)), fmpq(0))
        return total, vertex

    def _find_vertex(self) -> bool:
        """Go to some vertex: artificial variables, one for each row, are driven out."""
        width = self._width
        count = len(self._rows)
        self._rows = [
            [*row[:-1], *(fmpq(int(k == j)) for j in range(count)), row[-1]]
            for k, row in enumerate(self._rows)
        ]
        self._basis = [width + k for k in range(count)]
        cost = [fmpq(0)] * width + [fmpq(-1)] * count
        if not self._climb(cost):
            return False
        if any(p >= width and row[-1] for row, p in zip(self._rows, self._basis, strict=True)):
            return False
        for k in range(count):
            if self._basis[k] >= width:
                j = next((j for j in range(width) if self._rows[k][j]), None)
                if j is not None:
                    self._pivot(k, j)
        kept = [k for k in range(count) if self._basis[k] < width]
        self._rows = [[*self._rows[k][:width], self._rows[k][-1]] for k in kept]
        self._basis = [self._basis[k] for k in kept]
        return True

    def _climb(self, cost: list[fmpq]) -> bool:
        """Pivot until an objective is largest, by what gains most, and in the end by Bland's rule.

        Bland's rule ends in every case, but takes many more pivots.
        """
        gains = self._gains(cost)
        for pivots in range(MOST_PIVOTS):
            rising = [j for j in range(self._width) if gains[j] > 0]
            if not rising:
                return True
            steep = pivots < MOST_STEEP
            enters = max(rising, key=gains.__getitem__) if steep else rising[0]
            ratios = [
                (row[-1] / row[enters], self._basis[k], k)
                for k, row in enumerate(self._rows)
                if row[enters] > 0
            ]
            leaves = min(ratios)[2]
            self._pivot(leaves, enters)
            gain, own = gains[enters], self._rows[leaves]
            gains = [a - gain * b if b else a for a, b in zip(gains, own, strict=False)]
        return False

    def _gains(self, cost: list[fmpq]) -> list[fmpq]:
        """By how much the objective grows with each variable that is not in the basis."""
        gains = cost[: len(self._rows[0]) - 1] if self._rows else cost
        for place, row in zip(self._basis, self._rows, strict=True):
            price = cost[place]
            if price:
                gains = [a - price * b if b else a for a, b in zip(gains, row, strict=False)]
        return gains

    def _pivot(self, k: int, j: int) -> None:
        pivot = self._rows[k][j]
        own = self._rows[k] = [value / pivot if value else value for value in self._rows[k]]
        for other, row in enumerate(self._rows):
            factor = row[j]
            if other != k and factor:
                self._rows[other] = [
                    a - factor * b if b else a for a, b in zip(row, own, strict=True)
                ]
        self._basis[k] = j


@dataclass(frozen=True, eq=False, slots=True)
class Way:
    """A way inside: how beliefs of the face and beliefs that were zero change.

    outer   changes of the outer beliefs of the face
    inner   changes of its inner beliefs
    raised  changes of the outer beliefs that are zero on the face
    others  changes of the inner beliefs that are
    """

    outer: list[fmpq]
    inner: list[fmpq]
    raised: list[fmpq]
    others: list[fmpq]

    @staticmethod
    def mixed(ways: Sequence[Way], shares: Sequence[fmpq]) -> Way:
        """The sum of ways, each times its share."""

        def total(lists: Iterable[list[fmpq]]) -> list[fmpq]:
            return [
                sum((share * own for share, own in zip(shares, column, strict=True)), fmpq(0))
                for column in zip(*lists, strict=True)
            ]

        return Way(
            outer=total(way.outer for way in ways),
            inner=total(way.inner for way in ways),
            raised=total(way.raised for way in ways),
            others=total(way.others for way in ways),
        )


class Inwards:
    """The ways inside from a face."""

    def __init__(self, face: Face, faces: Faces) -> None:
        own, alive = faces.consistent, set(face.outer)
        self._outer, self._inner = list(face.outer), list(face.inner)
        self.outer = [e for e in range(len(own.outer)) if e not in alive]
        kept = set(face.inner)
        self.inner = [i for i in range(len(own.inner)) if i not in kept and own.to_inner[i].any()]
        self._equations = own.matrix.astype(np.int64)
        self._to_inner = own.to_inner.astype(np.int64)
        self._cone = Cone(self._constraints(), len(self.outer))

    def _constraints(self) -> list[list[int]]:
        """What beliefs that are zero must obey, so that those of the face can make up for them."""
        raised = self._equations[:, self.outer].astype(object)
        if not self._outer:
            return [list(row) for row in raised.tolist()]
        table = self._equations[:, self._outer].T.tolist()
        basis, nullity = fmpz_mat(table).nullspace()
        columns = [list(map(int, row[:nullity])) for row in basis.tolist()]
        left = np.array(columns, dtype=object).reshape(len(self._equations), nullity)
        return [list(row) for row in (left.T @ raised).tolist()]

    @cached_property
    def extreme(self) -> list[Way]:
        """Extreme ways such that each belief that can rise does on one of them.

        Of few beliefs, each rises most on one and least on another.
        """
        found: dict[tuple[fmpq, ...], Way] = {}
        if self._cone.is_empty:
            return []
        width = len(self.outer)
        few = width <= FEW_ZEROS
        rises: set[int] = set()
        for j in range(width):
            if j in rises and not few:
                continue
            for sign in (1, -1) if few else (1,):
                best = self._cone.largest([sign * (k == j) for k in range(width)])
                if best is not None and tuple(best[1]) not in found:
                    found[tuple(best[1])] = self._completed(best[1])
                    rises |= {k for k, value in enumerate(best[1]) if value}
        return list(found.values())

    def entropies(self, plan: Plan, faces: Faces) -> list[int]:
        """What k counts for each outer belief that is zero."""
        own, weights = faces.consistent, plan.weights
        region, states = plan.layout.region_of, plan.layout.multiplicity

        def weight(entry: int) -> int:
            return weights[int(region[entry])] * int(states[entry])

        inner = [weight(int(own.inner[i])) for i in self.inner]
        to_inner = self._to_inner[np.ix_(self.inner, self.outer)] if self.inner else None
        found = []
        for n, e in enumerate(self.outer):
            total = weight(int(own.outer[e]))
            if to_inner is not None:
                total += sum(w * int(times) for w, times in zip(inner, to_inner[:, n], strict=True))
            found.append(total)
        return found

    def most_entropy(self, entropies: Sequence[int]) -> tuple[fmpq, Way] | None:
        """The largest k of all ways inside, and its way; nothing if that is not known."""
        best = self._cone.largest(entropies)
        return None if best is None else (best[0], self._completed(best[1]))

    @property
    def is_closed(self) -> bool:
        """Whether there is no way inside."""
        return self._cone.is_empty

    def _completed(self, raised: list[fmpq]) -> Way:
        """The way with what beliefs of the face do; all equations hold along it."""
        times = math.lcm(*(int(value.q) for value in raised))
        whole = [int(value * times) for value in raised]
        right = -(self._equations[:, self.outer].astype(object) @ np.array(whole, dtype=object))
        changes = [fmpq(0)] * len(self._outer)
        rows = self._equations[:, self._outer].tolist()
        table = [[*row, int(own)] for row, own in zip(rows, right.tolist(), strict=True)]
        matrix, _, rank = fmpz_mat(table).rref()
        for row in matrix.tolist()[:rank]:
            place = next(k for k, value in enumerate(row) if value)
            if place < len(self._outer):
                changes[place] = fmpq(row[-1], row[place]) / times
        full = dict(zip(self._outer, changes, strict=True)) | dict(
            zip(self.outer, raised, strict=True)
        )
        return Way(
            outer=changes,
            inner=[self._marginal(i, full) for i in self._inner],
            raised=raised,
            others=[self._marginal(i, full) for i in self.inner],
        )

    def _marginal(self, inner: int, changes: dict[int, fmpq]) -> fmpq:
        row = self._to_inner[inner]
        return sum((int(row[j]) * changes[j] for j in np.flatnonzero(row).tolist()), fmpq(0))


_kept: WeakKeyDictionary[Face, Inwards] = WeakKeyDictionary()
"""The ways inside from faces; they live as long as these."""


def ways_inside(face: Face, faces: Faces) -> Inwards:
    """The ways inside from a face."""
    found = _kept.get(face)
    if found is None:
        found = _kept[face] = Inwards(face, faces)
    return found
