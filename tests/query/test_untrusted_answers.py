"""Answers that cannot be trusted say so: in words, by warnings, and by an error if asked to."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import liftgbp
from liftgbp import Answers, Flooding, Status, UntrustedAnswer, UntrustedAnswerError

CHAIN = liftgbp.parse("r(person, person)\n1.4 r(x,y) ^ r(y,z) => r(z,u) | distinct")
PAIRS = liftgbp.parse("p(person)\n0.5 p(x) ^ p(y) | x != y")


@pytest.fixture
def diverged() -> Answers:
    """Message passing on the chain model, whose messages grow without bound."""
    return liftgbp.infer(CHAIN, {"person": 6}, solver=Flooding(), effort="quick")


READINGS: dict[str, Callable[[Answers], object]] = {
    "query": lambda answers: answers.query("r(x,y)"),
    "marginal": lambda answers: answers.marginal("r(x,y)"),
    "all": lambda answers: answers.all,
    "log_z": lambda answers: answers.log_z,
}


@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)
def test_reading_warns_once(diverged: Answers, read: Callable[[Answers], object]) -> None:
    with pytest.warns(UntrustedAnswer) as caught:
        read(diverged)
    assert [str(warning.message) for warning in caught] == [diverged.reason]
    assert Path(caught[0].filename) == Path(__file__)
    for again in READINGS.values():
        again(diverged)  # a second warning would be an error here


def test_writing_all_atoms_warns(diverged: Answers, tmp_path: Path) -> None:
    with pytest.warns(UntrustedAnswer):
        diverged.write_all(tmp_path / "all.csv")


def test_the_reason_says_what_is_wrong_and_what_to_try(diverged: Answers) -> None:
    assert diverged.flaw is not None
    assert diverged.status is Status.DIVERGED
    assert "diverged" in diverged.reason
    assert "liftgbp.Descent()" in diverged.reason


def test_looking_does_not_warn(diverged: Answers) -> None:
    found = diverged.as_dict(["r(x,y)"])
    assert (found["trusted"], found["reason"]) == (False, diverged.reason)
    assert ": refused, " in repr(diverged)
    json.dumps(found, allow_nan=False)


def test_answers_that_are_not_refused_do_not_warn() -> None:
    answers = liftgbp.infer(PAIRS, {"person": 5}, effort="quick")
    assert answers.flaw is None
    assert answers.as_dict()["standing"] == "unconfirmed"
    assert answers.marginal("p(x)") > 0.5
    assert answers.log_z > 0


def test_strict_runs_raise(diverged: Answers) -> None:
    with pytest.raises(UntrustedAnswerError) as error:
        liftgbp.infer(CHAIN, {"person": 6}, solver=Flooding(), strict=True, effort="quick")
    assert str(error.value) == diverged.reason
    assert error.value.answers.status is Status.DIVERGED
    with pytest.raises(UntrustedAnswerError, match="no second opinion was asked for"):
        liftgbp.infer(PAIRS, {"person": 5}, strict=True, effort="quick")
    assert liftgbp.infer(PAIRS, {"person": 5}, strict=True).trusted


def test_single_points_are_read_without_a_warning() -> None:
    model = liftgbp.parse("s(thing)\n1.5 s(x) <=> s(y) | x != y")
    answers = liftgbp.infer(model, sizes={"thing": 9}, effort="quick")
    trusted = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for point in answers.minima:
            one = answers.at(point)
            trusted[round(one.marginal("s(x)"), 3)] = one.flaw is None
    # Between the two minima lies a saddle, by symmetry.
    assert trusted == {0.0: True, 1.0: True, 0.5: False}


def test_steps_of_growth_tell_whether_they_are_trusted() -> None:
    answers = liftgbp.infer(CHAIN, {"person": 6}, regions="auto", table_cap=2**10, effort="quick")
    steps = answers.as_dict()["growth"]["steps"]  # type: ignore[index]
    assert [step["trusted"] for step in steps] == [step.trusted for step in answers.growth]
