"""The query room: from a question to region beliefs to probabilities.

Knows atoms, regions and beliefs; knows nothing of iteration.
"""

from liftgbp.query.answers import Answer, Answers
from liftgbp.query.ground_reader import GroundReader
from liftgbp.query.reader import ClassReader, LiftedReader, Reader, pattern_text
from liftgbp.query.stacks import query_all

__all__ = [
    "Answer",
    "Answers",
    "ClassReader",
    "GroundReader",
    "LiftedReader",
    "Reader",
    "pattern_text",
    "query_all",
]
