"""The evaluation of the paper on few sizes: its files, its numbers, and the logic of its claims."""

from __future__ import annotations

import csv
import importlib.util
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import liftgbp
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.oracle.reproduction import Cell, Claim, Measurement, Reproduction
from liftgbp.oracle.reproduction.claims import judge_claims, paper_kappa
from liftgbp.oracle.reproduction.experiments import CHAIN, EXPERIMENTS, friends_of_smokers
from liftgbp.solve import Status

FILES = {"times.svg", "probability.svg", "results.csv", "report.md"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Reproduction]:
    directory = tmp_path_factory.mktemp("results") / "new" / "directory"
    result = liftgbp.reproduce(
        directory, weights=(1.4,), sizes=(4, 6, 1000), iterations=60, compared=8
    )
    return directory, result


def claims_by_title(claims: tuple[Claim, ...]) -> dict[str, Claim]:
    return {claim.title: claim for claim in claims}


def chain_graph(people: int = 10) -> liftgbp.LiftedRegionGraph:
    return build_regions(shatter(CHAIN.model(1.4), {"person": people}))


@pytest.mark.slow
def test_files_are_complete_and_nothing_else_is_left(small: tuple[Path, Reproduction]) -> None:
    directory, result = small
    assert {path.name for path in directory.iterdir()} == FILES
    assert {path.name for path in result.files} == FILES
    for name in ("times.svg", "probability.svg"):
        assert (directory / name).read_text(encoding="utf-8").rstrip().endswith("</svg>")


@pytest.mark.slow
def test_table_holds_known_values(small: tuple[Path, Reproduction]) -> None:
    directory, result = small
    with (directory / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result.runs)
    found = {(r["model"], int(r["people"]), r["method"]): float(r["probability"]) for r in rows}
    # Belief propagation and exact values as published with the models.
    assert found["friends-smokers", 4, "lifted GBP"] == pytest.approx(0.4419851737, abs=1e-9)
    assert found["friends-smokers", 4, "ground GBP"] == pytest.approx(0.4419851737, abs=1e-9)
    assert found["friends-smokers", 4, "lifted BP"] == pytest.approx(0.4333408993, abs=1e-9)
    assert found["transitive", 4, "descent"] == pytest.approx(0.36600303, abs=1e-8)
    assert found["transitive", 4, "exact"] == pytest.approx(0.3844870272, abs=1e-10)
    assert found["friends-knows", 4, "exact"] == pytest.approx(0.3561012091, abs=1e-10)
    assert found["chain", 4, "exact"] == pytest.approx(0.3357653316, abs=1e-10)
    assert ("chain", 6, "exact") not in found


@pytest.mark.slow
def test_report_tells_setting_claims_and_figure_one(small: tuple[Path, Reproduction]) -> None:
    directory, result = small
    text = (directory / "report.md").read_text(encoding="utf-8")
    assert "60 iterations of flooding with damping 0.5" in text
    assert "does not print its weights: here the weight is 1.4" in text
    for claim in result.claims:
        assert f"| {claim.title} | {claim.verdict} |" in text
    assert "4 regions and 7 edges" in text
    for kappa in ("(N-3)", "(N-2)", "(N-2)(N-3)"):
        assert f"| {kappa} |" in text


@pytest.mark.slow
def test_lifted_equals_ground_was_measured(small: tuple[Path, Reproduction]) -> None:
    claim = claims_by_title(small[1].claims)["lifted equals ground"]
    assert claim.verdict == "reproduced"
    # Ground sizes among those given: 4 for all models, 6 for friends-smokers.
    assert len(claim.cells) == 5


def test_models_are_those_of_the_model_files() -> None:
    for experiment in EXPERIMENTS:
        own = liftgbp.infer(experiment.model(1.4), {"person": 5}, effort="quick")
        file = liftgbp.infer(
            liftgbp.load(MODELS / f"{experiment.name}.mln"), {"person": 5}, effort="quick"
        )
        assert own.log_z == pytest.approx(file.log_z, rel=1e-12)


@pytest.mark.parametrize(("weight", "people"), [(1.4, 3), (0.5, 4), (-2.0, 3)])
def test_closed_form_equals_enumeration(weight: float, people: int) -> None:
    ordered = [(x, y) for x in range(people) for y in range(people) if x != y]
    total = friends = 0.0
    for smokes in product((False, True), repeat=people):
        # Friendships other than that of 0 and 1 are summed out one by one.
        weights = {
            (x, y, f): math.exp(weight if not (f and smokes[x] and not smokes[y]) else 0.0)
            for x, y in ordered
            for f in (False, True)
        }
        others = math.prod(weights[x, y, False] + weights[x, y, True] for x, y in ordered[1:])
        x, y = ordered[0]
        friends += others * weights[x, y, True]
        total += others * (weights[x, y, False] + weights[x, y, True])
    assert friends_of_smokers(weight, people) == pytest.approx(friends / total, rel=1e-12)


def test_closed_form_ends_where_it_takes_long() -> None:
    assert friends_of_smokers(1.4, 10**6) == pytest.approx(0.5, abs=1e-9)
    assert math.isnan(friends_of_smokers(1.4, 10**9))


def test_verdict_counts_cases() -> None:
    def verdict(*holds: bool) -> str:
        return Claim("", "", "", tuple(Cell("", "", one) for one in holds)).verdict

    assert verdict(True, True) == "reproduced"
    assert verdict(True, False, False) == "reproduced in 1 of 3 cases"
    assert verdict(False) == "not reproduced"
    assert verdict() == "not measured"


def test_exceptions_are_grouped_by_series() -> None:
    cells = (Cell("a", "1", False), Cell("b", "1", True), Cell("a", "2", False))
    assert Claim("", "", "", cells).exceptions == ("a: 1, 2",)


def made_up_runs(model: str) -> list[Measurement]:
    """Runs in which every claim holds for the model."""
    runs = []
    for people in (4, 5, 10**9):
        run = Measurement(model, 1.4, people, "lifted GBP", 0.3, Status.DIVERGED, 0.02, 0.01, 4, 7)
        runs += [
            run,
            replace(run, method="lifted BP", probability=0.31),
            replace(run, method="descent", status=Status.CONVERGED),
            replace(run, method="descent on BP", status=Status.CONVERGED),
        ]
    ground = replace(runs[0], method="ground GBP", seconds=1.0, difference=1e-15, agrees=True)
    return [*runs, ground]


def verdicts(runs: list[Measurement]) -> dict[str, str]:
    return {claim.title: claim.verdict for claim in judge_claims(runs, chain_graph())}


def test_claims_hold_where_they_should() -> None:
    found = verdicts(made_up_runs("chain"))
    assert found.pop("GBP close to BP") == "not measured"
    assert set(found.values()) == {"reproduced"}


def changed(
    runs: list[Measurement], method: str, people: int, **change: object
) -> list[Measurement]:
    return [
        replace(run, **change) if (run.method, run.people) == (method, people) else run
        for run in runs
    ]


@pytest.mark.parametrize(
    ("title", "method", "change", "expected"),
    [
        ("domain-size independence", "lifted GBP", {"seconds": 9.0}, "reproduced in 2 of 3 cases"),
        ("graph generation", "lifted GBP", {"graph_seconds": 0.2}, "reproduced in 2 of 3 cases"),
        (
            "the chain does not converge by flooding",
            "lifted GBP",
            {"status": Status.CONVERGED},
            "reproduced in 2 of 3 cases",
        ),
        (
            "the chain converges by descent",
            "descent",
            {"status": Status.NO_MINIMUM},
            "reproduced in 2 of 3 cases",
        ),
    ],
)
def test_claims_fail_where_they_should(
    title: str, method: str, change: dict[str, object], expected: str
) -> None:
    runs = changed(made_up_runs("chain"), method, 10**9, **change)
    assert verdicts(runs)[title] == expected
    claim = claims_by_title(judge_claims(runs, chain_graph()))[title]
    assert claim.exceptions == ("chain, w = 1.4: N = 1,000,000,000",)


def test_ground_claims_fail_where_they_should() -> None:
    runs = changed(made_up_runs("chain"), "ground GBP", 4, agrees=False, seconds=0.001)
    found = verdicts(runs)
    assert found["lifted equals ground"] == found["time performance"] == "not reproduced"


def test_a_graph_that_changes_with_the_size_is_not_independent_of_it() -> None:
    runs = made_up_runs("chain")
    assert verdicts(changed(runs, "lifted GBP", 4, edges=6))["domain-size independence"] == (
        "reproduced"
    ), "small domains may have smaller graphs"
    assert verdicts(changed(runs, "lifted GBP", 5, edges=6))["domain-size independence"] == (
        "reproduced in 2 of 3 cases"
    )


def test_gbp_and_bp_are_compared_where_both_converge() -> None:
    runs = [replace(run, status=Status.CONVERGED) for run in made_up_runs("transitive")]
    assert verdicts(runs)["GBP close to BP"] == "reproduced"
    far = changed(runs, "lifted GBP", 5, probability=0.99)
    assert verdicts(far)["GBP close to BP"] == "reproduced in 2 of 3 cases"
    lost = changed(far, "lifted BP", 5, status=Status.DIVERGED)
    assert verdicts(lost)["GBP close to BP"] == "reproduced"


@pytest.mark.parametrize("people", [4, 7, 100])
def test_kappa_of_figure_one(people: int) -> None:
    # One fresh object of N - 3 (or N - 2), two of them at the single atom, none at pairs.
    graph = chain_graph(people)
    expected = sorted([people - 3] * 2 + [1] * 2 + [people - 2] * 2 + [(people - 2) * (people - 3)])
    assert sorted(paper_kappa(graph, edge) for edge in range(7)) == expected


@pytest.mark.slow
def test_without_matplotlib_table_and_report_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "report.md").write_text("old", encoding="utf-8")
    result = liftgbp.reproduce(tmp_path, weights=(0.5,), sizes=(7,), iterations=5, compared=1)
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt", "results.csv", "report.md"}
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert "liftgbp[plot]" in result.note
    assert result.note in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_interrupt_leaves_the_directory_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("old", encoding="utf-8")

    def impatient(stage: str, done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        liftgbp.reproduce(
            tmp_path, weights=(0.5,), sizes=(7,), iterations=5, compared=1, progress=impatient
        )
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == "old"


def test_bad_directories_and_settings_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for directory in (file, file / "below"):
        with pytest.raises(liftgbp.InputError, match="cannot write to"):
            liftgbp.reproduce(directory)
    with pytest.raises(liftgbp.InputError, match="at least one weight"):
        liftgbp.reproduce(tmp_path, weights=())
    with pytest.raises(liftgbp.InputError, match="4 people"):
        liftgbp.reproduce(tmp_path, sizes=(3,))


@pytest.mark.slow
def test_a_file_that_cannot_be_replaced_is_named(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(liftgbp.InputError, match=r"cannot write .*results\.csv: "):
        liftgbp.reproduce(tmp_path, weights=(0.5,), sizes=(7,), iterations=5, compared=1)
    assert not list(tmp_path.glob("*.unfinished*"))
