"""Answers as a mixture over counts.

A query knows nothing of the parts that counts split classes into. Its rows are those of the model
without splitting; the objects of a row are any of their class, so they lie in the parts in
proportion to how many ways there are to choose them there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.lift.shatter.splitting import Cell, SplitShattering
from liftgbp.lift.signature import objects_of
from liftgbp.methods.counting.peaks import ALL
from liftgbp.methods.counting.points import Base
from liftgbp.methods.counting.space import Counts, Space
from liftgbp.posterior import ClassReader, PreparedLifted, Source
from liftgbp.posterior.count_cases import Counted, CountedCase, CountedRow, binomials
from liftgbp.posterior.events import Truth
from liftgbp.posterior.lookup import joint_table
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import QueryError

MOST_OPERATIONS = 2e9
"""The most operations for the distribution of a count: some ten seconds."""


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Counts that share a layout, with their shares and their beliefs in rows."""

    base: Base
    counts: tuple[Counts, ...]
    shares: Floats
    beliefs: Floats


@dataclass(frozen=True, eq=False)
class CountMixture(Source):
    """The distributions at all visited counts, mixed."""

    split: SplitShattering
    parts: tuple[Part, ...]

    def reader(self, prepared: PreparedLifted) -> ClassReader:
        """Reads all visited counts at once; `prepared` is the model at the most likely counts."""
        return ClassReader(prepared, self, self._whole)

    @property
    def likely(self) -> tuple[Part, int]:
        """Where the most likely counts are: a part, and their place in it."""
        best = max(self.parts, key=lambda part: float(part.shares.max()))
        return best, int(best.shares.argmax())

    @property
    def _whole(self) -> NormalModel:
        """The normal form before counts split its classes."""
        return self.split.base

    def holds(self, atom: ObjAtom) -> bool:
        """Counts may decide about any atom."""
        return True

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms: the mean over counts, and over where objects lie."""
        objects = sorted(objects_of(atoms))
        table = np.zeros([self._whole.ranges[predicate] for predicate, _ in atoms])
        for choice in product(*(self._cells(cls) for cls, _ in objects)):
            cells = dict(zip(objects, choice, strict=True))
            for part in self.parts:
                if all(cell in part.base.class_of for cell in choice):
                    table += self._of_part(atoms, cells, part)
        return table

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """How likely each number of objects is, given who has the properties summed over.

        Where these do not decide who satisfies the formula, objects are taken to do so
        independently of each other.
        """
        if self._summed and Space.of(self.split.splits).number > ALL:
            raise QueryError("in a domain of this size, only some of the counts are visited")
        total = np.zeros(case.objects + 1)
        estimated = False
        for part in self.parts:
            for choice in product(*(self._cells(cls) for cls, _ in case.fixed)):
                cells = dict(zip(case.fixed, choice, strict=True))
                if not self._fixed_holds(case.condition, cells):
                    continue
                numbers, chances, guessed = self._groups(case, cells, part)
                estimated |= guessed
                ways = [self._proportion(Counter(choice), own) for own in part.counts]
                certain = sum(self._fixed_holds(row.truth, cells) for row in case.certain)
                objects = case.objects - len(case.certain)
                found = binomials(
                    numbers, chances, part.shares * np.array(ways), objects, MOST_OPERATIONS
                )
                total[certain : certain + objects + 1] += found
        steps = np.diff(np.flatnonzero(total))
        if len(steps) and steps.min() > 1:
            raise QueryError("only every other count, or fewer, is visited")
        return Counted(total, estimated)

    @property
    def _summed(self) -> bool:
        """Whether counts of properties were summed over, and not sizes of blocks."""
        return any(cell for own in self.split.splits for cell in own.cells)

    def _groups(
        self, case: CountedCase, fixed: Mapping[Obj, Cell], part: Part
    ) -> tuple[Floats, Floats, bool]:
        """How many objects that are not fixed lie in each cell, how likely each of them satisfies
        the formula, at all counts, and whether that was read off beliefs."""
        numbers: list[Floats] = []
        chances: list[Floats] = []
        guessed = False
        used = Counter(fixed.values())
        every = np.array(part.counts, float).reshape(len(part.counts), -1)
        for row in case.free:
            for cell in self._cells(row.obj[0]):
                cls, k = cell
                start = self._starts.get(cls)
                number = row.number if start is None else every[:, start + k] - used[cell]
                numbers.append(np.broadcast_to(number, len(every)).astype(float))
                holds = self._decided(row.truth, {**fixed, row.obj: cell})
                if holds is None:
                    chances.append(self._read_chances(row, cell, part, beside=bool(fixed)))
                    guessed = True
                else:
                    chances.append(np.full(len(every), float(holds)))
        shape = (len(every), len(numbers))
        return np.array(numbers).T.reshape(shape), np.array(chances).T.reshape(shape), guessed

    def _read_chances(self, row: CountedRow, cell: Cell, part: Part, *, beside: bool) -> Floats:
        """How likely an object of a cell satisfies the formula, at all counts."""
        atoms, truth = row.truth
        if beside and not self._summed:
            raise QueryError(
                "over blocks, only counts without other objects and without a condition have one; "
                "an exact answer (--exact) or a sample with named objects (liftgbp sample) knows it"
            )
        if beside or len(row.open_atoms) < len(atoms):
            raise QueryError(
                "counts were summed over other atoms than those of the formula; sum over these"
            )
        if cell not in part.base.class_of:
            return np.zeros(len(part.counts))
        here = {row.obj: (part.base.class_of[cell], 0)}
        moved = [(p, tuple(here[obj] for obj in args)) for p, args in atoms]
        base = part.base.prepared
        tables = joint_table(moved, base.graph, base.plan.layout, part.beliefs)
        found = tables.reshape(len(tables), -1) @ truth.ravel().astype(float)
        return np.asarray(found.clip(0.0, 1.0))

    def _fixed_holds(self, truth: Truth | None, cells: Mapping[Obj, Cell]) -> bool:
        """Whether a formula about fixed objects holds where they lie in these cells."""
        holds = True if truth is None else self._decided(truth, cells)
        if holds is None:
            raise QueryError("counts were summed over other atoms than those of the condition")
        return holds

    def _decided(self, truth: Truth, cells: Mapping[Obj, Cell]) -> bool | None:
        """Whether a formula holds, if the cells of its objects and the evidence say so."""
        atoms, table = truth
        values = [self._value(atom, cells) for atom in atoms]
        known = table[tuple(slice(None) if value is None else value for value in values)]
        return bool(known.flat[0]) if (known == known.flat[0]).all() else None

    def _value(self, atom: ObjAtom, cells: Mapping[Obj, Cell]) -> int | None:
        predicate, args = atom
        if len(set(args)) == 1:
            cls, k = cells[args[0]]
            split = next((own for own in self.split.splits if own.cls == cls), None)
            own = dict(() if split is None else split.cells[k])
            if predicate in own:
                return own[predicate]
        return self._whole.observations.value(atom)

    @property
    def _starts(self) -> dict[int, int]:
        """Where the counts of each split class start."""
        sizes = np.cumsum([0, *(len(own.cells) for own in self.split.splits)]).tolist()
        return {own.cls: start for own, start in zip(self.split.splits, sizes, strict=False)}

    def _cells(self, cls: int) -> list[Cell]:
        split = next((s for s in self.split.splits if s.cls == cls), None)
        return [(cls, k) for k in range(1 if split is None else len(split.cells))]

    def _of_part(self, atoms: Sequence[ObjAtom], cells: Mapping[Obj, Cell], part: Part) -> Floats:
        """What the points of one layout contribute where the objects lie in these cells."""
        ways = np.array([self._proportion(Counter(cells.values()), c) for c in part.counts])
        shares = part.shares * ways
        total = float(shares.sum())
        if not total:
            return np.zeros(())
        used: Counter[int] = Counter()
        placed: dict[Obj, Obj] = {}
        for obj, cell in cells.items():
            cls = part.base.class_of[cell]
            placed[obj] = (cls, used[cls])
            used[cls] += 1
        moved = [(p, tuple(placed[obj] for obj in args)) for p, args in atoms]
        graph, layout = part.base.prepared.graph, part.base.prepared.plan.layout
        if not layout.message_entries:
            # Products of beliefs about different regions are not linear in them.
            tables = joint_table(moved, graph, layout, part.beliefs, across_regions=True)
            return np.asarray(np.tensordot(shares, tables, 1))
        mixed = shares @ part.beliefs
        return np.asarray(total * joint_table(moved, graph, layout, mixed[None] / total)[0])

    def _proportion(self, chosen: Counter[Cell], counts: Counts) -> float:
        """How likely objects chosen at random from their classes lie in these cells."""
        start, ways, all_ways = 0, 1, 1
        for split in self.split.splits:
            together = 0
            for k in range(len(split.cells)):
                number = chosen[split.cls, k]
                ways *= falling(counts[start + k], number)
                together += number
            all_ways *= falling(split.size, together)
            start += len(split.cells)
        return ways / all_ways
