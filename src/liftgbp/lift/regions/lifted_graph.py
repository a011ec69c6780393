"""The lifted region graph: canonical regions, lifted edges, and their exact counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from operator import and_

import numpy as np

from liftgbp.lift.regions.atom_bounds import (
    AlikeAtoms,
    Choice,
    OrderStep,
    Pair,
    alike_atoms,
    order_steps,
)
from liftgbp.lift.regions.counts import Count, ExactCounts, choose
from liftgbp.lift.regions.region_graph import MOST_OBJECTS, RegionGraph, Sketch
from liftgbp.lift.shatter import NormalModel
from liftgbp.lift.shatter.normal import SOFT
from liftgbp.lift.signature import Atom, Obj, canonise, objects_of, objects_per_class
from liftgbp.model.ast import applied
from liftgbp.model.writer import constant_text
from liftgbp.pictures.cards import shortened
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import ContradictionError, SizeError

LONGEST_NAME = 12
"""Names of objects in drawings are cut off after this many letters."""


@dataclass(frozen=True, repr=False)
class LiftedRegionGraph(RegionGraph):
    """The region graph of a model in normal form: regions are clusters up to renaming of objects.

    Prints itself as a table. The constructor checks in exact integers that the counting numbers
    count every atom and every factor once.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> graph = liftgbp.prepare(model, {"person": 20}).graph
    >>> graph.n, graph.counting_numbers, graph.kappa
    ((380, 190, 20), (1, -1, -18), (1, 1, 19))
    """

    normal: NormalModel

    def __post_init__(self) -> None:
        _ = self.exact  # checks itself

    # --- exact integers

    @property
    def class_sizes(self) -> tuple[int, ...]:
        """The number of objects of each class."""
        return self.normal.class_sizes

    @cached_property
    def exact(self) -> ExactCounts[int]:
        """All counts at these class sizes."""
        return ExactCounts(self, self.class_sizes, 1)

    @property
    def n(self) -> tuple[int, ...]:
        """How many ground regions each canonical region stands for."""
        return self.exact.n

    @property
    def kappa(self) -> tuple[int, ...]:
        """How many ground parents a child has through each edge."""
        return self.exact.kappa

    @property
    def counting_numbers(self) -> tuple[int, ...]:
        """One minus the counting numbers of the larger ground regions around each region."""
        return self.exact.counting_numbers

    @property
    def weights(self) -> tuple[int, ...]:
        """How often each region counts in the free energy."""
        return self.exact.weights

    @property
    def atom_counts(self) -> dict[Atom, int]:
        """For each canonical atom that lies in a region, how many ground atoms it stands for."""
        return self.exact.atom_counts

    @cached_property
    def atom_formulas(self) -> dict[Atom, Count]:
        """For each canonical atom that lies in a region, how many ground atoms it stands for."""
        atoms = {atom for own in self.kinds for atom in own}
        return {atom: choose(objects_of([atom]), (), 1) for atom in sorted(atoms)}

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

    @property
    def numbers_of_atoms(self) -> tuple[int, ...]:
        """For each kind of atom in the regions, how many ground atoms there are."""
        return tuple(self.atom_counts.values())

    @property
    def group_of_atom(self) -> tuple[int, ...]:
        """For each kind of atom its predicate."""
        return tuple(predicate for predicate, _ in self.atom_counts)

    @property
    def free_atoms(self) -> Mapping[int, int]:
        """How many unobserved ground atoms lie in no region, by their number of values."""
        return self.exact.free_atoms

    @cached_property
    def atom_order(self) -> tuple[OrderStep, ...]:
        """An order of all ground atoms, step by step."""
        outer = {k: region for k, region in enumerate(self.regions) if region.outer}
        return order_steps(
            self.atom_counts,
            {k: region.cluster for k, region in outer.items()},
            {k: region.symmetries for k, region in outer.items()},
            self.class_sizes,
        )

    @property
    def order_choices(self) -> tuple[tuple[Choice, ...], ...]:
        """For each step of an order of all ground atoms, what its atoms may be conditioned on."""
        return tuple(step.choices for step in self.atom_order)

    @property
    def order_counts(self) -> tuple[int, ...]:
        """How many ground atoms each step of the order has."""
        return self.exact.order_counts

    @cached_property
    def alike_kinds(self) -> tuple[AlikeAtoms, ...]:
        """The kinds of ground atoms that can be exchanged."""
        # Small regions first: their tables are read faster.
        return alike_atoms((k, self.regions[k].cluster) for k in reversed(range(len(self.regions))))

    @property
    def alike_pairs(self) -> tuple[Pair, ...]:
        """For each kind of exchangeable ground atoms, a region with two of them."""
        return tuple(alike.pair for alike in self.alike_kinds)

    @property
    def alike_counts(self) -> tuple[int, ...]:
        """How many atoms of each kind can be exchanged for one another."""
        return self.exact.alike_counts

    @property
    def factor_counts(self) -> tuple[int, ...]:
        """For each parfactor how many ground factors it stands for."""
        return self.exact.factor_counts

    @cached_property
    def factor_formulas(self) -> tuple[Count, ...]:
        """For each parfactor how many ground factors it stands for."""
        return tuple(
            choose(
                objects_of(parfactor.atoms),
                (),
                math.prod(math.factorial(len(group)) for group in parfactor.exchangeable),
            )
            for parfactor in self.normal.parfactors
        )

    # --- tables

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Per region, the number of values of each of its atoms."""
        ranges = self.normal.ranges
        return tuple(tuple(ranges[predicate] for predicate, _ in r.cluster) for r in self.regions)

    def log_table(self, parfactor: int) -> Floats:
        """The table of a parfactor."""
        return self.normal.parfactors[parfactor].log_table

    @property
    def log_constant(self) -> float:
        """What factors without atoms add to log Z."""
        return self.normal.log_constant

    def contradiction(self) -> ContradictionError:
        """The error to raise when hard formulas leave a region no state."""
        normal = self.normal
        numbers = {p.rule for p in normal.parfactors if np.isneginf(p.log_table).any()} - {SOFT}
        hard = [normal.model.rules[number] for number in sorted(numbers)]
        texts = "; ".join(" ".join(r.span.text.split()) for r in hard if r.span is not None)
        return ContradictionError(
            "the hard formulas contradict each other"
            + (" under this evidence" if normal.observations else "")
            + ": no world satisfies all of "
            + (texts or f"the {len(hard)} hard rules"),
            hard[-1].span,
        )

    # --- other sizes

    @cached_property
    def stable_from(self) -> tuple[int, ...]:
        """Per class, the size from which on the graph stays the same and only counts change.

        With that many objects any two outer regions can lie apart from each other.
        """
        most = [0] * len(self.class_sizes)
        for region in self.regions:
            for cls, count in objects_per_class(region.cluster).items():
                most[cls] = max(most[cls], 2 * count)
        return tuple(most)

    def resized(self, normal: NormalModel) -> LiftedRegionGraph:
        """The same graph for the same model over other domain sizes.

        Where the graph would change (a class is or becomes smaller than `stable_from`, a weight
        makes a formula vanish) this raises a `SizeError`; build the regions again in that case.
        """
        if not self.fits(normal):
            raise SizeError(
                "the region graph changes between these sizes; it is stable from "
                + ", ".join(
                    f"{c} = {size}"
                    for c, size in zip(self.normal.classes, self.stable_from, strict=True)
                )
            )
        resized = copy(self)
        object.__setattr__(resized, "normal", normal)
        # All else that was derived from the graph holds for any sizes, and is kept.
        vars(resized).pop("exact")
        resized.__post_init__()
        return resized

    def fits(self, normal: NormalModel) -> bool:
        """Whether another normal form has the same graph, apart from counts."""
        return _same_factors(normal, self.normal) and self.is_stable_at(normal.class_sizes)

    def is_stable_at(self, class_sizes: Sequence[int]) -> bool:
        """Whether nothing but counts changes if the classes have these sizes."""
        return self.stable_among([class_sizes])[0]

    def stable_among(self, sizes: Sequence[Sequence[int]]) -> list[bool]:
        """For each of many sizes of all classes, whether nothing but counts changes there."""
        stable = [True] * len(sizes)
        columns = zip(zip(*sizes, strict=True), self.class_sizes, self.stable_from, strict=True)
        for column, own, least in columns:
            if min(own, *column) < least:
                fits = (size == own or min(size, own) >= least for size in column)
                stable = list(map(and_, stable, fits))
        return stable

    def alike(self, other: LiftedRegionGraph) -> bool:
        """Whether two graphs differ in nothing but counts, so that one layout serves both."""
        return (
            _same_factors(self.normal, other.normal)
            and self.regions == other.regions
            and self.messages == other.messages
            and self.edges == other.edges
            # In small domains the order of all atoms may have fewer steps.
            and self.order_choices == other.order_choices
            and self.alike_pairs == other.alike_pairs
        )

    # --- words

    @cached_property
    def _object_prefix(self) -> tuple[str, ...]:
        open_classes = [c for c in self.normal.classes if c.constant is None]
        if len(open_classes) == 1:
            return ("",) * len(self.normal.classes)
        per_sort = Counter(c.sort for c in open_classes)
        seen: Counter[str] = Counter()
        prefixes: list[str] = []
        for own in self.normal.classes:
            # Classes of one sort are told apart by letters: person_a1, person_b1.
            letters = _letters(seen[own.sort]) if per_sort[own.sort] > 1 else ""
            prefixes.append(f"{own.sort}_{letters}" if letters else own.sort)
            seen[own.sort] += own.constant is None
        return tuple(prefixes)

    def atom_text(self, atom: Atom) -> str:
        """An atom in words, with numbers for anonymous objects: `friends(1,2)`."""
        predicate, args = atom
        return applied(self.normal.predicates[predicate].name, map(self._object_text, args))

    def _object_text(self, obj: Obj) -> str:
        name = self.normal.classes[obj[0]].constant
        number = f"{self._object_prefix[obj[0]]}{obj[1] + 1}"
        return number if name is None else constant_text(name)

    def sketch(self, number: int) -> Sketch | None:
        """The signature graph of a region: its objects, and which atoms relate them."""
        cluster = self.regions[number].cluster
        objects = list(objects_of(cluster))
        if not objects or len(objects) > MOST_OBJECTS:
            return None
        place = {obj: k for k, obj in enumerate(sorted(objects))}
        arrows: list[tuple[int, int, str]] = []
        unary: list[list[str]] = [[] for _ in objects]
        for predicate, args in cluster:
            name = self.normal.predicates[predicate].name
            different = dict.fromkeys(args)
            if len(different) == 1:
                own = name if len(args) == 1 else self.atom_text((predicate, args))
                unary[place[args[0]]].append(own)
            elif len(args) == 2:
                arrows.append((place[args[0]], place[args[1]], name))
            else:
                return None
        names = [shortened(self._object_text(obj), LONGEST_NAME) for obj in place]
        return Sketch(tuple(names), tuple(arrows), tuple(map(tuple, unary)))

    @property
    def atoms_in_words(self) -> list[list[str]]:
        """The atoms of each region in words."""
        return [[self.atom_text(atom) for atom in region.cluster] for region in self.regions]

    def region_text(self, number: int) -> str:
        """The atoms of a region in words."""
        return " ".join(self.atom_text(atom) for atom in self.regions[number].cluster)

    def kappa_text(self, number: int) -> str:
        """The κ of an edge as a formula in the class sizes."""
        names = [f"|{c}|" for c in self.normal.classes]
        return self.edges[number].count.text(names)

    def as_dict(self) -> dict[str, object]:
        """The graph for JSON; counts are exact integers."""
        return {
            "model": self.normal.model.name,
            "domains": self.normal.sizes,
            **self.described(self.atoms_in_words),
        }

    @property
    def title(self) -> str:
        """What kind of graph this is, and over which domains."""
        sizes = ", ".join(f"{sort}={size}" for sort, size in self.normal.sizes.items())
        return f"lifted region graph ({self.family}, {sizes})"


def _same_factors(one: NormalModel, other: NormalModel) -> bool:
    """Whether two normal forms differ in nothing but sizes and tables."""

    def shape(normal: NormalModel) -> object:
        classes = [(c.sort, c.constant, c.facts) for c in normal.classes]
        factors = [(p.atoms, p.exchangeable) for p in normal.parfactors]
        return classes, normal.observations, factors

    return shape(one) == shape(other)


def _letters(number: int) -> str:
    """Names for numbers: a to z, then aa, ab and so on."""
    text = chr(ord("a") + number % 26)
    return _letters(number // 26 - 1) + text if number >= 26 else text
