"""A progress bar for work that takes longer than a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

PATIENCE = 1.0


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A function that takes a stage and how much of it is done; nothing shows in the first second.

    The bar goes to standard error, and only to a terminal.
    """
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("starting", total=1)
    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    if console.is_terminal:
        timer.start()

    def report(stage: str, done: int, total: int) -> None:
        bar.update(task, description=stage, completed=done, total=total)

    try:
        yield report
    finally:
        timer.cancel()
        if bar.live.is_started:
            bar.stop()
