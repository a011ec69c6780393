"""What is counted: objects of some kinds, beside objects that stay the same.

`#{y : friends(x,y)} >= 3 | smokes(x)` counts objects y beside one object x. Constants stay the
same, too. Each way in which these coincide, and each class of theirs, is a *case*.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import Obj, ObjAtom
from liftgbp.lift.shatter.rule_tables import drop_indifferent
from liftgbp.posterior.events import Truth, spread_over
from liftgbp.posterior.rows import Row
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import InternalError, QueryError

MOST_LISTED = 2**16
"""The most states of all atoms that a count is about, where these are listed."""


@dataclass(frozen=True, eq=False, slots=True)
class CountedRow:
    """Objects that are counted: how many there are, one of them, and when it counts."""

    row: Row
    number: int
    obj: Obj
    truth: Truth

    @property
    def open_atoms(self) -> list[ObjAtom]:
        """The atoms of the formula that are about the object."""
        return [atom for atom in self.truth[0] if self.obj in atom[1]]


@dataclass(frozen=True, eq=False, slots=True)
class CountedCase:
    """Objects that are counted beside `fixed` ones, under a condition about these.

    `where` says which the fixed objects are, and `count` in how many ways they can be chosen.
    """

    fixed: tuple[Obj, ...]
    rows: tuple[CountedRow, ...]
    condition: Truth | None
    where: str
    count: int

    @property
    def objects(self) -> int:
        """How many objects are counted."""
        return sum(row.number for row in self.rows)

    @property
    def certain(self) -> list[CountedRow]:
        """The rows about fixed objects."""
        return [row for row in self.rows if row.obj in self.fixed]

    @property
    def free(self) -> list[CountedRow]:
        """The rows about all other objects."""
        return [row for row in self.rows if row.obj not in self.fixed]

    @property
    def atoms(self) -> list[ObjAtom]:
        """All atoms of the formula and of the condition."""
        every = [atom for row in self.rows for atom in row.truth[0]]
        return list(dict.fromkeys((*every, *(() if self.condition is None else self.condition[0]))))

    @property
    def shared(self) -> list[ObjAtom]:
        """The atoms that all counted objects have in common."""
        atoms = [atom for row in self.certain for atom in row.truth[0]]
        atoms += [a for row in self.free for a in row.truth[0] if a not in row.open_atoms]
        atoms += [] if self.condition is None else self.condition[0]
        return list(dict.fromkeys(atoms))


@dataclass(frozen=True, eq=False, slots=True)
class Counted:
    """How likely a condition holds with each count from zero on.

    `estimated` if objects were taken to be independent, given what is known about blocks; that is
    to be compared with what is known about pairs.
    """

    chances: Floats
    estimated: bool = False


def counted_cases(variable: str, rows: Sequence[Row], sizes: Sequence[int]) -> list[CountedCase]:
    """The cases of a count, from the rows of its formula; `sizes` are those of the classes."""
    found: dict[tuple[Obj, ...], list[tuple[Row, Mapping[Obj, Obj]]]] = {}
    for row in rows:
        if row.bound:
            raise QueryError("the formula relates the counted objects with all others")
        placed = _placed(variable, row)
        key = tuple(placed[obj] for name, obj in row.way if name != variable)
        found.setdefault(key, []).append((row, placed))
    return [_case(variable, key, own, sizes) for key, own in found.items()]


def _placed(variable: str, row: Row) -> dict[Obj, Obj]:
    """Placeholders in the order of constants, other variables, and what is counted."""
    placed = {obj: obj for obj, _ in row.constants}
    used = Counter(cls for cls, _ in placed)
    for _, obj in sorted(row.way, key=lambda own: own[0] == variable):
        if obj not in placed:
            placed[obj] = (obj[0], used[obj[0]])
            used[obj[0]] += 1
    return placed


def _case(
    variable: str,
    others: tuple[Obj, ...],
    rows: Sequence[tuple[Row, Mapping[Obj, Obj]]],
    sizes: Sequence[int],
) -> CountedCase:
    constants = tuple(obj for obj, _ in rows[0][0].constants)
    fixed = tuple(dict.fromkeys((*constants, *others)))
    together = Counter(cls for cls, _ in fixed)
    counted: list[CountedRow] = []
    condition: Truth | None = None
    for row, placed in rows:
        if row.event is None or row.event.formula is None:
            raise InternalError("counts are about formulas")
        atoms = tuple((p, tuple(placed[obj] for obj in args)) for p, args in row.event.atoms)
        obj = placed[dict(row.way)[variable]]
        number = 1 if obj in fixed else sizes[obj[0]] - together[obj[0]]
        counted.append(CountedRow(row, number, obj, _needed(atoms, row.event.formula)))
        if row.event.condition is not None:
            condition = _needed(atoms, row.event.condition)
    known = Counter(cls for cls, _ in constants)
    new = Counter(cls for cls, _ in set(others) - set(constants))
    count = math.prod(falling(sizes[cls] - known[cls], number) for cls, number in new.items())
    generic = next((r for r, p in rows if p[dict(r.way)[variable]] not in fixed), rows[0][0])
    return CountedCase(fixed, tuple(counted), condition, _without(variable, generic.where), count)


def _needed(atoms: tuple[ObjAtom, ...], truth: Bools) -> Truth:
    kept, table = drop_indifferent(atoms, truth.astype(float))
    return tuple(kept), table > 0


def _without(variable: str, where: str) -> str:
    """A description without what it says about a variable."""
    parts = re.split(r", (?![^{]*\})", where)
    return ", ".join(part for part in parts if not re.search(rf"\b{re.escape(variable)}\b", part))


# --- distributions


def binomials(
    numbers: Ints | Floats, chances: Floats, shares: Floats, objects: int, most: float
) -> Floats:
    """How likely each count is if objects fall into groups and each satisfies it on its own.

    `numbers` (T, G) are the sizes of groups, `chances` (T, G) those of their objects, and `shares`
    (T) mix all. What needs more than `most` operations is refused.
    """
    likely = shares > 0
    numbers, chances, shares = numbers[likely], chances[likely], shares[likely]
    if np.isin(chances, (0.0, 1.0)).all():
        counts = np.rint((numbers * chances).sum(axis=1)).astype(np.int64)
        return np.bincount(counts, weights=shares, minlength=objects + 1).astype(float)
    if (objects + 1) * float(numbers.size) > most:
        raise QueryError("the distribution takes too many operations")
    # The characteristic function of a sum is a product.
    angles = 2 * np.pi * np.arange(objects // 2 + 1 + objects % 2) / (objects + 1)
    values = np.array(
        [
            np.prod((1 + chances * (np.exp(1j * angle) - 1)) ** numbers, axis=1) @ shares
            for angle in angles
        ]
    )
    return np.fft.irfft(values.conj(), objects + 1)


def by_listing(
    case: CountedCase,
    joint: Callable[[Sequence[ObjAtom]], Floats],
    range_of: Callable[[ObjAtom], int],
) -> Floats:
    """How likely the condition holds with each count, from the joint distribution of all atoms.

    That has a state for each assignment of values, so it is for a few objects.
    """
    truths: list[Truth] = [row.truth for row in case.certain]
    for row in case.free:
        cls, first = row.obj
        for k in range(row.number):
            moved = {row.obj: (cls, first + k)}
            atoms, table = row.truth
            truths.append(
                (tuple((p, tuple(moved.get(o, o) for o in args)) for p, args in atoms), table)
            )
    conditions = [] if case.condition is None else [case.condition]
    every = list(dict.fromkeys(atom for atoms, _ in (*truths, *conditions) for atom in atoms))
    shape = [range_of(atom) for atom in every]
    if math.prod(shape) > MOST_LISTED:
        raise QueryError(
            f"the atoms of all counted objects have more than {MOST_LISTED} states together"
        )
    order = {atom: k for k, atom in enumerate(every)}
    weights = joint(every)
    for condition in conditions:
        weights = np.asarray(weights * spread_over(condition, order, shape))
    counts = np.zeros(shape, np.int64)
    for truth in truths:
        counts += spread_over(truth, order, shape)
    found = np.bincount(counts.ravel(), weights=weights.ravel(), minlength=case.objects + 1)
    return found.astype(float)
