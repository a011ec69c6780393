"""Which states hard formulas leave possible, region by region.

A state of a region is alive if its own table allows it, each region inside has its restriction
alive, and each region around has an alive extension. The largest such sets are found by removing
states until nothing changes; dropping the dead states keeps infinities out of all later arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from liftgbp.lift.regions import RegionGraph
from liftgbp.plan.states import projection
from liftgbp.support.arrays import Bools, distinct, equal_rows


def alive_states(graph: RegionGraph) -> list[Bools] | None:
    """The alive states of all regions: one table per shape, whose rows are the regions of it.

    `None` if all states of all regions are alive, which is the case without hard formulas.
    """
    supports = _Supports(graph)
    return supports.shrunk() if supports.any_hard else None


class _Supports:
    def __init__(self, graph: RegionGraph) -> None:
        self._graph = graph
        self._arrays = arrays = graph.arrays
        used = distinct(arrays.held_table).tolist()
        hard = [number for number in used if np.isneginf(graph.log_table(number)).any()]
        self.any_hard = bool(hard)
        self._hard = np.array(hard, dtype=np.int64)
        self._row = np.empty(len(arrays.region_shape), dtype=np.int64)
        self._alive: list[Bools] = []
        for number, shape in enumerate(arrays.shapes):
            own = np.flatnonzero(arrays.region_shape == number)
            self._row[own] = np.arange(len(own))
            if hard:
                self._alive.append(np.ones((len(own), math.prod(shape)), dtype=bool))

    def shrunk(self) -> list[Bools]:
        self._apply_tables()
        before = -1
        while before != (before := sum(int(mask.sum()) for mask in self._alive)):
            if not all(mask.any(axis=1).all() for mask in self._alive):
                raise self._graph.contradiction()
            self._restrict()
            self._extend()
        return self._alive

    def _apply_tables(self) -> None:
        arrays = self._arrays
        held = np.flatnonzero(np.isin(arrays.held_table, self._hard))
        shape = arrays.region_shape[arrays.held_region[held]]
        columns = [shape, arrays.held_table[held], arrays.held_axes[held]]
        for places in equal_rows(columns):
            own = held[places]
            kind = shape[places[0]]
            table = self._graph.log_table(int(arrays.held_table[own[0]])).ravel()
            index = projection(arrays.shapes[kind], arrays.axes[arrays.held_axes[own[0]]])
            self._alive[kind][self._row[arrays.held_region[own]]] &= table[index] > -np.inf

    def _restrict(self) -> None:
        """Remove the states whose restriction to a region inside is dead."""
        arrays = self._arrays
        large = arrays.region_shape[arrays.member_owner]
        small = arrays.region_shape[arrays.member_region]
        for places in equal_rows([large, small, arrays.member_axes]):
            first = places[0]
            here, there = int(large[first]), int(small[first])
            index = projection(arrays.shapes[here], arrays.axes[arrays.member_axes[first]])
            inside = self._alive[there][self._row[arrays.member_region[places]]]
            self._alive[here][self._row[arrays.member_owner[places]]] &= inside[:, index]

    def _extend(self) -> None:
        """Remove the states that have no alive extension to a region around."""
        arrays = self._arrays
        large = arrays.region_shape[arrays.edge_parent]
        small = arrays.region_shape[arrays.edge_child]
        message_axes = arrays.message_axes[arrays.edge_message]
        for places in equal_rows([large, small, arrays.edge_axes, message_axes]):
            first = places[0]
            here, there = int(large[first]), int(small[first])
            # Axis k of the message is atom axes[k] of the child and message_axes[k] of the parent.
            pairs = zip(
                arrays.axes[arrays.edge_axes[first]], arrays.axes[message_axes[first]], strict=True
            )
            index = projection(arrays.shapes[here], [axis for _, axis in sorted(pairs)])
            # Each state of the child has equally many extensions, alive and dead together.
            by_child = np.argsort(index, kind="stable")
            around = self._alive[here][self._row[arrays.edge_parent[places]]][:, by_child]
            extended = around.reshape(len(places), self._alive[there].shape[1], -1).any(axis=2)
            children = self._row[arrays.edge_child[places]]
            np.logical_and.at(self._alive[there], children, extended)
