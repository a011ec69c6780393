"""Tables keep the types that are stated, whatever their first rows hold."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import duckdb
import pytest

import liftgbp
import processes
from liftgbp.support.errors import InputError
from liftgbp.support.files import ROWS_AT_ONCE, Schema, whole_files, write_table

SCHEMA: Schema = {"name": str, "p": float, "size": int, "known": bool}
ROWS = [("true", 1.0, 3, True), ('a "b", c', 0.1 + 0.2, 2**63 - 1, False), ("17", 1e-300, -1, True)]


def test_types_and_values_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    write_table(path, SCHEMA, ROWS)
    found = duckdb.read_parquet(str(path))
    assert [str(kind) for kind in found.types] == ["VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN"]
    assert found.columns == list(SCHEMA)
    assert found.fetchall() == ROWS


def test_values_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_table(path, SCHEMA, ROWS)
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(SCHEMA)
    assert [(n, float(p), int(s), k == "true") for n, p, s, k in rows] == ROWS


def test_a_table_without_rows_has_its_types(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    write_table(path, SCHEMA, [])
    found = duckdb.read_parquet(str(path))
    assert [str(kind) for kind in found.types] == ["VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN"]
    assert found.fetchall() == []


@pytest.mark.slow
def test_rows_beyond_one_batch(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    count = ROWS_AT_ONCE + 7
    write_table(path, {"k": int}, ([k] for k in range(count)))
    (found,) = duckdb.sql(f"SELECT count(*), sum(k) FROM '{path}'").fetchall()
    assert found == (count, count * (count - 1) // 2)


def test_columns_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="differ only in case"):
        write_table(tmp_path / "table.parquet", {"a": int, "A": int}, [(1, 2)])


@pytest.mark.slow
def test_parquet_needs_neither_pandas_nor_pyarrow(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None
from pathlib import Path
from liftgbp.support.files import write_table
write_table(Path({str(tmp_path / "t.parquet")!r}), {{"a": str, "b": float}}, [("x", 1.5)])
"""
    done = processes.run([sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr
    assert duckdb.read_parquet(str(tmp_path / "t.parquet")).fetchall() == [("x", 1.5)]


@pytest.mark.slow
@pytest.mark.parametrize("atoms", [30_000, 5])
def test_many_values_after_many_boolean_atoms(tmp_path: Path, atoms: int) -> None:
    """DuckDB would guess that a column is Boolean if it saw the first rows alone."""
    text = "smokes(person)\nmood(place) : {calm, angry, 7}\n1 smokes(x)"
    answers = liftgbp.infer(liftgbp.parse(text), {"person": atoms, "place": 2}, effort="quick")
    path = tmp_path / "all.parquet"
    answers.write_all(path)
    found = duckdb.read_parquet(str(path))
    assert [str(kind) for kind in found.types] == ["VARCHAR"] * 3 + ["DOUBLE", "BOOLEAN"]
    rows = found.fetchall()
    assert len(rows) == atoms + 2 * 3
    assert {row[2] for row in rows[:atoms]} == {"true"}
    assert [row[2] for row in rows[atoms:]] == ["calm", "angry", "7"] * 2


def test_values_of_boolean_models_are_texts(tmp_path: Path) -> None:
    answers = liftgbp.infer(
        liftgbp.parse("smokes(person)\n1 smokes(x)"), {"person": 3}, effort="quick"
    )
    path = tmp_path / "all.parquet"
    answers.write_all(path)
    found = duckdb.read_parquet(str(path))
    assert str(found.types[2]) == "VARCHAR"
    assert [row[2] for row in found.fetchall()] == ["true"] * 3


def test_types_of_sweeps(tmp_path: Path) -> None:
    model = liftgbp.parse("smokes(person)\n$w = 1\n$w smokes(x)")
    path = tmp_path / "sweep.parquet"
    for sizes, kind in (([2, 9], "BIGINT"), ([2, 10**30], "DOUBLE")):
        liftgbp.sweep_to_file(model, path, {"person": sizes}, weights={"w": [0, 1]}, effort="quick")
        found = duckdb.read_parquet(str(path))
        types = dict(zip(found.columns, map(str, found.types), strict=True))
        assert types["person"] == kind
        assert types["$w"] == types["probability"] == types["log_z"] == "DOUBLE"
        assert {types[name] for name in ("query", "atom", "where", "value")} == {"VARCHAR"}


FULL = """
import resource, sys
from liftgbp.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.argv = ["liftgbp", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("query", "-o"),
        ("query", "--effort", "quick", "--all"),
        ("sweep", "--effort", "quick", "-o"),
        ("sample", "--sweeps", "8", "--starts", "random", "-o"),
    ],
)
def test_a_full_disk_leaves_no_table(tmp_path: Path, options: tuple[str, ...]) -> None:
    model, path = tmp_path / "m.mln", tmp_path / "t.parquet"
    model.write_text("p(thing)\n1 p(x) ^ p(y) | x != y\n")
    path.write_text("the good one")
    command, *others = options
    arguments = [command, str(model), "-n", "thing=4", *others, str(path)]
    ended = processes.run([sys.executable, "-c", FULL, *arguments])
    assert (ended.returncode, ended.stderr) == (2, f"error: cannot write {path}: File too large\n")
    assert path.read_text() == "the good one"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.mln", "t.parquet"]


# --- what was read is not written to


MODEL_TEXT = "person = {Anna, Bob}\nsmokes(person)\nfriends(person, person)\n1 smokes(x)\n"


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    """Models, one of them in two files, and evidence about them."""
    texts = {
        "rules.csv": f'{MODEL_TEXT}#include "more.csv"\n',
        "more.csv": "0.5 friends(x,y)\n",
        "friends.csv": "from,to\nAnna,Bob\n",
        "net.uai": MODEL_TEXT,
        "net2.atoms.csv": "from,to\nAnna,Bob\n",
        "graph.json": MODEL_TEXT,
        "bars.svg": MODEL_TEXT,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with duckdb.connect(str(tmp_path / "data.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT 'Anna' AS name")
    (tmp_path / "data.csv").symlink_to(tmp_path / "data.duckdb")
    (tmp_path / "link.csv").symlink_to(tmp_path / "more.csv")
    return {path.name: path for path in tmp_path.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rules.csv", "more.csv", "friends.csv", "data.csv", "link.csv"])
def test_tables_replace_nothing_that_was_read(
    sources: dict[str, Path], name: str, tmp_path: Path
) -> None:
    model = liftgbp.load(sources["rules.csv"])
    known = liftgbp.load_evidence(
        model, f"friends={sources['friends.csv']}[from,to]", f"smokes={tmp_path}/data.duckdb:people"
    )
    target = tmp_path / name
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    answers = liftgbp.infer(model, evidence=known, effort="quick")
    sample = liftgbp.sample(model, evidence=known, sweeps=8)
    for write in (
        lambda: answers.write_all(target),
        lambda: sample.write(target),
        lambda: liftgbp.sweep_to_file(model, target, {"person": 2}, evidence=known),
    ):
        with pytest.raises(InputError, match="was read from this file; choose another output"):
            write()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    answers.write_all(tmp_path / "new.csv")
    assert (tmp_path / "new.csv").is_file()


def test_other_files_replace_nothing_that_was_read(
    sources: dict[str, Path], tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    net, graph, bars = (liftgbp.load(sources[n]) for n in ("net.uai", "graph.json", "bars.svg"))
    names = {"friends": sources["net2.atoms.csv"]}
    for write in (
        lambda: liftgbp.export_network(net, tmp_path / "net.uai"),
        lambda: liftgbp.export_network(graph, tmp_path / "net2.uai.gz", evidence=names),
        lambda: liftgbp.prepare(graph).write_graph(tmp_path / "graph.json"),
        lambda: liftgbp.infer(bars, effort="quick").write_picture(tmp_path / "bars.svg"),
        lambda: liftgbp.infer(bars).write_picture(tmp_path / "bars.svg", "#{x : smokes(x)}"),
    ):
        with pytest.raises(InputError, match="was read from this file; choose another output"):
            write()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


LONG = "a" * 10_000
LONG_NAMES = {
    "output of an engine": lambda model: liftgbp.run_on_engine(
        model, "friends=f.csv", LONG, closed="friends"
    ),
    "folder of it": lambda model: liftgbp.run_on_engine(
        model, "friends=f.csv", f"{LONG}/x", closed="friends"
    ),
    "table of an engine": lambda model: liftgbp.run_on_engine(
        model, f"friends={LONG}.csv", "out", closed="friends"
    ),
    "database of an engine": lambda model: liftgbp.run_on_engine(
        model, f"friends={LONG}:t", "out", closed="friends"
    ),
    "forecast": lambda model: liftgbp.forecast_on_engine(
        model, f"friends={LONG}.csv", closed="friends"
    ),
    "facts": lambda model: liftgbp.load_evidence(model, LONG),
    "table": lambda model: liftgbp.load_evidence(model, f"friends={LONG}.parquet"),
    "columns of a table": lambda model: liftgbp.load_evidence(model, f"friends={LONG}.csv[a,b]"),
    "database": lambda model: liftgbp.load_evidence(model, f"friends={LONG}.duckdb:t"),
    "evidence": lambda model: liftgbp.infer(model, evidence={"friends": Path(f"{LONG}.csv")}),
    "model": lambda model: liftgbp.load(f"{LONG}.mln"),
    "network": lambda model: liftgbp.load_network(f"{LONG}.uai"),
    "export": lambda model: liftgbp.export_network(model, f"{LONG}.uai"),
    "sweep": lambda model: liftgbp.sweep_to_file(model, f"{LONG}.csv", {"person": [3]}),
    "marginals": lambda model: liftgbp.infer(model).write_all(f"{LONG}.csv"),
    "pictures": lambda model: liftgbp.reproduce(LONG),
}


@pytest.mark.parametrize("name", LONG_NAMES)
def test_names_that_are_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.csv").write_text("a,b\nAnna,Bob\n", encoding="utf-8")
    model = liftgbp.parse("person = 3\nfriends(person, person)\nsmokes(person)\n1 smokes(x)")
    with pytest.raises(liftgbp.InputError, match=r"(read|write|write to) aaaa"):
        LONG_NAMES[name](model)
    assert [path.name for path in tmp_path.iterdir()] == ["f.csv"]


def test_long_names_leave_nothing_half_written(tmp_path: Path) -> None:
    """The name of a network fits, and that of the names of its atoms does not."""
    model = liftgbp.parse("person = 3\nsmokes(person)\n1 smokes(x)")
    with pytest.raises(InputError, match=r"cannot write .*atoms\.csv: File name too long"):
        liftgbp.export_network(model, tmp_path / f"{'a' * 248}.uai")
    (tmp_path / "net.atoms.csv").mkdir()
    with pytest.raises(InputError, match=r"net\.atoms\.csv: it is a directory"):
        liftgbp.export_network(model, tmp_path / "net.uai")
    with (
        pytest.raises(InputError, match="it is a directory"),
        whole_files([tmp_path / "net.uai", tmp_path / "net.atoms.csv"]),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["net.atoms.csv"]


def test_an_engine_writes_to_long_names(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("a,b\nAnna,Bob\n", encoding="utf-8")
    model = liftgbp.parse("friends(person, person)\nsmokes(person)\n1 friends(x,y) ^ smokes(x)")
    output = tmp_path / ("a" * 250)
    run = liftgbp.run_on_engine(model, f"friends={tmp_path / 'f.csv'}", output, closed="friends")
    assert run.converged
    assert sorted(path.name for path in tmp_path.iterdir()) == [output.name, "f.csv"]
