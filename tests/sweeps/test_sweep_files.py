"""Sweeps to files: nothing that somebody else wrote is lost, and damage is noticed."""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import liftgbp
import processes
from command_shell import Shell
from liftgbp.support.files import locked, whole_file, whole_files

MODEL = liftgbp.parse("p(thing)\n$w = 1\n$w p(x) ^ p(y) | x != y")
SIZES = {"thing": [2, 3, 4, 5]}
ALONE: dict[str, Any] = {"effort": "quick", "batch": 1}
HOLDER = """
import sys, time
from pathlib import Path
from liftgbp.support.files import locked
with locked(Path(sys.argv[1])):
    print("holding", flush=True)
    time.sleep(1000)
"""


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """The output of a sweep that was interrupted after two points."""
    left = [2]

    def interrupt(*_progress: object) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1

    path = tmp_path / "s.csv"
    with pytest.raises(KeyboardInterrupt):
        liftgbp.sweep_to_file(MODEL, path, SIZES, progress=interrupt, **ALONE)
    assert [one.name for one in tmp_path.iterdir()] == ["s.csv.partial"]
    return path


# --- one writer at a time


def test_a_second_sweep_says_who_holds_the_output(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("the good one")
    with processes.started([sys.executable, "-c", HOLDER, str(path)]) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "holding\n"
        with pytest.raises(liftgbp.BusyError, match=f"written by process {holder.pid};"):
            liftgbp.sweep_to_file(MODEL, path, SIZES, effort="quick")
        assert path.read_text() == "the good one"
        assert sorted(one.name for one in tmp_path.iterdir()) == ["s.csv", "s.csv.lock"]
        # Another output is free, and so is this one once the process is dead.
        liftgbp.sweep_to_file(MODEL, tmp_path / "t.csv", SIZES, effort="quick")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (tmp_path / "s.csv.lock").exists()
    liftgbp.sweep_to_file(MODEL, path, SIZES, effort="quick")
    assert path.read_text() == (tmp_path / "t.csv").read_text()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["s.csv", "t.csv"]


def test_the_exit_code_of_the_second_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell(monkeypatch, capsys)
    model = tmp_path / "m.mln"
    model.write_text("p(thing)\n1 p(x)\n")
    for command, output in (("sweep", "s.csv"), ("export", "net.uai")):
        path = tmp_path / output
        with locked(path):
            code, _, err = shell(command, str(model), "-n", "thing=3", "-o", str(path))
            assert code == 4
            assert err.startswith(f"error: {path} is being written by process {os.getpid()};")
        assert not path.exists()
        assert shell(command, str(model), "-n", "thing=3", "-o", str(path))[0] == 0


@pytest.mark.slow
def test_many_sweeps_at_once(tmp_path: Path) -> None:
    """One of them writes the table, and no other one harms it."""
    model, path = tmp_path / "m.mln", tmp_path / "s.csv"
    model.write_text("p(thing)\n1 p(x) ^ p(y) | x != y\n")
    command = [sys.executable, "-m", "liftgbp", "sweep", str(model), "-n", "thing=2..40"]
    with (
        processes.started([*command, "-o", str(path)]) as first,
        processes.started([*command, "-o", str(path)]) as second,
        processes.started([*command, "-o", str(path)]) as third,
    ):
        ended = [one.communicate(timeout=processes.TIMEOUT) for one in (first, second, third)]
        codes = [one.returncode for one in (first, second, third)]
    assert 0 in codes
    assert set(codes) <= {0, 4}
    for code, (_, err) in zip(codes, ended, strict=True):
        assert ("is being written by process" in err) == (code == 4)
    alone = tmp_path / "alone.csv"
    assert processes.run([*command, "-o", str(alone)]).returncode == 0
    assert path.read_text() == alone.read_text()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["alone.csv", "m.mln", "s.csv"]


def test_a_lock_file_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    lock = tmp_path / "s.csv.lock"
    lock.write_text("my own notes\n")
    with pytest.raises(liftgbp.InputError, match=r"s\.csv\.lock is in the way"):
        liftgbp.sweep_to_file(MODEL, tmp_path / "s.csv", SIZES, effort="quick")
    assert lock.read_text() == "my own notes\n"


# --- damaged journals


def damages(journal: bytes) -> dict[str, bytes]:
    header, first, second = journal.splitlines(keepends=True)
    strange = json.loads(second)
    del strange["finished"][0][0]["log_z"]
    return {
        "null bytes at the end": journal + b"\0" * 4096 + b"\n",
        "null bytes inside": header + b"\0" * len(first) + second,
        "all null bytes": b"\0" * len(journal),
        "a torn header": header[10:] + first,
        "no header": first + second,
        "half a header and no more": header[:12] + b"x",
        "a line torn in the middle": header + first[:20] + second,
        "not UTF-8": header + b"\xff\xfe" + first,
        "a list": header + b"[1, 2]\n",
        "a point without records": header + b'{"sizes": [], "weights": []}\n',
        "a record without a column": header + json.dumps(strange).encode() + b"\n",
        "records that are none": header + b'{"sizes": [], "weights": [], "finished": [[7, []]]}\n',
        "deep": header + b"[" * 10**6 + b"\n",
        "another file": b"person,p\n1,2\n",
    }


NAMES = list(damages(b'{"sweep": "0"}\n{}\n{"finished": [[{"log_z": 0}, []]]}\n'))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_journal_is_kept_aside(interrupted: Path, name: str) -> None:
    journal = interrupted.with_name("s.csv.partial")
    damaged = damages(journal.read_bytes())[name]
    journal.write_bytes(damaged)
    before = interrupted.with_name("s.csv.partial.damaged-1")
    before.write_text("damaged earlier")
    with pytest.warns(UserWarning, match=r"is damaged; it is kept as s\.csv\.partial\.damaged-2"):
        liftgbp.sweep_to_file(MODEL, interrupted, SIZES, **ALONE)
    assert interrupted.with_name("s.csv.partial.damaged-2").read_bytes() == damaged
    assert before.read_text() == "damaged earlier"
    assert not journal.exists()
    assert sorted({row["thing"] for row in rows(interrupted)}) == ["2", "3", "4", "5"]


def test_the_command_line_says_so(
    interrupted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted.with_name("s.csv.partial").write_bytes(b"\0" * 100)
    model = interrupted.with_name("m.mln")
    model.write_text("p(thing)\n1 p(x)\n")
    code, _, err = Shell(monkeypatch, capsys)(
        "sweep", str(model), "-n", "thing=3", "-o", str(interrupted)
    )
    assert code == 0
    assert f"note: {interrupted}.partial is damaged; it is kept as" in err
    assert "sweep_journal.py" not in err


@pytest.mark.slow
@pytest.mark.parametrize("kept", range(0, 400, 7))
def test_a_journal_cut_short_anywhere_is_continued(interrupted: Path, kept: int) -> None:
    """This is what an interrupt leaves; nothing is damaged."""
    journal = interrupted.with_name("s.csv.partial")
    journal.write_bytes(journal.read_bytes()[:kept])
    liftgbp.sweep_to_file(MODEL, interrupted, SIZES, **ALONE)
    assert [one.name for one in interrupted.parent.iterdir()] == ["s.csv"]
    assert sorted({row["thing"] for row in rows(interrupted)}) == ["2", "3", "4", "5"]


def test_points_of_another_sweep_are_kept(interrupted: Path) -> None:
    journal = interrupted.with_name("s.csv.partial")
    before = journal.read_bytes()
    with pytest.warns(UserWarning, match=r"s\.csv\.partial is kept: it holds 2 finished points of"):
        liftgbp.sweep_to_file(MODEL, interrupted, {"thing": [7, 6]}, **ALONE)
    assert [row["thing"] for row in rows(interrupted)][::2] == ["7", "6"]
    assert journal.read_bytes() == before
    # A sweep with one of the points needs no others.
    with pytest.warns(UserWarning, match="it holds 1 finished point of"):
        liftgbp.sweep_to_file(MODEL, interrupted, {"thing": 3}, **ALONE)
    liftgbp.sweep_to_file(MODEL, interrupted, SIZES, **ALONE)
    assert [row["thing"] for row in rows(interrupted)][::2] == ["2", "3", "4", "5"]
    assert [one.name for one in interrupted.parent.iterdir()] == ["s.csv"]


def test_a_full_disk_is_named(interrupted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from liftgbp.sweeps import sweep_journal

    def full(_journal: object, _line: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sweep_journal.Journal, "_append", full)
    with pytest.raises(liftgbp.InputError, match=r"cannot write .*s\.csv: No space left"):
        liftgbp.sweep_to_file(MODEL, interrupted, SIZES, **ALONE)


# --- files of others


def test_unfinished_files_of_others_are_not_touched(tmp_path: Path) -> None:
    kept = {}
    for name in ("s.unfinished.csv", f"s.unfinished-{os.getpid()}-1.csv", "s.csv.old"):
        kept[name] = f"mine: {name}"
        (tmp_path / name).write_text(kept[name])
    liftgbp.sweep_to_file(MODEL, tmp_path / "s.csv", SIZES, effort="quick")
    for name, text in kept.items():
        assert (tmp_path / name).read_text() == text
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([*kept, "s.csv"])


@pytest.mark.slow
def test_every_writer_leaves_unfinished_files_of_others_alone(tmp_path: Path) -> None:
    answers = liftgbp.infer(MODEL, {"thing": 3})
    sample = liftgbp.sample(MODEL, {"thing": 3}, sweeps=64)
    writers = {
        "net.uai": lambda path: liftgbp.export_network(MODEL, path, {"thing": 3}),
        "all.csv": answers.write_all,
        "all.parquet": answers.write_all,
        "worlds.csv": sample.write,
    }
    for name, write in writers.items():
        path = tmp_path / name
        own = path.with_name(f"{path.stem}.unfinished{path.suffix}")
        own.write_text("mine")
        write(path)
        assert own.read_text() == "mine"
        assert path.stat().st_size > 0


@pytest.mark.slow
def test_names_of_outputs_are_literal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    monkeypatch.chdir(tmp_path)
    Path("~").mkdir()
    for name in ("a[1].parquet", "b*.parquet", "~/c.parquet", "d{uuid}.parquet"):
        liftgbp.sweep_to_file(MODEL, name, {"thing": [3]}, effort="quick")
        Path(name).rename("plain.parquet")
        assert duckdb.sql("SELECT count(*) FROM 'plain.parquet'").fetchall()[0][0] > 0
        Path("plain.parquet").unlink()
    assert [one.name for one in tmp_path.iterdir()] == ["~"]


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    with whole_file(path) as first:
        with whole_file(path) as second:
            assert first != second
            first.write_text("first")
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert [one.name for one in tmp_path.iterdir()] == ["s.csv"]


def test_files_keep_their_permissions(tmp_path: Path) -> None:
    private, new = tmp_path / "private.csv", tmp_path / "new.csv"
    private.write_text("")
    private.chmod(0o600)
    with whole_files([private, new]) as unfinished:
        for path in unfinished:
            path.write_text("text")
    mask = os.umask(0)
    os.umask(mask)
    assert private.stat().st_mode & 0o777 == 0o600
    assert new.stat().st_mode & 0o777 == 0o666 & ~mask


def test_pipes_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(liftgbp.InputError, match="it is no regular file"):
        liftgbp.sweep_to_file(MODEL, pipe, SIZES, effort="quick")
    assert pipe.is_fifo()


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 115 + ".csv")
    liftgbp.sweep_to_file(MODEL, path, {"thing": [2]}, effort="quick")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    with pytest.raises(liftgbp.InputError, match="File name too long"):
        liftgbp.sweep_to_file(MODEL, tmp_path / ("a" * 249 + ".csv"), {"thing": [2]})


def test_sorts_that_are_called_like_a_column(tmp_path: Path) -> None:
    model = liftgbp.parse("has(person, value)\n1 has(x,v)")
    path = tmp_path / "s.csv"
    sizes = {"person": 2, "value": [3, 4]}
    records = liftgbp.sweep_to_file(model, path, sizes, effort="quick")
    assert {record["|value|"] for record in records} == {3, 4}
    assert {record["value"] for record in records} == {"false", "true"}
    assert {row["|value|"] for row in rows(path)} == {"3", "4"}


def test_a_lock_that_is_given_up_is_free(tmp_path: Path) -> None:
    for _ in range(3):
        with locked(tmp_path / "s.csv"):
            assert (tmp_path / "s.csv.lock").exists()
    assert list(tmp_path.iterdir()) == []
