"""Worlds in which atoms depend on the blocks of their objects, over classes of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import prod

from liftgbp.evidence import Problem
from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.lift.signature import objects_of
from liftgbp.model.ast import Rule
from liftgbp.support.errors import InternalError
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.blocks.block_layout import Layout, Pattern, Place, number_of_ways
from liftgbp.worlds.blocks.class_ranks import ClassRanks


@dataclass(frozen=True, eq=False)
class BlockWorld:
    """A world that is the same for all ground atoms of a pattern.

    normal  the classes and what is observed; its factors are not read
    layout  the rows of blocks
    sizes   the number of indices of each row
    values  of the patterns that do not have their first value; observed atoms have theirs

    The members of a class fill its blocks in the order of their numbers.
    """

    normal: NormalModel
    layout: Layout
    sizes: tuple[int, ...]
    values: Mapping[Pattern, int]

    def __post_init__(self) -> None:
        filled = self.layout.class_sizes(self.sizes)
        if any(filled.get(k, 0) != size for k, size in enumerate(self.normal.class_sizes)):
            raise InternalError(f"blocks of {filled} objects for {self.normal.class_sizes}")

    @property
    def problem(self) -> Problem:
        """What it is a world of."""
        return self.normal.problem

    # --- objects and places

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """The rank of the first object of each block inside its class."""
        starts = [0] * len(self.layout.blocks)
        for blocks in self.layout.of_class.values():
            own = [self.sizes[self.layout.blocks[b][0]] for b in blocks]
            for block, start in zip(blocks, accumulate([0, *own]), strict=False):
                starts[block] = start
        return tuple(starts)

    @cached_property
    def _ranks(self) -> dict[int, ClassRanks]:
        normal = self.normal
        return {
            k: ClassRanks(normal.class_index[c.sort], k, normal.sizes[c.sort])
            for k, c in enumerate(normal.classes)
        }

    def place(self, sort: str, number: int) -> tuple[int, int]:
        """The block of an object and its index there."""
        cls = self.normal.class_index[sort].of(number)
        rank = self._ranks[cls].of(number)
        block = max(
            b for b in self.layout.of_class[cls] if self._starts[b] <= rank and self._size(b)
        )
        return block, rank - self._starts[block]

    def object(self, block: int, index: int) -> int:
        """The number inside its sort of an object of a block."""
        return self._ranks[self.layout.blocks[block][1]].member(self._starts[block] + index)

    def examples(self, sort: str, most: int) -> list[int]:
        """Some objects of a sort, of all blocks, for pictures."""
        blocks = [
            block
            for block, (_, cls) in enumerate(self.layout.blocks)
            if self.normal.classes[cls].sort == sort and self._size(block)
        ]
        left, found = most, list[int]()
        for place, block in enumerate(sorted(blocks, key=self._size)):
            share = min(self._size(block), left // (len(blocks) - place))
            left -= share
            found += [self.object(block, index) for index in range(share)]
        return sorted(found)

    def _size(self, block: int) -> int:
        return self.sizes[self.layout.blocks[block][0]]

    # --- values

    def value(self, predicate: str, objects: Sequence[int]) -> int:
        """The value of a ground atom, by number; 0 is false, or the first value."""
        sorts = self.problem.model.predicates[predicate].sorts
        places = [self.place(sort, k) for sort, k in zip(sorts, objects, strict=True)]
        return self.value_at(self.normal.predicate_number[predicate], places)

    def value_at(self, predicate: int, places: Sequence[Place]) -> int:
        """The value of an atom over places, or over blocks and indices."""
        pattern = self.layout.pattern(predicate, places)
        observed = self.normal.observations.value(self.layout.objects(pattern))
        return self.values.get(pattern, 0) if observed is None else observed

    @cached_property
    def _unobserved(self) -> dict[Pattern, int]:
        """The patterns with values that evidence leaves open."""
        value = self.normal.observations.value
        left = (own for own in self.values if value(self.layout.objects(own)) is None)
        return {own: self.values[own] for own in left if self.values[own]}

    def number(self, predicate: str) -> int:
        """How many atoms of a predicate do not have their first value.

        Observed ones are counted with the others.
        """
        number = self.normal.predicate_number[predicate]
        found = sum(
            self.layout.number(own, self.sizes) for own in self._unobserved if own[0] == number
        )
        return found + sum(
            self._ground_atoms(own)
            for own, value in self.normal.observations.values.items()
            if own[0] == number and value
        )

    @property
    def true_atoms(self) -> int:
        """How many atoms that evidence leaves open do not have their first value."""
        return sum(self.layout.number(own, self.sizes) for own in self._unobserved)

    def _ground_atoms(self, atom: ObjAtom) -> int:
        """How many ground atoms have a pattern over classes."""
        used: dict[int, int] = {}
        for cls, _ in set(atom[1]):
            used[cls] = used.get(cls, 0) + 1
        return prod(falling(self.normal.class_sizes[cls], n) for cls, n in used.items())

    def atoms(self, predicate: str) -> Iterator[tuple[tuple[int, ...], int]]:
        """The ground atoms that do not have their first value, with their values; lazily."""
        number = self.normal.predicate_number[predicate]
        for (own, args), value in self.normal.observations.values.items():
            if own == number and value:
                yield from ((objects, value) for objects in self._of_classes(args))
        for pattern, value in self._unobserved.items():
            if pattern[0] == number:
                yield from ((objects, value) for objects in self._of_blocks(pattern))

    def _of_classes(self, args: Sequence[Obj]) -> Iterator[tuple[int, ...]]:
        """The objects of each ground atom with a pattern over classes."""
        objects = list(dict.fromkeys(args))
        sizes = [self.normal.class_sizes[cls] for cls, _ in objects]
        alike = [[j for j in range(k) if objects[j][0] == own[0]] for k, own in enumerate(objects)]
        for chosen in _choices(sizes, alike, ordered=[False] * len(objects)):
            where = dict(zip(objects, chosen, strict=True))
            yield tuple(self._ranks[obj[0]].member(where[obj]) for obj in args)

    def _of_blocks(self, pattern: Pattern) -> Iterator[tuple[int, ...]]:
        """The objects of each ground atom with a pattern over blocks."""
        layout = self.layout
        used = sorted({(layout.blocks[b][0], rank) for b, rank in pattern[1]})
        alike = [[j for j in range(k) if used[j][0] == own[0]] for k, own in enumerate(used)]
        ordered = [layout.rows[row].ordered for row, _ in used]
        for chosen in _choices([self.sizes[row] for row, _ in used], alike, ordered):
            index = dict(zip(used, chosen, strict=True))
            yield tuple(self.object(b, index[layout.blocks[b][0], rank]) for b, rank in pattern[1])

    # --- counts

    def tally(self, rule: Rule) -> tuple[int, ...]:
        """The groundings of a rule by their state; see `block_tally`."""
        from liftgbp.worlds.blocks.block_tally import tally  # it takes worlds

        return tally(self, rule)

    @property
    def room(self) -> dict[int, int]:
        """The sizes of rows, as placements ask for them."""
        return dict(enumerate(self.sizes))


def _choices(
    sizes: Sequence[int], alike: Sequence[Sequence[int]], ordered: Sequence[bool]
) -> Iterator[tuple[int, ...]]:
    """Numbers below sizes, each different from some earlier ones, or above them where ordered."""

    def fill(done: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        k = len(done)
        if k == len(sizes):
            yield done
            return
        taken = [done[j] for j in alike[k]]
        number = max(taken) + 1 if ordered[k] and taken else 0
        while number < sizes[k]:
            checkpoint()
            if number not in taken:
                yield from fill((*done, number))
            number += 1

    return fill(())


def beliefs(world: BlockWorld, atoms: Sequence[ObjAtom]) -> dict[tuple[int, ...], Fraction]:
    """How often some atoms over placeholders have which values, over all ways to place objects.

    Different placeholders are different objects. Values that never occur are left out; nothing
    is said if the classes have too few objects.
    """
    objects = list(objects_of(atoms))
    found: dict[tuple[int, ...], int] = {}
    classes = [[cls] for cls, _ in objects]
    for placement in world.layout.placements(classes, room=world.room, different=True):
        number = number_of_ways(placement.spec, world.sizes)
        if number:
            where = dict(zip(objects, placement.places, strict=True))
            state = tuple(world.value_at(p, [where[obj] for obj in args]) for p, args in atoms)
            found[state] = found.get(state, 0) + number
    total = sum(found.values())
    return {state: Fraction(number, total) for state, number in found.items()}
