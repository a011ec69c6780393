"""A run on an engine: from tables of facts to tables of marginals."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from liftgbp.engines.colour_tables import compressed
from liftgbp.engines.engine import Engine, Table, joined
from liftgbp.engines.engine_sources import read_sources
from liftgbp.engines.engine_tasks import EngineTask, checked_task, start
from liftgbp.engines.factor_tables import Kind, factor_tables
from liftgbp.engines.message_tables import Messages, RegionKinds, build_regions, colour_table
from liftgbp.model.model import Model
from liftgbp.pictures.cards import Shown, count_text, table
from liftgbp.pictures.markup import Content
from liftgbp.support.errors import (
    InputError,
    ModelError,
    checked_number,
    checked_path,
    counted,
    wrong_type,
)
from liftgbp.support.files import locked, whole_file
from liftgbp.support.limits import Limits, limited
from liftgbp.support.progress import Progress, silent

SLOW_DOWN, SPEED_UP, FASTEST, SLOWEST = 0.7, 1.1, 0.9, 0.01
"""How the rate of updates follows the residual: it falls when messages begin to swing."""

START = {"bethe": 0.9, "intersections": 0.5}
"""The first rate. Where pairs of pairs share atoms, full updates overshoot at once."""

REGIONS, KINDS = "regions", "kinds"
"""How the names of tables of regions, and of regions that behave alike, begin in a report."""

NOT_JUDGED = "an engine passes messages; it does not look for other minima of the free energy"


@dataclass(frozen=True, slots=True, repr=False)
class EngineRun(Shown):
    """What a run on an engine has done; see `run_on_engine`.

    >>> import liftgbp
    >>> rows = {"facts friends": 2}
    >>> run = liftgbp.EngineRun("marginals", "duckdb", "bethe", True, 1e-10, 12, rows)
    >>> print(run.reason)
    an engine passes messages; it does not look for other minima of the free energy

    output      the folder with a Parquet table of marginals for each predicate
    engine      where it ran
    family      the family of regions
    converged   whether messages have stopped changing
    residual    the largest change of a log message in the last iteration
    iterations  how often all messages were updated, over all runs that worked on it
    rows        how many rows the tables of facts, factors and regions have
    """

    output: str
    engine: str
    family: str
    converged: bool
    residual: float
    iterations: int
    rows: dict[str, int]

    @property
    def reason(self) -> str:
        """What is not known about the marginals."""
        if self.converged:
            return NOT_JUDGED
        return f"messages still change after {counted(self.iterations, 'iteration')}"

    def _headline(self) -> str:
        state = "converged" if self.converged else "NOT CONVERGED"
        updates = counted(self.iterations, "iteration")
        return f"{state} after {updates} on {self.engine}: {self.output}"

    def _body(self) -> Iterable[Content]:
        rows = [(name, count_text(number)) for name, number in self.rows.items()]
        yield table(("table", "rows"), rows, numbers=[1])

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON, which has no infinite numbers."""
        residual = self.residual if math.isfinite(self.residual) else None
        return {**asdict(self), "residual": residual, "judged": False, "reason": self.reason}


@limited("preparing")
def run_on_engine(
    model: Model,
    evidence: str | Iterable[str],
    output: str | os.PathLike[str],
    *,
    engine: str = "duckdb",
    closed: str | Iterable[str] = (),
    sizes: Mapping[str, int] | None = None,
    regions: str = "bethe",
    iterations: int = 500,
    tol: float = 1e-9,
    memory: float | None = None,
    compress: bool = False,
    progress: Progress = silent,
    limits: Limits | None = None,
) -> EngineRun:
    """Compute all marginals on a database engine, and write them as Parquet.

    Evidence are tables, such as `friends=friends.parquet`, `friends=data.duckdb:friends` or, on
    Spark, `friends=spark://friends`. They stay where they are: grounding, regions and messages are
    joins on the engine. The objects of a sort are those that tables name; `person=people.parquet`
    lists more. Regions are `bethe` or `intersections`, over factors of at most three atoms.

    `output` is a folder that must not exist. Work is kept beside it, in a folder that ends with
    `.work`, so that a run which was interrupted goes on where it was. `memory` are GB. `compress`
    looks for atoms that behave alike first, and passes messages between kinds of atoms.

    >>> import pathlib, tempfile
    >>> import liftgbp
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "friends.csv").write_text("who,whom\\nAnna,Bob\\n")
    >>> model = liftgbp.load("example:smoking-network")
    >>> friends = f"friends={folder / 'friends.csv'}"
    >>> run = liftgbp.run_on_engine(model, friends, folder / "marginals", closed="friends")
    >>> run.converged, sorted(path.name for path in (folder / "marginals").iterdir())
    (True, ['cancer.parquet', 'run.json', 'smokes.parquet'])
    """
    task = checked_task(model, evidence, engine, closed, sizes, regions, memory, progress, compress)
    target = checked_path("output", output)
    most = checked_number("iterations", iterations, least=1)
    if not isinstance(tol, Real) or not tol > 0:
        raise wrong_type("tol", "a positive number", tol)
    tol = float(tol)
    try:
        if target.exists():
            raise InputError(f"{target} exists already; choose another output, or remove it")
        if not target.absolute().parent.is_dir():
            raise InputError(f"cannot write {target}: there is no directory {target.parent}")
    except OSError as error:  # such as a name that is too long
        raise InputError(f"cannot write {target}: {error.strerror}") from None
    work = target.with_name(f"{target.name}.work")
    with (
        locked(target),
        _work_folder(work, task.fingerprint) as journal,
        contextlib.closing(start(engine, work, memory)) as database,
        _interruptible(journal, work),
    ):
        messages = _prepared(task, database, journal, progress)
        residual = _iterated(messages, database, journal, most, tol, progress)
        result = EngineRun(
            output=str(target),
            engine=engine,
            family=regions,
            converged=residual <= tol,
            residual=residual,
            iterations=journal.iteration,
            rows=journal.content["rows"],
        )
        progress("writing marginals", 0, 1)
        _write(messages, database, model, result, work / "marginals")
    shutil.rmtree(work, ignore_errors=True)
    return result


# --- what is kept between runs


class _Journal:
    """What has been done, in a file that is replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.content: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            content = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(content, dict):
                self.content = content

    @property
    def iteration(self) -> int:
        """How many iterations are complete."""
        return int(self.content.get("iteration", 0))

    def write(self, **more: Any) -> None:
        """Add to what is written."""
        self.content.update(more)
        with whole_file(self._path) as unfinished:
            unfinished.write_text(json.dumps(self.content), encoding="utf-8")


JOURNAL = "liftgbp-work.json"


@contextlib.contextmanager
def _work_folder(folder: Path, task: str) -> Iterator[_Journal]:
    """The folder of work, which is ours: a journal says so, and what it is about.

    It stays only with tables that another run can go on with.
    """
    journal = _Journal(folder / JOURNAL)
    if folder.exists() and not journal.content:
        raise InputError(f"{folder} is in the way, and no work of liftgbp; rename it")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}") from None
    if journal.content.get("task") != task:
        for path in folder.iterdir():
            if path.name != JOURNAL:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        journal.content.clear()
        journal.write(task=task)
    try:
        yield journal
    finally:
        if "kinds" not in journal.content:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _interruptible(journal: _Journal, work: Path) -> Iterator[None]:
    """Say, after Ctrl-C, that the work is not lost."""
    try:
        yield
    except KeyboardInterrupt:
        if journal.iteration:
            done = counted(journal.iteration, "iteration")
            text = f"{done} done; the same command goes on from there ({work})"
            raise KeyboardInterrupt(text) from None
        raise


# --- the stages of a run


def _prepared(task: EngineTask, engine: Engine, journal: _Journal, progress: Progress) -> Messages:
    """Ground the model, or find the tables of an earlier run."""
    if "kinds" in journal.content:
        messages = Messages(engine, _kinds_from(journal.content["kinds"]))
        if set(messages.tables(journal.iteration)) <= set(engine.names()):
            return messages
    progress("reading tables", 0, 1)
    model, names = task.model, list(task.model.predicates)
    known = read_sources(engine, model, task.sources, task.closed, task.sizes)
    factors = factor_tables(engine, model, known, progress)
    _check_arguments(model, factors)
    progress("building regions", 0, 1)
    kinds = build_regions(engine, factors, task.regions)
    rows = {f"facts {name}": number for name, number in known.rows.items() if number}
    rows |= _rows(engine, kinds, REGIONS, names)
    alike = compressed(engine, kinds, progress) if task.compress else None
    if alike is not None:
        kinds = alike
        rows |= _rows(engine, kinds, KINDS, names)
    messages = Messages(engine, kinds)
    engine.keep_only(messages.tables(0))
    journal.write(
        kinds=asdict(kinds), rows=rows, iteration=0, rate=START[task.regions], residual=None
    )
    return messages


def _rows(engine: Engine, kinds: RegionKinds, title: str, names: Sequence[str]) -> dict[str, int]:
    """How many rows the tables of regions have."""
    rows = {}
    for kind in (*kinds.atoms, *kinds.pairs, *kinds.triples):
        table = engine.table(Messages.region_table(kind, 0))
        about = " ".join(names[k] for k in kind.predicates)
        rows[f"{title} {about}"] = int(engine.number(table.count()))
    return rows


def _iterated(
    messages: Messages,
    engine: Engine,
    journal: _Journal,
    most: int,
    tol: float,
    progress: Progress,
) -> float:
    """Update messages until they agree; returns the last residual."""
    title = KINDS if messages.kinds.compressed else REGIONS
    rows: dict[str, int] = journal.content["rows"]
    regions = count_text(sum(n for name, n in rows.items() if name.startswith(title)))
    rate, known = float(journal.content["rate"]), journal.content["residual"]
    residual = math.inf if known is None else float(known)
    first = journal.iteration
    for iteration in range(first, most):
        if residual <= tol or (residual == math.inf and iteration > first):
            break  # a message may have left the range of numbers
        stage = f"passing messages of {regions} {title}, residual {residual:.1e}"
        progress(stage, iteration, most)
        last, residual = residual, messages.step(iteration, rate)
        rate *= SLOW_DOWN if residual > last else SPEED_UP
        rate = min(max(rate, SLOWEST), FASTEST)
        journal.write(iteration=iteration + 1, rate=rate, residual=residual)
        engine.keep_only(messages.tables(iteration + 1))
    return residual


def _write(
    messages: Messages, engine: Engine, model: Model, result: EngineRun, unfinished: Path
) -> None:
    """Write the marginals; the folder appears when it is complete."""
    shutil.rmtree(unfinished, ignore_errors=True)  # a run that was killed may have left some
    names = list(model.predicates)
    try:
        unfinished.mkdir()
        messages.atoms(result.iterations)
        for kind in messages.kinds.atoms:
            name = names[kind.predicates[0]]
            beliefs = _beliefs(messages, engine, kind)
            keys = [key for key in beliefs.columns if key.startswith("k")]
            columns = {f"argument{k + 1}": beliefs[key] for k, key in enumerate(keys)}
            logs = zip(model.predicates[name].values, kind.columns("b"), strict=True)
            columns |= {value: beliefs[log].exp() for value, log in logs}
            engine.write(beliefs.select(**columns), unfinished / f"{name}.parquet")
        text = json.dumps(result.as_dict(), indent=2)
        (unfinished / "run.json").write_text(text + "\n", encoding="utf-8")
        unfinished.rename(result.output)
    except OSError as error:
        raise InputError(f"cannot write {result.output}: {error.strerror}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _beliefs(messages: Messages, engine: Engine, kind: Kind) -> Table:
    """The log beliefs of atoms, whether these or their colours sent messages."""
    beliefs = engine.table(Messages.atom_beliefs(kind))
    if not messages.kinds.compressed:
        return beliefs
    colours = engine.table(colour_table(kind))
    names = {name: name for name in kind.columns("b")}
    return joined(colours, beliefs, ["c"], ["k0_0"], names).drop("c")


def _check_arguments(model: Model, factors: Mapping[Kind, object]) -> None:
    names = list(model.predicates)
    for kind in factors:
        for number, arity in zip(kind.predicates, kind.arities, strict=True):
            if not arity:
                raise ModelError(
                    f"{names[number]} has no arguments; unknown atoms on engines need some",
                    model.predicates[names[number]].span,
                )


def _kinds_from(known: Mapping[str, Any]) -> RegionKinds:
    """The kinds of regions, as a journal has them."""
    kinds = {
        name: tuple(Kind(*map(tuple, one.values())) for one in known[name])
        for name in ("atoms", "pairs", "triples")
    }
    return RegionKinds(**{**known, **kinds})
