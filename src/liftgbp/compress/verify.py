"""Looking at the names of neighbours themselves, where refinement has looked at hashes."""

from __future__ import annotations

import numpy as np

from liftgbp.arrays import Ints, expand, group_rows, starts_of
from liftgbp.compress.partition import AROUND, INSIDE, Partition
from liftgbp.errors import InternalError


def verify(partition: Partition, representative: Ints) -> None:
    """Check that every region has the neighbours of the representative of its kind.

    `representative` gives a region of the same kind for each region.
    """
    for role in (INSIDE, AROUND):
        _compare(partition, representative, role)


def _compare(partition: Partition, representative: Ints, role: int) -> None:
    owners, labels, codes, sorts = [], [], [], []
    for number, relation in enumerate(partition.relations):
        pairs = np.arange(len(relation.large))
        size = relation.large_size if role == INSIDE else relation.small_size
        own, other = relation.large, relation.small
        if role == AROUND:
            own, other = other, own
        names = partition.names(relation, pairs, role, partition.groups.trivial(size))
        owners.append(own)
        labels.append(partition.label[other])
        codes.append(names[:, 0])
        sorts.append(2 * number + relation.cover)
    if not owners:
        return
    owner = np.concatenate(owners)
    _, name = group_rows([np.concatenate(part) for part in (labels, codes, sorts)])
    order = np.lexsort((name, owner))
    name = name[order]
    counts = np.bincount(owner, minlength=len(representative))
    starts = starts_of(counts)
    if (counts != counts[representative]).any():
        raise InternalError("regions of one kind have different numbers of neighbours")
    twins = name[expand(starts[representative], counts)]
    if (name != twins).any():
        raise InternalError("regions of one kind have neighbours of different names")
