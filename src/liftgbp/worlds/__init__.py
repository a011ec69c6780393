"""The worlds room: most probable worlds, and bounds that prove them.

Takes a `Problem` or a network; gives an `Optimum`, with a `World` and a bound. `ground` searches
atom by atom, `blocks` over blocks of objects that are alike, `proofs` bounds the scores of all
worlds over classes of objects, and `structure` says what a world looks like. Imports the rooms up
to `methods`. Knows nothing of commands and files.
"""

from liftgbp.worlds.optimum import Budget, Optimum, World
from liftgbp.worlds.structure import Structure, structure_of
from liftgbp.worlds.world_search import ModelQuestion, NetworkQuestion, WorldQuestion

__all__ = [
    "Budget",
    "ModelQuestion",
    "NetworkQuestion",
    "Optimum",
    "Structure",
    "World",
    "WorldQuestion",
    "structure_of",
]
