"""Commands, options and exit codes.

0 when all went well, 1 for a numerical failure, 2 for bad input; the entry adds 130 for Ctrl-C.
Tables are imported by commands that print one: they take longer to import than all of this.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import liftgbp
from liftgbp.cli.options import (
    TABLE_CAP,
    VIA,
    is_network,
    network_options,
    parse_sizes,
    parse_weights,
    read_evidence,
    read_model,
    split_assignments,
    table_file,
    take_solver,
)
from liftgbp.cli.progress_bar import progress_bar
from liftgbp.cli.ranges import size_range, weight_range

NOT_TRUSTED = 1
BAD_INPUT = 2

Command = TypeVar("Command", bound=Callable[..., Any])


def run() -> int:
    """Run the command line; the number is its exit code."""
    _prepare_streams()
    try:
        code = int(cli.main(prog_name="liftgbp", standalone_mode=False) or 0)
        sys.stdout.flush()
        return code
    except click.ClickException as error:
        error.show()
        return BAD_INPUT
    except click.Abort:
        raise KeyboardInterrupt from None
    except (BrokenPipeError, SystemExit):
        # The reader went away (`| head`), which click reports by SystemExit: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        click.echo(f"error: cannot write the answer: {error.strerror}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except MemoryError:
        click.echo("error: out of memory; use smaller formulas or smaller regions", err=True)
        return BAD_INPUT
    except liftgbp.InputError as error:
        click.echo(f"error: {error}", err=True)
        return BAD_INPUT


def _prepare_streams() -> None:
    """Make closed streams harmless, and characters that a terminal lacks replaceable."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_regions = click.option(
    "--regions",
    default="intersections",
    show_default=True,
    metavar="FAMILY",
    help="Which regions pass messages: intersections, subsets, bethe, objects:K (or "
    "objects:SORT=K,...), clusters:S; for queries also auto, which grows them.",
)
_sizes_and_weights = _options(
    click.argument("model"),
    click.option(
        "-n",
        "sizes",
        multiple=True,
        metavar="SORT=SIZE",
        callback=parse_sizes,
        help="The number of objects of a sort, such as person=1000 or person=1e6.",
    ),
    click.option(
        "-w",
        "weights",
        multiple=True,
        metavar="NAME=VALUE",
        callback=parse_weights,
        help="The value of a named weight, such as alpha=0.5 for $alpha.",
    ),
)
_model_options = _options(
    _sizes_and_weights,
    _regions,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
)
_evidence_options = _options(
    click.option(
        "-e",
        "evidence",
        multiple=True,
        metavar="FILE",
        help="Evidence: a .db file of facts, or PREDICATE=FILE for a table (.csv, .parquet, "
        "data.duckdb:table) whose columns are arguments. May be repeated.",
    ),
    click.option(
        "--closed",
        multiple=True,
        metavar="PREDICATE",
        help="Atoms of this predicate that evidence does not list are false.",
    ),
    click.option(
        "--known",
        multiple=True,
        metavar="FACTS=COUNT",
        help="So many unnamed objects with these facts, such as 'smokes(x)=3e5'.",
    ),
)
_via = click.option(
    "--via",
    default=VIA,
    show_default=True,
    metavar="NAME",
    help="With evidence: classes (objects it does not tell apart stay together), ground (write the "
    "model out, then compress it), or auto, the cheaper one.",
)
_damping = click.option(
    "--damping", default=0.5, show_default=True, help="How much of each old message flooding keeps."
)
_table_cap = click.option(
    "--table-cap",
    default=TABLE_CAP,
    show_default=True,
    help="The most entries that one table may have.",
)


_solver_options = _options(
    click.option(
        "--solver",
        default="auto",
        show_default=True,
        metavar="NAME",
        help="flooding (message passing), descent (all minima of the free energy), or auto.",
    ),
    _damping,
    click.option(
        "--adaptive", is_flag=True, help="Let flooding raise and lower its damping as it goes."
    ),
    click.option(
        "--iterations", default=500, show_default=True, help="The most iterations to run."
    ),
    click.option("--tol", default=1e-12, show_default=True, help="The residual to stop at."),
    click.option(
        "--seed", default=0, show_default=True, help="The seed of random starts of descent."
    ),
    _table_cap,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(liftgbp.__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Lifted generalized belief propagation.

    Probabilities in relational worlds: the time depends on the model, not on how many objects
    there are.
    """


@cli.command()
@_model_options
@click.option(
    "-q",
    "queries",
    multiple=True,
    metavar="QUERY",
    help="An atom such as 'friends(x,y)' or 'friends(Anna,y)', a conjunction "
    "'friends(x,y) ^ smokes(x)', or a conditional 'smokes(y) | friends(x,y), smokes(x)'. "
    "May be repeated; without any, every predicate is answered.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show how the answer was found and checked.")
@click.option("--minima", is_flag=True, help="Show all stationary points that descent found.")
@click.option(
    "--all",
    "everything",
    metavar="FILE",
    callback=table_file,
    help="Write the marginal of every ground atom to a .csv or .parquet file.",
)
@click.option("--observed", is_flag=True, help="With --all, also write observed atoms.")
@_evidence_options
@_via
@click.option(
    "--sum-over",
    multiple=True,
    metavar="PREDICATE",
    help="Sum over how many objects have this unary predicate; auto takes the one that matters "
    "most. May be repeated.",
)
@_solver_options
def query(
    model: str,
    sizes: dict[str, int],
    weights: dict[str, float],
    queries: tuple[str, ...],
    **options: Any,
) -> int:
    """Answer queries about MODEL, an .mln file or - for standard input.

    MODEL may also be a Markov random field of other tools, a .uai or .fg file; its variables are
    called x0, x1 and so on, and -e takes a .uai.evid file.
    """
    as_json, minima = options.pop("as_json"), options.pop("minima")
    verbose = options.pop("verbose")
    everything, observed = options.pop("everything"), options.pop("observed")
    if observed and everything is None:
        raise click.UsageError("--observed applies to --all only")
    solver = take_solver(options)
    with progress_bar() as progress:
        if is_network(model):
            options = network_options(sizes, weights, options)
            answers = liftgbp.infer_network(
                model, queries=queries, solver=solver, progress=progress, **options
            )
        else:
            relational = read_model(model, weights)
            evidence = read_evidence(relational, options)
            liftgbp.check_queries(relational, queries, sizes, evidence=evidence)
            answers = liftgbp.infer(
                relational, sizes, evidence=evidence, solver=solver, progress=progress, **options
            )
        if everything is not None:
            progress("writing all atoms", 0, 1)
            answers.write_all(everything, observed=observed)
    trust = {"trusted": answers.solution.trusted, "reason": answers.solution.reason}
    result = {**trust, **answers.as_dict(queries)}
    if as_json:
        click.echo(json.dumps(result, indent=2))
    else:
        from liftgbp.cli.answer_view import show_answers

        show_answers(result, minima=minima, verbose=verbose)
    return 0 if result["trusted"] else NOT_TRUSTED


@cli.command()
@_model_options
@_evidence_options
@_via
@_table_cap
def graph(
    model: str,
    sizes: dict[str, int],
    weights: dict[str, float],
    as_json: bool,
    **options: Any,
) -> None:
    """Show the lifted region graph of MODEL: canonical regions and lifted edges."""
    relational = read_model(model, weights)
    evidence = read_evidence(relational, options)
    with progress_bar() as progress:
        reader = liftgbp.prepare(relational, sizes, evidence=evidence, progress=progress, **options)
    result = reader.graph_as_dict()
    if as_json:
        click.echo(json.dumps(result, indent=2))
    else:
        from liftgbp.cli.report_views import show_graph

        show_graph(result)


@cli.command()
@_model_options
@_evidence_options
@_via
@_damping
@click.option("--iterations", default=30, show_default=True, help="How many iterations to compare.")
def check(
    model: str,
    sizes: dict[str, int],
    weights: dict[str, float],
    as_json: bool,
    **options: Any,
) -> int:
    """Compare lifted with ground GBP on MODEL, iterate by iterate, and with exact marginals."""
    relational = read_model(model, weights)
    evidence = read_evidence(relational, options)
    with progress_bar() as progress:
        report = liftgbp.check(relational, sizes, evidence=evidence, progress=progress, **options)
    result = report.as_dict()
    if as_json:
        click.echo(json.dumps(result, indent=2))
    else:
        from liftgbp.cli.report_views import show_check

        show_check(result)
    return 0 if report.agrees else NOT_TRUSTED


@cli.command()
@click.argument("model")
@click.option(
    "-n",
    "sizes",
    multiple=True,
    metavar="SORT=RANGE",
    help="Sizes of a sort: one (100), some (2,5,10), or a range (2..1e9).",
)
@click.option(
    "-w",
    "weights",
    multiple=True,
    metavar="NAME=RANGE",
    help="Values of a named weight: one, some, or a range (0..2).",
)
@click.option("--points", default=50, show_default=True, help="How many points a range has.")
@click.option("-q", "queries", multiple=True, metavar="QUERY", help="As for liftgbp query.")
@click.option(
    "-o",
    "output",
    required=True,
    metavar="FILE",
    help="Where to write the table (.csv, .json, .parquet) or a plot (.png, .svg).",
)
@_regions
@_solver_options
def sweep(model: str, points: int, output: str, **options: Any) -> int:
    """Answer queries about MODEL for many domain sizes and weights, and write a table or a plot.

    An interrupted sweep goes on where it was when it is started again.
    """
    solver = take_solver(options)
    sizes = split_assignments(options.pop("sizes"), "SORT=RANGE, such as person=2..1000")
    weights = split_assignments(options.pop("weights"), "NAME=RANGE, such as alpha=0..2")
    with progress_bar() as progress:
        records = liftgbp.sweep_to_file(
            read_model(model, {}),
            output,
            {name: size_range(name, text, points) for name, text in sizes.items()},
            weights={n: weight_range(n, text, points) for n, text in weights.items()},
            solver=solver,
            progress=progress,
            **options,
        )
    swept = [*sizes, *(f"${name}" for name in weights)]
    status = {tuple(record[name] for name in swept): record["status"] for record in records}
    failed = sum(1 for one in status.values() if one != "converged")
    click.echo(f"{len(status)} points, {len(records)} rows, written to {output}", err=True)
    if failed:
        click.echo(f"{failed} points did not converge; see the column status", err=True)
    return NOT_TRUSTED if failed == len(status) else 0


@cli.command()
@_sizes_and_weights
@_evidence_options
@_table_cap
@click.option(
    "-o", "output", required=True, metavar="FILE", help="Where to write: a .uai or .fg file."
)
def export(
    model: str, sizes: dict[str, int], weights: dict[str, float], output: str, **options: Any
) -> None:
    """Write the ground model of MODEL as a Markov random field for other tools.

    A file .atoms.csv beside it says which variable is which ground atom.
    """
    relational = read_model(model, weights)
    evidence = read_evidence(relational, options)
    with progress_bar() as progress:
        liftgbp.export_network(
            relational, output, sizes, evidence=evidence, progress=progress, **options
        )


@cli.command()
@click.option(
    "-o",
    "directory",
    required=True,
    metavar="DIRECTORY",
    help="Where to write the figures, the table and the report; made if need be.",
)
def reproduce(directory: str) -> None:
    """Run the evaluation of the paper again, and judge its claims.

    Writes times.png, probability.png, results.csv and report.md. It takes a minute or two, most of
    it for ground message passing. Nothing is written before all is computed.
    """
    from liftgbp.cli.report_views import show_reproduction

    with progress_bar() as progress:
        reproduction = liftgbp.reproduce(directory, progress=progress)
    show_reproduction(reproduction)
