"""The commands that give second opinions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

import liftgbp
from liftgbp.cli import options as declared
from liftgbp.cli.arguments import (
    Options,
    check_apart,
    is_network,
    output_file,
    read_model_and_evidence,
    read_question,
)
from liftgbp.cli.entry import INTERRUPTED, REFUSED
from liftgbp.cli.help_pages import Command, option
from liftgbp.cli.progress_bar import progress_bar
from liftgbp.cli.selection import print_result


@click.command(
    cls=Command,
    short_help="Prove bounds on log Z and probabilities of MODEL.",
    examples="""\
liftgbp bounds example:friends-smokers -n person=1000000
liftgbp bounds example:friends-smokers -n person=100 -q 'friends(x,y)'
""",
)
@declared.sizes_and_weights
@option(
    "-q",
    "--query",
    "queries",
    multiple=True,
    metavar="ATOM",
    group=declared.MODEL,
    help="Also bound the probability of an atom: 'friends(x,y)' or 'friends(Anna,y)'. May be "
    "repeated.",
)
@declared.evidence
@option(
    "--effort",
    type=click.Choice(["quick", "normal", "thorough"]),
    default="normal",
    show_default=True,
    group=declared.METHOD,
    help="How much work narrow bounds are worth: quick takes factor scopes and one block, normal "
    "also blocks and larger regions (a fraction of a second), thorough goes further.",
)
@option(
    "--regions",
    metavar="FAMILY",
    group=declared.METHOD,
    help="The regions that prove the upper bound: intersections (factor scopes), objects:K, ...; "
    "without it several are tried.",
)
@declared.table_cap
@declared.as_json
def bounds(as_json: bool, **typed: Any) -> None:
    """Prove bounds on log Z of MODEL, and on probabilities.

    Approximations may be wrong; these bounds are not. Independent atoms over blocks of objects
    reach the lower one, and a sum of conditional entropies over the beliefs of regions the upper
    one. Both take the same time for any number of objects. Where an interval says nothing about a
    probability, it is called "no information".
    """
    options = Options(**typed)
    if is_network(options.model):
        raise click.UsageError(
            "bounds are about models over classes of objects; a .uai or .fg file has none"
        )
    model, evidence = read_model_and_evidence(options)
    with progress_bar() as progress:
        found = liftgbp.bounds(
            model,
            options.sizes,
            evidence=evidence,
            queries=options.queries,
            effort=options.effort,
            regions=options.regions,
            table_cap=options.table_cap,
            progress=progress,
        )
    if as_json:
        print_result(found.as_dict())
    else:
        from liftgbp.cli.opinion_views import show_bounds

        show_bounds(found.as_dict())


FOR_ANSWERS = 0.3
"""The part of the time of a sample that answers may take, at which its chains start."""


@click.command(
    cls=Command,
    short_help="Sample worlds of MODEL by Markov chain Monte Carlo.",
    examples="""\
liftgbp sample example:friends-smokers -n person=20 -q 'friends(x,y)'
liftgbp sample example:transitive -n person=40 --seconds 30 --seed 7
liftgbp sample example:moods -n person=4 --sweeps 200 -o worlds.parquet
""",
)
@declared.sizes_and_weights
@declared.queries
@declared.evidence
@option(
    "--sweeps",
    type=click.IntRange(8),
    metavar="COUNT",
    group=declared.METHOD,
    help="How often each chain draws every atom anew.  [default: 1000]",
)
@option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    group=declared.METHOD,
    help="Sample for this long instead.",
)
@option(
    "--chains",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    group=declared.METHOD,
    help="The number of chains, rounded up to a multiple of 64.",
)
@option(
    "--starts",
    type=click.Choice(["answers", "random"]),
    default="answers",
    show_default=True,
    group=declared.METHOD,
    help="Where chains start: at the minima and blocks of approximate answers and at random, or "
    "all at random.",
)
@option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="NUMBER",
    group=declared.METHOD,
    help="The seed of all random numbers.",
)
@option(
    "-o",
    "--output",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Also write the worlds to a .csv or .parquet file: one row for each draw of a chain.",
)
@declared.as_json
def sample(
    sweeps: int | None,
    seconds: float | None,
    chains: int,
    starts: str,
    seed: int,
    output: str | None,
    as_json: bool,
    **typed: Any,
) -> int:
    """Sample worlds of MODEL by Markov chain Monte Carlo on its ground network.

    All atoms are written out, so domains must be small. The first line says whether the chains have
    mixed; the exit code is 1 if not. Ctrl-C ends the sample, and what was drawn is shown. The same
    seed and number of sweeps give the same sample.
    """
    begun = time.perf_counter()
    options = Options(**typed)
    output_file(output, (".csv", ".parquet"))
    check_apart([output], options.model, options.evidence)
    with progress_bar() as progress:
        sampled = read_question(options)
        answers = None
        if starts == "answers":
            # Where there are no answers, all chains start at random.
            with suppress(liftgbp.CapacityError, liftgbp.ContradictionError, liftgbp.LimitExceeded):
                limits = None if seconds is None else liftgbp.Limits(FOR_ANSWERS * seconds)
                answers = liftgbp.infer(**sampled, exact=False, progress=progress, limits=limits)
        if seconds is not None:
            spent = time.perf_counter() - begun
            seconds = max(seconds - spent, (1 - FOR_ANSWERS) * seconds)
        found = liftgbp.sample(
            **sampled,
            answers=answers,
            sweeps=sweeps,
            seconds=seconds,
            chains=chains,
            seed=seed,
            progress=progress,
        )
        rows = [row for query in options.queries for row in found.query(query)] or found.all
        result = found.as_dict(options.queries)
        if output is not None:
            progress("writing worlds", 0, 1)
            found.write(output)
    if as_json:
        print_result(result)
    else:
        from liftgbp.cli.opinion_views import show_sample

        show_sample(result, rows)
    if found.interrupted:
        return INTERRUPTED
    return 0 if found.mixed else REFUSED


def compared_with_sample(
    answers: liftgbp.Answers,
    queries: Sequence[str],
    *,
    progress: Callable[[str, int, int], None],
    **sampled: Any,
) -> tuple[liftgbp.Comparison, bool]:
    """Answers beside a sample that starts at their minima and blocks, and whether Ctrl-C ended it.

    If there is none, as the model is too large or Ctrl-C came too early, the comparison says so.
    """
    try:
        found = liftgbp.sample(**sampled, answers=answers, progress=progress)
    except liftgbp.CapacityError as error:
        return liftgbp.Comparison.impossible("the sample", str(error)), False
    except KeyboardInterrupt as stop:
        why = ": ".join(["interrupted", *map(str, stop.args)])
        return liftgbp.Comparison.impossible("the sample", why), True
    return answers.compare(found, queries), found.interrupted
