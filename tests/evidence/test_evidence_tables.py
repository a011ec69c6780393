"""Facts from CSV and Parquet files and from tables of DuckDB."""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from liftgbp.errors import EvidenceError
from liftgbp.evidence import Evidence, load_evidence
from liftgbp.model.parser import parse

MODEL = parse("""
    smokes(person)
    friends(person, person)
    mood(person) : {low, mid, high}
    rain
    has(person, value)
    1 smokes(Eve)
""")


def facts(evidence: Evidence, predicate: str) -> dict[tuple[str, ...], int]:
    relation, model = evidence.hard[predicate], evidence.model
    sorts = model.predicates[predicate].sorts
    return {
        tuple(model.constants(sort)[k] for sort, k in zip(sorts, objects, strict=True)): value
        for objects, value in zip(relation.args.tolist(), relation.values.tolist(), strict=True)
    }


def load_csv(folder: Path, predicate: str, text: str, ending: str = ".csv") -> Evidence:
    path = folder / f"table{ending}"
    path.write_text(text, encoding="utf-8")
    return load_evidence(MODEL, f"{predicate}={path}")


@pytest.mark.parametrize(
    ("predicate", "text", "expected"),
    [
        ("smokes", "person\nAnna\nBob\n", {("Anna",): 1, ("Bob",): 1}),
        (
            "smokes",
            "name,Truth\nAnna,true\nBob,F\nC,0\nD,1\nE,t\nF,FALSE",
            dict(
                zip(
                    [("Anna",), ("Bob",), ("C",), ("D",), ("E",), ("F",)],
                    [1, 0, 0, 1, 1, 0],
                    strict=True,
                )
            ),
        ),
        ("smokes", "who;known\nAnna;1\n", {("Anna",): 1}),
        (
            "friends",
            "a,b\nAnna,Bob\nBob,Anna\nAnna,Bob\n",
            {("Anna", "Bob"): 1, ("Bob", "Anna"): 1},
        ),
        ("friends", "\ufeffa,b\r\nAnna,Bob\r\n", {("Anna", "Bob"): 1}),
        ("friends", 'a,b\n"Lee, Anna","say ""no"""\n', {("Lee, Anna", 'say "no"'): 1}),
        ("friends", "a,b\n# no comment,007\n", {("# no comment", "007"): 1}),
        ("friends", "a, a, value\n1, 2, 0\n", {("1", "2"): 0}),
        ("mood", "person,VALUE\nAnna,high\nBob,low\n", {("Anna",): 2, ("Bob",): 0}),
        ("has", "person,value\nAnna,true\n", {("Anna", "true"): 1}),
        ("rain", "truth\nfalse\n", {(): 0}),
    ],
)
def test_csv(
    predicate: str, text: str, expected: dict[tuple[str, ...], int], tmp_path: Path
) -> None:
    evidence = load_csv(tmp_path, predicate, text)
    assert facts(evidence, predicate) == expected
    assert len(evidence.places) == 0


def test_tabs_and_compression(tmp_path: Path) -> None:
    evidence = load_csv(tmp_path, "friends", "a\tb\nAnna Lee\tBob\n", ".tsv")
    assert facts(evidence, "friends") == {("Anna Lee", "Bob"): 1}
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\nAnna,Bob\n"))
    evidence = load_evidence(MODEL, f"friends={path}")
    assert facts(evidence, "friends") == {("Anna", "Bob"): 1}


def test_a_table_without_rows(tmp_path: Path) -> None:
    evidence = load_csv(tmp_path, "friends", "a,b\n")
    assert not evidence
    assert evidence.model == MODEL


def test_parquet_and_duckdb(tmp_path: Path) -> None:
    parquet, database = tmp_path / "f.parquet", tmp_path / "data.duckdb"
    rows = "(VALUES (1, 2, true), (2, 1, false)) AS t(one, other, truth)"
    duckdb.sql(f"SELECT * FROM {rows}").write_parquet(str(parquet))
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE friends AS SELECT * FROM {rows}")
        connection.execute(
            "CREATE SCHEMA s; CREATE TABLE s.\"my table\" AS SELECT 'Anna' AS person"
        )
    expected = {("1", "2"): 1, ("2", "1"): 0}
    assert facts(load_evidence(MODEL, f"friends={parquet}"), "friends") == expected
    assert facts(load_evidence(MODEL, f"friends={database}:friends"), "friends") == expected
    evidence = load_evidence(MODEL, f"smokes={database}:s.my table")
    assert facts(evidence, "smokes") == {("Anna",): 1}


def test_sources_meet(tmp_path: Path) -> None:
    text = tmp_path / "a=b.db"
    text.write_text("smokes(Anna)\nfriends(Anna,Carl)\n", encoding="utf-8")
    table = tmp_path / "f.csv"
    table.write_text("a,b\nBob,Anna\nAnna,Carl\n", encoding="utf-8")
    evidence = load_evidence(MODEL, f"friends={table}", text, str(text))
    assert evidence.model.constants("person") == ("Eve", "Bob", "Anna", "Carl")
    assert facts(evidence, "friends") == {("Bob", "Anna"): 1, ("Anna", "Carl"): 1}
    assert facts(evidence, "smokes") == {("Anna",): 1}
    assert list(evidence.places) == [("smokes", (2,))]


def test_contradictions_across_kinds_of_sources(tmp_path: Path) -> None:
    text, table = tmp_path / "a.db", tmp_path / "s.csv"
    text.write_text("\nsmokes(Anna)\n", encoding="utf-8")
    table.write_text("person,truth\nBob,1\nAnna,0\n", encoding="utf-8")
    with pytest.raises(EvidenceError) as caught:
        load_evidence(MODEL, text, f"smokes={table}")
    assert str(caught.value) == (
        f"{table}, row 2: !smokes(Anna) contradicts smokes(Anna) in {text}, line 2, column 1; "
        "drop one of them"
    )
    with pytest.raises(EvidenceError) as caught:
        load_evidence(MODEL, f"smokes={table}", text)
    assert str(caught.value).startswith(
        f"{text}:2:1: smokes(Anna) contradicts !smokes(Anna) in {table}, row 2; drop one of them\n"
    )


@pytest.mark.parametrize(
    ("predicate", "text", "message"),
    [
        ("Smokes", "person\nAnna\n", "unknown predicate Smokes; the model writes smokes"),
        ("friends", "a\nAnna\n", "friends takes 2 argument columns, got 1 (a)"),
        ("friends", "a,truth\nAnna,1\n", "friends takes 2 argument columns, got 1 (a, truth)"),
        ("friends", "a,b,c,d\n1,2,3,4\n", "friends takes 2 argument columns, got 4"),
        ("smokes", "a,b\nAnna,maybe\n", "row 1: smokes takes the values false, true, not maybe"),
        ("smokes", "a,truth\nA,1\nB,2\n", "row 2: smokes takes the values false, true, not 2"),
        ("mood", "a,value\nA,low\nB,Low\n", "row 2: mood takes the values low, mid, high, not Low"),
        ("mood", "a\nA\n", "mood takes the values low, mid, high; add a last column named value"),
        ("friends", "a,b\nA,B\n,B\n", "row 2: the column a is empty"),
        (
            "friends",
            "Anna,Bob\nBob,Carl\n",
            "the first line must name the columns, but Bob is an object",
        ),
        (
            "friends",
            "Eve,Bob\nAnna,Carl\n",
            "the first line must name the columns, but Eve is an object",
        ),
        ("friends", "a,b\nA,B\nC,D,E\n", "Line: 3; Original Line: C,D,E; Expected Number of"),
        ("friends", "", "is empty; its first line names the columns"),
    ],
)
def test_wrong_tables(predicate: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as caught:
        load_csv(tmp_path, predicate, text)
    assert message in caught.value.message
    assert "table.csv" in caught.value.message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("smokes=none.csv", "cannot read none.csv: there is no such file"),
        ("smokes=none.parquet", "cannot read none.parquet: there is no such file"),
        ("smokes=none.duckdb:t", "cannot read none.duckdb: there is no such file"),
        ("smokes=what.xlsx", "cannot read what.xlsx: write a table as friends=friends.csv"),
        ("none.csv", "cannot read none.csv"),
    ],
)
def test_wrong_sources(source: str, message: str) -> None:
    with pytest.raises(EvidenceError) as caught:
        load_evidence(MODEL, source)
    assert message in caught.value.message


def test_broken_files(tmp_path: Path) -> None:
    for name in ("x.parquet", "x.duckdb"):
        (tmp_path / name).write_text("nothing like it", encoding="utf-8")
    for source in (f"{tmp_path}/x.parquet", f"{tmp_path}/x.duckdb:t"):
        with pytest.raises(EvidenceError) as caught:
            load_evidence(MODEL, f"smokes={source}")
        assert caught.value.message.startswith(f"cannot read {source}: ")


def test_a_missing_table(tmp_path: Path) -> None:
    database = tmp_path / "data.duckdb"
    duckdb.connect(str(database)).close()
    with pytest.raises(EvidenceError, match=r"cannot read .*:t: Table with name t does not exist"):
        load_evidence(MODEL, f"smokes={database}:t")


def test_tables_need_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(EvidenceError, match=r"needs duckdb; .*pip install 'liftgbp\[data\]'"):
        load_csv(tmp_path, "smokes", "person\nAnna\n")


NAMES = st.text(
    st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=6
).filter(lambda name: name == name.strip(" "))


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.tuples(NAMES, NAMES), st.booleans(), max_size=20))
def test_csv_round_trip(
    tmp_path_factory: pytest.TempPathFactory, table: dict[tuple[str, str], bool]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "friends.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["first person", "second person", "truth"])
        writer.writerows([*names, str(truth).lower()] for names, truth in table.items())
    evidence = load_evidence(MODEL, f"friends={path}")
    found = facts(evidence, "friends") if table else {}
    assert found == table


def test_tables_without_a_predicate_and_files_without_tables(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("person\nAnna\n", encoding="utf-8")
    for source in (path, str(path)):
        with pytest.raises(EvidenceError, match=r"people.csv is a table; .* as in -e smokes=.*csv"):
            load_evidence(MODEL, source)
    with pytest.raises(EvidenceError, match=r"write a table as friends=friends\.csv"):
        load_evidence(MODEL, f"smokes={path}:people")
