"""Ctrl-C where the work so far is worth something: it ends the work instead of throwing it away."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from types import FrameType


@contextmanager
def stopped_by_interrupt(stop: Event) -> Iterator[None]:
    """Ctrl-C sets an event inside, for work that looks at it; a second one raises as usual.

    Other threads than the main one hear no signals; there, nothing changes.
    """
    if current_thread() is not main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
