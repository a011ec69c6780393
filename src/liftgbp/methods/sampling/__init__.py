"""The sampling room: Markov chain Monte Carlo on ground networks, as a second opinion.

Knows chains, their starts and whether they have mixed; knows nothing of regions and messages.
"""

from liftgbp.methods.sampling.annealing import LogZ
from liftgbp.methods.sampling.sampler import sample
from liftgbp.methods.sampling.world_sample import Sample, SampledAnswer

__all__ = ["LogZ", "Sample", "SampledAnswer", "sample"]
