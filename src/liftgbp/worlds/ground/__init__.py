"""Best worlds of ground networks: exact where the network allows, else a world and a bound.

Takes a ground network; gives an `Optimum`. Knows nothing of classes of objects.
"""

from liftgbp.worlds.ground.ground_search import NetworkOptimum, best_of_network, best_on_ground
from liftgbp.worlds.ground.ground_world import GroundWorld

__all__ = ["GroundWorld", "NetworkOptimum", "best_of_network", "best_on_ground"]
