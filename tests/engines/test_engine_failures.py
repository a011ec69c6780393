"""Runs that are killed, interrupted or out of space go on, and leave nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

import liftgbp
import processes
from engine_networks import PAIRS, TRIPLES, assert_equal, network

KILLED = """
import os, signal, sys
import liftgbp
from liftgbp.engines import {module}

whole = {module}.{method}

def killed(self, *arguments, **keywords):
    {before}
    found = whole(self, *arguments, **keywords)
    {after}
    return found

count = 0

def kill(due):
    global count
    count += due
    if count == 4:
        os.kill(os.getpid(), signal.SIGKILL)

{module}.{method} = killed
model = liftgbp.load(sys.argv[1])
liftgbp.run_on_engine(model, sys.argv[2], sys.argv[3], closed="friends", regions="intersections")
"""
MOMENTS = {
    "before a table is made": (
        "duckdb_engine", "DuckDBEngine.create_as", "kill(arguments[0] == 'regions_1_1_1_0')", ""
    ),
    "after a table was made": (
        "duckdb_engine", "DuckDBEngine.create_as", "", "kill(arguments[0] == 'regions_1_1_1')"
    ),
    "before the journal is written": (
        "engine_runs", "_Journal.write", "kill('iteration' in keywords)", ""
    ),
    "before tables are dropped": (
        "engine_runs", "_Journal.write", "", "kill('iteration' in keywords)"
    ),
}  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "liftgbp", "query", *arguments]


def journal(work: Path) -> dict[str, object]:
    found = json.loads((work / "liftgbp-work.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_process_killed_inside_an_iteration_goes_on(tmp_path: Path, moment: str) -> None:
    module, method, before, after = MOMENTS[moment]
    text = KILLED.format(module=module, method=method, before=before or "pass", after=after)
    (tmp_path / "model.mln").write_text(TRIPLES, encoding="utf-8")
    source, output = network(tmp_path, 22, 14, 5), tmp_path / "out"
    asked = [str(tmp_path / "model.mln"), source, str(output)]
    killed = processes.run([sys.executable, "-c", text, *asked], env=with_path())
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not output.exists()
    assert 0 < int(str(journal(tmp_path / "out.work")["iteration"])) < 8
    model = liftgbp.parse(TRIPLES)
    options = {"closed": "friends", "regions": "intersections"}
    run = liftgbp.run_on_engine(model, source, output, **options)
    whole = liftgbp.run_on_engine(model, source, tmp_path / "whole", **options)
    assert run.iterations == whole.iterations
    assert_equal(output, tmp_path / "whole")
    assert not (tmp_path / "out.work").exists()


def with_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_signals_at_any_time(tmp_path: Path, ending: signal.Signals) -> None:
    """A larger network, ended from outside once two iterations are complete."""
    (tmp_path / "model.mln").write_text(PAIRS.replace("0.6", "0.2"), encoding="utf-8")
    source, output = network(tmp_path, 4000, 12000, 1), tmp_path / "out"
    asked = [str(tmp_path / "model.mln"), "-e", source, "--closed", "friends"]
    asked += ["--engine", "duckdb", "-o", str(output), "--json"]
    with processes.started(
        processes.hearing_interrupts(*command(*asked)), env=with_path()
    ) as process:
        while process.poll() is None and not iterations(tmp_path / "out.work") >= 2:
            time.sleep(0.01)
        os.killpg(process.pid, ending)
        _, said = process.communicate(timeout=processes.TIMEOUT)
    assert process.returncode == (-ending if ending is signal.SIGKILL else 130), said
    assert "Traceback" not in said
    assert not output.exists()
    assert not list(tmp_path.glob("*unfinished*"))
    before = iterations(tmp_path / "out.work")
    again = processes.run(command(*asked), env=with_path())
    found = json.loads(again.stdout)
    assert found["converged"]
    assert found["iterations"] > before >= 2
    model = liftgbp.load(tmp_path / "model.mln")
    liftgbp.run_on_engine(model, source, tmp_path / "whole", closed="friends")
    assert_equal(output, tmp_path / "whole")


def iterations(work: Path) -> int:
    """How many iterations are complete, as far as can be seen from outside."""
    try:
        return int(str(journal(work).get("iteration", 0)))
    except (OSError, ValueError):
        return 0


LIMITED = """
import resource, sys
from liftgbp.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [300_000, 2_000_000])
def test_full_disks(tmp_path: Path, size: int) -> None:
    """Files may not grow beyond a size: at the beginning, and in an iteration."""
    (tmp_path / "model.mln").write_text(PAIRS.replace("0.6", "0.2"), encoding="utf-8")
    source, output = network(tmp_path, 4000, 30000, 1), tmp_path / "out"
    asked = ["query", str(tmp_path / "model.mln"), "-e", source, "--closed", "friends"]
    asked += ["--engine", "duckdb", "-o", str(output)]
    ran = processes.run([sys.executable, "-c", LIMITED, str(size), *asked], env=with_path())
    assert ran.returncode == 2, ran.stderr
    assert "the disk is full. DuckDB says" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not output.exists()
    assert not list(tmp_path.glob("*unfinished*"))
    model = liftgbp.load(tmp_path / "model.mln")
    run = liftgbp.run_on_engine(model, source, output, closed="friends", iterations=3)
    assert run.iterations == 3


def test_too_little_memory(tmp_path: Path) -> None:
    source = network(tmp_path, 4000, 30000, 1)
    with pytest.raises(liftgbp.InputError, match="Allow more by --engine-memory"):
        liftgbp.run_on_engine(
            liftgbp.parse(PAIRS), source, tmp_path / "out", closed="friends", memory=0.001
        )
    assert [path.name for path in tmp_path.iterdir()] == ["friends.csv"]
