"""The network of communities: each is one variable, whose values are its minima.

A factor for each community has the log Z of its minima, one for each variable at a cut has its
probabilities in these minima, and the factors between communities stay what they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.methods.communities.cut_network import CutNetwork
from liftgbp.methods.communities.phases import Phases
from liftgbp.methods.exact.junction_tree import JunctionTree
from liftgbp.plan import compile_plan
from liftgbp.posterior.sources import GroundBeliefs, GroundSource
from liftgbp.solve import Auto, Finding
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError
from liftgbp.support.progress import Progress


def coarse_network(network: GroundNetwork, cut: CutNetwork, phases: Phases) -> GroundNetwork:
    """The network of the communities, which come first, and of the variables at cuts."""
    number = cut.communities
    starts = np.cumsum(network.ranges) - network.ranges
    # States of no probability at all would have no log.
    cavity = np.log(np.maximum(phases.cavity, np.finfo(float).tiny))
    tables: list[Floats] = list(network.tables)
    blocks = [
        FactorBlock(number + np.searchsorted(cut.boundary, block.scopes), block.table_of)
        for block in cut.crossing
    ]
    every = np.arange(number)
    blocks.append(FactorBlock(every[:, None], len(tables) + every))
    tables += [phases.log_z[:minima, k] for k, minima in enumerate(phases.number.tolist())]
    (place,) = np.nonzero(cut.community[cut.boundary] >= 0)
    members = cut.boundary[place]
    owner = cut.community[members]
    scopes = np.column_stack([owner, number + place])
    blocks.append(FactorBlock(scopes, len(tables) + np.arange(len(place))))
    tables += [
        cavity[:minima, first : first + size]
        for minima, first, size in zip(
            phases.number[owner].tolist(),
            starts[members].tolist(),
            network.ranges[members].tolist(),
            strict=True,
        )
    ]
    ranges = np.concatenate([phases.number, network.ranges[cut.boundary]])
    outside = np.setdiff1d(np.flatnonzero(cut.community < 0), cut.boundary)
    free = Counter(network.free) + Counter(network.ranges[outside].tolist())
    return merged(ranges, blocks, tables, log_constant=network.log_constant, free=free)


@dataclass(frozen=True, eq=False, slots=True)
class CoarseAnswers:
    """The distribution of a network of communities; `flaw` says what is wrong if it is none."""

    source: GroundSource
    log_z: float
    flaw: Finding | None = None


def coarse_answers(
    network: GroundNetwork, most_states: int, work: float, progress: Progress
) -> CoarseAnswers:
    """Exact answers about a network of communities, or those of messages where it is too large."""
    try:
        tree = JunctionTree(network, most_states)
    except CapacityError:
        graph = compress(ground_region_graph(network), network)
        plan = compile_plan(graph)
        solution = Auto(most_patience=work)(plan, progress)
        source = GroundBeliefs(graph, plan.layout, solution.log_beliefs)
        return CoarseAnswers(source, solution.log_z, solution.flaw)
    return CoarseAnswers(tree, tree.log_z)
