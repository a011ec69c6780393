"""Numbers x >= 0 that solve linear equations at little cost, in whole numbers from start to end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.support.errors import InternalError
from liftgbp.support.limits import checkpoint

Row: TypeAlias = "NDArray[Any]"
"""Whole numbers of any length; positive multiples of a row say the same."""

MOST_WORK = 10**6
"""The most numbers of 64 bits that are computed, about a second. The extremal models take a
hundredth; a few random models never come to an end, as numbers grow."""


def cheapest(
    matrix: Sequence[Sequence[int]],
    right_side: Sequence[int],
    costs: Sequence[int],
    enough: Fraction = Fraction(0),
) -> list[Fraction] | None:
    """A solution with little cost, or nothing; the least cost, unless less is enough or it takes
    too long.

    Of the columns that help, the first one enters (R. G. Bland, *New finite pivoting rules for the
    simplex method*, 1977), so likely columns should come first.

    >>> cheapest([[1, 1, 2], [0, 1, -1]], [4, 1], [0, 0, 0])
    [Fraction(3, 1), Fraction(1, 1), Fraction(0, 1)]
    >>> cheapest([[1, 1, 2], [0, 1, -1]], [4, 1], [1, 1, 1])
    [Fraction(0, 1), Fraction(2, 1), Fraction(1, 1)]
    >>> cheapest([[1, 1]], [-1], [0, 0]) is None
    True
    """
    table = _Table(matrix, right_side, len(costs))
    if not table.solved():
        return None
    return table.improved(costs, enough)


class _Table:
    """Equations, each solved for one of the numbers."""

    def __init__(
        self, matrix: Sequence[Sequence[int]], right_side: Sequence[int], width: int
    ) -> None:
        self._width = width
        self._rows = [_row(own, right) for own, right in zip(matrix, right_side, strict=True)]
        # Beyond the last column, there is an artificial number for each row. They are to vanish.
        self._basis = [self._width + k for k in range(len(self._rows))]
        self._work = 0

    def solved(self) -> bool:
        """Whether artificial numbers can vanish."""
        missing = np.array([0] * (self._width + 1), dtype=object)
        for row in self._rows:
            missing = missing + row
        while missing[-1] and self._work <= MOST_WORK:
            entering = self._entering(missing)
            if entering is None:
                return False
            missing = self._enter(entering, missing)
        return not missing[-1]

    def improved(self, costs: Sequence[int], enough: Fraction) -> list[Fraction]:
        """The solution after steps that lower the cost."""
        # What a column saves: costs of the numbers that it replaces, less its own.
        saved = np.array([*(-own for own in costs), 0], dtype=object)
        for row, column in zip(self._rows, self._basis, strict=True):
            if column < self._width and saved[column]:
                saved = _without(saved, row, column)
        while self._work <= MOST_WORK:
            numbers = self._numbers()
            cost = sum((c * x for c, x in zip(costs, numbers, strict=True) if c), Fraction(0))
            entering = self._entering(saved)
            if cost <= enough or entering is None or self._leaving(entering) is None:
                break
            saved = self._enter(entering, saved)
        return self._numbers()

    def _entering(self, gains: Row) -> int | None:
        return next((k for k in range(self._width) if gains[k] > 0), None)

    def _leaving(self, entering: int) -> int | None:
        rows, basis = self._rows, self._basis
        # An artificial number that is zero has to stay zero.
        stuck = (
            k
            for k, row in enumerate(rows)
            if row[entering] < 0 and basis[k] >= self._width and not row[-1]
        )
        return next(
            stuck,
            min(
                (k for k, row in enumerate(rows) if row[entering] > 0),
                key=lambda k: (Fraction(rows[k][-1], rows[k][entering]), -basis[k]),
                default=None,
            ),
        )

    def _enter(self, entering: int, gains: Row) -> Row:
        """Solve for another number, and what columns gain then."""
        checkpoint()
        leaving = self._leaving(entering)
        if leaving is None:
            raise InternalError("a number that may grow without end")
        pivot = self._rows[leaving]
        if pivot[entering] < 0:
            pivot = -pivot
        self._rows = [
            row if not row[entering] else _without(row, pivot, entering) for row in self._rows
        ]
        self._rows[leaving] = pivot
        self._basis[leaving] = entering
        words = 1 + max(map(abs, pivot.tolist())).bit_length() // 64
        self._work += words * (self._width + 1) * sum(row[entering] != 0 for row in self._rows)
        return _without(gains, pivot, entering)

    def _numbers(self) -> list[Fraction]:
        found = [Fraction(0)] * self._width
        for row, column in zip(self._rows, self._basis, strict=True):
            if column < self._width:
                found[column] = Fraction(row[-1], row[column])
        return found


def _row(values: Sequence[int], right: int) -> Row:
    divisor = math.gcd(*values, right) or 1
    row = np.array([*values, right], dtype=object) // divisor
    return np.asarray(-row if right < 0 else row)


def _without(row: Row, pivot: Row, column: int) -> Row:
    """A row less what makes its entry in a column zero."""
    found = row * pivot[column] - pivot * row[column]
    divisor = math.gcd(*found.tolist())
    return np.asarray(found // divisor if divisor > 1 else found)
