"""Region graphs as arrays, from which plans are compiled."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np

from liftgbp.arrays import Ints, group_rows, stable_order, starts_of

if TYPE_CHECKING:
    from liftgbp.regions.region_graph import Edge, Message, Region

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
    axes, kept_shapes, symmetries = (
        Interner[Axes](),
        Interner[Shape](),
        Interner[tuple[Axes, ...]](),
    )
    held: list[tuple[int, int, int]] = []
    members: list[tuple[int, int, int]] = []
    local: list[tuple[int, int, int]] = []
    for number, region in enumerate(regions):
        held += [(number, h.parfactor, axes.number(h.axes)) for h in region.held]
        for member in region.members:
            local += [(len(members), e, count) for e, count in member.local_parents.items()]
            members.append((number, member.region, axes.number(member.axes)))
    held_table, member_table, local_table = (_columns(rows, 3) for rows in (held, members, local))
    edge_table = _columns([(e.child, e.parent, e.message, axes.number(e.axes)) for e in edges], 4)
    message_table = _columns(
        [
            (m.parent, m.child, axes.number(m.axes), symmetries.number(m.symmetries))
            for m in messages
        ],
        4,
    )
    return GraphArrays(
        axes=axes.values,
        shapes=kept_shapes.values,
        symmetries=symmetries.values,
        region_shape=_numbers([kept_shapes.number(shape) for shape in shapes]),
        region_symmetries=_numbers([symmetries.number(r.symmetries) for r in regions]),
        held_region=held_table[0],
        held_table=held_table[1],
        held_axes=held_table[2],
        member_owner=member_table[0],
        member_region=member_table[1],
        member_axes=member_table[2],
        local_member=local_table[0],
        local_edge=local_table[1],
        local_count=local_table[2],
        edge_child=edge_table[0],
        edge_parent=edge_table[1],
        edge_message=edge_table[2],
        edge_axes=edge_table[3],
        message_parent=message_table[0],
        message_child=message_table[1],
        message_axes=message_table[2],
        message_symmetries=message_table[3],
    )


def _numbers(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width).T.copy()
