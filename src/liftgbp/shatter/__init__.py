"""The shatter room: from a model and domain sizes to the normal form.

Knows constraints, equalities and classes; knows nothing of clusters and messages.
"""

from liftgbp.shatter.classes import ObjectClasses, object_classes
from liftgbp.shatter.counted import CountedNormal, CountedShattering
from liftgbp.shatter.normal import NormalModel, NormalParfactor, Obj, ObjectClass
from liftgbp.shatter.shattering import TABLE_CAP, Shattering, resize, shatter

__all__ = [
    "TABLE_CAP",
    "CountedNormal",
    "CountedShattering",
    "NormalModel",
    "NormalParfactor",
    "Obj",
    "ObjectClass",
    "ObjectClasses",
    "Shattering",
    "object_classes",
    "resize",
    "shatter",
]
