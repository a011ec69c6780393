"""Inequalities that the beliefs of real worlds satisfy: objects are counted in whole numbers.

Let some objects, the roots, be in state s, and let K_f be how many of the n other objects of a
class look like f to them. Numbers are whole, so for any whole vector v and any whole number m

    E[1_s (v·K - m)(v·K - m - 1)]  ≥  0,

in any distribution over worlds and over the places of the roots. The left side is linear in the
joint beliefs P(s, f, g) of the roots and two of the others:

    E[1_s K_f K_g] = n(n-1) P(s, f, g) + [f = g] n P(s, f),    E[1_s K_f] = n P(s, f).

Consistent beliefs need not satisfy this: of three people, all pairs may differ with certainty. As
the K_f sum up to n, adding one number to all of v changes nothing but m; and vectors of large
numbers say that the matrix of second moments has no negative eigenvalue. Objects of several classes
are counted together where regions know how any two of them look.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, product

import numpy as np

from liftgbp.support.arrays import Bools, Floats, Ints

FEW_LOOKS, SOME_LOOKS = 4, 6
"""With up to so many looks, all vectors of numbers up to two are tried, or up to one."""

FINE = 2**20
"""Eigenvectors become whole numbers up to this one."""

VIOLATED = 1e-9
"""A cut is violated if it is below minus this, its largest coefficient being one."""

RARE = 1e-12
"""Roots in a state of a smaller probability are not looked at."""

PARTS = (0.25, 0.5, 0.75)
"""Looks whose number in an eigenvector is above such a part of the largest one are counted
together."""

FEW_EXCEPTIONS = 16
"""A cut is nearly tight if it is tight but for so many of the objects that may be roots: one is
left over where the others form couples."""

DIGITS = 6
"""Cuts are compared in so many digits, and a number this close to a whole one is whole: beliefs
where nothing tells two cuts apart differ in further digits from one processor to the next."""

PER_LOOKS = 3
"""The most violated cuts of one state of roots that are added at once."""


@dataclass(frozen=True, slots=True)
class Cut:
    """An inequality between beliefs of outer regions: their sum with whole coefficients is >= 0."""

    columns: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def largest(self) -> int:
        """The largest coefficient, whatever its sign."""
        return max(map(abs, self.values))

    def at(self, beliefs: Sequence[Fraction]) -> Fraction:
        """The sum."""
        pairs = zip(self.columns, self.values, strict=True)
        return sum((beliefs[column] * value for column, value in pairs), Fraction(0))

    def row(self, width: int) -> Floats:
        """All coefficients, the largest of them one."""
        row, largest = np.zeros(width), self.largest
        row[list(self.columns)] = [value / largest for value in self.values]
        return row


@dataclass(frozen=True, eq=False)
class Looks:
    """How other objects, of one class or of several, look to roots in one state.

    A term says that an entry of an outer region counts `times` in P(s, f, g), where one object
    looks like `first` and another one like `second`.

    size    how many other objects there are
    among   for each way to look, how many of them may
    apart   for each term, whether its objects are of different classes
    whole   for each term, whether it is one of those that add up to P(s)
    """

    size: int
    among: tuple[int, ...]
    first: Ints
    second: Ints
    column: Ints
    times: Ints
    apart: Bools
    whole: Bools

    @property
    def kinds(self) -> int:
        """In how many ways objects look."""
        return len(self.among)

    def cut(self, vector: Sequence[int], whole: int) -> Cut | None:
        """The inequality of a whole vector and a whole number; nothing if it says 0 >= 0."""
        total: dict[int, int] = {}
        for first, second, column, times, apart, counted in self._terms:
            n, f, g = self.among[first], vector[first], vector[second]
            if apart:
                value = 2 * n * self.among[second] * f * g
            else:
                value = n * (n - 1) * f * g + n * f * (f - 2 * whole - 1)
            if counted:
                value += whole * (whole + 1)
            total[column] = total.get(column, 0) + times * value
        found = {column: value for column, value in sorted(total.items()) if value}
        if not found:
            return None
        divisor = math.gcd(*found.values())
        return Cut(tuple(found), tuple(value // divisor for value in found.values()))

    def violated(self, beliefs: Floats) -> Iterator[Cut]:
        """The cuts that beliefs violate most."""
        terms = self.times * beliefs[self.column]
        total = float(terms[self.whole].sum())
        if total < RARE:
            return
        # All in shares: of the probability of the roots, and of the number of objects.
        terms, among = terms / total, np.array([own / self.size for own in self.among])
        one = ~self.apart
        single = among * np.bincount(self.first[one], terms[one], self.kinds)
        weights = among[self.first] * np.where(
            self.apart, 2 * among[self.second], among[self.first] - 1 / self.size
        )
        joint = np.zeros((self.kinds, self.kinds))
        np.add.at(joint, (self.first, self.second), weights * terms)
        moments = (joint + joint.T) / 2 + np.diag(single) / self.size
        vectors = np.array(list(self._directions(moments)), dtype=float)
        # The whole number below the mean makes the most of a vector.
        wholes = np.floor(self.size * (vectors @ single) + 10.0**-DIGITS)
        centred = vectors - (wholes / self.size)[:, None]
        second = np.einsum("kf,fg,kg->k", centred, moments, centred)
        value = second - (centred @ single) / self.size
        size = np.abs(centred).max(axis=1) ** 2
        worst = np.argsort(np.round(value / np.maximum(size, RARE), DIGITS), kind="stable")
        for number in worst[:PER_LOOKS].tolist():
            found = self.cut([int(v) for v in vectors[number]], int(wholes[number]))
            if found is not None and found.row(len(beliefs)) @ beliefs < -VIOLATED:
                yield found

    def nearly_tight(
        self, beliefs: Sequence[Fraction], most_vectors: int
    ) -> Iterator[tuple[Cut, Fraction]]:
        """The cuts of small vectors that hold with hardly more than equality at exact beliefs.

        With each of them, what is left in its own units.
        """
        single = [Fraction(0)] * self.kinds
        joint: dict[tuple[int, int], Fraction] = {}
        total = Fraction(0)
        for first, second, column, times, apart, counted in self._terms:
            if belief := times * beliefs[column]:
                n = self.among[first]
                single[first] += 0 if apart else n * belief
                weight = 2 * n * self.among[second] if apart else n * (n - 1)
                joint[first, second] = joint.get((first, second), Fraction(0)) + weight * belief
                total += belief if counted else 0
        if not total:
            return
        live = [k for k in range(self.kinds) if single[k]]
        for vector in islice(whole_vectors(self.kinds, live), most_vectors):
            mean = sum((vector[k] * single[k] for k in live), Fraction(0))
            second_moment = sum(
                (vector[f] * vector[g] * own for (f, g), own in joint.items()),
                sum((vector[k] ** 2 * single[k] for k in live), Fraction(0)),
            )
            below = math.floor(mean / total)
            for whole in (below - 1, below, below + 1):
                left = second_moment - (2 * whole + 1) * mean + whole * (whole + 1) * total
                if left * self.size <= FEW_EXCEPTIONS * total:
                    found = self.cut(vector, whole)
                    if found is not None:
                        yield found, left

    @cached_property
    def _terms(self) -> list[tuple[int, int, int, int, bool, bool]]:
        columns = self.first, self.second, self.column, self.times, self.apart, self.whole
        return list(zip(*(own.tolist() for own in columns), strict=True))

    def _directions(self, moments: Floats) -> Iterator[Sequence[float] | Floats]:
        """Whole vectors along which counts may vary less than they must."""
        yield from np.eye(self.kinds)
        if self.kinds <= FEW_LOOKS:
            yield from whole_vectors(self.kinds, range(self.kinds))
        values, vectors = np.linalg.eigh(moments)
        for value, vector in zip(values, vectors.T, strict=True):
            if value > VIOLATED:
                break
            direction = np.round(vector / np.abs(vector).max(), DIGITS)
            yield np.round(direction * FINE)
            for part in PARTS:
                above, below = direction > part, direction < -part
                yield from (
                    own
                    for own in (above * 1.0, below * 1.0, above * 1.0 - below * 1.0)
                    if own.any()
                )


def whole_vectors(kinds: int, live: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Vectors of small whole numbers, one of each pair of opposite ones.

    With many kinds, only few of them are not zero; those that are `live` come in threes at most.

    >>> list(whole_vectors(2, [0, 1]))[:4]
    [(0, 1), (1, -1), (1, 0), (1, 1)]
    """
    if kinds <= SOME_LOOKS:
        sizes = (1, 2) if kinds <= FEW_LOOKS else (1,)
        for size in sizes:
            for vector in product(range(-size, size + 1), repeat=kinds):
                leading = next((v for v in vector if v), 0)
                if leading > 0 and max(map(abs, vector)) == size:
                    yield vector
        return
    alive = list(live)
    dead = [k for k in range(kinds) if k not in set(alive)]
    groups: list[tuple[int, ...]] = [(k,) for k in range(kinds)]
    groups += [own for size in (2, 3) for own in combinations(alive, size)]
    for group in groups:
        for signs in product((1, -1), repeat=len(group) - 1):
            at = dict(zip(group, (1, *signs), strict=True))
            yield tuple(at.get(k, 0) for k in range(kinds))
    if len(dead) > 1:
        yield tuple(int(k in dead) for k in range(kinds))
