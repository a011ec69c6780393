"""Evidence as frozen values: objects are numbers, and the facts about a predicate are one array."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import (
    CapacityError,
    ContradictionError,
    EvidenceError,
    SizeError,
    Span,
)
from liftgbp.evidence.computed import check_all_named, computed_facts
from liftgbp.evidence.data_weights import with_numbers
from liftgbp.model.ast import Atom, Constant, Rule, TableParfactor, rule_atoms
from liftgbp.model.model import Model, check_model
from liftgbp.model.writer import ground_atom_text, object_text
from liftgbp.pictures.cards import Shown, count_text, note, table
from liftgbp.pictures.markup import Content

WRITE_OUT_CAP = 10**8

AnyEvidence: TypeAlias = (
    "Evidence | str | os.PathLike[str] | Mapping[str, Any] | Sequence[str | os.PathLike[str] | "
    "Mapping[str, Any]]"
)
"""Evidence, or what `Evidence.of` makes it from."""


@dataclass(frozen=True, eq=False, slots=True)
class Relation:
    """Observed atoms of one predicate.

    Row k says that the atom over the objects `args[k]` has value number `values[k]`; no two rows
    are about the same atom. The objects of a sort are numbered as in `model.constants`.
    """

    args: Ints
    values: Ints

    def __post_init__(self) -> None:
        self.args.setflags(write=False)
        self.values.setflags(write=False)


@dataclass(frozen=True, eq=False, slots=True)
class SoftRelation:
    """Uncertain observations of atoms of one predicate, as factors over single atoms.

    Row k multiplies the weight of each world by exp(log_potentials[k, v]), where v is the value
    that the atom over the objects `args[k]` has in it; -inf rules a value out. No two rows are
    about the same atom, and no atom is also observed with certainty.
    """

    args: Ints
    log_potentials: Floats

    def __post_init__(self) -> None:
        self.args.setflags(write=False)
        self.log_potentials.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Known:
    """A number of unnamed objects, each with these values of unary predicates.

    The objects of different `Known` are different. They are numbered after the named objects of
    their sort, in the order in which they are stated.
    """

    sort: str
    values: tuple[tuple[str, int], ...]
    count: int


@dataclass(frozen=True, eq=False, repr=False)
class Evidence(Shown):
    """What is known about the objects of a model.

    Where weights are data, `model` has rules with numbers, and `read_for` the rules as they were.

    `model` is the model with all objects that evidence names. Atoms of a `closed` predicate that
    are not observed are false; none of its atoms is uncertain. `notes` are for the user to read.
    `places` says where observed atoms (predicate, objects) were stated, for messages. Evidence that
    says nothing at all is false as a truth value.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> facts = "smokes(Anna)\\n0.8 smokes(Bob)\\n!friends(Anna,Bob)"
    >>> evidence = liftgbp.parse_evidence(model, facts)
    >>> evidence
    <Evidence about friends-smokers: 2 facts, 1 uncertain, 0 counted objects>
    >>> sorted(evidence.hard), sorted(evidence.soft)
    (['friends', 'smokes'], ['smokes'])
    """

    model: Model
    hard: Mapping[str, Relation] = field(default_factory=dict)
    soft: Mapping[str, SoftRelation] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    known: tuple[Known, ...] = ()
    notes: tuple[str, ...] = ()
    places: Mapping[tuple[str, tuple[int, ...]], Span] = field(
        default_factory=lambda: MappingProxyType({})
    )
    read_for: Model | None = None
    own_files: tuple[str, ...] = field(default=(), compare=False)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the model and the evidence were read from, which no output replaces."""
        return (*self.model.files, *self.own_files)

    def _headline(self) -> str:
        facts = sum(len(r.values) for name, r in self.hard.items() if self.is_stated(name))
        uncertain = sum(len(relation.args) for relation in self.soft.values())
        counted = sum(known.count for known in self.known)
        parts = [f"{facts} facts", f"{uncertain} uncertain", f"{counted} counted objects"]
        named = sorted(filter(self.is_stated, self.closed))
        closed = f", closed: {', '.join(named)}" if named else ""
        return f"about {self.model.name}: {', '.join(parts)}{closed}"

    def _body(self) -> Iterable[Content]:
        rows = [
            (
                name,
                count_text(len(self.hard[name].values)) if name in self.hard else "",
                count_text(len(self.soft[name].args)) if name in self.soft else "",
                "all others are false" if name in self.closed else "",
            )
            for name in self.model.predicates
            if self.is_stated(name) and (name in {*self.hard, *self.soft} or name in self.closed)
        ]
        yield table(("predicate", "facts", "uncertain facts", ""), rows, numbers=[1, 2])
        if self.known:
            values = self.model.predicates
            counted = [
                (
                    count_text(own.count),
                    own.sort,
                    ", ".join(f"{name} = {values[name].values[k]}" for name, k in own.values),
                )
                for own in self.known
            ]
            yield table(("objects", "sort", "with"), counted, numbers=[0])
        yield from map(note, self.notes)

    def is_stated(self, predicate: str) -> bool:
        """Whether people state facts about a predicate; those of steps and orders are computed."""
        return self.model.predicates[predicate].kind not in ("step", "order")

    def __bool__(self) -> bool:
        return bool(self.hard or self.soft or self.closed or self.known)

    @classmethod
    def of(cls, model: Model, given: AnyEvidence | None = None) -> Evidence:
        """The evidence that is given about a model; without any, what the model itself says.

        It may be given as a text of facts, as the path of a file, or as a mapping from predicates
        to tables and from ground atoms to values. Without any, nothing is observed, and the
        predicates that the model declares closed are closed. Public functions call this first, so
        that evidence is a value of this class further inside.

        >>> import liftgbp
        >>> model = liftgbp.parse("*friends(person,person) \\n smokes(person)")
        >>> sorted(liftgbp.Evidence.of(model).closed)
        ['friends']
        >>> liftgbp.Evidence.of(model, {"friends": [("Anna", "Bob")], "smokes(Anna)": 0.7})
        <Evidence about <text>: 1 facts, 1 uncertain, 0 counted objects, closed: friends>
        """
        check_model(model)
        if given is None:
            enlarged, facts = computed_facts(model, {})
            hard = {name: true_facts(rows) for name, rows in facts.items() if len(rows)}
            return cls(with_numbers(enlarged), hard=hard, closed=closed_in(model), read_for=model)
        if not isinstance(given, Evidence):
            from liftgbp.evidence.read import stated_evidence

            return stated_evidence(model, given)
        if given.model is not model and _statements(given.read_for or given.model) != _statements(
            model
        ):
            raise EvidenceError(
                "the evidence was read for another model, or for other weights; read it again with "
                "this model"
            )
        return given

    def domain_sizes(self, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
        """The size of every sort, checked to be large enough for all named and known objects.

        Every run starts here, so that this also refuses a model that lacks weights.
        """
        self.model.check_weights()
        result = self.model.domain_sizes(sizes)
        check_all_named(self.model, result)
        unnamed = Counter[str]()
        for known in self.known:
            unnamed[known.sort] += known.count
        for sort, count in unnamed.items():
            named = len(self.model.constants(sort))
            if named + count > result[sort]:
                raise SizeError(
                    f"size {result[sort]} is too small for sort {sort}: {count} unnamed objects "
                    f"are known besides {named} named ones; give a size of at least "
                    f"{named + count}, as in -n {sort}={named + count}"
                )
        return result

    def known_blocks(self) -> Iterator[tuple[Known, int]]:
        """Each block of unnamed objects with the number of its first object."""
        following = {sort: len(self.model.constants(sort)) for sort in self.model.sorts}
        for known in self.known:
            if known.count:
                yield known, following[known.sort]
                following[known.sort] += known.count

    def facts(self, sizes: Mapping[str, int] | None = None) -> dict[str, Relation]:
        """The observed atoms of each predicate, including those of unnamed objects.

        >>> import liftgbp
        >>> model = liftgbp.parse("p(person)")
        >>> evidence = liftgbp.load_evidence(model, known=["p(x)=2"])
        >>> evidence.facts({"person": 5})["p"].args.tolist()
        [[0], [1]]
        """
        self.domain_sizes(sizes)
        if sum(known.count for known in self.known) > WRITE_OUT_CAP:
            raise CapacityError(f"cannot list more than {WRITE_OUT_CAP} known objects one by one")
        parts = {name: [relation] for name, relation in self.hard.items()}
        for known, first in self.known_blocks():
            objects = np.arange(first, first + known.count, dtype=np.int64)[:, None]
            for name, value in known.values:
                values = np.full(known.count, value, dtype=np.int64)
                parts.setdefault(name, []).append(Relation(objects, values))
        return {name: _joined(relations) for name, relations in parts.items()}


def _statements(model: Model) -> tuple[object, ...]:
    return model.rules, model.predicates, model.weights


def true_facts(rows: Ints) -> Relation:
    """The relation whose atoms over these objects are true."""
    return Relation(rows, np.ones(len(rows), np.int64))


def closed_in(model: Model) -> frozenset[str]:
    """The predicates that a model declares closed."""
    return frozenset(name for name, predicate in model.predicates.items() if predicate.closed)


def _joined(relations: Sequence[Relation]) -> Relation:
    if len(relations) == 1:
        return relations[0]
    return Relation(
        np.concatenate([relation.args for relation in relations]),
        np.concatenate([relation.values for relation in relations]),
    )


# --- messages about evidence that leaves no possible world


_FACTS_BELOW_QUANTIFIERS = 3


def contradiction(
    evidence: Evidence, rule: Rule, substitution: Mapping[str, int]
) -> ContradictionError:
    """The error for a rule that no values of the unknown atoms satisfy under a substitution."""
    sorts = evidence.model.variable_sorts(rule)
    example = ", ".join(
        f"{name} = {object_text(evidence.model, sorts[name], number)}"
        for name, number in substitution.items()
    )
    known = list(dict.fromkeys(_known_atoms(evidence, rule, substitution)))
    what = "table" if isinstance(rule, TableParfactor) else "hard formula"
    blamed = known or not evidence.closed.isdisjoint(atom.predicate for atom in rule_atoms(rule))
    start = f"the evidence violates this {what}" if blamed else f"no world satisfies this {what}"
    return ContradictionError(
        start + (f" for {example}" if example else "") + (f": {', '.join(known)}" if known else ""),
        rule.span,
    )


def _known_atoms(evidence: Evidence, rule: Rule, substitution: Mapping[str, int]) -> Iterator[str]:
    """The observed atoms of a rule, and where they are stated; only a few below quantifiers."""
    for atom in rule_atoms(rule):
        objects = _objects(evidence, atom, substitution)
        if None in objects:
            for row in _matching_facts(evidence, atom.predicate, objects)[
                :_FACTS_BELOW_QUANTIFIERS
            ]:
                yield from _fact(evidence, atom.predicate, tuple(row))
        else:
            yield from _fact(evidence, atom.predicate, cast("tuple[int, ...]", objects))


def _objects(
    evidence: Evidence, atom: Atom, substitution: Mapping[str, int]
) -> tuple[int | None, ...]:
    """The objects of an atom; `None` for a quantified variable."""
    sorts = evidence.model.predicates[atom.predicate].sorts
    return tuple(
        evidence.model.object_numbers(sort)[term.name]
        if isinstance(term, Constant)
        else substitution.get(term.name)
        for term, sort in zip(atom.args, sorts, strict=True)
    )


def _matching_facts(
    evidence: Evidence, predicate: str, objects: tuple[int | None, ...]
) -> list[list[int]]:
    relation = evidence.hard.get(predicate)
    if relation is None:
        return []
    fits = np.ones(len(relation.args), np.bool_)
    for column, number in zip(relation.args.T, objects, strict=True):
        if number is not None:
            fits &= column == number
    rows: list[list[int]] = relation.args[fits].tolist()
    return rows


def _fact(evidence: Evidence, name: str, objects: tuple[int, ...]) -> Iterator[str]:
    value = _observed(evidence, name, objects)
    if value is not None:
        atom = ground_atom_text(evidence.model, name, objects)
        place = evidence.places.get((name, objects))
        where = f" ({place.source.name}:{place.line}:{place.column})" if place else ""
        yield f"{atom} is {evidence.model.predicates[name].values[value]}{where}"


def _observed(evidence: Evidence, predicate: str, objects: tuple[int, ...]) -> int | None:
    """The number of the value that an atom is known to have."""
    relation = evidence.hard.get(predicate)
    if relation is not None:
        rows = np.flatnonzero((relation.args == objects).all(axis=1))
        if len(rows):
            return int(relation.values[rows[0]])
    for known, first in evidence.known_blocks():
        if predicate in dict(known.values) and first <= objects[0] < first + known.count:
            return dict(known.values)[predicate]
    return 0 if predicate in evidence.closed else None
