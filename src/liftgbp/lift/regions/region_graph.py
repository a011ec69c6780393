"""What every region graph has: canonical regions, edges between them, and exact counts.

Where to find the lifted region graph (V, E, σ, κ) of the paper (Apsel, Lifted Message Passing for
the Generalized Belief Propagation): V is `regions`, E is `edges`; σ of an edge is `Message.axes`,
turned by `Edge.axes`; κ is `Edge.count`; localPar is counted in `Member.local_parents` of all
`Region.members`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from liftgbp.lift.regions.atom_bounds import Choice, Pair
from liftgbp.lift.regions.counts import Count
from liftgbp.lift.regions.families import Family
from liftgbp.lift.regions.graph_arrays import GraphArrays, arrays_of
from liftgbp.lift.regions.ground_pairs import GroundPairs
from liftgbp.lift.signature import Cluster
from liftgbp.pictures.cards import Shown
from liftgbp.pictures.markup import Content
from liftgbp.support.arrays import Floats, Integers, Ints, first_and_last
from liftgbp.support.errors import ContradictionError
from liftgbp.support.files import installed
from liftgbp.support.shown import drawings

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_ROWS, MOST_PARENTS = 18, 12
"""How many regions a graph prints, and how many parents of each."""

MOST_OBJECTS = 6
"""Signature graphs over more objects are left out."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A signature graph: objects, which atoms relate pairs of them, and what is said about each."""

    objects: tuple[str, ...]
    arrows: tuple[tuple[int, int, str], ...]
    unary: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A region inside another one, before canonising: a node of the local graph.

    `axes` says for each atom of the canonical `region` which atom of the larger region it is.
    `local_parents` counts, per lifted edge, the parents it has inside the larger region, which may
    be the larger region itself: the paper's localPar. These parents' messages do not enter the
    belief of the larger region, so their number is subtracted from κ.
    """

    region: int
    axes: tuple[int, ...]
    local_parents: dict[int, int]


@dataclass(frozen=True, slots=True)
class HeldFactor:
    """A ground factor inside a region; `axes` tells which atoms of the region its atoms are."""

    parfactor: int
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A canonical region with the regions and the factors inside it.

    `members` are the local graph of the paper: all regions inside, before canonising. `symmetries`
    generate its automorphisms, as permutations of its atoms.
    """

    cluster: Cluster
    count: Count
    outer: bool
    symmetries: tuple[tuple[int, ...], ...]
    members: tuple[Member, ...]
    held: tuple[HeldFactor, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """What a parent sends to one kind of its children.

    `axes` says for each atom of the child which atom of the parent it is: the mapping σ of the
    paper, read from the child to the parent. `symmetries` generate the automorphisms of the child
    that extend to automorphisms of the parent, as permutations of the
    child's atoms.
    """

    parent: int
    child: int
    axes: tuple[int, ...]
    symmetries: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """The ground parents of a region that differ by renaming objects outside of it.

    Edges into one child that differ by an automorphism of the child carry the same message with
    permuted axes: atom k of the message is atom `axes[k]` of the child.

    `count` is κ of the paper as a function of the class sizes: how many ground parents one child
    has through this edge. Unlike the paper's formula it is divided by the number of automorphisms
    of the parent that fix the objects of the child, which is not always 1.
    """

    child: int
    parent: int
    message: int
    axes: tuple[int, ...]
    count: Count


@dataclass(frozen=True, repr=False)
class RegionGraph(Shown, ABC):
    """Canonical regions, from large to small, with lifted edges between them.

    This is all that a plan is compiled from. Tables of factors pass through without being read.
    """

    family: Family
    regions: Sequence[Region]
    messages: Sequence[Message]
    edges: Sequence[Edge]

    # --- exact integers

    @property
    @abstractmethod
    def n(self) -> tuple[int, ...]:
        """How many ground regions each canonical region stands for."""

    @property
    @abstractmethod
    def kappa(self) -> tuple[int, ...]:
        """How many ground parents a child has through each edge."""

    @property
    def kappa_array(self) -> Integers | Ints:
        """The same as an array; of Python's integers, where they may be too large for others."""
        return np.array(self.kappa, dtype=object)

    @property
    @abstractmethod
    def weights(self) -> tuple[int, ...]:
        """How often each region counts in the free energy: n times its counting number."""

    @property
    @abstractmethod
    def numbers_of_atoms(self) -> tuple[int, ...]:
        """For each kind of atom in the regions, how many ground atoms there are."""

    @property
    @abstractmethod
    def atom_of_axis(self) -> Sequence[tuple[int, ...]]:
        """Per region, which kind of atom each of its atoms is."""

    @property
    @abstractmethod
    def group_of_atom(self) -> tuple[int, ...]:
        """For each kind of atom its group; descent tilts the atoms of a group together."""

    @property
    @abstractmethod
    def free_atoms(self) -> Mapping[int, int]:
        """How many unobserved ground atoms lie in no region, by their number of values."""

    @property
    def order_choices(self) -> tuple[tuple[Choice, ...], ...]:
        """For each step of an order of all ground atoms, what its atoms may be conditioned on.

        Without any step, no order is known.
        """
        return ()

    @property
    def order_counts(self) -> tuple[int, ...]:
        """How many ground atoms each step of the order has."""
        return ()

    @property
    def alike_pairs(self) -> tuple[Pair, ...]:
        """For each kind of exchangeable ground atoms that is known, a region with two of them."""
        return ()

    @property
    def alike_counts(self) -> tuple[int, ...]:
        """How many atoms of each kind can be exchanged for one another."""
        return ()

    @property
    def ground_pairs(self) -> GroundPairs | None:
        """Which ground variables share a region, where that is known and not too much."""
        return None

    @property
    @abstractmethod
    def counting_numbers(self) -> tuple[int, ...]:
        """One minus the counting numbers of the larger ground regions around each region."""

    @cached_property
    def inside(self) -> tuple[Counter[int], ...]:
        """How many regions of each kind lie inside every region."""
        return tuple(Counter(m.region for m in region.members) for region in self.regions)

    @property
    def ground_regions(self) -> int:
        """The number of regions of the ground region graph."""
        return sum(self.n)

    @cached_property
    def edges_into(self) -> tuple[tuple[int, ...], ...]:
        """The edges that end in each region."""
        into: list[list[int]] = [[] for _ in self.regions]
        for number, edge in enumerate(self.edges):
            into[edge.child].append(number)
        return tuple(map(tuple, into))

    @cached_property
    def arrays(self) -> GraphArrays:
        """The graph in arrays."""
        return arrays_of(self.regions, self.messages, self.edges, self.shapes)

    # --- words

    def kappa_text(self, number: int) -> str:
        """The κ of an edge as a formula, or as the number that it is."""
        return str(self.edges[number].count)

    @property
    @abstractmethod
    def title(self) -> str:
        """What kind of graph this is, in words."""

    @abstractmethod
    def region_text(self, number: int) -> str:
        """The atoms of a region in words."""

    @property
    def atoms_in_words(self) -> Sequence[Sequence[str]]:
        """The atoms of each region in words."""
        return [self.region_text(k).split(" ") for k in range(len(self.regions))]

    def sketch(self, number: int) -> Sketch | None:
        """The signature graph of a region, if it has one that can be drawn."""
        return None

    # --- pictures

    def to_dot(self) -> str:
        """The graph in the language of Graphviz.

        >>> import liftgbp
        >>> model = liftgbp.parse("p(thing)\\nq(thing)\\n1 p(x) ^ q(y) | x != y")
        >>> graph = liftgbp.prepare(model, {"thing": 10}).graph
        >>> print(graph.to_dot().splitlines()[3])
          0 [label="0: n = 90, c = 1\\np(1) q(2)", fillcolor="#dce9f6"];
        """

        text: str = drawings().dot_text(self, self.atoms_in_words)
        return text

    def plot(self, local: int | None = None) -> Figure:
        """A figure of Matplotlib: the graph or, for the number of a region, its local graph."""
        from liftgbp.pictures.charts import drawn

        return drawn(drawings().scene_of(self, self.atoms_in_words, local).figure)

    def to_networkx(self) -> Any:
        """The graph as a `MultiDiGraph` of NetworkX, which must be installed.

        Nodes are regions, with their atoms, `n`, `c` and `outer`; edges have `kappa`, its formula
        `kappa_formula` and the `mapping` of atoms. Counts are exact integers.
        """

        return drawings().networkx_graph(
            self, self.atoms_in_words, installed("networkx", "to_networkx")
        )

    def is_outer(self, number: int) -> bool:
        """Whether a region is an outer one."""
        return self.regions[number].outer

    def _headline(self) -> str:
        return (
            f"({self.family}): {len(self.regions)} regions, {len(self.edges)} edges, "
            f"{self.ground_regions} ground regions"
        )

    def _body(self) -> Iterable[Content]:
        return [*drawings().graph_card(self, self.atoms_in_words)]

    def __str__(self) -> str:
        head = self._headline().replace(f"({self.family})", self.title, 1)
        shown = first_and_last(len(self.regions), MOST_ROWS)
        gap = f"  … {len(self.regions) - MOST_ROWS} more …"
        return "\n".join([head, *(gap if k is None else self._row_text(k) for k in shown)])

    def _row_text(self, number: int) -> str:
        return (
            f"  {number}{'*' if self.is_outer(number) else ' '} {self.region_text(number)}   "
            f"n={self.n[number]}  c={self.counting_numbers[number]}  "
            f"parents × κ: {self.parents_text(number)}"
        )

    def parents_text(self, number: int) -> str:
        """The parents of a region, with how many of each there are."""
        into = self.edges_into[number]
        parent = self.arrays.edge_parent
        parents = ", ".join(f"{parent[e]} × {self.kappa[e]}" for e in into[:MOST_PARENTS])
        return f"{parents or 'none'}{', …' if len(into) > MOST_PARENTS else ''}"

    def described(self, atoms: Sequence[Sequence[str]]) -> dict[str, object]:
        """Regions and edges for JSON, given the atoms of each region in words.

        Counts are exact integers.
        """
        return {
            "family": str(self.family),
            "ground_regions": self.ground_regions,
            "regions": [
                {
                    "region": number,
                    "atoms": list(atoms[number]),
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
                    "mapping": self.mapping_text(number, atoms),
                    "kappa": self.kappa[number],
                    "kappa_formula": self.kappa_text(number),
                }
                for number, edge in enumerate(self.edges)
            ],
        }

    def mapping_text(self, number: int, atoms: Sequence[Sequence[str]]) -> str:
        """Which atom of the parent is which atom of the child, for an edge."""
        edge = self.edges[number]
        pairs = sorted(zip(edge.axes, self.messages[edge.message].axes, strict=True))
        parent, child = atoms[edge.parent], atoms[edge.child]
        return ", ".join(f"{parent[there]}→{child[here]}" for here, there in pairs)

    # --- tables

    @property
    @abstractmethod
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Per region, the number of values of each of its atoms."""

    @abstractmethod
    def log_table(self, parfactor: int) -> Floats:
        """The table of the factors that regions hold under this number."""

    @property
    @abstractmethod
    def log_constant(self) -> float:
        """What factors without atoms add to log Z."""

    @abstractmethod
    def contradiction(self) -> ContradictionError:
        """The error to raise when hard factors leave a region no state."""
