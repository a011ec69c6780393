"""A sweep that ends in a file, and can go on after an interrupt."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from liftgbp.errors import checked_path
from liftgbp.model.model import Model, check_model
from liftgbp.sweeps.journal import Journal, fingerprint
from liftgbp.sweeps.output import check_output, write_records
from liftgbp.sweeps.run import Progress, sweep, sweep_points


def sweep_to_file(
    model: Model,
    output: str | os.PathLike[str],
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
    path = checked_path("output", output)
    check_output(path)
    check_model(model)
    points = sweep_points(sizes, weights)
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
