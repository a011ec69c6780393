"""Reading option values."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import click

MOST_DIGITS = 100


def parse_sizes(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    """Domain sizes from `SORT=SIZE` texts.

    >>> parse_sizes(None, None, ("person=1e6", "movie=20"))
    {'person': 1000000, 'movie': 20}
    """
    sizes: dict[str, int] = {}
    for value in values:
        sort, equals, text = (part.strip() for part in value.partition("="))
        if not equals or not sort:
            raise click.BadParameter(f"{value!r} is not of the form SORT=SIZE, such as person=1000")
        if sort in sizes:
            raise click.BadParameter(f"the size of {sort} is given twice")
        sizes[sort] = _whole_number(sort, text)
    return sizes


def parse_weights(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, float]:
    """Named weights from `NAME=VALUE` texts.

    >>> parse_weights(None, None, ("alpha=0.5", "$beta=-1"))
    {'alpha': 0.5, 'beta': -1.0}
    """
    weights: dict[str, float] = {}
    for value in values:
        name, equals, text = (part.strip() for part in value.partition("="))
        name = name.removeprefix("$")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE, such as alpha=0.5")
        if name in weights:
            raise click.BadParameter(f"the weight {name} is given twice")
        try:
            weights[name] = float(text)
        except ValueError:
            raise click.BadParameter(f"the weight {name} must be a number, got {text!r}") from None
    return weights


def _whole_number(sort: str, text: str) -> int:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    too_long = number.is_finite() and number.adjusted() > MOST_DIGITS
    if not number.is_finite() or too_long or number != number.to_integral_value():
        raise click.BadParameter(f"the size of {sort} must be a whole number, got {text!r}")
    if number < 1:
        raise click.BadParameter(f"the size of {sort} must be at least 1, got {text}")
    return int(number)
