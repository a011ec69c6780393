"""Sweeps that end in a file: a table or a plot, and a journal so that interrupts lose nothing."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from liftgbp.charts import check_figure, save_figure
from liftgbp.errors import InputError, check_function, checked_path, counted
from liftgbp.evidence import Evidence
from liftgbp.files import (
    Schema,
    check_apart,
    check_writable,
    held,
    whole_file,
    write_table,
)
from liftgbp.limits import Limits, limited
from liftgbp.model.model import Model
from liftgbp.model.writer import model_text
from liftgbp.progress import Progress, silent
from liftgbp.sweeps.sweep_curves import BranchValue, sweep_figure, swept_curves
from liftgbp.sweeps.sweeping import (
    ANSWER_COLUMNS,
    Record,
    SweepPoint,
    SweepRow,
    SweepSettings,
    checked_settings,
    solved_batches,
    sweep_points,
)
from liftgbp.workers import checked_jobs

ANSWER_TYPES: Schema = {
    "query": str,
    "atom": str,
    "where": str,
    "value": str,
    "probability": float,
    "log_z": float,
    "trusted": bool,
    "status": str,
    "minima": int,
    "reason": str,
}
"""The types of columns; what else a record has is a size or, with a dollar sign, a weight."""

LARGEST_BIGINT = 2**63 - 1


@limited("starting")
def sweep_to_file(
    model: Model,
    output: str | os.PathLike[str],
    sizes: Mapping[str, int | Sequence[int]],
    *,
    weights: Mapping[str, float | Sequence[float]] | None = None,
    jobs: int = 1,
    limits: Limits | None = None,
    progress: Progress = silent,
    **options: Any,
) -> list[Record]:
    """Sweep and write the table to a file; the options are those of `sweep`.

    Finished points are kept in a file beside the output until that is complete. Called again after
    an interrupt, the sweep continues where it stopped. Points there that are not part of this sweep
    are kept, with a warning. If that file is damaged, it is renamed with a warning, and the sweep
    starts over. While another process sweeps to the same output, this
    raises `BusyError`.

    >>> import pathlib
    >>> import tempfile
    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "sweep.csv")
    ...     rows = liftgbp.sweep_to_file(model, path, {"person": [10, 100]}, queries=["smokes(x)"])
    ...     print(len(rows), path.read_text().splitlines()[0])
    4 person,query,atom,where,value,probability,log_z,trusted,status,minima,reason
    """
    path = checked_path("output", output)
    check_output(path)
    settings = checked_settings(model, **options)
    check_apart(path, (*settings.model.files, *settings.evidence.files))
    points = sweep_points(sizes, weights)
    settings.problem_at(points[0])
    check_function("progress", progress)
    checked_jobs(jobs)
    with held(path), _Journal(path, _fingerprint(settings)) as journal:
        # Points are solved beside the same others as without an interrupt.
        left = [own for own in settings.batches(points) if not journal.points.issuperset(own)]
        for _, rows in solved_batches(settings, left, progress, jobs):
            journal.save(rows)
        records = journal.records(points)
        write_records(records, journal.branches(points), path)
        journal.finish(points)
    return records


# --- the journal


def _fingerprint(settings: SweepSettings) -> str:
    """What tells apart sweeps whose points must not be mixed."""
    mark = hashlib.sha256(model_text(settings.model).encode())
    for part in _evidence_parts(settings.evidence):
        mark.update(part)
    others = (settings.queries, settings.effort, settings.request, settings.solver)
    mark.update(repr((others, settings.table_cap)).encode())
    return mark.hexdigest()


def _evidence_parts(known: Evidence) -> Iterator[bytes]:
    yield repr((sorted(known.closed), known.known, known.names)).encode()
    for name, relation in sorted(known.hard.items()):
        yield from (name.encode(), relation.args.tobytes(), relation.values.tobytes())
    for name, soft in sorted(known.soft.items()):
        yield from (name.encode(), soft.args.tobytes(), soft.log_potentials.tobytes())


class DamagedJournal(UserWarning):
    """The journal of an interrupted sweep is damaged, and was put aside."""


class KeptJournal(UserWarning):
    """A journal holds points of another interrupted sweep, and is kept for that one."""


class _DamagedError(Exception):
    """A journal holds what no sweep writes."""


class _Journal:
    """An append-only file of finished points.

    A line that an interrupt cut short is left out, and its batch is solved again. A file that is
    damaged in another way is kept under another name.
    """

    def __init__(self, output: Path, mark: str) -> None:
        self.path = output.with_name(output.name + ".partial")
        self._output = output
        self._finished: dict[SweepPoint, list[Record]] = {}
        self._branches: dict[SweepPoint, list[list[BranchValue]]] = {}
        self._header = header = json.dumps({"sweep": mark}) + "\n"
        with self._reported():
            written = self._read(header.encode()) if self.path.exists() else b""
            self._file = self.path.open("r+b" if written else "wb")
            # What an interrupt left of a line is overwritten.
            self._file.truncate(len(written))
            self._file.seek(len(written))
            if not written:
                self._append(header)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Say which output cannot be written."""
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write {self._output}: {error.strerror}") from None

    def _read(self, header: bytes) -> bytes:
        """The complete lines of the file, whose points are finished."""
        raw = self.path.read_bytes()
        if header.startswith(raw):
            return b""  # stopped before the first line was complete
        complete = raw[: raw.rfind(b"\n") + 1]
        try:
            first, *lines = map(_line, complete.splitlines(keepends=True))
            mark = first.get("sweep")
            if not isinstance(mark, str) or set(first) != {"sweep"}:
                raise _DamagedError
            finished = dict(map(_finished, lines))
            branches = dict(map(_branches_of, lines))
        except (_DamagedError, ValueError, RecursionError):
            self._keep_aside()
            return b""
        if not complete.startswith(header):
            raise InputError(
                f"{self.path} belongs to an interrupted sweep of another model or with other "
                "options; finish that one, remove the file, or choose another output"
            )
        self._finished, self._branches = finished, branches
        return complete

    def _keep_aside(self) -> None:
        names = (f"{self.path.name}.damaged-{k}" for k in itertools.count(1))
        aside = next(path for name in names if not (path := self.path.with_name(name)).exists())
        self.path.rename(aside)
        warnings.warn(
            f"{self.path} is damaged; it is kept as {aside.name}, and the sweep starts over",
            DamagedJournal,
            stacklevel=2,
        )

    @property
    def points(self) -> frozenset[SweepPoint]:
        """The points that are finished."""
        return frozenset(self._finished)

    def save(self, rows: Sequence[SweepRow]) -> None:
        """Add the rows of finished points, but for those that are there."""
        by_point: dict[SweepPoint, list[Record]] = {}
        branches: dict[SweepPoint, list[list[BranchValue]]] = {}
        for row in rows:
            if row.point in self._finished:
                continue
            by_point.setdefault(row.point, []).extend(row.records())
            branches.setdefault(row.point, []).extend(row.branch_values())
        for point, records in by_point.items():
            with self._reported():
                self._append(_text(point, records, branches[point]))
            self._finished[point], self._branches[point] = records, branches[point]

    def _append(self, line: str) -> None:
        self._file.write(line.encode())
        self._file.flush()

    def records(self, points: Sequence[SweepPoint]) -> list[Record]:
        """The records of points in their order."""
        return [record for point in points for record in self._finished[point]]

    def branches(self, points: Sequence[SweepPoint]) -> list[list[BranchValue]]:
        """For each of these records, its probability at all stationary points."""
        return [own for point in points for own in self._branches[point]]

    def finish(self, points: Sequence[SweepPoint]) -> None:
        """Delete these points, whose output is written, and the file if it holds no others."""
        self._file.close()
        for point in set(points):
            del self._finished[point]
        if not self._finished:
            self.path.unlink()
            return
        with whole_file(self.path) as unfinished:
            lines = [_text(p, own, self._branches[p]) for p, own in self._finished.items()]
            unfinished.write_text(self._header + "".join(lines), encoding="utf-8")
        warnings.warn(
            f"{self.path} is kept: it holds {counted(len(self._finished), 'finished point')} of "
            "another interrupted sweep to this output; finish that one, or remove the file",
            KeptJournal,
            stacklevel=2,
        )

    def __enter__(self) -> _Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What could not be written is written again here; that it failed has been said.
        with contextlib.suppress(OSError):
            self._file.close()
        if not self._finished:
            # Nothing is lost, and the file would be in the way of a sweep with other options.
            self.path.unlink(missing_ok=True)


def _text(
    point: SweepPoint, records: Sequence[Record], branches: Sequence[Sequence[BranchValue]]
) -> str:
    """The line of a point."""
    line: Record = {"sizes": point.sizes, "weights": point.weights, "records": records}
    if any(branches):
        line["branches"] = branches
    return json.dumps(line) + "\n"


def _line(raw: bytes) -> dict[str, Any]:
    """A complete line of a journal."""
    found = json.loads(raw.decode("utf-8"))
    if not isinstance(found, dict):
        raise _DamagedError
    return found


def _finished(line: Mapping[str, Any]) -> tuple[SweepPoint, list[Record]]:
    """A point, and the records about it."""
    try:
        sizes, weights = (
            tuple((name, value) for name, value in line[key]) for key in ("sizes", "weights")
        )
        records = line["records"]
        point = SweepPoint(sizes, weights)
        named = {*point.as_dict(), *ANSWER_TYPES}
        if all(set(record) == named for record in records):
            return point, list(records)
    except (KeyError, TypeError, AttributeError):
        pass
    raise _DamagedError


def _branches_of(line: Mapping[str, Any]) -> tuple[SweepPoint, list[list[BranchValue]]]:
    """A point, and what its records are at all stationary points."""
    point, records = _finished(line)
    try:
        given = line.get("branches", [[] for _ in records])
        branches = [
            [BranchValue(float(p), bool(stable), bool(shares)) for p, stable, shares in own]
            for own in given
        ]
        if len(branches) == len(records):
            return point, branches
    except (TypeError, ValueError):
        pass
    raise _DamagedError


# --- tables


def check_output(path: Path) -> None:
    """Refuse what could not be written, before anything is computed."""
    check_writable(path, (*TABLES, *PICTURES))
    if path.suffix in PICTURES:
        check_figure(path)


def write_records(
    records: Sequence[Record], branches: Sequence[Sequence[BranchValue]], path: Path
) -> None:
    """Write a table or a plot; a file that was there before stays whole until it is complete."""
    with whole_file(path) as unfinished:
        if path.suffix in TABLES:
            TABLES[path.suffix](records, unfinished)
        else:
            shown = swept_curves(records, branches, ANSWER_COLUMNS)
            save_figure(lambda: sweep_figure(shown), unfinished)


def _write_table(records: Sequence[Record], path: Path) -> None:
    write_table(path, record_types(records), (list(record.values()) for record in records))


def record_types(records: Sequence[Record]) -> Schema:
    """The columns of a sweep with their types; sizes beyond 64 bits are floating-point numbers."""

    def column_type(name: str) -> type:
        if name in ANSWER_TYPES or name.startswith("$"):
            return ANSWER_TYPES.get(name, float)
        largest = max(int(str(record[name])) for record in records)
        return int if largest <= LARGEST_BIGINT else float

    return {name: column_type(name) for name in (records[0] if records else ())}


def _write_json(records: Sequence[Record], path: Path) -> None:
    path.write_text(json.dumps(list(records), indent=1) + "\n", encoding="utf-8")


TABLES: dict[str, Callable[[Sequence[Record], Path], None]] = {
    ".csv": _write_table,
    ".json": _write_json,
    ".parquet": _write_table,
}
PICTURES = (".pdf", ".png", ".svg")
