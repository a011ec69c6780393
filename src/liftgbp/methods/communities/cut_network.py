"""A ground network, cut into communities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from liftgbp.ground.grounding import FactorBlock, GroundNetwork
from liftgbp.support.arrays import Ints, distinct


@dataclass(frozen=True, eq=False, slots=True)
class CutNetwork:
    """A ground network, cut into communities.

    community  the community of each variable, by number; -1 for those in none
    inside     the factors inside communities
    crossing   all others
    boundary   the variables of these, in ascending order
    """

    community: Ints
    inside: GroundNetwork
    crossing: tuple[FactorBlock, ...]
    boundary: Ints

    @staticmethod
    def of(network: GroundNetwork, community: Ints) -> CutNetwork:
        """The network, cut between these communities.

        >>> from liftgbp.ground.grounding import merged
        >>> chain = FactorBlock(np.array([[0, 1], [1, 2], [2, 3]]), np.zeros(3, dtype=np.int64))
        >>> network = merged(np.full(4, 2), [chain], [np.eye(2)])
        >>> cut = CutNetwork.of(network, np.array([0, 0, 1, 1]))
        >>> cut.boundary.tolist(), cut.inside.blocks[0].scopes.tolist()
        ([1, 2], [[0, 1], [2, 3]])
        """
        kept, crossing = [], []
        for block in network.blocks:
            own = community[block.scopes]
            cut = (own != own[:, :1]).any(axis=1) | (own[:, 0] < 0)
            kept.append(_part(block, np.flatnonzero(~cut)))
            crossing.append(_part(block, np.flatnonzero(cut)))
        across = tuple(block for block in crossing if len(block.table_of))
        boundary = distinct(_variables(across))
        kept = [block for block in kept if len(block.table_of)]
        members = boundary[community[boundary] >= 0]
        return CutNetwork(community, _covering(network, kept, members), across, boundary)

    @property
    def communities(self) -> int:
        """How many there are."""
        return 1 + int(self.community.max(initial=-1))


def _part(block: FactorBlock, own: Ints) -> FactorBlock:
    return FactorBlock(block.scopes[own], block.table_of[own])


def _variables(blocks: Sequence[FactorBlock]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *(block.scopes.ravel() for block in blocks)])


def _covering(network: GroundNetwork, blocks: list[FactorBlock], members: Ints) -> GroundNetwork:
    """The network of some of its factors, and of one without effect for each member in none."""
    alone = np.setdiff1d(members, _variables(blocks))
    if not len(alone):
        return replace(network, blocks=tuple(blocks))
    sizes = distinct(network.ranges[alone])
    tables = (*network.tables, *map(np.zeros, sizes.tolist()))
    table_of = len(network.tables) + np.searchsorted(sizes, network.ranges[alone])
    singles = [FactorBlock(alone[:, None], table_of)]
    singles += [block for block in blocks if block.scopes.shape[1] == 1]
    scopes, table_of = (
        np.concatenate(own) for own in zip(*((b.scopes, b.table_of) for b in singles), strict=True)
    )
    single = _part(FactorBlock(scopes, table_of), np.argsort(scopes[:, 0]))
    others = (block for block in blocks if block.scopes.shape[1] > 1)
    return replace(network, blocks=(single, *others), tables=tables)
