"""Variables that hard factors tie together: one of them decides the others.

`e(x,y) <=> e(y,x).` makes two atoms one. No chain could ever change one of them alone, so tied
variables become one before anything is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.ground.grounding.network import distinct_rows
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import ContradictionError


@dataclass(frozen=True, eq=False, slots=True)
class Tied:
    """A network whose variables decide those of another one.

    network  over the deciding variables, with numbers of their own
    decides  the number that each of them has in the other network
    root     for each variable of the other network, the one that decides it
    value    for each variable its value, for each value of the one that decides it; -1 beyond
    """

    network: GroundNetwork
    decides: Ints
    root: Ints
    value: Ints

    def root_values(self) -> Ints:
        """For each variable and each of its values, the value of the deciding variable."""
        back = np.full(self.value.shape, -1)
        variable, place = np.nonzero(self.value >= 0)
        back[variable, self.value[variable, place]] = place
        return back


def tie(network: GroundNetwork) -> Tied:
    """Make tied variables one.

    >>> equal = np.array([[0.0, -np.inf], [-np.inf, 0.5]])
    >>> block = FactorBlock(np.array([[0, 1]]), np.array([0]))
    >>> tied = tie(GroundNetwork(np.array([2, 2]), (block,), (equal,)))
    >>> tied.root.tolist(), tied.network.tables[0].tolist()
    ([0, 0], [0.0, 0.5])
    """
    root, value = _roots(network)
    deciding, number = np.unique(root, return_inverse=True)
    result = Tied(network, deciding, number.ravel(), value)
    if len(deciding) == len(root):
        return result
    blocks, tables = _rewritten(network, root, value)
    place = np.zeros(len(root), np.int64)
    place[deciding] = np.arange(len(deciding))
    blocks = [FactorBlock(place[block.scopes], block.table_of) for block in blocks]
    return replace(
        result,
        network=merged(
            network.ranges[deciding],
            blocks,
            tables,
            log_constant=network.log_constant,
            free=network.free,
        ),
    )


def _roots(network: GroundNetwork) -> tuple[Ints, Ints]:
    """For each variable the one that decides it, and its value for each value of that one."""
    ranges = network.ranges
    root = np.arange(len(ranges))
    places = np.arange(int(ranges.max(initial=1)))
    value = np.where(places < ranges[:, None], places, -1)
    members: dict[int, list[int]] = {}
    partner = {
        number: np.isfinite(table).argmax(axis=1)
        for number, table in enumerate(network.tables)
        if table.ndim == 2 and _is_one_to_one(np.isfinite(table))
    }
    for block in network.blocks:
        if block.scopes.shape[1] != 2 or not partner:
            continue
        for factor in np.flatnonzero(np.isin(block.table_of, list(partner))).tolist():
            one, other = block.scopes[factor].tolist()
            first, second = int(root[one]), int(root[other])
            if first == second:
                continue
            # The value of the second root, for each value of the first one.
            length = int(ranges[one])
            back = np.argsort(value[other, :length])
            change = back[partner[int(block.table_of[factor])][value[one, :length]]]
            moved = members.pop(second, [second])
            for variable in moved:
                root[variable] = first
                value[variable, :length] = value[variable, change]
            members.setdefault(first, [first]).extend(moved)
    return root, value


def _is_one_to_one(possible: Bools) -> bool:
    square = possible.shape[0] == possible.shape[1]
    return square and bool((possible.sum(axis=0) == 1).all() and (possible.sum(axis=1) == 1).all())


def _rewritten(
    network: GroundNetwork, root: Ints, value: Ints
) -> tuple[list[FactorBlock], list[Floats]]:
    """The factors over deciding variables."""
    blocks: list[FactorBlock] = []
    tables: list[Floats] = []
    _, change = distinct_rows(value)
    for block in network.blocks:
        scopes = root[block.scopes]
        # Where each variable of a scope first occurs in it.
        place = (scopes[:, :, None] == scopes[:, None, :]).argmax(axis=2)
        first, kind = distinct_rows(np.column_stack([block.table_of, change[block.scopes], place]))
        for number, example in enumerate(first.tolist()):
            alike = np.flatnonzero(kind == number)
            axes = np.unique(place[example])
            table = network.tables[block.table_of[example]]
            maps = value[block.scopes[example]]
            tables.append(_over_roots(table, place[example], axes, maps))
            same = np.full(len(alike), len(tables) - 1)
            blocks.append(FactorBlock(scopes[alike][:, axes], same))
    return blocks, tables


def _over_roots(table: Floats, place: Ints, axes: Ints, maps: Ints) -> Floats:
    """A table over the deciding variables; those that decide several axes form a diagonal."""
    states = np.indices([table.shape[axis] for axis in axes])
    at = np.searchsorted(axes, place)
    result: Floats = table[tuple(maps[k][states[at[k]]] for k in range(table.ndim))]
    if np.isneginf(result).all():
        raise ContradictionError("the hard formulas leave no possible world")
    return result
