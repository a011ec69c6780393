"""Message passing as joins, on the database engine that holds the data."""

from liftgbp.engines.engine_runs import EngineRun, run_on_engine

__all__ = ["EngineRun", "run_on_engine"]
