"""Shattering: one parfactor in normal form per way in which variables can coincide."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np

from liftgbp.errors import CapacityError, ContradictionError
from liftgbp.evidence import Evidence
from liftgbp.model.ast import Constant, Rule, SizeOf, TableParfactor, Term, weight_parts
from liftgbp.model.model import Model
from liftgbp.model.scopes import free_variables, quantified_variables
from liftgbp.shatter.classes import object_classes
from liftgbp.shatter.normal import (
    NormalModel,
    NormalParfactor,
    Obj,
    ObjAtom,
    ObjectClass,
    Observations,
)
from liftgbp.shatter.observe import observed, sliced, soft_parfactors
from liftgbp.shatter.partitions import admits, assignments, falling
from liftgbp.shatter.symmetry import symmetric_groups
from liftgbp.shatter.tables import Labels, RuleTables

TABLE_CAP = 2**20
FEW_VARIABLES = 4
"""So many variables have few ways to coincide, and need no estimate of how many."""

MOST_WAYS = 20_000
"""The most ways in which the variables of one rule may coincide."""


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
    if evidence is None:
        domain_sizes = model.domain_sizes(sizes)
    else:
        model, domain_sizes = evidence.model, evidence.domain_sizes(sizes)
    classes, homes = object_classes(model, domain_sizes, evidence)
    observations = (
        Observations() if evidence is None else observed(evidence, classes, homes, domain_sizes)
    )
    parfactors: list[NormalParfactor] = []
    log_constant = 0.0
    elastic = evidence is not None
    for number, rule in enumerate(model.rules):
        shattered = _RuleShatter(model, rule, number, domain_sizes, classes, table_cap)
        for parfactor in shattered.parfactors(observations):
            elastic |= parfactor.elastic
            if parfactor.atoms:
                parfactors.append(parfactor)
            else:
                log_constant += float(parfactor.log_table)
                _check_possible(log_constant, rule, observations)
    if evidence is not None:
        for parfactor in soft_parfactors(evidence, classes, homes, observations):
            if parfactor.atoms:
                parfactors.append(parfactor)
            else:
                log_constant += float(parfactor.log_table)
    return NormalModel(
        model=model,
        sizes=domain_sizes,
        classes=classes,
        homes=homes,
        observations=observations,
        predicates=tuple(model.predicates.values()),
        parfactors=tuple(parfactors),
        log_constant=log_constant,
        table_cap=table_cap,
        same_from=None if elastic else _most_variables(model),
    )


def resize(normal: NormalModel, sizes: Mapping[str, int] | None = None) -> NormalModel:
    """The normal form of a model without evidence over other sizes.

    What does not depend on sizes is shared.

    >>> from liftgbp.model.parser import parse
    >>> small = shatter(parse("p(thing)\\n1 p(x) ^ p(y)"), {"thing": 5})
    >>> large = resize(small, {"thing": 10**9})
    >>> large.class_sizes, large.parfactors is small.parfactors
    ((1000000000,), True)
    """
    domain_sizes = normal.model.domain_sizes(sizes)
    classes, homes = object_classes(normal.model, domain_sizes)
    if not _only_counts_change(normal, classes):
        return shatter(normal.model, sizes, table_cap=normal.table_cap)
    return replace(normal, sizes=domain_sizes, classes=classes, homes=homes)


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
    """With so many objects in each class, the variables of a rule can coincide in all ways."""
    return max((len(free_variables(rule)) for rule in model.rules), default=0)


def _check_possible(log_constant: float, rule: Rule, observations: Observations) -> None:
    if log_constant == -np.inf:
        raise ContradictionError(
            "the evidence violates this hard formula"
            if observations
            else "no world satisfies this hard formula",
            rule.span,
        )


class _RuleShatter:
    """The normal parfactors of one rule."""

    def __init__(
        self,
        model: Model,
        rule: Rule,
        number: int,
        sizes: Mapping[str, int],
        classes: tuple[ObjectClass, ...],
        cap: int,
    ) -> None:
        self._rule = rule
        self._number = number
        self._classes = classes
        self._sizes = [c.size for c in classes]
        self._sorts = model.variable_sorts(rule)
        self._variables = free_variables(rule)
        self._quantified = tuple(
            dict.fromkeys(self._sorts[v.name] for v in quantified_variables(rule))
        )
        self._sized = bool(self._quantified) or _mentions_sizes(rule)
        for sort in self._quantified:
            self._check_expandable(sort, sizes[sort], cap)
        self._constants: dict[tuple[str, str], Obj] = {
            (c.sort, c.constant): (k, 0) for k, c in enumerate(classes) if c.constant is not None
        }
        # A table depends on the pattern of equalities alone, not on the classes.
        self._table = cache(RuleTables(model, rule, sizes, cap))

    def _check_expandable(self, sort: str, size: int, cap: int) -> None:
        limit = cap.bit_length() - 1
        if size > limit:
            raise CapacityError(
                f"a quantifier inside this formula expands over the {size} objects of {sort}; "
                f"the table cap allows {limit}; make the sort smaller, raise the cap "
                "(--table-cap) or state the formula without the quantifier",
                self._rule.span,
            )

    def parfactors(self, observations: Observations) -> Iterator[NormalParfactor]:
        """One parfactor per way in which the variables can coincide."""
        self._observations = observations
        if len(self._variables) > FEW_VARIABLES:
            self._check_widest()
            self._check_number_of_ways()
        for way in self._ways():
            if self._admits(way):
                yield self._parfactor(way)

    def _ways(self) -> Iterator[dict[str, Obj]]:
        homes = {v: self._homes(self._sorts[v]) for v in self._variables}
        return assignments(self._variables, homes, self._sizes, distinct=self._rule.distinct)

    def _check_widest(self) -> None:
        """Refuse a table above the cap before going through all smaller ones."""
        used: Counter[int] = Counter()
        widest: dict[str, Obj] = {}
        for variable in self._variables:
            homes = self._homes(self._sorts[variable])
            home = next((k for k in reversed(homes) if used[k] < self._sizes[k]), None)
            if home is None:
                return
            widest[variable] = (home, used[home])
            used[home] += 1
        if self._admits(widest):
            self._parfactor(widest)

    def _check_number_of_ways(self) -> None:
        if sum(1 for _ in islice(self._ways(), MOST_WAYS + 1)) > MOST_WAYS:
            raise CapacityError(
                f"the {len(self._variables)} variables of this formula can coincide in more than "
                f"{MOST_WAYS} ways, above the cap; add '| distinct' or use fewer variables",
                self._rule.span,
            )

    def _homes(self, sort: str) -> list[int]:
        return [k for k, c in enumerate(self._classes) if c.sort == sort]

    def _admits(self, way: Mapping[str, Obj]) -> bool:
        return admits(self._rule.restrictions, lambda term, other: self._object(term, other, way))

    def _object(self, term: Term, other: Term, way: Mapping[str, Obj]) -> Obj:
        """The object of a term; a constant has the sort of what it is compared with."""
        if isinstance(term, Constant):
            return self._constants[self._sorts[other.name], term.name]
        return way[term.name]

    def _parfactor(self, way: dict[str, Obj]) -> NormalParfactor:
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
        atoms, table = sliced(atoms, table, self._observations)
        present = {obj for _, args in atoms for obj in args}
        copies = self._copies(way, present)
        groups = _groups(obj for obj in others if obj in present)
        for twins in symmetric_groups(atoms, table, {obj for group in groups for obj in group}):
            # All orders of the twins give the same factor: one set stands for them.
            copies *= math.factorial(len(twins))
            groups = (*groups, twins)
        elastic = self._sized or not present.issuperset(way.values())
        return NormalParfactor(atoms, table * float(copies), groups, self._number, elastic)

    def _other_objects(self, way: Mapping[str, Obj]) -> list[Obj]:
        """The objects of quantified sorts that no free variable stands for."""
        named = set(way.values()) | set(self._constants.values())
        return [
            (k, index)
            for k, c in enumerate(self._classes)
            if c.sort in self._quantified
            for index in range(c.size)
            if (k, index) not in named
        ]

    def _copies(self, way: Mapping[str, Obj], present: set[Obj]) -> int:
        """How many substitutions give the same factor: variables that left the scope are free."""
        copies = 1
        gone = set(way.values()) - present
        for k, c in enumerate(self._classes):
            here = sum(1 for home, _ in present if home == k)
            copies *= falling(c.size - here, sum(1 for home, _ in gone if home == k))
        return copies


def _mentions_sizes(rule: Rule) -> bool:
    weights = rule.potentials if isinstance(rule, TableParfactor) else (rule.weight,)
    parts = (part for weight in weights if weight is not None for part in weight_parts(weight))
    return any(isinstance(part, SizeOf) for part in parts)


def _groups(objects: Iterator[Obj]) -> tuple[tuple[Obj, ...], ...]:
    by_class: dict[int, list[Obj]] = {}
    for obj in objects:
        by_class.setdefault(obj[0], []).append(obj)
    return tuple(tuple(group) for group in by_class.values() if len(group) > 1)
