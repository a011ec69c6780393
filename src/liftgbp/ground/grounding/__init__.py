"""The grounding room: a model with its evidence as one large Markov random field, in arrays.

Knows joins, scopes and shared tables; knows nothing of regions and messages.
"""

from liftgbp.ground.grounding.grounder import RuleCount, ground_network, rule_counts
from liftgbp.ground.grounding.network import (
    AtomTable,
    FactorBlock,
    GroundNetwork,
    atom_names,
    merged,
)

__all__ = [
    "AtomTable",
    "FactorBlock",
    "GroundNetwork",
    "RuleCount",
    "atom_names",
    "ground_network",
    "merged",
    "rule_counts",
]
