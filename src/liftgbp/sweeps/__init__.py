"""The sweep room: the same queries over many domain sizes and named weights.

Takes a model, sizes and weights; gives a `Sweep` of rows. Imports the rooms up to `report`; points
are prepared and solved as a series.
"""

from liftgbp.sweeps.sweep_files import sweep_to_file
from liftgbp.sweeps.sweep_rows import Sweep, SweepPoint, SweepRow
from liftgbp.sweeps.sweeping import sweep

__all__ = ["Sweep", "SweepPoint", "SweepRow", "sweep", "sweep_to_file"]
