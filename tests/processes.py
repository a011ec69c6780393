"""Processes that tests start: they are ended in every case, together with what they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

TIMEOUT = 120.0
"""Seconds until a process that should have ended is ended; none of them needs a tenth of it."""

LAUNCHER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.{disposition})
os.execvp(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def started(
    command: Sequence[str],
    env: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """A running process in a group of its own, which is killed in the end."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        # Once it has ended, its number may belong to a process of somebody else.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def run(
    command: Sequence[str], stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` does, but an interrupted command takes its children with it."""
    with started(command, env) as process:
        out, err = process.communicate(stdin, timeout=TIMEOUT)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def hearing_interrupts(*command: str) -> list[str]:
    """The command as a terminal starts it, even if the tests run as a background job."""
    return [sys.executable, "-c", LAUNCHER.format(disposition="SIG_DFL"), *command]


def ignoring_interrupts(*command: str) -> list[str]:
    """The command as scripts start background jobs, which Ctrl-C must not end."""
    return [sys.executable, "-c", LAUNCHER.format(disposition="SIG_IGN"), *command]


# --- other processes than those that were started here


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether a process runs; one that has ended may wait for whoever asks how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(process: int) -> Iterator[int]:
    listed = Path(f"/proc/{process}/task/{process}/children")
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        yield from map(int, listed.read_text().split())
        time.sleep(0.05)


def descendants_of(process: int) -> set[int]:
    """The processes that a process has started, and those that these have."""
    found: set[int] = set()
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            for child in map(int, listed.read_text().split()):
                found |= {child, *descendants_of(child)}
    return found


def with_descendants(process: int, number: int) -> set[int]:
    """The descendants of a process, once there are so many of them."""
    wait_for(lambda: len(descendants_of(process)) >= number)
    return descendants_of(process)
