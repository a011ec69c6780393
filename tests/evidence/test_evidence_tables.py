"""Facts from CSV and Parquet files and from tables of DuckDB."""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from liftgbp.evidence import Evidence, table_reading
from liftgbp.evidence.read import load_evidence
from liftgbp.model.parser import parse
from liftgbp.support.errors import EvidenceError

MODEL = parse("""
    smokes(person)
    friends(person, person)
    mood(person) : {low, mid, high}
    rain
    has(person, value)
    1 smokes(Eve)
""")


def facts(evidence: Evidence, predicate: str) -> dict[tuple[str, ...], int]:
    relation, sorts = evidence.hard[predicate], MODEL.predicates[predicate].sorts
    return {
        tuple(evidence.names[sort][k] for sort, k in zip(sorts, objects, strict=True)): value
        for objects, value in zip(relation.args.tolist(), relation.values.tolist(), strict=True)
    }


MAYBE = (
    "row 1, column b: smokes takes the values false, true or a probability between 0 and 1, not "
    "maybe"
)
LOW = "row 2, column value: mood takes the values low, mid, high, not Low"


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
    for args in evidence.hard[predicate].args.tolist():
        assert evidence.place(predicate, args) is None


@pytest.mark.slow
@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(*2 * [st.sampled_from(["", "Anna", "Bob", "Carl"])]), unique=True),
    at_once=st.integers(1, 7),
)
def test_rows_are_read_in_parts(rows: list[tuple[str, str]], at_once: int) -> None:
    """Whatever the parts are, each row is there once, and so is each name."""
    lines = "".join(f"{x},{y}\n" for x, y in rows if x or y)
    stated = {pair: 1 for pair in rows if all(pair)}
    named = {name for pair in rows for name in pair if name}
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_reading, "ROWS_AT_ONCE", at_once)
        evidence = load_csv(Path(folder), "friends", "x,y\n" + lines)
    assert (facts(evidence, "friends") if stated else {}) == stated
    assert sorted(evidence.names["person"]) == sorted(named)


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_one_file_may_serve_two_predicates(
    tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects have numbers in the order in which predicates name them, however rows are read."""
    monkeypatch.setattr(table_reading, "ROWS_AT_ONCE", at_once)
    (tmp_path / "pairs.csv").write_text("a,b\nX,Y\nY,X\nZ,X\n", encoding="utf-8")
    model = parse("smokes(person)\ntall(person)")
    places = [f"{name}={tmp_path}/pairs.csv[{c}]" for name, c in (("smokes", "b"), ("tall", "a"))]
    evidence = load_evidence(model, *places)
    assert evidence.names["person"] == ("Y", "X", "Z")


def test_the_first_name_that_cannot_be_printed_is_reported(tmp_path: Path) -> None:
    (tmp_path / "u.csv").write_text("a,b\ns\x1f,p\x02\nr\u200b,r\u200b\n", encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"row 1: the name 'p\\x02' cannot be printed"):
        load_evidence(MODEL, f"friends={tmp_path}/u.csv[b,a]")


def test_a_blank_cell_below_a_blank_name_is_no_object(tmp_path: Path) -> None:
    evidence = load_csv(tmp_path, "friends", ',b\n"  ",Bob\nAnna,Carl\n')
    assert facts(evidence, "friends") == {("Anna", "Carl"): 1}


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
    assert evidence.enlarge(MODEL) is MODEL


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


def test_row_labels_of_pandas_state_nothing(tmp_path: Path) -> None:
    """`frame.drop_duplicates().to_parquet(...)` writes them as a column, after all others."""
    parquet = tmp_path / "f.parquet"
    rows = "(VALUES ('Anna', 'Bob', 0), ('Bob', 'Carl', 7)) AS t(one, other, __index_level_0__)"
    duckdb.sql(f"SELECT * FROM {rows}").write_parquet(str(parquet))
    expected = {("Anna", "Bob"): 1, ("Bob", "Carl"): 1}
    assert facts(load_evidence(MODEL, f"friends={parquet}"), "friends") == expected
    chosen = load_evidence(MODEL, f"friends={parquet}[one,__index_level_0__]")
    assert facts(chosen, "friends") == {("Anna", "0"): 1, ("Bob", "7"): 1}
    alone = tmp_path / "labels.parquet"
    duckdb.sql(f"SELECT one AS __index_level_0__ FROM {rows}").write_parquet(str(alone))
    named = load_evidence(MODEL, f"smokes={alone}")
    assert facts(named, "smokes") == {("Anna",): 1, ("Bob",): 1}


def test_sources_meet(tmp_path: Path) -> None:
    text = tmp_path / "a=b.db"
    text.write_text("smokes(Anna)\nfriends(Anna,Carl)\n", encoding="utf-8")
    table = tmp_path / "f.csv"
    table.write_text("a,b\nBob,Anna\nAnna,Carl\n", encoding="utf-8")
    evidence = load_evidence(MODEL, f"friends={table}", text, str(text))
    assert evidence.enlarge(MODEL).constants("person") == ("Eve", "Bob", "Anna", "Carl")
    assert facts(evidence, "friends") == {("Bob", "Anna"): 1, ("Anna", "Carl"): 1}
    assert facts(evidence, "smokes") == {("Anna",): 1}
    anna = evidence.names["person"].index("Anna")
    place = evidence.place("smokes", (anna,))
    assert place is not None
    assert place.text == "smokes(Anna)"


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
        ("smokes", "a,b\nAnna,maybe\n", MAYBE),
        ("smokes", "a,truth\nA,1\nB,2\n", "row 2, column truth: smokes takes the values"),
        ("mood", "a,value\nA,low\nB,Low\n", LOW),
        ("mood", "a\nA\n", "mood takes the values low, mid, high; add a last column named value"),
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
        ("friends", "a,b\nA,B\nC,D,E\n", "line 3: 3 cells instead of 2"),
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


@pytest.mark.slow
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


# --- columns, headers, probabilities and empty cells


PEOPLE = """who,from,note,to,sure,gone
1,Anna,"a, b",Bob,0.7,no
2,Bob,,Carl,1,yes
3,Carl,x,Dora,false,no
"""


def chances(evidence: Evidence, predicate: str) -> dict[tuple[str, ...], float]:
    """The probability of true in uncertain facts."""
    relation, sorts = evidence.soft[predicate], MODEL.predicates[predicate].sorts
    return {
        tuple(evidence.names[sort][k] for sort, k in zip(sorts, objects, strict=True)): float(
            np.exp(potentials[1])
        )
        for objects, potentials in zip(relation.args.tolist(), relation.log_potentials, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".duckdb:people"])
def test_columns_by_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    place = f"{tmp_path}/people{ending}"
    if ending == ".parquet":
        duckdb.read_csv(str(path)).write_parquet(place)
    elif ending != ".csv":
        with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
            connection.execute(f"CREATE TABLE people AS FROM read_csv('{path}')")
    expected = {("Anna", "Bob"): 1, ("Bob", "Carl"): 1, ("Carl", "Dora"): 1}
    assert facts(load_evidence(MODEL, f"friends={place}[from,to]"), "friends") == expected
    turned = load_evidence(MODEL, f"friends={place}[ to, from ]")
    assert set(facts(turned, "friends")) == {(b, a) for a, b in expected}
    certain = load_evidence(MODEL, f"friends={place}[from,to,sure]")
    assert facts(certain, "friends") == {("Bob", "Carl"): 1, ("Carl", "Dora"): 0}
    assert chances(certain, "friends") == {("Anna", "Bob"): pytest.approx(0.7)}
    with pytest.raises(EvidenceError, match=r"has no column From; it has who, from, note, to"):
        load_evidence(MODEL, f"friends={place}[From,to]")
    with pytest.raises(EvidenceError, match=r"got 6 .*choose columns as in .*\[from,to\]"):
        load_evidence(MODEL, f"friends={place}")
    with pytest.raises(EvidenceError, match="takes 2 argument columns, got 1"):
        load_evidence(MODEL, f"friends={place}[from]")


@pytest.mark.slow
def test_what_exists_under_a_name_with_brackets_is_meant(tmp_path: Path) -> None:
    database = tmp_path / "data.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'Anna' AS a, 'Bob' AS b")
        connection.execute("CREATE TABLE \"t[b]\" AS SELECT 'Carl' AS person")
    assert facts(load_evidence(MODEL, f"smokes={database}:t[a]"), "smokes") == {("Anna",): 1}
    assert facts(load_evidence(MODEL, f"smokes={database}:t[b]"), "smokes") == {("Carl",): 1}
    (tmp_path / "b.csv").write_text("name,age\nDora,5\n", encoding="utf-8")
    for pattern in ("glob:*.csv[name]", "glob:*.cs[v][name]"):
        evidence = load_evidence(MODEL, f"smokes={pattern.replace('*', f'{tmp_path}/*')}")
        assert facts(evidence, "smokes") == {("Dora",): 1}


def test_files_without_a_line_of_names(tmp_path: Path) -> None:
    path = tmp_path / "friends.csv"
    path.write_text("Anna,3,Bob\nBob,4,Carl\n", encoding="utf-8")
    evidence = load_evidence(MODEL, f"friends={path}[1,3,header=no]")
    assert facts(evidence, "friends") == {("Anna", "Bob"): 1, ("Bob", "Carl"): 1}
    path.write_text("Anna,Bob\n", encoding="utf-8")
    evidence = load_evidence(MODEL, f"friends={path}[header=no]")
    assert facts(evidence, "friends") == {("Anna", "Bob"): 1}
    path.write_text("Anna,Bob\nCarl,Dora\n", encoding="utf-8")
    (note,) = load_evidence(MODEL, f"friends={path}").notes
    assert note == (
        f"{path}: the first line (Anna, Bob) is taken for the names of the columns; if it is a "
        f"fact, write friends={path}[header=no]"
    )
    path.write_text("Anna,Bob\nBob,Dora\n", encoding="utf-8")
    with pytest.raises(EvidenceError, match=r"say that there is none: friends=.*\[header=no\]"):
        load_evidence(MODEL, f"friends={path}")
    with pytest.raises(EvidenceError, match=r"header=no is for \.csv"):
        load_evidence(MODEL, f"friends={tmp_path}/f.parquet[header=no]")


@pytest.mark.parametrize("inside", ["", "from,,to", "from,"])
def test_columns_have_names(tmp_path: Path, inside: str) -> None:
    with pytest.raises(EvidenceError, match="a column has no name; write columns as in"):
        load_evidence(MODEL, f"friends={tmp_path}/x.csv[{inside}]")


def test_probabilities(tmp_path: Path) -> None:
    text = "person,probability\nAnna,0.25\nBob,1.0\nCarl,0\nDora,1e-3\n"
    evidence = load_csv(tmp_path, "smokes", text)
    assert facts(evidence, "smokes") == {("Bob",): 1, ("Carl",): 0}
    expected = {("Anna",): pytest.approx(0.25), ("Dora",): pytest.approx(0.001)}
    assert chances(evidence, "smokes") == expected
    text = "person,truth,probability\nAnna,false,0.25\nBob,true,0.5\nCarl,false,0\n"
    evidence = load_csv(tmp_path, "smokes", text)
    expected = {("Anna",): pytest.approx(0.75), ("Bob",): pytest.approx(0.5)}
    assert chances(evidence, "smokes") == expected
    assert facts(evidence, "smokes") == {("Carl",): 1}
    evidence = load_csv(tmp_path, "mood", "person,value,probability\nAnna,high,0.5\nBob,low,1\n")
    assert facts(evidence, "mood") == {("Bob",): 0}
    assert np.exp(evidence.soft["mood"].log_potentials).round(9).tolist() == [[0.25, 0.25, 0.5]]
    with pytest.raises(EvidenceError, match="add a column named value"):
        load_csv(tmp_path, "mood", "person,probability\nAnna,0.5\n")


def test_empty_cells_state_nothing(tmp_path: Path) -> None:
    evidence = load_csv(tmp_path, "friends", "a,b,truth\nA,B,1\nC,,1\nD,E,\n")
    assert facts(evidence, "friends") == {("A", "B"): 1}
    assert set(evidence.names["person"]) == {"A", "B", "C", "D", "E"}
    (note,) = evidence.notes
    assert note.endswith("2 rows have empty cells and state nothing, the first (row 2, column b)")


def test_every_bad_row_is_reported_up_to_ten(tmp_path: Path) -> None:
    rows = "".join(f"p{k},{'2' if k % 2 else '0.5'}\n" for k in range(1, 25))
    with pytest.raises(EvidenceError) as caught:
        load_csv(tmp_path, "smokes", f"person,truth\n{rows}")
    first, *lines = str(caught.value).splitlines()
    assert first.endswith("table.csv has rows that cannot be used:")
    assert [line.split(":")[0] for line in lines[:-1]] == [
        f"  row {k}, column truth" for k in range(1, 21, 2)
    ]
    assert lines[-1] == "  and more"
    with pytest.raises(EvidenceError) as caught:
        load_csv(tmp_path, "smokes", "person,truth\nA,1\nB\nC,1,1\n")
    assert [line.split(":")[0] for line in str(caught.value).splitlines()[1:]] == [
        "  line 3",
        "  line 4",
    ]
    with pytest.raises(EvidenceError, match="row 1, column probability: a probability is between"):
        load_csv(tmp_path, "smokes", "a,truth,probability\nA,true,1.5\n")


def test_whole_numbers_with_gaps(tmp_path: Path) -> None:
    """Tools that know no gaps in columns of whole numbers store 3.0."""
    path = tmp_path / "f.parquet"
    duckdb.sql(
        "SELECT * FROM (VALUES (1.0::DOUBLE, 'A'), (NULL, 'B'), (2.5, 'C'), ('nan'::DOUBLE, 'D'))"
    ).write_parquet(str(path))
    assert facts(load_evidence(MODEL, f"friends={path}"), "friends") == {
        ("1", "A"): 1,
        ("2.5", "C"): 1,
    }


# --- names of files are literal


LITERAL = ["a[1].csv", "b*.csv", "c?.csv", "**.csv", "{d,e}.csv", "f\\g.csv", "[!x].csv"]
NEIGHBOURS = ["a1.csv", "b2.csv", "c3.csv", "d.csv", "y.csv"]


def fill(folder: Path, name: str, person: str) -> Path:
    path = folder / name
    if path.suffix == ".parquet":
        other = folder / "written.parquet"
        duckdb.sql(f"SELECT '{person}' AS person").write_parquet(str(other))
        other.rename(path)
    else:
        path.write_text(f"person\n{person}\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("name", LITERAL)
def test_names_are_literal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ending: str
) -> None:
    for neighbour in NEIGHBOURS:
        fill(tmp_path, neighbour.replace(".csv", ending), "Neighbour")
    name = name.replace(".csv", ending)
    with pytest.raises(EvidenceError, match="there is no such file"):
        load_evidence(MODEL, f"smokes={tmp_path / name}")
    fill(tmp_path, name, "Anna")
    monkeypatch.chdir(tmp_path)
    for place in (name, f"./{name}", tmp_path / name):
        assert facts(load_evidence(MODEL, f"smokes={place}"), "smokes") == {("Anna",): 1}


@pytest.mark.slow
def test_folders_are_literal_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("year=3", "~", "d[1]", "s3:"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path)
        for name in ("a.csv", "a.parquet"):
            fill(tmp_path / folder, name, "Anna")
            evidence = load_evidence(MODEL, f"smokes={folder}/{name}")
            assert facts(evidence, "smokes") == {("Anna",): 1}


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_globs_are_asked_for(tmp_path: Path, ending: str) -> None:
    for name in ("b1", "b2", "c1"):
        fill(tmp_path, name + ending, name.upper())
    (tmp_path / "b3.txt").write_text("no table")
    evidence = load_evidence(MODEL, f"smokes=glob:{tmp_path}/b*")
    assert facts(evidence, "smokes") == {("B1",): 1, ("B2",): 1}
    with pytest.raises(EvidenceError, match=r"no \.csv or \.parquet file matches .*/d\*"):
        load_evidence(MODEL, f"smokes=glob:{tmp_path}/d*")


# --- nothing is dropped


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("length", [2**20 + 2**19, 33 * 10**6])
def test_lines_that_are_too_long_are_refused(tmp_path: Path, length: int, end: str) -> None:
    """DuckDB drops a last line of more than 32 MB without a word."""
    with pytest.raises(EvidenceError, match=r"table\.csv: line 3 has more than 1048576 bytes"):
        load_csv(tmp_path, "smokes", f"person\nAnna\n{'y' * length}{end}")


def test_long_lines_are_read(tmp_path: Path) -> None:
    name = "y" * (2**20 - 1)
    evidence = load_csv(tmp_path, "smokes", f"person\nAnna\n{name}\nBob")
    assert facts(evidence, "smokes") == {("Anna",): 1, (name,): 1, ("Bob",): 1}


@pytest.mark.parametrize("columns", ["a\rb", "a" * 200_000])
def test_columns_that_cannot_be_read(tmp_path: Path, columns: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"name\nAnna\n")
    with pytest.raises(EvidenceError, match="write columns as in"):
        load_evidence(MODEL, f"smokes={path}[{columns}]")


def test_a_first_cell_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{'a' * 200_000}\nAnna\n")
    with pytest.raises(EvidenceError, match="row 1: field larger than"):
        load_evidence(MODEL, f"smokes={path}")


def test_messages_quote_little_of_a_long_line(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as caught:
        load_csv(tmp_path, "smokes", f"person\n{'y' * 10**5},z\n")
    assert len(str(caught.value)) < 2000


# --- databases and packed files of strangers


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with a table, a view of it, and views that read files or never end."""
    (tmp_path / "secret.csv").write_text("person\nhunter2\n")
    path = tmp_path / "data.duckdb"
    secret = str(tmp_path / "secret.csv")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people AS SELECT 'Anna' AS person")
        for name, query in {
            "own": "FROM people",
            "csv": f"FROM read_csv('{secret}')",
            "bare": f"FROM '{secret}'",
            "text": f"SELECT content AS person FROM read_text('{secret}')",
            "names": f"SELECT file AS person FROM glob('{tmp_path}/*')",
            "endless": "SELECT 'x' AS person FROM range(1000000000000000)",
        }.items():
            connection.execute(f"CREATE VIEW {name} AS {query}")
    return path


@pytest.mark.parametrize("view", ["csv", "bare", "text", "names"])
def test_views_read_no_files(database: Path, view: str) -> None:
    with pytest.raises(EvidenceError, match="file system operations are disabled") as caught:
        load_evidence(MODEL, f"smokes={database}:{view}")
    assert "hunter2" not in str(caught.value)


@pytest.mark.slow
def test_views_of_strangers_are_refused(database: Path) -> None:
    for untrusted in (False, True):
        evidence = load_evidence(MODEL, f"smokes={database}:people", untrusted=untrusted)
        assert facts(evidence, "smokes") == {("Anna",): 1}
    assert facts(load_evidence(MODEL, f"smokes={database}:own"), "smokes") == {("Anna",): 1}
    for view in ("own", "csv", "endless", "main.OWN"):
        with pytest.raises(EvidenceError, match="it is a view"):
            load_evidence(MODEL, f"smokes={database}:{view}", untrusted=True)


@pytest.mark.slow
def test_generated_columns_of_strangers_are_refused(database: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        computed = "person VARCHAR GENERATED ALWAYS AS (repeat('x', size))"
        connection.execute(f"CREATE TABLE computed (size INTEGER, {computed})")
        connection.execute("INSERT INTO computed VALUES (3)")
        connection.execute("CREATE TABLE stored (size INTEGER DEFAULT 7, person VARCHAR)")
        connection.execute("INSERT INTO stored VALUES (3, 'xxx')")
    for table in ("computed", "stored"):
        place = f"smokes={database}:{table}[person]"
        assert facts(load_evidence(MODEL, place), "smokes") == {("xxx",): 1}
    load_evidence(MODEL, f"smokes={database}:stored[person]", untrusted=True)
    for table in ("computed", "main.COMPUTED"):
        with pytest.raises(EvidenceError, match="its column person is generated"):
            load_evidence(MODEL, f"smokes={database}:{table}[person]", untrusted=True)


@pytest.mark.parametrize("table", ["people", "main.people", "data.main.people", "DATA.main.people"])
def test_tables_with_the_names_of_schema_and_database(database: Path, table: str) -> None:
    assert facts(load_evidence(MODEL, f"smokes={database}:{table}"), "smokes") == {("Anna",): 1}
    with pytest.raises(EvidenceError, match="cannot read"):
        load_evidence(MODEL, f"smokes={database}:other.{table}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "macro",
    [
        "lower(a) AS NULL",
        "duckdb_views() AS TABLE SELECT false AS internal, 'none' AS view_name",
        "sum(a) AS max(0 * a)",
        "strlen(a) AS 1",
        "trim(a) AS repeat(a, 100)",
    ],
)
def test_macros_of_strangers_change_no_check(database: Path, macro: str) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE large AS SELECT repeat('x', 16777216) AS person")
        connection.execute("CREATE SCHEMA other")
        connection.execute("CREATE TABLE other.cases AS SELECT 'Bob' AS person")
        connection.execute(f"CREATE MACRO {macro}")
    for table, name in {"people": "Anna", "main.people": "Anna", "other.cases": "Bob"}.items():
        evidence = load_evidence(MODEL, f"smokes={database}:{table}", untrusted=True)
        assert facts(evidence, "smokes") == {(name,): 1}
    for table, reason in {"own": "it is a view", "large": "more than 16 MB of text"}.items():
        with pytest.raises(EvidenceError, match=reason):
            load_evidence(MODEL, f"smokes={database}:{table}", untrusted=True)


def test_tables_are_no_variables_of_ours(database: Path) -> None:
    people2 = [("Bob",)]  # DuckDB would look for it here
    with pytest.raises(EvidenceError, match="does not exist"):
        load_evidence(MODEL, f"smokes={database}:people2")
    assert people2


def test_endless_tables_are_refused(database: Path) -> None:
    with pytest.raises(EvidenceError, match="more than 1024 MB of text"):
        load_evidence(MODEL, f"smokes={database}:endless")


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["'x' AS person FROM range({})", "repeat('x', {}) AS person"])
def test_what_a_stranger_packed_is_not_unpacked(tmp_path: Path, cells: str) -> None:
    for rows, fits in ((10**4, True), (2**24, False)):
        path = tmp_path / f"{rows}.parquet"
        duckdb.sql(f"SELECT {cells.format(rows)}").write_parquet(str(path))
        if fits:
            load_evidence(MODEL, f"smokes={path}", untrusted=True)
        else:
            with pytest.raises(EvidenceError, match="more than 16 MB of text"):
                load_evidence(MODEL, f"smokes={path}", untrusted=True)


@pytest.mark.slow
def test_packed_csv_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.csv.gz"
    blanks = b" " * 2**19 + b"x\n"
    path.write_bytes(gzip.compress(b"person\n" + blanks * 40))
    assert facts(load_evidence(MODEL, f"smokes={path}"), "smokes") == {("x",): 1}
    with pytest.raises(EvidenceError, match=r"more than 16 MB unpacked$"):
        load_evidence(MODEL, f"smokes={path}", untrusted=True)
    monkeypatch.setattr("liftgbp.evidence.table_reading.LARGEST_TABLE", 2**23)
    with pytest.raises(EvidenceError, match="more than 8 MB unpacked; unpack it first"):
        load_evidence(MODEL, f"smokes={path}")
    path.write_bytes(path.read_bytes()[:-9])
    monkeypatch.undo()
    with pytest.raises(EvidenceError, match="it is not a complete gzip file"):
        load_evidence(MODEL, f"smokes={path}")


def test_two_packed_parts_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "parts.csv.gz"
    path.write_bytes(gzip.compress(b"person\nAnna\n") + gzip.compress(b"Bob\n"))
    evidence = load_evidence(MODEL, f"smokes={path}")
    assert facts(evidence, "smokes") == {("Anna",): 1, ("Bob",): 1}


@pytest.mark.slow
def test_facts_of_strangers_have_a_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    path.write_text("smokes(Anna)\n// " + "." * 2**24)
    assert facts(load_evidence(MODEL, path), "smokes") == {("Anna",): 1}
    with pytest.raises(EvidenceError, match="more than 16 MB"):
        load_evidence(MODEL, path, untrusted=True)
