"""The lifted region graph: canonical regions, lifted edges, and their exact counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from liftgbp.errors import SizeError
from liftgbp.model.writer import constant_text
from liftgbp.regions.counts import Count, choose
from liftgbp.regions.families import Family
from liftgbp.shatter import NormalModel
from liftgbp.signature import Atom, Cluster, Obj, canonise, objects_of


@dataclass(frozen=True, slots=True)
class Member:
    """A region inside another one, before canonising: a node of the local graph.

    `axes` says for each atom of the canonical `region` which atom of the larger region it is;
    `local_parents` counts, per lifted edge, the parents it has inside the larger region.
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

    `symmetries` generate its automorphisms, as permutations of its atoms.
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

    `axes` says for each atom of the child which atom of the parent it is. `symmetries` generate the
    automorphisms of the child that extend to automorphisms of the parent, as permutations of the
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
    """

    child: int
    parent: int
    message: int
    axes: tuple[int, ...]
    count: Count


@dataclass(frozen=True)
class LiftedRegionGraph:
    """Canonical regions, from large to small, with lifted edges between them.

    Prints itself as a table. The constructor checks in exact integers that the counting numbers
    count every atom and every factor once.
    """

    normal: NormalModel
    family: Family
    regions: tuple[Region, ...]
    messages: tuple[Message, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        self._check_atoms_count_once()
        self._check_factors_count_once()

    # --- exact integers

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """The number of objects of each class."""
        return self.normal.class_sizes

    @cached_property
    def n(self) -> tuple[int, ...]:
        """How many ground regions each canonical region stands for."""
        return tuple(region.count.at(self.class_sizes) for region in self.regions)

    @cached_property
    def kappa(self) -> tuple[int, ...]:
        """How many ground parents a child has through each edge."""
        return tuple(edge.count.at(self.class_sizes) for edge in self.edges)

    @cached_property
    def counting_numbers(self) -> tuple[int, ...]:
        """One minus the counting numbers of the larger ground regions around each region."""
        numbers = [1] * len(self.regions)
        # From large to small, so that a number is final before it is used.
        for larger, region in enumerate(self.regions):
            for smaller, copies in Counter(m.region for m in region.members).items():
                around, remainder = divmod(self.n[larger] * copies, self.n[smaller])
                assert not remainder, "regions of one class lie in equally many larger ones"
                numbers[smaller] -= numbers[larger] * around
        return tuple(numbers)

    @property
    def ground_regions(self) -> int:
        """The number of regions of the ground region graph."""
        return sum(self.n)

    @cached_property
    def atom_counts(self) -> dict[Atom, int]:
        """For each canonical atom that lies in a region, how many ground atoms it stands for."""
        atoms = {canonise((atom,)).cluster[0] for r in self.regions for atom in r.cluster}
        return {
            atom: choose(objects_of([atom]), (), 1).at(self.class_sizes) for atom in sorted(atoms)
        }

    @cached_property
    def atom_of_axis(self) -> tuple[tuple[int, ...], ...]:
        """Per region, which of the canonical atoms in `atom_counts` each of its atoms is."""
        number = {atom: k for k, atom in enumerate(self.atom_counts)}
        return tuple(
            tuple(number[canonise((atom,)).cluster[0]] for atom in region.cluster)
            for region in self.regions
        )

    @cached_property
    def kinds(self) -> tuple[Counter[Atom], ...]:
        """How many atoms of each canonical kind every region has."""
        return tuple(
            Counter(canonise((atom,)).cluster[0] for atom in region.cluster)
            for region in self.regions
        )

    @cached_property
    def edges_into(self) -> tuple[tuple[int, ...], ...]:
        """The edges that end in each region."""
        into: list[list[int]] = [[] for _ in self.regions]
        for number, edge in enumerate(self.edges):
            into[edge.child].append(number)
        return tuple(map(tuple, into))

    def _check_atoms_count_once(self) -> None:
        counted: Counter[Atom] = Counter()
        for region, n, c in zip(self.regions, self.n, self.counting_numbers, strict=True):
            for atom in region.cluster:
                counted[canonise((atom,)).cluster[0]] += n * c
        assert counted == self.atom_counts, "an atom is not counted exactly once"

    def _check_factors_count_once(self) -> None:
        counted: Counter[int] = Counter()
        for region, n, c in zip(self.regions, self.n, self.counting_numbers, strict=True):
            for held in region.held:
                counted[held.parfactor] += n * c
        for number, parfactor in enumerate(self.normal.parfactors):
            swaps = math.prod(math.factorial(len(group)) for group in parfactor.exchangeable)
            factors = choose(objects_of(parfactor.atoms), (), swaps).at(self.class_sizes)
            assert counted[number] == factors, "a factor is not counted exactly once"

    # --- other sizes

    @cached_property
    def stable_from(self) -> tuple[int, ...]:
        """Per class, the size from which on the graph stays the same and only counts change.

        With that many objects any two outer regions can lie apart from each other.
        """
        most = [0] * len(self.class_sizes)
        for region in self.regions:
            for home, count in Counter(home for home, _ in objects_of(region.cluster)).items():
                most[home] = max(most[home], 2 * count)
        return tuple(most)

    def resized(self, normal: NormalModel) -> LiftedRegionGraph:
        """The same graph for the same model over other domain sizes.

        Where the graph would change (a class is or becomes smaller than `stable_from`, a weight
        lets a formula vanish) this is refused; build the regions anew then.
        """
        if not self.fits(normal):
            raise SizeError(
                "the region graph changes between these sizes; it is stable from "
                + ", ".join(
                    f"{c} = {size}"
                    for c, size in zip(self.normal.classes, self.stable_from, strict=True)
                )
            )
        return replace(self, normal=normal)

    def fits(self, normal: NormalModel) -> bool:
        """Whether this is also the graph of another normal form, but for its counts."""

        def stable(sizes: Iterable[int]) -> bool:
            pairs = zip(sizes, self.stable_from, self.normal.classes, strict=True)
            return all(c.constant is not None or size >= least for size, least, c in pairs)

        def shape(one: NormalModel) -> object:
            classes = [(c.sort, c.constant) for c in one.classes]
            return classes, [(p.atoms, p.exchangeable) for p in one.parfactors]

        if shape(normal) != shape(self.normal):
            return False
        same_sizes = normal.class_sizes == self.class_sizes
        return same_sizes or (stable(normal.class_sizes) and stable(self.class_sizes))

    # --- words

    @cached_property
    def _object_prefix(self) -> tuple[str, ...]:
        open_classes = [c for c in self.normal.classes if c.constant is None]
        return tuple("" if len(open_classes) == 1 else c.sort for c in self.normal.classes)

    def atom_text(self, atom: Atom) -> str:
        """An atom in words, with numbers for anonymous objects: `friends(1,2)`."""
        predicate, args = atom
        names = [
            f"{self._object_prefix[home]}{index + 1}" if name is None else constant_text(name)
            for (home, index), name in zip(args, map(self._constant, args), strict=True)
        ]
        return f"{self.normal.predicates[predicate].name}({','.join(names)})"

    def _constant(self, obj: Obj) -> str | None:
        return self.normal.classes[obj[0]].constant

    def region_text(self, number: int) -> str:
        """The atoms of a region in words."""
        return " ".join(self.atom_text(atom) for atom in self.regions[number].cluster)

    def mapping_text(self, number: int) -> str:
        """Which atom of the parent is which atom of the child, for an edge."""
        edge = self.edges[number]
        parent_atoms = self.regions[edge.parent].cluster
        child_atoms = self.regions[edge.child].cluster
        pairs = zip(edge.axes, self.messages[edge.message].axes, strict=True)
        return ", ".join(
            f"{self.atom_text(parent_atoms[there])}→{self.atom_text(child_atoms[here])}"
            for here, there in sorted(pairs)
        )

    def kappa_text(self, number: int) -> str:
        """The κ of an edge as a formula in the class sizes."""
        names = [f"|{c}|" for c in self.normal.classes]
        return self.edges[number].count.text(names)

    def as_dict(self) -> dict[str, object]:
        """The graph for JSON; counts are exact integers."""
        return {
            "model": self.normal.model.name,
            "domains": self.normal.sizes,
            "family": str(self.family),
            "ground_regions": self.ground_regions,
            "regions": [
                {
                    "region": number,
                    "atoms": [self.atom_text(atom) for atom in region.cluster],
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
                    "mapping": self.mapping_text(number),
                    "kappa": self.kappa[number],
                    "kappa_formula": self.kappa_text(number),
                }
                for number, edge in enumerate(self.edges)
            ],
        }

    def __str__(self) -> str:
        sizes = ", ".join(f"{sort}={size}" for sort, size in self.normal.sizes.items())
        lines = [
            f"lifted region graph ({self.family}, {sizes}): {len(self.regions)} regions, "
            f"{len(self.edges)} edges, {self.ground_regions} ground regions"
        ]
        for number, region in enumerate(self.regions):
            parents = ", ".join(
                f"{self.edges[e].parent} × {self.kappa[e]}" for e in self.edges_into[number]
            )
            lines.append(
                f"  {number}{'*' if region.outer else ' '} {self.region_text(number)}   "
                f"n={self.n[number]}  c={self.counting_numbers[number]}  "
                f"parents × κ: {parents or 'none'}"
            )
        return "\n".join(lines)
