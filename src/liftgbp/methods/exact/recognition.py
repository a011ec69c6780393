"""Finds a relation that hard rules make an equivalence or an order, whatever these look like.

What counts is what the rules allow three objects: five of eight symmetric relations are
equivalences, and six of eight tournaments are linear orders. A relation is an equivalence or an
order as soon as it is one on any three objects.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import TypeAlias

import numpy as np

from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import NormalModel, NormalParfactor, Obj, ObjAtom
from liftgbp.lift.signature import objects_of, objects_per_class
from liftgbp.methods.exact.pair_tables import NoCellsError
from liftgbp.methods.exact.related_pairs import RelatedPairs
from liftgbp.methods.exact.structures import STRUCTURES, Values, arrangements
from liftgbp.model.ast import BOOLEAN
from liftgbp.posterior.events import spread_over
from liftgbp.support.arrays import Floats, Ints

MOST_TOGETHER = 4
"""Rules about more objects are left to other methods: five objects are in 541 orders."""

MOST_CLASSES = 9
"""So many classes of objects are looked at: rules about three of them are in hundreds."""

Assigned: TypeAlias = Mapping[tuple[Obj, Obj], Values]
"""The values of a relation between some pairs of objects."""


@dataclass(frozen=True, slots=True)
class BlockRule:
    """A rule about three objects or more that adds `log_weight` where they are in one block.

    `numbers` of them are of each class, in `ways` for each choice of these.
    """

    numbers: Mapping[int, int]
    ways: float
    log_weight: float

    def logs(self, inside: Mapping[int, Ints]) -> Floats:
        """What it adds in blocks with so many objects of each class."""
        chosen = [falling(inside[cls].astype(float), n) for cls, n in self.numbers.items()]
        times = self.ways * np.prod(chosen, axis=0)
        if self.log_weight == -math.inf:
            return np.where(times > 0, -np.inf, 0.0)
        return np.asarray(times * self.log_weight)


@dataclass(frozen=True, eq=False, slots=True)
class Related:
    """A model one of whose relations has a structure.

    `tables` has all rules but those about three objects or more. Beside the structure, these add
    `log_constant` and what `block_rules` say.
    """

    tables: RelatedPairs
    log_constant: float
    block_rules: tuple[BlockRule, ...]


def recognised(normal: NormalModel) -> Related:
    """The relation of a model that has a structure; without one, a `NoCellsError`."""
    large = [own for own in normal.parfactors if len(objects_of(own.atoms)) > 2]
    few = tuple(own for own in normal.parfactors if len(objects_of(own.atoms)) <= 2)
    if all(len(objects_of(own.atoms)) <= MOST_TOGETHER for own in large):
        for predicate in _candidates(normal, large):
            classes = normal.classes_of(normal.predicates[predicate].sorts[0])
            if len(classes) > MOST_CLASSES:
                continue
            for structure in STRUCTURES:
                tables = RelatedPairs(
                    replace(normal, parfactors=few), predicate, structure, classes
                )
                rules = _LargeRules(normal, tables, large)
                if not rules.are_about_pairs:
                    break
                effects = rules.effects if rules.make_structure else None
                if effects is not None:
                    return Related(tables, *effects)
    raise NoCellsError("a formula is about more than two objects")


def _candidates(normal: NormalModel, large: Iterable[NormalParfactor]) -> Iterator[int]:
    """Relations inside one sort about which there is a hard rule on three objects."""
    hard = (own for own in large if np.isneginf(own.log_table).any())
    for predicate in dict.fromkeys(atom[0] for own in hard for atom in own.atoms):
        declared = normal.predicates[predicate]
        if declared.values == BOOLEAN and len(declared.sorts) == 2 and len({*declared.sorts}) == 1:
            yield predicate


@dataclass(frozen=True, eq=False)
class _LargeRules:
    """The rules about three objects and more, beside a structure that a relation may have."""

    normal: NormalModel
    tables: RelatedPairs
    large: Sequence[NormalParfactor]

    @property
    def are_about_pairs(self) -> bool:
        """Whether they are about atoms that other rules are about, too."""
        return all(self.tables.holds(atom) for own in self.large for atom in own.atoms)

    @property
    def make_structure(self) -> bool:
        """Whether the relation has the structure in all possible worlds."""
        classes = self.tables.related_classes
        for two in combinations_with_replacement(classes, 2):
            if not self._values_of(two) <= self.tables.structure.values:
                return False
        return all(
            self._are_forbidden(three, values)
            for three in combinations_with_replacement(classes, 3)
            if self._exist(three)
            for values in product(*map(self._values_of, combinations(three, 2)))
            if values not in self._allowed
        )

    @property
    def effects(self) -> tuple[float, tuple[BlockRule, ...]] | None:
        """What these rules add to a world, and what to each block.

        None if that depends on more than which of their objects are all in one block.
        """
        total, rules = 0.0, list[BlockRule]()
        for own in self.large:
            together, elsewhere = self._values(own, together=True), self._values(own)
            if len(together) > 1 or len(elsewhere) > 1 or -math.inf in elsewhere:
                return None
            (log_weight,) = elsewhere or together or {0.0}
            if log_weight == -math.inf:
                return None
            total += _factors(own, self.normal.class_sizes) * log_weight
            if together and together != elsewhere:
                rules.append(self._block_rule(own, together.pop() - log_weight))
        return total, tuple(rule for rule in rules if rule.log_weight)

    def _values(self, parfactor: NormalParfactor, *, together: bool = False) -> set[float]:
        """The log values of a factor if its objects are all in one block, or if they are not."""
        structure, objects = self.tables.structure, self._related_objects(parfactor)
        pairs = list(combinations(objects, 2))
        found = [
            self._possible(parfactor, dict(zip(pairs, structure.arranged(way), strict=True)))
            for way in arrangements(len(objects), ordered=structure.ordered)
            if together == (len(set(way)) == 1)
        ]
        return set(np.concatenate([np.zeros(0), *found]).tolist())

    def _block_rule(self, parfactor: NormalParfactor, log_weight: float) -> BlockRule:
        numbers = Counter(cls for cls, _ in self._related_objects(parfactor))
        sizes = self.normal.class_sizes
        apart = math.prod(falling(sizes[cls], n) for cls, n in numbers.items())
        return BlockRule(numbers, _factors(parfactor, sizes) / apart, log_weight)

    def _related_objects(self, parfactor: NormalParfactor) -> list[Obj]:
        classes = self.tables.related_classes
        return [obj for obj in objects_of(parfactor.atoms) if obj[0] in classes]

    @cached_property
    def _about_three(self) -> dict[tuple[int, ...], list[NormalParfactor]]:
        """The rules about three objects, by the classes of these."""
        found: dict[tuple[int, ...], list[NormalParfactor]] = {}
        for own in self.large:
            found.setdefault(tuple(cls for cls, _ in objects_of(own.atoms)), []).append(own)
        return found

    @cached_property
    def _allowed(self) -> set[tuple[Values, ...]]:
        """The values between each two of three objects, where these are in blocks."""
        structure = self.tables.structure
        return {structure.arranged(way) for way in arrangements(3, ordered=structure.ordered)}

    def _exist(self, classes: Sequence[int]) -> bool:
        """Whether there are different objects of these classes."""
        return all(classes.count(cls) <= self.normal.class_sizes[cls] for cls in classes)

    def _values_of(self, classes: Sequence[int]) -> set[Values]:
        """The values that the relation may have between two objects of some classes."""
        if not self._exist(classes):
            return set()
        one, other = self.tables.objects(*classes)
        links = [self.tables.link(one, other), self.tables.link(other, one)]
        _, possible = self.tables.possible(one, other, {}, links)
        return {(there, back) for there, back in np.argwhere(possible).tolist()}

    def _are_forbidden(self, classes: Sequence[int], values: Sequence[Values]) -> bool:
        """Whether a rule rules these values out, between each two of three objects."""
        three = [(cls, classes[:k].count(cls)) for k, cls in enumerate(classes)]
        assigned = dict(zip(combinations(three, 2), values, strict=True))
        for own in self._about_three.get(tuple(sorted(classes)), ()):
            objects = objects_of(own.atoms)
            for order in permutations(three):
                if all(one[0] == other[0] for one, other in zip(objects, order, strict=True)):
                    at = dict(zip(order, objects, strict=True))
                    moved = {(at[one], at[other]): own for (one, other), own in assigned.items()}
                    if np.isneginf(self._possible(own, moved)).all():
                        return True
        return False

    def _possible(self, parfactor: NormalParfactor, assigned: Assigned) -> Floats:
        """The log values of a factor in all states that rules about pairs allow, in one row."""
        given: dict[ObjAtom, int] = {}
        for (one, other), (there, back) in assigned.items():
            given |= {self.tables.link(one, other): there, self.tables.link(other, one): back}
        table = parfactor.log_table[tuple(given.get(a, slice(None)) for a in parfactor.atoms)]
        atoms = [atom for atom in parfactor.atoms if atom not in given]
        order = {atom: k for k, atom in enumerate(atoms)}
        allowed = np.ones(table.shape, bool)
        for pair in combinations(objects_of(parfactor.atoms), 2):
            truth = self.tables.possible(*pair, given, atoms)
            allowed = allowed & spread_over(truth, order, table.shape)
        return np.asarray(table[allowed])


def _factors(parfactor: NormalParfactor, sizes: Sequence[int]) -> int:
    """How many ground factors a parfactor has."""
    used = objects_per_class(parfactor.atoms)
    ways = math.prod(falling(sizes[cls], n) for cls, n in used.items())
    return ways // math.prod(math.factorial(len(own)) for own in parfactor.exchangeable)
