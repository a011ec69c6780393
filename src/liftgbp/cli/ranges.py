"""Ranges of sizes and weights as people write them: `7`, `2,5,10` or `2..1e9`."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

import liftgbp

MOST_DIGITS = 100
"""Sizes beyond this many digits are typing errors; counts overflow long before."""

MOST_POINTS = 10**6
"""Far more than anybody would wait for."""


def size_range(name: str, text: str, points: int) -> list[int]:
    """Whole numbers; a range is spread evenly on a logarithmic scale.

    >>> size_range("person", "2..1e6", 4)
    [2, 159, 12599, 1000000]
    >>> size_range("person", "3, 4", 9)
    [3, 4]
    """
    if ".." not in text:
        return [_whole_number(name, part) for part in text.split(",")]
    low, high = (_whole_number(name, end) for end in _ends(name, text, points))
    _check_order(name, low, high, text)
    # Logarithms of integers, since sizes may be beyond the range of floats.
    steps = max(1, points - 1)
    between = (
        round(math.exp(math.log(low) + k / steps * (math.log(high) - math.log(low))))
        for k in range(1, steps)
    )
    return sorted({low, *(min(max(size, low), high) for size in between), high})


def weight_range(name: str, text: str, points: int) -> list[float]:
    """Numbers; a range is spread evenly.

    >>> weight_range("alpha", "0..1", 5)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if ".." not in text:
        return [_number(name, part) for part in text.split(",")]
    low, high = (_number(name, end) for end in _ends(name, text, points))
    _check_order(name, low, high, text)
    steps = max(1, points - 1)
    inner = [low + k / steps * (high - low) for k in range(1, steps)]
    return list(dict.fromkeys([low, *inner, high]))


def _whole_number(name: str, text: str) -> int:
    """A size, also in the form 1e6."""
    text = text.strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    too_long = number.is_finite() and number.adjusted() > MOST_DIGITS
    if not number.is_finite() or too_long or number != number.to_integral_value():
        raise liftgbp.SizeError(f"the size of {name} must be a whole number, got {text!r}")
    if number < 1:
        raise liftgbp.SizeError(f"the size of {name} must be at least 1, got {text}")
    return int(number)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise liftgbp.InputError(f"the weight {name} must be a finite number, got {text.strip()!r}")
    return number


def _ends(name: str, text: str, points: int) -> tuple[str, str]:
    if points < 1:
        raise liftgbp.InputError(f"the number of points must be at least 1, got {points}")
    if points > MOST_POINTS:
        raise liftgbp.InputError(
            f"the number of points must be at most {MOST_POINTS}, got {points}"
        )
    ends = text.split("..")
    if len(ends) != 2 or not all(end.strip() for end in ends):
        raise liftgbp.InputError(
            f"the range of {name} must have two ends, as in 2..1000, got {text!r}"
        )
    return ends[0], ends[1]


def _check_order(name: str, low: float, high: float, text: str) -> None:
    if low > high:
        raise liftgbp.InputError(f"the range {text} of {name} is reversed; write {high:g}..{low:g}")
