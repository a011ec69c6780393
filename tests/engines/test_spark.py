"""Spark does what DuckDB does, and says what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import duckdb
import pytest

import liftgbp
import processes
from engine_networks import PAIRS, TRIPLES, assert_equal, network, write

pytestmark = pytest.mark.spark

WRONG = {
    "missing table": "spark://nobody: Spark has no such table",
    "missing file": "no such file",
    "missing column": "there is no column c",
    "wrong type": "objects are integers or texts",
    "broken file": "broken.parquet: Spark says",
    "table of DuckDB": "use --engine duckdb",
}
MOST_SECONDS = 600.0
"""It takes some 45 s of processor time, which is minutes on a busy machine."""

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java compiles less: most of the time of a small run."""


needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java: make java")


@needs_java
def test_ctrl_c_ends_spark(tmp_path: Path) -> None:
    """Java is gone, nothing is said about it, and the work so far is kept."""
    (tmp_path / "model.mln").write_text(PAIRS, encoding="utf-8")
    asked = ["query", str(tmp_path / "model.mln"), "-e", network(tmp_path, 12, 16, 1)]
    asked += ["--closed", "friends", "--engine", "spark", "-o", str(tmp_path / "out")]
    journal = tmp_path / "out.work" / "liftgbp-work.json"
    with processes.started(
        processes.hearing_interrupts(sys.executable, "-m", "liftgbp", *asked),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAVA_TOOL_OPTIONS": QUICK},
    ) as process:
        while process.poll() is None and not (
            journal.exists() and '"iteration"' in journal.read_text(encoding="utf-8")
        ):
            time.sleep(0.05)
        helpers = processes.descendants_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=MOST_SECONDS)
    assert process.returncode == 130, said
    own = [
        line
        for line in said.splitlines()
        if line and not line.startswith(("Picked up JAVA_TOOL_OPTIONS", "WARNING: Using incubator"))
    ]
    assert len(own) == 1
    assert own[0].startswith("interrupted")
    assert helpers
    processes.wait_for(lambda: not any(map(processes.is_running, helpers)))
    assert journal.exists()
    assert not (tmp_path / "out").exists()


@needs_java
def test_a_limit_while_spark_starts(tmp_path: Path) -> None:
    """Java would go on to start, and make folders that were removed already."""
    (tmp_path / "model.mln").write_text(PAIRS, encoding="utf-8")
    asked = ["query", str(tmp_path / "model.mln"), "-e", network(tmp_path, 12, 16, 1)]
    asked += ["--closed", "friends", "--engine", "spark", "-o", str(tmp_path / "out")]
    with processes.started(
        [sys.executable, "-m", "liftgbp", *asked, "--timeout", "3"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAVA_TOOL_OPTIONS": QUICK},
    ) as process:
        started: set[int] = set()
        while process.poll() is None:
            started |= processes.descendants_of(process.pid)
            time.sleep(0.05)
        _, said = process.communicate(timeout=MOST_SECONDS)
    assert process.returncode == 3
    assert "it took longer than 3 s" in said
    assert "log4j" not in said
    assert started
    processes.wait_for(lambda: not any(map(processes.is_running, started)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["friends.csv", "model.mln"]


@needs_java
def test_spark_does_what_duckdb_does(tmp_path: Path) -> None:
    source = network(tmp_path, 12, 16, 1)
    chains = [(f"P{k}", f"P{k + 1}") for k in range(40) if k % 4 != 3]
    alike = f"friends={write(tmp_path / 'alike.csv', 'a,b', chains)}"
    with duckdb.connect(str(tmp_path / "data.duckdb")) as connection:
        connection.execute("CREATE TABLE friends (a VARCHAR, b VARCHAR)")
        dates = tmp_path / "dates.parquet"
        connection.execute(f"COPY (SELECT DATE '2020-01-01' AS a, 'Bob' AS b) TO '{dates}'")
    with processes.started(
        [sys.executable, str(Path(__file__).with_name("spark_runs.py")), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAVA_TOOL_OPTIONS": QUICK},
    ) as process:
        out, err = process.communicate(timeout=MOST_SECONDS)
    assert process.returncode == 0, err[-3000:]
    found = json.loads(out.splitlines()[-1])
    assert found["catalog"] == found["alike"] == found["files"] == found["folder"] == ""
    assert_equal(tmp_path / "files", tmp_path / "catalog")
    assert_equal(tmp_path / "folder", tmp_path / "catalog")
    report = json.loads((tmp_path / "alike" / "run.json").read_text(encoding="utf-8"))
    assert report["rows"]["kinds smokes"] == 2
    assert found["session"] == "3"
    for name, message in WRONG.items():
        assert message in found[name]
        assert not list(tmp_path.glob(f"{name}*"))
    for name, text, regions, table in (
        ("catalog", PAIRS, "bethe", source),
        ("alike", PAIRS, "bethe", alike),
        ("triples", TRIPLES, "intersections", source),
    ):
        expected = tmp_path / f"expected {name}"
        asked = {"closed": "friends", "regions": regions, "iterations": 3}
        liftgbp.run_on_engine(liftgbp.parse(text), table, expected, **asked)
        assert_equal(tmp_path / name, expected)
        assert not (tmp_path / f"{name}.work").exists()
    forecast = liftgbp.forecast_on_engine(liftgbp.parse(PAIRS), source, closed="friends")
    assert found["forecast"] == str(forecast.stages[2].number)


@pytest.mark.parametrize("place", ["MASTER", "SPARK_CONF_DIR"])
def test_clusters_that_do_not_answer(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    source = network(tmp_path, 12, 16, 1)
    settings = tmp_path_factory.mktemp("settings")
    (settings / "spark-defaults.conf").write_text("spark.master  spark://127.0.0.1:1\n")
    monkeypatch.setenv(place, "spark://127.0.0.1:1" if place == "MASTER" else str(settings))
    with pytest.raises(liftgbp.InputError, match=r"does not answer at spark://127\.0\.0\.1:1"):
        liftgbp.run_on_engine(
            liftgbp.parse(PAIRS), source, tmp_path / "out", engine="spark", closed="friends"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["friends.csv"]


def test_machines_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = network(tmp_path, 12, 16, 1)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(liftgbp.InputError, match="needs Java"):
        liftgbp.run_on_engine(
            liftgbp.parse(PAIRS), source, tmp_path / "out", engine="spark", closed="friends"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["friends.csv"]
