"""The command that looks for the most probable world."""

from __future__ import annotations

from typing import Any

import click

import liftgbp
from liftgbp.cli import options as declared
from liftgbp.cli.arguments import PICTURE_FILES, Options, check_apart, output_file, read_question
from liftgbp.cli.entry import INTERRUPTED, REFUSED
from liftgbp.cli.help_pages import Command, option
from liftgbp.cli.progress_bar import progress_bar
from liftgbp.cli.selection import print_result

WORLD_FILES = (".db", ".csv", ".json", ".parquet", *PICTURE_FILES)


@click.command(
    "map",
    cls=Command,
    short_help="Find the most probable world of MODEL.",
    examples="""\
liftgbp map example:friends-smokers -n person=4
liftgbp map example:opposites -n person=1000000
liftgbp map example:karate -e example:karate.db -q 'officers(x)' -o best.db
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
    help="List the atoms 'friends(x,y)', 'friends(Anna,y)' or 'friends(x,y) | x != y' that are "
    "true. May be repeated; without any, predicates with few true atoms are listed.",
)
@declared.evidence
@declared.via
@option(
    "--effort",
    type=click.Choice(["quick", "normal", "thorough"]),
    default="normal",
    show_default=True,
    group=declared.METHOD,
    help="How much work a better world or a proof is worth, in steps: a second, some seconds or "
    "about a minute where nothing is proven before.",
)
@option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    group=declared.METHOD,
    help="End after this long, with the best world so far and its bound.",
)
@option(
    "--gap",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    metavar="SCORE",
    group=declared.METHOD,
    help="End once no world can be better by more than this.",
)
@option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="NUMBER",
    group=declared.METHOD,
    help="The seed of all random numbers.",
)
@declared.table_cap
@option(
    "-o",
    "--output",
    metavar="FILE",
    group=declared.OUTPUT,
    help="Also write the world: facts (.db), a table (.csv, .parquet), everything (.json) or a "
    "picture (.png, .svg, .pdf).",
)
@option(
    "--all",
    "everything",
    is_flag=True,
    group=declared.OUTPUT,
    help="With -o, write every atom to the table, not only those that are true.",
)
@option(
    "--check",
    is_flag=True,
    group=declared.METHOD,
    help="Also count the score anew by other code, and compare the world with others: exit code 1 "
    "if one of these scores higher.",
)
@declared.as_json
def best(
    seconds: float | None,
    gap: float,
    output: str | None,
    everything: bool,
    check: bool,
    as_json: bool,
    **typed: Any,
) -> int:
    """Find the most probable world of MODEL: the one in which rules of the most weight hold.

    The first line says whether it is proven to be best; the exit code is 1 if not. Among best
    worlds, one with few true atoms is taken. Ctrl-C shows the best world so far with its bound.
    MODEL may be a .uai or .fg network, too.
    """
    options = Options(**typed)
    output_file(output, WORLD_FILES)
    check_apart([output], options.model, options.evidence)
    if everything and not (output or "").endswith((".csv", ".parquet")):
        raise click.UsageError("--all is about tables; add -o best.csv or .parquet")
    with progress_bar() as progress:
        asked = read_question(options, atoms=True)
        if "sizes" in asked:
            asked |= {"via": options.via, "table_cap": options.table_cap}
        world = liftgbp.best_world(
            **asked,
            effort=options.effort,
            seconds=seconds,
            gap=gap,
            seed=options.seed or 0,
            progress=progress,
        )
        result = world.as_dict(options.queries)
        checked = None
        if check:
            progress("checking the world", 0, 1)
            checked = liftgbp.check_world(world)
            result["check"] = checked.as_dict()
        if output is not None:
            progress("writing the world", 0, 1)
            world.write(output, everything=everything)
    if as_json:
        print_result(result)
    else:
        from liftgbp.cli.world_view import show_world

        show_world(result, world.numbers_text)
    if world.interrupted:
        return INTERRUPTED
    refuted = checked is not None and not checked.agrees
    return REFUSED if refuted or not world.proven else 0
