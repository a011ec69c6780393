"""Evidence as frozen values: objects are numbers, and the facts about a predicate are one array."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from liftgbp.evidence.stated_facts import FactFile, Origin, unknown_predicate
from liftgbp.model.model import Model, check_model
from liftgbp.model.writer import predicate_text
from liftgbp.pictures.cards import Shown, count_text, note, table
from liftgbp.pictures.markup import Content
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.errors import EvidenceError, Span

AnyEvidence: TypeAlias = (
    "Evidence | str | os.PathLike[str] | Mapping[str, Any] | Sequence[str | os.PathLike[str] | "
    "Mapping[str, Any]]"
)
"""Evidence, or what `Evidence.of` makes it from."""


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """Atoms of one predicate, no two of them alike.

    Row k is about the atom over the objects `args[k]`; `places[k]` says where it was stated: the
    number of an origin, and the row there.
    """

    args: Ints
    places: Ints | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for array in self._arrays().values():
            array.setflags(write=False)

    def take(self, rows: Ints) -> Self:
        """Some of the facts."""
        return replace(self, **{name: array[rows] for name, array in self._arrays().items()})

    def joined(self, *others: Self) -> Self:
        """These facts, then others."""
        every: dict[str, Any] = {}
        for name in self._arrays():
            parts = [getattr(facts, name) for facts in (self, *others)]
            every[name] = None if any(part is None for part in parts) else np.concatenate(parts)
        return replace(self, **every)

    def _arrays(self) -> dict[str, Any]:
        arrays = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: array for name, array in arrays if array is not None}


@dataclass(frozen=True, eq=False, slots=True)
class Relation(Facts):
    """Observed atoms of one predicate; that of row k has value number `values[k]`."""

    values: Ints


@dataclass(frozen=True, eq=False, slots=True)
class SoftRelation(Facts):
    """Uncertain observations of atoms of one predicate, as factors over single atoms.

    Row k multiplies the weight of each world by exp(log_potentials[k, v]), where v is the value
    that its atom has in it; -inf rules a value out. No atom is also observed with certainty.
    """

    log_potentials: Floats


AnyFacts = TypeVar("AnyFacts", bound=Facts)


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
    """What is known about objects, for all models with the same predicates.

    It depends on neither weights nor formulas. `vocabulary` is the model that it was read for,
    without its rules. Facts number the objects of a sort as `names` lists them, and unnamed ones
    after these. Atoms of a `closed` predicate that are not observed are false; none of its atoms is
    uncertain. `notes` are for the user to read. Evidence that says nothing at all is false as a
    truth value.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> facts = "smokes(Anna)\\n0.8 smokes(Bob)\\n!friends(Anna,Bob)"
    >>> evidence = liftgbp.parse_evidence(model, facts)
    >>> evidence
    <Evidence about friends-smokers: 2 facts, 1 uncertain, 0 counted objects>
    >>> sorted(evidence.hard), sorted(evidence.soft)
    (['friends', 'smokes'], ['smokes'])
    """

    vocabulary: Model
    hard: Mapping[str, Relation] = field(default_factory=dict)
    soft: Mapping[str, SoftRelation] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    known: tuple[Known, ...] = ()
    notes: tuple[str, ...] = ()
    names: Mapping[str, tuple[str, ...]] = None  # type: ignore[assignment]
    origins: tuple[Origin, ...] = ()
    files: tuple[str, ...] = ()
    """The files that it was read from, which no output replaces."""

    def __post_init__(self) -> None:
        if self.names is None:
            names = {sort: self.vocabulary.constants(sort) for sort in self.vocabulary.sorts}
            object.__setattr__(self, "names", names)

    def _headline(self) -> str:
        facts = sum(len(r.args) for name, r in self.hard.items() if self._is_stated(name))
        uncertain = sum(len(relation.args) for relation in self.soft.values())
        objects = sum(known.count for known in self.known)
        parts = [f"{facts} facts", f"{uncertain} uncertain", f"{objects} counted objects"]
        named = sorted(filter(self._is_stated, self.closed))
        closed = f", closed: {', '.join(named)}" if named else ""
        return f"about {self.vocabulary.name}: {', '.join(parts)}{closed}"

    def _is_stated(self, predicate: str) -> bool:
        return self.vocabulary.predicates[predicate].is_stated

    def _body(self) -> Iterable[Content]:
        predicates = self.vocabulary.predicates
        rows = [
            (
                name,
                count_text(len(self.hard[name].values)) if name in self.hard else "",
                count_text(len(self.soft[name].args)) if name in self.soft else "",
                "all others are false" if name in self.closed else "",
            )
            for name in predicates
            if name in {*self.hard, *self.soft, *filter(self._is_stated, self.closed)}
        ]
        yield table(("predicate", "facts", "uncertain facts", ""), rows, numbers=[1, 2])
        if self.known:
            objects = [
                (
                    count_text(known.count),
                    known.sort,
                    ", ".join(f"{name} = {predicates[name].values[k]}" for name, k in known.values),
                )
                for known in self.known
            ]
            yield table(("objects", "sort", "with"), objects, numbers=[0])
        yield from map(note, self.notes)

    def __bool__(self) -> bool:
        return bool(self.hard or self.soft or self.closed or self.known)

    @classmethod
    def of(cls, model: Model, given: AnyEvidence | None = None) -> Evidence:
        """The evidence that is given about a model; without any, what the model itself says.

        It may be given as a text of facts, as the path of a file, or as a mapping from predicates
        to tables and from ground atoms to values. Without any, nothing is observed, and the
        predicates that the model declares closed are closed. Evidence that was read for another
        model is refused if that declares a predicate with facts in another way.

        >>> import liftgbp
        >>> model = liftgbp.parse("*friends(person,person) \\n smokes(person)")
        >>> sorted(liftgbp.Evidence.of(model).closed)
        ['friends']
        >>> liftgbp.Evidence.of(model, {"friends": [("Anna", "Bob")], "smokes(Anna)": 0.7})
        <Evidence about <text>: 1 facts, 1 uncertain, 0 counted objects, closed: friends>
        """
        check_model(model)
        if given is None:
            return cls(vocabulary_of(model), closed=model.closed, names={})
        if not isinstance(given, Evidence):
            from liftgbp.evidence.read import stated_evidence

            return stated_evidence(model, given)
        given._check_fits(model)
        return given

    def _check_fits(self, model: Model) -> None:
        """Refuse a model that lacks what the evidence is about, or declares it in another way."""
        check_model(model)
        if model.predicates is self.vocabulary.predicates:
            return
        stated = self.closed - self.vocabulary.closed
        counted = {name for known in self.known for name, _ in known.values}
        for name in dict.fromkeys((*self.hard, *self.soft, *sorted(stated), *sorted(counted))):
            read_for, declared = self.vocabulary.predicates[name], model.predicates.get(name)
            if declared is None:
                raise EvidenceError(
                    f"the evidence does not fit the model: {unknown_predicate(model, name)}"
                )
            if declared != read_for:
                raise EvidenceError(
                    f"the evidence was read for {predicate_text(read_for)}, and the model declares "
                    f"{predicate_text(declared)}; read it again with this model"
                )
        for sort, names in self.names.items():
            if names and sort not in model.sorts:
                raise EvidenceError(
                    f"the evidence names objects of the sort {sort}, which the model lacks"
                )

    def enlarge(self, model: Model) -> Model:
        """The model with all objects that the evidence names, or that its facts construct.

        >>> import liftgbp
        >>> model = liftgbp.parse("smokes(person)\\n1 smokes(Eve)")
        >>> evidence = liftgbp.parse_evidence(model, "smokes(Anna)")
        >>> evidence.enlarge(model).constants("person")
        ('Eve', 'Anna')
        """
        from liftgbp.evidence.problem import bound

        self._check_fits(model)
        return bound(model, self)[0]

    def renumbered(self, names: Mapping[str, tuple[str, ...]]) -> Evidence:
        """The same evidence, with objects numbered as these names are; unnamed ones follow."""
        moved: dict[str, Ints] = {}
        for sort, before in self.names.items():
            if before != names.get(sort, ()):
                numbers = {name: number for number, name in enumerate(names[sort])}
                # Beyond the names is the first unnamed object.
                places = [*(numbers[name] for name in before), len(numbers)]
                moved[sort] = np.array(places, np.int64)

        def renumbered(predicate: str, facts: AnyFacts) -> AnyFacts:
            sorts = self.vocabulary.predicates[predicate].sorts
            if moved.keys().isdisjoint(sorts):
                return facts
            args = facts.args.copy()
            for k, sort in enumerate(sorts):
                if sort in moved:
                    beyond = np.maximum(args[:, k] - len(self.names[sort]), 0)
                    args[:, k] = moved[sort].take(args[:, k], mode="clip") + beyond
            return replace(facts, args=args)

        return replace(
            self,
            names=names,
            hard={name: renumbered(name, facts) for name, facts in self.hard.items()},
            soft={name: renumbered(name, facts) for name, facts in self.soft.items()},
        )

    def place(self, predicate: str, objects: Sequence[int]) -> Span | None:
        """Where the fact about an atom was stated; facts from tables have no place in a text."""
        for relation in (self.hard.get(predicate), self.soft.get(predicate)):
            if relation is None or relation.places is None:
                continue
            for row in np.flatnonzero((relation.args == np.array(objects, np.int64)).all(axis=1)):
                number, line = relation.places[row].tolist()
                origin = self.origins[number]
                return origin.span(line) if isinstance(origin, FactFile) else None
        return None

    # --- other evidence

    def with_facts(self, facts: AnyEvidence) -> Evidence:
        """The evidence with further facts; what they say of an atom replaces what was known of it.

        Facts are given as for `infer`: as a text, a path or a mapping. An atom whose value is
        `None` is forgotten, and its objects keep their names.

        >>> import liftgbp
        >>> model = liftgbp.load("example:friends-smokers")
        >>> evidence = liftgbp.parse_evidence(model, "smokes(Anna)\\nfriends(Anna,Bob)")
        >>> evidence.with_facts({"smokes(Anna)": None, "smokes(Bob)": 0.8, "smokes(Eve)": True})
        <Evidence about friends-smokers: 2 facts, 1 uncertain, 0 counted objects>
        """
        from liftgbp.evidence.changes import with_facts

        return with_facts(self, facts)

    def without(self, *facts: str) -> Evidence:
        """The evidence without facts about some atoms, or about whole predicates.

        Objects keep their names. A predicate whose facts are all left out is not closed any more,
        unless the model declares it closed.

        >>> import liftgbp
        >>> model = liftgbp.load("example:friends-smokers")
        >>> evidence = liftgbp.parse_evidence(model, "smokes(Anna)\\nfriends(Anna,Bob)")
        >>> sorted(evidence.without("smokes(Anna)").hard), evidence.without("smokes", "friends")
        (['friends'], <Evidence about friends-smokers: 0 facts, 0 uncertain, 0 counted objects>)
        """
        from liftgbp.evidence.changes import without

        return without(self, facts)


def vocabulary_of(model: Model) -> Model:
    """The model without its rules."""
    return Model(model.sorts, model.predicates, name=model.name, untrusted=model.untrusted)


def check_certain(evidence: Evidence) -> None:
    """Refuse uncertain facts about closed predicates."""
    for name in sorted(evidence.closed & evidence.soft.keys()):
        message = (
            f"{name} is closed, so its atoms cannot have probabilities; drop the probability, or "
            "do not close the predicate"
        )
        places = evidence.soft[name].places
        if places is None:
            raise EvidenceError(message)
        origin, row = places[0].tolist()
        raise evidence.origins[origin].problem(row, message)
