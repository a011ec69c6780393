"""The query room: from a question to region beliefs to probabilities.

Knows atoms, regions and beliefs; knows nothing of iteration. The reader of ground networks is
imported from its own file, by those who need it.
"""

from liftgbp.query.answer import Answer, every_row, marginal_of, query_all
from liftgbp.query.answers import Answers, UntrustedAnswer, UntrustedAnswerError
from liftgbp.query.block_table import BlockedAtom, BlockPanel, BlockStructure
from liftgbp.query.count_queries import CountAnswer, CountDistribution
from liftgbp.query.proven_bounds import Bounds, ProbabilityBounds
from liftgbp.query.readers import (
    ClassReader,
    LiftedReader,
    Prepared,
    PreparedLifted,
    Reader,
    pattern_text,
)
from liftgbp.query.result import MixedResult, Result

__all__ = [
    "Answer",
    "Answers",
    "BlockPanel",
    "BlockStructure",
    "BlockedAtom",
    "Bounds",
    "ClassReader",
    "CountAnswer",
    "CountDistribution",
    "LiftedReader",
    "MixedResult",
    "Prepared",
    "PreparedLifted",
    "ProbabilityBounds",
    "Reader",
    "Result",
    "UntrustedAnswer",
    "UntrustedAnswerError",
    "every_row",
    "marginal_of",
    "pattern_text",
    "query_all",
]
