"""Evidence, all atoms, and networks of other tools on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import liftgbp
from json_rows import probability
from liftgbp.cli.commands import cli
from liftgbp.oracle import reference

MODEL = """
friends(person, person)
smokes(person)
0.8 friends(x,y) ^ smokes(x) => smokes(y)
-0.5 smokes(x)
"""
FACTS = "friends(Anna,Bob)\nfriends(Bob,Carl)\nsmokes(Anna)\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "smokers.mln"
    path.write_text(MODEL, encoding="utf-8")
    return path


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.db"
    path.write_text(FACTS, encoding="utf-8")
    return path


def run(*arguments: object) -> dict[str, object]:
    result = CliRunner().invoke(
        cli, [str(a) for a in (*arguments, "--json")], standalone_mode=False
    )
    assert result.exception is None, result.exception
    found: dict[str, object] = json.loads(result.output)
    return found


def refused(*arguments: object) -> str:
    result = CliRunner().invoke(cli, [str(a) for a in arguments], standalone_mode=False)
    assert result.exception is not None
    return str(result.exception)


def exact(model: Path, facts: Path, size: int = 3) -> reference.ExactValues:
    relational = liftgbp.load(model)
    evidence = liftgbp.load_evidence(relational, facts, closed=["friends"])
    return reference.exact(reference.ground(relational, {"person": size}, evidence))


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_facts_of_a_file(model: Path, facts: Path, via: str) -> None:
    names = ("Anna", "Bob", "Carl")
    queries = [part for name in names for part in ("-q", f"smokes({name})")]
    found = run("query", model, "-e", facts, "--closed", "friends", "--via", via, *queries)
    wanted = exact(model, facts)
    assert found["evidence"] == {
        "via": via, "facts": 3, "uncertain": 0, "counted": 0, "closed": ["friends"],
    }  # fmt: skip
    assert found["log_z"] == pytest.approx(wanted.log_z)
    marginals = [wanted.marginals[reference.GroundAtom("smokes", (k,))] for k in (1, 2)]
    assert [probability(row, "true") for row in found["answers"]] == pytest.approx(
        [1.0, *(float(marginal[1]) for marginal in marginals)]
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "duckdb"])
def test_facts_of_tables(model: Path, facts: Path, tmp_path: Path, ending: str) -> None:
    rows = "(VALUES ('Anna', 'Bob'), ('Bob', 'Carl')) AS t(a, b)"
    table = tmp_path / f"friends.{ending}"
    with duckdb.connect(str(table) if ending == "duckdb" else ":memory:") as connection:
        if ending == "duckdb":
            connection.execute(f"CREATE TABLE pairs AS FROM {rows}")
        else:
            connection.execute(f"COPY (FROM {rows}) TO '{table}'")
    smokers = tmp_path / "smokers.db"
    smokers.write_text("smokes(Anna)\n", encoding="utf-8")
    source = f"friends={table}" + (":pairs" if ending == "duckdb" else "")
    found = run("query", model, "-e", source, "-e", smokers, "--closed", "friends")
    assert found["log_z"] == pytest.approx(exact(model, facts).log_z)


def test_counts_without_names(model: Path) -> None:
    options = ("--known", "smokes(x)=3e5", "--known", "!smokes(x)=2e5")
    found = run("query", model, "-n", "person=1e6", *options, "-q", "smokes(x)")
    assert [row["count"] for row in found["answers"]] == [300_000, 200_000, 500_000]


@pytest.mark.parametrize("via", ["lifted", "ground"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_atom(model: Path, facts: Path, tmp_path: Path, via: str, ending: str) -> None:
    output = tmp_path / f"all.{ending}"
    options = ("--closed", "friends", "--via", via, "-n", "person=4", "--observed")
    run("query", model, "-e", facts, *options, "--all", output)
    if ending == "csv":
        with output.open(encoding="utf-8") as file:
            found = [tuple(row.values()) for row in csv.DictReader(file)]
    else:
        found = duckdb.read_parquet(str(output)).fetchall()
    rows = {f"{name}({arguments})": float(p) for name, arguments, _, p, _ in found}
    # Of a closed predicate, only the atoms that are listed.
    listed = {atom for atom in rows if atom.startswith("friends")}
    assert listed == {"friends(Anna,Bob)", "friends(Bob,Carl)"}
    assert len(rows) == len(listed) + 4
    assert rows["friends(Anna,Bob)"] == 1.0
    wanted = exact(model, facts, 4)
    for number, name in enumerate(("Bob", "Carl", "#4"), start=1):
        marginal = wanted.marginals[reference.GroundAtom("smokes", (number,))]
        assert rows[f"smokes({name})"] == pytest.approx(float(marginal[1]))


@pytest.mark.parametrize("via", ["lifted", "ground"])
@pytest.mark.parametrize("closed", [(), ("--closed", "friends")])
def test_observed_atoms(model: Path, tmp_path: Path, via: str, closed: tuple[str, ...]) -> None:
    facts = tmp_path / "facts.db"
    facts.write_text("friends(Anna,Bob)\nfriends(Bob,Carl)\n!smokes(Anna)\n0.7 smokes(Bob)\n")
    command = ("query", model, "-e", facts, *closed, "--known", "smokes(x)=2", "-n", "person=6")

    def written(*options: str) -> dict[str, str]:
        output = tmp_path / "all.csv"
        run(*command, "--via", via, "--all", output, *options)
        with output.open(encoding="utf-8") as file:
            return {
                f"{row['predicate']}({row['arguments']})": row["observed"]
                for row in csv.DictReader(file)
            }

    names = ("Anna", "Bob", "Carl", "#4", "#5", "#6")
    friends = {f"friends({a},{b})" for a in names for b in names}
    # An uncertain fact is no observation; two unnamed objects are known to smoke.
    observed = {"smokes(Anna)", "smokes(#4)", "smokes(#5)", "friends(Anna,Bob)"}
    observed.add("friends(Bob,Carl)")
    # Of a closed predicate, the atoms that are not listed are false, and left out.
    every = {a for a in friends if not closed or a in observed}
    every |= {f"smokes({name})" for name in names}
    assert written() == dict.fromkeys(every - observed, "false")
    assert written("--observed") == {a: str(a in observed).lower() for a in every}


def test_all_atoms_of_a_network_but_the_observed(tmp_path: Path) -> None:
    network, evidence = tmp_path / "net.uai", tmp_path / "net.uai.evid"
    network.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n", encoding="utf-8")
    evidence.write_text("1 0 1\n", encoding="utf-8")
    output = tmp_path / "all.csv"
    run("query", network, "-e", evidence, "--all", output)
    assert [line.split(",")[0] for line in output.read_text().splitlines()[1:]] == ["x1", "x1"]


def test_large_closed_predicates_do_not_count_among_all_atoms(model: Path, tmp_path: Path) -> None:
    facts, output = tmp_path / "facts.db", tmp_path / "all.csv"
    facts.write_text("friends(Anna,Bob)\n", encoding="utf-8")
    options = ("--closed", "friends", "-n", "person=10000", "--all", output)
    run("query", model, "-e", facts, *options)
    assert len(output.read_text(encoding="utf-8").splitlines()) == 1 + 10_000


@pytest.mark.parametrize("ending", ["uai", "fg", "uai.gz", "FG.GZ"])
def test_export_and_query_a_network(model: Path, facts: Path, tmp_path: Path, ending: str) -> None:
    network = tmp_path / f"net.{ending}"
    arguments = ["export", model, "-e", facts, "--closed", "friends", "-o", network]
    result = CliRunner().invoke(cli, [str(a) for a in arguments], standalone_mode=False)
    assert result.exception is None
    with (tmp_path / "net.atoms.csv").open(encoding="utf-8") as file:
        atoms = {row["atom"]: f"x{row['variable']}" for row in csv.DictReader(file)}
    found = run("query", network, "-q", atoms["smokes(Carl)"])
    wanted = exact(model, facts)
    assert found["log_z"] == pytest.approx(wanted.log_z)
    marginal = wanted.marginals[reference.GroundAtom("smokes", (2,))]
    (row,) = found["answers"]
    assert [probability(row, "0"), probability(row, "1")] == pytest.approx(marginal.tolist())


def test_evidence_about_a_network(tmp_path: Path) -> None:
    network, evidence = tmp_path / "net.uai", tmp_path / "net.uai.evid"
    network.write_text("MARKOV\n2\n2 2\n1\n2 0 1\n4\n1 2 3 4\n", encoding="utf-8")
    evidence.write_text("1 0 1\n", encoding="utf-8")
    found = run("query", network, "-e", evidence, "-q", "x1", "-q", "x0")
    assert [probability(row, "1") for row in found["answers"]] == pytest.approx([4 / 7, 1])


def test_graph_with_evidence(model: Path, facts: Path) -> None:
    options = ("--closed", "friends", "-n", "person=10")
    by_classes = run("graph", model, "-e", facts, *options, "--via", "lifted")
    on_ground = run("graph", model, "-e", facts, *options, "--via", "ground")
    assert by_classes["ground_regions"] == on_ground["ground_regions"]
    assert len(on_ground["regions"]) <= len(by_classes["regions"])


def test_check_with_evidence(model: Path, facts: Path) -> None:
    for via in ("lifted", "ground"):
        options = ("-e", facts, "--closed", "friends", "--via", via)
        assert run("check", model, *options)["agrees"]
        assert run("check", model, *options, "--messages")["agrees"]


def test_mistakes_are_explained(model: Path, facts: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.db"
    bad.write_text("smokes(Anna)\nsmoks(Bob)\n", encoding="utf-8")
    assert f"{bad}:2:1: unknown predicate smoks" in refused("query", model, "-e", bad)
    bad.write_text("smokes(Anna)\n!smokes(Anna)\n", encoding="utf-8")
    assert f"{bad}:2:" in refused("query", model, "-e", bad)
    assert "'lifted', 'ground'" in refused("query", model, "-e", facts, "--via", "rail")
    assert "-n person=8" in refused("query", model, "-n", "person=5", "--known", "smokes(x)=8")
    assert "extension" in refused("query", model, "-e", facts, "--all", tmp_path / "all.txt")
    assert "too many" in refused(
        "query", model, "-n", "person=1e6", "--known", "smokes(x)=8", "--all", tmp_path / "a.csv"
    )
    assert "neither sorts" in refused("query", tmp_path / "net.uai", "-n", "person=3")
    assert "extension" in refused("export", model, "-n", "person=3", "-o", tmp_path / "net.txt")


def test_evidence_that_violates_a_hard_formula(tmp_path: Path) -> None:
    path = tmp_path / "hard.mln"
    path.write_text("smokes(person)\ncancer(person)\nsmokes(x) => cancer(x).\n", encoding="utf-8")
    facts = tmp_path / "facts.db"
    facts.write_text("smokes(Anna)\n!cancer(Anna)\n", encoding="utf-8")
    for via in ("lifted", "ground"):
        message = refused("query", path, "-e", facts, "--via", via)
        assert "the evidence violates this hard formula for x = Anna" in message
        assert f"smokes(Anna) is true ({facts}:1:1)" in " ".join(message.split())
        assert f"cancer(Anna) is false ({facts}:2:1)" in " ".join(message.split())
        assert f"{path}:3:1" in message


def test_all_closes_what_no_query_is_about(model: Path, facts: Path) -> None:
    found = run("query", model, "-e", facts, "--closed", "all", "-q", "smokes(x)")
    named = run("query", model, "-e", facts, "--closed", "friends", "-q", "smokes(x)")
    assert found["evidence"] == named["evidence"]
    assert found["answers"] == named["answers"]


# --- one row for each ground atom


@pytest.mark.slow
@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_answers_for_each_object(model: Path, facts: Path, via: str) -> None:
    command = ("query", model, "-e", facts, "--closed", "friends", "--via", via, "-n", "person=5")
    found = run(*command, "-q", "smokes(x)", "--objects")
    wanted = exact(model, facts, 5)
    names = {1: "Bob", 2: "Carl", 3: "#4", 4: "#5"}
    expected = {
        f"smokes({name})": float(wanted.marginals[reference.GroundAtom("smokes", (k,))][1])
        for k, name in names.items()
    }
    rows = {row["atom"]: probability(row, "true") for row in found["answers"]}
    assert rows == pytest.approx(expected)
    assert list(rows.values()) == sorted(rows.values(), reverse=True)
    assert all(row["count"] == 1 for row in found["answers"])
    least = sorted(expected.values())[1] - 1e-9
    fewer = run(*command, "-q", "smokes(x)", "--objects", "--min", least, "--top", 2)
    assert [row["atom"] for row in fewer["answers"]] == list(rows)[:2]
    by_name = run(*command, "-q", "smokes(x)", "--objects", "--sort", "atom", "--top", 3)
    assert [row["atom"] for row in by_name["answers"]] == sorted(expected)[:3]
    seen = run(*command, "--objects", "--observed")
    assert {row["atom"]: probability(row, "true") for row in seen["answers"][:3]} == {
        "friends(Anna,Bob)": 1.0,
        "friends(Bob,Carl)": 1.0,
        "smokes(Anna)": 1.0,
    }


def test_queries_that_are_not_about_objects_are_refused_before_any_work(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_arguments: object, **_options: object) -> None:
        raise AssertionError("inference has begun")

    monkeypatch.setattr(liftgbp, "infer", never)
    command = ("query", model, "-n", "person=3", "--objects", "-q")
    assert "must be one atom" in refused(*command, "smokes(x) ^ smokes(y)")
    assert "must be one atom" in refused(*command, "#{x : smokes(x)}")


def test_objects_under_restrictions(model: Path) -> None:
    asked = ("query", model, "-n", "person=3", "--objects", "-q", "friends(x,y) | x != y")
    atoms = {row["atom"] for row in run(*asked)["answers"]}
    assert atoms == {f"friends(#{a},#{b})" for a in (1, 2, 3) for b in (1, 2, 3) if a != b}


def test_steps_in_time_are_no_evidence(tmp_path: Path) -> None:
    path = tmp_path / "steps.mln"
    path.write_text("time = {1, ..., 3}\non(time)\n1.2 on(t) => on(t+1)\n", encoding="utf-8")
    shown = CliRunner().invoke(cli, ["query", str(path)]).output
    assert "no evidence; grounded, then compressed" in shown


@pytest.mark.slow
def test_too_many_objects_are_not_printed(model: Path) -> None:
    assert "add --top, --min" in refused("query", model, "-n", "person=2000", "--objects")
    found = run("query", model, "-n", "person=20000", "-q", "smokes(x)", "--objects", "--top", 5)
    assert len(found["answers"]) == 5
    message = refused("query", model, "-n", "person=1e9", "-q", "smokes(x)", "--objects")
    assert "matches 1e+09 ground atoms" in message
    two = ("query", model, "-n", "person=3", "-q", "smokes(x) ^ smokes(y)", "--objects")
    assert "must be one atom" in refused(*two)
    assert "--all and --objects" in refused("query", model, "-n", "person=3", "--observed")
