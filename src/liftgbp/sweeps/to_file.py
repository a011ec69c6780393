"""A sweep that ends in a file, and can go on after an interrupt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from liftgbp.model.model import Model
from liftgbp.sweeps.journal import Journal, fingerprint
from liftgbp.sweeps.output import check_output, write_records
from liftgbp.sweeps.run import Progress, sweep, sweep_points


def sweep_to_file(
    model: Model,
    output: str | Path,
    sizes: Mapping[str, int | Sequence[int]],
    *,
    weights: Mapping[str, float | Sequence[float]] | None = None,
    progress: Progress = lambda stage, done, total: None,
    **options: Any,
) -> list[dict[str, object]]:
    """Sweep and write the table to a file; the options are those of `sweep`.

    Finished points are kept in a file beside the output until that is complete. Called again after
    an interrupt, the sweep goes on where it was.
    """
    path = Path(output)
    check_output(path)
    points = sweep_points(sizes, weights or {})
    with Journal(path, fingerprint(model, **options)) as journal:
        sweep(
            model,
            sizes,
            weights=weights,
            skip=journal.points,
            save=journal.save,
            progress=progress,
            **options,
        )
        records = journal.records(points)
        write_records(records, path)
        journal.remove()
    return records
