"""The evidence room: what is known about individual objects of a model.

Knows names, files and values of atoms; knows nothing of classes and tables of factors.
"""

from liftgbp.evidence.evidence import AnyEvidence, Evidence, Known, Relation, SoftRelation
from liftgbp.evidence.read import load_evidence, parse_evidence, parse_known

__all__ = [
    "AnyEvidence",
    "Evidence",
    "Known",
    "Relation",
    "SoftRelation",
    "load_evidence",
    "parse_evidence",
    "parse_known",
]
