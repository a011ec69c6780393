"""The regions room: which clusters are regions, who sends messages to whom, and how often.

Exact integers only; knows nothing of floats and tables.
"""

from liftgbp.regions.build import build_regions
from liftgbp.regions.counts import Count
from liftgbp.regions.families import FAMILIES, Family, parse_family
from liftgbp.regions.graph import Edge, LiftedRegionGraph, Member, Message, Region

__all__ = [
    "FAMILIES",
    "Count",
    "Edge",
    "Family",
    "LiftedRegionGraph",
    "Member",
    "Message",
    "Region",
    "build_regions",
    "parse_family",
]
