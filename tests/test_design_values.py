"""Published values of four relational models, to the printed digits.

Only atoms with different arguments are variables in the published numbers; here every ground atom
is one, so the diagonal atoms of binary predicates add N·log 2 each to log Z.
"""

from __future__ import annotations

import math
from functools import cache

import pytest

from liftgbp import Answers, Flooding, Status, infer, parse
from liftgbp.oracle import reference
from liftgbp.oracle.reference import GroundAtom
from liftgbp.solve import Remedy

FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
{} friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
TRANSITIVE = "r(person, person)\n{} r(x,y) ^ r(y,z) => r(x,z) | distinct"
CHAIN = "r(person, person)\n{} r(x,y) ^ r(y,z) => r(z,u) | distinct"
BINARY = {FRIENDS_SMOKERS: "friends", TRANSITIVE: "r", CHAIN: "r"}


def last_digits(text: str) -> float:
    """Two units of the last printed digit."""
    return 2 * 10.0 ** -len(text.partition(".")[2])


def close(value: float, text: str) -> bool:
    return abs(value - float(text)) <= last_digits(text)


def diagonal(people: int) -> float:
    return people * math.log(2)


@cache
def fixed_point(template: str, weight: str, people: int, damping: float) -> Answers:
    model = parse(template.format(weight))
    return infer(model, {"person": people}, solver=Flooding(damping, 20_000), effort="quick")


@cache
def exact(template: str, weight: str, people: int) -> reference.ExactValues:
    return reference.exact(reference.ground(parse(template.format(weight)), {"person": people}))


GBP = [
    (FRIENDS_SMOKERS, "1.4", 4, 0.5, "0.4419851737", "26.6382328807"),
    (FRIENDS_SMOKERS, "1.4", 8, 0.5, "0.4419851737", "116.9181835"),
    (TRANSITIVE, "1.4", 4, 0.8, "0.36600303", "39.7739689"),
    (TRANSITIVE, "1.4", 5, 0.8, "0.30263751", "93.0502459"),
    (CHAIN, "1.4", 4, 0.8, "0.32176581", "39.3585199"),
    (CHAIN, "1.4", 5, 0.95, "0.20222528", "175.3992336"),
    (CHAIN, "0.5", 5, 0.95, "0.281844", "68.957"),
]


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize(("template", "weight", "people", "damping", "p", "log_z"), GBP)
def test_fixed_points(
    template: str, weight: str, people: int, damping: float, p: str, log_z: str
) -> None:
    answers = fixed_point(template, weight, people, damping)
    assert answers.status is Status.CONVERGED
    assert close(answers.marginal(f"{BINARY[template]}(x,y)"), p)
    assert close(answers.log_z - diagonal(people), log_z)


EXACT = [
    (FRIENDS_SMOKERS, 4, "0.4509442376", "26.6952622902"),
    (FRIENDS_SMOKERS, 8, "0.4844365200", "118.2833322"),
    (TRANSITIVE, 4, "0.3844870272", "39.8939129"),
    (TRANSITIVE, 5, "0.3457443539", "93.4948928"),
    (CHAIN, 4, "0.3357653316", "39.4176369"),
    (CHAIN, 5, "0.1854276855", "175.1361623"),
]


@pytest.mark.parametrize(("template", "people", "p", "log_z"), EXACT)
def test_exact_values(template: str, people: int, p: str, log_z: str) -> None:
    answer = exact(template, "1.4", people)
    assert close(answer.marginals[GroundAtom(BINARY[template], (0, 1))][1], p)
    assert close(answer.log_z - diagonal(people), log_z)


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize("people", [4, 5, 8, 100, 10**9])
def test_friends_smokers_does_not_depend_on_the_size(people: int) -> None:
    answers = fixed_point(FRIENDS_SMOKERS, "1.4", people, 0.5)
    assert close(answers.marginal("friends(x,y)"), "0.4419851737")
    assert close(answers.marginal("smokes(x)"), "0.5000000000")


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize("people", range(2, 9))
def test_belief_propagation(people: int) -> None:
    # From eight people on the flat fixed point repels: rounding grows if the run goes on for long.
    model = parse(FRIENDS_SMOKERS.format("1.4"))
    answers = infer(
        model, {"person": people}, regions="bethe", solver=Flooding(tol=1e-10), effort="quick"
    )
    assert answers.status is Status.CONVERGED
    assert close(answers.marginal("friends(x,y)"), "0.4333408993")
    if people == 4:
        assert close(answers.log_z - diagonal(people), "26.5557737596")


@pytest.mark.parametrize("weight", ["0.5", "1.4"])
def test_flooding_diverges_on_the_chain(weight: str) -> None:
    answers = infer(parse(CHAIN.format(weight)), {"person": 5}, solver=Flooding(), effort="quick")
    assert answers.status is Status.DIVERGED
    assert answers.remedies == (Remedy.DESCENT,)
