"""The evidence room: what is known about individual objects of a model.

Knows names, files and values of atoms; knows nothing of classes and tables of factors. What reads
texts and tables is imported from its own file, by those who need it.
"""

from liftgbp.evidence.evidence import AnyEvidence, Evidence, Known, Relation, SoftRelation
from liftgbp.evidence.problem import Problem

__all__ = ["AnyEvidence", "Evidence", "Known", "Problem", "Relation", "SoftRelation"]
