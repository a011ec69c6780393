"""The conditioning room: sums over how many objects have a property.

Knows counts, and the stages from a normal form to answers; knows nothing of how they are solved.
"""

from liftgbp.counting.condition import condition, with_reason
from liftgbp.counting.mixture import ConditionedAnswers, Conditioning

__all__ = ["ConditionedAnswers", "Conditioning", "condition", "with_reason"]
