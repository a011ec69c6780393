"""The sweep room: the same queries over many domain sizes and named weights.

Composes the stages like the façade; the region graph and its layout are built once for all sizes
that share them, and points are solved as stacks.
"""

from liftgbp.sweep.sweep import Sweep, SweepPoint, SweepRow, sweep

__all__ = ["Sweep", "SweepPoint", "SweepRow", "sweep"]
