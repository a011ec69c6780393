"""The slow path: plain grounding, ground message passing and exact answers.

This room is the oracle that the engine is tested against, so it shares nothing with the engine but
the syntax tree, the facts of evidence and the errors: a mistake in one of them cannot hide in the
other.
"""

from liftgbp.oracle.reference.exact_inference import (
    ExactValues,
    enumerate_worlds,
    exact,
    exact_joint,
)
from liftgbp.oracle.reference.gbp import (
    Beliefs,
    FloodingResult,
    disagreement,
    iterates,
    log_z,
    marginal,
    run,
)
from liftgbp.oracle.reference.ground_graph import GroundRegionGraph, Region, ground_regions
from liftgbp.oracle.reference.plain_grounding import (
    GroundAtom,
    GroundFactor,
    GroundModel,
    ground,
    ground_factors,
)

__all__ = [
    "Beliefs",
    "ExactValues",
    "FloodingResult",
    "GroundAtom",
    "GroundFactor",
    "GroundModel",
    "GroundRegionGraph",
    "Region",
    "disagreement",
    "enumerate_worlds",
    "exact",
    "exact_joint",
    "ground",
    "ground_factors",
    "ground_regions",
    "iterates",
    "log_z",
    "marginal",
    "run",
]
