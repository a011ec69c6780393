"""The shatter room: from a model and domain sizes to the normal form.

Knows constraints, equalities and classes; knows nothing of clusters and messages.
"""

from liftgbp.lift.shatter.classes import ObjectClasses, object_classes
from liftgbp.lift.shatter.normal import NormalModel, NormalParfactor, Obj, ObjectClass
from liftgbp.lift.shatter.shattering import TABLE_CAP, Shattering, resize, shatter
from liftgbp.lift.shatter.splitting import Split, SplitNormal, SplitShattering, splits_by_value

__all__ = [
    "TABLE_CAP",
    "NormalModel",
    "NormalParfactor",
    "Obj",
    "ObjectClass",
    "ObjectClasses",
    "Shattering",
    "Split",
    "SplitNormal",
    "SplitShattering",
    "object_classes",
    "resize",
    "shatter",
    "splits_by_value",
]
