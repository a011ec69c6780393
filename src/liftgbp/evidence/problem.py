"""A model under evidence over domains of some sizes: what every run is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from liftgbp.evidence.computed import check_all_named, computed_facts
from liftgbp.evidence.data_weights import with_numbers
from liftgbp.evidence.evidence import AnyEvidence, Evidence, Known, Relation
from liftgbp.model.ast import Constant, Rule, TableParfactor, rule_atoms
from liftgbp.model.model import Model
from liftgbp.model.writer import ground_atom_text, object_text
from liftgbp.support.errors import CapacityError, ContradictionError, SizeError

WRITE_OUT_CAP = 10**8


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, what is known about its objects, and how many of them there are.

    `model` has all objects that the evidence names, and numbers as weights; `evidence` numbers
    objects as the model does, and has the facts that nobody states. Every run starts with `of`,
    which checks all three. A model with other rules over the same objects, whose numbers stay
    (`Model.with_rules`), may take the place of the model.

    >>> import liftgbp
    >>> model = liftgbp.parse("smokes(person)\\n1 smokes(Eve)")
    >>> problem = Problem.of(model, "smokes(Anna)", {"person": 3})
    >>> problem.sizes, problem.model.constants("person"), problem.evidence.hard["smokes"].args
    ({'person': 3}, ('Eve', 'Anna'), array([[1]]))
    """

    model: Model
    evidence: Evidence
    sizes: dict[str, int]

    @classmethod
    def of(
        cls,
        model: Model,
        evidence: AnyEvidence | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> Problem:
        """The problem; refuses what does not fit, and a model that lacks weights."""
        model, known = bound(model, Evidence.of(model, evidence))
        model.check_weights()
        return cls(model, known, _checked_sizes(model, known, sizes))

    def resized(self, sizes: Mapping[str, int] | None = None) -> Problem:
        """The same over other domains."""
        return replace(self, sizes=_checked_sizes(self.model, self.evidence, sizes))

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the model and the evidence were read from, which no output replaces."""
        return (*self.model.files, *self.evidence.files)

    def known_blocks(self) -> Iterator[tuple[Known, int]]:
        """Each block of unnamed objects with the number of its first object."""
        following = {sort: len(self.model.constants(sort)) for sort in self.model.sorts}
        for known in self.evidence.known:
            if known.count:
                yield known, following[known.sort]
                following[known.sort] += known.count

    def facts(self) -> dict[str, Relation]:
        """The observed atoms of each predicate, including those of unnamed objects.

        >>> import liftgbp
        >>> model = liftgbp.parse("p(person)")
        >>> evidence = liftgbp.load_evidence(model, known=["p(x)=2"])
        >>> Problem.of(model, evidence, {"person": 5}).facts()["p"].args.tolist()
        [[0], [1]]
        """
        if sum(known.count for known in self.evidence.known) > WRITE_OUT_CAP:
            raise CapacityError(f"cannot list more than {WRITE_OUT_CAP} known objects one by one")
        facts = dict(self.evidence.hard)
        for known, first in self.known_blocks():
            objects = np.arange(first, first + known.count, dtype=np.int64)[:, None]
            for name, value in known.values:
                block = Relation(objects, np.full(known.count, value, dtype=np.int64))
                facts[name] = facts[name].joined(block) if name in facts else block
        return facts


def _checked_sizes(
    model: Model, evidence: Evidence, sizes: Mapping[str, int] | None
) -> dict[str, int]:
    """The size of every sort, large enough for all objects that are named or known."""
    found = model.domain_sizes(sizes)
    check_all_named(model, found)
    unnamed = Counter[str]()
    for block in evidence.known:
        unnamed[block.sort] += block.count
    for sort, count in unnamed.items():
        named = len(model.constants(sort))
        if named + count > found[sort]:
            raise SizeError(
                f"size {found[sort]} is too small for sort {sort}: {count} unnamed objects "
                f"are known besides {named} named ones; give a size of at least "
                f"{named + count}, as in -n {sort}={named + count}"
            )
    return found


# --- evidence about a model


def bound(model: Model, evidence: Evidence) -> tuple[Model, Evidence]:
    """The model with all objects, and the evidence with their numbers and all that follows."""
    new = {}
    for sort, names in evidence.names.items():
        if names:
            known = model.object_numbers(sort)
            new[sort] = [name for name in names if name not in known]
    named = model.with_constants(new)
    renumbered = evidence.renumbered(_names(named))
    whole, computed = computed_facts(named, renumbered.hard)
    return with_numbers(whole), replace(
        renumbered,
        names=_names(whole),
        hard={**renumbered.hard, **computed},
        closed=evidence.closed - evidence.vocabulary.closed | model.closed,
        notes=(*_growth_notes(model, named), *evidence.notes),
    )


def _names(model: Model) -> dict[str, tuple[str, ...]]:
    return {sort: model.constants(sort) for sort in model.sorts}


_NAMES_IN_NOTES = 3


def _growth_notes(model: Model, enlarged: Model) -> Iterator[str]:
    for name, sort in model.sorts.items():
        known = model.constants(name)
        new = enlarged.constants(name)[len(known) :]
        before = (len(known) if sort.constants else None) if sort.size is None else sort.size
        after = len(enlarged.constants(name))
        if new and before is not None and after > before:
            listed = ", ".join(new[:_NAMES_IN_NOTES])
            if len(new) > _NAMES_IN_NOTES:
                listed += f" and {len(new) - _NAMES_IN_NOTES} more"
            yield f"evidence names {listed}, so {name} grows from {before} to {after} objects"


# --- messages about evidence that leaves no possible world


_FACTS_BELOW_QUANTIFIERS = 3


def contradiction(
    problem: Problem, rule: Rule, substitution: Mapping[str, int]
) -> ContradictionError:
    """The error for a rule that no values of the unknown atoms satisfy under a substitution."""
    model = problem.model
    sorts = model.variable_sorts(rule)
    example = ", ".join(
        f"{name} = {object_text(model, sorts[name], number)}"
        for name, number in substitution.items()
    )
    known = list(dict.fromkeys(_known_atoms(problem, rule, substitution)))
    what = "table" if isinstance(rule, TableParfactor) else "hard formula"
    closed = problem.evidence.closed
    blamed = known or not closed.isdisjoint(atom.predicate for atom in rule_atoms(rule))
    start = f"the evidence violates this {what}" if blamed else f"no world satisfies this {what}"
    return ContradictionError(
        start + (f" for {example}" if example else "") + (f": {', '.join(known)}" if known else ""),
        rule.span,
    )


def _known_atoms(problem: Problem, rule: Rule, substitution: Mapping[str, int]) -> Iterator[str]:
    """The observed atoms of a rule, and where they are stated; only a few below quantifiers."""
    model = problem.model
    for atom in rule_atoms(rule):
        predicate = model.predicates[atom.predicate]
        objects = [
            model.object_numbers(sort)[term.name]
            if isinstance(term, Constant)
            else substitution.get(term.name)
            for term, sort in zip(atom.args, predicate.sorts, strict=True)
        ]
        observed = _observed(problem, atom.predicate, objects)
        for found, value in islice(observed, _FACTS_BELOW_QUANTIFIERS):
            place = problem.evidence.place(atom.predicate, found)
            where = f" ({place.source.name}:{place.line}:{place.column})" if place else ""
            text = ground_atom_text(model, atom.predicate, found)
            yield f"{text} is {predicate.values[value]}{where}"


def _observed(
    problem: Problem, predicate: str, objects: Sequence[int | None]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The atoms over these objects that are observed, and their values; `None` is any object."""
    relation = problem.evidence.hard.get(predicate)
    if relation is not None:
        fits = np.ones(len(relation.args), np.bool_)
        for column, number in zip(relation.args.T, objects, strict=True):
            fits &= number is None or column == number
        for row, value in zip(relation.args[fits].tolist(), relation.values[fits], strict=True):
            yield tuple(row), int(value)
        if fits.any():
            return
    known = tuple(number for number in objects if number is not None)
    if len(known) < len(objects):
        return
    for block, first in problem.known_blocks():
        if predicate in dict(block.values) and first <= known[0] < first + block.count:
            yield known, dict(block.values)[predicate]
            return
    if predicate in problem.evidence.closed:
        yield known, 0
