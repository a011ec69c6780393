"""The evidence room: what is known about individual objects, and the problem it makes of a model.

Takes facts as texts, tables and Python values; gives `Evidence` and, with a model and sizes, a
`Problem`. Imports the rooms up to `model`. What reads texts and tables is imported from its own
file, by those who need it.
"""

from liftgbp.evidence.evidence import AnyEvidence, Evidence, Known, Relation, SoftRelation
from liftgbp.evidence.problem import Problem

__all__ = ["AnyEvidence", "Evidence", "Known", "Problem", "Relation", "SoftRelation"]
