"""The sweep room: the same queries over many domain sizes and named weights.

Composes the stages like the façade; the points are prepared and solved as a series.
"""

from liftgbp.sweeps.sweep_files import sweep_to_file
from liftgbp.sweeps.sweep_rows import Sweep, SweepPoint, SweepRow
from liftgbp.sweeps.sweeping import sweep

__all__ = ["Sweep", "SweepPoint", "SweepRow", "sweep", "sweep_to_file"]
