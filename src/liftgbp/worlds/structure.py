"""What a world looks like: rows of objects that are alike, and which atoms are true of them.

A world of blocks has its structure already. That of a small world written out atom by atom is
looked for: objects are alike if exchanging them changes nothing. What is guessed beyond that,
groups and orders, is checked against every atom.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from liftgbp.model.ast import Predicate
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.blocks import BlockWorld, Layout, Row
from liftgbp.worlds.blocks.block_layout import Pattern, Place
from liftgbp.worlds.optimum import World

MOST_KINDS = 20_000
"""The most kinds of ground atoms of one predicate; with more, a structure is no help to anybody."""

MOST_WRITTEN = 20_000
"""The most ground atoms of a world that is searched for structure: some tenths of a second."""

MANY_GROUPS = 4
"""Up to so many groups with atoms across them are rather parts of the whole, each with a name."""

MOST_MEMBERS = 48
"""So many objects of each block are listed."""


@dataclass(frozen=True, slots=True)
class AtomKind:
    """Ground atoms that are alike: their places (block and rank), value and number."""

    predicate: str
    places: tuple[Place, ...]
    value: int
    number: int


@dataclass(frozen=True, eq=False, slots=True)
class Structure:
    """Rows of blocks, as `blocks.Layout` explains them, and the value of each kind of atom.

    sizes    the number of indices of each row; none is zero
    sorts    of the objects of each block
    members  the first objects of each block, by their index
    kinds    the kinds of ground atoms of all predicates that evidence does not close
    """

    layout: Layout
    sizes: tuple[int, ...]
    sorts: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    kinds: tuple[AtomKind, ...]

    def examples(self, sort: str, most: int) -> list[int]:
        """Some objects of a sort, of all rows, in which groups are whole and next to each other."""
        rows = [
            (row, blocks)
            for row, blocks in enumerate(self.layout.of_row)
            if any(self.sorts[block] == sort for block in blocks)
        ]
        shares, left = dict[int, int](), most
        waiting = sum(len(blocks) for _, blocks in rows)
        for row, blocks in sorted(rows, key=lambda own: self.sizes[own[0]]):
            shares[row] = min(self.sizes[row], max(left // waiting, 1), MOST_MEMBERS)
            left, waiting = left - shares[row] * len(blocks), waiting - len(blocks)
        found = list[int]()
        for row, blocks in rows:
            own = [self.members[b][: shares[row]] for b in blocks if self.sorts[b] == sort]
            groups = zip(*own, strict=True) if self.is_uniform(row) else own
            found += [number for group in groups for number in group]
        return found

    def is_uniform(self, row: int) -> bool:
        """Whether the blocks of a row need not be told apart: an object is like its whole group."""
        return self._agree(row, lambda rank: rank)

    def is_plain(self, row: int) -> bool:
        """Whether indices need not be told apart either: all objects of a row are alike."""
        return not self.layout.rows[row].ordered and self._agree(row, lambda _rank: 0)

    def _agree(self, row: int, seen: Callable[[int], int]) -> bool:
        """Whether kinds have one value if of a row only indices are told apart, as far as seen."""
        blocks = self.layout.of_row[row]
        found: dict[object, int] = {}
        for kind in self.kinds:
            # Numbers of objects only say which of them are the same.
            numbers: dict[Place, int] = {}
            places = tuple(
                (blocks[0], seen(rank), numbers.setdefault((block, rank), len(numbers)))
                if block in blocks
                else (block, rank, 0)
                for block, rank in kind.places
            )
            if found.setdefault((kind.predicate, places), kind.value) != kind.value:
                return False
        return True


def structure_of(world: World) -> Structure | None:
    """The structure of a world; none is known of large worlds that are written out.

    Where there are no objects, as in networks, there is no structure either.

    >>> from liftgbp.evidence import Problem
    >>> from liftgbp.model.parser import parse
    >>> from liftgbp.worlds import Budget
    >>> from liftgbp.worlds.ground import best_on_ground
    >>> model = parse("left(person)\\n1 left(x) ^ !left(y) | x != y")
    >>> best = best_on_ground(Problem.of(model, None, {"person": 6}), Budget())
    >>> structure = structure_of(best.world)
    >>> structure.sizes, [(kind.places, kind.value) for kind in structure.kinds]
    ((3, 3), [(((0, 0),), 0), (((1, 0),), 1)])
    """
    if not any(predicate.sorts for predicate in _open_predicates(world)):
        return None
    return _of_blocks(world) if isinstance(world, BlockWorld) else _of_atoms(world)


def _open_predicates(world: World) -> list[Predicate]:
    problem = world.problem
    return [
        predicate
        for name, predicate in problem.model.predicates.items()
        if predicate.kind == "relation" and name not in problem.evidence.closed
    ]


# --- worlds of blocks


def _of_blocks(world: BlockWorld) -> Structure | None:
    normal, layout = world.normal, world.layout
    kept = [row for row, size in enumerate(world.sizes) if size]
    number = {block: k for k, block in enumerate(b for row in kept for b in layout.of_row[row])}
    sorts = tuple(normal.classes[layout.blocks[block][1]].sort for block in number)
    per_sort = Counter(sorts)
    kinds = []
    for predicate in _open_predicates(world):
        if math.prod(per_sort[sort] for sort in predicate.sorts) > MOST_KINDS:
            return None
        own = normal.predicate_number[predicate.name]
        classes = [normal.classes_of(sort) for sort in predicate.sorts]
        for pattern in layout.patterns(own, classes, world.room):
            places = tuple((number[block], rank) for block, rank in pattern[1])
            value = world.value_at(*pattern)
            many = layout.number(pattern, world.sizes)
            kinds.append(AtomKind(predicate.name, places, value, many))
    return Structure(
        Layout(tuple(layout.rows[row] for row in kept)),
        tuple(world.sizes[row] for row in kept),
        sorts,
        tuple(
            tuple(
                world.object(block, index)
                for index in range(min(MOST_MEMBERS, world.sizes[layout.blocks[block][0]]))
            )
            for block in number
        ),
        tuple(kinds),
    )


# --- worlds that are written out

Groups = list[tuple[int, ...]]
"""Objects of one sort in groups of one size; an index of a row stands for each group."""


@dataclass(frozen=True, slots=True)
class _Guess:
    """A row that may be there."""

    sort: str
    groups: Groups
    ordered: bool = False


def _of_atoms(world: World) -> Structure | None:
    predicates, sizes = _open_predicates(world), world.problem.sizes
    atoms = sum(math.prod(sizes[sort] for sort in p.sorts) for p in predicates)
    if atoms > MOST_WRITTEN:
        return None
    written = _Written(world, predicates)
    alike = {sort: written.alike(sort) for sort in dict.fromkeys(written.sorts)}
    for grouped, ordered in ((True, True), (False, True), (True, False), (False, False)):
        guesses = [
            guess
            for sort, own in alike.items()
            for guess in written.rows(sort, own, grouped, ordered)
        ]
        found = written.structure(guesses)
        if found is not None:
            return found
    return None


class _Written:
    """The atoms of a world that do not have their first value."""

    def __init__(self, world: World, predicates: Sequence[Predicate]) -> None:
        self._predicates, self._sizes = predicates, world.problem.sizes
        self._values = {p.name: dict(world.atoms(p.name)) for p in predicates}
        self.sorts = [sort for p in predicates for sort in p.sorts]
        self._of: dict[tuple[str, int], list[tuple[str, tuple[int, ...], int]]] = {}
        for predicate in predicates:
            for objects, value in self._values[predicate.name].items():
                for own in set(zip(predicate.sorts, objects, strict=True)):
                    self._of.setdefault(own, []).append((predicate.name, objects, value))
        self._sorts_of = {p.name: p.sorts for p in predicates}

    def alike(self, sort: str) -> Groups:
        """The objects of a sort; those that can be exchanged are in one group."""
        found: list[list[int]] = []
        for number in range(self._sizes[sort]):
            checkpoint()
            for own in found:
                if self._can_be_exchanged(sort, own[0], number):
                    own.append(number)
                    break
            else:
                found.append([number])
        return [tuple(own) for own in found]

    def _can_be_exchanged(self, sort: str, one: int, other: int) -> bool:
        swap = {one: other, other: one}
        for name, objects, value in (*self._atoms(sort, one), *self._atoms(sort, other)):
            image = tuple(
                swap.get(number, number) if own == sort else number
                for own, number in zip(self._sorts_of[name], objects, strict=True)
            )
            if self._values[name].get(image, 0) != value:
                return False
        return True

    def _atoms(self, sort: str, number: int) -> Sequence[tuple[str, tuple[int, ...], int]]:
        return self._of.get((sort, number), ())

    # --- rows

    def rows(self, sort: str, alike: Groups, grouped: bool, ordered: bool) -> Iterator[_Guess]:
        """Rows of objects that are alike; or of groups of these, or of single objects in order."""
        plain: Groups = []
        together: dict[tuple[int, object], Groups] = {}
        for own in alike:
            if grouped and len(own) > 1:
                together.setdefault((len(own), self._look(sort, own[0])), []).append(own)
            else:
                plain.append(own)
        for groups in together.values():
            if len(groups) > 1:
                yield _Guess(sort, groups)
            else:
                plain += groups
        single = [own for own in plain if len(own) == 1]
        if ordered and len(single) > 2:
            yield _Guess(sort, sorted(single, key=lambda own: -self._first(sort, own[0])), True)
            plain = [own for own in plain if len(own) > 1]
        for own in plain:
            yield _Guess(sort, [(number,) for number in own])

    def _look(self, sort: str, number: int) -> object:
        """In how many atoms of each predicate and value an object is."""
        return frozenset(Counter((n, value) for n, _, value in self._atoms(sort, number)).items())

    def _first(self, sort: str, number: int) -> int:
        """In how many atoms an object comes first."""
        return sum(objects[0] == number for _, objects, _ in self._atoms(sort, number))

    def structure(self, guesses: Sequence[_Guess]) -> Structure | None:
        """The structure with these rows, if all atoms agree with it."""
        number = {sort: k for k, sort in enumerate(dict.fromkeys(own.sort for own in guesses))}
        rows, place, members = [], {}, list[tuple[int, ...]]()
        for own in guesses:
            rows.append(Row((number[own.sort],) * len(own.groups[0]), own.ordered))
            for k, block in enumerate(zip(*own.groups, strict=True), len(members)):
                place.update({(own.sort, object_): (k, i) for i, object_ in enumerate(block)})
            members += zip(*own.groups, strict=True)
        layout = Layout(tuple(rows))
        found: dict[Pattern, int] = {}
        many = Counter[Pattern]()
        for k, predicate in enumerate(self._predicates):
            values = self._values[predicate.name]
            for objects in product(*(range(self._sizes[sort]) for sort in predicate.sorts)):
                where = [place[own] for own in zip(predicate.sorts, objects, strict=True)]
                pattern = layout.pattern(k, where)
                many[pattern] += 1
                value = values.get(objects, 0)
                if found.setdefault(pattern, value) != value:
                    return None
        if any(self._is_of_parts(guess, k, layout, found) for k, guess in enumerate(guesses)):
            return None
        return Structure(
            layout,
            tuple(len(own.groups) for own in guesses),
            tuple(own.sort for own in guesses for _ in own.groups[0]),
            tuple(members),
            tuple(
                AtomKind(self._predicates[pattern[0]].name, pattern[1], value, many[pattern])
                for pattern, value in found.items()
            ),
        )

    @staticmethod
    def _is_of_parts(guess: _Guess, row: int, layout: Layout, found: Mapping[Pattern, int]) -> bool:
        """Whether groups are few and have to do with each other."""
        if len(guess.groups[0]) == 1 or len(guess.groups) > MANY_GROUPS:
            return False
        return any(
            value and len(set(_ranks(layout, row, places))) > 1
            for (_, places), value in found.items()
        )


def _ranks(layout: Layout, row: int, places: Iterable[Place]) -> Iterator[int]:
    return (rank for block, rank in places if layout.blocks[block][0] == row)
