"""Zero or tiny: ways inside from a face, against another program and against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

import liftgbp
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve.certified import Proof, certify
from liftgbp.solve.faces import Cone, ways_inside
from liftgbp.solve.frames import faces_of
from liftgbp.solve.tolerances import Tolerances

numbers = st.integers(-3, 3)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_simplex_method_finds_the_largest_value(data: st.DataObject) -> None:
    free, bound = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 4))
    row = st.lists(numbers, min_size=free, max_size=free)
    rows = np.array(data.draw(st.lists(row, min_size=bound, max_size=bound)), dtype=np.int64)
    rows = rows.reshape(bound, free)
    divisor, width = data.draw(st.integers(1, 3)), free + bound
    objective = data.draw(st.lists(numbers, min_size=width, max_size=width))
    cone = Cone(rows, divisor, np.arange(free), np.arange(free, width))
    follows = np.concatenate([rows, -divisor * np.eye(bound, dtype=int)], axis=1)
    table = np.concatenate([follows, np.ones((1, width))])
    other = linprog(-np.array(objective, dtype=float), A_eq=table, b_eq=[0.0] * bound + [1.0])
    assert cone.is_empty == (other.status == 2)
    if not cone.is_empty:
        found = cone.largest(objective)
        assert found is not None
        value, vertex = found
        assert float(value.p) / float(value.q) == pytest.approx(-other.fun, abs=1e-9)
        assert all(own >= 0 for own in vertex)
        assert sum(vertex) == 1
        assert all(
            sum(a * b for a, b in zip(row, vertex, strict=True)) == 0 for row in follows.tolist()
        )


def plan_of(text: str, things: int) -> Plan:
    model = liftgbp.parse(text)
    return compile_plan(build_regions(shatter(model, dict.fromkeys(model.sorts, things))))


SYMMETRIC = """
p(thing, thing)
p(y,x) => p(x,y) | x != y.
p(z,x) => !p(x,x) | z != x.
p(y,x) <=> p(y,z) | distinct.
"""


def test_ways_keep_beliefs_consistent() -> None:
    plan = plan_of(SYMMETRIC, 3)
    faces = faces_of(plan.layout)
    own = faces.consistent
    whole = range(len(own.outer))
    seen = 0
    for left_out in whole:
        face = faces.of([e for e in whole if e != left_out])
        ways = ways_inside(face, faces)
        for way in ways.extreme:
            change = np.zeros(len(own.outer))
            change[list(face.outer)] = [float(v.p) / float(v.q) for v in way.outer]
            change[ways.outer] = [float(v.p) / float(v.q) for v in way.raised]
            assert own.matrix @ change == pytest.approx(np.zeros(len(own.matrix)), abs=1e-12)
            assert change[ways.outer].min() >= 0
            seen += 1
    assert seen


def logs_of(beliefs: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(beliefs)


def test_a_world_that_is_no_minimum_is_left() -> None:
    """All things are related: F = 3 s (log(s / t^2) - 1) beside that vertex, which is negative."""
    plan = plan_of(SYMMETRIC, 3)
    faces = faces_of(plan.layout)
    own = faces.consistent
    ends = [np.eye(len(own.outer))[e] for e in range(len(own.outer))]
    vertices = [b for b in ends if np.allclose(own.matrix @ b, own.right_side)]
    for beliefs in vertices:
        found = certify(plan, logs_of(beliefs), Tolerances())
        assert found is None or not (found.on_boundary and not found.box.free_logs)


@pytest.mark.parametrize("people", [60, 120, 400])
def test_a_tiny_belief_is_found_from_a_zero(people: int) -> None:
    """Nobody smokes, except with a chance that ways inside tell.

    Who smokes alone loses, with each of the N - 1 others, a part of the worlds in which they are
    friends: a factor of (1 + exp(-w)) / 2 each. Far below exp(-100), such a belief stays zero.
    """
    weight = 2.0
    text = "friends(person,person)\nsmokes(person)\n"
    rule = f"{weight} friends(x,y) ^ smokes(x) => smokes(y) | x != y"
    plan = plan_of(text + rule, people)
    own = faces_of(plan.layout).consistent
    best = max(liftgbp.Descent()(plan).points, key=lambda point: point.log_z)
    outer = np.exp(best.log_beliefs[own.outer])
    found = certify(plan, logs_of(np.where(outer < 1e-6, 0.0, outer)), Tolerances())
    assert found is not None
    assert found.proof is Proof.MINIMUM
    alone = (people - 1) * math.log((1 + math.exp(-weight)) / 2)
    logs = found.log_beliefs[own.inner]
    near = np.abs(logs - alone).min() < 1e-2 * abs(alone)
    assert near == (alone > -100)
