"""Minima of a ground network, combined community by community.

Where couplings are strong inside communities and weak between them, the free energy has a minimum
for every combination of the minima of its communities: far too many to look for in the whole.
"""

from liftgbp.methods.communities.community_solution import CommunitySolution, by_communities

__all__ = ["CommunitySolution", "by_communities"]
