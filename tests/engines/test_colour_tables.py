"""Messages between kinds of atoms are those between atoms."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import liftgbp
from engine_networks import MANY_VALUED, PAIRS, TRIPLES, marginals, network, write
from liftgbp.engines.message_tables import Messages

COPIES, PEOPLE = 30, 5
ONE_WAY = PAIRS.replace("<=>", "=>")


def copies(folder: Path, seed: int, name: str = "friends") -> list[str]:
    """Many copies of one small network, whose people have names in any order."""
    draw = random.Random(seed)
    small = {tuple(draw.sample(range(PEOPLE), 2)) for _ in range(7)}
    people = [f"P{k}" for k in range(COPIES * PEOPLE)]
    draw.shuffle(people)
    rows = [
        (people[start + one], people[start + other])
        for start in range(0, len(people), PEOPLE)
        for one, other in small
    ]
    return [f"{name}={write(folder / f'{name}.csv', 'a,b', rows)}"]


def both(
    folder: Path, model: liftgbp.Model, sources: list[str], closed: str, regions: str = "bethe"
) -> liftgbp.EngineRun:
    """Compare marginals with and without compression; returns the run with it."""
    asked = {"closed": closed, "regions": regions}
    plain = liftgbp.run_on_engine(model, sources, folder / "plain", **asked)
    run = liftgbp.run_on_engine(model, sources, folder / "alike", compress=True, **asked)
    assert run.iterations == plain.iterations
    for path in (folder / "plain").glob("*.parquet"):
        found = marginals(folder / "alike", path.stem)
        expected = marginals(folder / "plain", path.stem)
        assert found.keys() == expected.keys()
        for key, probabilities in found.items():
            assert probabilities == pytest.approx(expected[key], abs=1e-12)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("text", [PAIRS, ONE_WAY], ids=["both ways", "one way"])
@pytest.mark.parametrize("seed", range(2))
def test_copies_need_no_more_kinds_than_one_of_them(tmp_path: Path, text: str, seed: int) -> None:
    run = both(tmp_path, liftgbp.parse(text), copies(tmp_path, seed), "friends")
    assert run.rows["kinds smokes"] <= PEOPLE
    assert run.rows["kinds smokes smokes"] * COPIES <= run.rows["regions smokes smokes"]


@pytest.mark.slow
def test_facts_tell_people_apart(tmp_path: Path) -> None:
    sources = copies(tmp_path, 1)
    observed = [("P1", "true"), ("P2", "false"), ("P3", "true")]
    sources.append(f"smokes={write(tmp_path / 'smokes.csv', 'x,value', observed)}")
    run = both(tmp_path, liftgbp.parse(PAIRS), sources, "friends")
    assert PEOPLE < run.rows["kinds smokes"] <= 4 * PEOPLE


@pytest.mark.slow
def test_several_predicates_and_values(tmp_path: Path) -> None:
    model = liftgbp.parse(MANY_VALUED.replace("-0.8 likes(Anna,m)\n", ""))
    run = both(tmp_path, model, copies(tmp_path, 3, "follows"), "follows")
    assert run.rows["kinds mood likes"] * COPIES <= run.rows["regions mood likes"]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "edges"), [(PAIRS, 60), (TRIPLES, 14)])
def test_where_it_does_not_pay(tmp_path: Path, text: str, edges: int) -> None:
    run = both(tmp_path, liftgbp.parse(text), [network(tmp_path, 22, edges, 5)], "friends")
    assert not any(name.startswith("kinds") for name in run.rows)


@pytest.mark.slow
def test_a_compressed_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, sources = liftgbp.parse(PAIRS), copies(tmp_path, 1)
    step = Messages.step

    def ended(self: Messages, iteration: int, rate: float) -> float:
        if iteration == 3:
            raise KeyboardInterrupt
        return step(self, iteration, rate)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Messages, "step", ended)
        asked = {"closed": "friends", "compress": True}
        liftgbp.run_on_engine(model, sources, tmp_path / "alike", **asked)
    assert (tmp_path / "alike.work").is_dir()
    both(tmp_path, model, sources, "friends")
