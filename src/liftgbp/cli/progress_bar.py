"""A progress bar for work that takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from liftgbp.support.texts import visible

PATIENCE = 1.0

Report = Callable[[str, int, int], None]


@contextmanager
def progress_bar() -> Iterator[Report]:
    """A function that takes a stage and how much of it is done; nothing shows in the first second.

    The bar goes to standard error, and only to a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    with _terminal_bar() as report:
        yield report


@contextmanager
def _terminal_bar() -> Iterator[Report]:
    # Imported where there is a terminal: these are slow to import.

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        console=Console(stderr=True, emoji=False),
        transient=True,
    )
    task = bar.add_task("starting", total=1)
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()

    def report(stage: str, done: int, total: int) -> None:
        bar.update(task, description=visible(stage), completed=done, total=total)

    try:
        yield report
    finally:
        timer.cancel()
        if bar.live.is_started:
            bar.stop()
