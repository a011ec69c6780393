"""Best worlds of ground networks: exact where the network allows, else a world and a bound.

Takes a ground network; gives an `Optimum`. Knows nothing of classes of objects.
"""
