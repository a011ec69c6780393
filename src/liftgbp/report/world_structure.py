"""The structure of a world in words, and as a table of its blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from itertools import count, islice

from liftgbp.model.ast import BOOLEAN, Predicate
from liftgbp.model.model import Model
from liftgbp.model.writer import object_text
from liftgbp.pictures.cards import Shown, count_text, note, table
from liftgbp.pictures.markup import Content
from liftgbp.support.texts import some_of
from liftgbp.worlds.structure import AtomKind, Structure

MOST_NAMES = 8
"""A sentence names at most so many blocks, and joins at most so many clauses."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

PARTS = {2: "two halves", 3: "three thirds", 4: "four quarters"}

GROUPS = {2: "pair", 3: "group of three", 4: "group of four"}

CIRCLE_TEXT = "from each to the next half of a circle:"

CIRCLE = {"earlier": "later", "later": "earlier"}
"""How two blocks of an ordered row are related across that make up a circle, by how each one is
related to itself."""


@dataclass(frozen=True, repr=False, slots=True)
class WorldBlock(Shown):
    """Objects of a world that have one name in its structure.

    They are `groups` of `width` objects each, which may be `ordered`; groups of one are plain
    objects. Its name is made of `letters`, unless it is that of the only object. If objects have
    names, `named` lists them.

    >>> import liftgbp
    >>> world = liftgbp.best_world(liftgbp.load("example:couples"), {"person": 9})
    >>> world.structure.blocks
    (<WorldBlock A (4 pairs)>, <WorldBlock B (1)>)
    """

    name: str
    letters: str
    sort: str
    row: int
    width: int
    groups: int
    ordered: bool
    named: str = ""

    def _headline(self) -> str:
        return self.text

    @property
    def objects(self) -> int:
        """How many objects there are."""
        return self.width * self.groups

    @property
    def shape(self) -> str:
        """How its objects belong together, if they do."""
        if self.width > 1:
            many = _plural(self.groups, GROUPS.get(self.width, f"group of {self.width}"))
            return f"{many} in order" if self.ordered else many
        return "in order" if self.ordered and self.groups > 1 else ""

    @property
    def text(self) -> str:
        """Its name, and how many objects there are."""
        if self.name != self.letters:
            return self.name
        number = self.shape if self.width > 1 else short_count(self.groups)
        return f"{self.name} ({number}{self.listing})"

    @property
    def listing(self) -> str:
        """A colon and the names of objects, where they have names."""
        return f": {self.named}" if self.named else ""


@dataclass(frozen=True, eq=False, repr=False)
class WorldStructure(Shown):
    """What a world looks like: its blocks of objects, and what is true of them.

    >>> import liftgbp
    >>> world = liftgbp.best_world(liftgbp.load("example:no-triangles"), {"person": 10**6})
    >>> print(world.structure)
    person: two halves, A (500,000) and B (500,000)
    friends: only between A and B
    """

    model: Model
    structure: Structure

    def __str__(self) -> str:
        return "\n".join(self.words)

    # --- names

    @cached_property
    def blocks(self) -> tuple[WorldBlock, ...]:
        """The blocks; one stands for a whole row of them where they need not be told apart."""
        return tuple(dict.fromkeys(self._unit_of))

    @cached_property
    def _unit_of(self) -> tuple[WorldBlock, ...]:
        """The unit of each block."""
        layout, found = self.structure.layout, list[WorldBlock]()
        names_left = self._free_letters()
        for row, blocks in enumerate(layout.of_row):
            size, ordered = self.structure.sizes[row], layout.rows[row].ordered
            plain = len(blocks) > 1 and self.structure.is_plain(row)
            uniform = plain or (len(blocks) > 1 and self.structure.is_uniform(row))
            for k, block in enumerate(blocks):
                if k and uniform:
                    found.append(found[-1])
                    continue
                width = len(blocks) if uniform and not plain else 1
                name = self._names(block)[0] if size == width == 1 else ""
                letters = "" if name else next(names_left)
                sort = self.structure.sorts[block]
                groups = size * len(blocks) if plain else size
                named = self._named(blocks if uniform else (block,), plain, groups)
                found.append(
                    WorldBlock(name or letters, letters, sort, row, width, groups, ordered, named)
                )
        return tuple(found)

    def _free_letters(self) -> Iterator[str]:
        """Names of blocks that are not those of objects."""
        taken = {name for sort in self.model.sorts for name in self.model.constants(sort)}
        return (letters for letters in map(_letters, count()) if letters not in taken)

    def _named(self, blocks: Sequence[int], plain: bool, groups: int) -> str:
        """The objects of some blocks group by group, if all that are listed have names."""
        members = [self._names(block) for block in blocks]
        together: Iterable[Sequence[str]] = zip(*members, strict=True)
        if plain:
            together = ((name,) for group in together for name in group)
        first = list(islice(together, MOST_NAMES))
        if not all(map(all, first)):
            return ""
        return some_of([" with ".join(group) for group in first], number=groups)

    def _names(self, block: int) -> list[str]:
        """The names of the first objects of a block; empty where one has none."""
        sort = self.structure.sorts[block]
        most = len(self.model.constants(sort))
        return [
            object_text(self.model, sort, number) if number < most else ""
            for number in self.structure.members[block][:MOST_NAMES]
        ]

    # --- sentences

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What the blocks are, and what is true of them: a line for each sort and predicate."""
        of_predicate: dict[str, list[AtomKind]] = {}
        for kind in self.structure.kinds:
            of_predicate.setdefault(kind.predicate, []).append(kind)
        sorts = dict.fromkeys(unit.sort for unit in self.blocks)
        lines = [f"{sort}: {self._of_sort(sort)}" for sort in sorts]
        for name, kinds in of_predicate.items():
            lines.append(f"{name}: {self._of_predicate(self.model.predicates[name], kinds)}")
        return tuple(lines)

    def _of_sort(self, sort: str) -> str:
        units = [unit for unit in self.blocks if unit.sort == sort]
        if len(units) == 1:
            return _alone(units[0])
        if len(units) > MOST_NAMES:
            largest = sorted(units, key=lambda unit: -unit.objects)[:3]
            named = listed([unit.text for unit in largest])
            return f"{len(units)} kinds of objects; the largest are {named}"
        sizes = [unit.groups for unit in units]
        plain = all(unit.width == 1 and not unit.ordered for unit in units)
        named = listed([unit.text for unit in units])
        if plain and len(units) in PARTS and min(sizes) > 1 and max(sizes) - min(sizes) <= 1:
            return f"{PARTS[len(units)]}, {named}"
        per_row = Counter(unit.row for unit in self.blocks)
        paired = [unit for unit in units if per_row[unit.row] > 1]
        if not paired:
            return named
        order = " in order" if any(unit.ordered for unit in paired) else ""
        return f"{named}; {listed([unit.name for unit in paired])} side by side{order}"

    def _of_predicate(self, predicate: Predicate, kinds: Sequence[AtomKind]) -> str:
        boolean = predicate.values == BOOLEAN
        values = {kind.value for kind in kinds}
        different = {k.value for k in kinds if len(set(k.places)) == len(k.places)}
        if len(values) == 1:
            (value,) = values
            if not predicate.sorts:
                return predicate.values[value]
            if boolean:
                return "all" if value else "none"
            return f"{predicate.values[value]} everywhere"
        if (
            boolean
            and different == {1}
            and not any(kind.value for kind in kinds if len(set(kind.places)) < len(kind.places))
        ):
            return "all between different objects"
        parts = []
        for value in sorted(values - {0} if boolean else values):
            of_value = [kind for kind in kinds if kind.value == value]
            clauses = self._clauses(predicate, of_value, kinds)
            if clauses is None or len(clauses) > MOST_NAMES:
                clauses = [f"{short_count(sum(k.number for k in of_value))} atoms"]
            elif boolean and clauses:
                clauses[0] = f"only {clauses[0]}"
            text = listed(clauses, ", and ")
            parts.append(text if boolean else f"{predicate.values[value]} {text}")
        return "; ".join(parts)

    def _clauses(
        self, predicate: Predicate, kinds: Sequence[AtomKind], every: Sequence[AtomKind]
    ) -> list[str] | None:
        """Where atoms have a value, for predicates over one or two objects."""
        if len(predicate.sorts) == 1:
            names = list(dict.fromkeys(self._unit_of[kind.places[0][0]].name for kind in kinds))
            if len(names) > MOST_NAMES:
                return None
            return [f"{'' if predicate.values == BOOLEAN else 'for '}{listed(names)}"]
        if len(predicate.sorts) != 2:
            return None
        ties = dict.fromkeys(map(self._tie, kinds))
        circle = self._circle(ties)
        if circle is not None:
            return [circle]
        return _without_copies(self._tie_texts(ties, dict.fromkeys(map(self._tie, every))))

    def _tie(self, kind: AtomKind) -> Tie:
        (one, rank), (other, its_rank) = kind.places
        units = self._unit_of[one], self._unit_of[other]
        if units[0].row != units[1].row:
            return (*units, "apart")
        if rank == its_rank:
            return (*units, "itself" if one == other else "mate")
        if not units[0].ordered:
            return (*units, "another")
        return (*units, "later" if its_rank > rank else "earlier")

    def _tie_texts(self, ties: Iterable[Tie], every: Iterable[Tie]) -> Iterator[str]:
        ties = list(ties)
        across = [tie for tie in every if tie[2] == "apart"]
        if len(across) > 2 and set(across) <= set(ties):
            yield "between any two of different parts"
            ties = [tie for tie in ties if tie not in across]
        inside = [tie for tie in every if tie[0] == tie[1] and tie[2] == "another"]
        if len(inside) > 1 and set(inside) <= set(ties):
            yield f"inside {listed([tie[0].name for tie in inside])}"
            ties = [tie for tie in ties if tie not in inside]
        itself = [tie for tie in every if tie[2] == "itself"]
        all_itself = set(itself) <= set(ties)
        for one, other, how in ties:
            if how != "itself":
                yield self._tie_text(one, other, how, (other, one, how) in ties)
        if itself and all_itself:
            yield "of each object with itself"
        else:
            for one, _, how in ties:
                if how == "itself":
                    yield f"of {'each ' * (one.objects > 1)}{one.name} with itself"

    def _tie_text(self, one: WorldBlock, other: WorldBlock, how: str, both: bool) -> str:
        first, second = sorted((one.name, other.name)) if both else (one.name, other.name)
        link = ("between", "and") if both else ("from", "to")
        alone = sum(unit.sort == one.sort for unit in self.blocks) == 1
        if one == other:
            group = GROUPS.get(one.width, "group").split()[0]
            texts = {
                "mate": f"inside each {group}",
                "another": f"across {group}s" if one.width > 1 else f"inside {one.name}",
                "later": "from each to all that come later",
                "earlier": "from each to all that come earlier",
            }
            text = texts[how]
            return text if alone or how in ("mate", "another") else f"{text} in {one.name}"
        if how == "apart":
            return f"{link[0]} {first} {link[1]} {second}"
        words = {
            "mate": "its",
            "another": "any other",
            "later": "any later",
            "earlier": "any earlier",
        }
        return f"{link[0]} each {first} {link[1]} {words[how]} {second}"

    def _circle(self, ties: Iterable[Tie]) -> str | None:
        """Two blocks in order of which each object is tied to half a circle.

        That is to the objects of its own block on one side, and to those of the other block on the
        other side. One object may be alone between the end of a block and the start of the other.
        """
        near = {tie for tie in ties if tie[2] not in ("apart", "mate")}
        ordered = {unit.name: unit for tie in near for unit in tie[:2] if unit.ordered}
        if len(ordered) != 2:
            return None
        one, other = (ordered[name] for name in sorted(ordered))
        apart = [tie for tie in ties if tie[2] == "apart"]
        for inside, across in CIRCLE.items():
            halves = {(one, one, inside), (other, other, inside)}
            halves |= {(one, other, across), (other, one, across)}
            if near != halves:
                continue
            if not apart:
                return f"{CIRCLE_TEXT} all {one.name} and all {other.name}"
            alone = {unit for tie in apart for unit in tie[:2]} - {one, other}
            for first, last in ((one, other), (other, one)):
                before, after = (first, last) if inside == "earlier" else (last, first)
                middle = next(iter(alone))
                if {(before, middle, "apart"), (middle, after, "apart")} == set(apart):
                    named = [f"all {first.name}", f"all {last.name}", middle.name]
                    return f"{CIRCLE_TEXT} {listed(named)}"
        return None

    # --- tables

    def as_dict(self) -> dict[str, object]:
        """The words, the blocks and the kinds of atoms that do not have their first value."""
        return {
            "words": list(self.words),
            "blocks": [
                {
                    "name": unit.name,
                    "sort": unit.sort,
                    "objects": unit.objects,
                    "shape": unit.shape,
                    "true": self._values_of(unit),
                }
                for unit in self.blocks
            ],
            "atoms": [
                {
                    "kind": self._kind_text(kind),
                    "value": self.model.predicates[kind.predicate].values[kind.value],
                    "number": kind.number,
                }
                for kind in self.structure.kinds
                if kind.value
            ],
        }

    def _values_of(self, unit: WorldBlock) -> list[str]:
        """What is true of each object of a block alone."""
        found = []
        for kind in self.structure.kinds:
            own = {self._unit_of[block] for block, _ in kind.places} == {unit}
            if own and kind.value and len(set(kind.places)) == 1:
                predicate = self.model.predicates[kind.predicate]
                value = predicate.values[kind.value]
                found.append(predicate.name if predicate.values == BOOLEAN else value)
        return list(dict.fromkeys(found))

    def _kind_text(self, kind: AtomKind) -> str:
        """Such as `friends(A,B)`; further objects of one block are numbered."""
        places = [f"{self._unit_of[block].name}{rank + 1}" for block, rank in kind.places]
        plain = all(rank == 0 for _, rank in kind.places)
        names = [self._unit_of[block].name for block, _ in kind.places] if plain else places
        return f"{kind.predicate}({','.join(names)})" if names else kind.predicate

    # --- what notebooks show

    def _headline(self) -> str:
        return f"{self.model.name}: {_plural(len(self.blocks), 'block')}"

    def _body(self) -> Iterator[Content]:
        yield from map(note, self.words)
        yield self.table()

    def table(self) -> Content:
        """The blocks as a table of a card."""
        heads = ("block", "sort", "objects", "shape", "true of each")
        rows = [
            (u.name, u.sort, short_count(u.objects), u.shape, ", ".join(self._values_of(u)))
            for u in self.blocks
        ]
        return table(heads, rows, numbers=[2])


Tie = tuple[WorldBlock, WorldBlock, str]
"""Two units, and how an object of one is placed beside one of the other."""


def _alone(unit: WorldBlock) -> str:
    """What is said of a sort that has one unit only."""
    if unit.objects == 1:
        return f"only {unit.name}"
    if unit.width > 1:
        return f"{unit.shape}{unit.listing}"
    if unit.ordered:
        return f"all {short_count(unit.groups)} in one order{unit.listing}"
    return f"all {short_count(unit.groups)} are alike"


def _without_copies(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def short_count(number: int) -> str:
    """
    >>> short_count(500_000), short_count(5 * 10**17)
    ('500,000', '5e+17')
    """
    short = Decimal(number).normalize(Context(prec=4))
    return count_text(number) if number < 10**9 else f"{short:g}".lower()


def _letters(number: int) -> str:
    """A, B, ..., Z, A2, B2, ..."""
    rounds, letter = divmod(number, len(LETTERS))
    return LETTERS[letter] + (str(rounds + 1) if rounds else "")


def listed(texts: Sequence[str], last: str = " and ") -> str:
    """
    >>> listed(["A", "B", "C"]), listed(["A"])
    ('A, B and C', 'A')
    """
    *others, end = texts
    return f"{', '.join(others)}{last}{end}" if others else end


def _plural(number: int, noun: str) -> str:
    """
    >>> _plural(2, "group of three"), _plural(1, "block")
    ('2 groups of three', '1 block')
    """
    first, *rest = noun.split(" ")
    return " ".join([short_count(number), first + "s" * (number != 1), *rest])
