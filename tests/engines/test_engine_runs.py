"""Marginals computed by joins on an engine are those of the arrays in memory."""

from __future__ import annotations

import json
import math
from pathlib import Path

import duckdb
import pytest

import liftgbp
from engine_networks import MANY_VALUED, PAIRS, TRIPLES, assert_equal, marginals, network, write
from liftgbp.engines import message_tables
from liftgbp.engines.engine import Engine
from liftgbp.engines.message_tables import Messages

FOUR = """
1 friends(x,y) ^ friends(z,u) => smokes(x) v smokes(y) v smokes(z) v smokes(u) | distinct
"""


def compare(
    tmp_path: Path,
    text: str,
    sources: list[str],
    closed: list[str],
    regions: str,
    predicates: list[str],
) -> liftgbp.EngineRun:
    model = liftgbp.parse(text)
    run = liftgbp.run_on_engine(
        model, sources, tmp_path / "out", closed=closed, regions=regions, tol=1e-11
    )
    assert run.converged
    evidence = liftgbp.load_evidence(model, *sources, closed=closed)
    flooding = liftgbp.Flooding(iterations=5000)
    answers = liftgbp.infer(
        model, evidence=evidence, regions=regions, via="ground", solver=flooding
    )
    for predicate in predicates:
        found = marginals(tmp_path / "out", predicate)
        assert len(found) > 5
        for arguments, probabilities in found.items():
            atom = f"{predicate}({','.join(arguments)})"
            values = model.predicates[predicate].values
            for value, probability in zip(values, probabilities, strict=True):
                expected = answers.marginal(atom, value)
                assert probability == pytest.approx(expected, abs=1e-9), atom
    assert not (tmp_path / "out.work").exists()
    return run


@pytest.mark.slow
def test_pairs(tmp_path: Path) -> None:
    observed = write(tmp_path / "smokes.csv", "x,value", [("P1", "true"), ("P2", "False")])
    sources = [network(tmp_path, 25, 40, 1), f"smokes={observed}"]
    compare(tmp_path, PAIRS, sources, ["friends"], "bethe", ["smokes"])


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["bethe", "intersections"])
def test_scopes_of_three(tmp_path: Path, regions: str) -> None:
    sources = [network(tmp_path, 22, 14, 5)]
    run = compare(tmp_path, TRIPLES, sources, ["friends"], regions, ["smokes"])
    assert run.rows["regions smokes smokes smokes"] > 5
    assert run.rows["regions smokes smokes"] > 5


@pytest.mark.slow
def test_several_predicates_and_values(tmp_path: Path) -> None:
    sources = [network(tmp_path, 8, 9, 4, "follows")]
    compare(tmp_path, MANY_VALUED, sources, ["follows"], "bethe", ["mood", "likes"])


@pytest.mark.slow
def test_trees_are_exact(tmp_path: Path) -> None:
    """A chain of five people, against the sum over all 32 worlds."""
    from itertools import product
    from math import exp

    links = [("P0", "P1"), ("P1", "P2"), ("P2", "P3"), ("P3", "P4")]
    source = f"friends={write(tmp_path / 'friends.csv', 'a,b', links)}"
    run = liftgbp.run_on_engine(
        liftgbp.parse(PAIRS), source, tmp_path / "out", closed="friends", tol=1e-13
    )
    assert run.converged
    weights = {
        world: exp(sum(0.6 * (world[k] == world[k + 1]) for k in range(4)) - sum(world))
        for world in product((0, 1), repeat=5)
    }
    total = sum(weights.values())
    found = marginals(tmp_path / "out", "smokes")
    for k in range(5):
        expected = sum(weight for world, weight in weights.items() if world[k]) / total
        assert found[f"P{k}",][1] == pytest.approx(expected, abs=1e-11)


@pytest.mark.slow
def test_databases_parquet_and_numbers(tmp_path: Path) -> None:
    """The same facts from a database, a Parquet file, a folder of them, and with row labels."""
    path = tmp_path / "data.duckdb"
    edges = "SELECT * FROM (VALUES (1, 2), (2, 3), (3, 1), (3, 4), (4, 4)) AS t(a, b)"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE friends AS {edges}")
        (tmp_path / "folder").mkdir()
        connection.execute(f"COPY (FROM friends) TO '{tmp_path}/one.parquet'")
        labels = "SELECT *, 7 AS __index_level_0__ FROM friends"
        connection.execute(f"COPY ({labels}) TO '{tmp_path}/labelled.parquet'")
        connection.execute(f"COPY (FROM friends LIMIT 2) TO '{tmp_path}/folder/a.parquet'")
        connection.execute(f"COPY (FROM friends OFFSET 2) TO '{tmp_path}/folder/b.parquet'")
    places = [f"{path}:friends", f"{tmp_path}/one.parquet", f"{tmp_path}/folder"]
    places += [f"glob:{tmp_path}/folder/*.parquet", f"{tmp_path}/one.parquet[a,b]"]
    places += [f"{tmp_path}/labelled.parquet"]
    found = []
    for k, place in enumerate(places):
        output = tmp_path / f"out{k}"
        liftgbp.run_on_engine(liftgbp.parse(PAIRS), f"friends={place}", output, closed="friends")
        found.append(marginals(output, "smokes"))
        assert json.loads((output / "run.json").read_text())["converged"]
    for other in found:
        assert other.keys() == {("1",), ("2",), ("3",), ("4",)}
        for key, probabilities in other.items():
            assert probabilities == pytest.approx(found[0][key], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("regions", ["bethe", "intersections"])
def test_a_person_with_thousands_of_friends(tmp_path: Path, regions: str) -> None:
    """A star is a tree, and exact: that its centre smokes is less likely than any double."""
    friends = 3500
    rows = [(f"P{k}", "hub") for k in range(friends)] + [("A", "B")]
    source = f"friends={write(tmp_path / 'star.csv', 'a,b', rows)}"
    run = liftgbp.run_on_engine(
        liftgbp.parse(PAIRS), source, tmp_path / "out", closed="friends", regions=regions
    )
    assert run.converged
    found = marginals(tmp_path / "out", "smokes")
    # What a friend weighs who does not smoke, and one who does, beside a centre that does not.
    alone, smoking = math.exp(0.6), math.exp(-1)
    beside_smoker = 1 + math.exp(0.6 - 1)
    assert found["hub",][1] == 0.0
    assert (beside_smoker / (alone + smoking)) ** friends < 1e-300
    for k in (0, friends - 1):
        assert found[f"P{k}",][1] == pytest.approx(smoking / (alone + smoking), abs=1e-9)
    pair = {(a, b): math.exp(0.6 * (a == b) - a - b) for a in (0, 1) for b in (0, 1)}
    expected = (pair[1, 0] + pair[1, 1]) / sum(pair.values())
    assert found["A",][1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_messages_that_are_no_numbers_have_not_converged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Engine.number

    def number(self: Engine, value: object) -> object:
        found = original(self, value)
        return math.nan if isinstance(found, float) else found  # counts are whole numbers

    monkeypatch.setattr(Engine, "number", number)
    source = network(tmp_path, 25, 40, 1)
    run = liftgbp.run_on_engine(liftgbp.parse(PAIRS), source, tmp_path / "out", closed="friends")
    assert not run.converged
    assert run.iterations == 1
    assert json.loads((tmp_path / "out" / "run.json").read_text())["residual"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("a,b\n1,2\n# 3,4\n", {"1", "2", "# 3", "4"}),
        ("a,b\n Anna,Bob \nAnna,Bob\n", {"Anna", "Bob"}),
        ("a;b\n1;2,5\n", {"1", "2,5"}),
        ("\ufeffa, b\r\n1,2\r\n", {"1", "2"}),
        ('a,b\n"1,5",2\n"say ""x""",2\n', {"1,5", "2", 'say "x"'}),
        ("a,b\n1,2\n,3\n", {"1", "2", "3"}),
    ],
)
def test_csv_files_mean_what_they_mean_in_memory(
    tmp_path: Path, text: str, people: set[str]
) -> None:
    (tmp_path / "friends.csv").write_text(text, encoding="utf-8")
    source, model = f"friends={tmp_path / 'friends.csv'}", liftgbp.parse(PAIRS)
    liftgbp.run_on_engine(model, source, tmp_path / "out", closed="all")
    assert {name for (name,) in marginals(tmp_path / "out", "smokes")} == people
    evidence = liftgbp.load_evidence(model, source, closed="friends")
    assert set(evidence.names["person"]) == people


@pytest.mark.slow
def test_work_on_files_that_have_changed_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, source = liftgbp.parse(PAIRS), network(tmp_path, 25, 40, 1)
    step = Messages.step

    def ended(self: Messages, iteration: int, rate: float) -> float:
        if iteration == 1:
            raise KeyboardInterrupt
        return step(self, iteration, rate)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="1 iteration done"):
        patch.setattr(Messages, "step", ended)
        liftgbp.run_on_engine(model, source, tmp_path / "out", closed="friends")
    network(tmp_path, 20, 30, 2)
    liftgbp.run_on_engine(model, source, tmp_path / "out", closed="friends")
    liftgbp.run_on_engine(model, source, tmp_path / "alone", closed="friends")
    assert_equal(tmp_path / "out", tmp_path / "alone")


@pytest.mark.slow
def test_a_run_that_was_ended_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, sources = liftgbp.parse(PAIRS), [network(tmp_path, 25, 40, 1)]
    whole = liftgbp.run_on_engine(model, sources, tmp_path / "whole", closed="friends")
    step, steps = Messages.step, []

    def counted(self: Messages, iteration: int, rate: float) -> float:
        steps.append(iteration)
        if len(steps) == 6:
            raise KeyboardInterrupt
        return step(self, iteration, rate)

    monkeypatch.setattr(Messages, "step", counted)
    with pytest.raises(KeyboardInterrupt):
        liftgbp.run_on_engine(model, sources, tmp_path / "out", closed="friends")
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.work").is_dir()
    monkeypatch.setattr(message_tables, "build_regions", None)
    run = liftgbp.run_on_engine(model, sources, tmp_path / "out", closed="friends")
    assert steps == [0, 1, 2, 3, 4, 5, *range(5, whole.iterations)]
    assert run.iterations == whole.iterations
    assert_equal(tmp_path / "out", tmp_path / "whole")
    assert not (tmp_path / "out.work").exists()


@pytest.mark.slow
def test_work_for_another_question_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [network(tmp_path, 25, 40, 1)]

    def ended(self: Messages, iteration: int, rate: float) -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Messages, "step", ended)
        liftgbp.run_on_engine(liftgbp.parse(PAIRS), sources, tmp_path / "out", closed="friends")
    other = liftgbp.parse(PAIRS.replace("-1 smokes", "1 smokes"))
    liftgbp.run_on_engine(other, sources, tmp_path / "out", closed="friends")
    liftgbp.run_on_engine(other, sources, tmp_path / "alone", closed="friends")
    assert_equal(tmp_path / "out", tmp_path / "alone")


@pytest.mark.slow
def test_messages_that_do_not_agree(tmp_path: Path) -> None:
    sources = [network(tmp_path, 25, 40, 1)]
    run = liftgbp.run_on_engine(
        liftgbp.parse(PAIRS), sources, tmp_path / "out", closed="friends", iterations=2
    )
    assert not run.converged
    assert "still change after 2 iterations" in run.reason


# --- what is refused


WRONG = {
    "a missing file": (PAIRS, ["friends=nowhere.csv"], "no such file"),
    "a missing table": (PAIRS, ["friends={data}:nobody"], "nobody"),
    "a missing column": (PAIRS, ["friends={pairs}[a,c]"], "there is no column c; there are a, b"),
    "columns of the wrong type": (PAIRS, ["friends={dates}"], "objects are integers or texts"),
    "too many columns": (PAIRS, ["friends={wide}"], "has 4 columns; friends.* needs 2"),
    "a broken file": (PAIRS, ["friends={broken}"], "DuckDB says"),
    "a file of facts": (PAIRS, ["facts.db"], "an engine reads tables"),
    "an unknown predicate": (PAIRS, ["likes={pairs}"], "likes"),
    "a table of Spark": (PAIRS, ["friends=spark://friends"], "add --engine spark"),
    "values that are none": (
        PAIRS,
        ["friends={pairs}", "smokes={maybe}"],
        "1 row with a value other",
    ),
    "a broken line": (PAIRS, ["friends={ragged}"], "DuckDB says.*Line: 3"),
    "an open quote": (PAIRS, ["friends={open}"], "DuckDB says.*Line: 2"),
    "an empty file": (PAIRS, ["friends={empty}"], "empty.csv is empty"),
    "a database without a table": (PAIRS, ["friends={data}"], r"friends=data.duckdb:table"),
    "files that differ": (PAIRS, ["friends=glob:p*.csv[a,b]"], "pairs2.csv has other columns"),
    "columns with one name": (PAIRS, ["friends={same}"], "more than one column a"),
    "two values": (PAIRS, ["friends={pairs}", "smokes={twice}"], r"smokes\(P1\) has two values"),
    "a hard rule": (PAIRS + "friends(x,y) => smokes(x).\n", ["friends={pairs}"], "hard formulas"),
    "a quantifier": (
        PAIRS + "1 smokes(x) => EXIST y friends(x,y)\n",
        ["friends={pairs}"],
        "quantifiers",
    ),
    "four atoms": (
        PAIRS + FOUR,
        ["friends={pairs}"],
        "leaves 4 unknown atoms",
    ),
    "an atom without arguments": (
        PAIRS + "rain\n1 rain => smokes(x)\n",
        ["friends={pairs}"],
        "rain has no arguments",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_bad_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    text, sources, message = WRONG[name]
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("CREATE TABLE friends (a VARCHAR, b VARCHAR)")
        connection.execute("COPY (SELECT DATE '2020-01-01' AS a, 'Bob' AS b) TO 'dates.parquet'")
    Path("broken.parquet").write_text("no Parquet")
    Path("ragged.csv").write_text("a,b\n1,2\n3\n")
    Path("open.csv").write_text('a,b\n"1,2\n3,4\n')
    Path("empty.csv").write_text("")
    files = {
        **{name: f"{name}.csv" for name in ("ragged", "open", "empty")},
        "other": write(Path("pairs2.csv"), "b,a", [("P1", "P2")]),
        "same": write(Path("same.csv"), "a,a", [("P1", "P2")]),
        "data": "data.duckdb",
        "dates": "dates.parquet",
        "broken": "broken.parquet",
        "pairs": write(Path("pairs.csv"), "a,b", [("P1", "P2"), ("P3", "P4")]),
        "wide": write(Path("wide.csv"), "a,b,c,d", [("1", "2", "3", "4")]),
        "maybe": write(Path("maybe.csv"), "x,value", [("P1", "maybe")]),
        "twice": write(Path("twice.csv"), "x,value", [("P1", "true"), ("P1", "false")]),
    }
    before = set(tmp_path.iterdir())
    with pytest.raises(liftgbp.InputError, match=message):
        liftgbp.run_on_engine(
            liftgbp.parse(text),
            [source.format(**files) for source in sources],
            "out",
            closed="friends",
        )
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"engine": "oracle"}, "engine must be duckdb or spark"),
        ({"regions": "objects:2"}, "regions on an engine are bethe or intersections"),
        ({"iterations": 0}, "iterations"),
        ({"tol": "small"}, "tol must be a positive number"),
        ({"memory": -1}, r"memory \(--engine-memory\) must be a positive number"),
        ({"engine": 5}, "engine must be duckdb or spark"),
        ({"sizes": [3]}, "sizes must be"),
        ({"progress": 5}, "progress must be"),
        ({"regions": None}, "regions on an engine"),
        ({"sizes": {"person": 100}}, "the tables name 4 objects of person, not 100"),
        ({"closed": "friend"}, "friend"),
    ],
)
def test_wrong_arguments(tmp_path: Path, wrong: dict[str, object], message: str) -> None:
    source = f"friends={write(tmp_path / 'pairs.csv', 'a,b', [('P1', 'P2'), ('P3', 'P4')])}"
    arguments = {"closed": "friends", **wrong}
    with pytest.raises(liftgbp.InputError, match=message):
        liftgbp.run_on_engine(liftgbp.parse(PAIRS), source, tmp_path / "out", **arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]


def test_outputs_are_never_replaced(tmp_path: Path) -> None:
    source = f"friends={write(tmp_path / 'pairs.csv', 'a,b', [('P1', 'P2')])}"
    (tmp_path / "out").mkdir()
    with pytest.raises(liftgbp.InputError, match="exists already"):
        liftgbp.run_on_engine(liftgbp.parse(PAIRS), source, tmp_path / "out", closed="friends")
    (tmp_path / "new.work").mkdir()
    (tmp_path / "new.work" / "mine").write_text("keep")
    with pytest.raises(liftgbp.InputError, match="no work of liftgbp"):
        liftgbp.run_on_engine(liftgbp.parse(PAIRS), source, tmp_path / "new", closed="friends")
    assert (tmp_path / "new.work" / "mine").read_text() == "keep"
