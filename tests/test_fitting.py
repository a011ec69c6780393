"""Weights for probabilities that a model demands, checked by listing all worlds in Python."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

import liftgbp
from liftgbp.cli.commands import cli
from liftgbp.model.parser import parse
from liftgbp.support.errors import ModelError
from small_worlds import World, listed_worlds

COUPLED = """
person = {A, B, C}
smokes(person)
cancer(person)
0.6 smokes(x) ^ smokes(y) | x != y
1.1 smokes(x) => cancer(x)
"""


def coupled_weight(world: World) -> float:
    pairs = ((x, y) for x, y in product("ABC", repeat=2) if x != y)
    return sum(0.6 * (world[f"s{x}"] and world[f"s{y}"]) for x, y in pairs) + sum(
        1.1 * (not world[f"s{x}"] or world[f"c{x}"]) for x in "ABC"
    )


ATOMS = [kind + x for kind in "sc" for x in "ABC"]


def test_a_demand_is_met_and_nothing_else_changes() -> None:
    model = parse(COUPLED + "P(smokes(x)) = 0.4\n")
    assert parse(str(model)) == model
    fitted = liftgbp.fit_weights(model)
    weight = fitted.rules[-1].weight.value  # type: ignore[union-attr]

    def log_weight(world: World) -> float:
        return coupled_weight(world) + sum(weight * world[f"s{x}"] for x in "ABC")

    log_z, marginals = listed_worlds(ATOMS, log_weight)
    assert marginals["sA"] == pytest.approx(0.4, abs=1e-6)
    answers = liftgbp.infer(fitted)
    assert answers.log_z == pytest.approx(log_z)
    assert answers.marginal("cancer(B)") == pytest.approx(marginals["cB"])


def test_several_demands_and_conditions_are_met_together() -> None:
    demands = "P(smokes(x)) = 0.3\nP(cancer(x) | smokes(x)) = 0.8\n"
    fitted = liftgbp.fit_weights(parse(COUPLED + demands))
    first, second, third = (rule.weight.value for rule in fitted.rules[-3:])  # type: ignore[union-attr]
    assert third == pytest.approx(-0.8 * second)

    def log_weight(world: World) -> float:
        return coupled_weight(world) + sum(
            (first + third) * world[f"s{x}"] + second * (world[f"s{x}"] and world[f"c{x}"])
            for x in "ABC"
        )

    _, marginals = listed_worlds([*ATOMS], log_weight)
    assert marginals["sA"] == pytest.approx(0.3, abs=1e-6)
    both = 0.0
    total = 0.0
    for values in product((False, True), repeat=len(ATOMS)):
        world = dict(zip(ATOMS, values, strict=True))
        weight = math.exp(log_weight(world))
        total += weight
        both += weight * (world["sA"] and world["cA"])
    assert both / total == pytest.approx(0.3 * 0.8, abs=1e-6)


def test_infer_fits_weights_by_itself() -> None:
    """Evidence comes after the weights: the demand is about people of whom nothing is known."""
    model = parse(COUPLED + "P(smokes(x)) = 0.4")
    weight = liftgbp.fit_weights(model).rules[-1].weight.value  # type: ignore[union-attr]

    def log_weight(world: World) -> float:
        seen = 0.0 if world["sA"] else -math.inf
        return coupled_weight(world) + sum(weight * world[f"s{x}"] for x in "ABC") + seen

    log_z, marginals = listed_worlds(ATOMS, log_weight)
    evidence = liftgbp.parse_evidence(model, "smokes(A)")
    for given in ("smokes(A)", evidence):
        answers = liftgbp.infer(model, evidence=given)
        assert answers.log_z == pytest.approx(log_z)
        assert answers.marginal("smokes(B)") == pytest.approx(marginals["sB"])
        assert f"P(smokes(x)) = 0.4 holds with the weight {weight:.4g}" in answers.notes[0]


def test_others_refuse_demands_that_no_weight_meets_yet() -> None:
    with pytest.raises(ModelError, match=r"P\(smokes\(x\)\) = 0.4 true yet; infer and"):
        liftgbp.sample(parse(COUPLED + "P(smokes(x)) = 0.4"))


def test_demands_that_contradict_the_model() -> None:
    with pytest.raises(ModelError, match=r"no weights were found that meet P\(rainy\(x\)\) = 0.4"):
        liftgbp.fit_weights(parse("day = {A}\nrainy(day)\nrainy(x).\nP(rainy(x)) = 0.4"))


@pytest.mark.parametrize("probability", ["0", "1", "1.5"])
def test_probabilities_lie_between(probability: str) -> None:
    with pytest.raises(ModelError, match="a probability lies between 0 and 1"):
        parse(COUPLED + f"P(smokes(x)) = {probability}")


def test_a_predicate_may_be_called_p() -> None:
    model = parse("person = {A}\nP(person)\n1 P(x) => P(A)")
    assert not model.demands


@pytest.fixture
def smokers(tmp_path: Path) -> list[str]:
    path, facts = tmp_path / "m.mln", tmp_path / "facts.db"
    path.write_text("smokes(person)\n0.5 smokes(x) ^ smokes(y) | x != y\nP(smokes(x)) = 0.2\n")
    facts.write_text("person = {Anna, Bob, Carl}\n")
    return [str(path), "-e", str(facts)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "options", "expected"),
    [
        ("query", ["-q", "smokes(Bob)"], "0.200000"),
        ("query", ["-q", "smokes(Bob)"], "note: P(smokes(x)) = 0.2 holds with the weight"),
        ("check", ["-q", "smokes(Bob)"], "0.200000"),
        ("sample", ["-q", "smokes(Bob)", "--seconds", "1"], "smokes"),
        ("bounds", ["-q", "smokes(Bob)"], "smokes"),
        ("graph", [], "smokes"),
    ],
)
def test_the_command_line_fits_weights(
    smokers: list[str], command: str, options: list[str], expected: str
) -> None:
    result = CliRunner().invoke(cli, [command, *smokers, *options], standalone_mode=False)
    assert result.exception is None
    assert expected in result.output
