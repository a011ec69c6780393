"""The largest value of a quadratic function of how many objects are in which cell.

Over fractions, it is found among stationary points: if the largest value is reached inside a face,
the gradient is the same for all cells of a class there. Where such points are not isolated, the
function is constant on a line through them, which leads to a smaller face. So it suffices to solve
the linear equations of each face that have one solution; that bounds whole numbers, too. Reference:
I. M. Bomze, *On standard quadratic optimization problems*, Journal of Global Optimization 13, 1998.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product

from liftgbp.support.limits import checkpoint
from liftgbp.worlds.blocks.row_sizes import peaks

MOST_FACES = 600
"""The most faces whose equations are solved: some tenths of a second."""

MOST_COUNTS = 3_000
"""Up to this many counts are listed."""

MOST_CLIMBS = 40
"""The most starts of climbing."""


@dataclass(frozen=True, slots=True)
class Quadratic:
    """Σ linear[i] n[i] + Σ_{i<j} pair[i][j] n[i] n[j] + Σ pair[i][i] n[i] (n[i] - 1) / 2.

    sizes    the number of objects of each class
    classes  the class of each cell
    """

    sizes: tuple[int, ...]
    classes: tuple[int, ...]
    linear: tuple[int, ...]
    pair: tuple[tuple[int, ...], ...]

    def value(self, counts: Sequence[int]) -> int:
        """What so many objects in each cell are worth."""
        total = 0
        used = [k for k, number in enumerate(counts) if number]
        for place, i in enumerate(used):
            n, row = counts[i], self.pair[i]
            total += self.linear[i] * n + row[i] * (n * (n - 1) // 2)
            total += n * sum(row[j] * counts[j] for j in used[:place])
        return total

    def cells(self, cls: int) -> list[int]:
        """The cells of a class."""
        return [k for k, own in enumerate(self.classes) if own == cls]

    # --- fewer cells

    def undominated(self, hardly: int) -> list[int]:
        """Cells without those in whose place another one is never worse.

        >>> pair = ((2, 2, 3), (2, 2, 3), (3, 3, 0))
        >>> Quadratic((5,), (0, 0, 0), (1, 0, 0), pair).undominated(-99)
        [0, 2]
        """
        possible = {self.classes[k] for k, own in enumerate(self.linear) if own > hardly}
        kept = [
            k
            for k, own in enumerate(self.linear)
            if own > hardly or self.classes[k] not in possible
        ]
        for i in reversed(tuple(kept)):
            if any(self._dominates(j, i, kept) for j in kept if j != i):
                kept.remove(i)
        return kept

    def _dominates(self, j: int, i: int, kept: Sequence[int]) -> bool:
        """Whether an object of cell i may as well be in cell j, wherever all others are."""
        return (
            self.classes[i] == self.classes[j]
            and self.linear[j] >= self.linear[i]
            and all(self.pair[j][k] >= self.pair[i][k] for k in kept)
        )

    def restricted(self, cells: Sequence[int]) -> Quadratic:
        """The function of the counts of some cells, the others being empty."""
        return Quadratic(
            self.sizes,
            tuple(self.classes[k] for k in cells),
            tuple(self.linear[k] for k in cells),
            tuple(tuple(self.pair[j][k] for k in cells) for j in cells),
        )

    # --- the largest value

    def best(self, hardly: int) -> tuple[tuple[int, ...], bool]:
        """Counts with a large value, and whether no others have a larger one.

        Numbers up to `hardly` say that a hard rule is violated.
        """
        kept = self.undominated(hardly)
        found, proven = self.restricted(kept)._best()
        counts = [0] * len(self.classes)
        for k, number in zip(kept, found, strict=True):
            counts[k] = number
        return tuple(counts), proven

    def _best(self) -> tuple[tuple[int, ...], bool]:
        free = [cls for cls in range(len(self.sizes)) if len(self.cells(cls)) > 1]
        if len(free) <= 1 and all(len(self.cells(cls)) == 2 for cls in free):
            start = tuple(
                self.sizes[cls] if self.cells(cls)[0] == k else 0
                for k, cls in enumerate(self.classes)
            )
            return (self._along(start, *self.cells(free[0])) if free else start), True
        ways = math.prod(
            math.comb(size + len(self.cells(cls)) - 1, size) for cls, size in enumerate(self.sizes)
        )
        if ways <= MOST_COUNTS:
            every = [_spread(size, len(self.cells(c))) for c, size in enumerate(self.sizes)]
            order = [k for cls in range(len(self.sizes)) for k in self.cells(cls)]
            place = sorted(range(len(order)), key=order.__getitem__)
            rows = (tuple(n for own in choice for n in own) for choice in product(*every))
            return max((tuple(row[k] for k in place) for row in rows), key=self.value), True
        return max(map(self._climbed, self._starts()), key=self.value), False

    def _starts(self) -> Iterator[tuple[int, ...]]:
        """All objects of a class in one cell; and the same number in each of some cells."""
        choices = [_subsets(self.cells(cls), size) for cls, size in enumerate(self.sizes)]
        seen: dict[tuple[int, ...], None] = {}
        for number, chosen in enumerate(product(*choices)):
            if number >= MOST_CLIMBS:
                break
            counts = [0] * len(self.classes)
            for cls, own in enumerate(chosen):
                size = self.sizes[cls]
                for place, k in enumerate(own):
                    counts[k] = size * (place + 1) // len(own) - size * place // len(own)
            seen[tuple(counts)] = None
        yield from seen

    def _climbed(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Counts from which moving objects from a cell to another one never leads up."""
        here = self.value(counts)
        moved = True
        while moved:
            checkpoint()
            moved = False
            for a, b in permutations(range(len(counts)), 2):
                if self.classes[a] == self.classes[b] and counts[a]:
                    there = self._along(counts, a, b)
                    if (value := self.value(there)) > here:
                        counts, here, moved = there, value, True
        return counts

    def _along(self, counts: tuple[int, ...], a: int, b: int) -> tuple[int, ...]:
        """The best counts after moving objects from one cell to another."""

        def moved(steps: int) -> tuple[int, ...]:
            new = list(counts)
            new[a] -= steps
            new[b] += steps
            return tuple(new)

        found = peaks(lambda steps: self.value(moved(steps)), counts[a], 2)
        return moved(max(found, key=lambda steps: (self.value(moved(steps)), -steps)))

    # --- a bound

    def bound(self, hardly: int) -> Fraction | None:
        """What no counts exceed that violate no hard rule; `None` if there are too many faces.

        A pair of cells that costs a violation is never there; so no two objects are in a cell that
        goes badly with itself. Such cells have one object or none.
        """
        return self.restricted(self.undominated(hardly))._bound(hardly)

    def _bound(self, hardly: int) -> Fraction | None:
        cells = range(len(self.classes))
        lonely = [k for k in cells if self.pair[k][k] <= hardly]
        many = [[k for k in self.cells(c) if k not in lonely] for c in range(len(self.sizes))]
        faces = (_subsets(own, size) for own, size in zip(many, self.sizes, strict=True))
        if 2 ** len(lonely) * math.prod(map(len, faces)) > MOST_FACES:
            return None
        best = None
        for chosen in product((0, 1), repeat=len(lonely)):
            alone = [k for k, there in zip(lonely, chosen, strict=True) if there]
            left = list(self.sizes)
            for k in alone:
                left[self.classes[k]] -= 1
            if min(left, default=0) < 0:
                continue
            given = Fraction(self.value([int(k in alone) for k in cells]))
            for face in product(*map(_subsets, many, left)):
                own = [k for part in face for k in part]
                value = self._stationary(own, alone, left, hardly)
                if value is not None and (best is None or given + value > best):
                    best = given + value
        return best

    def _stationary(
        self, cells: Sequence[int], alone: Sequence[int], left: Sequence[int], hardly: int
    ) -> Fraction | None:
        """The value at the one point inside a face where it is stationary, if there is one."""
        checkpoint()
        classes = [cls for cls, size in enumerate(left) if size]
        if {self.classes[k] for k in cells} != set(classes):
            return None
        if any(self.pair[j][k] <= hardly for j in cells for k in (*cells, *alone)):
            return None
        linear = [
            Fraction(self.linear[k])
            + sum(self.pair[k][j] for j in alone)
            - Fraction(self.pair[k][k], 2)
            for k in cells
        ]
        rows = [
            [Fraction(self.pair[j][k]) for k in cells]
            + [Fraction(-(self.classes[j] == cls)) for cls in classes]
            + [-own]
            for j, own in zip(cells, linear, strict=True)
        ]
        rows += [
            [Fraction(self.classes[k] == cls) for k in cells]
            + [Fraction(0)] * len(classes)
            + [Fraction(left[cls])]
            for cls in classes
        ]
        point = _solved(rows)
        if point is None or min(point[: len(cells)], default=0) < 0:
            return None
        counts = point[: len(cells)]
        total = sum((a * n for a, n in zip(linear, counts, strict=True)), Fraction(0))
        for j, n in zip(cells, counts, strict=True):
            row = self.pair[j]
            total += n * sum(row[k] * m for k, m in zip(cells, counts, strict=True)) / 2
        return total


def _subsets(cells: Sequence[int], most: int) -> list[tuple[int, ...]]:
    """The cells that up to so many objects can be in, by their number; none only for no object.

    >>> _subsets((3, 5), 1), _subsets((3, 5), 9), _subsets((3, 5), 0)
    ([(3,), (5,)], [(3,), (5,), (3, 5)], [()])
    """
    sizes = range(1, min(len(cells), most) + 1)
    return [own for size in sizes for own in combinations(cells, size)] or [()]


def _spread(total: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to write a number as a sum of so many.

    >>> _spread(2, 2)
    [(0, 2), (1, 1), (2, 0)]
    """
    if not parts:
        return [()]
    if parts == 1:
        return [(total,)]
    return [(k, *rest) for k in range(total + 1) for rest in _spread(total - k, parts - 1)]


def _solved(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """The one solution of linear equations, whose last column is the right side, or `None`."""
    size = len(rows)
    for column in range(size):
        pivot = next((k for k in range(column, size) if rows[k][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        own = rows[column]
        scale = 1 / own[column]
        rows[column] = own = [scale * x for x in own]
        for k in range(size):
            if k != column and rows[k][column]:
                times = rows[k][column]
                rows[k] = [x - times * y for x, y in zip(rows[k], own, strict=True)]
    return [row[-1] for row in rows]
