"""How many objects are in which rows: climbing on polynomials in whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from math import gcd

from liftgbp.support.limits import checkpoint
from liftgbp.worlds.blocks.block_layout import Layout

Move = tuple[tuple[int, int], ...]
"""What a step adds to the size of each of some rows."""


def moves_of(layout: Layout) -> list[Move]:
    """Steps that keep the number of objects of each class."""
    found: list[Move] = []
    rows = layout.rows
    alone = {k: row.classes[0] for k, row in enumerate(rows) if len(set(row.classes)) == 1}
    for a, b in permutations(alone, 2):
        if alone[a] == alone[b]:
            one, other = len(rows[a].classes), len(rows[b].classes)
            shared = gcd(one, other)
            found.append(((a, -other // shared), (b, one // shared)))
    for k, row in enumerate(rows):
        if k in alone:
            continue
        # A row over several classes gives its objects to rows of one block each.
        homes = [
            [j for j, cls in alone.items() if cls == own and len(rows[j].classes) == 1]
            for own in set(row.classes)
        ]
        times = [row.classes.count(own) for own in set(row.classes)]
        for targets in product(*homes):
            there = tuple((j, n) for j, n in zip(targets, times, strict=True))
            found += [((k, -1), *there), ((k, 1), *((j, -n) for j, n in there))]
    return found


def climbed(
    worth: Callable[[Sequence[int]], int], sizes: Sequence[int], moves: Sequence[Move], degree: int
) -> tuple[tuple[int, ...], int]:
    """Sizes from which no move leads up, however far it goes; and what they are worth.

    `worth` is a polynomial of some degree along each move.
    """
    here, best = list(sizes), worth(sizes)
    moved = True
    while moved:
        moved = False
        for move in moves:
            checkpoint()
            most = min(here[row] // -change for row, change in move if change < 0)
            if not most:
                continue
            known: dict[int, int] = {0: best}

            def along(steps: int, move: Move = move, known: dict[int, int] = known) -> int:
                if steps not in known:
                    there = list(here)
                    for row, change in move:
                        there[row] += steps * change
                    known[steps] = worth(there)
                return known[steps]

            steps = max(peaks(along, most, degree), key=lambda own: (along(own), -own))
            if along(steps) > best:
                best, moved = along(steps), True
                for row, change in move:
                    here[row] += steps * change
    return tuple(here), best


def peaks(function: Callable[[int], int], most: int, degree: int) -> list[int]:
    """Whole numbers from 0 to `most` among which a polynomial is largest.

    >>> peaks(lambda t: t * (10**18 - t), 10**18, 2)
    [0, 500000000000000000, 500000000000000001, 1000000000000000000]
    """
    if most <= degree + 1:
        return list(range(most + 1))
    row = [function(t) for t in range(degree + 1)]
    differences = []
    while row:
        differences.append(row[0])
        row = [b - a for a, b in zip(row, row[1:], strict=False)]
    found = {0, most}
    for turn in _turns(differences, 0, most):
        found |= {turn, min(turn + 1, most)}
    return sorted(found)


def _turns(differences: Sequence[int], low: int, high: int) -> Iterator[int]:
    """Where a polynomial stops to rise or to fall, given its differences at zero, ascending."""
    slope = differences[1:]
    if not any(slope[1:]):
        return
    ends = [low, *_turns(slope, low, high), high]
    for start, stop in zip(ends, ends[1:], strict=False):
        # Between two of its own turns, the slope has at most one zero.
        rising = _newton(slope, start) > 0
        if start >= stop or rising == (_newton(slope, stop) > 0):
            continue
        first, last = start, stop
        while last - first > 1:
            middle = (first + last) // 2
            if (_newton(slope, middle) > 0) == rising:
                first = middle
            else:
                last = middle
        yield last


def _newton(differences: Sequence[int], t: int) -> int:
    """A polynomial by its differences at zero."""
    total, ways = 0, 1
    for k, own in enumerate(differences):
        total += own * ways
        ways = ways * (t - k) // (k + 1)
    return total
