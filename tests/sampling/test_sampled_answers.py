"""A sample confirms answers, contradicts them and takes their place, or settles nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import liftgbp
from liftgbp import Kind, Standing
from liftgbp.methods.sampling import sampler, second_sample
from liftgbp.posterior import Confirmation, Silence, Support, Unconfirmed

TRANSITIVE = "r(person,person)\n1.5 r(x,y) ^ r(y,z) => r(x,z)"


def sampled(model: liftgbp.Model, people: int, **options: Any) -> liftgbp.Answers:
    """Answers that are a sample, which is trusted."""
    answers = liftgbp.infer(model, {"person": people}, **options)
    assert answers.verdict.kind is Kind.SAMPLED
    assert (answers.standing, answers.trusted) == (Standing.CONFIRMED, True)
    assert answers.used.startswith("sampled (")
    return answers


def probability(answers: liftgbp.Answers, query: str) -> tuple[float, float]:
    """The probability of the last row of a query, and its standard error."""
    row = answers.query(query)[-1]
    error = row.error_of(("true",))
    assert error is not None
    return row["true"], error


@pytest.mark.slow
def test_layers_that_regions_do_not_see_are_sampled() -> None:
    """Over five people there is an exact answer; the approximation is off by 0.03."""
    model = liftgbp.load("example:transitive")
    exact = liftgbp.infer(model, {"person": 5}, exact=True)
    answers = sampled(model, 5, exact=False)
    p, error = probability(answers, "r(x,y)")
    assert p == pytest.approx(exact.query("r(x,y)")[-1]["true"], abs=5 * error)
    assert 0 < error < 0.003
    made = answers.posterior.provenance.sample
    assert made is not None and made.log_z_error is not None
    assert answers.log_z == pytest.approx(exact.log_z, abs=5 * made.log_z_error)


@pytest.mark.slow
def test_every_kind_of_query_is_answered_by_the_sample() -> None:
    model, sizes = liftgbp.load("example:transitive"), {"person": 5}
    exact = liftgbp.infer(model, sizes, exact=True)
    answers = sampled(model, 5, exact=False)
    for query in (
        "r(x,y) ^ r(y,x) | x != y",
        "r(x,y) ^ r(y,z) | x != y, y != z, x != z",
        "r(x,z) | r(x,y), r(y,z), x != y, y != z, x != z",
        "r(x,y) v r(y,x) | x != y",
    ):
        for ours, true in zip(answers.query(query), exact.query(query), strict=True):
            assert (ours.atom, ours.where, ours.count) == (true.atom, true.where, true.count)
            for key, p in true.values.items():
                error = ours.error_of(key)
                assert error is not None
                assert ours.values[key] == pytest.approx(p, abs=5 * error + 1e-9), query
    assert answers.marginal("r(x,y) | x != y") == answers.query("r(x,y) | x != y")[0]["true"]


@pytest.mark.slow
def test_counts_are_read_off_the_sample() -> None:
    """In how many relations among six people are at least two related to themselves?"""
    model = liftgbp.parse(TRANSITIVE + "\n0.5 r(x,x)")
    exact = liftgbp.infer(model, {"person": 5}, exact=True)
    answers = sampled(model, 5, exact=False)
    ours, true = answers.count("r(x,x)"), exact.count("r(x,x)")
    assert ours.mean == pytest.approx(true.mean, abs=0.05)
    assert ours.spread == pytest.approx(true.spread, abs=0.05)
    assert ours.at_least(2) == pytest.approx(true.at_least(2), abs=0.02)
    (row,) = answers.query("#{x : r(x,x)} >= 2")
    assert row["true"] == pytest.approx(true.at_least(2), abs=0.02)
    assert 0 < (row.error_of(("true",)) or 0.0) < 0.01


@pytest.mark.slow
def test_tables_and_json_have_standard_errors(tmp_path: Path) -> None:
    answers = sampled(liftgbp.load("example:transitive"), 5, exact=False)
    columns = answers.to_columns("r(x,y)")
    p, error = probability(answers, "r(x,y) | x != y")
    others = columns["arguments"] != ""
    assert set(columns["standard_error"][others].round(12)) == {0.0, round(error, 12)}
    assert columns["probability"][others].max() >= p - 1e-12
    told = json.loads(json.dumps(answers.as_dict(["r(x,y)"])))
    assert (told["standing"], told["trusted"]) == ("confirmed", True)
    assert told["log_z_error"] > 0
    assert told["sample"]["chains"] == 256
    assert told["answers"][-1]["values"][-1]["standard_error"] == error
    answers.write_all(tmp_path / "all.csv")
    assert "standard_error" in (tmp_path / "all.csv").read_text().splitlines()[0]
    assert "±" in answers._repr_html_()


@pytest.mark.slow
def test_the_same_on_the_ground() -> None:
    """Regions of a transitive relation are as wrong there: 0.13 for 0.24."""
    model = liftgbp.parse(TRANSITIVE)
    by_classes = probability(sampled(model, 12), "r(x,y)")
    answers = sampled(model, 12, via="ground")
    columns = answers.to_columns("r(x,y) | x != y")
    assert columns["probability"].mean() == pytest.approx(by_classes[0], abs=0.005)
    assert columns["standard_error"].max() < 0.01


@pytest.mark.slow
def test_networks_are_sampled(tmp_path: Path) -> None:
    model = liftgbp.parse(TRANSITIVE)
    liftgbp.export_network(model, tmp_path / "net.uai", {"person": 5})
    network = liftgbp.load_network(tmp_path / "net.uai")
    answers = liftgbp.infer(network, exact=False)
    exact = liftgbp.infer(network)
    assert answers.trusted
    largest = exact.compare(answers).largest
    assert largest is not None and abs(largest.difference) < 0.02


@pytest.mark.slow
def test_couples_smoke_less_than_blocks_say() -> None:
    """A sum over how many of ten people are married to each other."""
    single, couple = 1 + math.exp(0.4), 1 + math.exp(0.8) + 2 * math.exp(0.4 - 2.4)
    weights = [
        math.factorial(10)
        / (math.factorial(k) * 2**k * math.factorial(10 - 2 * k))
        * single ** (10 - 2 * k)
        * couple**k
        for k in range(6)
    ]
    chances = [math.exp(0.4) / single, (math.exp(0.8) + math.exp(0.4 - 2.4)) / couple]
    married = sum(k / 5 * own for k, own in enumerate(weights)) / sum(weights)
    exact = (1 - married) * chances[0] + married * chances[1]
    answers = liftgbp.infer(liftgbp.load("example:married"), {"person": 10})
    assert answers.trusted
    row = answers.query("smokes(x)")[-1]
    error = row.error_of(("true",)) or 0.002
    assert row["true"] == pytest.approx(exact, abs=5 * error)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"blocks": "auto"}, {"regions": "auto"}])
def test_methods_that_are_named_are_refused_not_replaced(options: dict[str, Any]) -> None:
    model = liftgbp.load("example:transitive")
    answers = liftgbp.infer(model, {"person": 8}, **options)
    assert answers.standing is Standing.REFUSED
    assert answers.verdict.kind is not Kind.SAMPLED
    assert answers.reason.startswith("a sample says")


RIGHT = [
    ("example:friends-knows", "person", 5),
    ("example:chain", "person", 5),
    ("p(t)\nq(t)\n0.7 p(x) ^ q(y) | x != y\n-1 p(x)", "t", 5),
    ("r(t,t)\n0.5 r(x,y) => r(y,x) | x != y\n-0.3 r(x,y) ^ r(y,z) | distinct", "t", 4),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "sort", "size"), RIGHT)
def test_right_answers_are_confirmed(text: str, sort: str, size: int) -> None:
    model = liftgbp.load(text) if text.startswith("example:") else liftgbp.parse(text)
    answers = liftgbp.infer(model, {sort: size}, exact=False)
    exact = liftgbp.infer(model, {sort: size}, exact=True)
    assert answers.trusted, answers.because
    assert answers.verdict.kind is not Kind.SAMPLED
    if answers.approximate:
        support = answers.posterior.support
        assert isinstance(support, Confirmation) and support.by is Support.SAMPLE
        assert answers.because.startswith("a sample says the same")
    comparison = answers.compare(exact)
    assert comparison.agrees, comparison.sentence


@pytest.mark.slow
def test_a_sample_is_drawn_once_and_where_it_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(target: sampler.Target, *options: Any) -> Any:
        sizes.append(target.problem.sizes["person"])
        return sampler.drawn_from(target, *options)

    monkeypatch.setattr(second_sample, "drawn_from", counted)
    model = liftgbp.load("example:transitive")
    for people in (4, 7):
        liftgbp.infer(model, {"person": people})
    liftgbp.infer(model, {"person": 7}, effort="quick")
    liftgbp.infer(model, {"person": 7}, regions="objects:3")
    # Over four people the answer is exact.
    assert sizes == [7]


def test_quick_answers_are_unconfirmed() -> None:
    model = liftgbp.load("example:friends-smokers")
    answers = liftgbp.infer(model, {"person": 1000}, effort="quick")
    assert (answers.standing, answers.trusted) == (Standing.UNCONFIRMED, False)
    assert answers.flaw is None
    assert answers.posterior.support == Unconfirmed(Silence.NOT_ASKED)
    assert answers.reason == answers.because


@pytest.mark.slow
def test_smaller_worlds_confirm_large_ones() -> None:
    """One person in eight is known by another, in the chain: half of the pairs across blocks."""
    model = liftgbp.load("example:chain")
    answers = liftgbp.infer(model, {"person": 10**6})
    support = answers.posterior.support
    assert isinstance(support, Confirmation) and support.by is Support.SMALLER_SAMPLE
    assert answers.trusted and max(support.sizes.values()) < 100
    assert answers.marginal("r(x,y) | x != y") == pytest.approx(1 / 8, abs=1e-3)


@pytest.mark.slow
def test_smaller_worlds_do_not_confirm_what_they_contradict() -> None:
    answers = liftgbp.infer(liftgbp.load("example:transitive"), {"person": 10**6})
    support = answers.posterior.support
    assert isinstance(support, Unconfirmed) and support.why is Silence.SAMPLE_DIFFERS
    assert answers.standing is Standing.UNCONFIRMED
    assert "differs from the same method" in answers.because


def test_an_answer_that_no_sample_can_judge_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that was due was not made."""

    def without_worlds(*_: object, **__: object) -> None:
        raise liftgbp.CapacityError("no world that satisfies all hard formulas was found")

    model, sizes = liftgbp.load("example:transitive"), {"person": 4}
    monkeypatch.setattr(second_sample, "drawn_from", without_worlds)
    answers = liftgbp.infer(model, sizes, exact=False)
    assert answers.standing is Standing.REFUSED
    assert answers.flaw is not None and answers.flaw.kind is liftgbp.Flaw.NO_SAMPLE
    assert "no possible world was found" in answers.reason
    assert liftgbp.infer(model, sizes, exact=True).trusted
