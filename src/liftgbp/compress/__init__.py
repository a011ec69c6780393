"""The compress room: which regions of a ground network behave alike, and the graph of their kinds.

Knows ground regions in arrays, frames and groups of permutations; knows nothing of messages as
numbers.
"""

from liftgbp.compress.alignment import Alignment
from liftgbp.compress.ground_regions import GroundRegions, ground_region_graph
from liftgbp.compress.quotient import compress
from liftgbp.compress.quotient_graph import QuotientGraph

__all__ = ["Alignment", "GroundRegions", "QuotientGraph", "compress", "ground_region_graph"]
