"""Lattices of counts, on which sums over large spaces are taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from liftgbp.methods.counting.space import Counts


@dataclass(frozen=True, slots=True)
class Lattice:
    """Points `anchor + steps * index`; what one cell gets, the largest of its class loses."""

    anchor: Counts
    cells: tuple[int, ...]
    reference: tuple[int, ...]
    steps: tuple[int, ...]

    def point(self, index: Sequence[int]) -> Counts | None:
        """The point at an index, or none if that is outside of the space."""
        counts = list(self.anchor)
        for cell, reference, step, at in zip(
            self.cells, self.reference, self.steps, index, strict=True
        ):
            counts[cell] += step * at
            counts[reference] -= step * at
        return None if min(counts) < 0 else tuple(counts)

    def nearest(self, counts: Counts) -> tuple[int, ...]:
        """The index of the point that is nearest to some counts."""
        return tuple(
            round((counts[cell] - self.anchor[cell]) / step)
            for cell, step in zip(self.cells, self.steps, strict=True)
        )

    @property
    def volume(self) -> int:
        """How many points of the space each point stands for."""
        return math.prod(self.steps)

    def shifted(self) -> Lattice | None:
        """The lattice half a step away, unless that is outside of the space."""
        halves = replace(self, steps=tuple(step // 2 for step in self.steps))
        anchor = halves.point((1,) * len(self.steps))
        return None if anchor is None else replace(self, anchor=anchor)


@dataclass(frozen=True, slots=True)
class Filled:
    """The points that matter around some maxima, each with how many it stands for."""

    lattice: Lattice
    maxima: tuple[Counts, ...]
    volumes: dict[Counts, float]

    def overlaps(self, other: Filled) -> bool:
        """Whether the boxes around the points of both have points in common."""
        mine, others = (np.array(list(filled.volumes)) for filled in (self, other))
        return bool(
            (mine.min(axis=0) <= others.max(axis=0)).all()
            and (others.min(axis=0) <= mine.max(axis=0)).all()
        )
