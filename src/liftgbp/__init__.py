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

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_PUBLIC = {
    "liftgbp.api": ("best_world", "export_network", "fit_weights", "infer", "prepare"),
    "liftgbp.methods.bounding": ("bounds",),
    "liftgbp.oracle.checking": ("Check", "check"),
    "liftgbp.engines": ("EngineForecast", "EngineRun", "forecast_on_engine", "run_on_engine"),
    "liftgbp.support.errors": (
        "BusyError",
        "CapacityError",
        "ContradictionError",
        "EvidenceError",
        "InputError",
        "InternalError",
        "LiftgbpError",
        "LimitExceeded",
        "ModelError",
        "NotHeldError",
        "ProcessError",
        "QueryError",
        "SizeError",
        "WorkerError",
    ),
    "liftgbp.evidence": ("Evidence",),
    "liftgbp.evidence.read": ("load_evidence", "parse_evidence"),
    "liftgbp.model.example_models": ("examples",),
    "liftgbp.report.forecasting": ("Forecast", "forecast"),
    "liftgbp.ground.formats": ("Network", "load_network"),
    "liftgbp.support.limits": ("Limits",),
    "liftgbp.oracle.messages": ("MessageCheck", "check_messages"),
    "liftgbp.oracle.world_checking": ("WorldCheck", "check_world"),
    "liftgbp.model.builder": ("ModelBuilder",),
    "liftgbp.model.model": ("Model",),
    "liftgbp.model.parser": ("load", "parse"),
    "liftgbp.posterior.opinions": ("Comparison",),
    "liftgbp.posterior": (
        "Answer",
        "BlockPanel",
        "BlockStructure",
        "BlockedAtom",
        "Bounds",
        "CountAnswer",
        "CountDistribution",
        "CountSum",
        "Prepared",
        "ProbabilityBounds",
        "Standing",
    ),
    "liftgbp.lift.regions": ("LiftedRegionGraph",),
    "liftgbp.report.best_world": ("BestWorld", "RuleInWorld"),
    "liftgbp.report.world_structure": ("WorldBlock", "WorldStructure"),
    "liftgbp.report": ("Answers", "UntrustedAnswer", "UntrustedAnswerError"),
    "liftgbp.oracle.reproduction": ("Reproduction", "reproduce"),
    "liftgbp.methods.sampling": ("Sample", "SampledAnswer", "sample"),
    "liftgbp.solve": (
        "Algorithm",
        "Auto",
        "Descent",
        "Finding",
        "Flaw",
        "Flooding",
        "Kind",
        "Point",
        "Solution",
        "Status",
        "Verdict",
    ),
    "liftgbp.sweeps": ("Sweep", "SweepPoint", "SweepRow", "sweep", "sweep_to_file"),
}
"""The public names, by the module that defines them.

A module is imported when one of its names is first used: the engine takes longer to import than a
small model to solve, and `--help` needs none of it. No module is called like a public name, since
importing it would hide that name.
"""

_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605

if TYPE_CHECKING:
    # The same names, for type checkers and editors.
    from liftgbp.api import (
        best_world as best_world,
        export_network as export_network,
        fit_weights as fit_weights,
        infer as infer,
        prepare as prepare,
    )
    from liftgbp.engines import (
        EngineForecast as EngineForecast,
        EngineRun as EngineRun,
        forecast_on_engine as forecast_on_engine,
        run_on_engine as run_on_engine,
    )
    from liftgbp.evidence import (
        Evidence as Evidence,
    )
    from liftgbp.evidence.read import (
        load_evidence as load_evidence,
        parse_evidence as parse_evidence,
    )
    from liftgbp.ground.formats import (
        Network as Network,
        load_network as load_network,
    )
    from liftgbp.lift.regions import (
        LiftedRegionGraph as LiftedRegionGraph,
    )
    from liftgbp.methods.bounding import (
        bounds as bounds,
    )
    from liftgbp.methods.sampling import (
        Sample as Sample,
        SampledAnswer as SampledAnswer,
        sample as sample,
    )
    from liftgbp.model.builder import (
        ModelBuilder as ModelBuilder,
    )
    from liftgbp.model.example_models import (
        examples as examples,
    )
    from liftgbp.model.model import (
        Model as Model,
    )
    from liftgbp.model.parser import (
        load as load,
        parse as parse,
    )
    from liftgbp.oracle.checking import (
        Check as Check,
        check as check,
    )
    from liftgbp.oracle.messages import (
        MessageCheck as MessageCheck,
        check_messages as check_messages,
    )
    from liftgbp.oracle.reproduction import (
        Reproduction as Reproduction,
        reproduce as reproduce,
    )
    from liftgbp.oracle.world_checking import (
        WorldCheck as WorldCheck,
        check_world as check_world,
    )
    from liftgbp.posterior import (
        Answer as Answer,
        BlockedAtom as BlockedAtom,
        BlockPanel as BlockPanel,
        BlockStructure as BlockStructure,
        Bounds as Bounds,
        CountAnswer as CountAnswer,
        CountDistribution as CountDistribution,
        CountSum as CountSum,
        Prepared as Prepared,
        ProbabilityBounds as ProbabilityBounds,
        Standing as Standing,
    )
    from liftgbp.posterior.opinions import (
        Comparison as Comparison,
    )
    from liftgbp.report import (
        Answers as Answers,
        UntrustedAnswer as UntrustedAnswer,
        UntrustedAnswerError as UntrustedAnswerError,
    )
    from liftgbp.report.best_world import (
        BestWorld as BestWorld,
        RuleInWorld as RuleInWorld,
    )
    from liftgbp.report.forecasting import (
        Forecast as Forecast,
        forecast as forecast,
    )
    from liftgbp.report.world_structure import (
        WorldBlock as WorldBlock,
        WorldStructure as WorldStructure,
    )
    from liftgbp.solve import (
        Algorithm as Algorithm,
        Auto as Auto,
        Descent as Descent,
        Finding as Finding,
        Flaw as Flaw,
        Flooding as Flooding,
        Kind as Kind,
        Point as Point,
        Solution as Solution,
        Status as Status,
        Verdict as Verdict,
    )
    from liftgbp.support.errors import (
        BusyError as BusyError,
        CapacityError as CapacityError,
        ContradictionError as ContradictionError,
        EvidenceError as EvidenceError,
        InputError as InputError,
        InternalError as InternalError,
        LiftgbpError as LiftgbpError,
        LimitExceeded as LimitExceeded,
        ModelError as ModelError,
        NotHeldError as NotHeldError,
        ProcessError as ProcessError,
        QueryError as QueryError,
        SizeError as SizeError,
        WorkerError as WorkerError,
    )
    from liftgbp.support.limits import (
        Limits as Limits,
    )
    from liftgbp.sweeps import (
        Sweep as Sweep,
        SweepPoint as SweepPoint,
        SweepRow as SweepRow,
        sweep as sweep,
        sweep_to_file as sweep_to_file,
    )

else:

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
