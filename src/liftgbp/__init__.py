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

import sys
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"

_ROOMS = {
    "liftgbp.api": ("check_queries", "export_network", "infer", "infer_network", "prepare"),
    "liftgbp.check": ("CheckReport", "check"),
    "liftgbp.counting": ("SummedAnswers",),
    "liftgbp.errors": (
        "CapacityError",
        "ContradictionError",
        "EvidenceError",
        "InputError",
        "ModelError",
        "QueryError",
        "SizeError",
    ),
    "liftgbp.evidence": ("Evidence", "load_evidence", "parse_evidence"),
    "liftgbp.model.builder": ("ModelBuilder",),
    "liftgbp.model.model": ("Model",),
    "liftgbp.model.parser": ("load", "parse"),
    "liftgbp.query": ("Answer", "Answers"),
    "liftgbp.regions": ("LiftedRegionGraph", "build_regions"),
    "liftgbp.reproduce": ("Reproduction", "reproduce"),
    "liftgbp.shatter": ("shatter",),
    "liftgbp.solve": (
        "Auto",
        "Descent",
        "Flooding",
        "Kind",
        "Point",
        "Solution",
        "Status",
        "Verdict",
    ),
    "liftgbp.sweeps": (
        "Sweep",
        "SweepPoint",
        "SweepRow",
        "sweep",
        "sweep_to_file",
    ),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = list(_ROOM_OF)


class _Surface(ModuleType):
    """The package, which imports its rooms when their names are first used.

    The engine takes longer to import than a small model to solve, and `--help` needs none of it.
    """

    def __getattr__(self, name: str) -> object:
        if name not in _ROOM_OF:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value: object = getattr(import_module(_ROOM_OF[name]), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # A room is bound here when it is imported; one that is called like its verb, such as
        # `shatter`, must not stand in for it.
        if not (name in _ROOM_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Surface
