"""The compress room: which regions of a ground network behave alike, and the graph of their kinds.

Knows ground regions in arrays, frames and groups of permutations; knows nothing of messages as
numbers.
"""

from liftgbp.ground.compress.alignment import Alignment
from liftgbp.ground.compress.ground_regions import GroundRegions, ground_region_graph
from liftgbp.ground.compress.quotient import compress
from liftgbp.ground.compress.quotient_graph import QuotientGraph

__all__ = ["Alignment", "GroundRegions", "QuotientGraph", "compress", "ground_region_graph"]
