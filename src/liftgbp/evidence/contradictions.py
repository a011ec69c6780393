"""Messages for evidence that leaves no possible world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np

from liftgbp.errors import ContradictionError
from liftgbp.evidence.evidence import Evidence
from liftgbp.model.ast import Atom, Constant, Rule, TableParfactor, applied, rule_atoms
from liftgbp.model.writer import object_text

_FACTS_BELOW_QUANTIFIERS = 3


def contradiction(
    evidence: Evidence, rule: Rule, substitution: Mapping[str, int]
) -> ContradictionError:
    """The error for a rule that no state of the unknown atoms fulfils under a substitution."""
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
    """The observed atoms of a rule, with where they are stated; few below quantifiers."""
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
    """The objects that an atom is about; that of a quantified variable is open."""
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
        predicate = evidence.model.predicates[name]
        names = map(object_text, [evidence.model] * len(objects), predicate.sorts, objects)
        place = evidence.places.get((name, objects))
        where = f" ({place.source.name}:{place.line}:{place.column})" if place else ""
        yield f"{applied(name, names)} is {predicate.values[value]}{where}"


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
