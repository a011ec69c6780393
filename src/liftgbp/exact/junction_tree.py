"""Exact marginals and log Z of a ground network by a junction tree.

Variables are eliminated one after the other, each with the neighbours that it has then; what is
left of a step is a message to a later one. A second pass backwards gives all marginals. Reference:
Koller and Friedman, *Probabilistic Graphical Models*, MIT Press 2009, chapter 10.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from liftgbp.arrays import Floats
from liftgbp.errors import CapacityError, ContradictionError
from liftgbp.limits import checkpoint
from liftgbp.values import dataclass

if TYPE_CHECKING:
    from liftgbp.grounding import GroundNetwork

Scope: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Clique:
    """A step of the elimination: some variables leave, the others stay for a later step."""

    variables: Scope
    leaving: Scope

    @property
    def staying(self) -> Scope:
        """The variables that stay, in ascending order."""
        return tuple(v for v in self.variables if v not in self.leaving)


class JunctionTree:
    """The exact distribution of a ground network; what has too many states is refused."""

    def __init__(
        self, network: GroundNetwork, most_states: int, together: Sequence[int] = ()
    ) -> None:
        """Eliminate all variables; those of `together` share a clique.

        If the tables of all cliques have more than `most_states` entries, that is a
        `CapacityError`.
        """
        self._network = network
        self._most_states = most_states
        self._ranges: list[int] = network.ranges.tolist()
        factors = list(_factors(network))
        scopes = [scope for scope, _ in factors]
        self.cliques = _eliminated(self._ranges, [*scopes, tuple(together)], most_states)
        # What stays of a clique lies inside the clique where the first of its variables leaves.
        self._home = {v: step for step, own in enumerate(self.cliques) for v in own.leaving}
        self._parent = [
            min((self._home[v] for v in own.staying), default=None) for own in self.cliques
        ]
        self._log_beliefs, self.log_z = self._solved(factors)
        self._found: dict[Scope, Floats] = {}

    @property
    def states(self) -> int:
        """The number of entries of all tables."""
        return sum(table.size for table in self._log_beliefs)

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of different variables, one axis each."""
        wanted = tuple(sorted(variables))
        if wanted not in self._found:
            self._found[wanted] = self._joint(wanted)
        return self._found[wanted].transpose([wanted.index(v) for v in variables])

    def _joint(self, variables: Scope) -> Floats:
        if not variables:
            return np.ones(())
        if len(variables) == 1:
            return self._singles[variables[0]]
        # All of them are in the clique where the first of them leaves, or in none.
        step = min(self._home[v] for v in variables)
        if not set(variables) <= set(self.cliques[step].variables):
            return JunctionTree(self._network, self._most_states, variables).joint(variables)
        return self._marginal(step, variables)

    @cached_property
    def _singles(self) -> dict[int, Floats]:
        return {
            v: self._marginal(step, (v,))
            for step, own in enumerate(self.cliques)
            for v in own.leaving
        }

    def _marginal(self, step: int, variables: Scope) -> Floats:
        table = self._log_beliefs[step]
        logs = _summed(table, self.cliques[step].variables, variables)
        return np.asarray(np.exp(logs - _log_sum(logs)))

    # --- two passes

    def _solved(self, factors: Sequence[tuple[Scope, Floats]]) -> tuple[list[Floats], float]:
        tables = [
            np.zeros([self._ranges[v] for v in own.variables], dtype=float) for own in self.cliques
        ]
        for scope, log_table in factors:
            step = min(self._home[v] for v in scope)
            tables[step] += _expanded(log_table, scope, self.cliques[step].variables)
        network = self._network
        log_z = network.log_constant
        log_z += math.fsum(count * math.log(size) for size, count in network.free.items())
        messages = []
        for own, above, table in zip(self.cliques, self._parent, tables, strict=True):
            # Those it goes to come later, so a clique has heard from all before it.
            message = _summed(table, own.variables, own.staying)
            messages.append(message)
            if above is None:
                log_z += float(message)
            else:
                tables[above] += _expanded(message, own.staying, self.cliques[above].variables)
        if log_z == -math.inf:
            raise ContradictionError("the hard formulas leave no possible world")
        for step in reversed(range(len(self.cliques))):
            above, staying = self._parent[step], self.cliques[step].staying
            if above is not None:
                whole = _summed(tables[above], self.cliques[above].variables, staying)
                # What is impossible for a part is so for the whole.
                news = np.full_like(whole, -np.inf)
                np.subtract(whole, messages[step], out=news, where=messages[step] > -np.inf)
                tables[step] += _expanded(news, staying, self.cliques[step].variables)
        return tables, log_z


def _factors(network: GroundNetwork) -> Iterator[tuple[Scope, Floats]]:
    for block in network.blocks:
        for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True):
            yield tuple(scope), network.tables[table]


def _eliminated(ranges: Sequence[int], scopes: Sequence[Scope], most_states: int) -> list[Clique]:
    """The cliques if the variable whose clique has fewest states always leaves first."""
    closed: dict[int, set[int]] = {v: {v} for v in range(len(ranges))}
    for scope in scopes:
        for v in scope:
            closed[v].update(scope)
    # Cliques that are too large anyway are not multiplied out.
    most = most_states.bit_length() if min(ranges, default=2) > 1 else len(ranges)

    def size(own: set[int]) -> int:
        return most_states + len(own) if len(own) > most else math.prod(ranges[w] for w in own)

    states = {v: size(own) for v, own in closed.items()}
    queue = [(number, v) for v, number in states.items()]
    heapq.heapify(queue)
    cliques = []
    total = 0
    while queue:
        checkpoint()
        number, first = heapq.heappop(queue)
        if first not in closed or states[first] != number:
            continue
        total += number
        if total > most_states:
            raise CapacityError(
                f"exact inference needs tables of more than {most_states} entries in all"
            )
        clique = closed[first]
        # Those without other neighbours leave in the same step, without a table of their own.
        leaving = {v for v in clique if len(closed[v]) == len(clique) and closed[v] <= clique}
        cliques.append(Clique(tuple(sorted(clique)), tuple(sorted(leaving))))
        staying = clique - leaving
        for v in leaving:
            del closed[v]
        for v in staying:
            closed[v] = (closed[v] | staying) - leaving
            states[v] = size(closed[v])
            heapq.heappush(queue, (states[v], v))
    return cliques


# --- log tables


def _expanded(log_table: Floats, scope: Scope, variables: Scope) -> Floats:
    """A table with an axis of length one for each variable that it is not about."""
    order = sorted(range(len(scope)), key=lambda k: scope[k])
    shape = dict(zip(scope, log_table.shape, strict=True))
    return log_table.transpose(order).reshape([shape.get(v, 1) for v in variables])


def _summed(log_table: Floats, variables: Scope, kept: Scope) -> Floats:
    """The logarithm of the sum over all variables but those kept."""
    axes = tuple(k for k, v in enumerate(variables) if v not in kept)
    return _log_sum(log_table, axes)


def _log_sum(log_table: Floats, axes: tuple[int, ...] | None = None) -> Floats:
    top = log_table.max(axis=axes, keepdims=True)
    # A part without possible states stays so.
    top = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        sums = np.log(np.exp(log_table - top).sum(axis=axes, keepdims=True)) + top
    return np.asarray(sums.squeeze(axis=axes))
