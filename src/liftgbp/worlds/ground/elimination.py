"""The best world of a narrow network: variables leave one after the other, each with its best value.

What a step leaves for the others is a maximum, where a junction tree has a sum. The values are read
backwards. Reference: U. Bertelè and F. Brioschi, *Nonserial dynamic programming*, 1972.
"""

from __future__ import annotations

import math

import numpy as np

from liftgbp.methods.exact.junction_tree import LogTable, eliminated, joined
from liftgbp.worlds.ground.whole import WholeNetwork
from liftgbp.support.arrays import Ints
from liftgbp.support.limits import checkpoint


def best_by_elimination(network: WholeNetwork, most_states: int) -> Ints:
    """A best world; `-inf` as its score says that there is none that breaks no hard rule.

    Tables of more than `most_states` entries in all are a `CapacityError`.
    """
    ranges: list[int] = network.ranges.tolist()
    factors: list[LogTable] = [
        (tuple(scope), network.tables[table])
        for block in network.blocks
        for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True)
    ]
    cliques = eliminated(ranges, [scope for scope, _ in factors], most_states)
    home = {v: step for step, clique in enumerate(cliques) for v in clique.leaving}
    inside: list[list[LogTable]] = [[] for _ in cliques]
    for scope, table in factors:
        inside[min(home[v] for v in scope)].append((scope, table))
    choices = []
    for clique, parts in zip(cliques, inside, strict=True):
        checkpoint()
        table = joined(parts, clique.variables, ranges)
        rows = table.reshape(math.prod(table.shape[: len(clique.leaving)]), -1)
        choice = rows.argmax(axis=0)
        left = table.shape[len(clique.leaving) :]
        choices.append(choice.reshape(left))
        if clique.staying:
            above = min(home[v] for v in clique.staying)
            message = np.take_along_axis(rows, choice[None], axis=0).reshape(left)
            inside[above].append((clique.staying, message))
    values = np.zeros(network.size, np.int64)
    for clique, chosen in zip(reversed(cliques), reversed(choices), strict=True):
        state = chosen[tuple(values[v] for v in clique.staying)]
        shape = [ranges[v] for v in clique.leaving]
        values[list(clique.leaving)] = np.unravel_index(state, shape)
    return values
