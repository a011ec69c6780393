"""Which states hard formulas leave possible, region by region.

A state of a region is alive if its own table allows it, each region inside has its restriction
alive, and each region around has an alive extension. The largest such sets are found by removing
states until nothing changes; dropping the dead states keeps infinities out of all later arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.plan.plan import Floats
from liftgbp.plan.projection import projection
from liftgbp.regions import RegionGraph

Alive: TypeAlias = NDArray[np.bool_]


def alive_states(
    graph: RegionGraph, shapes: Sequence[tuple[int, ...]], theta: Sequence[Floats]
) -> list[Alive]:
    """The alive states of each region, as masks over flat states."""
    alive: list[Alive] = [np.asarray(table.ravel() > -np.inf) for table in theta]
    if all(mask.all() for mask in alive):
        return alive
    while _remove_once(graph, shapes, alive):
        _check_not_empty(graph, alive)
    _check_not_empty(graph, alive)
    return alive


def _remove_once(graph: RegionGraph, shapes: Sequence[tuple[int, ...]], alive: list[Alive]) -> bool:
    before = sum(int(mask.sum()) for mask in alive)
    for number, region in enumerate(graph.regions):
        for member in region.members:
            alive[number] &= alive[member.region][projection(shapes[number], member.axes)]
    for edge in graph.edges:
        # Axis k of the message is atom axes[k] of the child and atom message.axes[k] of the parent.
        pairs = sorted(zip(edge.axes, graph.messages[edge.message].axes, strict=True))
        index = projection(shapes[edge.parent], [there for _, there in pairs])
        extended = np.zeros_like(alive[edge.child])
        extended[index[alive[edge.parent]]] = True
        alive[edge.child] &= extended
    return sum(int(mask.sum()) for mask in alive) < before


def _check_not_empty(graph: RegionGraph, alive: Sequence[Alive]) -> None:
    for mask in alive:
        if not mask.any():
            raise graph.contradiction()
