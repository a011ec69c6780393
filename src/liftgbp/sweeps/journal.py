"""What a running sweep has finished, in a file beside the output: interrupts lose nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from liftgbp.errors import InputError
from liftgbp.model.model import Model
from liftgbp.model.writer import model_text
from liftgbp.sweeps.run import SweepPoint, SweepRow

Record = dict[str, object]


def fingerprint(model: Model, **options: object) -> str:
    """What tells apart sweeps whose points must not be mixed."""
    content = model_text(model) + json.dumps(options, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


class Journal:
    """An append-only file of finished points.

    A line that an interrupt cut short is left out, and its point is solved again.
    """

    def __init__(self, output: Path, mark: str) -> None:
        self.path = output.with_name(output.name + ".partial")
        self._finished: dict[SweepPoint, list[Record]] = {}
        try:
            known = self.path.exists()
            if known:
                self._read(mark)
            self._file = self.path.open("a", encoding="utf-8")
            if not known:
                self._write({"sweep": mark})
        except OSError as error:
            raise InputError(f"cannot write {output}: {error.strerror}") from None

    def _read(self, mark: str) -> None:
        text = self.path.read_text(encoding="utf-8")
        complete = text[: text.rfind("\n") + 1]
        lines = [json.loads(line) for line in complete.splitlines()]
        if not lines or lines[0].get("sweep") != mark:
            raise InputError(
                f"{self.path} belongs to an interrupted sweep of another model or with other "
                "options; finish that one, remove the file, or choose another output"
            )
        if complete != text:
            self.path.write_text(complete, encoding="utf-8")
        for line in lines[1:]:
            point = SweepPoint(
                tuple((name, size) for name, size in line["sizes"]),
                tuple((name, weight) for name, weight in line["weights"]),
            )
            self._finished[point] = line["records"]

    @property
    def points(self) -> frozenset[SweepPoint]:
        """The points that are finished."""
        return frozenset(self._finished)

    def save(self, rows: Sequence[SweepRow]) -> None:
        """Add the rows of finished points."""
        by_point: dict[SweepPoint, list[Record]] = {}
        for row in rows:
            by_point.setdefault(row.point, []).extend(row.records())
        for point, records in by_point.items():
            line: Record = {"sizes": point.sizes, "weights": point.weights, "records": records}
            self._write(line)
            self._finished[point] = records

    def _write(self, line: Record) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def records(self, points: Sequence[SweepPoint]) -> list[Record]:
        """The records of points in their order."""
        return [record for point in points for record in self._finished[point]]

    def remove(self) -> None:
        """Delete the file: the output is written."""
        self._file.close()
        self.path.unlink()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        if not self._finished:
            # Nothing is lost, and the file would be in the way of a sweep with other options.
            self.path.unlink(missing_ok=True)
