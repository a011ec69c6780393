"""Which ground region is of which kind, axis by axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from liftgbp.arrays import Ints, group_rows, ranks, row_order, stable_order, starts_of
from liftgbp.compress.ground_regions import GroundRegions


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which kind each ground region is, and which of its variables is which axis.

    kind       the kind of each ground region
    example    the first ground region of each kind
    frame      per size of regions, for each axis the place of its variable in ascending order
    group      the number of each kind's group of symmetries
    orbits     per group, for each axis the smallest axis that it is taken to
    variables  the number of variables
    """

    regions: GroundRegions
    kind: Ints
    example: Ints
    frame: tuple[Ints, ...]
    group: Ints
    orbits: tuple[Ints, ...]
    variables: int

    @cached_property
    def variables_in_frame(self) -> tuple[Ints, ...]:
        """Per size of regions, which variable each axis is."""
        return tuple(
            np.take_along_axis(rows, frame, axis=1)
            for rows, frame in zip(self.regions.rows, self.frame, strict=True)
        )

    @cached_property
    def examples_in_frame(self) -> tuple[Ints, ...]:
        """The same for the first region of each kind."""
        bounds = np.searchsorted(self.example, self.regions.starts).tolist()
        return tuple(
            rows[self.example[first:last] - start]
            for rows, start, (first, last) in zip(
                self.variables_in_frame, self.regions.starts, pairwise(bounds), strict=False
            )
        )

    @cached_property
    def smallest_holder(self) -> tuple[Ints, Ints]:
        """For each variable the smallest region that holds it, and its axis there; -1 if none."""
        region = np.full(self.variables, -1, dtype=np.int64)
        axis = np.full(self.variables, -1, dtype=np.int64)
        # Smaller regions come later and overwrite. The smallest one that holds a variable lies in
        # all others that do, so there is no choice.
        for start, rows in zip(self.regions.starts, self.variables_in_frame, strict=False):
            region[rows] = start + np.arange(len(rows))[:, None]
            axis[rows] = np.arange(rows.shape[1])
        return region, axis

    @cached_property
    def atom_kind(self) -> Ints:
        """For each variable its kind of atom; -1 for variables in no region."""
        region, axis = self.smallest_holder
        inside = np.flatnonzero(region >= 0)
        kind = self.kind[region[inside]]
        starts = starts_of(np.array([len(own) for own in self.orbits], dtype=np.int64))
        flat = np.concatenate([np.zeros(0, np.int64), *self.orbits])
        orbit = flat[starts[self.group[kind]] + axis[inside]]
        first, number = group_rows([kind, orbit])
        # Numbered by the regions they live in.
        order = row_order([kind[first], orbit[first]])
        atom_kind = np.full(self.variables, -1, dtype=np.int64)
        atom_kind[inside] = ranks(order)[number]
        return atom_kind

    def region_row(self, region: int) -> Ints:
        """The variables of a ground region, in the order of the axes of its kind."""
        block = int(np.searchsorted(self.regions.starts, region, side="right")) - 1
        rows: Ints = self.variables_in_frame[block]
        return np.asarray(rows[region - self.regions.starts[block]])

    @cached_property
    def _holders(self) -> tuple[Ints, Ints]:
        """For each variable the regions that hold it: where they start, and which they are."""
        rows = self.regions.rows
        variable = np.concatenate([np.zeros(0, np.int64), *(own.ravel() for own in rows)])
        region = np.repeat(np.arange(len(self.regions)), self.regions.sizes)
        order = stable_order(variable)
        return starts_of(np.bincount(variable, minlength=self.variables)), region[order]

    def smallest_region(self, variables: Sequence[int]) -> int | None:
        """The smallest ground region that holds all these variables."""
        starts, region = self._holders
        stretches = [region[starts[v] : starts[v + 1]] for v in set(variables)]
        stretches.sort(key=len)
        common = stretches[0]
        for other in stretches[1:]:
            common = common[np.isin(common, other)]
        return int(common[-1]) if len(common) else None
