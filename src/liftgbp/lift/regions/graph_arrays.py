"""Region graphs as arrays, from which plans are compiled."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np

from liftgbp.support.arrays import Ints, group_rows, stable_order, starts_of

if TYPE_CHECKING:
    from liftgbp.lift.regions.region_graph import Edge, Message, Region

Axes: TypeAlias = tuple[int, ...]
Shape: TypeAlias = tuple[int, ...]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """Regions, members, edges and messages as numbers.

    Many regions share axes, shapes and lists of symmetries. Each of these is stored once in a list,
    and the arrays hold indices into it. Held factors and members are sorted by region, and local
    parents by member.
    """

    axes: Sequence[Axes]
    shapes: Sequence[Shape]
    symmetries: Sequence[tuple[Axes, ...]]
    region_shape: Ints
    region_symmetries: Ints
    held_region: Ints
    held_table: Ints
    held_axes: Ints
    member_owner: Ints
    member_region: Ints
    member_axes: Ints
    local_member: Ints
    local_edge: Ints
    local_count: Ints
    edge_child: Ints
    edge_parent: Ints
    edge_message: Ints
    edge_axes: Ints
    message_parent: Ints
    message_child: Ints
    message_axes: Ints
    message_symmetries: Ints

    @cached_property
    def edges_by_child(self) -> tuple[Ints, Ints]:
        """The edges in the order of their children, and where those of each child start."""
        counts = np.bincount(self.edge_child, minlength=len(self.region_shape))
        return stable_order(self.edge_child), starts_of(counts)


ARRAYS = tuple(field.name for field in fields(GraphArrays))
"""The names of all of them."""


class Interner(Generic[Key]):
    """Values that occur many times, each kept once."""

    def __init__(self) -> None:
        self.values: list[Key] = []
        self._number: dict[Key, int] = {}

    def number(self, value: Key) -> int:
        """The place of a value in the list."""
        found = self._number.setdefault(value, len(self.values))
        if found == len(self.values):
            self.values.append(value)
        return found


def numbers_of_rows(kept: Interner[Axes], rows: Ints) -> Ints:
    """The places of axes that are given as rows."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    first, which = group_rows(list(rows.T))
    return _numbers([kept.number(tuple(row)) for row in rows[first].tolist()])[which]


def arrays_of(
    regions: Sequence[Region],
    messages: Sequence[Message],
    edges: Sequence[Edge],
    shapes: Sequence[Shape],
) -> GraphArrays:
    """The arrays of a graph that is given region by region."""
    axes, distinct_shapes = Interner[Axes](), Interner[Shape]()
    symmetries = Interner[tuple[Axes, ...]]()
    region_shapes = _numbers([distinct_shapes.number(shape) for shape in shapes])
    region_symmetries = _numbers([symmetries.number(r.symmetries) for r in regions])
    held: list[tuple[int, int, int]] = []
    members: list[tuple[int, int, int]] = []
    local: list[tuple[int, int, int]] = []
    for number, region in enumerate(regions):
        held += [(number, h.parfactor, axes.number(h.axes)) for h in region.held]
        for member in region.members:
            local += [(len(members), e, count) for e, count in member.local_parents.items()]
            members.append((number, member.region, axes.number(member.axes)))
    edge_rows = [(e.child, e.parent, e.message, axes.number(e.axes)) for e in edges]
    message_rows = [
        (m.parent, m.child, axes.number(m.axes), symmetries.number(m.symmetries)) for m in messages
    ]
    columns = [column for rows in (held, members, local) for column in _columns(rows, 3)]
    columns += [column for rows in (edge_rows, message_rows) for column in _columns(rows, 4)]
    return GraphArrays(
        axes.values,
        distinct_shapes.values,
        symmetries.values,
        region_shapes,
        region_symmetries,
        *columns,
    )


def _numbers(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width).T.copy()
