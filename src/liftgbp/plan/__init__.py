"""The plan room: a lifted region graph compiled into flat arrays.

Knows index arrays, log tables and exponents; knows nothing of predicates and objects.
"""

from liftgbp.plan.automorphisms import symmetries
from liftgbp.plan.compile import compile_plan
from liftgbp.plan.filling import refill, refill_all
from liftgbp.plan.plan import Layout, Plan, Structure
from liftgbp.regions.ground_pairs import GroundPairs

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
