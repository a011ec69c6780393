"""The bounding room: proven bounds of log Z and of probabilities.

Knows normal forms, plans, products over blocks and consistent beliefs; knows nothing of how answers
are found.
"""

from liftgbp.methods.bounding.judging import ProvenJudge, judged_by
from liftgbp.methods.bounding.log_z import TOO_MANY_CLASSES, bounds, bounds_over

__all__ = ["TOO_MANY_CLASSES", "ProvenJudge", "bounds", "bounds_over", "judged_by"]
