"""Junction trees with tables of many entries, against the weights of all joint states."""

from __future__ import annotations

import math

import numpy as np
import pytest

from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.methods.exact import junction_tree
from liftgbp.methods.exact.junction_tree import JunctionTree
from random_networks import log_weights, log_z

RANGES = (2, 3, 2, 2, 1, 2, 3, 2, 2, 2, 2, 2)


def dense(seed: int, factors: int, most: int) -> GroundNetwork:
    """A network whose variables nearly all share factors, some of which rule states out."""
    generator = np.random.default_rng(seed)
    wide = np.flatnonzero(np.array(RANGES) > 1)
    blocks, tables = [], []
    for number in range(factors):
        scope = np.sort(generator.choice(wide, generator.integers(1, most + 1), replace=False))
        shape = [RANGES[v] for v in scope]
        table = generator.normal(scale=generator.choice([0.5, 400.0]), size=shape)
        table[(generator.random(shape) < 0.05) & (np.indices(shape).sum(axis=0) > 0)] = -np.inf
        blocks.append(FactorBlock(scope[None], np.array([number])))
        tables.append(table)
    return merged(np.array(RANGES), blocks, tables, log_constant=0.5, free={2: 3})


@pytest.mark.parametrize("at_once", [2, 16, junction_tree.AT_ONCE, 10**6])
@pytest.mark.parametrize(("factors", "most"), [(14, 2), (40, 3), (12, 7)])
@pytest.mark.parametrize("seed", range(3))
def test_tables_are_joined_in_groups(
    seed: int, factors: int, most: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many entries lie side by side makes no difference."""
    monkeypatch.setattr(junction_tree, "AT_ONCE", at_once)
    network = dense(seed, factors, most)
    logs = log_weights(network)
    tree = JunctionTree(network, 10**6, range(len(RANGES)) if seed == 0 else ())
    assert tree.log_z == pytest.approx(log_z(network), rel=1e-12, abs=1e-9)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    generator = np.random.default_rng(seed)
    asked = [(v,) for v in range(len(RANGES))]
    asked += [tuple(generator.permutation(len(RANGES))[:size].tolist()) for size in (2, 3, 5)]
    for variables in asked:
        others = tuple(v for v in range(len(RANGES)) if v not in variables)
        order = [sorted(variables).index(v) for v in variables]
        truth = weights.sum(axis=others).transpose(order)
        np.testing.assert_allclose(tree.joint(variables), truth, atol=1e-10)


def test_states_are_entries_of_tables() -> None:
    network = dense(0, 14, 2)
    tree = JunctionTree(network, 10**6)
    assert tree.states == sum(math.prod(RANGES[v] for v in own.variables) for own in tree.cliques)
