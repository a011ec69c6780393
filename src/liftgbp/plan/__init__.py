"""The plan room: a region graph compiled into flat arrays.

Takes a lifted or ground region graph; gives a `Plan`. Imports the rooms up to `ground`. Knows
nothing of predicates and objects.
"""

from liftgbp.lift.regions.ground_pairs import GroundPairs
from liftgbp.plan.automorphisms import symmetries
from liftgbp.plan.compile import compile_plan
from liftgbp.plan.filling import refill, refill_all
from liftgbp.plan.plan import Layout, Plan, Structure

__all__ = [
    "GroundPairs",
    "Layout",
    "Plan",
    "Structure",
    "compile_plan",
    "refill",
    "refill_all",
    "symmetries",
]
