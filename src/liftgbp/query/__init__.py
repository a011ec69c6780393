"""The query room: from a question to region beliefs to probabilities.

Knows atoms, regions and beliefs; knows nothing of iteration.
"""

from liftgbp.query.answers import Answer, Answers

__all__ = ["Answer", "Answers"]
