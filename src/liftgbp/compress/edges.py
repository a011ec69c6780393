"""Edges between kinds of regions: one for all parents of the same name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from liftgbp.arrays import Hashes, Ints, group_rows, hash_rows
from liftgbp.compress.potentials import stabilisers
from liftgbp.compress.refine import AROUND, Partition, Relation, code_weights
from liftgbp.regions.counts import Count
from liftgbp.regions.structure import Edge, Message


class EdgeTable:
    """The edges into the example of each kind, with the messages that they carry.

    Parents of one name send the same message. Names that a symmetry of the child takes into each
    other belong to one message with its axes permuted.
    """

    def __init__(self, partition: Partition, kind: Ints, example: Ints) -> None:
        self._partition = partition
        self._groups = partition.groups
        self._kind = kind
        self._is_example = np.zeros(len(kind), dtype=bool)
        self._is_example[example] = True
        self._counts: dict[int, Count] = {}
        self.edges: list[Edge] = []
        self.messages: list[Message] = []
        keys = [np.zeros(0, dtype=np.uint64), *map(self._add, partition.relations)]
        every_key = np.concatenate(keys)
        self._by_key = np.argsort(every_key)
        self._keys = every_key[self._by_key]
        assert (self._keys[1:] != self._keys[:-1]).all(), "two edges have one hash"

    def find(self, child: Ints, parent: Ints, code: Hashes) -> Ints:
        """The numbers of edges by kind of child and parent, and the code of the embedding."""
        place = np.searchsorted(self._keys, hash_rows([child, parent, code]))
        return self._by_key[place]

    def _add(self, relation: Relation) -> Hashes:
        """Add the edges between two sizes, and return their keys."""
        pairs = np.flatnonzero(relation.cover & self._is_example[relation.small])
        child, parent = self._kind[relation.small[pairs]], self._kind[relation.large[pairs]]
        trivial = self._groups.trivial(relation.small_size)
        code = self._partition.names(relation, pairs, AROUND, trivial)[:, 0]
        first, name = group_rows([child, parent, code])
        order = np.lexsort((code[first], parent[first], child[first]))
        kappa = np.bincount(name, minlength=len(first))[order]
        first = first[order]
        child, parent, code = child[first], parent[first], code[first]
        orbit, turn, axes, symmetry = self._orbits(relation, pairs[first])
        head, message = group_rows([child, parent, orbit])
        start = len(self.messages)
        self.messages += map(
            Message,
            parent[head].tolist(),
            child[head].tolist(),
            as_tuples(axes[head]),
            [self._groups.generators(group) for group in symmetry[head].tolist()],
        )
        self.edges += map(
            Edge,
            child.tolist(),
            parent.tolist(),
            (start + message).tolist(),
            as_tuples(turn),
            [self._count(times) for times in kappa.tolist()],
        )
        return hash_rows([child, parent, code])

    def _count(self, times: int) -> Count:
        return self._counts.setdefault(times, Count((), 1, times))

    def _orbits(self, relation: Relation, pairs: Ints) -> tuple[Hashes, Ints, Ints, Ints]:
        """For each pair the orbit of its name under the symmetries of the child.

        That is a code of the orbit, the symmetry that leads to its first name, the embedding
        turned by it, and the group of the symmetries that leave that name as it is.
        """
        partition, groups = self._partition, self._groups
        weights = code_weights(relation.large_size, relation.small_size)
        rows = partition.embeddings(relation, pairs)
        own_group = partition.group[relation.small[pairs]]
        other_group = partition.group[relation.large[pairs]]
        orbit = np.empty(len(pairs), dtype=np.uint64)
        turn = np.empty_like(rows)
        symmetry = np.empty(len(pairs), dtype=np.int64)
        for group in np.unique(own_group).tolist():
            own = np.flatnonzero(own_group == group)
            codes = partition.codes(rows[own], weights, AROUND, group, other_group[own])
            choice = codes.argmin(axis=1)
            orbit[own] = np.take_along_axis(codes, choice[:, None], axis=1).ravel()
            turn[own] = groups.elements(group)[choice]
            symmetry[own] = stabilisers(groups, group, codes, choice)
        return orbit, turn, np.take_along_axis(rows, turn, axis=1), symmetry


def as_tuples(rows: Ints) -> Iterator[tuple[int, ...]]:
    """The rows as tuples; equal rows share one."""
    first, which = group_rows(list(rows.T)) if len(rows) else (np.zeros(0, np.int64),) * 2
    distinct = [tuple(row) for row in rows[first].tolist()]
    return (distinct[k] for k in which.tolist())
