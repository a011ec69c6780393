"""Sweeps that end in a file: a table or a plot."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from liftgbp.model.model import Model
from liftgbp.model.writer import model_text
from liftgbp.pictures.charts import check_figure, save_figure
from liftgbp.support.errors import checked_path
from liftgbp.support.files import check_apart, check_writable, locked, whole_file, write_table
from liftgbp.support.limits import Limits, limited
from liftgbp.support.progress import Progress, silent
from liftgbp.sweeps.sweep_curves import BranchValue, sweep_figure, swept_curves
from liftgbp.sweeps.sweep_journal import Journal
from liftgbp.sweeps.sweep_rows import ANSWER_TYPES, Record
from liftgbp.sweeps.sweeping import SweepSettings, solved_batches, sweep

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
    4 person,query,atom,where,value,probability,log_z,standing,trusted,status,minima,reason
    """
    path = checked_path("output", output)
    check_writable(path, (*TABLES, *PICTURES))
    if path.suffix in PICTURES:
        check_figure(path)
    settings = sweep(
        model, sizes, weights=weights, jobs=jobs, progress=progress, **options
    ).settings
    check_apart(path, (*settings.model.files, *settings.evidence.files))
    with locked(path), closing(Journal(path, _fingerprint(settings))) as journal:
        # Points are solved beside the same others as without an interrupt.
        left = [batch for batch in settings.batches() if not journal.points.keys() >= {*batch}]
        for _, rows in solved_batches(settings, left, progress, jobs):
            journal.save(rows)
        finished = [pair for point in settings.points for pair in journal.points[point]]
        records = [record for record, _ in finished]
        _write(records, [branches for _, branches in finished], path)
        journal.finish(settings.points)
    return records


def _fingerprint(settings: SweepSettings) -> str:
    """What tells apart sweeps whose points must not be mixed."""
    mark = hashlib.sha256(model_text(settings.model).encode())
    known = settings.evidence
    mark.update(repr((sorted(known.closed), known.known, known.names)).encode())
    for name, relation in sorted(known.hard.items()):
        mark.update(name.encode() + relation.args.tobytes() + relation.values.tobytes())
    for name, soft in sorted(known.soft.items()):
        mark.update(name.encode() + soft.args.tobytes() + soft.log_potentials.tobytes())
    options = (settings.queries, settings.effort, settings.request, settings.solver)
    mark.update(repr((options, settings.table_cap, settings.batch)).encode())
    return mark.hexdigest()


def _write(
    records: Sequence[Record], branches: Sequence[Sequence[BranchValue]], path: Path
) -> None:
    with whole_file(path) as unfinished:
        if path.suffix in TABLES:
            TABLES[path.suffix](records, unfinished)
        else:
            shown = swept_curves(records, branches, ANSWER_TYPES)
            save_figure(lambda: sweep_figure(shown), unfinished)


def _write_table(records: Sequence[Record], path: Path) -> None:
    """Write a table, in which sizes beyond 64 bits are floating-point numbers."""

    def column_type(name: str) -> type:
        if name in ANSWER_TYPES or name.startswith("$"):
            return ANSWER_TYPES.get(name, float)
        largest = max(int(str(record[name])) for record in records)
        return int if largest <= LARGEST_BIGINT else float

    schema = {name: column_type(name) for name in (records[0] if records else ())}
    write_table(path, schema, (list(record.values()) for record in records))


def _write_json(records: Sequence[Record], path: Path) -> None:
    path.write_text(json.dumps(list(records), indent=1) + "\n", encoding="utf-8")


TABLES: dict[str, Callable[[Sequence[Record], Path], None]] = {
    ".csv": _write_table,
    ".json": _write_json,
    ".parquet": _write_table,
}
PICTURES = (".pdf", ".png", ".svg")
