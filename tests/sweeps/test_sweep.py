"""Sweeps: the same answers as one by one, in files, and safe against interrupts."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import liftgbp
from liftgbp import InputError, Model, sweep, sweep_to_file
from liftgbp.lift.shatter import NormalModel, resize, shatter
from liftgbp.methods.series import SharedPlans
from liftgbp.model.example_models import FOLDER as MODELS

TEXT = """
friends(person, person)
smokes(person)
$w = 1.4
$w friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
QUERY = "friends(x,y)"


@pytest.fixture
def model() -> Model:
    return liftgbp.parse(TEXT)


# --- the same answers as one by one


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize("solver", [liftgbp.Auto(), liftgbp.Flooding()], ids=["auto", "flooding"])
@pytest.mark.parametrize("name", ["friends-smokers", "transitive", "friends-knows", "married"])
def test_a_sweep_gives_the_answers_of_single_runs(
    name: str, solver: liftgbp.Auto | liftgbp.Flooding
) -> None:
    model = liftgbp.load(MODELS / f"{name}.mln")
    # Sizes below and above the threshold from which on the region graph stays the same.
    sizes = [1, 2, 3, 4, 5, 6, 7, 12, 1000]
    rows = sweep(model, {"person": sizes}, solver=solver, effort="quick").rows
    for size in sizes:
        single = liftgbp.infer(model, {"person": size}, solver=solver, effort="quick")
        found = [row for row in rows if row.point.sizes == (("person", size),)]
        assert [row.answer.atom for row in found] == [row.atom for row in single.all]
        assert {row.status for row in found} == {single.status.value}
        if single.flaw is None:
            assert found[0].log_z == pytest.approx(single.log_z, rel=1e-10)
            for row, answer in zip(found, single.all, strict=True):
                assert row.answer.values == pytest.approx(answer.values, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "compared"), [("friends-smokers", (6, 7, 8, 137)), ("moods", (7, 68, 194, 557))]
)
def test_long_sweeps_give_the_answers_of_single_runs(name: str, compared: tuple[int, ...]) -> None:
    """Minima that exist between two sizes only are found, too, and the verdict is the same."""
    model = liftgbp.load(MODELS / f"{name}.mln")
    sizes = sorted({max(2, round(10 ** (k * 9 / 59))) for k in range(60)} | {*range(2, 9)})
    rows = list(sweep(model, {"person": sizes}, effort="quick", regions="bethe"))
    for people in compared:
        alone = liftgbp.infer(model, {"person": people}, effort="quick", regions="bethe")
        own = [row for row in rows if row.point.sizes == (("person", people),)]
        assert {row.standing for row in own} == {alone.standing}
        assert {row.reason for row in own} == {alone.reason}
        assert own[0].log_z == pytest.approx(alone.result.log_z, rel=1e-12)


def test_small_domains_whose_regions_are_alike_but_not_their_atoms() -> None:
    """Three people have the regions of any more, but fewer steps in the order of their atoms."""
    model = liftgbp.parse("""
    person = {Anna, Bob}
    p(person)
    t(person, person, thing)
    parfactor p(z), t(Anna,x,b) | z != x : [2, 2, 1, 3.5]
    """)
    sizes = [2, 3, 4, 5, 6, 9, 40]
    rows = sweep(model, {"person": sizes, "thing": 3}, effort="quick").rows
    for size in sizes:
        single = liftgbp.infer(model, {"person": size, "thing": 3}, effort="quick")
        found = [row for row in rows if dict(row.point.sizes)["person"] == size]
        assert found[0].log_z == pytest.approx(single.log_z, rel=1e-10)
        for row, answer in zip(found, single.all, strict=True):
            assert row.answer.values == pytest.approx(answer.values, abs=1e-8)


def test_weights_are_swept_in_a_grid(model: Model) -> None:
    result = sweep(
        model, {"person": [3, 9]}, weights={"w": [0.0, 0.7]}, queries=[QUERY], effort="quick"
    )
    settings = list(dict.fromkeys(row.point for row in result.rows))
    assert [point.as_dict() for point in settings] == [
        {"person": 3, "$w": 0.0},
        {"person": 3, "$w": 0.7},
        {"person": 9, "$w": 0.0},
        {"person": 9, "$w": 0.7},
    ]
    single = liftgbp.infer(model.with_weights({"w": 0.7}), {"person": 9}, effort="quick")
    last = result.rows[-1].answer
    assert last["true"] == pytest.approx(single.marginal(QUERY), abs=1e-9)


def test_empty_sweeps_are_refused(model: Model) -> None:
    with pytest.raises(InputError, match="empty"):
        sweep(model, {"person": []}, effort="quick")


def test_unknown_names_are_refused(model: Model) -> None:
    with pytest.raises(InputError, match="unknown sort"):
        sweep(model, {"people": [3]}, effort="quick")
    with pytest.raises(InputError, match=r"\$v"):
        sweep(model, {"person": [3]}, weights={"v": [1.0]}, effort="quick")


# --- rows come as they are found


def test_rows_come_batch_by_batch(model: Model) -> None:
    begun: list[int] = []
    sizes = [2, 3, 4, 5, 6]
    result = sweep(
        model,
        {"person": sizes},
        queries=["smokes(x)"],
        progress=lambda stage, done, total: begun.append(done),
        effort="quick",
        batch=2,
    )
    assert begun == []
    rows = iter(result)
    first = next(rows)
    assert begun == [0]
    assert [first, *rows] == list(result.rows) == list(result)
    assert begun == [0, 2, 4]
    assert [dict(row.point.sizes)["person"] for row in result.rows] == sizes


@pytest.mark.slow
def test_a_sweep_that_failed_does_not_look_complete(model: Model) -> None:
    def impatient(stage: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    result = sweep(model, {"person": range(2, 400)}, progress=impatient, effort="quick")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            _ = result.rows


def test_records_make_a_frame(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any library with a DataFrame that takes a list of records; without one, a clear error."""

    class Frame:
        def __init__(self, records: list[dict[str, object]]) -> None:
            self.records = records

    result = sweep(model, {"person": [3]}, queries=[QUERY], effort="quick")
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=Frame))
    assert result.to_frame().records == result.records()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        result.to_frame()


# --- evidence, sums over counts, trust


@pytest.mark.slow
def test_evidence_is_the_same_at_all_points(model: Model) -> None:
    evidence = liftgbp.parse_evidence(model, "smokes(Anna)\n!smokes(Bob)\nfriends(Anna,Bob)")
    weights = [0.5, 1.4]
    rows = sweep(
        model,
        {"person": [3, 10]},
        weights={"w": weights},
        evidence=evidence,
        queries=["smokes(x)"],
        effort="quick",
    ).rows
    for row in rows:
        ((_, weight),) = row.point.weights
        weighted = model.with_weights({"w": weight})
        known = liftgbp.parse_evidence(weighted, "smokes(Anna)\n!smokes(Bob)\nfriends(Anna,Bob)")
        alone = liftgbp.infer(
            weighted, dict(row.point.sizes), evidence=known, via="lifted", effort="quick"
        )
        (same,) = (
            answer
            for answer in alone.query("smokes(x)")
            if (answer.atom, answer.where) == (row.answer.atom, row.answer.where)
        )
        assert row.answer.values == pytest.approx(same.values, abs=1e-9)
        assert row.log_z == pytest.approx(alone.result.log_z, rel=1e-12)
    assert len(rows) == 2 * 2 * 3


def test_sums_over_counts_at_every_point(model: Model) -> None:
    rows = sweep(
        model, {"person": [3, 10, 1000]}, sum_over="smokes", queries=[QUERY], effort="quick"
    ).rows
    for row in rows:
        alone = liftgbp.infer(model, dict(row.point.sizes), sum_over="smokes", effort="quick")
        assert row.standing is not liftgbp.Standing.REFUSED
        assert row.log_z == pytest.approx(alone.result.log_z, rel=1e-12)
        if row.answer.where == "x != y":
            assert row.answer["true"] == pytest.approx(alone.marginal(QUERY), abs=1e-12)


def test_rows_say_why_a_point_is_not_trusted() -> None:
    """Flooding ends at a saddle where objects agree strongly."""
    model = liftgbp.parse("s(thing)\n1.5 s(x) <=> s(y) | x != y")
    for row in sweep(
        model, {"thing": [2, 9]}, solver=liftgbp.Flooding(iterations=3), effort="quick"
    ):
        alone = liftgbp.infer(
            model, dict(row.point.sizes), solver=liftgbp.Flooding(iterations=3), effort="quick"
        )
        assert (row.standing, row.reason) == (alone.standing, alone.reason)
        (record, *_) = row.records()
        assert record["standing"] == row.standing.value
        assert record["reason"] == row.reason


def test_a_journal_tells_evidence_apart(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    one, other = (liftgbp.parse_evidence(model, f"smokes({name})") for name in ("Anna", "Bob"))
    with pytest.raises(KeyboardInterrupt):
        sweep_to_file(
            model,
            path,
            {"person": [2, 3]},
            evidence=one,
            progress=Interrupt(after=1),
            effort="quick",
            batch=1,
        )
    with pytest.raises(InputError, match="another model"):
        sweep_to_file(model, path, {"person": [2, 3]}, evidence=other, effort="quick", batch=1)
    assert sweep_to_file(model, path, {"person": [2, 3]}, evidence=one, effort="quick", batch=1)


# --- files


def test_csv_and_json_hold_the_same_table(model: Model, tmp_path: Path) -> None:
    sizes = {"person": [2, 5, 50]}
    records = sweep_to_file(model, tmp_path / "s.csv", sizes, queries=[QUERY], effort="quick")
    sweep_to_file(model, tmp_path / "s.json", sizes, queries=[QUERY], effort="quick")
    assert json.loads((tmp_path / "s.json").read_text()) == records
    with (tmp_path / "s.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["probability"]) for row in rows] == [r["probability"] for r in records]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.csv", "s.json"]


@pytest.mark.slow
def test_parquet_and_plots(model: Model, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("matplotlib")
    sizes = {"person": [2, 5, 50]}
    records = sweep_to_file(model, tmp_path / "s.parquet", sizes, queries=[QUERY], effort="quick")
    table = duckdb.read_parquet(str(tmp_path / "s.parquet"))
    assert table.count("*").fetchall() == [(len(records),)]
    for name, magic in (("s.png", b"\x89PNG"), ("s.svg", b"<?xml")):
        sweep_to_file(
            model,
            tmp_path / name,
            sizes,
            weights={"w": [0.5, 1.0]},
            queries=[QUERY],
            effort="quick",
        )
        assert (tmp_path / name).read_bytes().startswith(magic)


@pytest.mark.parametrize("name", ["s.txt", "s", "missing/s.csv"])
def test_unwritable_outputs_are_refused_before_anything_runs(
    model: Model, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "liftgbp.sweeps.sweep_files.solved_batches", lambda *a, **k: pytest.fail("it ran")
    )
    with pytest.raises(InputError, match="cannot write"):
        sweep_to_file(model, tmp_path / name, {"person": [3]}, effort="quick")


class Interrupt:
    """Stops a sweep after some batches."""

    def __init__(self, after: int) -> None:
        self._left = after

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"effort": "quick", "batch": 2}
    sizes = {"person": [2, 3, 4, 5, 6, 7]}
    whole = sweep_to_file(model, tmp_path / "whole.csv", sizes, queries=[QUERY], **options)
    path = tmp_path / "s.csv"
    with pytest.raises(KeyboardInterrupt):
        sweep_to_file(model, path, sizes, queries=[QUERY], progress=Interrupt(after=2), **options)
    assert not path.exists()
    journal = tmp_path / "s.csv.partial"
    assert len(journal.read_text().splitlines()) == 1 + 4
    # An interrupt may also cut a line short: its batch is solved again.
    journal.write_text(journal.read_text()[:-20])
    asked: list[int] = []
    original = SharedPlans.prepare

    def counting(plans: SharedPlans, normal: NormalModel) -> object:
        asked.append(normal.sizes["person"])
        return original(plans, normal)

    monkeypatch.setattr(SharedPlans, "prepare", counting)
    records = sweep_to_file(model, path, sizes, queries=[QUERY], **options)
    assert asked == [4, 5, 6, 7]
    assert not journal.exists()
    assert len(path.read_text().splitlines()) == 1 + len(whole)
    assert records == whole


def test_the_journal_of_another_sweep_is_not_touched(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    with pytest.raises(KeyboardInterrupt):
        sweep_to_file(
            model, path, {"person": [2, 3]}, progress=Interrupt(after=1), effort="quick", batch=1
        )
    journal = tmp_path / "s.csv.partial"
    before = journal.read_text()
    other = model.with_weights({"w": 0.3})
    for changed, options in ((other, {}), (model, {"solver": liftgbp.Flooding()})):
        with pytest.raises(InputError, match="another model"):
            sweep_to_file(changed, path, {"person": [2]}, **options, effort="quick", batch=1)
    assert journal.read_text() == before


# --- what points share


def test_points_that_rule_out_different_states() -> None:
    """A potential of zero makes states impossible at some points of a sweep and not at others."""
    text = "p(thing)\n$w = 1\nparfactor p(x), p(y) | x != y : [1, 2, $w, 3]"
    model = liftgbp.parse(text)
    for weights in ([0.0, 1.0], [1.0, 0.0]):
        rows = sweep(
            model, {"thing": 6}, weights={"w": weights}, queries=["p(x)"], effort="quick"
        ).rows
        for row, weight in zip(rows, weights, strict=True):
            alone = liftgbp.infer(model.with_weights({"w": weight}), {"thing": 6}, effort="quick")
            assert row.log_z == pytest.approx(alone.log_z, rel=1e-9)
            assert row.answer["true"] == pytest.approx(alone.marginal("p(x)"), abs=1e-9)


@pytest.mark.parametrize(
    "rule",
    [
        "1.5 s(x) <=> s(y) | x != y",
        "1.5/|person| s(x) <=> s(y) | x != y",
        "0.5 s(x) v !s(y) v t(z)",
        "0.7 s(x) ^ (t(y) v !t(y))",
        "0.3 s(Anna) ^ t(x)",
    ],
)
def test_sizes_that_share_tables_and_sizes_that_do_not(rule: str) -> None:
    """Weights over sizes, variables that leave a scope, and constants: as if shattered anew."""
    model = liftgbp.parse(f"s(person)\nt(person)\n{rule}")
    small = shatter(model, {"person": 4})
    for people in (2, 3, 9, 1000):
        anew = shatter(model, {"person": people})
        again = resize(small, {"person": people})
        assert (again.sizes, again.classes) == (anew.sizes, anew.classes)
        assert again.log_constant == anew.log_constant
        assert len(again.parfactors) == len(anew.parfactors)
        for mine, theirs in zip(again.parfactors, anew.parfactors, strict=True):
            assert (mine.atoms, mine.exchangeable) == (theirs.atoms, theirs.exchangeable)
            assert mine.log_table.tolist() == theirs.log_table.tolist()


@pytest.mark.parametrize("query", ["q(x)", "q(x) ^ p(y)", "q(x) ^ q(y) | x != y", "p(y) | q(x)"])
def test_small_domains_have_fewer_rows(query: str) -> None:
    """The points of one layout need not have the same rows."""
    model = liftgbp.parse("p(thing)\nq(thing)\n1 p(x)")
    sizes = [1, 2, 3, 50]
    if "!=" in query:
        sizes = sizes[1:]
    rows = sweep(model, {"thing": sizes}, queries=[query], effort="quick").rows
    alone = [
        (size, answer)
        for size in sizes
        for answer in liftgbp.infer(model, {"thing": size}, effort="quick").query(query)
    ]
    assert [(dict(row.point.sizes)["thing"], row.answer.where) for row in rows] == [
        (size, answer.where) for size, answer in alone
    ]
    for row, (_, answer) in zip(rows, alone, strict=True):
        assert row.answer.count == answer.count
        assert row.answer.values == pytest.approx(answer.values)


def test_closed_predicates_are_closed_in_sweeps() -> None:
    """Without friends everybody smokes or not alone, and all implications hold."""
    model = liftgbp.parse("""
    *friends(person, person)
    smokes(person)
    1.4 friends(x,y) ^ smokes(x) => smokes(y)
    0.3 smokes(x)
    """)
    rows = sweep(
        model, sizes={"person": [1, 3, 10, 1000]}, queries=["smokes(x)"], effort="quick"
    ).rows
    assert len(rows) == 4
    for row in rows:
        ((_, size),) = row.point.sizes
        assert row.answer["true"] == pytest.approx(1 / (1 + math.exp(-0.3)))
        assert row.log_z == pytest.approx(1.4 * size**2 + size * math.log(1 + math.exp(0.3)))


def test_a_sweep_that_fails_at_once_leaves_nothing_in_the_way(model: Model, tmp_path: Path) -> None:
    output = tmp_path / "sweep.csv"
    with pytest.raises(InputError, match="region family"):
        sweep_to_file(model, output, {"person": [3]}, regions="circles", effort="quick")
    assert not list(tmp_path.iterdir())
    assert sweep_to_file(model, output, {"person": [3]}, queries=[QUERY], effort="quick")


def test_repeated_sizes_are_one_point(model: Model, tmp_path: Path) -> None:
    once = sweep_to_file(model, tmp_path / "once.csv", {"person": [3, 4]}, effort="quick")
    assert (
        sweep_to_file(model, tmp_path / "twice.csv", {"person": [3, 4, 3]}, effort="quick") == once
    )


def test_one_query_needs_no_list(model: Model) -> None:
    one, listed = (
        sweep(model, {"person": [3]}, queries=given, effort="quick") for given in (QUERY, [QUERY])
    )
    assert one.rows == listed.rows


def test_a_model_without_predicates(tmp_path: Path) -> None:
    empty = liftgbp.parse("person = 3")
    with pytest.raises(liftgbp.InputError, match="nothing to ask"):
        liftgbp.sweep_to_file(empty, tmp_path / "sweep.csv", {"person": [2, 3]}, effort="quick")
    assert not list(tmp_path.iterdir())


def test_quantifiers_over_many_objects_are_answered_as_by_infer() -> None:
    model = liftgbp.parse("s(t)\nr(t,t)\n1 s(x) => EXIST y r(x,y)\n-0.1 r(x,y)")
    (row,) = liftgbp.sweep(model, {"t": [40]}, queries="s(x)")
    alone = liftgbp.infer(model, {"t": 40})
    assert row.answer["true"] == pytest.approx(alone.marginal("s(x)"), abs=1e-12)
    assert row.standing is not liftgbp.Standing.REFUSED
