"""Blocks as answers show them: how many objects they have, and how likely atoms are between them.

Blocks have numbers that run through all classes of objects, so that `friends(block 1, block 2)`
needs no further words. Their order is decided here, once: texts, JSON and pictures have the same.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from liftgbp.lift.shatter.normal import NormalModel, ObjectClass
from liftgbp.model.writer import object_text
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import QueryError, checked_path, comma_list, wrong_type
from liftgbp.support.shown import Reported, figure_of, write_picture_of
from liftgbp.support.texts import aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 3
"""Differences between blocks that show in fewer digits do not decide about their order."""

MOST_BLOCKS = 12
"""Tables and pictures show at most this many blocks; those of split classes come first."""

EXACT_SIZES = 10**5
"""Larger sizes are rounded in texts."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block: its number, what its objects are, and how many there are."""

    number: int
    objects: str
    size: int


@dataclass(frozen=True, eq=False, slots=True)
class ClassTable:
    """The probabilities of one kind of atom over some classes, before blocks have numbers.

    `variables` are the different objects of the atom, and `classes` their classes by number.
    `table` has one axis of blocks for each of them; its last axis is the value.
    """

    text: str
    values: tuple[str, ...]
    variables: tuple[str, ...]
    classes: tuple[int, ...]
    table: Floats

    @property
    def levels(self) -> Floats:
        """The expected value from 0 to 1; for Boolean atoms, the probability of true."""
        last = len(self.values) - 1
        return np.asarray(self.table @ (np.arange(last + 1) / max(last, 1)))


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BlockPanel(Reported):
    """Probabilities of one value of an atom by the blocks of two of its objects.

    `rows` and `columns` are the numbers of the blocks of the objects that the variables name. Where
    no such atoms exist, a cell is NaN.

    >>> import liftgbp
    >>> model = liftgbp.load("example:transitive")
    >>> answers = liftgbp.infer(model, {"person": 40}, blocks=3, effort="quick")
    >>> (panel,) = answers.blocks[0].atoms[0].panels()
    >>> panel.title, panel.row_variable, panel.columns
    ('r(x,y)', 'x', (1, 2, 3))
    >>> panel.texts[0]
    ['0.011', '0.475', '0.981']
    """

    title: str
    row_variable: str
    rows: tuple[int, ...]
    column_variable: str
    columns: tuple[int, ...]
    cells: Floats

    @property
    def texts(self) -> list[list[str]]:
        """The cells as they are shown."""
        return [list(map(cell_text, row)) for row in self.cells.tolist()]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BlockedAtom(Reported):
    """The probabilities of an atom by the blocks of its objects.

    `text` is the atom, such as `friends(x,y)`; `values` are those of the predicate. `variables` are
    its different objects, and `blocks` the numbers of their blocks, one tuple for each axis of
    `table`. Its last axis is the value. Where no such atoms exist, as between two objects of a
    block that has one, probabilities are NaN.

    >>> import liftgbp
    >>> model = liftgbp.load("example:transitive")
    >>> answers = liftgbp.infer(model, {"person": 40}, blocks=3, effort="quick")
    >>> (atom,) = answers.blocks[0].atoms
    >>> atom.text, atom.variables, atom.blocks
    ('r(x,y)', ('x', 'y'), ((1, 2, 3), (1, 2, 3)))
    >>> round(atom.probability(1, 2), 3)
    0.475
    """

    text: str
    values: tuple[str, ...]
    variables: tuple[str, ...]
    blocks: tuple[tuple[int, ...], ...]
    table: Floats

    def probability(self, *blocks: int, value: str = "true") -> float:
        """The probability of a value where the objects of the atom are in these blocks."""
        if value not in self.values:
            raise QueryError(
                f"{self.text} takes the values {comma_list(self.values)}, not {value!r}"
            )
        if len(blocks) != len(self.blocks):
            raise QueryError(f"{self.text} has {len(self.blocks)} objects; give a block for each")
        for variable, own, block in zip(self.variables, self.blocks, blocks, strict=True):
            if block not in own:
                known = comma_list(map(str, own))
                raise QueryError(f"{variable} of {self.text} is in one of the blocks {known}")
        at = tuple(own.index(block) for own, block in zip(self.blocks, blocks, strict=True))
        return float(self.table[(*at, self.values.index(value))])

    @property
    def shown_values(self) -> tuple[str, ...]:
        """The values to show: the probability of true says everything about a Boolean atom."""
        return self.values[1:] if self.values == ("false", "true") else self.values

    def value_text(self, value: str) -> str:
        """The atom and its value; `true` goes without saying.

        >>> mood = BlockedAtom("mood(x)", ("low", "high"), ("x",), ((1, 2),), np.ones((2, 2)) / 2)
        >>> mood.value_text("high")
        'mood(x) high'
        """
        return self.text if self.shown_values == ("true",) else f"{self.text} {value}"

    def panels(self) -> Iterator[BlockPanel]:
        """The probabilities as tables: one for each value and blocks of all but two objects."""
        numbers = [own[:MOST_BLOCKS] for own in self.blocks]
        for value in self.shown_values:
            cells = self.table[..., self.values.index(value)]
            for others in product(*(range(len(own)) for own in numbers[:-2])):
                title = self.value_text(value) + "".join(
                    f", {variable} in block {own[k]}"
                    for variable, own, k in zip(self.variables, numbers, others, strict=False)
                )
                rows, columns = numbers[-2:]
                yield BlockPanel(
                    title,
                    self.variables[-2],
                    rows,
                    self.variables[-1],
                    columns,
                    cells[others][: len(rows), : len(columns)],
                )

    def rows(self) -> Iterator[dict[str, object]]:
        """The probabilities for JSON, one by one."""
        for at in np.ndindex(*self.table.shape[:-1]):
            for value in self.shown_values:
                p = float(self.table[(*at, self.values.index(value))])
                if not math.isnan(p):
                    blocks = [own[k] for own, k in zip(self.blocks, at, strict=True)]
                    yield {"atom": self.text, "blocks": blocks, "value": value, "p": p}


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BlockStructure(Reported):
    """One way in which objects fall into blocks, and its share in the answer.

    blocks       all blocks; a class of objects that is not split is a block of its own
    atoms        the atoms whose probabilities depend on the blocks of their objects
    information  what a world tells about the blocks of its objects, in nats
    log_z        log Z at the most likely sizes, for one way to put objects into blocks

    It prints as small tables, and `plot` draws them.

    >>> import liftgbp
    >>> model = liftgbp.load("example:transitive")
    >>> answers = liftgbp.infer(model, {"person": 40}, blocks=3, effort="quick")
    >>> layers = answers.blocks[0]
    >>> [len(layers.blocks), layers.blocks[1].size]
    [3, 19]
    >>> round(layers.probability("r(x,y)", 1, 3), 3), round(layers.probability("r(x,y)", 3, 1), 3)
    (0.981, 0.0)
    """

    share: float
    blocks: tuple[Block, ...]
    atoms: tuple[BlockedAtom, ...]
    information: float
    log_z: float

    @classmethod
    def of(
        cls,
        classes: Sequence[tuple[str, Sequence[int]]],
        tables: Sequence[ClassTable],
        *,
        share: float,
        information: float,
        log_z: float,
    ) -> BlockStructure:
        """The structure of classes, each with a name and the sizes of its blocks.

        The first blocks are those from which relations lead to the others; then larger blocks come
        before smaller ones. Classes that are split come first.
        """
        names = _different([name for name, _ in classes])
        sizes = [tuple(own) for _, own in classes]
        orders = _orders(sizes, tables)
        numbers: dict[int, tuple[int, ...]] = {}
        blocks: list[Block] = []
        for k in sorted(range(len(classes)), key=lambda k: len(sizes[k]) == 1):
            first = len(blocks) + 1
            own = [sizes[k][block] for block in orders[k]]
            blocks += [Block(n, names[k], size) for n, size in enumerate(own, start=first)]
            numbers[k] = tuple(range(first, len(blocks) + 1))
        split = {k for k, own in enumerate(sizes) if len(own) > 1}
        touched = [own for own in tables if split.intersection(own.classes)]
        shown = [own for own in touched if _varies(own, split)] or touched
        atoms = [
            _joined([own for own in tables if own.text == text], orders, numbers, blocks)
            for text in dict.fromkeys(own.text for own in shown)
        ]
        return cls(share, tuple(blocks), tuple(atoms), information, log_z)

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """For each class of objects the most likely number of objects in each block."""
        found: dict[str, tuple[int, ...]] = {}
        for block in self.blocks:
            found[block.objects] = (*found.get(block.objects, ()), block.size)
        return found

    @property
    def summary(self) -> str:
        """The sizes of the blocks in one line."""
        split = {name: own for name, own in self.sizes.items() if len(own) > 1}
        texts = {
            name: f"{len(own)} blocks of {', '.join(map(size_text, own))}"
            for name, own in split.items()
        }
        if len(split) == len(self.sizes) == 1:
            return next(iter(texts.values()))
        return "; ".join(f"{name} in {text}" for name, text in texts.items())

    def probability(self, atom: str, *blocks: int, value: str = "true") -> float:
        """The probability of an atom by the blocks of its objects.

        `structure.probability("friends(x,y)", 1, 2)` is that of `friends(block 1, block 2)`.
        """
        if not isinstance(atom, str):
            raise wrong_type("atom", "text, as in 'friends(x,y)'", atom)
        spaceless = "".join(atom.split())
        found = next((own for own in self.atoms if own.text == spaceless), None)
        if found is None:
            raise QueryError(
                f"blocks tell of {comma_list(own.text for own in self.atoms)}, not of {atom!r}"
            )
        return found.probability(*blocks, value=value)

    @property
    def singles(self) -> list[tuple[str, dict[int, float]]]:
        """The probabilities of atoms over one object, by the block of that object."""
        return [
            (
                atom.value_text(value),
                dict(zip(atom.blocks[0], atom.table[:, atom.values.index(value)], strict=True)),
            )
            for atom in self.atoms
            if len(atom.variables) == 1
            for value in atom.shown_values
        ]

    @property
    def panels(self) -> list[BlockPanel]:
        """The probabilities of atoms over several objects."""
        return [panel for atom in self.atoms if len(atom.variables) > 1 for panel in atom.panels()]

    @property
    def shown_blocks(self) -> int:
        """How many blocks tables show."""
        return min(len(self.blocks), MOST_BLOCKS)

    def block_rows(self) -> list[list[str]]:
        """Number, objects and size of each block, and the probabilities of `singles`."""
        singles = self.singles
        return [
            [
                str(block.number),
                block.objects,
                size_text(block.size),
                *(cell_text(numbers.get(block.number, math.nan)) for _, numbers in singles),
            ]
            for block in self.blocks[: self.shown_blocks]
        ]

    def __str__(self) -> str:
        heading = ["block", "objects", "size", *(text for text, _ in self.singles)]
        parts = [[self.summary], aligned([heading, *self.block_rows()])]
        for panel in self.panels:
            top = [panel.title, *(f"{panel.column_variable} in {k}" for k in panel.columns)]
            rows = [
                [f"{panel.row_variable} in {k}", *row]
                for k, row in zip(panel.rows, panel.texts, strict=True)
            ]
            parts.append(aligned([top, *rows]))
        return "\n\n".join("\n".join(lines) for lines in parts)

    def plot(self) -> Figure:
        """A figure of matplotlib: one heat map for each atom and value."""
        return figure_of(self)

    def write_picture(self, path: str | os.PathLike[str]) -> None:
        """Write the heat maps to a `.png`, `.svg` or `.pdf` file."""
        write_picture_of(self, checked_path("path", path))

    def as_dict(self) -> dict[str, object]:
        """The structure for JSON."""
        return {
            "share": self.share,
            "sizes": [
                {"block": own.number, "objects": own.objects, "size": own.size}
                for own in self.blocks
            ],
            "probabilities": [row for atom in self.atoms for row in atom.rows()],
            "information": self.information,
            "log_z": self.log_z,
        }


# --- texts


def size_text(size: int) -> str:
    """A number of objects, rounded if it is large.

    >>> size_text(19), size_text(249_998_213)
    ('19', '2.5e8')
    """
    return str(size) if size < EXACT_SIZES else f"{size:.4g}".replace("e+0", "e").replace("+", "")


def cell_text(p: float) -> str:
    """A probability in a table, where no more digits are needed to see the pattern."""
    return "" if math.isnan(p) else f"{p:.3f}"


def class_names(normal: NormalModel) -> list[str]:
    """The objects of each class in words; no two classes have the same name."""
    return _different([_class_name(normal, own) for own in normal.classes])


def _class_name(normal: NormalModel, own: ObjectClass) -> str:
    if own.facts and own.size == 1 and own.examples:
        return object_text(normal.model, own.sort, own.examples[0])
    facts = ", ".join(fact.replace("{}", "x") for fact in own.facts)
    return f"{own} ({facts})" if facts else str(own)


def _different(names: Sequence[str]) -> list[str]:
    """Names that tell classes apart.

    >>> _different(["person", "movie", "person"])
    ['person', 'movie', 'person (2)']
    """
    counts: Counter[str] = Counter()
    found = []
    for name in names:
        counts[name] += 1
        found.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return found


# --- the order of blocks


def _orders(
    sizes: Sequence[tuple[int, ...]], tables: Sequence[ClassTable]
) -> dict[int, tuple[int, ...]]:
    """The order of the blocks of each class, so that tables between them look triangular."""
    whole = [cls for cls, own in enumerate(sizes) if len(own) == 1]
    orders: dict[int, tuple[int, ...]] = dict.fromkeys(whole, (0,))
    for cls, own in enumerate(sizes):
        if cls not in orders:
            keys = _keys(cls, own, tables, orders)
            orders[cls] = tuple(sorted(range(len(own)), key=keys.__getitem__))
    return orders


def _keys(
    cls: int,
    sizes: tuple[int, ...],
    tables: Sequence[ClassTable],
    orders: Mapping[int, tuple[int, ...]],
) -> list[tuple[float, ...]]:
    """For each block what decides about its place; small numbers come first."""
    flows: list[Floats] = []
    looks: list[Floats] = []
    for table in tables:
        own = [axis for axis, other in enumerate(table.classes) if other == cls]
        if len(own) > 1:
            between = _kept(table.levels, own[:2])
            # What leads from a block to others, less what leads back.
            flows.append(between.sum(axis=1) - between.sum(axis=0))
        if own:
            looks += _looks(table, own[0], orders)
    columns = [*flows, np.array(sizes, dtype=float), *looks]
    return [
        tuple(-round(float(column[b]), DIGITS) + 0.0 for column in columns)
        for b in range(len(sizes))
    ]


def _looks(table: ClassTable, axis: int, orders: Mapping[int, tuple[int, ...]]) -> Iterator[Floats]:
    """What objects of a block look like to blocks whose order is known, one after the other."""
    known = [k for k, other in enumerate(table.classes) if other in orders]
    seen = _kept(table.levels, [axis, *known])
    for place, k in enumerate(known):
        seen = np.take(seen, orders[table.classes[k]], axis=1 + place)
    yield from seen.reshape(len(seen), -1).T


def _kept(levels: Floats, axes: Sequence[int]) -> Floats:
    """The mean over all but some axes, which come in this order."""
    others = tuple(k for k in range(levels.ndim) if k not in axes)
    return np.asarray(
        levels.transpose(*axes, *others).mean(axis=tuple(range(len(axes), levels.ndim)))
    )


def _varies(table: ClassTable, split: Collection[int]) -> bool:
    """Whether probabilities depend on the blocks of classes that are split."""
    axes = tuple(k for k, cls in enumerate(table.classes) if cls in split)
    return float(np.ptp(table.table, axis=axes).max()) > 10.0**-DIGITS


# --- one table for all classes


def _joined(
    tables: Sequence[ClassTable],
    orders: Mapping[int, tuple[int, ...]],
    numbers: Mapping[int, tuple[int, ...]],
    blocks: Sequence[Block],
) -> BlockedAtom:
    """The tables of an atom over different classes as one over all of their blocks."""
    first = tables[0]
    axes = [
        sorted({number for own in tables for number in numbers[own.classes[axis]]})
        for axis in range(len(first.variables))
    ]
    joined = np.full([*map(len, axes), len(first.values)], np.nan)
    for own in tables:
        places = [
            [axis.index(number) for number in numbers[cls]]
            for axis, cls in zip(axes, own.classes, strict=True)
        ]
        joined[np.ix_(*places, range(len(first.values)))] = own.table[
            np.ix_(*(orders[cls] for cls in own.classes), range(len(first.values)))
        ]
    for at in product(*(range(len(axis)) for axis in axes)):
        used = Counter(axis[k] for axis, k in zip(axes, at, strict=True))
        if any(blocks[number - 1].size < count for number, count in used.items()):
            joined[at] = np.nan
    joined.flags.writeable = False
    return BlockedAtom(first.text, first.values, first.variables, tuple(map(tuple, axes)), joined)
