"""Numbers x >= 0 that solve linear equations, in whole numbers from start to end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.support.limits import checkpoint

Row: TypeAlias = "NDArray[Any]"
"""Whole numbers of any length; positive multiples of a row say the same."""

MOST_WORK = 10**7
"""The most numbers that are computed: a few seconds. The extremal models take a thousandth."""


def nonnegative_solution(
    matrix: Sequence[Sequence[int]], right_side: Sequence[int]
) -> list[Fraction] | None:
    """One of the solutions with few numbers that are not zero, or nothing.

    This is the first phase of the simplex method. Of the columns that help, the first one enters
    (R. G. Bland, *New finite pivoting rules for the simplex method*, 1977), so likely columns
    should come first.

    >>> nonnegative_solution([[1, 1, 2], [0, 1, -1]], [4, 1])
    [Fraction(3, 1), Fraction(1, 1), Fraction(0, 1)]
    >>> nonnegative_solution([[1, 1]], [-1]) is None
    True
    """
    width = len(matrix[0]) if matrix else 0
    rows = [_row(own, right) for own, right in zip(matrix, right_side, strict=True)]
    # Beyond the last column, there is an artificial number for each row. They are to vanish.
    basis = [width + k for k in range(len(rows))]
    missing = np.array([0] * (width + 1), dtype=object)
    for row in rows:
        missing = missing + row
    work = 0
    while work <= MOST_WORK:
        checkpoint()
        if not missing[-1]:
            return _numbers(rows, basis, width)
        entering = next((k for k in range(width) if missing[k] > 0), None)
        if entering is None:
            return None
        leaving = min(
            (k for k, row in enumerate(rows) if row[entering] > 0),
            key=lambda k: (Fraction(rows[k][-1], rows[k][entering]), -basis[k]),
        )
        pivot = rows[leaving]
        missing = _without(missing, pivot, entering)
        work += (width + 1) * sum(row[entering] != 0 for row in rows)
        rows = [
            row if k == leaving or not row[entering] else _without(row, pivot, entering)
            for k, row in enumerate(rows)
        ]
        basis[leaving] = entering
    return None


def _row(values: Sequence[int], right: int) -> Row:
    row = np.array([*values, right], dtype=object)
    return -row if right < 0 else row


def _without(row: Row, pivot: Row, column: int) -> Row:
    """A row less what makes its entry in a column zero."""
    found = row * pivot[column] - pivot * row[column]
    divisor = math.gcd(*found.tolist())
    return found // divisor if divisor > 1 else found


def _numbers(rows: Sequence[Row], basis: Sequence[int], width: int) -> list[Fraction]:
    found = [Fraction(0)] * width
    for row, column in zip(rows, basis, strict=True):
        if column < width:
            found[column] = Fraction(row[-1], row[column])
    return found
