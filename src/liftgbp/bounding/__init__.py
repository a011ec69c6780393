"""The bounding room: proven bounds of log Z and of probabilities.

Knows normal forms, plans, products over blocks and consistent beliefs; knows nothing of how answers
are found.
"""

from liftgbp.bounding.log_z import bounds, bounds_over, judged_by

__all__ = ["bounds", "bounds_over", "judged_by"]
