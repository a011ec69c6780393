"""Frames keep all equations between beliefs, and let nothing cancel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.model.model import Model
from liftgbp.plan import Plan, compile_plan
from liftgbp.solve.frames import SLACK_BITS, Faces, Frame, faces_of
from liftgbp.solve.search import suited
from liftgbp.support.errors import CapacityError, ContradictionError
from random_models import models, sizes

CLASSES = """
friends(person, person)
smokes(person)
0.1 smokes(Anna)
0.2 smokes(Bob)
0.3 smokes(Carl)
1 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
FORMULAS = "\n".join(
    ["p(person)", "q(person)", "r(person, person)"]
    + [f"1 {a}(x) ^ r(x,y) => {b}(y) | x != y" for a in "pq" for b in "pq"]
)


def plan_of(model: Model, domain: dict[str, int], regions: str = "intersections") -> Plan:
    return compile_plan(build_regions(shatter(model, domain), regions))


def is_right(frame: Frame, faces: Faces) -> None:
    """Whatever the free beliefs are, all equations hold; all in whole numbers."""
    own = faces.consistent
    assert frame.divisor > 0
    width, bound = len(own.outer), len(frame.bound)
    table = np.zeros((width, len(frame.free) + 1), dtype=object)
    table[frame.free, np.arange(len(frame.free))] = frame.divisor
    table[frame.bound, :-1] = frame.rows[:bound]
    table[frame.bound, -1] = frame.constants[:bound]
    matrix = own.matrix.astype(int).astype(object)
    assert not (matrix @ table[:, :-1]).any()
    assert (matrix @ table[:, -1] == frame.divisor * own.right_side.astype(int)).all()
    inner = own.to_inner.astype(int).astype(object) @ table
    assert (inner[:, :-1] == frame.rows[bound:]).all()
    assert (inner[:, -1] == frame.constants[bound:]).all()
    assert sorted([*frame.free, *frame.bound]) == list(range(width))
    rank = np.linalg.matrix_rank(own.matrix) if own.matrix.size else 0
    assert len(frame.free) == width - rank


def nothing_cancels(frame: Frame, bits: np.ndarray) -> None:
    large = bits[frame.free][None, :] > bits[frame.bound][:, None] + SLACK_BITS
    assert not (large & (frame.rows[: len(frame.bound)] != 0)).any()


def frames_are_right(plan: Plan, seed: int) -> None:
    faces = faces_of(plan.layout)
    frame, draw = None, np.random.default_rng(seed)
    for spread in (0, 100, 1000, 10):
        bits = -spread * draw.uniform(size=len(faces.consistent.outer))
        frame = faces.whole.frame(bits, frame)
        assert frame is not None
        is_right(frame, faces)
        nothing_cancels(frame, bits)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes(most=5), seed=st.integers(0, 99))
def test_random_models(model: Model, domain: dict[str, int], seed: int) -> None:
    try:
        plan = plan_of(model, domain)
    except (CapacityError, ContradictionError):
        assume(False)
    assume(plan.layout.belief_entries < 2000)
    frames_are_right(plan, seed)


@pytest.mark.parametrize("name", ["transitive", "chain", "town", "celebrity", "married"])
def test_shipped_models(name: str) -> None:
    model = liftgbp.load(f"example:{name}")
    frames_are_right(plan_of(model, dict.fromkeys(model.sorts, 10)), 0)


@pytest.mark.parametrize("text", [CLASSES, FORMULAS])
@pytest.mark.parametrize("regions", ["intersections", "bethe", "subsets"])
def test_models_of_many_messages(text: str, regions: str) -> None:
    frames_are_right(plan_of(liftgbp.parse(text), {"person": 20}, regions), 1)


def test_a_frame_does_not_depend_on_the_way_to_it() -> None:
    """Frames of the same free beliefs are the same, so that sums have one order."""
    whole = faces_of(plan_of(liftgbp.parse(FORMULAS), {"person": 20}).layout).whole
    draw = np.random.default_rng(3)
    first, away = -100 * draw.uniform(size=(2, len(whole.outer)))
    direct = whole.frame(first)
    back = whole.frame(first, whole.frame(away))
    assert direct is not None
    assert back is not None
    if set(direct.free) == set(back.free):
        assert direct is back
    else:  # both suit the beliefs
        nothing_cancels(back, first)


def test_points_share_frames() -> None:
    """Points at the same place have one frame, wherever they come from, and nothing cancels."""
    whole = faces_of(plan_of(liftgbp.parse(FORMULAS), {"person": 20}).layout).whole
    draw, count = np.random.default_rng(4), 12
    places = -100 * draw.uniform(size=(3, len(whole.outer)))
    first = whole.frame(np.zeros(len(whole.outer)))
    assert first is not None
    frames, rows = [first] * count, np.arange(count)
    for order in (rows % 3, rows % 2, rows // 4):
        logs = places[order]
        suited(whole, frames, logs, rows)
        assert len(set(frames)) <= order.max() + 1
        for frame, bits in zip(frames, logs / np.log(2), strict=True):
            assert frame.suits(bits)
    suited(whole, frames, places[[0] * count], rows)
    assert len(set(frames)) == 1
