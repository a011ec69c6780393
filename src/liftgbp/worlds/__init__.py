"""The worlds room: most probable worlds, and bounds that prove them.

Takes a `Problem` or a network; gives a `BestWorld`. `ground` searches atom by atom, `blocks` over
blocks of objects that are alike, `proofs` bounds the scores of all worlds over classes of objects.
Imports the rooms up to `methods`. Knows nothing of commands and files.
"""

from liftgbp.worlds.optimum import Budget, Optimum, World
from liftgbp.worlds.world_search import (
    ModelQuestion,
    NetworkQuestion,
    WorldQuestion,
    structure_lines,
)

__all__ = [
    "Budget",
    "ModelQuestion",
    "NetworkQuestion",
    "Optimum",
    "World",
    "WorldQuestion",
    "structure_lines",
]
