"""The best world of a narrow network: variables leave one by one, each with its best value.

What a step leaves for the others is a maximum, where a junction tree has a sum. The values are read
backwards, and a second pass finds the best score that each value of each variable allows.
Reference: U. Bertelè and F. Brioschi, *Nonserial dynamic programming*, 1972.
"""

from __future__ import annotations

import math

import numpy as np

from liftgbp.methods.exact.junction_tree import Clique, LogTable, eliminated, joined, log_tables
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.ground.whole import WholeNetwork


class Elimination:
    """A network whose variables have left; tables of too many entries are a `CapacityError`.

    >>> from liftgbp.ground.grounding import FactorBlock
    >>> pair = FactorBlock(np.array([[0, 1]]), np.array([0]))
    >>> table = np.array([[0.0, 3.0], [3.0, -np.inf]])
    >>> whole = WholeNetwork(np.array([2, 2]), (pair,), (table,), np.array([[0, 1], [0, 1]]))
    >>> best = Elimination(whole, 10)
    >>> best.values.tolist(), best.bests().tolist()
    ([0, 1], [[3.0, 3.0], [3.0, 3.0]])
    """

    def __init__(self, network: WholeNetwork, most_states: int) -> None:
        self._network = network
        self._ranges: list[int] = network.ranges.tolist()
        factors: list[LogTable] = list(log_tables(network.as_ground))
        self._cliques = eliminated(self._ranges, [scope for scope, _ in factors], most_states)
        home = {v: step for step, own in enumerate(self._cliques) for v in own.leaving}
        self._above = [min((home[v] for v in own.staying), default=None) for own in self._cliques]
        inside: list[list[LogTable]] = [[] for _ in self._cliques]
        for scope, table in factors:
            inside[min(home[v] for v in scope)].append((scope, table))
        self._tables: list[Floats] = []
        for own, above, parts in zip(self._cliques, self._above, inside, strict=True):
            checkpoint()
            table = joined(parts, own.variables, self._ranges)
            self._tables.append(table)
            if above is not None:
                inside[above].append((own.staying, _most(table, own)))

    @property
    def values(self) -> Ints:
        """A best world; `-inf` as its score says that there is none that breaks no hard rule."""
        values = np.zeros(self._network.size, np.int64)
        for own, table in zip(reversed(self._cliques), reversed(self._tables), strict=True):
            first = len(own.leaving)
            rows = table[(slice(None),) * first + tuple(values[v] for v in own.staying)]
            state = np.unravel_index(int(rows.argmax()), rows.shape)
            values[list(own.leaving)] = state
        return values

    def bests(self) -> Floats:
        """The best score of a world with each value of each variable, (variables, values)."""
        bests = np.full((self._network.size, max(self._ranges, default=0)), -np.inf)
        whole: list[Floats] = list(self._tables)
        roots = [k for k, above in enumerate(self._above) if above is None]
        tops = {step: float(whole[step].max()) for step in roots}
        if -math.inf in tops.values():
            return bests
        total = sum(tops.values())
        for step in reversed(range(len(whole))):
            checkpoint()
            own, above = self._cliques[step], self._above[step]
            if above is not None:
                told = _most(self._tables[step], own)
                over = _over(whole[above], self._cliques[above].variables, own.staying)
                # What is impossible for those that stay is so for all.
                rest = np.subtract(
                    over, told, out=np.full(told.shape, -np.inf), where=np.isfinite(told)
                )
                whole[step] = self._tables[step] + rest
            else:
                # Independent parts of the network add their best.
                whole[step] = self._tables[step] + (total - tops[step])
            for v in own.leaving:
                bests[v, : self._ranges[v]] = _over(whole[step], own.variables, (v,))
        return bests


def _most(table: Floats, clique: Clique) -> Floats:
    """The best of those that leave, for each state of those that stay."""
    leaving = math.prod(table.shape[: len(clique.leaving)])
    rows = table.reshape(leaving, -1).max(axis=0)
    return np.asarray(rows.reshape(table.shape[len(clique.leaving) :]))


def _over(table: Floats, variables: tuple[int, ...], kept: tuple[int, ...]) -> Floats:
    """The maximum over all variables but those kept, which are in ascending order."""
    others = tuple(axis for axis, v in enumerate(variables) if v not in kept)
    left = [v for v in variables if v in kept]
    most = table.max(axis=others) if others else table
    return np.asarray(most.transpose([left.index(v) for v in kept]))
