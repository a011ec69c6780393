# What type checkers see: every public name, and where it comes from. At run time, names are
# imported when they are first used; see __init__.py.

from liftgbp.api import check_queries, export_network, infer, infer_network, prepare
from liftgbp.check import CheckReport, check
from liftgbp.counting import SummedAnswers
from liftgbp.errors import (
    CapacityError,
    ContradictionError,
    EvidenceError,
    InputError,
    ModelError,
    QueryError,
    SizeError,
)
from liftgbp.evidence import Evidence, load_evidence, parse_evidence
from liftgbp.model.builder import ModelBuilder
from liftgbp.model.model import Model
from liftgbp.model.parser import load, parse
from liftgbp.query import Answer, Answers
from liftgbp.regions import LiftedRegionGraph, build_regions
from liftgbp.reproduce import Reproduction, reproduce
from liftgbp.shatter import shatter
from liftgbp.solve import Auto, Descent, Flooding, Kind, Point, Solution, Status, Verdict
from liftgbp.sweeps import (
    Sweep,
    SweepPoint,
    SweepRow,
    sweep,
    sweep_to_file,
)

__version__: str

__all__ = [
    "Answer",
    "Answers",
    "Auto",
    "CapacityError",
    "CheckReport",
    "ContradictionError",
    "Descent",
    "Evidence",
    "EvidenceError",
    "Flooding",
    "InputError",
    "Kind",
    "LiftedRegionGraph",
    "Model",
    "ModelBuilder",
    "ModelError",
    "Point",
    "QueryError",
    "Reproduction",
    "SizeError",
    "Solution",
    "Status",
    "SummedAnswers",
    "Sweep",
    "SweepPoint",
    "SweepRow",
    "Verdict",
    "build_regions",
    "check",
    "check_queries",
    "export_network",
    "infer",
    "infer_network",
    "load",
    "load_evidence",
    "parse",
    "parse_evidence",
    "prepare",
    "reproduce",
    "shatter",
    "sweep",
    "sweep_to_file",
]
