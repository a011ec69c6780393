"""What equivalences and orders are: blocks of objects, side by side or one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeAlias

SAME, BEFORE, AFTER = range(3)
"""How the block of an object lies to that of another one."""

Values: TypeAlias = tuple[int, int]
"""Whether a relation leads from one object to another, and back."""


@dataclass(frozen=True, slots=True)
class Structure:
    """A kind of relation that says in which blocks objects are.

    `of` has its values where two objects are in one block, and where that of the first one comes
    before or after that of the other. Blocks that are not `ordered` lie apart: before and after
    are the same.
    """

    name: str
    of: tuple[Values, Values, Values]
    ordered: bool

    @property
    def values(self) -> frozenset[Values]:
        """The values it may have between two objects."""
        return frozenset(self.of)

    def arranged(self, blocks: Sequence[int]) -> tuple[Values, ...]:
        """The values between each two of some objects, which are in these blocks.

        >>> ORDER.arranged((0, 0, 1))
        ((1, 1), (1, 0), (1, 0))
        """
        return tuple(self.of[relation(*two)] for two in combinations(blocks, 2))


EQUIVALENCE = Structure("equivalence", ((1, 1), (0, 0), (0, 0)), ordered=False)
DIFFERENCE = Structure("difference", ((0, 0), (1, 1), (1, 1)), ordered=False)
ORDER = Structure("order", ((1, 1), (1, 0), (0, 1)), ordered=True)
STRICT_ORDER = Structure("strict order", ((0, 0), (1, 0), (0, 1)), ordered=True)
STRUCTURES = (EQUIVALENCE, DIFFERENCE, STRICT_ORDER, ORDER)
"""In orders, objects of one block are ties. A linear order is one where nothing ties."""


def relation(one: int, other: int) -> int:
    """How two numbered blocks lie to each other.

    >>> relation(3, 3) == SAME, relation(0, 1) == BEFORE
    (True, True)
    """
    return SAME if one == other else BEFORE if one < other else AFTER


def reverse(relation: int) -> int:
    """How the block of the other object lies to that of the first one."""
    return {SAME: SAME, BEFORE: AFTER, AFTER: BEFORE}[relation]


def arrangements(objects: int, *, ordered: bool) -> Iterator[tuple[int, ...]]:
    """All ways to put some objects into blocks: the number of the block of each.

    >>> list(arrangements(2, ordered=False)), list(arrangements(2, ordered=True))
    ([(0, 0), (0, 1)], [(0, 0), (0, 1), (1, 0)])
    >>> [len(list(arrangements(3, ordered=own))) for own in (False, True)]
    [5, 13]
    """
    for blocks in product(range(objects), repeat=objects):
        # Without an order, blocks are numbered as they appear.
        numbers = list(dict.fromkeys(blocks))
        if (sorted(numbers) if ordered else numbers) == list(range(len(numbers))):
            yield blocks
