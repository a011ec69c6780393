"""How many worlds differ from a world of blocks in the names of its objects only.

Objects of a class can be exchanged, so all renamings of a world score the same. Of N! renamings
(for each class), those are different worlds that are not taken into each other by one that changes
nothing: an automorphism. So a lower bound of their number is an upper bound of the automorphisms.
These are counted along a chain: in how many ways one can move the objects of groups and orders, and
how many are left that move none of these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.blocks.block_layout import Place
from liftgbp.worlds.blocks.block_world import BlockWorld

MOST_ATOMS = 5_000
"""Blocks are compared by at most so many kinds of atoms of a predicate; beyond, all blocks of a
class count as alike, which is safe."""

ROUNDING = 1e-12
"""What rounding does to the log of a factorial, in proportion; generously."""


@dataclass(frozen=True, slots=True)
class LogNumber:
    """The log of a product of factorials, and how much of it rounding may be."""

    log: float = 0.0
    size: float = 0.0

    def times(self, log: float) -> LogNumber:
        """The product with a number, given by its log."""
        return LogNumber(self.log + log, self.size + abs(log))

    @property
    def least(self) -> Fraction:
        """What the log is at least, whatever rounding did; no less than zero, as for any number."""
        return max(Fraction(self.log) - Fraction(ROUNDING) * Fraction(self.size), Fraction(0))


def log_renamings(world: BlockWorld, told: Collection[ObjAtom] | None = None) -> Fraction:
    """The log of the number of different renamings of a world, at least.

    Only atoms of the patterns that are `told` make worlds different; all do if nothing is said.

    >>> from liftgbp.evidence import Problem
    >>> from liftgbp.lift.shatter import shatter
    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.worlds.blocks import Layout, Row
    >>> normal = shatter(parse("r(t,t)\\n1 r(x,y) | x != y"), {"t": 5})
    >>> order = Layout((Row((0,), ordered=True),))
    >>> below = {(0, ((0, 0), (0, 1))): 1}
    >>> found = log_renamings(BlockWorld(normal, order, (5,), below))
    >>> round(math.exp(found), 6)  # 5!
    120.0
    """
    return _Renamings(world, told).number.least


class _Renamings:
    def __init__(self, world: BlockWorld, told: Collection[ObjAtom] | None) -> None:
        self._world, self._told = world, told
        self._layout, self._sizes = world.layout, world.sizes
        self._class = [cls for _, cls in self._layout.blocks]
        self._left = list(world.normal.class_sizes)

    @property
    def number(self) -> LogNumber:
        """The number of renamings, divided by the most automorphisms that there can be."""
        found = LogNumber()
        for size in self._left:
            found = found.times(_log_factorial(size))
        plain: list[int] = []
        for number, row in enumerate(self._layout.rows):
            blocks, size = self._layout.of_row[number], self._sizes[number]
            if not size:
                continue
            if size == 1 or (len(blocks) == 1 and not row.ordered):
                plain += blocks
            elif row.ordered:
                for block in blocks:
                    found = found.times(-self._placed(block, size, self._is_line(block)))
            else:
                found = found.times(-self._of_groups(blocks, size))
        for cls in dict.fromkeys(self._class[block] for block in plain):
            found = found.times(-self._of_sets([b for b in plain if self._class[b] == cls]))
        return found

    # --- automorphisms, by their logs

    def _placed(self, block: int, size: int, is_line: bool) -> float:
        """In how many ways the objects of a block can be moved to where no earlier ones went.

        Those of a line keep their order, so it is enough to know where they go all together.
        """
        left = self._left[self._class[block]]
        self._left[self._class[block]] -= size
        ways = _log_factorial(left) - _log_factorial(left - size)
        return ways - _log_factorial(size) if is_line else ways

    def _of_groups(self, blocks: Sequence[int], size: int) -> float:
        """In how many ways groups can be moved, if some of their blocks say where others go.

        An object that looks different to its group than to all others of a block stays in its group
        if that block stays. With two groups only, it might look to the other one as another object
        looks to this one.
        """
        bases: list[int] = []
        others: list[int] = []
        for block in blocks:
            told = size > 2 and any(self._tells(base, block) for base in bases)
            (others if told else bases).append(block)
        ways = sum(self._placed(block, size, is_line=False) for block in bases)
        exchanged = Counter(self._class[block] for block in others)
        return ways + size * sum(map(_log_factorial, exchanged.values()))

    def _of_sets(self, blocks: Sequence[int]) -> float:
        """In how many ways objects of one class move that are alike inside each of their blocks."""
        alike = [[block] for block in blocks]
        if self._kinds_of_atoms() > MOST_ATOMS:
            alike = [list(blocks)]
        for one, other in combinations(blocks, 2):
            mine = next(own for own in alike if one in own)
            if other not in mine and self._can_be_exchanged(one, other):
                theirs = next(own for own in alike if other in own)
                alike.remove(theirs)
                mine += theirs
        sizes = [sum(self._size(block) for block in own) for own in alike]
        inside = sum(map(_log_factorial, sizes))
        # Sets of one size may change places.
        return inside + sum(map(_log_factorial, Counter(sizes).values()))

    # --- what atoms say

    def _is_line(self, block: int) -> bool:
        """Whether some relation holds one way along the order of a block and not the other way."""

        def at(there: Sequence[int], turned: int) -> list[Place]:
            return [(block, k ^ turned) for k in there]

        return any(
            self._value(p, at(there, 0)) != self._value(p, at(there, 1))
            for p, there in self._pairs(block, block)
        )

    def _tells(self, base: int, block: int) -> bool:
        """Whether objects of a block look different to their group than to others of the base."""

        def at(there: Sequence[int], index: int) -> list[Place]:
            return [(block, index) if k else (base, 0) for k in there]

        return any(
            self._value(p, at(there, 0)) != self._value(p, at(there, 1))
            for p, there in self._pairs(base, block)
        )

    def _pairs(self, one: int, other: int) -> list[tuple[int, tuple[int, ...]]]:
        """The predicates that can be about objects of two blocks alone, with who stands where."""
        normal, found = self._world.normal, list[tuple[int, tuple[int, ...]]]()
        sorts = [normal.classes[self._class[block]].sort for block in (one, other)]
        for number, predicate in enumerate(normal.predicates):
            for there in product((0, 1), repeat=len(predicate.sorts)):
                if set(there) == {0, 1} and all(
                    sorts[k] == sort for k, sort in zip(there, predicate.sorts, strict=True)
                ):
                    found.append((number, there))
        return found

    def _can_be_exchanged(self, one: int, other: int) -> bool:
        """Whether an object of a block can be exchanged with one of another block."""
        swapped = {(one, 0): (other, 0), (other, 0): (one, 0)}
        for number, predicate in enumerate(self._world.normal.predicates):
            choices = [self._places(sort, len(predicate.sorts)) for sort in predicate.sorts]
            for places in product(*choices):
                checkpoint()
                moved = [swapped.get(place, place) for place in places]
                if moved != list(places) and self._value(number, places) != self._value(
                    number, moved
                ):
                    return False
        return True

    def _kinds_of_atoms(self) -> int:
        """How many combinations of places a comparison of two blocks looks at, at most."""
        return max(
            (
                math.prod(len(self._places(sort, len(own.sorts))) for sort in own.sorts)
                for own in self._world.normal.predicates
            ),
            default=0,
        )

    def _places(self, sort: str, most: int) -> list[Place]:
        """The places of a sort, with as many indices of each row as an atom has arguments."""
        normal = self._world.normal
        return [
            (block, index)
            for block, cls in enumerate(self._class)
            if normal.classes[cls].sort == sort
            for index in range(min(self._size(block), most))
        ]

    def _value(self, predicate: int, places: Sequence[Place]) -> int:
        if self._told is not None:
            objects = self._layout.objects(self._layout.pattern(predicate, places))
            if objects not in self._told:
                return 0
        return self._world.value_at(predicate, places)

    def _size(self, block: int) -> int:
        return self._sizes[self._layout.blocks[block][0]]


def _log_factorial(number: int) -> float:
    return math.lgamma(number + 1)
