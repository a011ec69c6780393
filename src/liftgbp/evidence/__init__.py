"""The evidence room: what is known about single objects, resolved against a model.

Knows names, files and values of atoms; knows nothing of classes and tables of factors.
"""

from liftgbp.evidence.evidence import Evidence, Known, Relation, SoftRelation

__all__ = ["Evidence", "Known", "Relation", "SoftRelation"]
