"""The regions room: which clusters are regions, and how many messages pass between them.

Exact integers only; knows nothing of floats and tables.
"""

from liftgbp.lift.regions.build import Coarser, build_regions
from liftgbp.lift.regions.counts import Count, ExactCounts
from liftgbp.lift.regions.families import (
    BETHE,
    FACTOR_SCOPES,
    FAMILIES,
    GROWING,
    Family,
    over_objects,
    parse_family,
)
from liftgbp.lift.regions.lifted_graph import LiftedRegionGraph
from liftgbp.lift.regions.region_graph import Edge, HeldFactor, Member, Message, Region, RegionGraph

__all__ = [
    "BETHE",
    "FACTOR_SCOPES",
    "FAMILIES",
    "GROWING",
    "Coarser",
    "Count",
    "Edge",
    "ExactCounts",
    "Family",
    "HeldFactor",
    "LiftedRegionGraph",
    "Member",
    "Message",
    "Region",
    "RegionGraph",
    "build_regions",
    "over_objects",
    "parse_family",
]
