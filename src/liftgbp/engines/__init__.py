"""The engines room: message passing as joins, on the database engine that holds the data.

Takes a model and tables; gives tables of marginals as an `EngineRun`. Imports the rooms up to
`report`. Knows nothing of minima and trust.
"""

from liftgbp.engines.engine_forecasts import EngineForecast, forecast_on_engine
from liftgbp.engines.engine_runs import EngineRun, run_on_engine

__all__ = ["EngineForecast", "EngineRun", "forecast_on_engine", "run_on_engine"]
