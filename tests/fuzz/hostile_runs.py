"""One hostile run: files, and a command or a call. A kind and a seed make it, always the same."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import click
import numpy as np
from hostile_texts import (
    NUMBERS,
    ODD_TOKENS,
    factor_graph_text,
    facts_text,
    model_text,
    mutated,
    network_text,
    packed,
    table_bytes,
)

import liftgbp
from liftgbp.cli import main
from liftgbp.cli.commands import cli as commands

SECONDS = 3
"""The time limit that runs are given."""

MEMORY = 1.5
"""The memory limit that runs are given, in gigabytes."""

VALUES = {
    "sizes": (("person=3", "person=5", "person=14", "person=1e6", "person=1e100", "place=2"),
              ("person=0", "person=-1", "person=2,3", "person=2..9", "person=x", "person", "=3",
               "person=1e999", "no=3")),
    "weights": (("a=0.5", "a=2"), ("a=0..2", "a=1,2", "a=nan", "a=1e999", "b=1", "a", "a=x")),
    "queries": (("p(x)", "q(x)", "r(x,y)", "p", "q(x,y)", "s(x)", "e(x,y)", "mood(x)"),
                ("p(Anna)", "r(x,y) ^ p(x)", "p(x) | p(y)", "e(x,x)", "mood(x) = low",
                 "EXIST x p(x)", "p(x) | ", "", "((",
                 "nobody(x)", "p(x,y,z)", "p(Nobody)", "!p(x)")),
    "evidence": (("facts.db",),
                 ("p=table.csv", "r=table.csv", "r=table.parquet", "r=data.duckdb:t", "r=t*.csv",
                  "missing.db", "p=", "=x",
                  "net.uai.evid", ".", "/dev/null")),
    "closed": (("p", "r"), ("nobody", "")),
    "known": (("p(x)=3", "p(x)=1e5", "p(x) ^ q(x)=2"), ("p(x)=-1", "p(x)", "x=3", "r(x,y)=2")),
    "regions": (("intersections", "subsets", "bethe", "objects:3", "objects:4", "clusters:3",
                 "auto"),
                ("objects:0", "objects:99", "clusters:99", "objects:person=2", "nothing", "")),
    "sum_over": (("auto", "none", "p", "q"), ("nobody", "")),
    "blocks": (("1", "2", "auto", "person=2"), ("0", "-1", "x", "99999")),
    "output": (("out.csv", "out.json", "out.uai", "out.parquet"),
               ("out.svg", "out.fg.gz", "out", "missing/out.csv", ".", "model.mln", "out.txt")),
    "all_output": (("out.csv",), ("out.xyz",)),
    "blocks_plot": (("out.png",), ("out.xyz",)),
    "seconds": (("0.2", "1"), ("0", "-1", "nan", "1e9")),
    "second_opinion": (("0.2",), ("0", "nan", "x")),
    "iterations": (("1", "20", "500"), ("0", "-1", "x")),
    "sweeps": (("8", "50"), ("0", "1e9", "1000000000")),
    "points": (("1", "3"), ("0", "-1", "10000000")),
    "chains": (("64", "1"), ("0", "100000000")),
    "table_cap": (("1048576", "1000"), ("2", "1", "0", "-1", "99999999999")),
    "damping": (("0.5", "0"), ("1", "-1", "nan")),
    "tol": (("1e-9",), ("0", "nan", "-1", "1")),
    "jobs": (("1", "2"), ("0", "-1", "x", "1000000000")),
    "seed": (("0", "1"), ("-1", "99999999999999999999")),
    "top": (("3",), ("0", "-1")),
    "minimum": (("0.5",), ("2", "nan")),
}  # fmt: skip
"""Values of options by the name of the parameter: good ones, and others."""

EVIDENCE_CELLS = ("Anna", "Bob", "Carl", "Dora", "low", "high", "", True, False, 0.7, 0, 1, 2)
"""What evidence from Python is made of, among weird things."""

LIMITS = {"timeout", "memory"}
RELATIONAL = {
    "sizes",
    "weights",
    "queries",
    "query",
    "closed",
    "known",
    "sum_over",
    "blocks",
    "blocks_plot",
}
"""Options that mean nothing for a network."""

SLOW = {"reproduce"}
"""Commands that are slow whatever they are given."""


@dataclass(frozen=True)
class Run:
    """Files to write first, a command, and what may be there afterwards."""

    files: dict[str, bytes]
    act: Callable[[], int]
    """Returns the exit code."""
    text: str
    outputs: frozenset[str] = field(default_factory=frozenset)


def make(kind: str, seed: int) -> Run:
    """The run of this kind and seed."""
    random = Random(f"{kind} {seed}")
    return MAKERS[kind](random)


def _files(random: Random, *, tame: bool = False) -> dict[str, bytes]:
    def encoded(text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        if not tame and random.random() < 0.03:
            place = random.randrange(len(data) + 1)
            data = data[:place] + bytes([random.randrange(256)]) + data[place:]
        return data

    return {
        "model.mln": encoded(model_text(random, tame=tame)),
        "facts.db": encoded(facts_text(random)),
        "table.csv": table_bytes(random),
        "table.parquet": table_bytes(random),
        "data.duckdb": table_bytes(random),
        "net.uai.evid": random.choice(
            (b"1 0 1\n", b"2 0 1 1 0\n", b"", b"1 99 0\n", b"x\n", b"1\n1 0 1\n")
        ),
    }


def _command(random: Random) -> Run:
    tame = random.random() < 0.6
    return _run(_files(random, tame=tame), "model.mln", random, tame)


def _objects(cells: list[Any]) -> Any:
    """An array of these cells; NumPy would look into cells that are arrays themselves."""
    found = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        found[place] = cell
    return found


def _evidence(random: Random) -> Run:
    """A model that is fine, with one to three sources of evidence: a command, or a call."""
    files = _files(random, tame=True)
    if random.random() < 0.6:
        return _run(files, "model.mln", random, random.random() < 0.5, sources=True)
    values = [*EVIDENCE_CELLS, *WEIRD]

    def column() -> Any:
        cells = [random.choice(values) for _ in range(random.choice((0, 1, 2, 5)))]
        return random.choice((cells, tuple(cells), _objects(cells), set(map(str, cells))))

    def statement() -> Any:
        kind = random.random()
        if kind < 0.3:
            return [tuple(random.choices(values, k=random.choice((1, 2, 2, 3)))) for _ in range(3)]
        if kind < 0.5:
            return {"x": column(), "y": column(), random.choice(("value", "weight", "z")): column()}
        if kind < 0.7:
            return {
                random.choice((*EVIDENCE_CELLS, ("Anna", "Bob"), ("Anna",))): random.choice(values)
            }
        return random.choice((column(), random.choice(WEIRD), Path(random.choice(list(files)))))

    given: Any = {
        random.choice(("smokes", "friends", "friends", "mood", "nobody")): statement()
        for _ in range(random.choice((1, 1, 2)))
    }
    if random.random() < 0.2:
        given = [given, random.choice((facts_text(random), Path("facts.db"), *WEIRD))]

    def act() -> int:
        print(given, file=sys.stderr)
        limits = liftgbp.Limits(seconds=SECONDS, memory=MEMORY)
        try:
            liftgbp.infer(
                liftgbp.parse(GOOD_MODEL), evidence=given, effort="quick", limits=limits
            ).query("smokes(x)")
        except liftgbp.LiftgbpError as error:
            print(error, file=sys.stderr)
            return 2
        return 0

    return Run(files, act, f"evidence {given!r:.600}")


def _network(random: Random) -> Run:
    files = _files(random)
    kind = random.choice((".uai", ".uai", ".fg"))
    data = (network_text(random) if kind == ".uai" else factor_graph_text(random)).encode(
        "utf-8", "surrogatepass"
    )
    name = "net" + kind
    if random.random() < 0.2:
        name, data = name + ".gz", packed(data, random)
    return _run({**files, name: data}, name, random, random.random() < 0.6)


def _run(
    files: dict[str, bytes], model: str, random: Random, tame: bool, *, sources: bool = False
) -> Run:
    names = [name for name in commands.every_command() if name not in SLOW]
    name = random.choice(("query", "query", "query", random.choice(names)))
    command = commands.every_command()[name]
    arguments = [name, model]
    outputs: set[str] = set()
    if sources:
        for _ in range(random.choice((1, 1, 2, 3))):
            arguments += ["-e", random.choice(sum(VALUES["evidence"], ()))]
    for parameter in command.params:
        if not isinstance(parameter, click.Option) or parameter.name in {"help", *LIMITS}:
            continue
        if not model.endswith(".mln") and parameter.name in RELATIONAL and random.random() < 0.95:
            continue
        often = 0.3 if parameter.name == "sizes" else 0.95 if parameter.required else 0.06
        for _ in range(2 if parameter.multiple and random.random() < 0.2 else 1):
            if random.random() >= often:
                continue
            arguments.append(random.choice((*parameter.opts, *parameter.secondary_opts)))
            if parameter.is_flag:
                continue
            value = _value(parameter, random, tame)
            arguments.append(value)
            if parameter.name in {"output", "blocks_plot"}:
                outputs |= {
                    value,
                    value.removesuffix(".gz").rpartition(".")[0] + ".atoms.csv",
                    value + ".atoms.csv",
                }
    if {"--timeout", "--memory"} <= {one for parameter in command.params for one in parameter.opts}:
        arguments += ["--timeout", str(SECONDS), "--memory", str(MEMORY)]

    def act() -> int:
        sys.argv = ["liftgbp", *arguments]
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    return Run(files, act, "liftgbp " + " ".join(map(repr, arguments)), frozenset(outputs))


def _value(parameter: click.Option, random: Random, tame: bool) -> str:
    if not tame and random.random() < 0.1:
        return random.choice(ODD_TOKENS).replace("\0", "")
    if isinstance(parameter.type, click.Choice):
        return str(random.choice(tuple(parameter.type.choices)))
    good, other = VALUES.get(parameter.name or "", (NUMBERS, NUMBERS))
    return random.choice(good if tame or random.random() < 0.5 else other)


GOOD_MODEL = """
person = {Anna, Bob, Carl}
friends(person, person)
smokes(person)
mood(person) : {low, mid, high}
$a = 0.3
$a friends(x,y) ^ smokes(x) => smokes(y) | x != y
0.2 smokes(x) ^ mood(x) = high
"""

WEIRD: tuple[Any, ...] = (
    None, True, 0, 1, 3, -1, 10**30, 0.5, float("nan"), float("inf"), 1j, "", "x", "smokes(x)",
    "friends(x,y)", "auto",
    "person", "Anna", b"bytes", [], [1, 2], ["smokes(x)"], ("smokes(x)", "mood(x)"), {},
    {"person": 3}, {"person": [3, 4]},
    {"person": "x"}, {1: 2}, {"smokes": [("Anna",)]}, np.int64(3), np.float32(0.5), np.bool_(True),
    np.str_("smokes(x)"),
    np.array(3), np.array([1, 2]), np.array([[0.5, 1.0], [2.0, 3.0]]), np.array(["a", "b"]),
    np.nan, object(), int, len,
    range(3), {3, 4}, Path("model.mln"), Path("missing"), iter(["smokes(x)"]), "\0", "a" * 10_000,
    "smokes(Anna)",
    "quick", "normal", "out.csv", "out.uai", slice(3), Ellipsis,
)  # fmt: skip
"""Arguments of all kinds."""

_BINDING = (
    "positional argument",
    "keyword argument",
    "unexpected keyword",
    "required argument",
    "multiple values",
)


def _python(random: Random) -> Run:
    """A public function or method with weird arguments."""

    def model() -> Any:
        return liftgbp.parse(GOOD_MODEL)

    functions = [
        name
        for name in liftgbp.__all__
        if inspect.isfunction(getattr(liftgbp, name)) and name not in SLOW
    ]
    name = random.choice(
        (*functions, "Flooding", "Descent", "Auto", "answers", "sample", "model", "sweep result")
    )
    weird = [random.choice(WEIRD) for _ in range(12)]
    share = random.random()

    def act() -> int:
        if name == "answers":
            return _method(liftgbp.infer(model(), {"person": 3}, effort="quick"), random, weird)
        if name == "sample":
            return _method(liftgbp.sample(model(), {"person": 3}, sweeps=8), random, weird)
        if name == "model":
            return _method(model(), random, weird)
        if name == "sweep result":
            return _method(
                liftgbp.sweep(model(), {"person": [3, 4]}, effort="quick"), random, weird
            )
        function = getattr(liftgbp, name)
        first: list[Any] = []
        parameters = inspect.signature(function).parameters
        if "model" in parameters and random.random() < 0.85:
            first = [model()]
        return _called(function, first, parameters, random, weird, share)

    return Run(
        _files(random),
        act,
        f"liftgbp.{name} with {weird!r:.600}",
        frozenset({"out.csv", "out.uai", "out.atoms.csv", "x"}),
    )


METHODS = ("query", "marginal", "write_all", "write", "compare", "at", "as_dict", "with_weights",
           "domain_sizes",
           "check_queries", "records", "to_frame", "all", "to_columns", "to_arrow", "count",
           "probability", "top", "holds", "write_picture", "opinion_on")  # fmt: skip
"""The methods that users call."""


def _method(owner: Any, random: Random, weird: list[Any]) -> int:
    function = getattr(
        owner, random.choice([name for name in METHODS if callable(getattr(owner, name, None))])
    )
    return _called(
        function, [], inspect.signature(function).parameters, random, weird, random.random()
    )


def _called(
    function: Callable[..., Any],
    first: list[Any],
    parameters: Any,
    random: Random,
    weird: list[Any],
    share: float,
) -> int:
    named: dict[str, Any] = {}
    supply = iter(weird)
    for parameter in list(parameters.values())[len(first) :]:
        if (
            parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            or parameter.name == "progress"
        ):
            continue
        needed = parameter.default is parameter.empty
        if not needed and random.random() > share:
            continue
        value = next(supply, None)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            first.append(value)
        else:
            named[parameter.name] = value
    if "limits" in parameters and "limits" not in named:
        named["limits"] = liftgbp.Limits(seconds=SECONDS, memory=MEMORY)
    print(function, named, file=sys.stderr)
    try:
        function(*first, **named)
    except (liftgbp.LiftgbpError, liftgbp.UntrustedAnswerError) as error:
        print(type(error).__name__, error, file=sys.stderr)
        return 2
    except TypeError as error:
        if not any(words in str(error) for words in _BINDING):
            raise
    return 0


def _builder(random: Random) -> Run:
    """A model builder with weird arguments, and texts handed to the parsers."""
    weird = [random.choice(WEIRD) for _ in range(20)]
    text, facts = model_text(random), facts_text(random)
    query = mutated("friends(x,y) ^ smokes(x)", random)

    def act() -> int:
        if random.random() < 0.5:
            builder = liftgbp.ModelBuilder("m").sort("person", size=3).predicate("smokes", "person")
            supply = iter(weird)
            for _ in range(3):
                method = getattr(
                    builder,
                    random.choice(("sort", "predicate", "weight", "formula", "hard", "table")),
                )
                arguments = [next(supply) for _ in range(random.choice((1, 2, 2, 3)))]
                print(method, arguments, file=sys.stderr)
                try:
                    method(*arguments)
                except liftgbp.LiftgbpError as error:
                    print(error, file=sys.stderr)
                except TypeError as error:
                    if not any(words in str(error) for words in _BINDING):
                        raise
            try:
                builder.build()
            except liftgbp.LiftgbpError as error:
                print(error, file=sys.stderr)
            return 0
        try:
            print(liftgbp.parse(text))
            liftgbp.parse(str(liftgbp.parse(text)))
        except liftgbp.LiftgbpError as error:
            print(error, file=sys.stderr)
        model = liftgbp.parse(GOOD_MODEL)
        for ask in (
            lambda: liftgbp.parse_evidence(model, facts),
            lambda: liftgbp.infer(model, effort="quick").query(query),
        ):
            try:
                ask()
            except liftgbp.LiftgbpError as error:
                print(error, file=sys.stderr)
        return 0

    return Run({}, act, f"builder with {weird!r:.600}\n{text}\n{facts}\n{query}")


MAKERS = {
    "command": _command,
    "evidence": _evidence,
    "network": _network,
    "python": _python,
    "builder": _builder,
}
KINDS = tuple(MAKERS)


def strict() -> None:
    """Make every warning an error, except the one that users are meant to see, and what Ibis does
    that DuckDB would rather have done otherwise.
    """
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
    warnings.filterwarnings("ignore", "fetch_arrow_table", DeprecationWarning)
