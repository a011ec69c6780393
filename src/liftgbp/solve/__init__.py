"""The solve room: from a plan to beliefs, with a verdict and a trace; one method per file.

Knows flat arrays; knows nothing of logic and regions.
"""

from liftgbp.solve.flooding import Flooding
from liftgbp.solve.free_energy import log_z
from liftgbp.solve.solution import Solution, Status

__all__ = ["Flooding", "Solution", "Status", "log_z"]
