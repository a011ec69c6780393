"""Shattering: one parfactor in normal form per way in which variables can coincide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from itertools import chain

import numpy as np

from liftgbp.evidence import Evidence, Problem
from liftgbp.evidence.problem import contradiction
from liftgbp.lift.shatter.assignments import assignments, check_number_of_ways, rule_admits
from liftgbp.lift.shatter.classes import ObjectClasses, object_classes
from liftgbp.lift.shatter.normal import (
    SOFT,
    ClassIndex,
    NormalModel,
    NormalParfactor,
    Obj,
    ObjAtom,
    ObjectClass,
    Observations,
)
from liftgbp.lift.shatter.rule_tables import Labels, LabelTable, RuleTables, symmetric_groups
from liftgbp.lift.shatter.ways import Uncounted, observed, sliced, soft_ways
from liftgbp.model.ast import Rule, SizeOf, TableParfactor, weight_parts
from liftgbp.model.model import Model
from liftgbp.support.arrays import in_units
from liftgbp.support.errors import CapacityError, ContradictionError, checked_number
from liftgbp.support.limits import searching, take_steps

TABLE_CAP = 2**20
FEW_VARIABLES = 4
"""Up to this many variables coincide in few ways, so that the ways need not be counted first."""

STEPS_OF_PARFACTOR = 10
"""What a parfactor takes, in steps of a search."""

REMEDY = "use --via ground, fewer named objects, or formulas with fewer variables"


def shatter(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: Evidence | None = None,
    table_cap: int = TABLE_CAP,
) -> NormalModel:
    """The normal form of a model for these domain sizes, conditioned on evidence about it.

    >>> from liftgbp.model.parser import parse
    >>> model = parse("friends(person, person)\\n1.4 friends(x,y) => friends(y,x)")
    >>> normal = shatter(model, {"person": 3})
    >>> [[atom for atom in p.atoms] for p in normal.parfactors]
    [[(0, ((0, 0), (0, 1))), (0, ((0, 1), (0, 0)))]]
    """
    checked_number("table_cap", table_cap, least=1)
    problem = Problem.of(model, evidence, sizes)
    return Shattering(object_classes(problem), table_cap=table_cap).normal()


class Shattering:
    """What the normal forms of a model for the same domain sizes have in common.

    Its own classes are those that rules and evidence tell apart; they may be split further.
    """

    def __init__(self, objects: ObjectClasses, *, table_cap: int = TABLE_CAP) -> None:
        self.problem = problem = objects.problem
        self.model, self.sizes = problem.model, problem.sizes
        self.classes, self.class_index = objects.classes, objects.index
        self.observations, self.soft = Observations(), tuple[Uncounted, ...]()
        if problem.evidence:
            self.observations = observed(objects)
            self.soft = tuple(soft_ways(objects, self.observations))
        self._cap = table_cap
        self._known_ways: dict[object, tuple[Observations, tuple[Uncounted, ...]]] = {}
        # A table depends on the pattern of equalities alone, not on the classes.
        self._tables = cache(
            lambda number: cache(
                RuleTables(self.model, self.model.rules[number], self.sizes, table_cap)
            )
        )

    def normal(self) -> NormalModel:
        """The normal form over the classes that rules and evidence tell apart."""
        return self.over(self.classes, self.class_index, self.observations, self.soft)

    def over(
        self,
        classes: tuple[ObjectClass, ...],
        class_index: Mapping[str, ClassIndex],
        observations: Observations,
        soft: Iterable[Uncounted],
    ) -> NormalModel:
        """The normal form over these classes, with these atoms observed.

        Calls share their work if they have the same facts about classes and the same small classes.
        """
        sizes = [c.size for c in classes]
        parfactors: dict[object, NormalParfactor] = {}
        constant = 0
        elastic = bool(self.problem.evidence)
        for way in chain(self.ways(classes, observations), soft):
            parfactor = way.parfactor(sizes)
            elastic |= parfactor.elastic
            if parfactor.atoms:
                # Eight variables of p(a) ^ ... ^ p(h) coincide in 4140 ways, over 8 sets of atoms.
                known = parfactors.get(way.scope)
                parfactors[way.scope] = parfactor if known is None else _added(known, parfactor)
            else:
                if parfactor.log_table == -np.inf:
                    raise self._contradiction(parfactor.rule, classes, observations)
                constant += in_units(float(parfactor.log_table)) * parfactor.copies
        return NormalModel(
            problem=self.problem,
            classes=classes,
            class_index=class_index,
            observations=observations,
            predicates=tuple(self.model.predicates.values()),
            parfactors=tuple(parfactors.values()),
            constant_units=constant,
            table_cap=self._cap,
            same_from=None if elastic or not class_index else _most_variables(self.model),
        )

    @cached_property
    def enough(self) -> int:
        """A class with this many objects admits the same ways as any larger one."""
        if any(self.model.scope(rule).quantified for rule in self.model.rules):
            return max(self.sizes.values())
        # One object for each variable, and for each argument of what is observed.
        arguments = (len(p.sorts) for p in self.model.predicates.values())
        return max(_most_variables(self.model), *arguments, 1)

    def ways(
        self, classes: tuple[ObjectClass, ...], observations: Observations
    ) -> tuple[Uncounted, ...]:
        """The parfactors of all rules before they are counted."""
        key = tuple((c.sort, c.constant, c.facts, min(c.size, self.enough)) for c in classes)
        known = self._known_ways.get(key)
        if known is not None and known[0] == observations:
            return known[1]
        named = {(c.sort, c.constant): (k, 0) for k, c in enumerate(classes) if c.constant}
        with searching("shattering the rules", REMEDY):
            ways = tuple(
                way
                for number, rule in enumerate(self.model.rules)
                for way in _RuleShatter(
                    self.model, rule, number, self.sizes, classes, named, self._cap, self._tables
                ).ways(observations)
            )
        self._known_ways[key] = observations, ways
        return ways

    def _contradiction(
        self, number: int, classes: tuple[ObjectClass, ...], observations: Observations
    ) -> ContradictionError:
        if number == SOFT:
            return ContradictionError("an uncertain observation rules out what is observed")
        rule = self.model.rules[number]
        substitution = next(
            way.substitution
            for way in self.ways(classes, observations)
            if way.rule == number and not way.atoms and way.table == -np.inf
        )
        example = {
            name: classes[k].examples[index]
            for name, (k, index) in substitution.items()
            if index < len(classes[k].examples)
        }
        if not self.problem.evidence or len(example) < len(substitution):
            violated = "the evidence violates" if observations else "no world satisfies"
            return ContradictionError(f"{violated} this hard formula", rule.span)
        return contradiction(self.problem, rule, example)


def resize(normal: NormalModel, sizes: Mapping[str, int] | None = None) -> NormalModel:
    """The normal form of the same model and evidence over other sizes.

    What does not depend on sizes is shared; with evidence, nothing is.

    >>> from liftgbp.model.parser import parse
    >>> small = shatter(parse("p(thing)\\n1 p(x) ^ p(y)"), {"thing": 5})
    >>> large = resize(small, {"thing": 10**9})
    >>> large.class_sizes, large.parfactors is small.parfactors
    ((1000000000,), True)
    """
    objects = object_classes(normal.problem.resized(sizes))
    if not _only_counts_change(normal, objects.classes):
        return Shattering(objects, table_cap=normal.table_cap).normal()
    problem, classes = objects.problem, objects.classes
    return replace(normal, problem=problem, classes=classes, class_index=objects.index)


def _only_counts_change(normal: NormalModel, classes: tuple[ObjectClass, ...]) -> bool:
    least = normal.same_from
    if least is None or len(classes) != len(normal.classes):
        return False
    return all(
        (old.sort, old.constant) == (new.sort, new.constant)
        and (old.size == new.size or min(old.size, new.size) >= least)
        for old, new in zip(normal.classes, classes, strict=True)
    )


def _most_variables(model: Model) -> int:
    """The number of objects per class that lets the variables of any rule coincide in all ways."""
    return max((len(model.scope(rule).free) for rule in model.rules), default=0)


class _RuleShatter:
    """The normal parfactors of one rule."""

    def __init__(
        self,
        model: Model,
        rule: Rule,
        number: int,
        sizes: Mapping[str, int],
        classes: tuple[ObjectClass, ...],
        named: Mapping[tuple[str, str], Obj],
        cap: int,
        tables: Callable[[int], Callable[[Labels], LabelTable]],
    ) -> None:
        self._rule = rule
        self._number = number
        self._classes = classes
        scope = model.scope(rule)
        self._sorts, self._variables = scope.sorts, scope.free
        self._quantified = tuple(dict.fromkeys(self._sorts[v.name] for v in scope.quantified))
        self._sized = bool(self._quantified) or _mentions_sizes(rule)
        for sort in self._quantified:
            self._check_expandable(sort, sizes[sort], cap)
        self._constants = {key: named[key] for key in scope.constants}
        self._table = tables(number)

    def _check_expandable(self, sort: str, size: int, cap: int) -> None:
        limit = cap.bit_length() - 1
        if size > limit:
            raise CapacityError(
                f"a quantifier inside this formula expands over the {size} objects of {sort}; "
                f"the table cap allows {limit}; make the sort smaller, raise the cap "
                "(--table-cap) or state the formula without the quantifier",
                self._rule.span,
            )

    def ways(self, observations: Observations) -> Iterator[Uncounted]:
        """One parfactor per way in which the variables can coincide."""
        self._observations = observations
        if len(self._variables) > FEW_VARIABLES:
            self._check_widest()
            check_number_of_ways(self._rule, len(self._variables), self._ways())
        for way in self._ways():
            take_steps()
            if self._admits(way):
                take_steps(STEPS_OF_PARFACTOR)
                yield self._parfactor(way)

    def _ways(self) -> Iterator[dict[str, Obj]]:
        classes = {v: self._classes_of(self._sorts[v]) for v in self._variables}
        sizes = [c.size for c in self._classes] if classes else []
        return assignments(self._variables, classes, sizes, distinct=self._rule.distinct)

    def _check_widest(self) -> None:
        """Refuse a table above the cap before going through all smaller ones."""
        used: Counter[int] = Counter()
        widest: dict[str, Obj] = {}
        for variable in self._variables:
            classes = self._classes_of(self._sorts[variable])
            cls = next((k for k in reversed(classes) if used[k] < self._classes[k].size), None)
            if cls is None:
                return
            widest[variable] = (cls, used[cls])
            used[cls] += 1
        if self._admits(widest):
            self._parfactor(widest)

    def _classes_of(self, sort: str) -> list[int]:
        return [k for k, c in enumerate(self._classes) if c.sort == sort]

    def _admits(self, way: Mapping[str, Obj]) -> bool:
        return rule_admits(self._rule, self._sorts, self._constants, way)

    def _parfactor(self, way: dict[str, Obj]) -> Uncounted:
        others = self._other_objects(way)
        objects = list(dict.fromkeys((*way.values(), *self._constants.values(), *others)))
        label = {obj: k for k, obj in enumerate(objects)}
        label_atoms, table = self._table(
            Labels(
                variables=tuple((name, label[obj]) for name, obj in way.items()),
                constants=tuple((key, label[obj]) for key, obj in self._constants.items()),
                domains=tuple(
                    (sort, tuple(label[o] for o in objects if self._classes[o[0]].sort == sort))
                    for sort in self._quantified
                ),
            )
        )
        atoms: tuple[ObjAtom, ...] = tuple(
            (predicate, tuple(objects[k] for k in args)) for predicate, args in label_atoms
        )
        kept = isinstance(self._rule, TableParfactor) and self._rule.kept
        atoms, table = sliced(atoms, table, self._observations, kept=kept)
        present = {obj for _, args in atoms for obj in args}
        swaps = 1
        groups = _groups(obj for obj in others if obj in present)
        for twins in symmetric_groups(atoms, table, {obj for group in groups for obj in group}):
            # All orders of the twins give the same factor, so it is counted once per set of them.
            swaps *= math.factorial(len(twins))
            groups = (*groups, twins)
        gone = Counter(cls for cls, _ in set(way.values()) - present)
        here = Counter(cls for cls, _ in present)
        return Uncounted(atoms, table, groups, self._number, self._sized, swaps, gone, here, way)

    def _other_objects(self, way: Mapping[str, Obj]) -> list[Obj]:
        """The objects of quantified sorts that are not the value of a free variable."""
        named = set(way.values()) | set(self._constants.values())
        return [
            (k, index)
            for k, c in enumerate(self._classes)
            if c.sort in self._quantified
            for index in range(c.size)
            if (k, index) not in named
        ]


def _added(one: NormalParfactor, other: NormalParfactor) -> NormalParfactor:
    """Two parfactors of a rule over the same atoms as one."""
    elastic = one.elastic or other.elastic
    return replace(one, log_table=one.log_table + other.log_table, elastic=elastic)


def _mentions_sizes(rule: Rule) -> bool:
    weights = rule.potentials if isinstance(rule, TableParfactor) else (rule.weight,)
    parts = (part for weight in weights if weight is not None for part in weight_parts(weight))
    return any(isinstance(part, SizeOf) for part in parts)


def _groups(objects: Iterator[Obj]) -> tuple[tuple[Obj, ...], ...]:
    by_class: dict[int, list[Obj]] = {}
    for obj in objects:
        by_class.setdefault(obj[0], []).append(obj)
    return tuple(tuple(group) for group in by_class.values() if len(group) > 1)
