"""Classes of interchangeable objects: what rules mention and evidence tells apart.

Two objects share a class if exchanging them leaves all evidence as it is. That is an equivalence:
exchanging a with b and then b with c exchanges a with c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import TypeAlias

import numpy as np

from liftgbp.evidence import Problem
from liftgbp.lift.shatter.normal import ClassIndex, ObjectClass
from liftgbp.model.ast import applied
from liftgbp.model.writer import object_text
from liftgbp.support.arrays import Hashes, Ints, distinct, hash_rows, mix
from liftgbp.support.errors import CapacityError

MOST_CLASSES = 200
"""If evidence distinguishes more classes of a sort than this, grounding is cheaper."""

MOST_EXAMPLES = 6
"""How many members of a class are kept by number, as examples for messages."""

MOST_FACTS = 3
"""The most facts that the description of a class lists."""

Profile: TypeAlias = tuple[tuple[str, int], ...]
"""Values of unary predicates; uncertain observations have negative numbers."""

Fact: TypeAlias = tuple[str, tuple[tuple[str, int], ...], int]
"""A predicate, the objects (sort, number) that it is about, and a value."""


@dataclass(frozen=True, eq=False, slots=True)
class ObjectClasses:
    """The classes of all objects of a problem.

    `index` says for each sort which object belongs to which class.
    """

    problem: Problem
    classes: tuple[ObjectClass, ...]
    index: Mapping[str, ClassIndex]

    def sorts_above(self, size: int) -> list[str]:
        """The sorts with more than so many objects."""
        return [sort for sort, own in self.problem.sizes.items() if own > size]


def object_classes(problem: Problem) -> ObjectClasses:
    """The classes of the objects of all sorts.

    Of each sort, constants that rules mention come first, each alone; then objects that evidence
    tells apart, then all others together.
    """
    facts = _Facts(problem)
    classes: list[ObjectClass] = []
    index: dict[str, ClassIndex] = {}
    for sort, size in problem.sizes.items():
        own = _SortClasses(sort, size, len(classes), facts)
        classes += own.classes
        index[sort] = own.class_index
    return ObjectClasses(problem, tuple(classes), index)


class _Facts:
    """The evidence by object, with values as numbers that can be compared."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.evidence = problem, problem.evidence
        self.sorts = {p.name: p.sorts for p in problem.model.predicates.values()}
        self._soft_number: dict[bytes, int] = {}
        self._relations = [*self._hard(), *self._soft()]

    def _hard(self) -> Iterator[tuple[str, Ints, Ints]]:
        for predicate, relation in self.evidence.hard.items():
            args, values = relation.args, relation.values
            if predicate in self.evidence.closed:
                # Atoms of a closed predicate are false by default.
                args, values = args[values != 0], values[values != 0]
            yield predicate, args, values

    def _soft(self) -> Iterator[tuple[str, Ints, Ints]]:
        for predicate, relation in self.evidence.soft.items():
            numbers = [
                -1 - self._soft_number.setdefault(row.tobytes(), len(self._soft_number))
                for row in relation.log_potentials
            ]
            yield predicate, relation.args, np.array(numbers, dtype=np.int64)

    def profiles(self, sort: str) -> tuple[Ints, Ints, list[Profile]]:
        """Objects with unary facts, for each the number of its profile, and the profiles."""
        unary = [r for r in self._relations if self.sorts[r[0]] == (sort,) and len(r[1])]
        if not unary:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), []
        objects = np.unique(np.concatenate([args[:, 0] for _, args, _ in unary]))
        absent = np.iinfo(np.int64).min
        table = np.full((len(objects), len(unary)), absent)
        for column, (_, args, values) in enumerate(unary):
            table[np.searchsorted(objects, args[:, 0]), column] = values
        rows, number = np.unique(table, axis=0, return_inverse=True)
        profiles = [
            tuple(
                sorted(
                    (predicate, value)
                    for (predicate, _, _), value in zip(unary, row, strict=True)
                    if value != absent
                )
            )
            for row in rows.tolist()
        ]
        return objects, number.ravel(), profiles

    @cached_property
    def about(self) -> dict[tuple[str, int], set[Fact]]:
        """The facts of two and more arguments, by the objects that they are about."""
        found: dict[tuple[str, int], set[Fact]] = {}
        for predicate, args, values in self._relations:
            sorts = self.sorts[predicate]
            if len(sorts) < 2:
                continue
            for row, value in zip(args.tolist(), values.tolist(), strict=True):
                objects = tuple(zip(sorts, row, strict=True))
                for obj in objects:
                    found.setdefault(obj, set()).add((predicate, objects, value))
        return found

    def fewest_classes(self, sort: str, alone: Iterable[int]) -> int:
        """A lower bound on the number of classes of objects that are not alone in any case.

        Objects of one class have the same colour. Two colours with the same hash count as one.
        """
        related = np.zeros(len(self._colours[sort]), dtype=bool)
        for predicate, args, _ in self._relations:
            sorts = self.sorts[predicate]
            for k in range(len(sorts)):
                if len(sorts) > 1 and sorts[k] == sort:
                    related[args[:, k]] = True
        related[[number for number in alone if number < len(related)]] = False
        return len(distinct(self._colours[sort][related]))

    @cached_property
    def _colours(self) -> dict[str, Hashes]:
        """By sort, a hash of what is known of each object.

        In the first round that is where it occurs and how often, in the next also where the objects
        beside it do. Comparing facts one by one takes sixty times as long (1e4 people).
        """
        numbers = dict.fromkeys(self.problem.model.sorts, 0)
        for predicate, args, _ in self._relations:
            for sort, objects in zip(self.sorts[predicate], args.T, strict=True):
                numbers[sort] = max(numbers[sort], 1 + int(objects.max(initial=-1)))
        colours = {sort: np.zeros(number, dtype=np.uint64) for sort, number in numbers.items()}
        for _ in range(2):
            found = {sort: mix(own) for sort, own in colours.items()}
            for which, (predicate, args, values) in enumerate(self._relations):
                sorts = self.sorts[predicate]
                beside = [colours[own][args[:, k]] for k, own in enumerate(sorts)]
                for k, sort in enumerate(sorts):
                    place = np.full(len(args), which), np.full(len(args), k)
                    facts = hash_rows([*place, values, *beside[:k], *beside[k + 1 :]])
                    np.add.at(found[sort], args[:, k], facts)
            colours = found
        return colours

    def text(self, fact: Fact) -> str:
        """A fact about an object in words, with `{}` for the objects that are not named."""
        predicate, objects, value = fact
        model = self.problem.model
        atom = applied(
            predicate, ("{}" if k < 0 else object_text(model, sort, k) for sort, k in objects)
        )
        if value < 0:
            return f"{atom} uncertain"
        return model.predicates[predicate].literal(atom, value)


@dataclass
class _Draft:
    """A class in the making: its members by number, and blocks of numbers without names."""

    members: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int]] = field(default_factory=list)
    facts: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return len(self.members) + sum(stop - start for start, stop in self.blocks)

    @property
    def examples(self) -> tuple[int, ...]:
        counted = chain.from_iterable(range(start, stop) for start, stop in self.blocks)
        return tuple(islice(chain(self.members, counted), MOST_EXAMPLES))


class _SortClasses:
    """The classes of one sort, numbered from `first`."""

    def __init__(self, sort: str, size: int, first: int, facts: _Facts) -> None:
        self._sort = sort
        self._facts = facts
        model = facts.problem.model
        number = model.object_numbers(sort)
        alone = {number[name]: name for name in model.mentioned[sort]}
        drafts = self._by_evidence(alone) if facts.evidence else []
        told_apart = len(alone) + sum(draft.size for draft in drafts)
        self.classes = [ObjectClass(sort, 1, name, examples=(k,)) for k, name in alone.items()]
        self.classes += [ObjectClass(sort, d.size, None, d.facts, d.examples) for d in drafts]
        if size > told_apart:
            others = tuple(islice(_others(alone, drafts, size), MOST_EXAMPLES))
            self.classes.append(ObjectClass(sort, size - told_apart, examples=others))
        self.class_index = self._class_index(alone, drafts, first)

    def _class_index(
        self, alone: Mapping[int, str], drafts: Sequence[_Draft], first: int
    ) -> ClassIndex:
        listed = {number: first + k for k, number in enumerate(alone)}
        blocks: list[tuple[int, int, int]] = []
        for k, draft in enumerate(drafts):
            cls = first + len(alone) + k
            listed.update(dict.fromkeys(draft.members, cls))
            blocks += [(start, stop, cls) for start, stop in draft.blocks]
        return ClassIndex(listed, tuple(sorted(blocks)), first + len(self.classes) - 1)

    # --- what evidence tells apart

    def _by_evidence(self, alone: Mapping[int, str]) -> list[_Draft]:
        self._check_number(self._facts.fewest_classes(self._sort, alone))
        objects, profile_of, profiles = self._facts.profiles(self._sort)
        related = {number for sort, number in self._facts.about if sort == self._sort}
        drafts: dict[Profile, _Draft] = {}
        simple = ~np.isin(objects, [*related, *alone])
        for k, profile in enumerate(profiles):
            members = objects[simple & (profile_of == k)].tolist()
            if members:
                drafts[profile] = _Draft(members, facts=self._words(profile))
        self._add_known(drafts)
        numbers = zip(objects.tolist(), profile_of.tolist(), strict=True)
        also = {number: profiles[k] for number, k in numbers if number in related}
        twins = self._twins(sorted(related - set(alone)), also)
        found = sorted((*drafts.values(), *twins), key=lambda draft: draft.examples[0])
        self._check_number(len(found))
        return found

    def _add_known(self, drafts: dict[Profile, _Draft]) -> None:
        for known, start in self._facts.problem.known_blocks():
            if known.sort == self._sort:
                profile = tuple(sorted(known.values))
                draft = drafts.setdefault(profile, _Draft(facts=self._words(profile)))
                draft.blocks.append((start, start + known.count))

    def _twins(self, objects: Sequence[int], profile: Mapping[int, Profile]) -> list[_Draft]:
        """Classes of the objects that facts relate to others."""
        about = self._facts.about
        by_outline: dict[object, list[_Draft]] = {}
        drafts: list[_Draft] = []
        for number in objects:
            own = about[self._sort, number]
            outline = (profile.get(number, ()), _outline(own, (self._sort, number)))
            alike = by_outline.setdefault(outline, [])
            draft = next((d for d in alike if self._swap(d.members[0], number)), None)
            if draft is None:
                draft = _Draft(facts=self._words(profile.get(number, ()), self._seen(own, number)))
                alike.append(draft)
                drafts.append(draft)
                self._check_number(len(drafts))
            draft.members.append(number)
        return drafts

    def _swap(self, one: int, other: int) -> bool:
        """Whether exchanging two objects leaves all facts as they are."""
        a, b = (self._sort, one), (self._sort, other)
        exchange = {a: b, b: a}
        moved = {
            (predicate, tuple(exchange.get(o, o) for o in objects), value)
            for predicate, objects, value in self._facts.about[a]
        }
        return moved == self._facts.about[b]

    def _check_number(self, classes: int) -> None:
        if classes > MOST_CLASSES:
            raise CapacityError(
                f"the evidence distinguishes more than {MOST_CLASSES} classes of objects of "
                f"{self._sort}, too many to lift; ground the model instead (--via ground)"
            )

    # --- words

    def _seen(self, facts: Iterable[Fact], number: int) -> list[Fact]:
        """Facts with the object itself left blank."""
        own = (self._sort, number)
        blank = (self._sort, -1)
        return sorted(
            (p, tuple(blank if o == own else o for o in objects), v) for p, objects, v in facts
        )

    def _words(self, profile: Profile, related: Sequence[Fact] = ()) -> tuple[str, ...]:
        blank = ((self._sort, -1),)
        facts = [*((predicate, blank, value) for predicate, value in profile), *related]
        words = [self._facts.text(fact) for fact in facts[:MOST_FACTS]]
        if len(facts) > MOST_FACTS:
            more = len(facts) - MOST_FACTS
            words.append(f"{more} more fact{'s' * (more > 1)}")
        return tuple(words)


def _others(alone: Mapping[int, str], drafts: Sequence[_Draft], size: int) -> Iterator[int]:
    """The objects that neither rules nor evidence tell apart, by number."""
    taken = set(alone).union(*(draft.members for draft in drafts))
    blocks = sorted(block for draft in drafts for block in draft.blocks)
    number = 0
    while number < size:
        past = next((stop for start, stop in blocks if start <= number < stop), None)
        if past is None and number not in taken:
            yield number
        number = number + 1 if past is None else past


def _outline(facts: Iterable[Fact], own: tuple[str, int]) -> tuple[object, ...]:
    """What a swap cannot change about the facts of an object."""
    return tuple(
        sorted((p, tuple(o == own for o in objects), value) for p, objects, value in facts)
    )
