"""The reproduction room: the evaluation of the paper, run again.

Reference: Udi Apsel, *Lifted Message Passing for the Generalized Belief Propagation*. Composes the
engine, the reference and their comparison; judges the claims of the paper by the numbers measured.
"""

from liftgbp.oracle.reproduction.claims import Cell, Claim
from liftgbp.oracle.reproduction.evaluation import Reproduction, reproduce
from liftgbp.oracle.reproduction.measure import Measurement

__all__ = ["Cell", "Claim", "Measurement", "Reproduction", "reproduce"]
