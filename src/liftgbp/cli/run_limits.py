"""Commands within limits: `--timeout` and `--memory`.

A timer looks at the clock and at the memory ten times a second, and raises `LimitExceeded` in the
command, so that it leaves as it does after any other error. One long call into a compiled library
hears of that when it returns. If it does not, the whole process ends a few seconds after its time,
and what was half written is removed. The system refuses arrays that are far too large.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import liftgbp
from liftgbp.cli.entry import LIMIT_EXCEEDED
from liftgbp.support.limits import GIGABYTE, Watch

LOOK_EVERY = 0.1
"""Seconds between two looks at the clock and the memory."""

REPEAT = 1.0
"""Seconds until a command is told again; something may have caught the error."""

GRACE = 3.0
"""Seconds that a command has to leave by itself, once its time is up."""

ROOM = 10**9
"""Bytes that the system grants beyond the limit on memory: libraries ask for more than they use."""

ROOM_OF_THREAD = 2**26
"""The same for each thread that libraries of linear algebra start."""


def run_within(limits: liftgbp.Limits, work: Callable[[], Any]) -> Any:
    """Do some work within limits on time and memory."""
    watch = Watch(limits)
    here = threading.current_thread() is threading.main_thread()
    if not here or not hasattr(signal, "setitimer"):  # Windows
        with watch.running():
            return work()
    try:
        with watch.running(), _looking(watch), _ending(watch), _room(limits.memory):
            return work()
    except MemoryError:
        if limits.memory is None:
            raise
        raise watch.exceeded("memory") from None


@contextmanager
def _looking(watch: Watch) -> Iterator[None]:
    """Look at the limits all the time, and raise an error where one is exceeded."""
    stopped: list[liftgbp.LimitExceeded] = []

    def look(_number: int, _frame: FrameType | None) -> None:
        try:
            watch.check()
        except liftgbp.LimitExceeded as error:
            stopped.append(error)
            signal.setitimer(signal.ITIMER_REAL, REPEAT, REPEAT)
            raise

    def report(lost: sys.UnraisableHookArgs) -> None:
        # Callbacks of Python's own, as at the end of an import, swallow what a signal raises. The
        # signal comes again.
        if not isinstance(lost.exc_value, liftgbp.LimitExceeded):
            sys.__unraisablehook__(lost)

    sys.unraisablehook = report
    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_EVERY, LOOK_EVERY)
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        # A library may have made something else of it.
        if stopped and not isinstance(error, liftgbp.LimitExceeded):
            raise stopped[0] from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = sys.__unraisablehook__


@contextmanager
def _ending(watch: Watch) -> Iterator[None]:
    """End this process on the spot if the command does not leave after its time."""

    def end() -> None:
        from liftgbp.support.files import remove_unfinished

        remove_unfinished()
        print(f"error: {watch.exceeded('seconds')}", file=sys.stderr, flush=True)
        os._exit(LIMIT_EXCEEDED)

    if watch.limits.seconds is None:
        yield
        return
    timer = threading.Timer(watch.limits.seconds + GRACE, end)
    timer.daemon = True
    # Signals are for the first thread, which keeps them off while it makes locks.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    timer.start()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    # A library that lets no thread of Python go on is ended all the same, with a traceback.
    with suppress(AttributeError, OSError, RuntimeError):  # no place to write it
        faulthandler.dump_traceback_later(watch.limits.seconds + 2 * GRACE, exit=True)
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def _room(gigabytes: float | None) -> Iterator[None]:
    """Let the system refuse memory that is far beyond the limit."""
    if gigabytes is None or sys.platform != "linux":
        yield
        return
    import resource

    kind, threads = resource.RLIMIT_DATA, os.cpu_count() or 1
    soft, hard = resource.getrlimit(kind)
    most = int(gigabytes * GIGABYTE) + ROOM + threads * ROOM_OF_THREAD
    known = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(kind, (min([most, *known]), hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))
