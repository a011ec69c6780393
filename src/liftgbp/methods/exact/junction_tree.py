"""Exact marginals and log Z of a ground network by a junction tree.

Variables are eliminated one after the other, each with the neighbours that it has then. A step
turns the factors around the variables that leave into their distribution given those that stay,
and a message about the latter to a later step. A second pass backwards multiplies these
distributions, and gives all marginals. Reference: Koller and Friedman, *Probabilistic Graphical
Models*, MIT Press 2009, chapter 10.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, count, groupby
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError, ContradictionError
from liftgbp.support.limits import checkpoint

if TYPE_CHECKING:
    from liftgbp.ground.grounding import GroundNetwork

Scope: TypeAlias = tuple[int, ...]
LogTable: TypeAlias = tuple[Scope, Floats]
"""A log table with the variables that its axes stand for."""

AT_ONCE = 2**10
"""Entries that lie side by side and are added in one go: with fewer, NumPy takes its time between
them, and tables of millions of entries take ten times as long."""


@dataclass(frozen=True, slots=True)
class Clique:
    """A step of the elimination: some variables leave, the others stay for a later step.

    Both are in ascending order. Tables have the axes of those that leave first, so that sums over
    them go along rows.
    """

    leaving: Scope
    staying: Scope

    @property
    def variables(self) -> Scope:
        """The variables in the order of axes."""
        return self.leaving + self.staying


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
        factors = list(log_tables(network))
        scopes = [scope for scope, _ in factors]
        self.cliques = eliminated(self._ranges, [*scopes, tuple(together)], most_states)
        # What stays of a clique lies inside the clique where the first of its variables leaves.
        self._home = {v: step for step, own in enumerate(self.cliques) for v in own.leaving}
        self._parent = [
            min((self._home[v] for v in own.staying), default=None) for own in self.cliques
        ]
        self._beliefs, self.log_z = self._solved(factors)
        self._found: dict[Scope, Floats] = {}

    @property
    def states(self) -> int:
        """The number of entries of all tables."""
        return sum(table.size for table in self._beliefs)

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
        return _summed(self._beliefs[step], self.cliques[step].variables, variables)

    @cached_property
    def _singles(self) -> dict[int, Floats]:
        found: dict[int, Floats] = {}
        for own, belief in zip(self.cliques, self._beliefs, strict=True):
            found |= _singles(_summed(belief, own.variables, own.leaving), own.leaving)
        return found

    # --- two passes

    def _solved(self, factors: Sequence[LogTable]) -> tuple[list[Floats], float]:
        parts: list[list[LogTable]] = [[] for _ in self.cliques]
        for scope, log_table in factors:
            parts[min(self._home[v] for v in scope)].append((scope, log_table))
        network = self._network
        log_z = network.log_constant
        log_z += math.fsum(count * math.log(size) for size, count in network.free.items())
        tables = []
        for own, above, inside in zip(self.cliques, self._parent, parts, strict=True):
            checkpoint()
            # Messages come from earlier cliques, so this one has heard all of them.
            table = joined(inside, own.variables, self._ranges)
            message = _conditioned(table, len(own.leaving))
            tables.append(table)
            if above is None:
                log_z += float(message)
            else:
                parts[above].append((own.staying, message))
        if log_z == -math.inf:
            raise ContradictionError("the hard formulas leave no possible world")
        for step in reversed(range(len(self.cliques))):
            above, staying = self._parent[step], self.cliques[step].staying
            if above is not None:
                tables[step] *= _summed(tables[above], self.cliques[above].variables, staying)
        return tables, log_z


def too_many_states(most: int) -> CapacityError:
    """What is said where tables would have more states than this."""
    return CapacityError(f"exact inference needs tables of more than {most} entries in all")


def log_tables(network: GroundNetwork) -> Iterator[LogTable]:
    """The log table of each ground factor, with its variables."""
    for block in network.blocks:
        for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True):
            yield tuple(scope), network.tables[table]


def eliminated(ranges: Sequence[int], scopes: Sequence[Scope], most_states: int) -> list[Clique]:
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
            raise too_many_states(most_states)
        clique = closed[first]
        # Those without other neighbours leave in the same step, without a table of their own.
        leaving = {v for v in clique if len(closed[v]) == len(clique) and closed[v] <= clique}
        staying = clique - leaving
        cliques.append(Clique(tuple(sorted(leaving)), tuple(sorted(staying))))
        for v in leaving:
            del closed[v]
        for v in staying:
            closed[v] = (closed[v] | staying) - leaving
            states[v] = size(closed[v])
            heapq.heappush(queue, (states[v], v))
    return cliques


# --- tables


def joined(parts: Sequence[LogTable], variables: Scope, ranges: Sequence[int]) -> Floats:
    """The sum of log tables, each about some of the variables, as one about all of them."""
    shape = [ranges[v] for v in variables]
    total = np.zeros(shape)
    side_by_side = _axes_at_once(shape)
    if side_by_side == len(shape):
        for scope, log_table in parts:
            total += _expanded(log_table, scope, variables)
        return total
    outer, inner = variables[:-side_by_side], shape[-side_by_side:]
    rows = total.reshape(*shape[: len(outer)], -1)
    for group in _groups(parts, outer, ranges):
        about = {v for scope, _ in group for v in scope}
        added = np.zeros([ranges[v] if v in about else 1 for v in outer] + [rows.shape[-1]])
        for scope, log_table in group:
            own = _expanded(log_table, scope, variables)
            wide = np.broadcast_to(own, [*own.shape[: len(outer)], *inner])
            added += wide.reshape(*own.shape[: len(outer)], -1)
        rows += added
    return total


def _axes_at_once(shape: Sequence[int]) -> int:
    """How many of the last axes have `AT_ONCE` entries, or all of them if they have fewer."""
    entries, axes = 1, 0
    while axes < len(shape) and entries < AT_ONCE:
        axes += 1
        entries *= shape[-axes]
    return axes


def _groups(parts: Sequence[LogTable], outer: Scope, ranges: Sequence[int]) -> list[list[LogTable]]:
    """Tables that are about few of the outer variables together: they are added up beforehand."""
    most = math.isqrt(math.prod(ranges[v] for v in outer))
    groups: list[list[LogTable]] = []
    about: list[set[int]] = []
    for part in parts:
        own = set(outer).intersection(part[0])
        fits = (math.prod(ranges[v] for v in known | own) <= most for known in about)
        place = next(compress(count(), fits), len(groups))
        if place == len(groups):
            groups.append([])
            about.append(set())
        groups[place].append(part)
        about[place] |= own
    return groups


def _conditioned(log_table: Floats, leaving: int) -> Floats:
    """Turn a log table, in place, into the distribution of its first axes given the others.

    The result is what is left of it for the others: the logarithm of the sum.
    """
    rows = log_table.reshape(math.prod(log_table.shape[:leaving]), -1)
    top = rows.max(axis=0)
    # What is impossible for all of them stays so.
    top[top == -np.inf] = 0.0
    rows -= top
    np.exp(rows, out=rows)
    sums = rows.sum(axis=0)
    rows /= np.where(sums > 0, sums, 1.0)
    with np.errstate(divide="ignore"):
        left = np.log(sums) + top
    return np.asarray(left.reshape(log_table.shape[leaving:]))


def _expanded(log_table: Floats, scope: Scope, variables: Scope) -> Floats:
    """A table with an axis of length one for each variable that it is not about."""
    place = {v: k for k, v in enumerate(variables)}
    order = sorted(range(len(scope)), key=lambda k: place[scope[k]])
    shape = [1] * len(variables)
    for v, length in zip(scope, log_table.shape, strict=True):
        shape[place[v]] = length
    return log_table.transpose(order).reshape(shape)


def _summed(table: Floats, variables: Scope, kept: Scope) -> Floats:
    """The sum over all variables but those kept, whose axes have the order of `kept`."""
    wanted = set(kept)
    shape = dict(zip(variables, table.shape, strict=True))
    # Neighbouring axes are one axis, and are summed over one by one: the first sum leaves little.
    runs = [(keep, list(own)) for keep, own in groupby(variables, key=wanted.__contains__)]
    table = table.reshape([math.prod(shape[v] for v in own) for _, own in runs])
    axis = 0
    for keep, _ in runs:
        if keep:
            axis += 1
        else:
            table = table.sum(axis=axis)
    order = [v for v in variables if v in wanted]
    return table.reshape([shape[v] for v in order]).transpose([order.index(v) for v in kept])


def _singles(table: Floats, variables: Scope) -> dict[int, Floats]:
    """The distribution of each variable: half of them are summed over at a time."""
    if len(variables) == 1:
        return {variables[0]: table}
    half = len(variables) // 2
    parts = (variables[:half], variables[half:])
    one, other = (_singles(_summed(table, variables, part), part) for part in parts)
    return one | other
