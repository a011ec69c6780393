"""Curves of probabilities over a quantity, as data for charts and as a small drawing of our own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from liftgbp.pictures.cards import shortened
from liftgbp.pictures.scene import MUTED, Line, Scene, Shape, Spot, Words, text_width

PALETTE = ("#4c8fd1", "#e08a3c", "#4aa564", "#c65b6e", "#8e7cc3", "#a07a5a", "#5aa9a9")
"""Colours of curves, which are told apart on light and on dark paper."""

RED = "#d9483b"
"""What is refused."""

WIDE = 20
"""A range of positive numbers wider than this factor gets a logarithmic axis."""

SLIVER = 0.1
"""Branches without a share in the answer leave the chart if what has one would take less of it."""

MANY_POINTS = 50
"""Curves with more points have no markers."""

WIDTH, HEIGHT, LEFT, BELOW = 560.0, 260.0, 56.0, 40.0
"""The size of a small drawing, and the room for what is written at its axes."""

LONGEST_NAME = 48
"""Names in legends are cut off after this many letters."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a branch of stationary points: stable, where they are minima, or not."""

    points: tuple[Spot, ...]
    stable: bool
    shares: bool = True
    """Whether the points have a share in the answer."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A probability over a quantity, with the branches of all stationary points."""

    name: str
    points: tuple[Spot, ...]
    sound: tuple[bool, ...]
    branches: tuple[Stretch, ...] = ()


def is_wide(numbers: Sequence[float]) -> bool:
    """Whether an axis should be logarithmic."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) > WIDE * min(numbers)


def curves_range(curves: Sequence[Curve]) -> Spot:
    """The part of the axis of probabilities that shows what curves do."""
    told = [y for curve in curves for _, y in curve.points if not math.isnan(y)]
    told += _heights(curves, shares=True)
    every = [*told, *_heights(curves, shares=False)]
    if not every:
        return -0.02, 1.02
    sliver = 0 < max(told) - min(told) < SLIVER * (max(every) - min(every))
    low, high = (min(told), max(told)) if sliver else (min(every), max(every))
    room = max(0.06 * (high - low), 0.002)
    return max(low - room, -0.02), min(high + room, 1.02)


def _heights(curves: Sequence[Curve], *, shares: bool) -> list[float]:
    stretches = [own for curve in curves for own in curve.branches if own.shares == shares]
    return [y for own in stretches for _, y in own.points]


def line_chart(along: str, curves: Sequence[Curve]) -> Scene:
    """A small drawing of curves, with a legend at the right."""
    low, high = curves_range(curves)
    numbers = [x for curve in curves for x, _ in curve.points] or [0.0, 1.0]
    scale = math.log10 if is_wide(numbers) else float
    first, last = scale(min(numbers)), scale(max(numbers))

    def place(point: Spot) -> Spot:
        across = 0.5 if last == first else (scale(point[0]) - first) / (last - first)
        return LEFT + across * WIDTH, 10 + (high - point[1]) / (high - low) * HEIGHT

    shapes: list[Shape] = [
        Line(((LEFT, 10), (LEFT, 10 + HEIGHT), (LEFT + WIDTH, 10 + HEIGHT)), colour=MUTED)
    ]
    for tick in ticks(low, high):
        _, y = place((numbers[0], tick))
        shapes.append(Line(((LEFT, y), (LEFT + WIDTH, y)), colour=MUTED, faint=True))
        shapes.append(Words((LEFT - 6, y + 4), f"{tick:g}", 11.0, "end"))
    for x in _marks(numbers):
        across, _ = place((x, low))
        shapes.append(Words((across, 10 + HEIGHT + 15), f"{x:.4g}", 11.0))
    shapes.append(Words((LEFT + WIDTH / 2, 10 + HEIGHT + 32), along, 11.0, bold=True))
    widest = 0.0
    for number, curve in enumerate(curves):
        colour = PALETTE[number % len(PALETTE)]
        for own in curve.branches:
            points = tuple(map(place, own.points))
            shapes.append(Line(points, colour=colour, dashed=not own.stable))
        kept = tuple(place(point) for point in curve.points if not math.isnan(point[1]))
        shapes.append(Line(kept, colour=colour, thick=True))
        for point, sound in zip(curve.points, curve.sound, strict=True):
            if not sound and not math.isnan(point[1]):
                x, y = place(point)
                shapes.append(Words((x, y + 4), "×", 13.0, colour=RED, hint="refused"))
        y = 22.0 + 18 * number
        name = shortened(curve.name, LONGEST_NAME)
        shapes.append(
            Line(
                ((LEFT + WIDTH + 14, y - 4), (LEFT + WIDTH + 32, y - 4)), colour=colour, thick=True
            )
        )
        shapes.append(Words((LEFT + WIDTH + 38, y), name, 11.0, "start"))
        widest = max(widest, text_width(name, 11.0))
    height = max(10 + HEIGHT + BELOW, 30.0 + 18 * len(curves))
    return Scene(LEFT + WIDTH + 48 + widest, height, tuple(shapes))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers in an interval, about five of them.

    >>> ticks(0.0, 1.0), ticks(0.4932, 0.5004)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.494, 0.496, 0.498, 0.5])
    """
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough * 0.99)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _marks(numbers: Sequence[float]) -> list[float]:
    """A few of the numbers for the axis below."""
    different = sorted(set(numbers))
    step = max(1, -(-len(different) // 7))
    return different[::step]
