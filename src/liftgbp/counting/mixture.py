"""Answers as a mixture over counts.

A query knows nothing of the parts that counts split classes into. Its rows are those of the model
without splitting; the objects of a row are any of their class, so they lie in the parts in
proportion to how many ways there are to choose them there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.counting.peaks import Weighed
from liftgbp.counting.points import Base, CountedModel
from liftgbp.counting.space import Counts
from liftgbp.query import Answers, ClassReader, PreparedLifted
from liftgbp.query.lookup import joint_table
from liftgbp.shatter.assignments import falling
from liftgbp.shatter.counted import Cell
from liftgbp.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.signature import objects_of


@dataclass(frozen=True, slots=True)
class CountSum:
    """Over which counts an answer was summed.

    `visited` is how many counts were solved; `peaks` are the most likely ones in words, each with
    the share of the counts around it; `untrusted` is the share of counts whose solution should not
    be relied upon. `reason` says why these predicates were chosen, where they were not asked for.
    """

    predicates: tuple[str, ...]
    visited: int
    peaks: tuple[tuple[str, float], ...]
    untrusted: float
    reason: str = ""

    def as_dict(self) -> dict[str, object]:
        """The sum for JSON."""
        return {
            "predicates": list(self.predicates),
            "counts_visited": self.visited,
            "most_likely": [{"counts": text, "share": share} for text, share in self.peaks],
            "untrusted_share": self.untrusted,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        return f"summed over {', '.join(self.predicates)}, {self.visited} counts"


@dataclass(frozen=True, eq=False, repr=False)
class SummedAnswers(Answers):
    """Answers that sum over how many objects have some properties.

    `graph`, `plan` and the verdict are those of the most likely counts.
    """

    sum_over: CountSum = field(kw_only=True)

    def as_dict(self, queries: str | Iterable[str] = ()) -> dict[str, object]:
        """Everything that a program may want to know, ready for JSON."""
        return {**super().as_dict(queries), "sum_over": self.sum_over.as_dict()}


@dataclass(frozen=True, eq=False, slots=True)
class _Group:
    """The points that share a layout, with their shares and their beliefs in rows."""

    base: Base
    counts: tuple[Counts, ...]
    shares: Floats
    beliefs: Floats


@dataclass(frozen=True, eq=False)
class MixedReader(ClassReader):
    """Reads all visited counts at once; `prepared` is the model at the most likely counts."""

    prepared: PreparedLifted
    counted: CountedModel
    weighed: Weighed

    @property
    def normal(self) -> NormalModel:
        """The normal form before counts split its classes."""
        return self.counted.counted.base

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms: the mean over counts, and over where objects lie."""
        objects = sorted(objects_of(atoms))
        table = np.zeros([self.normal.ranges[predicate] for predicate, _ in atoms])
        for choice in product(*(self._cells(cls) for cls, _ in objects)):
            cells = dict(zip(objects, choice, strict=True))
            for group in self._groups:
                if all(cell in group.base.class_of for cell in choice):
                    table += self._part(atoms, cells, group)
        return table

    def _cells(self, cls: int) -> list[Cell]:
        split = next((s for s in self.counted.counted.splits if s.cls == cls), None)
        return [(cls, k) for k in range(1 if split is None else len(split.cells))]

    def _part(self, atoms: Sequence[ObjAtom], cells: Mapping[Obj, Cell], group: _Group) -> Floats:
        """What the points of one layout contribute where the objects lie in these cells."""
        ways = np.array([self._proportion(Counter(cells.values()), c) for c in group.counts])
        shares = group.shares * ways
        total = float(shares.sum())
        if not total:
            return np.zeros(())
        used: Counter[int] = Counter()
        placed: dict[Obj, Obj] = {}
        for obj, cell in cells.items():
            cls = group.base.class_of[cell]
            placed[obj] = (cls, used[cls])
            used[cls] += 1
        moved = [(p, tuple(placed[obj] for obj in args)) for p, args in atoms]
        mixed = shares @ group.beliefs
        table = joint_table(moved, group.base.graph, group.base.plan.layout, mixed[None] / total)
        return np.asarray(total * table[0])

    def _proportion(self, chosen: Counter[Cell], counts: Counts) -> float:
        """How likely objects chosen at random from their classes lie in these cells."""
        start, ways, all_ways = 0, 1, 1
        for split in self.counted.counted.splits:
            together = 0
            for k in range(len(split.cells)):
                number = chosen[split.cls, k]
                ways *= falling(counts[start + k], number)
                together += number
            all_ways *= falling(split.size, together)
            start += len(split.cells)
        return ways / all_ways

    @cached_property
    def _groups(self) -> tuple[_Group, ...]:
        members: dict[int, list[Counts]] = {}
        for counts in self.weighed.shares:
            members.setdefault(id(self.counted.solved[counts].base), []).append(counts)
        return tuple(
            _Group(
                self.counted.solved[own[0]].base,
                tuple(own),
                np.array([self.weighed.shares[counts] for counts in own]),
                np.exp([self.counted.solved[counts].solution.log_beliefs for counts in own]),
            )
            for own in members.values()
        )


def peak_texts(counted: CountedModel, weighed: Weighed) -> tuple[tuple[str, float], ...]:
    """The most likely counts in words, with the shares around them."""
    return tuple((_words(counted, peak.counts), peak.share) for peak in weighed.peaks)


def _words(counted: CountedModel, counts: Counts) -> str:
    base = counted.counted.base
    splits = counted.counted.splits
    left = iter(counts)
    words = []
    for split in splits:
        own = base.classes[split.cls]
        where = own.constant or ", ".join(fact.replace("{}", "x") for fact in own.facts)
        for cell in split.cells:
            count = next(left)
            if any(value for _, value in cell):
                names = " ^ ".join(
                    f"{'' if value else '!'}{base.predicates[p].name}" for p, value in cell
                )
                words.append(f"{names}: {count}" + (f" ({where})" if where else ""))
    return "; ".join(words)
