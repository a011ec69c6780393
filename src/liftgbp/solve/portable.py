"""Arithmetic with the same bits on every processor.

NumPy and OpenBLAS choose their instructions by the processor: sums are added up in another order,
and logarithms differ in the last bit. Where free energies are steep, such a bit decides which
minimum a search ends in. Here everything is made of operations that IEEE 754 prescribes, one after
the other: sums, products, quotients, and changes of exponents.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

from liftgbp.support.arrays import Bools, Floats, Ints

BLOCK = 192
"""Systems of up to this many equations have the same solution everywhere. Three blocks of the
transitive relation have 99; far beyond, OpenBLAS is many times as fast."""

FEW = 24
"""Up to this many equations are eliminated above the diagonal, too, in fewer steps of Python."""

MANY = 2**14
"""A step that may change more numbers than this looks for rows that it leaves as they are: of sixty
rules over sixty predicates, one entry in nine is not zero."""

LEAST_PIVOT = 2.0**-50
"""A smaller pivot of a matrix with ones in its diagonal cannot be told from zero."""

_PARTS = 64
"""Tables have this many numbers, so that short polynomials do for what is left."""


def _digits(value: Decimal, bits: int) -> tuple[float, float]:
    """A number as the sum of one with few bits, and a rest."""
    high = math.ldexp(round(math.ldexp(float(value), bits)), -bits)
    return high, float(value - Decimal(high))


with localcontext(prec=60):
    _LOG_2 = Decimal(2).ln()
    _STEP = _LOG_2 / _PARTS
    _POWERS = np.array([float((_STEP * k).exp()) for k in range(_PARTS)])
    # What numbers from k/128 to (k + 1)/128 are multiplied by to be near one.
    _NEAR_ONE = np.array([256 / (2 * k + 1) for k in range(64, 128)])
    _LOGS = np.array([float(-Decimal(own).ln()) for own in _NEAR_ONE.tolist()])
    _STEP_HIGH, _STEP_LOW = _digits(_STEP, 36)
    _LOG_2_HIGH, _LOG_2_LOW = _digits(_LOG_2, 36)
    _STEPS = float(1 / _STEP)

_LEAST = -800.0
"""Exponentials of less are zero."""

_OF_EXP = [1 / math.factorial(k) for k in range(6, 0, -1)]
_OF_LOG = [(-1) ** (k + 1) / k for k in range(8, 0, -1)]
"""Coefficients of polynomials, the highest power first."""


def _polynomial(coefficients: list[float], values: Floats) -> Floats:
    """A polynomial without a constant term."""
    total = values * coefficients[0]
    for own in coefficients[1:]:
        total += own
        total *= values
    return total


def exp(values: Floats) -> Floats:
    """Exponentials, up to a few units of the last place."""
    values = np.maximum(values, _LEAST)
    steps = np.rint(values * _STEPS)
    values -= steps * _STEP_HIGH
    values -= steps * _STEP_LOW
    whole = steps.astype(np.int64)
    powers = _POWERS.take(whole & (_PARTS - 1))
    powers += powers * _polynomial(_OF_EXP, values)
    return np.asarray(np.ldexp(powers, whole >> 6))


def log(values: Floats) -> Floats:
    """Logarithms of numbers that are not negative, up to a few units of the last place of one."""
    fraction, exponent = np.frexp(values)
    place = (fraction * 128).astype(np.int64)
    place -= 64
    np.maximum(place, 0, out=place)
    fraction *= _NEAR_ONE.take(place)
    fraction -= 1.0
    found = _polynomial(_OF_LOG, fraction)
    found += exponent * _LOG_2_LOW
    found += _LOGS.take(place)
    found += exponent * _LOG_2_HIGH
    found[values == 0] = -math.inf
    return found


def solved(matrices: Floats, right: Floats) -> tuple[Floats, Bools]:
    """What square matrices (S, n, n) take to right sides (S, n), and whether pivots are positive.

    Where a pivot is zero, nothing is known, and the result is zero. Rows are not exchanged. Pivots
    count as positive from `LEAST_PIVOT` on. Matrices of more than `BLOCK` rows are handled in
    blocks, whose products come from OpenBLAS.
    """
    count = right.shape[1]
    left = np.concatenate([matrices, right[:, :, None]], axis=2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            # The right side belongs to the last block.
            end = last if last < count else count + 1
            for k in range(first, last):
                row = left[:, k, k + 1 : end] / left[:, k, k, None]
                other = left[:, 0 if count <= FEW else k + 1 :]
                changed: Ints | slice = slice(None)
                if len(left) * other.shape[1] ** 2 > MANY:
                    some = np.flatnonzero((other[:, :, k] != 0).any(axis=0))
                    changed = some if 2 * len(some) < other.shape[1] else changed
                other[:, changed, k + 1 : end] -= other[:, changed, k, None] * row[:, None, :]
                left[:, k, k + 1 : end] = row
            if last < count:
                _finish_block(left, first, last)
        found = left[:, :, count]
        for k in range(count - 1 if count > FEW else 0, 0, -1):
            found[:, :k] -= left[:, :k, k] * found[:, k, None]
        positive = (np.diagonal(left, axis1=1, axis2=2) > LEAST_PIVOT).all(axis=1)
    known = np.isfinite(found).all(axis=1)
    if not known.all():
        found[~known] = 0.0
    return found, np.asarray(positive & known)


def _finish_block(left: Floats, first: int, last: int) -> None:
    """What the columns after a block become once its own are eliminated."""
    for k in range(first, last):
        left[:, k, last:] -= (left[:, k, None, first:k] @ left[:, first:k, last:])[:, 0]
        left[:, k, last:] /= left[:, k, k, None]
    left[:, last:, last:] -= left[:, last:, first:last] @ left[:, first:last, last:]
