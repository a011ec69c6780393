"""Queries on a database engine: marginals of all atoms, written where the data are."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

import liftgbp
from liftgbp.cli.arguments import Options
from liftgbp.cli.entry import REFUSED
from liftgbp.cli.progress_bar import progress_bar
from liftgbp.cli.report_views import show_engine_forecast
from liftgbp.cli.selection import print_result
from liftgbp.cli.terminal import Terminal, count_text, counted

ALLOWED = {
    "model", "sizes", "weights", "evidence", "closed", "regions", "output", "engine",
    "engine_memory", "iterations", "tol", "as_json", "timeout", "memory", "work", "dry_run",
    "compress",
}  # fmt: skip
"""The options that mean something to an engine."""


def query_on_engine(
    options: Options,
    engine: str,
    memory: float | None,
    compress: bool,
    output: str | None,
    *,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Run on an engine, and say what was or would be done; the number is the exit code."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        stated = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if stated and name not in ALLOWED:
            option = parameter.opts[-1]
            raise click.UsageError(f"{option} does not apply to runs on an engine; leave it out")
    asked: dict[str, Any] = {
        "engine": engine,
        "closed": options.closed,
        "sizes": options.sizes,
        "regions": options.regions or "bethe",
        "memory": memory,
    }
    if dry_run:
        with progress_bar() as progress:
            model = liftgbp.load(options.model).with_weights(options.weights)
            found = liftgbp.forecast_on_engine(model, options.evidence, progress=progress, **asked)
        if as_json:
            print_result(found.as_dict())
        else:
            show_engine_forecast(found)
        return 0
    if output is None or output == "-":
        raise click.UsageError("--engine writes a folder of tables; name it: -o marginals")
    limits = {"iterations": options.iterations, "tol": options.tol}
    asked |= {name: value for name, value in limits.items() if value is not None}
    with progress_bar() as progress:
        model = liftgbp.load(options.model).with_weights(options.weights)
        run = liftgbp.run_on_engine(
            model, options.evidence, output, compress=compress, progress=progress, **asked
        )
    if as_json:
        print_result(run.as_dict())
    else:
        _show(run)
    return 0 if run.converged else REFUSED


def _show(run: liftgbp.EngineRun) -> None:
    terminal = Terminal()
    state = "converged" if run.converged else "NOT CONVERGED"
    updates = counted(run.iterations, "iteration")
    terminal.say(f"{state} after {updates} on {run.engine}, residual {run.residual:.1e}")
    terminal.say(f"not judged: {run.reason}")
    if run.rows:
        tables = ((name, count_text(rows)) for name, rows in run.rows.items())
        terminal.table("tables", ("table", "rows"), tables, left=["table"])
    else:
        terminal.say("no rule is about an unknown atom of an object in the tables: no marginals")
    terminal.say(f"written: {run.output}")
