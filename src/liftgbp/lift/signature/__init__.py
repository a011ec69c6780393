"""The signature room: clusters of atoms up to renaming of objects inside their classes.

Knows atoms and automorphisms (igraph, in `labelling.py` only); knows no weights and no tables.
"""

from liftgbp.lift.signature.canonical import (
    Atom,
    Cluster,
    Obj,
    Signature,
    canonise,
    objects_of,
    stabiliser,
)
from liftgbp.lift.signature.embedding import embeddings, objects_per_class, overlaps, twin_groups

__all__ = [
    "Atom",
    "Cluster",
    "Obj",
    "Signature",
    "canonise",
    "embeddings",
    "objects_of",
    "objects_per_class",
    "overlaps",
    "stabiliser",
    "twin_groups",
]
