"""Comparisons: when answers agree with a second opinion, and what the sentence says."""

from __future__ import annotations

import math

import pytest

import liftgbp
from liftgbp.posterior.opinions import Opinion, OpinionRow, compared


def row(p: float, error: float = 0.0, atom: str = "p(x)") -> OpinionRow:
    values = {("false",): 1 - p, ("true",): p}
    return OpinionRow("p(x)", atom, "", values, dict.fromkeys(values, error) if error else {})


def sentence(answer: float, second: float, error: float = 0.0, doubt: str = "") -> str:
    opinion = Opinion("the sample", [row(second, error)], doubt=doubt)
    return compared([row(answer)], opinion, None).sentence


def test_a_difference_of_one_in_a_hundred_agrees() -> None:
    assert sentence(0.25, 0.2592).startswith("agrees with the sample: the largest difference is")
    assert sentence(0.25, 0.2692) == "disagrees with the sample by 0.019 in p(x)"


def test_three_standard_errors_may_be_chance() -> None:
    assert sentence(0.25, 0.288, 0.01).startswith("agrees")
    assert sentence(0.25, 0.292, 0.01) == (
        "disagrees with the sample by 0.042 (standard error 0.01) in p(x)"
    )


def test_a_doubtful_opinion_settles_nothing() -> None:
    comparison = compared([row(0.5)], Opinion("the sample", [row(0.5)], doubt="it is short"), None)
    assert not comparison.agrees
    assert not comparison.differs
    assert comparison.sentence == (
        "is undecided: it is short; the largest difference from the sample is 0, in p(x)"
    )


def test_the_largest_difference_beyond_chance_is_named() -> None:
    opinion = Opinion("the sample", [row(0.5, 0.02, "p(A)"), row(0.5, 0.001, "p(B)")])
    comparison = compared([row(0.56, atom="p(A)"), row(0.53, atom="p(B)")], opinion, None)
    assert comparison.largest is not None
    assert comparison.largest.atom == "p(B)"


def test_rows_without_an_opinion_are_counted() -> None:
    comparison = compared([row(0.5, atom="p(A)")], Opinion("the sample", [row(0.5)]), 1.0)
    assert comparison.missing == 1
    assert not comparison.agrees
    assert comparison.sentence == "the sample has no row in common with the answers"


def test_undefined_probabilities_are_not_compared() -> None:
    comparison = compared([row(math.nan)], Opinion("the sample", [row(0.5)]), -math.inf)
    assert comparison.rows == ()
    assert comparison.log_z is None


def test_a_table_and_json() -> None:
    opinion = Opinion("the sample", [row(0.26, 0.002)], log_z=1.5, log_z_error=0.1)
    comparison = compared([row(0.25)], opinion, 1.6)
    assert str(comparison).splitlines()[2].split() == [
        "p(x)", "true", "0.250000", "0.260000", "0.002", "-0.010000",
    ]  # fmt: skip
    told = comparison.as_dict()
    assert told["agrees"] is True
    assert told["log_z"] == {"answer": 1.6, "second": 1.5, "standard_error": 0.1}


def test_answers_are_compared_with_answers() -> None:
    model = liftgbp.parse("p(thing)\nq\n2 p(x) <=> p(y) | x != y\n0.1 p(x)")
    answers = liftgbp.infer(model, {"thing": 8}, effort="quick")
    itself = answers.compare(answers, "p(x)")
    assert [value.difference for value in itself.rows] == [0.0, 0.0]
    other = liftgbp.infer(
        liftgbp.parse("p(thing)\nq\n2 p(x) <=> p(y) | x != y\n5 p(x)"), {"thing": 8}, effort="quick"
    )
    assert not answers.compare(other, ["p(x)"]).agrees
    with pytest.raises(
        liftgbp.InputError, match="second must be answers, a sample or bounds, got the int"
    ):
        answers.compare(3)  # type: ignore[arg-type]
