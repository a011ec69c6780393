"""Run hostile inputs, each in a process of its own, and report what should not have happened.

    python tests/fuzz/hunting.py --minutes 60         as long as that, with new seeds
    python tests/fuzz/hunting.py --cases 200          so many of each kind, always the same
    python tests/fuzz/hunting.py --show command 17    one of them, in full

A run may succeed, or refuse its input in words. It must not end in a traceback or a warning, take
longer or more memory than its limits, or leave a file that nobody asked for.
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from hostile_runs import KINDS, MEMORY, SECONDS, Run, make, strict

GRACE = 7.0
"""Seconds beyond its limit until a run counts as hanging: a machine does other things, too."""

TELL_EVERY = 300.0
"""Seconds between two lines that say how many runs there were so far."""

ADDRESS_SPACE = int((MEMORY + 4) * 2**30)
"""Address space of a run: more than its memory, as libraries reserve space that they never use."""


def outcome(kind: str, seed: int) -> tuple[str, str]:
    """What went wrong in this run, "" if nothing did; and what it printed."""
    place = Path(tempfile.mkdtemp(prefix="liftgbp-fuzz-"))
    try:
        folder, scratch, log = place / "work", place / "tmp", place / "log"
        folder.mkdir()
        scratch.mkdir()
        run = make(kind, seed)
        for name, data in run.files.items():
            (folder / name).write_bytes(data)
        pid = os.fork()
        if pid == 0:
            _child(run, folder, scratch, log)
        code = _wait(pid)
        printed = log.read_text(errors="replace") if log.exists() else ""
        return _judged(run, code, printed, folder, scratch), f"{run.text}\n{printed}"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _child(run: Run, folder: Path, scratch: Path, log: Path) -> None:
    """The run itself; never returns."""
    code = 3
    try:
        os.setsid()
        os.chdir(folder)
        os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
        out = os.open(log, os.O_WRONLY | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        strict()
        code = run.act()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _wait(pid: int) -> int | None:
    """The exit code; nothing if it had to be killed."""
    watched = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([watched], [], [], SECONDS + GRACE)
        if not ended:
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status) if ended else None
    finally:
        os.close(watched)


def _judged(run: Run, code: int | None, printed: str, folder: Path, scratch: Path) -> str:
    if code is None:
        return "hangs"
    if "Traceback" in printed:
        return "traceback: " + printed.strip().rpartition("\n")[2][:100]
    if code not in (0, 1, 2, 6):
        return f"exit code {code}"
    if "Warning:" in printed:
        return "warning"
    changed = [
        name
        for name, data in run.files.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != data
    ]
    if set(changed) - run.outputs:
        return f"changed {changed}"
    left = (
        {path.name for path in folder.iterdir()}
        - set(run.files)
        - (run.outputs if code != 2 else set())
    )
    if left or any(scratch.iterdir()):
        return f"left {sorted(left) or sorted(path.name for path in scratch.iterdir())}"
    return ""


def hunt(jobs: int, seeds: Iterator[tuple[str, int]]) -> tuple[Counter[str], list[str]]:
    """Count the runs of each kind; describe those that went wrong."""
    started = told = time.monotonic()
    done: Counter[str] = Counter()
    found: list[str] = []
    known: Counter[str] = Counter()
    # If a worker is killed, as by a system without memory, this pool raises; others wait for ever.
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        for kind, seed, wrong, text in _in_turn(pool, seeds, 2 * jobs):
            done[kind] += 1
            if time.monotonic() > told + TELL_EVERY:
                told = time.monotonic()
                print(f"{(told - started) / 60:.1f} minutes: {dict(done)}", flush=True)
            if not wrong:
                continue
            known[wrong] += 1
            found.append(f"{kind} {seed}: {wrong}")
            print(found[-1], flush=True)
            if known[wrong] == 1:
                print("    " + text[-3000:].replace("\n", "\n    "), flush=True)
    return done, found


def _in_turn(
    pool: ProcessPoolExecutor, seeds: Iterator[tuple[str, int]], ahead: int
) -> Iterator[tuple[str, int, str, str]]:
    """The outcomes of seeds, which are drawn not far ahead, so that a limit on time is kept."""
    waiting: set[Future[tuple[str, int, str, str]]] = set()
    for one in seeds:
        waiting.add(pool.submit(_numbered, one))
        if len(waiting) >= ahead:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in finished)
    yield from (each.result() for each in waiting)


def _numbered(one: tuple[str, int]) -> tuple[str, int, str, str]:
    return (*one, *outcome(*one))


def main() -> int:
    """The command line of the hunt."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--minutes", type=float)
    options.add_argument("--cases", type=int, default=50)
    options.add_argument("--seed", type=int, default=0, help="the first seed")
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--show", nargs=2, metavar=("KIND", "SEED"))
    given = options.parse_args()
    if given.show:
        run = make(given.show[0], int(given.show[1]))
        for name, data in run.files.items():
            print(f"--- {name}\n{data.decode(errors='replace')[:3000]}")
        wrong, text = outcome(given.show[0], int(given.show[1]))
        print(f"--- {wrong or 'fine'}\n{text}")
        return int(bool(wrong))
    kinds = given.kinds.split(",")
    started = time.monotonic()

    def seeds() -> Iterator[tuple[str, int]]:
        seed = given.seed
        while True:
            if given.minutes is None:
                if seed >= given.seed + given.cases:
                    return
            elif time.monotonic() - started > 60 * given.minutes:
                return
            for kind in kinds:
                yield kind, seed
            seed += 1

    done, found = hunt(given.jobs, seeds())
    spent = (time.monotonic() - started) / 60
    print(f"{sum(done.values())} runs in {spent:.1f} minutes {dict(done)}, {len(found)} findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
