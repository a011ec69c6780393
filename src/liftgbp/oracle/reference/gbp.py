"""Ground generalized belief propagation: parent-to-child messages, flooding, one dictionary each.

References: Yedidia, Freeman and Weiss, *Constructing free-energy approximations and generalized
belief propagation algorithms*, IEEE Transactions on Information Theory 51 (2005).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from liftgbp.oracle.reference.ground_graph import Edge, GroundRegionGraph, Region
from liftgbp.oracle.reference.log_tables import axes_outside, expand, log_sum_exp, read_only
from liftgbp.oracle.reference.plain_grounding import GroundAtom
from liftgbp.support.arrays import Floats

Beliefs: TypeAlias = Mapping[Region, Floats]
Messages: TypeAlias = dict[Edge, Floats]
Inflow: TypeAlias = dict[Region, list[tuple[Region, list[Edge]]]]


@dataclass(frozen=True, eq=False, slots=True)
class FloodingResult:
    """Where flooding stopped: the beliefs, after how many updates, and how far from agreement.

    `residual` is the largest difference between the belief of a region and what a parent's belief
    says about it, in probabilities.
    """

    beliefs: Beliefs
    iterations: int
    residual: float


def iterates(
    graph: GroundRegionGraph, damping: float = 0.5, iterations: int = 500
) -> Iterator[Beliefs]:
    """Yield the normalised log beliefs before the first update of messages and after each update.

    So the first item has seen no update, item k exactly k of them, and there are `iterations` + 1
    items in all; fewer if diverging messages leave the range of floating point numbers. An update
    changes all messages once. Axes follow `sorted(region)`; dead states are −∞.
    """
    inflow = _inflow(graph)
    messages = {(parent, child): np.zeros_like(graph.theta[child]) for parent, child in graph.edges}
    beliefs = _beliefs(graph, messages, inflow)
    yield beliefs
    for _ in range(iterations):
        try:
            # Not around the yield: the caller's own arithmetic keeps its own error state.
            with np.errstate(over="raise", invalid="raise"):
                messages = _updated(graph, messages, beliefs, damping)
                beliefs = _beliefs(graph, messages, inflow)
        except FloatingPointError:
            return
        yield beliefs


def run(
    graph: GroundRegionGraph, damping: float = 0.5, iterations: int = 500, tol: float = 1e-10
) -> FloodingResult:
    """Update all messages until parents agree with their children within `tol`.

    There are at most `iterations` updates; with `iterations=1`, beliefs are those after one.
    Diverging messages may push all beliefs into one corner, where they agree as well, so a small
    residual alone does not tell a fixed point from a collapse.

    >>> from liftgbp.model.ast import Atom, Iff, Is, Number, Predicate, WeightedFormula
    >>> from liftgbp.model.model import Model
    >>> from liftgbp.oracle.reference import ground, ground_regions
    >>> rain, wet = (Is(Atom(name)) for name in ("rain", "wet"))
    >>> rules = (WeightedFormula(Iff(rain, wet), Number(2.0)), WeightedFormula(rain, Number(-1.0)))
    >>> model = Model({}, {name: Predicate(name) for name in ("rain", "wet")}, rules)
    >>> graph = ground_regions(ground(model), "bethe")
    >>> result = run(graph)
    >>> marginal(graph, result.beliefs, GroundAtom("wet")).round(4).tolist()
    [0.676, 0.324]
    """
    result = FloodingResult({}, 0, math.inf)
    for iteration, beliefs in enumerate(iterates(graph, damping, iterations)):
        result = FloodingResult(beliefs, iteration, disagreement(graph, beliefs))
        if result.residual <= tol:
            break
    return result


def disagreement(graph: GroundRegionGraph, beliefs: Beliefs) -> float:
    """The largest difference, in probability, between a belief and a parent's marginal of it."""
    return max(
        (
            float(np.abs(np.exp(_marginalised(beliefs, edge)) - np.exp(beliefs[edge[1]])).max())
            for edge in graph.edges
        ),
        default=0.0,
    )


def log_z(graph: GroundRegionGraph, beliefs: Beliefs) -> float:
    """The Kikuchi estimate of log Z that these log beliefs give."""
    total = graph.ground.log_constant
    for region, count in graph.counting.items():
        states = graph.alive[region]
        log_belief = beliefs[region][states]
        surplus = log_belief - graph.theta[region][states]
        total -= count * float(np.sum(np.exp(log_belief) * surplus))
    atoms_of_regions = frozenset[GroundAtom]().union(*graph.regions)
    free_atoms = (atom for atom in graph.ground.atoms if atom not in atoms_of_regions)
    return total + sum(math.log(graph.ground.ranges[atom]) for atom in free_atoms)


def marginal(graph: GroundRegionGraph, beliefs: Beliefs, atom: GroundAtom) -> Floats:
    """The probabilities of an atom's values, read from the smallest region that holds it."""
    holders = [region for region in graph.regions if atom in region]
    if not holders:
        states = graph.ground.ranges[atom]
        return np.full(states, 1.0 / states)
    smallest = holders[-1]
    outside = axes_outside(sorted(smallest), {atom})
    return np.asarray(np.exp(log_sum_exp(beliefs[smallest], outside)))


# --- one iteration


def _inflow(graph: GroundRegionGraph) -> Inflow:
    """Per region, the edges that lead from outside into the regions inside it."""
    position = {region: number for number, region in enumerate(graph.regions)}
    return {
        region: [
            (inner, edges)
            for inner in sorted(inside, key=position.__getitem__)
            if (edges := [(p, inner) for p in graph.parents[inner] if p not in inside])
        ]
        for region, inside in graph.below.items()
    }


def _beliefs(graph: GroundRegionGraph, messages: Messages, inflow: Inflow) -> Beliefs:
    beliefs = {}
    for region, theta in graph.theta.items():
        atoms = sorted(region)
        total = theta.copy()
        for inner, edges in inflow[region]:
            total += expand(np.sum([messages[edge] for edge in edges], axis=0), inner, atoms)
        # Messages are 0 in dead states, so dead states of the region need a mark of their own.
        belief = _normalised(np.where(graph.alive[region], total, -np.inf))
        beliefs[region] = read_only(belief)
    return MappingProxyType(beliefs)


def _updated(
    graph: GroundRegionGraph, messages: Messages, beliefs: Beliefs, damping: float
) -> Messages:
    updated: Messages = {}
    for edge, message in messages.items():
        alive = graph.alive[edge[1]]
        correction = _marginalised(beliefs, edge)[alive] - beliefs[edge[1]][alive]
        raw = message[alive] + (1.0 - damping) * correction
        updated[edge] = np.zeros_like(message)
        updated[edge][alive] = _normalised(raw)
    return updated


def _marginalised(beliefs: Beliefs, edge: Edge) -> Floats:
    parent, child = edge
    return log_sum_exp(beliefs[parent], axes_outside(sorted(parent), child))


def _normalised(log_table: Floats) -> Floats:
    return np.asarray(log_table - log_sum_exp(log_table))
