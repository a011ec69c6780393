"""The posterior room: from a question to region beliefs to probabilities.

Takes a prepared model and what a method found; gives a `Posterior`, which answers queries. Imports
the rooms up to `solve`. Knows nothing of iteration. The reader of ground networks is imported from
its own file, by those who need it.
"""

from liftgbp.posterior.answer import Answer, every_row, marginal_of, query_all
from liftgbp.posterior.block_table import BlockedAtom, BlockPanel, BlockStructure
from liftgbp.posterior.count_queries import CountAnswer, CountDistribution
from liftgbp.posterior.posterior import Answered, Posterior, posterior_of
from liftgbp.posterior.proven_bounds import Bounds, ProbabilityBounds
from liftgbp.posterior.provenance import CountSum, Provenance
from liftgbp.posterior.readers import (
    ClassReader,
    Prepared,
    PreparedLifted,
    Reader,
    pattern_text,
)
from liftgbp.posterior.results import MixedResult, Result
from liftgbp.posterior.sources import Beliefs, Source
from liftgbp.posterior.standing import Confirmation, Silence, Standing, Support, Unconfirmed

__all__ = [
    "Answer",
    "Answered",
    "Beliefs",
    "BlockPanel",
    "BlockStructure",
    "BlockedAtom",
    "Bounds",
    "ClassReader",
    "Confirmation",
    "CountAnswer",
    "CountDistribution",
    "CountSum",
    "MixedResult",
    "Posterior",
    "Prepared",
    "PreparedLifted",
    "ProbabilityBounds",
    "Provenance",
    "Reader",
    "Result",
    "Silence",
    "Source",
    "Standing",
    "Support",
    "Unconfirmed",
    "every_row",
    "marginal_of",
    "pattern_text",
    "posterior_of",
    "query_all",
]
