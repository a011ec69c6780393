"""The points of a sweep that are finished, in a file, so that interrupts lose nothing."""

from __future__ import annotations

import contextlib
import itertools
import json
import warnings
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from liftgbp.support.errors import InputError, counted
from liftgbp.support.files import whole_file
from liftgbp.sweeps.sweep_curves import BranchValue
from liftgbp.sweeps.sweep_rows import ANSWER_TYPES, Record, SweepPoint, SweepRow

Finished: TypeAlias = Sequence[tuple[Record, Sequence[BranchValue]]]
"""The records of a point, each with its probabilities at all stationary points."""


class DamagedJournal(UserWarning):
    """The journal of an interrupted sweep is damaged, and was put aside."""


class KeptJournal(UserWarning):
    """A journal holds points of another interrupted sweep, and is kept for that one."""


class Journal:
    """A file with a line of JSON for each finished point; the first line names the sweep.

    A line that an interrupt cut short is left out, and its batch is solved again. A file that is
    damaged in another way is kept under another name.
    """

    def __init__(self, output: Path, mark: str) -> None:
        self.path = output.with_name(output.name + ".partial")
        self.points: dict[SweepPoint, Finished] = {}
        self._output = output
        self._header = json.dumps({"sweep": mark}) + "\n"
        with self._reported():
            written = self._read(self._header.encode()) if self.path.exists() else 0
            self._file = self.path.open("r+b" if written else "wb")
            # What an interrupt left of a line is overwritten.
            self._file.truncate(written)
            self._file.seek(written)
            if not written:
                self._append(self._header)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Say which output cannot be written."""
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write {self._output}: {error.strerror}") from None

    def _read(self, header: bytes) -> int:
        """Read the points; returns the length of all complete lines."""
        raw = self.path.read_bytes()
        if header.startswith(raw):
            return 0  # stopped before the first line was complete
        complete = raw[: raw.rfind(b"\n") + 1]
        try:
            first, *lines = complete.splitlines(keepends=True)
            ((key, _),) = json.loads(first.decode()).items()
            points = dict(map(_parsed, lines))
            if key != "sweep":
                raise ValueError(key)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._put_aside()
            return 0
        if not complete.startswith(header):
            raise InputError(
                f"{self.path} belongs to an interrupted sweep of another model or with other "
                "options; finish that one, remove the file, or choose another output"
            )
        self.points = points
        return len(complete)

    def _put_aside(self) -> None:
        names = (f"{self.path.name}.damaged-{k}" for k in itertools.count(1))
        aside = next(path for name in names if not (path := self.path.with_name(name)).exists())
        self.path.rename(aside)
        warnings.warn(
            f"{self.path} is damaged; it is kept as {aside.name}, and the sweep starts over",
            DamagedJournal,
            stacklevel=2,
        )

    def save(self, rows: Sequence[SweepRow]) -> None:
        """Add the rows of finished points, but for those that are there."""
        for point, some in itertools.groupby(rows, key=lambda row: row.point):
            if point not in self.points:
                finished = [
                    pair
                    for row in some
                    for pair in zip(row.records(), row.branch_values(), strict=True)
                ]
                with self._reported():
                    self._append(_line(point, finished))
                self.points[point] = finished

    def _append(self, line: str) -> None:
        self._file.write(line.encode())
        self._file.flush()

    def finish(self, points: Collection[SweepPoint]) -> None:
        """Delete these points, whose output is written."""
        for point in set(points):
            del self.points[point]
        if not self.points:
            return
        with whole_file(self.path) as unfinished:
            lines = itertools.starmap(_line, self.points.items())
            unfinished.write_text(self._header + "".join(lines), encoding="utf-8")
        warnings.warn(
            f"{self.path} is kept: it holds {counted(len(self.points), 'finished point')} of "
            "another interrupted sweep to this output; finish that one, or remove the file",
            KeptJournal,
            stacklevel=2,
        )

    def close(self) -> None:
        """Close the file, and remove it if it holds no points: it would be in the way of others."""
        # What could not be written is written again here; that it failed has been said.
        with contextlib.suppress(OSError):
            self._file.close()
        if not self.points:
            self.path.unlink(missing_ok=True)


def _line(point: SweepPoint, finished: Finished) -> str:
    line = {"sizes": point.sizes, "weights": point.weights, "finished": finished}
    return json.dumps(line) + "\n"


def _parsed(raw: bytes) -> tuple[SweepPoint, Finished]:
    """A point and its records, from a complete line."""
    line = json.loads(raw.decode())
    sizes, weights = (
        tuple((name, value) for name, value in line[key]) for key in ("sizes", "weights")
    )
    point = SweepPoint(sizes, weights)
    columns = {*point.as_dict(), *ANSWER_TYPES}
    finished = [
        (record, [BranchValue(float(p), bool(stable), bool(shares)) for p, stable, shares in some])
        for record, some in line["finished"]
    ]
    if any(set(record) != columns for record, _ in finished):
        raise ValueError(raw)
    return point, finished
