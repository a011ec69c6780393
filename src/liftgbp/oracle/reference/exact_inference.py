"""Exact answers on ground models: a junction tree, and brute force to test it with.

Reference: Koller and Friedman, *Probabilistic Graphical Models*, MIT Press 2009, chapter 10.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from liftgbp.oracle.reference.log_tables import (
    MAX_ENTRIES,
    axes_outside,
    expand,
    log_sum_exp,
    read_only,
    table_shape,
)
from liftgbp.oracle.reference.plain_grounding import GroundAtom, GroundFactor, GroundModel
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, ContradictionError, InternalError


@dataclass(frozen=True, eq=False, slots=True)
class ExactValues:
    """The logarithm of the partition function and the marginal of every ground atom."""

    log_z: float
    marginals: Mapping[GroundAtom, Floats]


@dataclass(frozen=True, slots=True)
class _Clique:
    """A step of the elimination: some atoms leave, and the others form the separator."""

    atoms: tuple[GroundAtom, ...]
    leaving: tuple[GroundAtom, ...]

    @property
    def separator(self) -> tuple[GroundAtom, ...]:
        return tuple(atom for atom in self.atoms if atom not in self.leaving)


def exact(ground: GroundModel, cap: int = 2**24) -> ExactValues:
    """Compute log Z and all marginals by one collecting and one distributing pass.

    A table with more than `cap` entries raises a `CapacityError`.

    >>> from liftgbp.model.ast import Atom, Is, Number, Predicate, Variable, WeightedFormula
    >>> from liftgbp.model.model import Model
    >>> from liftgbp.oracle.reference import ground
    >>> rule = WeightedFormula(Is(Atom("smokes", (Variable("x"),))), Number(1.5))
    >>> model = Model({}, {"smokes": Predicate("smokes", ("person",))}, (rule,))
    >>> exact(ground(model, {"person": 2})).marginals[GroundAtom("smokes", (0,))].round(4).tolist()
    [0.1824, 0.8176]
    """
    cliques, tables, log_total = _solved(ground, cap)
    return _with_free_atoms(ground, log_total, _marginals(cliques, tables))


def _solved(ground: GroundModel, cap: int) -> tuple[list[_Clique], list[Floats], float]:
    """The cliques of a junction tree, the logs of their beliefs, and log Z."""
    cliques = _elimination(ground, cap)
    # A separator lies inside the clique where the first of its atoms leaves.
    step_of = {atom: step for step, clique in enumerate(cliques) for atom in clique.leaving}
    parent = [min((step_of[atom] for atom in c.separator), default=None) for c in cliques]
    tables = _clique_tables(ground, cliques, step_of)

    messages = _collect(cliques, parent, tables)
    roots = (float(messages[step]) for step, above in enumerate(parent) if above is None)
    log_total = ground.log_constant + sum(roots)
    _check_possible(log_total)
    _distribute(cliques, parent, tables, messages)
    return cliques, tables, log_total


def exact_joint(ground: GroundModel, atoms: Sequence[GroundAtom], cap: int = 2**24) -> Floats:
    """The joint distribution of different atoms that are not observed, one axis each.

    They share a clique, as if a factor that changes nothing were about all of them.
    """
    scope = tuple(sorted(atoms))
    nothing = GroundFactor(scope, np.zeros(table_shape(scope, ground.ranges)))
    ground = replace(ground, factors=(*ground.factors, nothing))
    cliques, tables, _ = _solved(ground, cap)
    for clique, table in zip(cliques, tables, strict=True):
        if set(scope) <= set(clique.atoms):
            belief = np.exp(table - log_sum_exp(table)).sum(axis=axes_outside(clique.atoms, scope))
            return np.asarray(belief.transpose([scope.index(atom) for atom in atoms]))
    raise InternalError("the atoms of a factor share a clique")


def enumerate_worlds(ground: GroundModel) -> ExactValues:
    """Compute the same by summing over all worlds, one by one."""
    lengths = [ground.ranges[atom] for atom in ground.atoms]
    count = math.prod(lengths)
    if count > MAX_ENTRIES:
        raise CapacityError(f"there are {count} worlds, above {MAX_ENTRIES}")
    worlds = np.arange(count)
    states = {}
    for atom, length in zip(ground.atoms, lengths, strict=True):
        states[atom] = worlds % length
        worlds = worlds // length
    log_weights = np.full(count, ground.log_constant)
    for factor in ground.factors:
        log_weights += factor.log_table[tuple(states[atom] for atom in factor.scope)]
    log_total = float(log_sum_exp(log_weights))
    _check_possible(log_total)
    weights = np.exp(log_weights - log_total)
    marginals = {
        atom: np.array([weights[states[atom] == k].sum() for k in range(ground.ranges[atom])])
        for atom in ground.atoms
    }
    return _with_free_atoms(ground, log_total, marginals)


def _check_possible(log_total: float) -> None:
    if log_total == -math.inf:
        raise ContradictionError("the hard formulas leave no possible world")


def _with_free_atoms(
    ground: GroundModel, log_total: float, known: Mapping[GroundAtom, Floats]
) -> ExactValues:
    """Atoms that are not known yet are in no factor: uniform, and free to take any value."""
    marginals = {}
    for atom in ground.atoms:
        length = ground.ranges[atom]
        if atom not in known:
            log_total += math.log(length)
        marginals[atom] = read_only(known.get(atom, np.full(length, 1.0 / length)))
    return ExactValues(log_total, MappingProxyType(marginals))


# --- the junction tree


def _elimination(ground: GroundModel, cap: int) -> list[_Clique]:
    """Eliminate greedily: the atom whose clique has the smallest table comes first."""
    closed: dict[GroundAtom, set[GroundAtom]] = defaultdict(set)
    for factor in ground.factors:
        for atom in factor.scope:
            closed[atom].update(factor.scope)

    def entries(atom: GroundAtom) -> int:
        return math.prod(ground.ranges[neighbour] for neighbour in closed[atom])

    cliques = []
    while closed:
        first = min(closed, key=lambda atom: (entries(atom), atom))
        if entries(first) > cap:
            raise CapacityError(
                f"exact inference needs a table of {entries(first)} entries, above the cap {cap}"
            )
        clique = set(closed[first])
        # Atoms without other neighbours can leave in the same step, without a table of their own.
        leaving = {atom for atom in clique if closed[atom] <= clique}
        cliques.append(_Clique(tuple(sorted(clique)), tuple(sorted(leaving))))
        for atom in leaving:
            del closed[atom]
        for atom in clique - leaving:
            closed[atom] = (closed[atom] | clique) - leaving
    return cliques


def _clique_tables(
    ground: GroundModel, cliques: list[_Clique], step_of: Mapping[GroundAtom, int]
) -> list[Floats]:
    tables = [np.zeros(table_shape(clique.atoms, ground.ranges)) for clique in cliques]
    for factor in ground.factors:
        step = min(step_of[atom] for atom in factor.scope)
        tables[step] += expand(factor.log_table, factor.scope, cliques[step].atoms)
    return tables


def _collect(
    cliques: list[_Clique], parent: list[int | None], tables: list[Floats]
) -> list[Floats]:
    """Add to each table what the cliques below it say; return what each clique says upwards."""
    messages: list[Floats] = []
    for clique, above, table in zip(cliques, parent, tables, strict=True):
        # Parents come later, so a clique has heard all cliques below it.
        message = log_sum_exp(table, axes_outside(clique.atoms, clique.separator))
        messages.append(message)
        if above is not None:
            tables[above] += expand(message, clique.separator, cliques[above].atoms)
    return messages


def _distribute(
    cliques: list[_Clique], parent: list[int | None], tables: list[Floats], messages: list[Floats]
) -> None:
    """Add to each table what its parent knows from elsewhere; then tables are beliefs."""
    for step in reversed(range(len(cliques))):
        above, separator = parent[step], cliques[step].separator
        if above is not None:
            outside = axes_outside(cliques[above].atoms, separator)
            news = _quotient(log_sum_exp(tables[above], outside), messages[step])
            tables[step] += expand(news, separator, cliques[step].atoms)


def _quotient(log_whole: Floats, log_part: Floats) -> Floats:
    """Divide in log space; where the part is impossible the whole is too, and 0 / 0 counts as 0."""
    quotient = np.full_like(log_whole, -np.inf)
    np.subtract(log_whole, log_part, out=quotient, where=~np.isneginf(log_part))
    return quotient


def _marginals(cliques: list[_Clique], tables: list[Floats]) -> dict[GroundAtom, Floats]:
    marginals = {}
    for clique, table in zip(cliques, tables, strict=True):
        belief = np.exp(table - log_sum_exp(table))
        for atom in clique.leaving:
            marginals[atom] = np.asarray(belief.sum(axis=axes_outside(clique.atoms, {atom})))
    return marginals
