"""The formats room: Markov random fields in the file formats that other tools read and write.

Knows words, numbers and the order of table entries in files; knows nothing of logic and regions.
"""

from liftgbp.ground.formats.fg import read_fg, write_fg
from liftgbp.ground.formats.network_files import Network, check_target, load_network, write_network
from liftgbp.ground.formats.simplify import conditioned
from liftgbp.ground.formats.uai import read_uai, read_uai_evidence, write_uai

__all__ = [
    "Network",
    "check_target",
    "conditioned",
    "load_network",
    "read_fg",
    "read_uai",
    "read_uai_evidence",
    "write_fg",
    "write_network",
    "write_uai",
]
