"""Sweeps in several processes: the same rows and bytes, and an end for all of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

import liftgbp
import processes
from command_shell import Shell
from liftgbp import InputError, LimitExceeded, Limits, WorkerError
from liftgbp.sweeps import sweeping

SMOKERS = liftgbp.load("example:friends-smokers")
ISING = liftgbp.parse("s(person)\n$w = 1\n$w/|person| s(x) <=> s(y) | x != y")
CASES = {
    "sizes": (SMOKERS, {"person": [5, 6, 7]}, {"exact": False}),
    "quick": (SMOKERS, {"person": [*range(4, 16), 10**3, 10**6]}, {"effort": "quick"}),
    "weights": (ISING, {"person": [4, 100]}, {"weights": {"w": [0.5, 1.0, 2.0]}}),
    "counts": (SMOKERS, {"person": [4, 8, 12]}, {"sum_over": "smokes"}),
    "evidence": (
        SMOKERS,
        {"person": [4, 8, 12]},
        {"evidence": "smokes(Anna)\n!smokes(Bob)", "queries": ["smokes(x)", "friends(Anna,x)"]},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [2, 3])
@pytest.mark.parametrize("name", CASES)
def test_rows_are_the_same_for_any_number_of_jobs(name: str, jobs: int) -> None:
    model, sizes, options = CASES[name]
    alone = liftgbp.sweep(model, sizes, **options, batch=3).rows
    shared = liftgbp.sweep(model, sizes, **options, batch=3, jobs=jobs).rows
    assert shared == alone
    # Equal numbers may still differ in their last digits, but not as texts.
    assert list(map(str, shared)) == list(map(str, alone))
    assert [row.branches for row in shared] == [row.branches for row in alone]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".json"])
@pytest.mark.parametrize("name", CASES)
def test_files_are_the_same_for_any_number_of_jobs(name: str, suffix: str, tmp_path: Path) -> None:
    model, sizes, options = CASES[name]
    written = []
    for jobs in (1, 2, 3):
        path = tmp_path / f"{jobs}{suffix}"
        liftgbp.sweep_to_file(model, path, sizes, **options, jobs=jobs, batch=3)
        written.append(path.read_bytes())
    assert written[0] == written[1] == written[2]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.slow
def test_the_command_line_prints_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(monkeypatch, capsys)
    command = ("sweep", "example:friends-smokers", "-n", "person=3..100", "--points", "6")
    assert shell(*command, "--jobs", "2") == shell(*command)


@pytest.mark.parametrize("jobs", ["0", "-3", "many", "1e9", "1000000000"])
def test_wrong_numbers_of_jobs(
    jobs: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(monkeypatch, capsys)
    command = ("sweep", "example:friends-smokers", "-n", "person=3", "--jobs", jobs)
    code, out, err = shell(*command)
    assert (code, out) == (2, "")
    assert "jobs" in err


def test_wrong_numbers_of_jobs_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="jobs must be a whole number from 1 to 256"):
        liftgbp.sweep(SMOKERS, {"person": 3}, jobs=0)
    with pytest.raises(InputError, match="jobs must be a whole number from 1 to 256"):
        liftgbp.sweep_to_file(SMOKERS, tmp_path / "s.csv", {"person": 3}, jobs=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_progress_counts_the_points_of_all_workers() -> None:
    seen: list[tuple[str, int, int]] = []
    sizes = {"person": list(range(3, 12))}
    sweep = liftgbp.sweep(SMOKERS, sizes, jobs=3, progress=lambda *own: seen.append(own))
    assert len({row.point for row in sweep}) == 9
    assert seen == [("sweeping", done, 9) for done in range(9)]


def test_points_of_a_sweep_share_their_time() -> None:
    rows = liftgbp.sweep(
        SMOKERS, {"person": [5, 6, 7]}, jobs=2, limits=Limits(seconds=1e-3), exact=False
    )
    with pytest.raises(LimitExceeded, match=r"longer than 0\.001 s"):
        list(rows)


# --- a worker that dies


DYING = """
import multiprocessing, os, signal, sys
import liftgbp
from liftgbp.sweeps import sweeping

alone = sweeping._rows_alone

def die_at_six(settings, point):
    if multiprocessing.parent_process() and point.sizes == (("person", 6),):
        os.kill(os.getpid(), signal.SIGKILL)
    return alone(settings, point)

sweeping._rows_alone = die_at_six
sys.argv = ["liftgbp", "sweep", "example:friends-smokers", "-n", "person=3,4,5,6,7,8",
            "-o", sys.argv[1], *sys.argv[2:]]
from liftgbp.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("limits", [(), ("--timeout", "60")])
def test_a_killed_worker_is_reported_and_the_sweep_goes_on(
    tmp_path: Path, limits: tuple[str, ...]
) -> None:
    path, whole = tmp_path / "s.csv", tmp_path / "whole.csv"
    path.write_text("the good one")
    command = [sys.executable, "-c", DYING, str(path), *limits]
    ended = processes.run([*command, "--jobs", "2"])
    assert ended.returncode == 4
    assert ended.stderr.startswith("error: worker process ")
    assert "was ended by signal 9 (SIGKILL)" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert path.read_text() == "the good one"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["s.csv", "s.csv.partial"]
    # Only workers die, so one job finishes what two have begun.
    assert processes.run(command).returncode == 0
    liftgbp.sweep_to_file(SMOKERS, whole, {"person": [3, 4, 5, 6, 7, 8]})
    assert path.read_bytes() == whole.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_killed_worker_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(sweeping, "_rows_alone", die)
    sweep = liftgbp.sweep(SMOKERS, {"person": [3, 4]}, jobs=2)
    for _ in range(2):
        with pytest.raises(WorkerError, match="SIGKILL"):
            list(sweep)


# --- runs that are ended


def long_command(path: Path) -> list[str]:
    command = [sys.executable, "-m", "liftgbp", "sweep", "example:transitive"]
    return [*command, "-n", "person=1e3..1e9", "--points", "2000", "-o", str(path), "--jobs", "2"]


@contextmanager
def long_sweep(path: Path, *options: str) -> Iterator[Popen[str]]:
    """A sweep in two workers, after its first points are finished."""
    command = processes.hearing_interrupts(*long_command(path), *options)
    with processes.started(command) as process:
        journal = path.with_name(f"{path.name}.partial")
        processes.wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 1)
        yield process


LIMITED = ("--timeout", "600", "--memory", "50")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "group"),
    [((), False), ((), True), (LIMITED, True)],
    ids=["alone", "in a terminal", "limited"],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_all_workers(
    tmp_path: Path, number: signal.Signals, options: tuple[str, ...], group: bool
) -> None:
    with long_sweep(tmp_path / "s.csv", *options) as process:
        every = processes.with_descendants(process.pid, 2)
        (os.killpg if group else os.kill)(process.pid, number)
        _, err = process.communicate(timeout=processes.TIMEOUT)
        processes.wait_for(lambda: not any(map(processes.is_running, every)))
    assert process.returncode == (130 if number is signal.SIGINT else -number)
    assert "Traceback" not in err
    assert not (tmp_path / "s.csv").exists()
    assert (tmp_path / "s.csv.partial").exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), LIMITED], ids=["free", "limited"])
def test_no_worker_outlives_a_killed_sweep(tmp_path: Path, options: tuple[str, ...]) -> None:
    with long_sweep(tmp_path / "s.csv", *options) as process:
        every = processes.with_descendants(process.pid, 2)
        process.kill()
        process.wait()
        processes.wait_for(lambda: not any(map(processes.is_running, every)))


@pytest.mark.slow
def test_a_timeout_ends_all_workers(tmp_path: Path) -> None:
    with processes.started([*long_command(tmp_path / "s.csv"), "--timeout", "5"]) as process:
        seen: set[int] = set()
        while process.poll() is None:
            seen |= processes.descendants_of(process.pid)
            time.sleep(0.02)
        _, err = process.communicate(timeout=processes.TIMEOUT)
        processes.wait_for(lambda: not any(map(processes.is_running, seen)))
    assert process.returncode == 3
    assert err.startswith("error: stopped in stage '")
    assert "longer than 5 s" in err
    assert {one.name for one in tmp_path.iterdir()} <= {"s.csv.partial"}


@pytest.mark.slow
def test_resumed_batches_are_solved_as_a_whole(tmp_path: Path) -> None:
    """So a point has the same neighbours, and the same last digits, as without an interrupt."""
    options: dict[str, Any] = {"effort": "quick", "batch": 3}
    sizes = {"person": list(range(4, 16))}
    path, whole = tmp_path / "s.csv", tmp_path / "whole.csv"

    def interrupt(_stage: str, done: int, _total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        liftgbp.sweep_to_file(SMOKERS, path, sizes, **options, progress=interrupt)
    journal = path.with_name("s.csv.partial")
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 3
    journal.write_bytes(b"".join(lines[:-1]))
    liftgbp.sweep_to_file(SMOKERS, path, sizes, **options, jobs=2)
    liftgbp.sweep_to_file(SMOKERS, whole, sizes, **options)
    assert path.read_bytes() == whole.read_bytes()
