"""The query room: from a question to region beliefs to probabilities.

Knows atoms, regions and beliefs; knows nothing of iteration. The reader of ground networks is
imported from its own file, by those who need it.
"""

from liftgbp.query.answers import Answer, Answers
from liftgbp.query.reader import ClassReader, LiftedReader, Reader, pattern_text
from liftgbp.query.stacks import query_all

__all__ = [
    "Answer",
    "Answers",
    "ClassReader",
    "LiftedReader",
    "Reader",
    "pattern_text",
    "query_all",
]
