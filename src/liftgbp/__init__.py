"""Lifted generalized belief propagation: probabilities in relational worlds of any size.

>>> import liftgbp
>>> model = liftgbp.parse('''
... friends(person, person)
... smokes(person)
... 1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
... ''')
>>> answers = liftgbp.infer(model, sizes={"person": 20})
>>> print(answers.query("friends(x,y)")[1])
friends(x,y) [x != y]  false: 0.500038  true: 0.499962
"""

from liftgbp.api import check_queries, export_network, infer, infer_network, prepare
from liftgbp.check import CheckReport, check
from liftgbp.conditioning import ConditionedAnswers
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
from liftgbp.solve import Point, Solution, Status, Verdict
from liftgbp.sweeps import (
    Sweep,
    SweepPoint,
    SweepRow,
    size_range,
    sweep,
    sweep_to_file,
    weight_range,
)

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Answers",
    "CapacityError",
    "CheckReport",
    "ConditionedAnswers",
    "ContradictionError",
    "Evidence",
    "EvidenceError",
    "InputError",
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
    "size_range",
    "sweep",
    "sweep_to_file",
    "weight_range",
]
