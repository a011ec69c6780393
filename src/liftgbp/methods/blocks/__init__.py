"""The blocks room: objects that evidence does not tell apart, and that behave differently.

Knows classes, splits of classes, and the stages from a normal form to answers; knows nothing of how
a plan is solved.
"""

from liftgbp.methods.blocks.curvature import HalvesJudge
from liftgbp.methods.blocks.mixing import Bound, with_blocks

__all__ = ["Bound", "HalvesJudge", "with_blocks"]
