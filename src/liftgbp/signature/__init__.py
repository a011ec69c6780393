"""The signature room: clusters of atoms up to renaming of objects inside their classes.

Knows atoms and automorphisms (igraph, in `labelling.py` only); knows no weights and no tables.
"""

from liftgbp.signature.canonical import (
    Atom,
    Cluster,
    Obj,
    Signature,
    canonise,
    objects_of,
    stabiliser,
)
from liftgbp.signature.embedding import embeddings
from liftgbp.signature.overlap import overlaps, twin_groups

__all__ = [
    "Atom",
    "Cluster",
    "Obj",
    "Signature",
    "canonise",
    "embeddings",
    "objects_of",
    "overlaps",
    "stabiliser",
    "twin_groups",
]
