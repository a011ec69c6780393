"""Messages for evidence that leaves no possible world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from liftgbp.errors import ContradictionError
from liftgbp.grounding.setting import Setting
from liftgbp.model.ast import Atom, Constant, Rule, TableParfactor, rule_atoms
from liftgbp.model.scopes import quantified_variables


def contradiction(
    setting: Setting, rule: Rule, substitution: Mapping[str, int]
) -> ContradictionError:
    """The error for a rule that no state of the unknown atoms fulfils under a substitution."""
    sorts = setting.model.variable_sorts(rule)
    example = ", ".join(
        f"{name} = {setting.object_name(sorts[name], number)}"
        for name, number in substitution.items()
    )
    known = list(dict.fromkeys(_known_atoms(setting, rule, substitution)))
    what = "table" if isinstance(rule, TableParfactor) else "hard formula"
    start = f"the evidence violates this {what}" if known else f"no world satisfies this {what}"
    return ContradictionError(
        start + (f" for {example}" if example else "") + (f": {', '.join(known)}" if known else ""),
        rule.span,
    )


def _known_atoms(setting: Setting, rule: Rule, substitution: Mapping[str, int]) -> Iterator[str]:
    """The observed atoms outside quantifiers, with where they are stated."""
    facts = dict(zip(setting.model.predicates, setting.facts, strict=True))
    quantified = {variable.name for variable in quantified_variables(rule)}
    for atom in rule_atoms(rule):
        if any(term.name in quantified for term in atom.args):
            continue
        objects = _objects(setting, atom, substitution)
        some = facts[atom.predicate]
        row = np.flatnonzero((some.args == objects).all(axis=1))
        state = int(some.values[row[0]]) if len(row) else some.default
        if state != some.unknown:
            value = setting.model.predicates[atom.predicate].values[state]
            place = setting.evidence.places.get((atom.predicate, objects))
            where = f" ({place.source.name}:{place.line})" if place else ""
            yield f"{setting.atom_name(atom.predicate, objects)} is {value}{where}"


def _objects(setting: Setting, atom: Atom, substitution: Mapping[str, int]) -> tuple[int, ...]:
    sorts = setting.model.predicates[atom.predicate].sorts
    return tuple(
        setting.object_number(sort, term.name)
        if isinstance(term, Constant)
        else substitution[term.name]
        for term, sort in zip(atom.args, sorts, strict=True)
    )
