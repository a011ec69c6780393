"""The sampling room: Markov chain Monte Carlo on ground networks, as a second opinion.

Knows chains, their starts and whether they have mixed; knows nothing of regions and messages.
"""

from liftgbp.sampling.annealing import LogZ
from liftgbp.sampling.sampler import sample
from liftgbp.sampling.world_sample import Sample, SampledAnswer

__all__ = ["LogZ", "Sample", "SampledAnswer", "sample"]
