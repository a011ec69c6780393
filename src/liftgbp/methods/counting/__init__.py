"""The counting room: sums over how many objects have a property.

Knows counts, and the stages from a normal form to answers; knows nothing of how they are solved.
"""

from liftgbp.methods.counting.sums import Summer, with_choice

__all__ = ["Summer", "with_choice"]
