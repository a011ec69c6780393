"""The region graph of kinds of ground regions, with the way back to the ground."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Ints, group_rows, starts_of
from liftgbp.compress.ground import GroundRegions
from liftgbp.errors import ContradictionError
from liftgbp.grounding import GroundNetwork
from liftgbp.regions.structure import RegionGraph

MOST_ROWS = 40
"""How many regions a graph prints."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which kind each ground region is, and which of its variables is which axis.

    kind   the kind of each ground region
    frame  per size of regions, for each axis the place of its variable in ascending order
    orbit  per kind, for each axis the smallest axis that symmetries take it to
    """

    regions: GroundRegions
    kind: Ints
    frame: tuple[Ints, ...]
    orbit: tuple[tuple[int, ...], ...]
    variables: int

    @cached_property
    def variables_in_frame(self) -> tuple[Ints, ...]:
        """Per size of regions, which variable each axis is."""
        return tuple(
            np.take_along_axis(rows, frame, axis=1)
            for rows, frame in zip(self.regions.rows, self.frame, strict=True)
        )

    @cached_property
    def home(self) -> tuple[Ints, Ints]:
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
        region, axis = self.home
        inside = np.flatnonzero(region >= 0)
        kind = self.kind[region[inside]]
        lengths = np.array([len(own) for own in self.orbit], dtype=np.int64)
        flat = np.array([k for own in self.orbit for k in own], dtype=np.int64)
        orbit = flat[starts_of(lengths)[kind] + axis[inside]]
        first, number = group_rows([kind, orbit])
        # Numbered by the regions they live in.
        order = np.lexsort((orbit[first], kind[first]))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        atom_kind = np.full(self.variables, -1, dtype=np.int64)
        atom_kind[inside] = rank[number]
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
        order = np.argsort(variable, kind="stable")
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


@dataclass(frozen=True)
class QuotientGraph(RegionGraph):
    """A ground region graph with one region for all that behave alike.

    Region k stands for the ground regions of kind k in `alignment`; its cluster names the variables
    of one of them.
    """

    network: GroundNetwork
    alignment: Alignment

    # --- exact integers

    @cached_property
    def n(self) -> tuple[int, ...]:
        """How many ground regions each region stands for."""
        return tuple(region.count.times for region in self.regions)

    @cached_property
    def kappa(self) -> tuple[int, ...]:
        """How many ground parents a child has through each edge."""
        return tuple(edge.count.times for edge in self.edges)

    @cached_property
    def numbers_of_atoms(self) -> tuple[int, ...]:
        """For each kind of atom, how many variables are of that kind."""
        kinds = self.alignment.atom_kind
        return tuple(np.bincount(kinds[kinds >= 0]).tolist())

    @cached_property
    def atom_of_axis(self) -> tuple[tuple[int, ...], ...]:
        """Per region, which kind of atom each of its axes is."""
        kinds = self.alignment.atom_kind.tolist()
        return tuple(tuple(kinds[v] for v, _ in region.cluster) for region in self.regions)

    @cached_property
    def group_of_atom(self) -> tuple[int, ...]:
        """For each kind of atom its predicate, or else its number of values."""
        kinds = self.alignment.atom_kind
        inside = np.flatnonzero(kinds >= 0)
        groups = np.zeros(len(self.numbers_of_atoms), dtype=np.int64)
        atoms = self.network.atoms
        group_of_variable = self.network.ranges if atoms is None else atoms.predicate
        groups[kinds[inside]] = group_of_variable[inside]
        return tuple(groups.tolist())

    @cached_property
    def free_atoms(self) -> Mapping[int, int]:
        """How many atoms lie in no region, by their number of values."""
        outside = self.network.ranges[self.alignment.atom_kind < 0]
        return Counter(self.network.free) + Counter(outside.tolist())

    # --- tables

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Per region, the number of values of each of its axes."""
        ranges = self.network.ranges.tolist()
        return tuple(tuple(ranges[v] for v, _ in region.cluster) for region in self.regions)

    def log_table(self, parfactor: int) -> NDArray[np.float64]:
        """A table of the network."""
        return self.network.tables[parfactor]

    @property
    def log_constant(self) -> float:
        """What factors without variables add to log Z."""
        return self.network.log_constant

    def contradiction(self) -> ContradictionError:
        """The error to raise when hard factors leave a region no state."""
        return ContradictionError(
            "the hard formulas contradict each other or the evidence: they leave no possible world"
        )

    # --- the way back to the ground

    def where(self, variables: Sequence[int]) -> tuple[int, tuple[int, ...]] | None:
        """The smallest region that holds variables together, and which of its axes they are.

        `None` if no region holds them all.
        """
        region = self.alignment.smallest_region(variables)
        if region is None:
            return None
        row = self.alignment.region_row(region).tolist()
        return int(self.alignment.kind[region]), tuple(row.index(v) for v in variables)

    def where_each(self) -> tuple[Ints, Ints]:
        """For each variable a region and an axis where to read its marginal; -1 for free ones."""
        region, axis = self.alignment.home
        return np.where(region >= 0, self.alignment.kind[region], -1), axis

    # --- words

    def variable_text(self, variable: int) -> str:
        """A name for a variable."""
        return f"v{variable}"

    def region_text(self, number: int) -> str:
        """The variables of one of the ground regions that a region stands for."""
        return " ".join(self.variable_text(v) for v, _ in self.regions[number].cluster)

    def as_dict(self) -> dict[str, object]:
        """The graph for JSON; counts are exact integers."""
        return {
            "family": str(self.family),
            "ground_regions": self.ground_regions,
            "regions": [
                {
                    "region": number,
                    "example": [v for v, _ in region.cluster],
                    "n": self.n[number],
                    "c": self.counting_numbers[number],
                    "outer": region.outer,
                }
                for number, region in enumerate(self.regions)
            ],
            "edges": [
                {
                    "edge": number,
                    "parent": edge.parent,
                    "child": edge.child,
                    "message": edge.message,
                    "mapping": list(self.messages[edge.message].axes),
                    "axes": list(edge.axes),
                    "kappa": self.kappa[number],
                }
                for number, edge in enumerate(self.edges)
            ],
        }

    def __str__(self) -> str:
        lines = [
            f"compressed region graph ({self.family}): {len(self.regions)} regions, "
            f"{len(self.edges)} edges, {self.ground_regions} ground regions"
        ]
        for number, region in enumerate(self.regions[:MOST_ROWS]):
            parents = ", ".join(
                f"{self.edges[e].parent} × {self.kappa[e]}" for e in self.edges_into[number]
            )
            lines.append(
                f"  {number}{'*' if region.outer else ' '} {self.region_text(number)}   "
                f"n={self.n[number]}  c={self.counting_numbers[number]}  "
                f"parents × κ: {parents or 'none'}"
            )
        if len(self.regions) > MOST_ROWS:
            lines.append(f"  … and {len(self.regions) - MOST_ROWS} more")
        return "\n".join(lines)
