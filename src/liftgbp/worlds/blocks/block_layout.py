"""Rows of objects, and in how many ways objects can be placed in them.

A *row* has some blocks, each of objects of one class, and one object of each block for every index
0, 1, ..., m-1. Couples are a row of two blocks; objects that are all alike are a row of one block.
Atoms know the blocks of their objects and, inside a row, how indices compare: which are equal, and
in an ordered row also which come first. So there are finitely many *patterns* of atoms, whatever
the sizes are, and the number of ground atoms of a pattern is a polynomial in the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import ObjAtom, pattern_of
from liftgbp.support.limits import checkpoint

Place: TypeAlias = tuple[int, int]
"""A block and a rank: the place of an index among those of its row that are in use."""

Pattern: TypeAlias = tuple[int, tuple[Place, ...]]
"""An atom up to renaming indices: (predicate number, places of its arguments)."""


@dataclass(frozen=True, slots=True)
class Row:
    """Blocks with one object for each index; `classes` are those of their objects."""

    classes: tuple[int, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Ways:
    """How often a placement occurs in one row.

    pins     the indices of objects that are there already
    new      how many indices are chosen beside these: in an unordered row one number; in an ordered
             one a number for each stretch between pins
    left     what is said about indices that remain: in an unordered row how many there are; in an
             ordered one how many lie in each gap between those in use. A number of `most` stands
             for itself and all larger ones. Nothing is said if it is empty.
    """

    row: int
    ordered: bool
    pins: tuple[int, ...]
    new: tuple[int, ...]
    left: tuple[int, ...] = ()
    most: int = 0

    def number(self, size: int) -> int:
        """The number of ways in a row of this size."""
        if not self.ordered:
            free = size - len(self.pins)
            chosen = self.new[0]
            if free < chosen or (self.left and not self._fits(free - chosen, self.left[0])):
                return 0
            return falling(free, chosen)
        ends = (-1, *self.pins, size)
        total, gap = 1, 0
        for k, chosen in enumerate(self.new):
            length = ends[k + 1] - ends[k] - 1
            if self.left:
                total *= self._spread(length - chosen, self.left[gap : gap + chosen + 1])
                gap += chosen + 1
            else:
                total *= math.comb(length, chosen) if length >= 0 else 0
        return total

    def _fits(self, rest: int, left: int) -> bool:
        return rest == left or (left == self.most and rest > left)

    def _spread(self, rest: int, gaps: Sequence[int]) -> int:
        """In how many ways indices that are not chosen fall into gaps."""
        rest -= sum(gaps)
        free = sum(gap == self.most for gap in gaps)
        if rest < 0 or not free:
            return int(rest == 0)
        return math.comb(rest + free - 1, free - 1)


Spec: TypeAlias = tuple[Ways, ...]
"""How often a placement occurs: the product over rows."""


def number_of_ways(spec: Spec, sizes: Sequence[int]) -> int:
    """How often a placement occurs in rows of these sizes."""
    return math.prod(ways.number(sizes[ways.row]) for ways in spec)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where some objects are.

    places  those of the objects, in their order; different objects may be one
    others  beside them, one object of each kind that quantifiers tell apart
    spec    how often that occurs
    """

    places: tuple[Place, ...]
    others: tuple[Place, ...]
    spec: Spec


@dataclass(frozen=True)
class Layout:
    """The rows of a world; blocks are numbered row by row."""

    rows: tuple[Row, ...]

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """The row and the class of each block."""
        return tuple((k, cls) for k, row in enumerate(self.rows) for cls in row.classes)

    @cached_property
    def of_class(self) -> dict[int, tuple[int, ...]]:
        """The blocks of each class."""
        found: dict[int, list[int]] = {}
        for block, (_, cls) in enumerate(self.blocks):
            found.setdefault(cls, []).append(block)
        return {cls: tuple(own) for cls, own in found.items()}

    @cached_property
    def of_row(self) -> tuple[tuple[int, ...], ...]:
        """The blocks of each row."""
        rows: list[list[int]] = [[] for _ in self.rows]
        for block, (row, _) in enumerate(self.blocks):
            rows[row].append(block)
        return tuple(map(tuple, rows))

    def pattern(self, predicate: int, places: Sequence[Place]) -> Pattern:
        """The pattern of an atom: in ordered rows ranks count from zero, in others appearances.

        >>> couples = Layout((Row((0, 0)), Row((0,), ordered=True)))
        >>> couples.pattern(5, [(0, 7), (1, 4), (0, 7), (2, 9), (2, 3)])
        (5, ((0, 0), (1, 1), (0, 0), (2, 1), (2, 0)))
        """
        used: dict[int, dict[int, int]] = {}
        for block, index in places:
            own = used.setdefault(self.blocks[block][0], {})
            own.setdefault(index, len(own))
        for row, own in used.items():
            if self.rows[row].ordered and len(own) > 1:
                used[row] = {index: k for k, index in enumerate(sorted(own))}
        return predicate, tuple((b, used[self.blocks[b][0]][index]) for b, index in places)

    def objects(self, pattern: Pattern) -> ObjAtom:
        """The atom over objects of classes that a pattern stands for."""
        predicate, places = pattern
        number = {place: k for k, place in enumerate(dict.fromkeys(places))}
        return pattern_of((predicate, tuple((self.blocks[p[0]][1], number[p]) for p in places)))

    def number(self, pattern: Pattern, sizes: Sequence[int]) -> int:
        """How many ground atoms have a pattern."""
        used: dict[int, set[int]] = {}
        for block, rank in pattern[1]:
            used.setdefault(self.blocks[block][0], set()).add(rank)
        return math.prod(
            math.comb(sizes[row], len(own))
            if self.rows[row].ordered
            else falling(sizes[row], len(own))
            for row, own in used.items()
        )

    def patterns(
        self, predicate: int, classes: Sequence[Sequence[int]], room: Mapping[int, int]
    ) -> Iterator[Pattern]:
        """The patterns of a predicate's atoms, by the classes of each argument."""
        found = (self.pattern(predicate, own.places) for own in self.placements(classes, room=room))
        return iter(dict.fromkeys(found))

    def class_sizes(self, sizes: Sequence[int]) -> dict[int, int]:
        """The number of objects of each class."""
        total: dict[int, int] = {}
        for row, cls in self.blocks:
            total[cls] = total.get(cls, 0) + sizes[row]
        return total

    # --- placements

    def placements(
        self,
        classes: Sequence[Sequence[int]],
        *,
        room: Mapping[int, int],
        pins: Sequence[tuple[int, int]] = (),
        different: bool = False,
        depth: int = 0,
        asked: Sequence[int] = (),
    ) -> Iterator[Placement]:
        """All ways to place objects, each of one of its classes, beside pinned ones.

        Without `different`, objects may coincide, with each other and with pinned ones, which are
        given by block and index and come first among the places. `room` is the most indices of
        each row. With a `depth`, placements also say which further objects there are of the
        `asked` classes, as far as so many quantifiers, one inside the other, can tell.
        """
        choices = [[b for cls in own for b in self.of_class.get(cls, ())] for own in classes]
        pinned: dict[int, set[int]] = {}
        for block, index in pins:
            pinned.setdefault(self.blocks[block][0], set()).add(index)
        rows = {row: tuple(sorted(own)) for row, own in pinned.items()}
        placer = _Placer(self, rows, room, different, depth, frozenset(asked))
        for blocks in product(*choices):
            checkpoint()
            yield from placer.fill(blocks, tuple(pins), rows)


class _Mark:
    """An index that is not pinned; different marks are different indices."""


Index: TypeAlias = "int | _Mark"
"""A pinned index, or some other one."""

Used: TypeAlias = tuple[Index, ...]
"""The indices of a row that are in use: in their order, or in that of their appearance."""


class _Placer:
    """Places objects one after the other."""

    def __init__(
        self,
        layout: Layout,
        pins: Mapping[int, tuple[int, ...]],
        room: Mapping[int, int],
        different: bool,
        depth: int,
        asked: frozenset[int],
    ) -> None:
        self._layout, self._pins, self._room = layout, pins, room
        self._different, self._depth, self._asked = different, depth, asked

    def fill(
        self,
        blocks: Sequence[int],
        done: tuple[tuple[int, Index], ...],
        rows: Mapping[int, Used],
    ) -> Iterator[Placement]:
        """All ways to place one more object in each of some blocks."""
        if not blocks:
            yield from self._counted(done, rows)
            return
        block, rest = blocks[0], blocks[1:]
        row = self._layout.blocks[block][0]
        used = rows.get(row, ())
        for index in used:
            if not self._different or (block, index) not in done:
                yield from self.fill(rest, (*done, (block, index)), rows)
        if len(used) < self._room[row]:
            mark = _Mark()
            ordered = self._layout.rows[row].ordered
            for k in range(len(used) + 1) if ordered else (len(used),):
                more = {**rows, row: (*used[:k], mark, *used[k:])}
                yield from self.fill(rest, (*done, (block, mark)), more)

    def _counted(
        self, done: Sequence[tuple[int, Index]], rows: Mapping[int, Used]
    ) -> Iterator[Placement]:
        layout = self._layout
        seen = [
            row
            for row, own in enumerate(layout.rows)
            if self._depth and not self._asked.isdisjoint(own.classes)
        ]
        specs = [self._ways(row, rows.get(row, ())) for row in dict.fromkeys([*rows, *seen])]
        for choice in product(*specs):
            whole = {ways.row: extended for ways, extended in choice}
            rank = {(row, i): k for row, own in whole.items() for k, i in enumerate(own)}
            places = tuple((b, rank[layout.blocks[b][0], index]) for b, index in done)
            others = tuple(
                place
                for row in seen
                for block in layout.of_row[row]
                if layout.blocks[block][1] in self._asked
                for index in whole[row]
                if (place := (block, rank[row, index])) not in places
            )
            spec = tuple(ways for ways, _ in choice if any(ways.new) or ways.left)
            yield Placement(places, others, spec)

    def _ways(self, row: int, used: Used) -> list[tuple[Ways, Used]]:
        """The numbers of ways, and the indices in use with those that quantifiers see beside."""
        own = self._layout.rows[row]
        pins = self._pins.get(row, ())
        new = self._new(own.ordered, pins, used)
        if not self._depth or self._asked.isdisjoint(own.classes):
            return [(Ways(row, own.ordered, pins, new), used)]
        # So many elements of a linear order, or of a set, cannot be told from more of them.
        most = 2**self._depth - 1 if own.ordered else self._depth
        gaps = len(used) + 1 if own.ordered else 1
        found = []
        for left in product(range(most + 1), repeat=gaps):
            if sum(left) + len(used) > self._room[row]:
                continue
            ways = Ways(row, own.ordered, pins, new, left, most)
            extended: list[Index] = []
            for k, index in enumerate(used):
                if own.ordered:
                    extended += [_Mark() for _ in range(left[k])]
                extended.append(index)
            extended += [_Mark() for _ in range(left[-1])]
            found.append((ways, tuple(extended)))
        return found

    @staticmethod
    def _new(ordered: bool, pins: tuple[int, ...], used: Used) -> tuple[int, ...]:
        if not ordered:
            return (len(used) - len(pins),)
        counts = [0]
        for index in used:
            if index in pins:
                counts.append(0)
            else:
                counts[-1] += 1
        return tuple(counts)
