"""The commands that give second opinions."""

from __future__ import annotations

import json
from typing import Any

import click

import liftgbp
from liftgbp.cli import options as declared
from liftgbp.cli.arguments import is_network, read_evidence, read_model
from liftgbp.cli.help_pages import Command, option
from liftgbp.cli.progress_bar import progress_bar


@click.command(
    cls=Command,
    short_help="Bound log Z and probabilities of MODEL for certain.",
    examples="""\
liftgbp bounds models/friends-smokers.mln -n person=1000000
liftgbp bounds models/friends-smokers.mln -n person=100 -q 'friends(x,y)'
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
def bounds(
    model: str,
    sizes: dict[str, int],
    weights: dict[str, float],
    queries: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Bound log Z of MODEL, and probabilities, for certain.

    Approximations may be wrong; these bounds are not. Independent atoms over blocks of objects
    reach the lower one, and a sum of conditional entropies over the beliefs of regions the upper
    one. Both take the same time for any number of objects. Where an interval says nothing about a
    probability, it is called "no information".
    """
    if is_network(model):
        raise click.UsageError(
            "bounds are about models over classes of objects; a .uai or .fg file has none"
        )
    relational = read_model(model, weights)
    evidence = read_evidence(relational, options)
    with progress_bar() as progress:
        found = liftgbp.bounds(
            relational, sizes, evidence=evidence, queries=queries, progress=progress, **options
        )
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2))
    else:
        from liftgbp.cli.bounds_view import show_bounds

        show_bounds(found.as_dict())
