"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from liftgbp.cli.arguments import SORTS, TABLE_CAP, parse_blocks, parse_sizes, parse_weights
from liftgbp.cli.help_pages import gigabytes, option

Command = TypeVar("Command", bound=Callable[..., Any])

MODEL, EVIDENCE, METHOD, OUTPUT = "Model", "Evidence", "Method", "Output"


def all_of(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in this order on the help page."""

    def decorate(command: Command) -> Command:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


engine = all_of(
    option(
        "--engine",
        metavar="NAME",
        group=METHOD,
        help="Pass messages on a database engine, duckdb or spark, which reads evidence tables "
        "itself and writes the marginals of all atoms to the folder -o.",
    ),
    option(
        "--engine-memory",
        callback=gigabytes,
        metavar="GB",
        group=METHOD,
        help="The memory that the engine may take, with units as for --memory; what does not fit "
        "goes to the disk.",
    ),
    option(
        "--compress",
        is_flag=True,
        group=METHOD,
        help="On an engine, look for atoms that behave alike, and pass messages between kinds of "
        "atoms. It pays where data fall into many small parts. Without an engine, this is done "
        "anyway.",
    ),
)
strangers = all_of(
    option(
        "--untrusted",
        is_flag=True,
        group=MODEL,
        help="MODEL is by a stranger: it includes no files, files may be up to 16 MB, and the run "
        "is within --timeout 10 --memory 2 unless these say otherwise.",
    ),
    option(
        "--include-anywhere",
        is_flag=True,
        group=MODEL,
        help="MODEL may include files that lie outside its folder.",
    ),
)
sizes_and_weights = all_of(
    click.argument("model"),
    option(
        "-n",
        "--size",
        "sizes",
        multiple=True,
        metavar="SORT=SIZE",
        callback=parse_sizes,
        group=MODEL,
        help="The number of objects of a sort: person=1000 or person=1e6. May be repeated.",
    ),
    option(
        "-w",
        "--weight",
        "weights",
        multiple=True,
        metavar="NAME=VALUE",
        callback=parse_weights,
        group=MODEL,
        help="The value of a named weight: alpha=0.5 sets $alpha. May be repeated.",
    ),
    strangers,
)
size_and_weight_ranges = all_of(
    click.argument("model"),
    option(
        "-n",
        "--size",
        "sizes",
        multiple=True,
        metavar="SORT=RANGE",
        group=MODEL,
        help="Sizes of a sort: one (100), several (2,5,10), or a range (2..1e9), which is spaced "
        "evenly on a logarithmic scale. May be repeated.",
    ),
    option(
        "-w",
        "--weight",
        "weights",
        multiple=True,
        metavar="NAME=RANGE",
        group=MODEL,
        help="Values of a named weight: one, several, or a range (0..2), which is spaced evenly. "
        "May be repeated.",
    ),
    option(
        "--points",
        default=50,
        show_default=True,
        group=MODEL,
        help="The number of points in a range.",
    ),
    strangers,
)
queries = option(
    "-q",
    "--query",
    "queries",
    multiple=True,
    metavar="QUERY",
    group=MODEL,
    help="An atom 'friends(x,y)' or 'friends(Anna,y)', a conjunction 'friends(x,y) ^ smokes(x)', "
    "a formula '!smokes(x)' or 'EXIST x smokes(x)', or a conditional "
    "'smokes(y) | friends(x,y), smokes(x)'. May be repeated; without any, every predicate is "
    "answered.",
)
evidence = all_of(
    option(
        "-e",
        "--evidence",
        "evidence",
        multiple=True,
        metavar="FILE",
        group=EVIDENCE,
        help="A .db file of facts, or PREDICATE=FILE for a table whose columns are the arguments "
        "(.csv, .parquet, data.duckdb:table); PREDICATE=FILE[from,to] chooses columns, and "
        "PREDICATE=FILE[header=no] reads a CSV file without column names. May be repeated.",
    ),
    option(
        "--closed",
        multiple=True,
        metavar="PREDICATE",
        group=EVIDENCE,
        help="Atoms of this predicate that the evidence does not list are false. May be repeated; "
        "'all' means every predicate with facts that no query is about.",
    ),
    option(
        "--known",
        multiple=True,
        metavar="FACTS=COUNT",
        group=EVIDENCE,
        help="The number of unnamed objects with these facts: 'smokes(x)=3e5'. May be repeated.",
    ),
)
via = option(
    "--via",
    type=click.Choice(["auto", "lifted", "ground"]),
    default="auto",
    show_default=True,
    group=EVIDENCE,
    help="How to treat evidence: lifted groups the objects that it does not tell apart, ground "
    "grounds the model and compresses it, auto takes the cheaper one.",
)
effort = all_of(
    option(
        "--effort",
        type=click.Choice(["quick", "normal", "thorough"]),
        default="normal",
        show_default=True,
        group=METHOD,
        help="How much work the answer is worth: quick takes factor scopes and one block; normal "
        "is exact where the model is small, and else sums over counts, looks for blocks and lets "
        "regions grow (about a second); thorough goes further (about a minute).",
    ),
    option(
        "--exact/--no-exact",
        default=None,
        group=METHOD,
        help="Give the exact answer or say why there is none; or always approximate.",
    ),
    option(
        "--blocks",
        metavar="NUMBER",
        callback=parse_blocks,
        group=METHOD,
        help="The most blocks of objects that behave differently: 1 (as in the paper), a number, "
        "person=3,movie=2, or auto.",
    ),
)
regions = option(
    "--regions",
    default="intersections",
    show_default=True,
    metavar="FAMILY",
    group=METHOD,
    help="The regions that pass messages: intersections, subsets, bethe, objects:K (or "
    "objects:SORT=K,...), clusters:S; on the ground also loops:L. Larger ones cost more, and are "
    "often more accurate.",
)
regions_or_auto = option(
    "--regions",
    metavar="FAMILY",
    group=METHOD,
    help="The regions that pass messages: intersections (factor scopes), subsets, bethe, "
    "objects:K (or objects:SORT=K,...), clusters:S; on the ground also loops:L. Larger ones cost "
    "more, and are often more accurate; auto enlarges them as long as the answer is trusted.",
)
sum_over = option(
    "--sum-over",
    multiple=True,
    metavar="PREDICATE",
    group=METHOD,
    help="Sum over the number of objects that satisfy this unary predicate, or 'likes(x,x)'; auto "
    "picks the one that matters most, none leaves it out. Often more accurate. May be repeated.",
)
damping = option(
    "--damping",
    type=float,
    metavar="SHARE",
    group=METHOD,
    help="The share of each old message that flooding keeps.  [default: 0.5]",
)
table_cap = option(
    "--table-cap",
    default=TABLE_CAP,
    show_default=True,
    group=METHOD,
    help="The maximal number of entries in one table.",
)
# Solvers have their own defaults, so these options have none.
solver = all_of(
    option(
        "--solver",
        type=click.Choice(["auto", "flooding", "descent"]),
        default="auto",
        show_default=True,
        group=METHOD,
        help="flooding passes messages, descent looks for all minima of the free energy, auto "
        "prefers descent where it is affordable.",
    ),
    damping,
    option(
        "--adaptive",
        is_flag=True,
        group=METHOD,
        help="Let flooding adapt its damping as it runs; auto always does.",
    ),
    option(
        "--iterations",
        type=int,
        metavar="COUNT",
        group=METHOD,
        help="The maximal number of iterations.  [default: 500]",
    ),
    option(
        "--tol",
        type=float,
        metavar="RESIDUAL",
        group=METHOD,
        help="The residual to stop at.  [default: 1e-12; on an engine 1e-9]",
    ),
    option(
        "--seed",
        type=int,
        metavar="NUMBER",
        group=METHOD,
        help="The seed of descent's random starts.  [default: 0]",
    ),
    table_cap,
)
jobs = option(
    "--jobs",
    type=int,
    default=1,
    show_default=True,
    metavar="NUMBER",
    group=METHOD,
    help="Let this many processes share the points; the output is the same for any number.",
)
second_opinion = option(
    "--second-opinion",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    group=OUTPUT,
    help="Also sample worlds for this long, and compare them with the answer: see liftgbp sample.",
)
bounds = option(
    "--bounds",
    is_flag=True,
    group=METHOD,
    help="Also prove what log Z lies in; an estimate outside is refused.",
)
selection = all_of(
    option(
        "--sort",
        type=click.Choice(SORTS),
        group=OUTPUT,
        help="Order the rows of each answer by probability, highest first, or by atom. The "
        "probability of a row is that of true; of other values, that of the most probable one.",
    ),
    option(
        "--top",
        type=click.IntRange(min=1),
        metavar="K",
        group=OUTPUT,
        help="Keep the first K rows of each answer; sorts by probability unless --sort says "
        "otherwise.",
    ),
    option(
        "--min",
        "least",
        type=click.FloatRange(0, 1),
        metavar="P",
        group=OUTPUT,
        help="Keep the rows whose probability is at least P.",
    ),
)
as_json = option("--json", "as_json", is_flag=True, group=OUTPUT, help="Print one JSON object.")
verbose = option(
    "-v",
    "--verbose",
    is_flag=True,
    group=OUTPUT,
    help="Also show how the answer was found and checked.",
)
