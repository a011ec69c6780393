"""Summing over counts where they have weight: around all maxima, on lattices as fine as needed.

Around a maximum the terms fall off like a Gaussian. A sum over every h-th count, times h, then
differs from the whole sum by a part of exp(-2 (pi s / h)^2) for a width of s, so a step below the
width loses nothing. Two lattices, shifted against each other, tell whether that is so: if their
sums differ, steps are halved. They are 1 where a maximum is narrow, or near the boundary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from itertools import chain, combinations, permutations, product

import numpy as np

from liftgbp.methods.counting.space import DIGITS, Counts, Filled, Lattice, Space
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError

# --- limits: how much is visited

ALL = 400
"""Spaces with at most this many points are visited as a whole: that costs no more than a search,
and no count is missed between impossible ones (hard formulas that only even counts satisfy)."""

GRID = 40
"""The search for maxima starts from about this many points per free count. A quarter of them misses
a maximum that is one part in thirty of a line wide (`tests/counting/test_peaks.py`)."""

MOST_VISITED = 40_000
"""Sums that need more points are refused: a bound on time and memory."""

MOST_FREE = 8
"""With more free counts than this, only spaces with at most `MOST_VISITED` points are tried: for
others, points by the thousand would be solved before they are refused (friends-smokers over a
hundred people, twelve of whom have a rule each)."""

FIRST_MOVE = 16
"""The longest move uphill is one part in this many of a class, about two steps of the grid on a
line. Moves of a quarter jump over narrow maxima (`tests/counting/test_peaks.py`)."""

FALL = 1.0
"""The width of a maximum is probed where the exponent has fallen by about this much: a Gaussian has
fallen by a half at its width. Values from 0.3 to 3 give the same sums."""

PROBED_TOGETHER = 4
"""Widths are probed at this many distances at once, each twice the one before: small batches are
expensive, and distances far beyond the width say nothing about a maximum."""

# --- accuracy of the sum

SUM_ACCURACY = (1e-12, 1e-9)
"""How far off a sum may be, in proportion: for one free count, and for more, where points are
expensive. Points with a lower weight, relative to the highest one, are left out. The sums over two
lattices that are shifted by half a step may differ by the square root: for a Gaussian, the error of
their mean is the square of their difference. Steps are as long as that allows. With a hundred times
less accuracy, sums over independent objects in four cells are off (`tests/counting/test_peaks.py`).
"""

_PRECISE = Context(prec=DIGITS)

Exponents = Callable[[Sequence[Counts]], Sequence[Decimal]]
"""The log of the weight of points; minus infinity for impossible ones."""


@dataclass(frozen=True, slots=True)
class Peak:
    """A maximum with its share in the sum."""

    counts: Counts
    share: float


@dataclass(frozen=True, slots=True)
class Weighed:
    """A sum over counts: its log, the share that each visited point stands for, and the peaks."""

    log_total: Decimal
    shares: dict[Counts, float]
    peaks: tuple[Peak, ...]
    visited: int


Rough = Callable[[Counts], bool]
"""Whether the weight of a point that was evaluated has too few digits to be compared."""


def weigh(
    space: Space,
    exponents: Exponents,
    is_rough: Rough = lambda point: False,
    starts: Sequence[Counts] = (),
) -> Weighed | None:
    """The sum of the exponentials over the whole space; none if no point was found possible.

    With `starts`, it is the sum around the maxima that lie uphill from these points.

    In spaces that are too large to be visited as a whole, it is good to some ten digits; with two
    free counts and more, to eight. Where weights are rough, the sum is, too.

    >>> from liftgbp.methods.counting.space import SplitClass
    >>> line = Space((SplitClass(10**6, 2),))
    >>> found = weigh(line, lambda points: [line.log_ways(point) for point in points])
    >>> round(float(found.log_total / Decimal(2).ln()), 6)
    1000000.0
    >>> found.peaks[0].counts, found.visited < 250
    ((500000, 500000), True)
    """
    return _Search(space, exponents, is_rough, starts).run()


def check_space(space: Space) -> None:
    """Refuse a space with too many free counts, before anything is prepared for it."""
    if space.dimensions > MOST_FREE and space.number > MOST_VISITED:
        raise _too_many_counts()


class _Search:
    def __init__(
        self, space: Space, exponents: Exponents, is_rough: Rough, starts: Sequence[Counts]
    ) -> None:
        self._space = space
        self._starts = list(starts)
        self._exponents = exponents
        self._is_rough = is_rough
        self._depth = -math.log(_accuracy(self._dimensions))
        self._known: dict[Counts, Decimal] = {}
        self._top = Decimal("-Infinity")

    def run(self) -> Weighed | None:
        if self._space.number <= ALL and not self._starts:
            self._evaluate(self._space.all())
            return self._weighed(dict.fromkeys(self._known, 1.0), self._maxima_among_all())
        check_space(self._space)
        maxima = self._climb()
        while maxima:
            lattices = {maximum: self._lattice(maximum) for maximum in maxima}
            filled = [self._fill(lattices[m], (m,)) for m in maxima if self._matters(m)]
            filled = self._separate([own for own in filled if own.volumes])
            if any(map(self._matters, maxima)):
                volumes = {c: v for own in filled for c, v in own.volumes.items()}
                return self._weighed(volumes, maxima)
            # Looking around has found a higher one.
            maxima = self._uphill([max(self._known, key=self._known.__getitem__)])
        return None

    @property
    def _dimensions(self) -> int:
        return self._space.dimensions

    # --- evaluation

    def _evaluate(self, points: Iterable[Counts]) -> None:
        new = [point for point in dict.fromkeys(points) if point not in self._known]
        if len(self._known) + len(new) > MOST_VISITED:
            raise _too_many_counts()
        if new:
            self._known |= zip(new, self._exponents(new), strict=True)
            self._top = max(self._top, *(self._known[point] for point in new))

    def _height(self, point: Counts) -> float:
        """The exponent relative to the highest so far."""
        value = self._known[point]
        return -math.inf if value.is_infinite() else float(_PRECISE.subtract(value, self._top))

    # --- maxima

    def _maxima_among_all(self) -> list[Counts]:
        least, ones = self._least, (1,) * len(self._space.classes)
        return [
            point
            for point, value in self._known.items()
            if value > least
            and all(self._known[there] <= value for there in self._moves(point, ones))
        ]

    def _moves(self, point: Counts, lengths: Sequence[int]) -> Iterator[Counts]:
        """Where moving objects from one cell to another of its class leads."""
        for (start, stop), length in zip(self._space.slices, lengths, strict=True):
            for source, target in permutations(range(start, stop), 2):
                moved = min(length, point[source])
                if moved:
                    there = list(point)
                    there[source] -= moved
                    there[target] += moved
                    yield tuple(there)

    def _climb(self) -> list[Counts]:
        """The maxima that lie uphill from the highest points of a grid."""
        if self._starts:
            self._evaluate(self._starts)
            return self._uphill(self._starts)
        grid = self._space.grid(GRID * self._dimensions)
        self._evaluate(grid)
        possible = [point for point in grid if not self._known[point].is_infinite()]
        maxima = self._uphill(self._grid_maxima(possible))
        return [point for point in maxima if self._matters(point)]

    def _uphill(self, at: list[Counts]) -> list[Counts]:
        """Where moves uphill end, the highest first; long moves come before short ones.

        At a maximum no length leads uphill, and small batches are expensive: after each one in
        vain, twice as many lengths are tried at once.
        """
        lengths = [max(1, own.size // FIRST_MOVE) for own in self._space.classes]
        together = 1
        while at:
            tried = _halvings(lengths, together)
            moves = {p: [list(self._moves(p, own)) for own in tried] for p in at}
            reached = {p: list(chain(*own)) for p, own in moves.items()}
            self._evaluate(sorted(set(chain(*reached.values()))))
            uphill = [
                length
                for k, length in enumerate(tried)
                if any(self._known[to] > self._known[p] for p in at for to in moves[p][k])
            ]
            if uphill:
                best = (max((*reached[p], p), key=self._known.__getitem__) for p in at)
                at = list(dict.fromkeys(best))
                lengths, together = uphill[0], 1
            elif max(tried[-1]) > 1:
                lengths, together = _halved(tried[-1]), 2 * together
            else:
                break
        return sorted(at, key=self._known.__getitem__, reverse=True)

    def _matters(self, point: Counts) -> bool:
        return self._known[point] > self._least

    @property
    def _least(self) -> Decimal:
        """The exponent of points whose weight no longer counts."""
        return _PRECISE.subtract(self._top, Decimal(self._depth))

    def _grid_maxima(self, grid: list[Counts]) -> list[Counts]:
        """Points of a grid that no nearby one exceeds."""
        if len(grid) < 2:
            return grid
        points = np.array(grid, dtype=float)
        heights = np.array([self._height(point) for point in grid])
        if points.shape[1] == 2:
            around = np.pad(heights, 1, constant_values=-np.inf)
            highest = (heights >= around[:-2]) & (heights >= around[2:])
            return [grid[k] for k in np.flatnonzero(highest)]
        apart = np.abs(points[:, None] - points).max(axis=-1)
        unit = np.where(apart > 0, apart, np.inf).min(axis=1, keepdims=True)
        near = np.where(apart <= unit, heights, -np.inf).max(axis=1)
        return [grid[k] for k in np.flatnonzero(heights >= near)]

    # --- lattices

    def _lattice(self, maximum: Counts) -> Lattice:
        """The lattice through a maximum, as fine as its widths demand."""
        unit = self._space.lattice(maximum)
        probes = tuple(self._probe(unit, axis) for axis in range(len(unit.cells)))
        return replace(unit, steps=self._steps(replace(unit, steps=probes)))

    def _probe(self, unit: Lattice, axis: int) -> int:
        """A distance along an axis at which the exponent has fallen by about one.

        If it has not before the end of the space, the longest that fits; 0 if none does.
        """
        length = 1
        while True:
            lengths = [length << k for k in range(PROBED_TOGETHER)]
            ends = {own: self._ends(unit, axis, own) for own in lengths}
            self._evaluate(chain(*(own for own in ends.values() if own is not None)))
            for own, reached in ends.items():
                if reached is None:
                    return own // 2
                if self._height(unit.anchor) - min(map(self._height, reached)) >= FALL:
                    return own
            length <<= PROBED_TOGETHER

    def _ends(self, unit: Lattice, axis: int, length: int) -> tuple[Counts, Counts] | None:
        index = [length * (k == axis) for k in range(len(unit.cells))]
        one, other = unit.point(index), unit.point([-own for own in index])
        return None if one is None or other is None else (one, other)

    def _steps(self, probes: Lattice) -> tuple[int, ...]:
        """Steps that are small against the widths of a Gaussian through probed points."""
        wide = [axis for axis, step in enumerate(probes.steps) if step > 1]
        steps = [1] * len(probes.steps)
        curvature = self._curvature(probes, wide) if wide else None
        if curvature is None:
            return tuple(steps)
        widths = 1 / np.sqrt(np.diag(curvature))
        relative = curvature * np.outer(widths, widths)
        ratio = _widths_per_step(len(wide)) / math.sqrt(float(np.linalg.eigvalsh(relative)[-1]))
        for k, axis in enumerate(wide):
            steps[axis] = _even(int(ratio * widths[k] * probes.steps[axis]))
        return tuple(steps)

    def _curvature(self, probes: Lattice, wide: list[int]) -> Floats | None:
        """Minus the second differences of the exponent, in units of the probed distances."""
        axes, signs = range(len(wide)), (1, -1)
        moves = [(a, s, a, s) for a, s in product(axes, signs)]
        moves += [(a, s, b, t) for a, b in combinations(axes, 2) for s, t in product(signs, signs)]
        places = [
            probes.point([{wide[a]: s, wide[b]: t}.get(k, 0) for k in range(len(probes.cells))])
            for a, s, b, t in moves
        ]
        points = [point for point in places if point is not None]
        if len(points) < len(moves):
            return None
        self._evaluate(points)
        heights = map(self._height, points)
        here = self._height(probes.anchor)
        result = np.zeros((len(wide), len(wide)))
        for (a, s, b, t), height in zip(moves, heights, strict=True):
            if a == b:
                result[a, a] += here - height
            else:
                result[[a, b], [b, a]] -= s * t * height / 4
        sound = np.isfinite(result).all() and float(np.linalg.eigvalsh(result)[0]) > 0
        return result if sound else None

    # --- filling

    def _fill(self, lattice: Lattice, maxima: tuple[Counts, ...]) -> Filled:
        """All lattice points that matter around some maxima; it is refined if necessary."""
        while True:
            points, touched = self._flood(lattice, maxima)
            if lattice.volume == 1:
                return Filled(lattice, maxima, dict.fromkeys(points, 1.0))
            coarse = {axis for axis in touched if lattice.steps[axis] > 1}
            if not coarse:
                shifted = lattice.shifted()
                others = [] if shifted is None else self._flood(shifted, maxima)[0]
                # Rough weights never agree: finer steps would only compare their rounding.
                rough = any(map(self._is_rough, maxima))
                if rough or self._agree(points, others, sum(step > 1 for step in lattice.steps)):
                    half = lattice.volume / 2
                    return Filled(lattice, maxima, dict.fromkeys([*points, *others], half))
            steps = tuple(
                _even(step // 2) if axis in coarse or not coarse else step
                for axis, step in enumerate(lattice.steps)
            )
            lattice = replace(lattice, steps=steps)

    def _agree(self, points: list[Counts], others: list[Counts], dimensions: int) -> bool:
        one, other = (math.fsum(math.exp(self._height(p)) for p in own) for own in (points, others))
        return abs(one - other) <= _largest_difference(dimensions) * max(one, other)

    def _flood(self, lattice: Lattice, maxima: tuple[Counts, ...]) -> tuple[list[Counts], set[int]]:
        """The points that matter, and the axes along which they reach the end of the space.

        On a line, points are evaluated ahead: as many as matter under a Gaussian, which the steps
        were made for, or else ever more of them.
        """
        reach = math.ceil(math.sqrt(2 * self._depth) / _widths_per_step(1))
        ahead = reach if lattice.volume > 1 else 1
        points: dict[tuple[int, ...], Counts] = {}
        touched: set[int] = set()
        frontier = {index for m in maxima if lattice.point(index := lattice.nearest(m)) is not None}
        while frontier:
            placed = {index: lattice.point(index) for index in frontier}
            new = [own for own in placed.values() if own is not None and own not in self._known]
            if new and self._dimensions == 1:
                beyond = {(k + d,) for (k,) in frontier for d in range(1 - ahead, ahead)}
                found = map(lattice.point, sorted(beyond - points.keys()))
                new = [own for own in found if own is not None]
                ahead *= 2
            self._evaluate(new)
            reached = {
                index: point
                for index, point in placed.items()
                if point is not None and self._height(point) > -self._depth
            }
            points |= reached
            frontier = set()
            for index in reached:
                for axis, move in product(range(len(index)), (1, -1)):
                    there = (*index[:axis], index[axis] + move, *index[axis + 1 :])
                    if lattice.point(there) is None:
                        touched.add(axis)
                    elif there not in points:
                        frontier.add(there)
        return list(points.values()), touched

    def _separate(self, filled: list[Filled]) -> list[Filled]:
        """Lattices that do not overlap: those that did are filled again as one."""
        for one, other in combinations(filled, 2):
            if one.overlaps(other):
                rest = [own for own in filled if own is not one and own is not other]
                return self._separate([*rest, self._union(one, other)])
        return filled

    def _union(self, one: Filled, other: Filled) -> Filled:
        mine, others = one.lattice, other.lattice
        if (mine.cells, mine.reference) == (others.cells, others.reference):
            steps = tuple(map(min, mine.steps, others.steps))
        else:
            steps = (min(*mine.steps, *others.steps),) * len(mine.steps)
        return self._fill(replace(mine, steps=steps), (*one.maxima, *other.maxima))

    # --- the sum

    def _weighed(self, volumes: dict[Counts, float], maxima: list[Counts]) -> Weighed | None:
        """The sum over points, each of which stands for this many."""
        if not maxima:
            return None
        weights = {c: volume * math.exp(self._height(c)) for c, volume in volumes.items()}
        total = math.fsum(weights.values())
        log_total = _PRECISE.add(self._top, Decimal(total).ln(_PRECISE))
        shares = {point: weight / total for point, weight in weights.items() if weight}
        peaks = self._peaks(maxima, shares)
        return Weighed(log_total, shares, peaks, len(self._known))

    def _peaks(self, maxima: list[Counts], shares: dict[Counts, float]) -> tuple[Peak, ...]:
        """The maxima, each with the share of the points that are nearest to it.

        Points in the middle between maxima count for all of them in equal parts.
        """
        maxima = sorted(maxima, key=self._known.__getitem__, reverse=True)
        points = np.array(list(shares), dtype=float)
        away = np.array([np.abs(points - np.array(place)).sum(axis=1) for place in maxima])
        nearest = away == away.min(axis=0)
        own = (np.array(list(shares.values())) / nearest.sum(axis=0) * nearest).sum(axis=1)
        found = [Peak(counts, share) for counts, share in zip(maxima, own.tolist(), strict=True)]
        return tuple(sorted(found, key=lambda peak: -peak.share))


def _accuracy(dimensions: int) -> float:
    return SUM_ACCURACY[min(dimensions, len(SUM_ACCURACY)) - 1]


def _largest_difference(dimensions: int) -> float:
    """By how much the sums over two lattices may differ, in proportion."""
    return math.sqrt(_accuracy(dimensions))


def _widths_per_step(dimensions: int) -> float:
    """How many widths of a Gaussian a step may have."""
    # A step of h widths changes the sum by a part of exp(-2 (pi / h)^2).
    return math.pi * math.sqrt(-2 / math.log(_largest_difference(dimensions)))


def _halved(lengths: Sequence[int]) -> list[int]:
    return [max(1, length // 2) for length in lengths]


def _halvings(lengths: list[int], most: int) -> list[list[int]]:
    """Lengths, their halves, the halves of these and so on, down to one.

    >>> _halvings([9, 2], 3), _halvings([3], 3)
    ([[9, 2], [4, 1], [2, 1]], [[3], [1]])
    """
    found = [lengths]
    while len(found) < most and max(found[-1]) > 1:
        found.append(_halved(found[-1]))
    return found


def _even(step: int) -> int:
    """The largest even number up to a step, which has a half, or 1."""
    return max(1, step - step % 2)


def _too_many_counts() -> CapacityError:
    return CapacityError(
        f"the sum needs more than {MOST_VISITED} counts; sum over fewer predicates, or tell "
        "fewer objects apart by rules and evidence"
    )
