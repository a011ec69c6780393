"""Independent parts of a ground network, solved apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from liftgbp.ground.grounding import FactorBlock, GroundNetwork
from liftgbp.posterior import Posterior
from liftgbp.posterior.ground_reader import GroundReader, PreparedGround
from liftgbp.posterior.sources import GroundSource, product_of_parts
from liftgbp.strategy.parts import product_of
from liftgbp.support.arrays import Bools, Floats, Ints

MOST_PARTS = 32
"""Networks of more parts are solved as a whole: each part takes about as long as a small network,
and parts that are alike are solved once anyway."""


@dataclass(frozen=True, eq=False, slots=True)
class GroundParts:
    """The distributions of the independent parts of a ground network."""

    sources: tuple[GroundSource, ...]
    part_of: Ints

    def joint(self, variables: Sequence[int]) -> Floats:
        """The joint distribution of variables; those of different parts are independent."""
        joints = [own.joint for own in self.sources]
        return product_of_parts(variables, lambda variable: int(self.part_of[variable]), joints)


def ground_parts(network: GroundNetwork) -> tuple[Ints, list[GroundNetwork]]:
    """The part of each variable, and the network of each part; variables keep their numbers.

    Of a variable in no factor, the part is -1.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(network.ranges)
    ends = [
        (block.scopes[:, [0]].repeat(block.scopes.shape[1], axis=1).ravel(), block.scopes.ravel())
        for block in network.blocks
    ]
    rows = np.concatenate([np.zeros(0, np.int64), *(own for own, _ in ends)])
    columns = np.concatenate([np.zeros(0, np.int64), *(own for _, own in ends)])
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    _, component = connected_components(links, directed=False)
    inside = np.isin(np.arange(size), columns)
    numbers, part_of = np.unique(component[inside], return_inverse=True)
    every = np.full(size, -1)
    every[inside] = part_of.ravel()
    return every, [_restricted(network, every == k) for k in range(len(numbers))]


def _restricted(network: GroundNetwork, members: Bools) -> GroundNetwork:
    blocks = []
    for block in network.blocks:
        own = members[block.scopes[:, 0]]
        blocks.append(FactorBlock(block.scopes[own], block.table_of[own]))
    used = tuple(block for block in blocks if len(block.table_of))
    return replace(network, blocks=used)


def multiplied_on_ground(
    prepared: PreparedGround, part_of: Ints, answers: Sequence[Posterior]
) -> Posterior:
    """The answers about a ground network from those of its parts."""
    sources = [own.reader.source for own in answers if isinstance(own.reader, GroundReader)]
    reader = GroundReader(prepared, GroundParts(tuple(sources), part_of))
    return product_of(reader, answers, [own.plan.log_offset for own in answers])
