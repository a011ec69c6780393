"""The command that explains probabilities."""

from __future__ import annotations

import warnings
from typing import Any

import click

import liftgbp
from liftgbp.cli import options as declared
from liftgbp.cli.arguments import Options, method, read_question
from liftgbp.cli.entry import NOT_TRUSTED
from liftgbp.cli.help_pages import Command, option
from liftgbp.cli.progress_bar import progress_bar
from liftgbp.cli.selection import print_result
from liftgbp.support.texts import visible


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
        print_result([own.as_dict() for own in found])
    else:
        if not answers.trusted:
            click.echo(visible(f"NOT TRUSTED: {answers.reason}"))
        click.echo(visible("\n\n".join(map(str, found)), "\n"))
    return 0 if answers.trusted else NOT_TRUSTED
