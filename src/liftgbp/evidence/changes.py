"""Evidence with further facts, and without some: what if?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from liftgbp.evidence.evidence import (
    AnyEvidence,
    AnyFacts,
    Evidence,
    check_certain,
)
from liftgbp.evidence.fact_lines import read_atoms
from liftgbp.evidence.python_facts import forgotten_atoms
from liftgbp.evidence.stated_facts import Statements, atom_text
from liftgbp.model.ast import applied
from liftgbp.support.arrays import Bools, Ints, row_keys
from liftgbp.support.errors import checked_texts


def with_facts(evidence: Evidence, facts: AnyEvidence) -> Evidence:
    """The evidence with further facts, which replace what was known about their atoms."""
    new = Evidence.of(evidence.vocabulary, facts)
    if isinstance(facts, Mapping):
        for part in forgotten_atoms(evidence.vocabulary, facts):
            evidence, _ = _without_atoms(evidence, part)
    values = {**_values(evidence), **_values(new)}
    evidence, new = _with_values(evidence, values), _with_values(new, values)
    names = {
        sort: tuple(dict.fromkeys((*evidence.names.get(sort, ()), *new.names.get(sort, ()))))
        for sort in {**evidence.names, **new.names}
    }
    old, new = evidence.renumbered(names), new.renumbered(names)
    for relations in (new.hard, new.soft):
        for name, relation in relations.items():
            old, _ = _dropped(old, name, relation.args)
    origins = len(old.origins)
    both = replace(
        old,
        hard=_joined(old.hard, new.hard, origins),
        soft=_joined(old.soft, new.soft, origins),
        closed=old.closed | new.closed,
        known=(*old.known, *new.known),
        notes=(*old.notes, *new.notes),
        origins=(*old.origins, *new.origins),
        files=(*old.files, *new.files),
    )
    check_certain(both)
    return both


def _values(evidence: Evidence) -> dict[str, str]:
    """The values of functions, by terms such as `motherOf(Anna)`."""
    predicates = evidence.vocabulary.predicates
    return {
        applied(name, [evidence.names[s][k] for s, k in zip(sorts, args, strict=True)]): (
            evidence.names[result][value]
        )
        for name, facts in evidence.hard.items()
        if predicates[name].kind == "function"
        for *sorts, result in [predicates[name].sorts]
        for *args, value in facts.args.tolist()
    }


def _with_values(evidence: Evidence, values: Mapping[str, str]) -> Evidence:
    """The evidence with the values of terms in the place of objects that they name."""
    named = evidence.names.items()
    names = {sort: tuple(values.get(name, name) for name in every) for sort, every in named}
    return replace(evidence, names=names) if values else evidence


def without(evidence: Evidence, facts: Iterable[str]) -> Evidence:
    """The evidence without facts about some atoms, or about whole predicates."""
    atoms = []
    for text in checked_texts("facts", facts):
        if text.strip() in evidence.vocabulary.predicates:
            evidence = _without_predicate(evidence, text.strip())
        else:
            atoms.append(text)
    for part in read_atoms(evidence.vocabulary, atoms):
        evidence, dropped = _without_atoms(evidence, part)
        if not dropped.all():
            unknown = int(np.flatnonzero(~dropped)[0])
            atom = atom_text(part.predicate, [column[unknown] for column in part.columns])
            raise part.origin.problem(int(part.rows[unknown]), f"there is no fact about {atom}")
    return evidence


def _without_predicate(evidence: Evidence, predicate: str) -> Evidence:
    known = (
        replace(block, values=tuple(value for value in block.values if value[0] != predicate))
        for block in evidence.known
    )
    return replace(
        evidence,
        hard={name: facts for name, facts in evidence.hard.items() if name != predicate},
        soft={name: facts for name, facts in evidence.soft.items() if name != predicate},
        closed=evidence.closed - ({predicate} - evidence.vocabulary.closed),
        known=tuple(block for block in known if block.values),
    )


def _without_atoms(evidence: Evidence, atoms: Statements) -> tuple[Evidence, Bools]:
    """The evidence without facts about some atoms, and about which of them there were any."""
    args = np.empty((len(atoms.rows), len(atoms.columns)), np.int64)
    for k, (column, sort) in enumerate(zip(atoms.columns, atoms.predicate.sorts, strict=True)):
        numbers = {name: number for number, name in enumerate(evidence.names.get(sort, ()))}
        args[:, k] = [numbers.get(name, -1) for name in column]
    return _dropped(evidence, atoms.predicate.name, args)


def _dropped(evidence: Evidence, predicate: str, args: Ints) -> tuple[Evidence, Bools]:
    """The evidence without facts about atoms over these objects, and which of them had any.

    A function has one value: another one takes its place.
    """
    arity = len(evidence.vocabulary.predicates[predicate].sorts)
    arity -= evidence.vocabulary.predicates[predicate].kind == "function"
    dropped = np.zeros(len(args), np.bool_)

    def left(relation: AnyFacts) -> AnyFacts:
        nonlocal dropped
        both = np.concatenate([relation.args, args])[:, :arity] + 1  # -1 is nobody
        keys = row_keys(both, (both.max(axis=0, initial=0) + 1).tolist())
        here, there = keys[: len(relation.args)], keys[len(relation.args) :]
        dropped |= np.isin(there, here)
        return relation.take(np.flatnonzero(~np.isin(here, there)))

    def rest(relations: Mapping[str, AnyFacts]) -> dict[str, AnyFacts]:
        changed = {**relations, predicate: left(relations[predicate])}
        return {name: facts for name, facts in changed.items() if len(facts.args)}

    hard = rest(evidence.hard) if predicate in evidence.hard else evidence.hard
    soft = rest(evidence.soft) if predicate in evidence.soft else evidence.soft
    return replace(evidence, hard=hard, soft=soft), dropped


def _joined(
    old: Mapping[str, AnyFacts], new: Mapping[str, AnyFacts], origins: int
) -> dict[str, AnyFacts]:
    """The facts of both; the places of new ones are in later origins."""
    joined = dict(old)
    for name, facts in new.items():
        places = None if facts.places is None else facts.places + np.array([origins, 0], np.int32)
        moved = replace(facts, places=places)
        joined[name] = old[name].joined(moved) if name in old else moved
    return joined
