"""Why a probability is what it is: pulls add up, and rules are really left out."""

from __future__ import annotations

import json
import math
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import liftgbp
from liftgbp.cli.commands import cli
from liftgbp.report.explaining import POSSIBLE, Explanation, aumann_shapley, log_odds

MODELS = [
    ("friends-smokers", "smokes(x)", 20),
    ("friends-smokers", "friends(x,y)", 20),
    ("transitive", "r(x,y)", 12),
    ("chain", "r(x,y)", 10),
    ("town", "smokes(x)", 1000),
    ("town", "cancer(x)", 1000),
    ("town", "friends(x,y)", 10**6),
    ("friends-knows", "knows(x,y)", 15),
]


def explained(
    text: str, query: str, size: int, value: str = "true", **options: object
) -> Explanation:
    model = liftgbp.parse(text)
    sizes = dict.fromkeys(model.sorts, size)
    given = {"effort": "quick", **options}
    return liftgbp.infer(model, sizes, **given).explain(query, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "query", "size"), MODELS)
def test_pulls_add_up_to_the_log_odds(name: str, query: str, size: int) -> None:
    model = liftgbp.load(f"example:{name}")
    answers = liftgbp.infer(model, dict.fromkeys(model.sorts, size), effort="quick")
    found = answers.explain(query, rules=False)
    best = answers.at(answers.minima[0]) if answers.minima else answers
    assert found.pulls
    together = math.fsum(own.log_odds for own in found.pulls)
    assert together == pytest.approx(log_odds(best.marginal(query)), abs=1e-5)


def test_in_a_region_of_one_atom_pulls_are_weights() -> None:
    found = explained("p(thing)\n0.5 p(x)\n-0.2 p(x)\n0.1 !p(x)", "p(x)", 7)
    assert sorted(own.log_odds for own in found.pulls) == pytest.approx([-0.2, -0.1, 0.5])


def test_on_a_tree_messages_are_sums_over_the_other_side() -> None:
    """q(x) depends on p(x) alone, and p(x) on nothing else."""
    found = explained(
        "p(thing)\nq(thing)\nr(thing)\n0.7 p(x)\n1.1 p(x) => q(x)\n2 p(x) ^ r(x)", "p(x)", 5
    )
    toward_q = math.log((math.exp(1.1) + 1) / (2 * math.exp(1.1)))
    toward_r = math.log((math.exp(2) + 1) / 2)
    messages = sorted(own.log_odds for own in found.pulls if own.message)
    assert messages == pytest.approx(sorted([toward_q, toward_r]), abs=1e-8)
    assert found.log_odds == pytest.approx(0.7 + toward_q + toward_r, abs=1e-8)


def test_hard_rules_pull_by_what_they_leave_possible() -> None:
    """Of p, q with p or q, three states are left, and p holds in two of them."""
    found = explained("p(thing)\nq(thing)\np(x) v q(x).", "p(x)", 3)
    (only,) = found.pulls
    assert only.source == POSSIBLE
    assert only.log_odds == pytest.approx(math.log(2))


def test_values_other_than_true() -> None:
    text = "mood(thing) : {low, middle, high}\n1 mood(x) = low\n-1 mood(x) = high"
    found = explained(text, "mood(x)", 4, "low")
    weights = [math.exp(1), 1.0, math.exp(-1)]
    assert found.probability == pytest.approx(weights[0] / sum(weights))
    together = math.fsum(own.log_odds for own in found.pulls)
    assert together == pytest.approx(math.log(weights[0] / (weights[1] + weights[2])))


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_rules_are_left_out(effort: str) -> None:
    lines = ["0.4 s(x)", "0.9 f(x,y) ^ s(x) => s(y) | x != y", "-0.5 f(x,y) | x != y"]
    head = "s(person)\nf(person,person)\n"
    found = explained(head + "\n".join(lines), "s(x)", 6, effort=effort)
    assert [own.rule for own in found.without] == lines
    for number, own in enumerate(found.without):
        left = head + "\n".join(lines[:number] + lines[number + 1 :])
        other = liftgbp.infer(liftgbp.parse(left), {"person": 6}, effort=effort)  # type: ignore[call-overload]
        assert own.probability == pytest.approx(other.marginal("s(x)"), abs=1e-9)
        assert own.change == pytest.approx(found.log_odds - log_odds(own.probability))


def test_message_passing_and_descent_have_the_same_messages() -> None:
    model = liftgbp.parse(
        "s(person)\nf(person,person)\n0.4 s(x)\n0.2 f(x,y) ^ s(x) => s(y) | x != y"
    )
    sizes = {"person": 8}
    flooded = liftgbp.infer(model, sizes, effort="quick", solver=liftgbp.Flooding(iterations=3000))
    descended = liftgbp.infer(model, sizes, effort="quick", solver=liftgbp.Descent())
    assert flooded.marginal("s(x)") == pytest.approx(descended.marginal("s(x)"), abs=1e-8)
    one, other = (own.explain("s(x)", rules=False).pulls for own in (flooded, descended))
    assert {p.source: round(p.log_odds, 5) for p in one} == {
        p.source: round(p.log_odds, 5) for p in other
    }


def test_evidence_stays() -> None:
    model = liftgbp.parse("s(person)\nf(person,person)\n1 f(x,y) ^ s(x) => s(y) | x != y\n0.3 s(x)")
    answers = liftgbp.infer(model, {"person": 5}, evidence="s(Anna)", effort="quick")
    found = answers.explain("s(x)")
    assert "no evidence on x" in found.notes[0]
    (first, second) = found.without
    alone = liftgbp.parse("s(person)\nf(person,person)\n0.3 s(x)")
    other = liftgbp.infer(alone, {"person": 5}, evidence="s(Anna)", effort="quick")
    unknown = {row.where: row["true"] for row in other.query("s(x)")}
    assert first.probability == pytest.approx(unknown["no evidence on x"])
    assert second.probability < found.probability


def test_exact_answers_are_explained_by_the_messages_of_quick_ones() -> None:
    answers = liftgbp.infer(liftgbp.load("example:town"), {"person": 20})
    assert answers.verdict.kind is liftgbp.Kind.EXACT
    found = answers.explain("smokes(x)", rules=False)
    assert found.pulls
    assert "effort='quick'" in found.notes[0]


def test_atoms_that_no_rule_is_about() -> None:
    found = explained("p(thing)\nq(thing)\n1 p(x)", "q(x)", 4)
    assert not found.pulls
    assert "no rule is about this atom" in found.notes[0]
    assert [own.change for own in found.without] == [0.0]


def test_what_cannot_be_explained() -> None:
    answers = liftgbp.infer(liftgbp.parse("p(thing)\n1 p(x)"), {"thing": 3})
    with pytest.raises(liftgbp.QueryError, match="takes the values false, true, not high"):
        answers.explain("p(x)", "high")
    with pytest.raises(liftgbp.QueryError, match="unknown predicate q"):
        answers.explain("q(x)")


# --- how pulls are shared out


@pytest.mark.parametrize("seed", range(5))
def test_pulls_are_fair(seed: int) -> None:
    """They add up, equal terms have equal ones, and those that touch nothing have none."""
    chance = np.random.default_rng(seed)
    holds = np.arange(8) % 2 == 1
    first, second = chance.normal(size=8), chance.normal(size=8)
    nothing = np.full(8, 3.0)
    base, pulls = aumann_shapley([first, second, first, nothing], holds, np.ones(8, bool))
    total = np.exp(2 * first + second)
    wanted = math.log(total[holds].sum() / total[~holds].sum())
    assert base + sum(pulls) == pytest.approx(wanted, abs=1e-9)
    assert pulls[0] == pulls[2]
    assert pulls[3] == pytest.approx(0.0, abs=1e-9)


def test_pulls_lie_among_all_orders() -> None:
    """What a term adds depends on which others came before; its pull is within that range."""
    chance = np.random.default_rng(7)
    holds = np.arange(4) >= 2
    terms = [chance.normal(size=4) for _ in range(3)]

    def odds(chosen: tuple[int, ...]) -> float:
        total = np.exp(sum((terms[k] for k in chosen), np.zeros(4)))
        return math.log(total[holds].sum() / total[~holds].sum())

    _, pulls = aumann_shapley(terms, holds, np.ones(4, bool))
    for k, pull in enumerate(pulls):
        added = [
            odds(later) - odds(before)
            for order in permutations(range(3))
            for before, later in pairwise([order[:n] for n in range(4)])
            if later[-1] == k
        ]
        slack = max(added) - min(added) + 1e-9
        assert min(added) - slack <= pull <= max(added) + slack


# --- texts


def test_cards_and_texts() -> None:
    found = explained('p(thing)\nthing = {"<b>"}\n0.5 p("<b>")\n0.7 p(x)', "p(x)", 3)
    card = found._repr_html_()
    assert "<b>" not in card.replace("<body", "")
    assert "&lt;b&gt;" in card
    assert len(repr(found).splitlines()) == 1
    assert json.loads(json.dumps(found.as_dict()))["probability"] == found.probability


def test_the_command_line(tmp_path: Path) -> None:
    model = tmp_path / "m.mln"
    model.write_text("p(thing)\n0.5 p(x)\n", encoding="utf-8")
    asked = ["explain", str(model), "-n", "thing=4", "--effort", "quick"]
    shown = CliRunner().invoke(cli, [*asked, "-q", "p(x)"])
    assert shown.exit_code == 0, shown.output
    assert "+0.5000  in the region itself: 0.5 p(x)" in shown.output
    assert "0.500000    +0.5000  0.5 p(x)" in shown.output
    (found,) = json.loads(CliRunner().invoke(cli, [*asked, "-q", "p(x)", "--json"]).stdout)
    assert found["pulls"][0]["log_odds"] == pytest.approx(0.5)
    refused = CliRunner().invoke(cli, asked)
    assert "say what to explain" in refused.output
