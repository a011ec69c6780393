"""What is recommended for answers that cannot be trusted applies, and finishes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import liftgbp
from command_shell import Shell
from liftgbp.model.example_models import FOLDER as MODELS
from liftgbp.report.wording import ADVICE
from liftgbp.solve import flood, search

MOST_WORK = 3e12
"""Multiplications of Newton steps and of flooding: some minutes of one core."""

THIRTY = "\n".join(
    [
        *(f"p{k}(t)" for k in range(30)),
        "r(t,t)",
        "s(t,t)",
        *(
            f"{(-1) ** k * (1 + k % 3)} p{k}(x) ^ {'rs'[k % 2]}(x,y) => p{k + 1}(y) | x != y"
            for k in range(26)
        ),
        # More than two things cannot all differ.
        *(f"-2 p{k}(x) <=> p{k}(y) | x != y" for k in (3, 11, 19, 27)),
    ]
)
"""A model with thirty formulas."""


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers that fail once they have taken more work than that."""
    spent = 0.0

    def spend(work: float) -> None:
        nonlocal spent
        spent += work
        if spent > MOST_WORK:
            pytest.fail("what was recommended takes too much work")

    step_of = search.step_of

    def counted_step(chart: search.Chart, damping: Any, least: float) -> Any:
        spend(len(damping) * float(len(chart.frame.free)) ** 3)
        return step_of(chart, damping, least)

    flood_step = flood.Flood.step

    def counted_flood(self: Any, *given: Any) -> Any:
        spend(float(self.log_beliefs.size))
        return flood_step(self, *given)

    monkeypatch.setattr(search, "step_of", counted_step)
    monkeypatch.setattr(flood.Flood, "step", counted_flood)


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
def test_what_is_recommended_for_thirty_formulas_finishes() -> None:
    model, sizes = liftgbp.parse(THIRTY), {"t": 5}
    answers = liftgbp.infer(model, sizes, effort="quick")
    assert answers.flaw is not None
    waiting, tried = [*answers.remedies], set()
    assert waiting
    while waiting:
        remedy = waiting.pop()
        if remedy in tried:
            continue
        tried.add(remedy)
        options = eval(f"dict({ADVICE[remedy].python})", {"liftgbp": liftgbp})
        waiting += liftgbp.infer(model, sizes, **options).remedies


@pytest.mark.slow
def test_the_exit_code_follows_the_verdict(shell: Shell) -> None:
    """Two halves weigh more than the minimum with one block."""
    path = str(MODELS / "transitive.mln")
    code, out, err = shell("query", path, "-n", "person=40", "--blocks", "1", "-q", "r(x,y)")
    assert code == 1
    assert "below what independent atoms over blocks" in out + err
    assert "try: liftgbp query" in out + err


def test_the_exit_code_of_a_quick_answer(shell: Shell) -> None:
    code, out, err = shell("query", "example:married", "-n", "person=100", "--effort", "quick")
    assert code == 1
    assert "atoms exclude each other more than their number allows" in out + err
    assert "try: liftgbp query" in out + err


ANNA = "smokes(Anna)\nfriends(Anna,Bob)\nfriends(Carl,Anna)\n"
RELATED = "r(Anna,Bob)\nr(Bob,Carl)\n"

JOURNEYS = {
    "a town": ("town", "1e6", ANNA, ("--regions", "bethe")),
    "couples": ("married", "100", "", ("--effort", "quick")),
    "couples, given counts": ("married", "100", "", ("--sum-over", "auto")),
    "a chain of facts": ("transitive", "1000", RELATED, ()),
    "a chain of facts, grown": ("transitive", "30", RELATED, ("--regions", "auto")),
    "too many to see": ("transitive", "1e16", "", ("--effort", "quick")),
    "a saddle": ("friends-smokers", "10", "", ("--solver", "flooding")),
    "divergence": ("chain", "5", "", ("--solver", "flooding", "--damping", "0.9")),
    "on the ground": ("transitive", "6", RELATED, ("--via", "ground", "--regions", "bethe")),
}


@pytest.mark.slow
@pytest.mark.parametrize("journey", JOURNEYS)
def test_advice_leads_to_trust_or_ends(journey: str, shell: Shell, tmp_path: Path) -> None:
    """No command is recommended twice, nor what was given already."""
    model, people, text, options = JOURNEYS[journey]
    facts = tmp_path / "some.db"
    facts.write_text(text, encoding="utf-8")
    evidence = ("-e", str(facts)) if text else ()
    command = ["query", f"example:{model}", "-n", f"person={people}", *evidence, *options]
    seen: list[list[str]] = []
    while sorted(command) not in seen:
        seen.append(sorted(command))
        code, out, err = shell(*command)
        assert code in (0, 1, 6), out + err
        advice = [line for line in (out + err).splitlines() if line.startswith("try: ")]
        if code != 1 or not advice:
            # Nor does the reason recommend anything then.
            assert "; try " not in out + err
            return
        command = shlex.split(advice[0])[2:]
    pytest.fail(f"{shlex.join(command)} was recommended before")


@pytest.mark.slow
def test_what_was_asked_for_is_not_recommended() -> None:
    model = liftgbp.load("example:married")
    given: dict[str, Any] = {"sum_over": "auto", "regions": "auto", "blocks": "auto"}
    answers = liftgbp.infer(model, {"person": 100}, **given)
    assert answers.flaw is not None
    assert "try" not in answers.reason
