"""Reading the values of options, and the files that they name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from glob import glob
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import click

import liftgbp
from liftgbp.cli.ranges import size_range, weight_range
from liftgbp.support.texts import visible

Number = TypeVar("Number", int, float)

VIA, TABLE_CAP = "auto", 2**20
"""The defaults of options."""

SORTS = ("p", "atom")
"""How rows of answers can be ordered."""

ANSWER_FILES = (".csv", ".json", ".parquet")
PICTURE_FILES = (".pdf", ".png", ".svg")
GRAPH_FILES = (".dot", ".json", *PICTURE_FILES)
SWEEP_FILES = QUERY_FILES = (*ANSWER_FILES, *PICTURE_FILES)

LARGEST_UNTRUSTED_INPUT = 2**20 + 1
"""Bytes that are read from a stranger on standard input: enough to see that they are too many."""

MOST_DIGITS = 18
"""No number of blocks has more digits."""


@dataclass(frozen=True)
class Options:
    """What was typed about a model, its evidence and the method; each command has some of these."""

    model: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    include_anywhere: bool = False
    untrusted: bool = False
    queries: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    via: Any = VIA
    effort: Any = "normal"
    exact: bool | None = None
    blocks: str | int | dict[str, int] | None = None
    regions: Any = None
    sum_over: tuple[str, ...] = ()
    bounds: bool = False
    solver: str = "auto"
    damping: float | None = None
    adaptive: bool = False
    iterations: int | None = None
    tol: float | None = None
    seed: int | None = None
    table_cap: int = TABLE_CAP


def parse_sizes(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    """Domain sizes from `SORT=SIZE` texts.

    >>> parse_sizes(None, None, ("person=1e6", "movie=20"))
    {'person': 1000000, 'movie': 20}
    """
    return _one_each(values, "SORT=SIZE, such as person=1000", size_range)


def parse_blocks(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> str | int | dict[str, int] | None:
    """The most blocks of objects: `auto`, a number, or one number for each sort.

    >>> parse_blocks(None, None, "3"), parse_blocks(None, None, "person=3,movie=2")
    (3, {'person': 3, 'movie': 2})
    """
    if text is None or text == "auto":
        return text
    if "=" in text:
        wanted = "SORT=NUMBER, such as person=3"
        named = split_assignments(tuple(text.split(",")), wanted)
        return {sort: _whole_number(f"{sort}={number}", number) for sort, number in named.items()}
    return _whole_number(text, text)


def _whole_number(shown: str, text: str) -> int:
    digits = text.strip()
    if not digits.isdecimal() or len(digits) > MOST_DIGITS or int(digits) < 1:
        raise click.BadParameter(f"{shown}: give a whole number from 1, person=3,movie=2, or auto")
    return int(text)


def check_block_sorts(blocks: str | int | dict[str, int] | None, model: liftgbp.Model) -> None:
    """Refuse blocks of sorts that a model does not have."""
    for sort, number in blocks.items() if isinstance(blocks, dict) else ():
        if sort not in model.sorts:
            raise click.UsageError(
                f"--blocks {sort}={number}: the model has no sort {sort}; it has "
                f"{', '.join(model.sorts)}"
            )


def method(options: Options) -> dict[str, Any]:
    """The arguments that say how to find answers."""
    found = {
        "effort": options.effort,
        "exact": options.exact,
        "regions": options.regions,
        "solver": _solver(options),
    }
    if is_network(options.model):
        return found
    sums = sums_asked_for(options.sum_over)
    return {**found, "sum_over": sums, "blocks": options.blocks, "table_cap": options.table_cap}


def write_blocks_plot(answers: liftgbp.Answers, path: str) -> None:
    """Draw the blocks with the largest share, if there are any."""
    if answers.blocks:
        answers.blocks[0].write_picture(path)
    else:
        click.echo(f"no blocks were found, so {visible(path)} is not written", err=True)


def sums_asked_for(given: tuple[str, ...]) -> tuple[str, ...] | None:
    """The predicates to sum over; `None` if nothing was said, none if `none` was.

    >>> sums_asked_for(()), sums_asked_for(("none",)), sums_asked_for(("smokes",))
    (None, (), ('smokes',))
    """
    if not given:
        return None
    if "none" in given and len(given) > 1:
        raise click.BadParameter("--sum-over none stands alone")
    return () if given == ("none",) else given


def parse_weights(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, float]:
    """Named weights from `NAME=VALUE` texts.

    >>> parse_weights(None, None, ("alpha=0.5", "$beta=-1"))
    {'alpha': 0.5, 'beta': -1.0}
    """
    return _one_each(values, "NAME=VALUE, such as alpha=0.5", weight_range)


def _one_each(
    values: tuple[str, ...], form: str, spread: Callable[[str, str, int], Sequence[Number]]
) -> dict[str, Number]:
    """The one number that each name has."""
    found: dict[str, Number] = {}
    for name, text in split_assignments(values, form).items():
        listed = spread(name, text, 1)
        if len(listed) != 1 or ".." in text:
            raise click.BadParameter(
                f"{name}={text}: give one number; ranges are for liftgbp sweep"
            )
        found[name] = listed[0]
    return found


def split_assignments(values: tuple[str, ...], form: str) -> dict[str, str]:
    """Texts such as `person=10` as a mapping; names may carry a dollar sign."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, text = (part.strip() for part in value.partition("="))
        name = name.removeprefix("$")
        if not equals or not name or not text:
            raise click.BadParameter(f"{value!r} is not of the form {form}")
        if name in found:
            raise click.BadParameter(f"{name} is given twice")
        found[name] = text
    return found


def output_file(path: str | None, extensions: tuple[str, ...]) -> None:
    """Refuse a file that could not be written, before the work that fills it."""
    if path is None or (path == "-" and extensions not in (PICTURE_FILES, GRAPH_FILES)):
        return
    from liftgbp.support.files import check_writable, need_module

    check_writable(Path(path), extensions)
    # Graphs are written to .svg without a library.
    drawn = (".pdf", ".png") if extensions == GRAPH_FILES else PICTURE_FILES
    if Path(path).suffix in drawn:
        need_module("matplotlib", "plot", f"writing {Path(path).suffix}")


def check_apart(outputs: Sequence[str | None], model: str, sources: Sequence[str]) -> None:
    """Refuse outputs that would replace what is read, or each other."""
    written = [output for output in outputs if output not in (None, "", "-")]
    for output in written:
        for source in (model, *sources):
            if any(_is_same(output, name) for name in _files_named(source)):
                raise liftgbp.InputError(
                    f"cannot write {output}: this command reads it ({source}); choose another "
                    "output"
                )
    for one, other in combinations(written, 2):
        if Path(one).resolve() == Path(other).resolve() or _is_same(one, other):
            raise liftgbp.InputError(
                f"cannot write {other}: two outputs name it; give each its own"
            )


def _files_named(source: str) -> Iterator[str]:
    """All names of files that a model or evidence may mean, whatever columns or table follow.

    >>> list(_files_named("friends=data.duckdb:people[from]"))[3:]
    ['data.duckdb:people[from]', 'data.duckdb', 'data.duckdb:people']
    """
    for text in (source, source.partition("=")[2].strip()):
        whole = text.removeprefix("glob:")
        ends = (place for place, letter in enumerate(whole) if letter in ":[")
        for name in (whole, *(whole[:end].rstrip() for end in ends)):
            yield from (name,) if whole == text else glob(name, recursive=True)  # noqa: PTH207


def _is_same(output: str, name: str) -> bool:
    try:
        return os.path.samefile(output, name)  # noqa: PTH121
    except (OSError, ValueError):  # one of them is no file
        return False


def names_beside(network: str) -> str:
    """The file that `export` writes beside a network."""
    path = Path(network.removesuffix(".gz"))
    return str(path.with_suffix(".atoms.csv")) if path.name else ""


def check_outputs(as_json: bool, output: str | None, *, observed: bool, atoms: bool) -> None:
    """Refuse options for the output that do not go together."""
    if observed and not atoms:
        raise click.UsageError("--observed only has an effect with --all and --objects")
    if as_json and output == "-":
        raise click.UsageError("--json and -o - both write to standard output")


def read_model_and_evidence(
    options: Options, *, fit: bool = True
) -> tuple[liftgbp.Model, liftgbp.Evidence | None]:
    """The model in a file or on standard input, and the evidence that options state.

    What queries are about stays open where all other predicates are closed. Weights are fitted to
    what the model demands, if they shall be.
    """
    path, untrusted = options.model, options.untrusted
    if is_network(path):
        raise click.UsageError(
            f"{path} is a ground network, not a model; only liftgbp query, check and sample read "
            "networks"
        )
    if untrusted and options.include_anywhere:
        raise click.UsageError("--untrusted models cannot include files; drop --include-anywhere")
    access: dict[str, Any] = {"include_anywhere": options.include_anywhere, "untrusted": untrusted}
    if path == "-":
        most = LARGEST_UNTRUSTED_INPUT if untrusted else -1
        model = liftgbp.parse(_standard_input(most), name="<stdin>", **access)
    else:
        model = liftgbp.load(path, **access)
    model = model.with_weights(options.weights)
    evidence = None
    if options.evidence or options.closed or options.known:
        evidence = liftgbp.load_evidence(
            model,
            *options.evidence,
            closed=options.closed,
            known=options.known,
            queries=options.queries,
            untrusted=untrusted,
        )
    if fit and model.demands:
        # Objects that evidence names count for the probabilities that the model demands.
        sizes = with_objects(model, evidence).domain_sizes(options.sizes)
        model = liftgbp.fit_weights(model, sizes)
    return model, evidence


def with_objects(model: liftgbp.Model, evidence: liftgbp.Evidence | None) -> liftgbp.Model:
    """The model with the objects that evidence names."""
    return model if evidence is None else evidence.enlarge(model)


def _solver(options: Options) -> liftgbp.Auto | liftgbp.Descent | liftgbp.Flooding:
    """The solver that options describe.

    Options that nobody states are left to the defaults of the solver; options that the solver
    does not have are refused.
    """
    names = ("damping", "iterations", "tol", "seed")
    values = {name: getattr(options, name) for name in names}
    values["adaptive"] = options.adaptive or None
    stated = {name: value for name, value in values.items() if value is not None}
    flooding = {k: v for k, v in stated.items() if k != "seed"}
    descent = {k: v for k, v in stated.items() if k not in {"damping", "adaptive"}}
    if options.solver == "auto":
        return liftgbp.Auto(
            liftgbp.Flooding(**{**flooding, "adaptive": True}), liftgbp.Descent(**descent)
        )
    taken = flooding if options.solver == "flooding" else descent
    for key in stated.keys() - taken.keys():
        raise click.UsageError(f"--{key} does not apply to --solver {options.solver}")
    return liftgbp.Flooding(**taken) if options.solver == "flooding" else liftgbp.Descent(**taken)


def refuse_without_engine(*, compress: bool, memory: float | None) -> None:
    """Raise where options of engines are given, and no engine is."""
    if compress or memory is not None:
        given = "--compress" if compress else "--engine-memory"
        raise click.UsageError(f"{given} is about runs on an engine; add --engine duckdb")


def is_network(path: str) -> bool:
    """Whether a file holds a Markov random field of other tools."""
    return path.lower().removesuffix(".gz").endswith((".uai", ".fg"))


def _standard_input(most: int) -> str:
    try:
        # Bytes, since the locale may let undecodable ones pass.
        return sys.stdin.buffer.read(most).decode("utf-8")
    except UnicodeDecodeError:
        raise liftgbp.InputError("cannot read <stdin>: it is not UTF-8 text") from None
    except AttributeError:
        raise liftgbp.InputError("cannot read <stdin>: it is closed") from None


def read_question(options: Options, *, atoms: bool = False) -> dict[str, Any]:
    """What is asked about: a model with sizes and evidence, or a network.

    With `atoms`, queries must be about single atoms.
    """
    if is_network(options.model):
        _check_for_network(options)
        network = liftgbp.load_network(options.model, untrusted=options.untrusted)
        network.check_queries(options.queries, atoms=atoms)
        return {"model": network, "evidence": next(iter(options.evidence), None)}
    model, evidence = read_model_and_evidence(options)
    check_block_sorts(options.blocks, model)
    with_objects(model, evidence).check_queries(options.queries, atoms=atoms)
    return {"model": model, "sizes": options.sizes, "evidence": evidence}


def _check_for_network(options: Options) -> None:
    """Refuse options that make no sense for a Markov random field."""
    about_models = (options.sizes, options.weights, options.closed, options.known)
    if any(about_models) or options.sum_over or options.bounds or options.blocks is not None:
        raise click.UsageError(
            "a .uai or .fg file has neither sorts nor predicates: -n, -w, --closed, --known, "
            "--blocks, --bounds and --sum-over do not apply"
        )
    if options.via != VIA or options.table_cap != TABLE_CAP:
        raise click.UsageError(
            "a .uai or .fg file is ground already and has its own tables: --via and --table-cap do "
            "not apply"
        )
    if options.include_anywhere:
        raise click.UsageError("a .uai or .fg file includes no others: drop --include-anywhere")
    if len(options.evidence) > 1:
        raise click.UsageError("give one .uai.evid file with -e")
