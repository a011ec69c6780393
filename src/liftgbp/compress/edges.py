"""Edges between kinds of regions: one for all parents of the same name."""

from __future__ import annotations

import numpy as np

from liftgbp.arrays import Bools, Hashes, Ints, group_rows, hash_rows
from liftgbp.compress.partition import AROUND, Partition, Relation, code_weights
from liftgbp.compress.potentials import stabilisers
from liftgbp.errors import InternalError
from liftgbp.regions.arrays import Axes, Interner, numbers_of_rows


class EdgeTable:
    """The edges into the example of each kind, with the messages that they carry.

    Parents of one name send the same message. Names that a symmetry of the child takes into each
    other belong to one message with its axes permuted.

    edges     rows of child, parent, message and axes
    kappa     how many parents each edge stands for
    messages  rows of parent, child, axes and the group of symmetries
    """

    def __init__(
        self, partition: Partition, kind: Ints, is_example: Bools, axes: Interner[Axes]
    ) -> None:
        self._partition = partition
        self._groups = partition.groups
        self._kind = kind
        self._is_example = is_example
        self._axes = axes
        none = np.zeros((4, 0), dtype=np.int64)
        self.edges, self.messages = none, none
        self.kappa = none[0]
        keys = [np.zeros(0, dtype=np.uint64), *map(self._add, partition.relations)]
        every_key = np.concatenate(keys)
        self._by_key = np.argsort(every_key)
        self._keys = every_key[self._by_key]
        if (self._keys[1:] == self._keys[:-1]).any():
            raise InternalError("two edges have one hash")

    def find(self, child: Ints, parent: Ints, code: Hashes) -> Ints:
        """The numbers of edges by kind of child and parent, and the code of the embedding."""
        return self._by_key[np.searchsorted(self._keys, hash_rows([child, parent, code]))]

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
        orbit, turn, rows, symmetry = self._orbits(relation, pairs[first])
        head, message = group_rows([child, parent, orbit])
        message_axes = numbers_of_rows(self._axes, rows[head])
        edge_axes = numbers_of_rows(self._axes, turn)
        self.edges = np.hstack(
            [self.edges, [child, parent, self.messages.shape[1] + message, edge_axes]]
        )
        self.messages = np.hstack(
            [self.messages, [parent[head], child[head], message_axes, symmetry[head]]]
        )
        self.kappa = np.append(self.kappa, kappa)
        return hash_rows([child, parent, code])

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
