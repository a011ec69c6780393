"""Best worlds over classes of objects: blocks, groups and orders of any size.

Takes a `NormalModel`, of which it reads classes and observations; gives a `BlockWorld` in an
`Optimum`. `block_world.beliefs(world, atoms)` has the exact beliefs of a cluster of atoms, averaged
over all placements of its objects. Imports the rooms up to `methods` and `worlds.optimum`. Knows
nothing of ground networks and of bounds.
"""

from liftgbp.worlds.blocks.block_layout import Layout, Row
from liftgbp.worlds.blocks.block_world import BlockWorld, beliefs

__all__ = ["BlockWorld", "Layout", "Row", "beliefs"]
