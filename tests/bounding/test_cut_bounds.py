"""Bounds of log Z with count cuts, where log Z is known otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

import liftgbp
from liftgbp.lift.shatter import shatter
from liftgbp.methods.bounding.interval import Interval
from liftgbp.methods.bounding.proving import Proof, Prover
from liftgbp.model.example_models import FOLDER
from liftgbp.oracle import reference
from liftgbp.support.progress import silent

EXAMPLES = sorted(path.stem for path in (FOLDER / "worlds").glob("*.mln"))


def proof(name: str, objects: int, rounds: int | None = None) -> Proof:
    model = liftgbp.load(FOLDER / "worlds" / f"{name}.mln")
    prover = Prover.of("normal", None, silent)
    if rounds is not None:
        prover = replace(prover, rounds=rounds)
    return Proof(prover, shatter(model, dict.fromkeys(model.sorts, objects)))


def contains(interval: Interval, log_z: float) -> bool:
    slack = 1e-9 * max(1.0, abs(log_z))
    lower = interval.lower if interval.lower is not None else -math.inf
    return lower <= log_z + slack and log_z <= interval.upper + Fraction(slack)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("objects", [2, 3, 4])
def test_examples_by_listing(name: str, objects: int) -> None:
    model = liftgbp.load(FOLDER / "worlds" / f"{name}.mln")
    sizes = dict.fromkeys(model.sorts, objects)
    exact = reference.exact(reference.ground(model, sizes), cap=2**16)
    assert contains(proof(name, objects).interval, exact.log_z)


def log_sum(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(own - top) for own in logs))


def sides(people: int) -> float:
    """With k of them on the left, 2 k (N - k) pairs are worth one each."""
    return log_sum(
        [math.log(math.comb(people, k)) + 2 * k * (people - k) for k in range(people + 1)]
    )


def opposites(people: int) -> float:
    """Given the sides, friendships are independent; nobody is their own friend."""
    within, across = math.log1p(math.exp(-2)), math.log1p(math.e)
    return log_sum(
        [
            math.log(math.comb(people, k))
            + 2 * k * (people - k) * across
            + (k * (k - 1) + (people - k) * (people - k - 1)) * within
            for k in range(people + 1)
        ]
    )


def teams(people: int) -> float:
    return log_sum(
        [
            math.log(math.comb(people, a) * math.comb(people - a, b))
            + people**2
            - (a**2 + b**2 + (people - a - b) ** 2)
            for a in range(people + 1)
            for b in range(people + 1 - a)
        ]
    )


def couples(people: int) -> float:
    """The last person is alone, or married to one of the others."""
    sums = [1, 1]
    for number in range(2, people + 1):
        sums.append(sums[-1] + (number - 1) * sums[-2] * Fraction(math.e) ** 2)
    return math.log(sums[-1])


KNOWN = {"two-sides": sides, "opposites": opposites, "three-teams": teams, "couples": couples}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("objects", [10, 30, 100])
def test_closed_forms(name: str, objects: int) -> None:
    """Cuts take away most of what the bound has too much."""
    log_z = KNOWN[name](objects)
    plain, cut = proof(name, objects, 0).interval, proof(name, objects).interval
    assert contains(cut, log_z)
    assert contains(plain, log_z)
    assert cut.upper - Fraction(log_z) < (plain.upper - Fraction(log_z)) / 2
