"""Commands within limits: `--timeout` and `--memory`.

The command runs in a process of its own, and the first process watches it. A command that exceeds
a limit is told so by a signal, which raises `LimitExceeded` in it, so that it leaves as it does
after any other error. A command that does not hear signals, as it is inside one long call into a
compiled library, is ended a few seconds later. Where processes cannot fork, there is no such end.

Whatever ends a command, no unfinished files stay behind: it removes them if it hears the signal,
and the first process removes them otherwise. A command whose first process is gone ends as well.
The workers of a command (`--jobs`) count as a part of it, and end with it.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, cast

import click

import liftgbp
from liftgbp.cli.entry import leaving
from liftgbp.limits import Watch, exceeded, held_memory

LIMIT_EXCEEDED = 1

ENDS = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))
"""The signals by which others end a run."""

GRACE = 3.0
"""Seconds that a command has to leave by itself, once it is told to."""

FAR_BEYOND = 1.25
"""A command that holds this many times the memory that it may is ended at once."""

LOOK_EVERY = 0.02
"""Seconds between two looks at the command."""

HEARD_BY_BOTH = 0.3
"""Ctrl-C in a terminal reaches both processes; after these seconds, only the first has heard it."""

REPEAT = 1.0
"""Seconds until a command is told again; something may have caught the error."""


def run_within(limits: liftgbp.Limits, work: Callable[[], Any], *, apart: bool) -> Any:
    """The result of a command that keeps its limits; with `apart`, in a process of its own."""
    endless = limits.seconds is None and limits.memory is None
    if endless or not (apart and hasattr(os, "fork")):
        with leaving(), Watch(limits).running():
            return work()
    board = _Board()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    # What ends a run waits until both processes know what to do about it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    # Nobody writes to this pipe. It is closed when the first process ends, however that happens.
    watched, kept = os.pipe()
    worker = os.fork()
    if worker:
        os.close(watched)
        supervisor = _Supervisor(worker, limits, board)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            return supervisor.exit_code()
        finally:
            os.close(kept)
    os.close(kept)
    threading.Thread(target=_end_with, args=(watched, board), daemon=True).start()
    with leaving(), _hearing(limits, board):
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return work()


# --- what both processes see


class _Board:
    """Shared memory: which limit is exceeded, whether Ctrl-C was heard, the stage, the files that
    are being written, and the workers."""

    STAGE, LISTS, SIZE = 16, 256, 2**16
    NONE, SECONDS, MEMORY = range(3)

    def __init__(self) -> None:
        self._bytes = mmap.mmap(-1, self.SIZE)

    @property
    def limit(self) -> int:
        return self._bytes[0]

    @limit.setter
    def limit(self, limit: int) -> None:
        self._bytes[0] = limit

    @property
    def interrupted(self) -> bool:
        return bool(self._bytes[1])

    @interrupted.setter
    def interrupted(self, interrupted: bool) -> None:
        self._bytes[1] = interrupted

    @property
    def stage(self) -> str:
        return self._text(self.STAGE, self.LISTS) or "starting"

    @stage.setter
    def stage(self, stage: str) -> None:
        self._write(stage, self.STAGE, self.LISTS)

    @property
    def files(self) -> list[str]:
        """The paths of files that are being written."""
        return list(map(str, self._lists()[0]))

    @property
    def workers(self) -> list[int]:
        """The numbers of the processes that work for the command."""
        return list(map(int, self._lists()[1]))

    def _lists(self) -> list[list[Any]]:
        """Files and workers; there are two places for them, and one is valid."""
        return cast(
            list[list[Any]], json.loads(self._text(*self._place(self._bytes[2])) or "[[], []]")
        )

    def note(self, files: list[str], workers: list[int]) -> None:
        """State the files that are being written, and the workers."""
        other = 1 - self._bytes[2]
        start, stop = self._place(other)
        text = json.dumps([files, workers])
        while len(text) >= stop - start:  # dozens of the longest paths
            files = files[:-1]
            text = json.dumps([files, workers])
        self._write(text, start, stop)
        self._bytes[2] = other

    def _place(self, number: int) -> tuple[int, int]:
        half = (self.SIZE - self.LISTS) // 2
        return self.LISTS + number * half, self.LISTS + (number + 1) * half

    def _text(self, start: int, stop: int) -> str:
        return self._bytes[start:stop].partition(b"\0")[0].decode("utf-8", "surrogateescape")

    def _write(self, text: str, start: int, stop: int) -> None:
        encoded = text.encode("utf-8", "surrogateescape")[: stop - start - 1]
        self._bytes[start:stop] = encoded.ljust(stop - start, b"\0")


# --- the command


def _end_with(watched: int, board: _Board) -> None:
    """Wait until the first process is gone, and end this one, too."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # the main thread hears them
    os.read(watched, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    _remove(board.files)
    os._exit(LIMIT_EXCEEDED)


def _remove(files: list[str]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            Path(file).unlink(missing_ok=True)


@contextlib.contextmanager
def _hearing(limits: liftgbp.Limits, board: _Board) -> Iterator[None]:
    """Tell the supervisor what is done, and stop when a signal says so."""
    stopped: list[liftgbp.LimitExceeded] = []

    def tell(watch: Watch) -> None:
        board.stage = watch.stage
        board.note(watch.files, watch.helpers)

    def stop(_number: int, _frame: FrameType | None) -> None:
        error = watch.exceeded("memory" if board.limit == _Board.MEMORY else "seconds")
        stopped.append(error)
        raise error

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        board.interrupted = True
        raise KeyboardInterrupt

    def report(lost: sys.UnraisableHookArgs) -> None:
        # Callbacks of Python's own, as at the end of an import, swallow what a signal raises. The
        # signal comes again.
        if not isinstance(lost.exc_value, liftgbp.LimitExceeded):
            sys.__unraisablehook__(lost)

    watch = Watch(limits, told=tell)
    sys.unraisablehook = report
    signal.signal(signal.SIGALRM, stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        with watch.running():
            signal.setitimer(signal.ITIMER_REAL, limits.seconds or 0, REPEAT)
            yield
    except (Exception, KeyboardInterrupt) as error:
        # A library may have made something else of it.
        if stopped and not isinstance(error, liftgbp.LimitExceeded):
            raise stopped[0] from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        sys.unraisablehook = sys.__unraisablehook__


# --- the supervisor


class _Supervisor:
    def __init__(self, worker: int, limits: liftgbp.Limits, board: _Board) -> None:
        self._worker = worker
        self._limits = limits
        self._board = board
        self._started = time.monotonic()
        self._told: float | None = None
        self._ended_by: int | None = None
        self._ended: float | None = None
        self._interrupted: float | None = None
        for number in ENDS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                hear = self._hear_interrupt if number == signal.SIGINT else self._hear_end
                signal.signal(number, hear)

    def exit_code(self) -> int:
        """Wait for the command; its exit code, or that of a command that had to be ended."""
        while True:
            ended, status = os.waitpid(self._worker, os.WNOHANG)
            if ended:
                return self._code(os.waitstatus_to_exitcode(status))
            if self._ended is not None and time.monotonic() > self._ended + GRACE:
                self._kill()
                return self._code(-cast(int, self._ended_by))
            name = self._look()
            if name is not None:
                return self._end(name)
            time.sleep(LOOK_EVERY)

    def _look(self) -> str | None:
        """Tell the command if it exceeds a limit; the limit for which it has to be ended now."""
        now = time.monotonic()
        if self._interrupted is not None and now > self._interrupted + HEARD_BY_BOTH:
            self._interrupted = None
            if not self._board.interrupted:
                self._pass_on(signal.SIGINT)
        memory, seconds = self._limits.memory, self._limits.seconds
        held = 0.0
        if memory is not None:
            held = held_memory(self._worker, self._board.workers) / 1e9
        if memory is not None and held > memory * FAR_BEYOND:
            return "memory"
        if memory is not None and held > memory and self._told is None:
            self._told = now
            self._board.limit = _Board.MEMORY
            self._pass_on(signal.SIGALRM)
        if self._told is not None and now > self._told + GRACE:
            return "memory"
        if seconds is not None and now > self._started + seconds + GRACE:
            return "seconds"
        return None

    def _end(self, name: str) -> int:
        self._kill()
        click.echo(f"error: {exceeded(self._limits, name, self._board.stage)}", err=True)
        return LIMIT_EXCEEDED

    def _kill(self) -> None:
        # As long as the command lives, these numbers belong to its workers.
        for worker in self._board.workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        self._pass_on(signal.SIGKILL)
        os.waitpid(self._worker, 0)
        _remove(self._board.files)

    def _hear_end(self, number: int, _frame: FrameType | None) -> None:
        self._ended_by, self._ended = number, time.monotonic()
        self._pass_on(number)

    def _hear_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._interrupted = time.monotonic()

    def _pass_on(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._worker, number)

    def _code(self, code: int) -> int:
        """The exit code of the command; if a signal ended it, that ends this process too."""
        if code < 0:
            _remove(self._board.files)
            with contextlib.suppress(OSError, ValueError):
                signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        return code
