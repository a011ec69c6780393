"""The commands that check answers, and that explain them."""

from __future__ import annotations

import warnings
from typing import Any

import click

import liftgbp
from liftgbp.cli import options as declared
from liftgbp.cli.arguments import (
    PICTURE_FILES,
    Options,
    check_apart,
    method,
    output_file,
    read_model_and_evidence,
    read_question,
)
from liftgbp.cli.entry import CODE_OF, REFUSED
from liftgbp.cli.help_pages import Command, option
from liftgbp.cli.progress_bar import progress_bar
from liftgbp.cli.selection import print_result
from liftgbp.support.texts import visible


@click.command(
    cls=Command,
    short_help="Check the answers about MODEL.",
    examples="""\
liftgbp check example:friends-smokers -n person=10
liftgbp check example:transitive -n person=1e6 --seconds 30
liftgbp check example:friends-smokers -n person=3 --messages
""",
)
@declared.sizes_and_weights
@declared.queries
@declared.evidence
@declared.via
@declared.effort
@declared.regions_or_auto
@declared.sum_over
@declared.solver
@option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    group=declared.METHOD,
    help="How long to sample where there is no exact answer.",
)
@option(
    "--messages",
    is_flag=True,
    group=declared.METHOD,
    help="Compare lifted with ground message passing instead, iteration by iteration.",
)
@option(
    "--plot",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Draw the answers beside the second opinion: a .png, .svg or .pdf file.",
)
@declared.as_json
def check(
    seconds: float,
    messages: bool,
    plot: str | None,
    as_json: bool,
    **typed: Any,
) -> int:
    """Check the answers about MODEL: put them beside the exact ones, or beside a sample.

    The options are those of query, and so are the answers. Where MODEL is too large for a second
    opinion, answers over smaller domains are checked. The exit code is 1 if they disagree, or if
    only smaller domains could be checked and the answer asked for is refused.

    With --messages, every ground region is written out and compared, so domains must be small.
    """
    options = Options(**typed)
    output_file(plot, PICTURE_FILES)
    check_apart([plot], options.model, options.evidence)
    if messages and plot is not None:
        raise click.UsageError("--plot does not apply to --messages")
    if messages:
        return _check_messages(options, as_json)
    found_by = method(options)
    with progress_bar() as progress:
        found = liftgbp.check(
            **read_question(options),
            **found_by,
            via=options.via,
            queries=options.queries,
            seconds=seconds,
            progress=progress,
        )
    result = found.as_dict()
    if plot is not None and found.comparison is not None:
        found.write_picture(plot)
    elif plot is not None:
        click.echo(f"there is no second opinion, so {visible(plot)} is not written", err=True)
    if as_json:
        print_result(result)
    else:
        from liftgbp.cli.report_views import show_check

        show_check(result)
    doubtful = found.is_smaller and found.answers.standing is liftgbp.Standing.REFUSED
    return 0 if found.agrees and not doubtful else REFUSED


def _check_messages(options: Options, as_json: bool) -> int:
    """Compare lifted with ground message passing."""
    model, evidence = read_model_and_evidence(options, fit=False)
    known = {"damping": options.damping, "iterations": options.iterations}
    stated: dict[str, Any] = {key: value for key, value in known.items() if value is not None}
    regions = options.regions or "intersections"
    if options.queries or regions == "auto":
        raise click.UsageError("-q and --regions auto do not apply to --messages")
    with progress_bar() as progress:
        report = liftgbp.check_messages(
            model,
            options.sizes,
            evidence=evidence,
            via=options.via,
            regions=regions,
            progress=progress,
            **stated,
        )
    result = report.as_dict()
    if as_json:
        print_result(result)
    else:
        from liftgbp.cli.report_views import show_messages

        show_messages(result)
    return 0 if report.agrees else REFUSED


@click.command(
    cls=Command,
    short_help="Explain probabilities: which rules pull them up or down.",
    examples="""\
liftgbp explain example:town -n person=1000 -q 'smokes(x)'
liftgbp explain example:transitive -n person=20 -q 'r(x,y)' --no-rules --effort quick
""",
)
@declared.sizes_and_weights
@declared.queries
@declared.evidence
@declared.via
@declared.effort
@declared.regions_or_auto
@declared.sum_over
@declared.solver
@option(
    "--rules/--no-rules",
    default=True,
    show_default=True,
    group=declared.METHOD,
    help="Also answer without each of the rules, which takes as long as that many answers.",
)
@declared.as_json
def explain(
    rules: bool,
    as_json: bool,
    **typed: Any,
) -> int:
    """Explain the probabilities of queries about MODEL, in log-odds.

    First, what each factor and each message adds in the region that the probability is read from;
    then the probability without each rule, and what the rule adds. The options are those of query.
    """
    options = Options(**typed)
    if not options.queries:
        raise click.UsageError("say what to explain, as in -q 'smokes(x)'")
    found_by = method(options)
    with progress_bar() as progress, warnings.catch_warnings():
        # What cannot be trusted is said below.
        warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
        asked = read_question(options)
        answers = liftgbp.infer(**asked, **found_by, via=options.via, progress=progress)
        found = [answers.explain(query, rules=rules) for query in options.queries]
    if as_json:
        print_result([explanation.as_dict() for explanation in found])
    else:
        if answers.standing is liftgbp.Standing.REFUSED:
            click.echo(visible(f"REFUSED: {answers.reason}"))
        elif not answers.trusted:
            click.echo(visible(f"{answers.standing.value}: {answers.because}"))
        click.echo(visible("\n\n".join(map(str, found)), "\n"))
    return CODE_OF[answers.standing.value]
