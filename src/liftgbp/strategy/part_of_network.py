"""Answers about networks that are too large for a sample, by those about a part of them.

The part is made of the surroundings of some variables. The same method answers about it alone, and
a sample judges that. If it agrees, and the whole is made of no more minima than the part, the
answer about the whole is confirmed, too. That is evidence, not proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding.network import AtomTable, FactorBlock, GroundNetwork
from liftgbp.methods.effort import Effort
from liftgbp.methods.sampling.sampler import Target
from liftgbp.methods.sampling.second_sample import WORK, SecondSample
from liftgbp.plan import compile_plan
from liftgbp.posterior import Confirmation, Posterior, Silence, Support, Unconfirmed
from liftgbp.posterior.ground_reader import PreparedGround
from liftgbp.strategy.communities_on_ground import with_communities
from liftgbp.strategy.run import Run
from liftgbp.strategy.smaller_worlds import MOST_WORK, SEEN
from liftgbp.support.arrays import Bools, Ints
from liftgbp.support.errors import InputError

BALLS, VARIABLES = 2, 300
"""So many surroundings, with so many variables together: what a sample sees in a third of a
second."""


def support_of(
    answers: Posterior, prepared: PreparedGround, effort: Effort, run: Run
) -> Confirmation | Unconfirmed:
    """What a part of a network says about answers that no sample could judge."""
    network, atoms = prepared.graph.network, prepared.atoms
    members = _surroundings(network)
    # Variables that stand for parts of large formulas are not sampled.
    stand_ins = atoms.predicate.max(initial=-1) >= len(prepared.model.predicates)
    if members.all() or stand_ins:
        return answers.support
    part, own = _part(network, atoms, members)
    regions = ground_region_graph(part, answers.graph.family, progress=run.progress)
    graph = compress(regions, part, progress=run.progress)
    own_prepared = PreparedGround(graph, compile_plan(graph), prepared.problem, own)
    try:
        there = run.solved(own_prepared)
        if answers.provenance.communities:
            there = with_communities(own_prepared, there, effort, run.progress) or there
    except InputError:
        # A check that cannot be made does not end the run.
        return Unconfirmed(Silence.OTHER_STRUCTURE)
    if _structure(there) != _structure(answers):
        return Unconfirmed(Silence.OTHER_STRUCTURE)
    target = Target(prepared.problem, part, own)
    variables = len(part.ranges)
    sample = SecondSample(
        MOST_WORK * WORK[effort.name], lambda: target, variables, part.factors, run.progress
    )
    opinion = sample.opinion_on(there)
    if isinstance(opinion, Confirmation):
        return replace(opinion, by=Support.PART, sizes={"variables": variables})
    return replace(opinion, sizes={"variables": variables})


def _structure(answers: Posterior) -> object:
    """What an answer is made of, however large the network is."""
    points = sum(1 for point in answers.result.points if point.weight > SEEN)
    return answers.sound, str(answers.graph.family), points, bool(answers.provenance.communities)


def _surroundings(network: GroundNetwork) -> Bools:
    """The variables of the surroundings of some that are chosen at random."""
    members = np.zeros(len(network.ranges), np.bool_)
    inside = np.unique(np.concatenate([np.zeros(0, np.int64), *_scopes(network)]))
    if len(inside) <= VARIABLES:
        members[inside] = True
        return members
    random = np.random.default_rng(0)
    for ball in range(1, BALLS + 1):
        most = VARIABLES * ball // BALLS
        members[random.choice(inside)] = True
        while members.sum() < most:
            reached = members.copy()
            for scopes in (block.scopes for block in network.blocks):
                touched = members[scopes].any(axis=1)
                reached[scopes[touched].ravel()] = True
            new = np.flatnonzero(reached & ~members)
            if not len(new):
                break
            members[random.permutation(new)[: most - int(members.sum())]] = True
    return members


def _scopes(network: GroundNetwork) -> Iterator[Ints]:
    return (block.scopes.ravel() for block in network.blocks)


def _part(
    network: GroundNetwork, atoms: AtomTable, members: Bools
) -> tuple[GroundNetwork, AtomTable]:
    """The network of some variables alone, with the factors that are about no others."""
    number = np.cumsum(members) - 1
    blocks = []
    for block in network.blocks:
        whole = members[block.scopes].all(axis=1)
        blocks.append(FactorBlock(number[block.scopes[whole]], block.table_of[whole]))
    own = AtomTable(atoms.predicate[members], atoms.args[members])
    part = GroundNetwork(
        network.ranges[members],
        tuple(block for block in blocks if len(block.table_of)),
        network.tables,
        atoms=own,
    )
    return part, own
