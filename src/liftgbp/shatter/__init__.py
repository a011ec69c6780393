"""The shatter room: from a model and domain sizes to the normal form.

Knows constraints, equalities and classes; knows nothing of clusters and messages.
"""

from liftgbp.shatter.normal import NormalModel, NormalParfactor, Obj, ObjectClass
from liftgbp.shatter.shatter import TABLE_CAP, resize, shatter

__all__ = ["TABLE_CAP", "NormalModel", "NormalParfactor", "Obj", "ObjectClass", "resize", "shatter"]
