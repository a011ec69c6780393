"""Random ground networks, and what they say about every joint state."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged

LOGS = st.one_of(
    st.sampled_from([-math.inf, 0.0, 1.0, -2.5]),
    st.floats(-3, 3),
    st.floats(-2000, 2000),
)


@st.composite
def networks(draw: st.DrawFn) -> GroundNetwork:
    """Up to five variables and six factors; no factor is indifferent to one of its variables."""
    ranges = draw(st.lists(st.integers(1, 3), max_size=5))
    wide = [variable for variable, length in enumerate(ranges) if length > 1]
    blocks, tables = [], []
    for number in range(draw(st.integers(0, 6)) if wide else 0):
        scope = draw(st.lists(st.sampled_from(wide), min_size=1, max_size=3, unique=True))
        blocks.append(FactorBlock(np.array([scope]), np.array([number])))
        tables.append(draw(sensitive_tables(tuple(ranges[variable] for variable in scope))))
    return merged(
        np.array(ranges, np.int64),
        blocks,
        tables,
        log_constant=draw(st.sampled_from([0.0, -1.25, 3000.0])),
        free=draw(st.sampled_from([{}, {2: 3}, {2: 10, 3: 1}])),
    )


@st.composite
def sensitive_tables(draw: st.DrawFn, shape: tuple[int, ...]) -> np.ndarray:
    size = math.prod(shape)
    table = np.array(draw(st.lists(LOGS, min_size=size, max_size=size)))
    # One entry that differs from all others makes the table depend on every variable.
    table[0] = draw(st.sampled_from([3.7, -4.4]))
    return table.reshape(shape)


def log_weights(network: GroundNetwork) -> np.ndarray:
    """The log weight of every joint state, free atoms included as a constant."""
    ranges = network.ranges.tolist()
    states = np.indices(ranges) if ranges else np.zeros((0,), np.int64)
    outside = sum(count * math.log(length) for length, count in network.free.items())
    total = np.full(ranges, network.log_constant + outside)
    for block in network.blocks:
        for scope, table in zip(block.scopes, block.table_of, strict=True):
            total = total + network.tables[table][tuple(states[variable] for variable in scope)]
    return np.asarray(total)


def log_z(network: GroundNetwork) -> float:
    return float(np.logaddexp.reduce(log_weights(network), axis=None))
