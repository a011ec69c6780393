"""A run on an engine: from tables of facts to tables of marginals."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from liftgbp.engines.colour_tables import compressed
from liftgbp.engines.engine import Engine, Table
from liftgbp.engines.engine_choice import start
from liftgbp.engines.engine_sources import KnownFacts, read_sources
from liftgbp.engines.engine_tasks import EngineTask, checked_task
from liftgbp.engines.factor_tables import Kind, column, factor_tables
from liftgbp.engines.message_tables import Messages, RegionKinds, build_regions, colour_table
from liftgbp.errors import (
    InputError,
    InternalError,
    ModelError,
    checked_number,
    checked_path,
    counted,
    wrong_type,
)
from liftgbp.files import held, whole_file
from liftgbp.limits import Limits, limited
from liftgbp.model.model import Model
from liftgbp.pictures.cards import Shown, count_text, table
from liftgbp.pictures.markup import Content
from liftgbp.progress import Progress, silent

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
    with held(target), _work_folder(work) as journal:
        run = _Run(task, work, journal, memory, progress)
        with contextlib.closing(run), run.interruptible():
            run.prepare()
            residual = run.iterate(most, tol)
            result = EngineRun(
                output=str(target),
                engine=engine,
                family=regions,
                converged=residual <= tol,
                residual=residual,
                iterations=run.iteration,
                rows=run.rows,
            )
            run.write(target, result)
    shutil.rmtree(work, ignore_errors=True)
    return result


# --- what is kept between runs


class _Journal:
    """What has been done, in a file that is replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """What an earlier run has written; nothing if there is none, or if it is damaged."""
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
            if isinstance(found, dict):
                return found
        return {}

    def write(self, content: Mapping[str, Any]) -> None:
        """Replace what is written."""
        with whole_file(self._path) as unfinished:
            unfinished.write_text(json.dumps(content), encoding="utf-8")


OWN = "liftgbp-work.json"


@contextlib.contextmanager
def _work_folder(folder: Path) -> Iterator[_Journal]:
    """The folder of work, which is ours: a journal says so.

    It stays only with tables that another run can go on with.
    """
    journal = _Journal(folder / OWN)
    if folder.exists() and not journal.read():
        raise InputError(f"{folder} is in the way, and no work of liftgbp; rename it")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror}") from None
    if not journal.read():
        journal.write({"task": ""})
    try:
        yield journal
    finally:
        if "kinds" not in journal.read():
            shutil.rmtree(folder, ignore_errors=True)


class _Run:
    """The tables of a run, iteration by iteration."""

    def __init__(
        self,
        task: EngineTask,
        work: Path,
        journal: _Journal,
        memory: float | None,
        progress: Progress,
    ) -> None:
        self._task = task
        self._work = work
        self._journal = journal
        self._progress = progress
        self._state = journal.read()
        if self._state.get("task") != task.fingerprint:
            for path in work.iterdir():
                if path.name != OWN:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            self._state = {"task": task.fingerprint}
            journal.write(self._state)
        self._engine: Engine = start(task.engine, work, memory)
        self.iteration = int(self._state.get("iteration", 0))
        self.rows: dict[str, int] = dict(self._state.get("rows", {}))
        self._messages: Messages | None = None

    def close(self) -> None:
        """End the engine; the tables stay."""
        self._engine.close()

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Say, after Ctrl-C, that the work is not lost."""
        try:
            yield
        except KeyboardInterrupt:
            if self.iteration:
                done = counted(self.iteration, "iteration")
                text = f"{done} done; the same command goes on from there ({self._work})"
                raise KeyboardInterrupt(text) from None
            raise

    def prepare(self) -> None:
        """Ground the model, or find the tables of an earlier run."""
        kept = self._state.get("kinds")
        if kept is not None:
            self._messages = Messages(self._engine, _kinds_from(kept))
            if set(self._messages.tables(self.iteration)) <= set(self._engine.names()):
                return
            self.iteration = 0
        self._progress("reading tables", 0, 1)
        task, model = self._task, self._task.model
        known = read_sources(self._engine, model, task.sources, task.closed, task.sizes)
        factors = factor_tables(self._engine, model, known, self._progress)
        _check_arguments(model, factors)
        self._progress("building regions", 0, 1)
        kinds = build_regions(self._engine, factors, task.regions)
        self.rows = self._counted(known, kinds)
        if task.compress:
            alike = compressed(self._engine, kinds, self._progress)
            if alike is not None:
                kinds = alike
                self.rows |= self._numbers(kinds, KINDS)
        self._messages = Messages(self._engine, kinds)
        self._engine.keep_only(self._messages.tables(0))
        start = {"iteration": 0, "rate": START[task.regions], "residual": None}
        self._write(kinds=asdict(kinds), rows=self.rows, **start)

    def iterate(self, most: int, tol: float) -> float:
        """Update messages until they agree; returns the last residual."""
        messages = self._passing
        rate = float(self._state["rate"])
        title = KINDS if messages.kinds.compressed else REGIONS
        regions = count_text(sum(n for name, n in self.rows.items() if name.startswith(title)))
        known = self._state["residual"]
        residual = float("inf") if known is None else float(known)
        first = self.iteration
        while self.iteration < most and residual > tol:
            if residual == math.inf and self.iteration > first:
                break  # a message has left the range of numbers
            stage = f"passing messages of {regions} {title}, residual {residual:.1e}"
            self._progress(stage, self.iteration, most)
            last, residual = residual, messages.step(self.iteration, rate)
            rate *= SLOW_DOWN if residual > last else SPEED_UP
            rate = min(max(rate, SLOWEST), FASTEST)
            self.iteration += 1
            self._write(iteration=self.iteration, rate=rate, residual=residual)
            self._engine.keep_only(messages.tables(self.iteration))
        return residual

    def write(self, target: Path, result: EngineRun) -> None:
        """Write the marginals; the folder appears when it is complete."""
        self._progress("writing marginals", 0, 1)
        unfinished = self._work / "marginals"
        shutil.rmtree(unfinished, ignore_errors=True)  # a run that was killed may have left some
        try:
            unfinished.mkdir()
            self._passing.atoms(self.iteration)
            model = self._task.model
            names = list(model.predicates)
            for kind in self._passing.kinds.atoms:
                name = names[kind.predicates[0]]
                beliefs = self._beliefs(kind)
                values = model.predicates[name].values
                keys = [key for key in beliefs.columns if key.startswith("k")]
                columns = {f"argument{k + 1}": beliefs[key] for k, key in enumerate(keys)}
                columns |= {
                    values[state[0]]: beliefs[column("b", state)].exp() for state in kind.states
                }
                self._engine.write(beliefs.select(**columns), unfinished / f"{name}.parquet")
            text = json.dumps(result.as_dict(), indent=2)
            (unfinished / "run.json").write_text(text + "\n", encoding="utf-8")
            unfinished.rename(target)
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror}") from None
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _beliefs(self, kind: Kind) -> Table:
        """The log beliefs of atoms, whether these or their colours sent messages."""
        beliefs = self._engine.table(Messages.atom_beliefs(kind))
        if not self._passing.kinds.compressed:
            return beliefs
        colours = self._engine.table(colour_table(kind))
        numbers = [column("b", state) for state in kind.states]
        right = beliefs.select(*numbers, colour=beliefs.k0_0)
        joined = colours.join(right, [colours.c == right.colour])
        return joined.drop("c", "colour")

    @property
    def _passing(self) -> Messages:
        if self._messages is None:
            raise InternalError("a run passes messages before it is prepared")
        return self._messages

    def _counted(self, known: KnownFacts, kinds: RegionKinds) -> dict[str, int]:
        found = {f"facts {name}": rows for name, rows in known.rows.items() if rows}
        return found | self._numbers(kinds, REGIONS)

    def _numbers(self, kinds: RegionKinds, title: str) -> dict[str, int]:
        """How many rows the tables of regions have."""
        names = list(self._task.model.predicates)
        found = {}
        for kind in (*kinds.atoms, *kinds.pairs, *kinds.triples):
            table = self._engine.table(Messages.region_table(kind, 0))
            about = " ".join(names[k] for k in kind.predicates)
            found[f"{title} {about}"] = int(self._engine.number(table.count()))
        return found

    def _write(self, **more: Any) -> None:
        self._state.update(more)
        self._journal.write(self._state)


def _check_arguments(model: Model, factors: Mapping[Kind, object]) -> None:
    names = list(model.predicates)
    for kind in factors:
        for number, arity in zip(kind.predicates, kind.arities, strict=True):
            if not arity:
                raise ModelError(
                    f"{names[number]} has no arguments; unknown atoms on engines need some",
                    model.predicates[names[number]].span,
                )


def _kinds_from(kept: Mapping[str, Any]) -> RegionKinds:
    def read(some: Iterable[Mapping[str, Any]]) -> tuple[Kind, ...]:
        return tuple(
            Kind(tuple(one["predicates"]), tuple(one["arities"]), tuple(one["shape"]))
            for one in some
        )

    wide = read(kept["pairs"]), read(kept["triples"])
    return RegionKinds(read(kept["atoms"]), *wide, bool(kept["nested"]), bool(kept["compressed"]))
