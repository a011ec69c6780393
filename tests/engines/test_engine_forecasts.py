"""What an engine counts beforehand is what a run finds, or more."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import liftgbp
from engine_networks import MANY_VALUED, PAIRS, TRIPLES, network, write
from liftgbp.cli.commands import cli
from liftgbp.engines import engine_forecasts
from liftgbp.engines.engine_sources import read_sources
from liftgbp.engines.engine_tasks import start
from liftgbp.engines.factor_tables import factor_tables
from liftgbp.engines.message_tables import Messages, build_regions
from liftgbp.report import forecasting
from liftgbp.support.progress import silent

CASES = [
    (PAIRS, "friends", "bethe"),
    (TRIPLES, "friends", "bethe"),
    (TRIPLES, "friends", "intersections"),
    (MANY_VALUED, "follows", "bethe"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "name", "family"), CASES)
def test_columns_are_those_of_the_tables(tmp_path: Path, text: str, name: str, family: str) -> None:
    model, source = liftgbp.parse(text), network(tmp_path, 12, 14, 5, name)
    with closing(start("duckdb", tmp_path, None)) as engine:
        known = read_sources(engine, model, [source], [name], {})
        kinds = build_regions(engine, factor_tables(engine, model, known, silent), family)
        messages = Messages(engine, kinds)
        messages.step(0, 0.5)
        for kind in (*kinds.atoms, *kinds.pairs, *kinds.triples):
            table = engine.table(messages.region_table(kind, 1))
            assert len(table.columns) == kinds.numbers_of(kind)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "name", "family"), CASES)
def test_a_run_has_no_more_rows(tmp_path: Path, text: str, name: str, family: str) -> None:
    model, source = liftgbp.parse(text), network(tmp_path, 12, 14, 5, name)
    asked = {"closed": name, "regions": family}
    before = set(tmp_path.iterdir())
    found = liftgbp.forecast_on_engine(model, source, **asked)
    assert set(tmp_path.iterdir()) == before
    run = liftgbp.run_on_engine(model, source, tmp_path / "out", iterations=1, **asked)
    stages = {stage.stage.split(",")[0]: stage for stage in found.stages}
    regions = sum(number for title, number in run.rows.items() if title.startswith("regions"))
    assert regions <= stages["passing messages"].number
    assert run.rows[f"facts {name}"] <= found.facts[name]


def test_counts_are_those_of_enumeration(tmp_path: Path) -> None:
    """Four friendships, one of them with oneself; one smoker is known."""
    rows = [("A", "B"), ("B", "C"), ("C", "C"), ("D", "A")]
    sources = [f"friends={write(tmp_path / 'friends.csv', 'a,b', rows)}"]
    sources += [f"smokes={write(tmp_path / 'smokes.csv', 'x', [('A',)])}"]
    found = liftgbp.forecast_on_engine(liftgbp.parse(PAIRS), sources, closed="friends")
    assert found.sizes == {"person": 4}
    assert found.facts == {"friends": 4, "smokes": 1}
    # (A,B) and (D,A) leave a factor about one person, (B,C) about two, (C,C) none; then B, C and D.
    factors = 2 + 1 + 3
    stages = {stage.stage: stage for stage in found.stages}
    assert stages["merging factors"].number == factors
    # An atom has a number for its person and two potentials, a pair has two persons, four
    # potentials, four messages and how far these moved. A is counted though it is known.
    assert stages["building regions"].entries == 4 * 3 + 11
    assert stages["writing marginals"].number == 4


@pytest.mark.slow
def test_products_are_not_counted(tmp_path: Path) -> None:
    model = liftgbp.parse(PAIRS + "0.1 smokes(x) ^ smokes(y) | x != y\n")
    source = network(tmp_path, 12, 14, 5)
    counted = liftgbp.forecast_on_engine(model, source, closed="friends")
    bound = liftgbp.forecast_on_engine(model, source, closed="friends", most_counted=50)
    people = counted.sizes["person"]
    more = bound.stages[1].number - counted.stages[1].number
    assert more == people**2 - people * (people - 1)


@pytest.mark.slow
def test_the_place_follows_memory_and_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, source = liftgbp.parse(PAIRS), network(tmp_path, 12, 14, 5)

    def takes() -> str:
        found = liftgbp.forecast_on_engine(model, source, closed="friends")
        assert found.takes in ("memory", *found.advice.split())
        return found.takes

    assert takes() == "memory"
    for module in (engine_forecasts, forecasting):
        monkeypatch.setattr(module, "physical_memory", lambda: 1e6)
    assert takes() == "duckdb"
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    assert takes() == "spark"
    evidence = liftgbp.load_evidence(model, source, closed="friends")
    assert liftgbp.forecast(model, evidence=evidence, via="ground").engine == "duckdb"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_command_line_shows_it(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "model.mln").write_text(PAIRS, encoding="utf-8")
    source = network(tmp_path, 12, 14, 5)
    asked = ["query", str(tmp_path / "model.mln"), "-e", source, "--closed", "friends"]
    ran = CliRunner().invoke(cli, [*asked, "--engine", "duckdb", "--dry-run", *options])
    assert ran.exit_code == 0, ran.output
    if options:
        stages = json.loads(ran.output)["stages"]
        assert all(stage["seconds"] > 0 and stage["disk"] > 0 for stage in stages)
    else:
        assert "it needs no engine" in ran.output
    assert {path.name for path in tmp_path.iterdir()} == {"model.mln", "friends.csv"}


def test_limits_of_memory_are_kept(tmp_path: Path) -> None:
    source = network(tmp_path, 12, 14, 5)
    found = liftgbp.forecast_on_engine(liftgbp.parse(PAIRS), source, closed="friends", memory=0.1)
    assert found.gigabytes == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"evidence": "friends=nowhere.csv"}, "no such file"),
        ({"engine": "oracle"}, "engine must be duckdb or spark"),
        ({"memory": 0}, "memory .* must be a positive number"),
        ({"sizes": {"person": 3}}, "the tables name"),
    ],
)
def test_bad_input(tmp_path: Path, wrong: dict[str, object], message: str) -> None:
    asked = {"evidence": network(tmp_path, 12, 14, 5), "closed": "friends", **wrong}
    with pytest.raises(liftgbp.InputError, match=message):
        liftgbp.forecast_on_engine(liftgbp.parse(PAIRS), **asked)
