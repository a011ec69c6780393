"""Whether a point at which all objects of a class behave alike is a minimum of the ground problem.

Lifting sees only directions in which all objects of a class move together. So each class is split
into two halves, and the beliefs of the point are written over them. It is the same point of the
same ground free energy, with more directions: if one of them has a negative curvature, it is a
saddle.

At such a point the Hessian of the ground free energy commutes with all permutations of objects, so
each of its curvatures belongs to an irreducible representation of the symmetric group. Two halves
see those of at most two rows, whatever the sizes of the halves: objects that differ, and pairs that
differ by whether they lie in one half. They do not see pairs that go round in circles; that would
take three blocks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from liftgbp.lift.regions import Coarser, LiftedRegionGraph, build_regions
from liftgbp.lift.shatter import Shattering, Split, SplitShattering
from liftgbp.lift.shatter.splitting import Cell, SplitNormal, Values
from liftgbp.lift.signature import objects_of
from liftgbp.methods.counting.count_mixture import CountMixture
from liftgbp.plan import Plan, compile_plan
from liftgbp.posterior import Beliefs, ClassReader, Posterior, PreparedLifted
from liftgbp.posterior.lookup import joint_table
from liftgbp.solve import Solution, Tolerances
from liftgbp.solve.verdict import curvatures_at
from liftgbp.support.arrays import Floats

HALVES = 0.1
"""The part of the work of a level that curvatures between halves of classes may take."""

WORK_OF_REGION = 1e6
"""What it takes to build a region over halves with its edges, as `solve.work_of` counts work."""


@dataclass(frozen=True, slots=True)
class HalvesJudge:
    """Judges answers by the curvature between halves of classes.

    `shattering` is the model with one block per class, `work` is that of a level of effort.
    """

    shattering: Shattering
    tolerances: Tolerances
    work: float

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are refused if their best point is a saddle of the ground free energy.

        Answers with blocks stay as they are, and so do those whose halves would take too large a
        part of the work. A sum over counts is judged by its most likely counts.
        """
        result, reader = answers.result, answers.reader
        if not answers.sound or not isinstance(reader, ClassReader):
            return answers
        if isinstance(result, Solution) and isinstance(reader.source, Beliefs):
            halves = Halves.of_classes(reader.prepared, self.shattering)
            shown = [k for k, point in enumerate(result.points) if point.weight > 0]
            logs = [result.points[k].log_beliefs for k in shown] or [result.log_beliefs]
            found = halves.curvatures(np.exp(logs), self.tolerances, HALVES * self.work)
            points = list(result.points)
            for k, curvature in zip(shown, found, strict=False):
                if curvature is not None:
                    verdict = points[k].verdict.broken_by(curvature, self.tolerances)
                    points[k] = replace(points[k], verdict=verdict)
            result = replace(result, points=tuple(points))
        elif isinstance(reader.source, CountMixture):
            halves, beliefs = Halves.of_counts(reader.source, self.shattering)
            found = halves.curvatures(beliefs[None], self.tolerances, HALVES * self.work)
        else:
            return answers
        if found[0] is None:
            return answers
        judged = result.with_verdict(result.verdict.broken_by(found[0], self.tolerances))
        return replace(answers, result=judged)


@dataclass(frozen=True, eq=False)
class Halves:
    """A model whose classes are split into halves.

    whole    the model before that
    split    how its classes are split
    counts   the number of objects in each cell
    half_of  for each cell the class of the whole that it is a half of, or all of it
    """

    whole: PreparedLifted
    split: SplitShattering
    counts: tuple[int, ...]
    half_of: dict[Cell, int]

    @classmethod
    def of_classes(cls, whole: PreparedLifted, shattering: Shattering) -> Halves:
        """The halves of the classes of a model with one block per class."""
        sizes = {(k, 0): own.size for k, own in enumerate(shattering.classes)}
        class_of = {cell: cell[0] for cell in sizes}
        return cls._of(whole, shattering, {}, sizes, class_of)

    @classmethod
    def of_counts(cls, mixture: CountMixture, shattering: Shattering) -> tuple[Halves, Floats]:
        """The halves of classes at the most likely counts of a sum, and the beliefs there."""
        part, row = mixture.likely
        counts, sizes = iter(part.counts[row]), {}
        cells = {own.cls: own.cells for own in mixture.split.splits}
        for k, own in enumerate(shattering.classes):
            for number in range(len(cells.get(k, ((),)))):
                sizes[k, number] = next(counts) if k in cells else own.size
        base = part.base
        return cls._of(base.prepared, shattering, cells, sizes, base.class_of), part.beliefs[row]

    @classmethod
    def _of(
        cls,
        whole: PreparedLifted,
        shattering: Shattering,
        values: dict[int, tuple[Values, ...]],
        sizes: dict[Cell, int],
        class_of: dict[Cell, int],
    ) -> Halves:
        """`values` are what is known about the cells of a class, `sizes` those of all cells."""
        split, origin = divided(shattering, values, lambda cell: min(2, max(1, sizes[cell])))
        own = {one.cls for one in split.splits}
        counts = tuple(
            (sizes[cell] + 1 - part) // 2 if sizes[cell] > 1 else sizes[cell]
            for (k, _), (cell, part) in origin.items()
            if k in own
        )
        half_of = {half: class_of[cell] for half, (cell, _) in origin.items() if sizes[cell]}
        return cls(whole, split, counts, half_of)

    def curvatures(
        self, beliefs: Floats, tolerances: Tolerances, most_work: float
    ) -> list[float | None]:
        """The smallest curvatures at stationary points of the whole, a row of beliefs each.

        `None` where they take too much work, where rounding hides them, and where there is nothing
        to split.
        """
        # Regions that share nothing are exact, and stay so.
        shared = self.whole.plan.layout.message_entries
        if not shared or not self.split.splits or self.work > most_work:
            return [None] * len(beliefs)
        with np.errstate(divide="ignore"):
            logs = np.log(self.beliefs(beliefs))
        found = curvatures_at([self.plan] * len(beliefs), logs, tolerances)
        return [None if wrong else lowest for lowest, wrong in found]

    @property
    def work(self) -> float:
        """What it takes to build the halves and find a curvature, known before they are built."""
        regions, step = size_of_parts(self.whole, Counter(self.half_of.values()))
        return WORK_OF_REGION * regions + step

    @cached_property
    def _coarser(self) -> Coarser:
        whole = {cls: self.half_of[cell] for cell, cls in self._normal.class_of.items()}
        return Coarser(self.whole.graph, whole)

    @cached_property
    def _normal(self) -> SplitNormal:
        return self.split.at(self.counts)

    @cached_property
    def graph(self) -> LiftedRegionGraph:
        """The region graph over halves: the same ground regions, in more classes."""
        return build_regions(self._normal.normal, self.whole.graph.family, self._coarser)

    @cached_property
    def plan(self) -> Plan:
        """The plan over halves; it is not solved, so it needs no bounds."""
        return compile_plan(self.graph, bounds=False)

    def beliefs(self, whole: Floats) -> Floats:
        """Beliefs of the whole, a row for each point, as beliefs over halves."""
        base, tables = self.whole, []
        for region, states in zip(
            self.graph.regions, self.plan.layout.representatives, strict=True
        ):
            atoms = self._coarser.atoms(region.cluster)
            joint = joint_table(atoms, base.graph, base.plan.layout, whole)
            tables.append(joint.reshape(len(whole), -1)[:, states])
        return np.concatenate(tables, axis=1)


def divided(
    shattering: Shattering, known: Mapping[int, tuple[Values, ...]], parts: Callable[[Cell], int]
) -> tuple[SplitShattering, dict[Cell, tuple[Cell, int]]]:
    """A model with each cell of its classes in parts, and of which cell each part is which.

    `known` is what is known about the cells of classes that are split already.
    """
    splits, origin = [], dict[Cell, tuple[Cell, int]]()
    for cls, own in enumerate(shattering.classes):
        cells = known.get(cls, ((),))
        of_class = [(k, part) for k in range(len(cells)) for part in range(parts((cls, k)))]
        origin |= {(cls, n): ((cls, k), part) for n, (k, part) in enumerate(of_class)}
        if len(of_class) > 1:
            splits.append(Split(cls, own.size, tuple(cells[k] for k, _ in of_class)))
    return SplitShattering(shattering, splits), origin


def size_of_parts(whole: PreparedLifted, parts: Mapping[int, int]) -> tuple[float, float]:
    """How many regions a model has once its classes are in parts, and what a Newton step takes.

    A region has a copy for each way to put its objects into parts.
    """
    layout = whole.plan.layout
    copies = np.array(
        [
            math.prod(parts.get(cls, 1) for cls, _ in objects_of(region.cluster))
            for region in whole.graph.regions
        ],
        dtype=float,
    )
    entries = copies[layout.region_of].sum()
    parents = layout.region_of[layout.sources[layout.source_starts]]
    equations = copies[parents].sum()
    return float(copies.sum()), float(entries * equations**2)
