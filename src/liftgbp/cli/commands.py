"""The commands.

Exit codes: 0 when all went well, 1 when the answer is refused, and one for each branch of the
tree of errors; the entry adds 130 for Ctrl-C. Views are imported by the commands that print
something: they take longer to import than all of this.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import liftgbp
from liftgbp.cli import options as declared
from liftgbp.cli.advice import doubts, next_command
from liftgbp.cli.arguments import (
    GRAPH_FILES,
    PICTURE_FILES,
    QUERY_FILES,
    SWEEP_FILES,
    Options,
    check_apart,
    check_block_sorts,
    check_outputs,
    is_network,
    method,
    names_beside,
    output_file,
    read_model_and_evidence,
    read_question,
    refuse_without_engine,
    split_assignments,
    write_blocks_plot,
)
from liftgbp.cli.entry import (
    BAD_INPUT,
    BUG,
    CLOSED_PIPE,
    CODE_OF,
    INTERRUPTED,
    LIMIT_EXCEEDED,
    PROCESS_IN_THE_WAY,
    REFUSED,
)
from liftgbp.cli.help_pages import TYPED, CommandGroup, option
from liftgbp.cli.progress_bar import progress_bar
from liftgbp.cli.ranges import size_range, weight_range
from liftgbp.cli.selection import (
    print_records,
    print_result,
    rows_by_object,
    select_rows,
    write_answers,
)
from liftgbp.support.texts import visible

BREAKS = "\n\t"
"""Messages have lines, and tabs under which a caret stands."""


def run() -> int:
    """Run the command line; the number is its exit code."""
    _prepare_streams()
    try:
        code = int(cli.main(prog_name="liftgbp", standalone_mode=False) or 0)
        sys.stdout.flush()
        return code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(visible(shown.getvalue(), BREAKS), err=True, nl=False)
        return BAD_INPUT
    except click.Abort as error:
        raise KeyboardInterrupt(*getattr(error.__cause__, "args", ())) from None
    except (BrokenPipeError, SystemExit):
        # The reader went away (`| head`), which click reports by SystemExit. That is no error to
        # speak of, but nobody saw whether the answer is trusted.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except OSError as error:
        click.echo(f"error: cannot write the answer: {error.strerror}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except MemoryError:
        click.echo("error: out of memory; use smaller formulas or smaller regions", err=True)
        return LIMIT_EXCEEDED
    except liftgbp.LiftgbpError as error:
        code = _exit_code(error)
        if code == BUG:
            import traceback

            traceback.print_exc()
        click.echo(f"error: {visible(str(error), BREAKS)}", err=True)
        return code


def _exit_code(error: liftgbp.LiftgbpError) -> int:
    match error:
        case liftgbp.InputError():
            return BAD_INPUT
        case liftgbp.LimitExceeded():
            return LIMIT_EXCEEDED
        case liftgbp.ProcessError():
            return PROCESS_IN_THE_WAY
        case _:
            return BUG


def _prepare_streams() -> None:
    """Make closed streams harmless, and characters that a terminal lacks replaceable."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(liftgbp.__version__, "-V", "--version", message="%(prog)s %(version)s")
def cli() -> None:
    """Lifted generalized belief propagation: probabilities in relational models.

    The cost depends on the model, not on the number of objects.
    """


@cli.command(
    examples="""\
liftgbp query example:friends-smokers -n person=1000000 -q 'friends(x,y)'
liftgbp query example:friends-smokers -n person=10 --sum-over smokes
liftgbp query example:transitive -n person=40 --blocks-plot blocks.png
liftgbp query example:smoking-network -e example:smoking-network.db --closed friends \\
    -q 'smokes(x)' --top 3
liftgbp query example:smoking-network -e example:smoking-network.db -q 'smokes(x)' --objects
liftgbp query example:smoking-network -e example:smoking-network.db --all marginals.csv
liftgbp query example:smoking-network -e friends=friends.parquet --closed friends \\
    --engine duckdb -o marginals
"""
)
@declared.sizes_and_weights
@declared.queries
@declared.evidence
@declared.via
@declared.effort
@declared.regions_or_auto
@declared.sum_over
@declared.solver
@declared.bounds
@declared.selection
@option(
    "-o",
    "--output",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Also write the answers to a .csv, .json or .parquet file, or draw them to .png, .svg or "
    ".pdf: as bars, or distributions if all queries are counts; - prints CSV instead of tables.",
)
@option(
    "--blocks-plot",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Draw the probabilities between blocks as a heat map: a .png, .svg or .pdf file.",
)
@option(
    "--all",
    "everything",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Write the marginal of every ground atom that is not observed to a .csv or .parquet file.",
)
@option(
    "--objects",
    is_flag=True,
    group=declared.OUTPUT,
    help="Answer for each ground atom instead of classes of them, the most probable first; see "
    "--top and --min.",
)
@option(
    "--observed",
    is_flag=True,
    group=declared.OUTPUT,
    help="With --all or --objects, also show observed atoms.",
)
@option(
    "--dry-run",
    is_flag=True,
    group=declared.OUTPUT,
    help="Show how large the stages would be (facts, unknown atoms, factors, regions, memory, "
    "time; with --engine also the disk), and do nothing else.",
)
@declared.engine
@declared.second_opinion
@declared.as_json
@option(
    "--minima",
    is_flag=True,
    group=declared.OUTPUT,
    help="Show all stationary points that descent found.",
)
@declared.verbose
def query(
    output: str | None,
    blocks_plot: str | None,
    everything: str | None,
    objects: bool,
    observed: bool,
    dry_run: bool,
    as_json: bool,
    engine: str | None,
    engine_memory: float | None,
    compress: bool,
    sort: str | None,
    top: int | None,
    least: float | None,
    minima: bool,
    verbose: bool,
    second_opinion: float | None,
    **typed: Any,
) -> int:
    """Answer queries about MODEL.

    MODEL is an .mln file, or - for standard input. It may also be a ground network of another tool,
    a .uai or .fg file (.gz too): its variables are called x0, x1 and so on, and -e takes a
    .uai.evid file.

    The first line of the output says whether the answer is confirmed, unconfirmed or refused; the
    exit code follows it.
    """
    options = Options(**typed)
    if engine is not None:
        from liftgbp.cli.engine_view import query_on_engine

        return query_on_engine(
            options, engine, engine_memory, compress, output, as_json=as_json, dry_run=dry_run
        )
    refuse_without_engine(compress=compress, memory=engine_memory)
    check_outputs(as_json, output, observed=observed, atoms=objects or everything is not None)
    output_file(output, QUERY_FILES)
    output_file(blocks_plot, PICTURE_FILES)
    output_file(everything, (".csv", ".parquet"))
    check_apart([output, blocks_plot, everything], options.model, options.evidence)
    found_by = method(options)
    if dry_run:
        return _dry_run(options, as_json)
    queries = options.queries
    compared, interrupted = None, False
    with progress_bar() as progress:
        progress("reading", 0, 1)
        asked = read_question(options, atoms=objects)
        lifted = "sizes" in asked and options.via != "ground"
        answers = liftgbp.infer(
            **asked,
            **found_by,
            via=options.via,
            bounds=options.bounds,
            queries=queries if lifted else (),
            progress=progress,
        )
        if second_opinion is not None:
            from liftgbp.cli.second_opinions import compared_with_sample

            compared, interrupted = compared_with_sample(
                answers, queries, seconds=second_opinion, progress=progress, **asked
            )
        if everything is not None:
            progress("writing all atoms", 0, 1)
            with warnings.catch_warnings():
                # What cannot be trusted is printed below.
                warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
                answers.write_all(everything, observed=observed)
    result: dict[str, Any] = answers.as_dict(queries)
    if compared is not None:
        result["second_opinion"] = compared.as_dict()
    rows = answers.rows_for(queries)
    if objects:
        rows = rows_by_object(answers, queries, sort, top, least, observed)
    rows = select_rows(rows, sort=sort, top=top, least=least)
    result["answers"] = [row.as_dict() for row in rows]
    if output is not None:
        write_answers(answers, rows, result, output, queries)
    if blocks_plot is not None:
        write_blocks_plot(answers, blocks_plot)
    advice = next_command(click.get_current_context().meta[TYPED], result)
    if as_json:
        print_result(result)
    elif output == "-":
        for line in doubts(result, advice):
            click.echo(visible(line, BREAKS), err=True)
    else:
        from liftgbp.cli.answer_view import show_answers

        show_answers(
            result,
            rows,
            answers.blocks,
            advice=advice,
            growth=options.regions == "auto",
            minima=minima,
            verbose=verbose,
            top=top,
        )
    agreed = compared is None or not compared.disagrees
    code = CODE_OF[result["standing"]] if agreed else REFUSED
    return INTERRUPTED if interrupted else code


def _dry_run(options: Options, as_json: bool) -> int:
    """Show how large the stages of a run would be."""
    if is_network(options.model):
        raise click.UsageError("--dry-run is about models; a network is ground already")
    regions = options.regions or "intersections"
    asked = read_question(options)
    with progress_bar() as progress:
        found = liftgbp.forecast(
            **asked,
            via=options.via,
            regions="intersections" if regions == "auto" else regions,
            table_cap=options.table_cap,
            progress=progress,
        )
    if as_json:
        print_result(found.as_dict())
    else:
        from liftgbp.cli.report_views import show_forecast

        show_forecast(found)
    return 0


@cli.command(
    short_help="Show the lifted region graph of MODEL.",
    examples="""\
liftgbp graph example:friends-smokers -n person=1000
liftgbp graph example:chain -n person=1000 --regions objects:4 --json
liftgbp graph example:chain -n person=10 --local 0 -o chain.svg
""",
)
@declared.sizes_and_weights
@declared.evidence
@declared.via
@declared.regions
@declared.table_cap
@option(
    "-o",
    "--output",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Also draw the graph to a .svg, .png or .pdf file; .dot is for Graphviz, .json for "
    "programs.",
)
@option(
    "--local",
    type=click.IntRange(min=0),
    metavar="REGION",
    group=declared.OUTPUT,
    help="Draw three panels: the graph, the signatures of its regions, and the local graph of the "
    "region with this number.",
)
@declared.as_json
def graph(output: str | None, local: int | None, as_json: bool, **typed: Any) -> None:
    """Show the lifted region graph of MODEL: its canonical regions and lifted edges."""
    options = Options(**typed)
    output_file(output, GRAPH_FILES)
    check_apart([output], options.model, options.evidence)
    if local is not None and (output is None or not output.endswith(PICTURE_FILES)):
        raise click.UsageError("--local is about a picture; add -o local.svg, .png or .pdf")
    model, evidence = read_model_and_evidence(options)
    with progress_bar() as progress:
        prepared = liftgbp.prepare(
            model,
            options.sizes,
            evidence=evidence,
            via=options.via,
            regions=options.regions,
            table_cap=options.table_cap,
            progress=progress,
        )
    result = prepared.graph_as_dict()
    if output is not None:
        prepared.write_graph(output, local)
    if as_json:
        print_result(result)
    else:
        from liftgbp.cli.report_views import show_graph

        show_graph(result)


@cli.command(
    examples="""\
liftgbp sweep example:friends-smokers -n person=2..1e9 -q 'friends(x,y)' -o sweep.png
liftgbp sweep example:friends-smokers -n person=10,100,1000 --sum-over smokes | head
liftgbp sweep example:transitive -n person=10..1e6 --jobs 4 -o sweep.csv
"""
)
@declared.size_and_weight_ranges
@declared.queries
@declared.evidence
@declared.effort
@declared.regions_or_auto
@declared.sum_over
@declared.solver
@declared.jobs
@option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Write a table (.csv, .json, .parquet) or a plot (.png, .svg, .pdf); without it, or with "
    "-, CSV goes to standard output.",
)
def sweep(
    sizes: tuple[str, ...],
    weights: tuple[str, ...],
    points: int,
    jobs: int,
    output: str,
    **typed: Any,
) -> int:
    """Answer queries about MODEL for many domain sizes and weights.

    A sweep to a file can be interrupted: the same command continues where it stopped. The columns
    standing and reason say which points are refused or unconfirmed.
    """
    options = Options(**typed)
    output_file(output, SWEEP_FILES)
    check_apart([output], options.model, options.evidence)
    known = method(options) | {"queries": options.queries, "jobs": jobs}
    for name, values, form, spread in (
        ("sizes", sizes, "SORT=RANGE, such as person=2..1000", size_range),
        ("weights", weights, "NAME=RANGE, such as alpha=0..2", weight_range),
    ):
        texts = split_assignments(values, form)
        known[name] = {key: spread(key, text, points) for key, text in texts.items()}
    model, known["evidence"] = read_model_and_evidence(options, fit=False)
    check_block_sorts(options.blocks, model)
    with progress_bar() as progress:
        if output == "-":
            records = liftgbp.sweep(model, **known, progress=progress).records()
        else:
            with _warnings_as_notes():
                records = liftgbp.sweep_to_file(model, output, **known, progress=progress)
    if output == "-":
        print_records(records)
    # The swept sizes and weights come first.
    columns = len(sizes) + len(weights)
    standings = [
        standing
        for _, standing in dict.fromkeys(
            (tuple(record.values())[:columns], str(record["standing"])) for record in records
        )
    ]
    counts = {own: standings.count(own) for own in ("refused", "unconfirmed") if own in standings}
    if output != "-":
        named = "".join(f", {number} {standing}" for standing, number in counts.items())
        click.echo(
            f"{len(standings)} points{named}, {len(records)} rows, written to {visible(output)}",
            err=True,
        )
    if refused := counts.get("refused"):
        click.echo(
            f"REFUSED: {refused} of {len(standings)} points; see the column reason", err=True
        )
    return CODE_OF[next((own for own in CODE_OF if own in standings), "confirmed")]


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Say what warnings say, without the place in the code that they come from."""

    def note(message: Warning | str, *_place: Any, **_rest: Any) -> None:
        click.echo(f"note: {visible(str(message), BREAKS)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        yield


@cli.command(examples="liftgbp export example:friends-smokers -n person=20 -o smokers.uai\n")
@declared.sizes_and_weights
@declared.evidence
@declared.table_cap
@option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    group=declared.OUTPUT,
    help="The file to write: .uai or .fg, with .gz to compress it.",
)
def export(output: str, **typed: Any) -> None:
    """Write the ground network of MODEL for other tools.

    A file .atoms.csv beside it says which variable is which ground atom.
    """
    options = Options(**typed)
    check_apart([output, names_beside(output)], options.model, options.evidence)
    model, evidence = read_model_and_evidence(options)
    with progress_bar() as progress:
        liftgbp.export_network(
            model,
            output,
            options.sizes,
            evidence=evidence,
            table_cap=options.table_cap,
            progress=progress,
        )


@cli.command(examples="liftgbp reproduce -o reproduction\n")
@option(
    "-o",
    "--output",
    "directory",
    required=True,
    metavar="DIRECTORY",
    group=declared.OUTPUT,
    help="The directory for the figures, the table and the report; created if it is missing.",
)
def reproduce(directory: str) -> None:
    """Repeat the evaluation of the paper, and judge its claims.

    Writes times.svg, probability.svg, results.csv and report.md. This takes a minute or two, most
    of it for ground message passing. Nothing is written before everything is computed.
    """
    from liftgbp.cli.report_views import show_reproduction

    with progress_bar() as progress:
        reproduction = liftgbp.reproduce(directory, progress=progress)
    show_reproduction(reproduction)


@cli.command("examples", examples="liftgbp examples\n")
def list_examples() -> None:
    """List the models that come with liftgbp.

    Each can be given in place of a file: example:town.
    """
    from liftgbp.cli.report_views import show_examples

    show_examples(liftgbp.examples())
