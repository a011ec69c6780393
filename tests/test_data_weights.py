"""Weights that are data, against all worlds listed in Python."""

from __future__ import annotations

import pytest

import liftgbp
from liftgbp.model.parser import parse
from liftgbp.support.errors import EvidenceError, ModelError
from small_worlds import World, listed_worlds

BOXES = """
*redConf(box, conf)
*near(box, box)
red(box)
conf: !redConf(x,conf) v red(x)
0.6 near(x,y) ^ red(x) => red(y)
"""
FACTS = "redConf(A, 0.7)\nredConf(B, -0.3)\nredConf(C, 0.7)\nnear(A, B)"
SEEN = {"A": 0.7, "B": -0.3, "C": 0.7}


def box_weight(world: World) -> float:
    total = 0.0
    for x, seen in SEEN.items():
        for conf in (0.7, -0.3):
            total += conf * (seen != conf or world[x])
        for y in SEEN:
            total += 0.6 * ((x, y) != ("A", "B") or not world[x] or world[y])
    return total


@pytest.mark.parametrize("via", ["lifted", "ground"])
def test_each_grounding_has_the_weight_of_its_fact(via: str) -> None:
    model = parse(BOXES)
    assert parse(str(model)) == model
    evidence = liftgbp.parse_evidence(model, FACTS)
    log_z, marginals = listed_worlds(SEEN, box_weight)
    answers = liftgbp.infer(model, evidence=evidence, via=via)
    assert answers.log_z == pytest.approx(log_z)
    for box, expected in marginals.items():
        assert answers.marginal(f"red({box})") == pytest.approx(expected)


def test_the_weights_may_be_named_in_the_model() -> None:
    model = parse("conf = {0.5}\n*seen(box, conf)\nred(box)\nbox = {A}\nc: seen(x,c) => red(x)")
    answers = liftgbp.infer(model)  # nothing is seen
    assert answers.marginal("red(A)") == pytest.approx(0.5)
    assert answers.log_z == pytest.approx(0.5 + 0.693147180559945)


def test_evidence_fits_models_with_other_weights() -> None:
    evidence = liftgbp.parse_evidence(parse(BOXES), FACTS)
    other = parse(BOXES.replace("0.6", "0.7"))
    again = liftgbp.infer(other, evidence=FACTS)
    assert liftgbp.infer(other, evidence=evidence).log_z == again.log_z


def test_a_weight_must_be_a_number() -> None:
    with pytest.raises(EvidenceError, match="High is an object of conf"):
        liftgbp.infer(parse(BOXES), evidence="redConf(A, High)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("conf: red(x)", "conf is no free variable of this formula"),
        ("conf: EXIST conf redConf(x,conf)", "conf is no free variable of this formula"),
        ("red(x): red(x)", "must be a variable of the formula"),
        ("Conf: red(x)", "must be a variable of the formula"),
    ],
)
def test_wrong_weights_from_data(text: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse("*redConf(box, conf)\nred(box)\n" + text)
    assert message in caught.value.message
