"""Grounding: the Markov random field of a model, conditioned on evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TypeAlias

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import ContradictionError
from liftgbp.evidence import Evidence
from liftgbp.grounding.factors import AtomFactors, network_of
from liftgbp.grounding.facts import all_facts, row_keys
from liftgbp.grounding.join import Database
from liftgbp.grounding.network import GroundNetwork
from liftgbp.grounding.rules import Grounded, RuleGrounder
from liftgbp.grounding.setting import Setting
from liftgbp.model.model import Model
from liftgbp.shatter.rule_tables import drop_indifferent
from liftgbp.shatter.shattering import TABLE_CAP

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many rules are grounded, and how many there are."""


def _silent(done: int, total: int) -> None:
    """Report no progress."""


def ground_network(
    model: Model,
    sizes: Mapping[str, int] | None = None,
    evidence: Evidence | None = None,
    *,
    table_cap: int = TABLE_CAP,
    progress: Progress = _silent,
) -> GroundNetwork:
    """The ground factors of a model that evidence leaves, over atoms that it does not observe.

    With evidence, its own model counts: that one also names the objects which only evidence names.

    >>> from liftgbp.evidence import Relation
    >>> from liftgbp.model.parser import parse
    >>> model = parse("friends(person, person) \\n smokes(person) \\n"
    ...               "1.4 friends(x,y) ^ smokes(x) => smokes(y)")
    >>> friends = Relation(np.array([[0, 1], [1, 2]]), np.array([1, 1]))
    >>> evidence = Evidence(model, {"friends": friends}, closed=frozenset({"friends"}))
    >>> network = ground_network(model, {"person": 1000}, evidence)
    >>> network.atoms.args[:, 0].tolist(), network.blocks[0].scopes.tolist(), network.free
    ([0, 1, 2], [[0, 1], [1, 2]], {2: 997})
    """
    evidence = Evidence.of(model) if evidence is None else evidence
    model = evidence.model
    domain_sizes = evidence.domain_sizes(sizes)
    setting = Setting(evidence, domain_sizes, all_facts(evidence, domain_sizes), table_cap)
    grounded = Grounded()
    with closing(Database(setting.facts)) as database:
        for done, rule in enumerate(model.rules):
            progress(done, len(model.rules))
            RuleGrounder(setting, rule, database)(grounded)
    for number, name in enumerate(model.predicates):
        if name in evidence.soft:
            _SoftFactors(setting, number)(grounded)
    progress(len(model.rules), len(model.rules))
    return network_of(model, domain_sizes, setting.facts, grounded.factors, grounded.log_constant)


class _SoftFactors:
    """Uncertain observations of one predicate as factors over single atoms."""

    def __init__(self, setting: Setting, predicate: int) -> None:
        self._setting = setting
        self._number = predicate
        self._predicate = list(setting.model.predicates.values())[predicate]
        self._facts = setting.facts[predicate]

    def __call__(self, result: Grounded) -> None:
        """Add the factors to the result; of an observed atom, a constant is left."""
        soft = self._setting.evidence.soft[self._predicate.name]
        states = self._states(soft.args)
        for state in np.unique(states).tolist():
            rows = np.flatnonzero(states == state)
            tables, table_of = np.unique(soft.log_potentials[rows], axis=0, return_inverse=True)
            for k, table in enumerate(tables):
                members = rows[table_of.ravel() == k]
                self._add(soft.args[members], table, state, result)

    def _add(self, args: Ints, table: Floats, state: int, result: Grounded) -> None:
        rest = table if state == self._facts.unknown else np.asarray(table[state])
        if np.all(rest == -np.inf):
            raise self._contradiction(args)
        axes, left = drop_indifferent(((self._number, ()),) * rest.ndim, rest)
        if axes:
            result.factors.append(AtomFactors((self._number,), (args,), left))
        else:
            result.constants[float(left)] += len(args)

    def _states(self, args: Ints) -> Ints:
        """The states of atoms, by their objects."""
        sizes = [self._setting.sizes[sort] for sort in self._predicate.sorts]
        keys = row_keys(np.concatenate([args, self._facts.args]), sizes)
        wanted, listed = keys[: len(args)], keys[len(args) :]
        order = np.argsort(listed)
        place = np.minimum(np.searchsorted(listed, wanted, sorter=order), len(listed) - 1)
        states = np.full(len(args), self._facts.default)
        if len(listed):
            found = listed[order[place]] == wanted
            states[found] = self._facts.values[order[place[found]]]
        return states

    def _contradiction(self, args: Ints) -> ContradictionError:
        objects = min(map(tuple, args.tolist()))
        name = self._predicate.name
        return ContradictionError(
            f"soft evidence rules out every value that {self._setting.atom_name(name, objects)} "
            "can have; drop one of the statements about this atom",
            self._setting.evidence.places.get((name, objects)),
        )
