"""The way in, which can be left at any time: it imports next to nothing by itself."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

REFUSED, BAD_INPUT, LIMIT_EXCEEDED, PROCESS_IN_THE_WAY, BUG, UNCONFIRMED = 1, 2, 3, 4, 5, 6
CODE_OF = {"confirmed": 0, "unconfirmed": UNCONFIRMED, "refused": REFUSED}
"""The exit code for each standing of an answer."""

INTERRUPTED, CLOSED_PIPE = 130, 141
"""Exit codes, the last two as shells report programs that end by SIGINT and SIGPIPE."""

NEW_OBJECTS = 200_000
"""Garbage is looked for after this many new objects. A small query makes 77 000, almost all of
them by importing modules, which leave no garbage. Python would look a hundred times; a single look
at all of them takes as long as the query itself."""

AGAIN = 5.0
"""Seconds until a command is told again to end: what is raised inside Python's own callbacks, as
while a module is imported, is printed and forgotten."""

TIDY = {"duckdb", "matplotlib", "pyspark", "scipy"}
"""Libraries that may look at the end whether all their objects are gone, and complain if not, as
DuckDB does. They take longer to import than what could be saved at the end."""


def main() -> None:
    """Run the command line and leave with its exit code."""
    gc.set_threshold(NEW_OBJECTS)
    try:
        # Imported here, since Ctrl-C may come while this takes its time.
        with leaving():
            from liftgbp.cli.commands import run

            code = run()
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        why = [str(error)] if isinstance(error, KeyboardInterrupt) and str(error) else []
        print(": ".join(["interrupted", *why]), file=sys.stderr, flush=True)
        # Not sys.exit: after an interrupt inside `exec`, which makes dataclasses, the interpreter
        # would end by the signal instead of with this code.
        os._exit(INTERRUPTED)
    sys.exit(code)


class _Ended(BaseException):
    """Somebody ends this process by a signal."""


@contextmanager
def leaving() -> Iterator[None]:
    """Clean up before a signal ends this process; a second one ends it at once."""
    ended: list[int] = []

    def leave(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        ended.append(number)
        if hasattr(signal, "setitimer"):
            # Limits no longer matter, whose signal this may have been.
            signal.signal(signal.SIGALRM, again)
            signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)
        raise _Ended

    def again(_number: int, _frame: FrameType | None) -> None:
        raise _Ended

    here = threading.current_thread() is threading.main_thread()
    ends = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = [number for number in ends if here and signal.getsignal(number) is signal.SIG_DFL]
    for number in heard:
        signal.signal(number, leave)
    try:
        yield
    except BaseException as error:
        # Libraries may put an error of their own in the place of ours, as DuckDB does.
        if ended:
            from traceback import clear_frames

            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
            # What was about to be entered has not been left: its frames still hold it.
            clear_frames(error.__traceback__)
            os.kill(os.getpid(), ended[0])
        raise
    finally:
        if ended and signal.getsignal(signal.SIGALRM) is again:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def program() -> None:
    """Run as the program `liftgbp`, and exit without tearing the interpreter down where possible.

    Handlers of `atexit` run, and output is flushed; the rest goes with the process.
    """
    try:
        main()
    except SystemExit as end:
        if not (isinstance(end.code, int) and TIDY.isdisjoint(sys.modules)):
            raise
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError, ValueError):
                    stream.flush()
        os._exit(end.code)


def _is_interrupt(error: BaseException) -> bool:
    """Whether it is Ctrl-C; Python 3.11 wraps what comes while a class is made."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)
