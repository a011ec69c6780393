"""Flooding block by block gives the numbers of flooding on whole arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings

from liftgbp.ground.compress import compress, ground_region_graph
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.plan import Plan, compile as plan_compile, compile_plan
from liftgbp.plan.plan import Factored
from liftgbp.solve import Flooding, flood
from liftgbp.solve.auto import with_tolerances
from liftgbp.support import arrays
from liftgbp.support.errors import ContradictionError
from random_networks import networks
from solve.test_flooding import CHAIN, FRIENDS_SMOKERS, TRANSITIVE, plan_of

PAIRS = """
p(person)
q(person)
0.3 p(x) ^ p(y) | x != y
-0.2 p(x) => q(y) | x != y
"""


@pytest.fixture(autouse=True)
def _small_blocks() -> Iterator[None]:
    """Blocks of a few regions, and indices of half the length."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flood, "ENTRIES", 7)
        patch.setattr(arrays, "NARROWED_FROM", 1)
        yield


def assert_same_runs(flooding: Flooding, plan: Plan, messages: np.ndarray | None = None) -> None:
    (whole,) = flooding.ends([plan], messages=messages)
    (blocks,) = with_tolerances(flooding, most_restarted=0).ends([plan], messages=messages)
    assert whole.status is blocks.status
    # Rounding may decide whether a residual at the tolerance is below it.
    both = min(len(whole.trace), len(blocks.trace))
    assert max(len(whole.trace), len(blocks.trace)) <= both + 1
    np.testing.assert_allclose(whole.trace[:both], blocks.trace[:both], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(whole.log_beliefs, blocks.log_beliefs, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("damping", [0.0, 0.5])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(
    ("text", "people"),
    [(FRIENDS_SMOKERS, 4), (FRIENDS_SMOKERS, 30), (TRANSITIVE, 4), (CHAIN, 5), (PAIRS, 6)],
)
def test_models(
    text: str,
    people: int,
    adaptive: bool,
    damping: float,
    factored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if factored:
        monkeypatch.setattr(plan_compile, "FACTORED_FROM", 0)
        monkeypatch.setattr(plan_compile, "_kept", {})
    plan = plan_of(text, people)
    assert isinstance(plan.exponents, Factored) == factored
    flooding = Flooding(damping=damping, adaptive=adaptive, iterations=40)
    assert_same_runs(flooding, plan)
    tilted = np.random.default_rng(1).normal(size=(1, plan.layout.message_entries))
    assert_same_runs(flooding, plan, tilted)


@pytest.mark.slow
@pytest.mark.parametrize("factored", [False, True])
@given(network=networks())
@settings(max_examples=60, deadline=None)
def test_networks(network: GroundNetwork, factored: bool) -> None:
    try:
        with pytest.MonkeyPatch.context() as patch:
            if factored:
                patch.setattr(plan_compile, "FACTORED_FROM", 0)
                patch.setattr(plan_compile, "_kept", {})
            plan = compile_plan(compress(ground_region_graph(network), network))
    except ContradictionError:
        return
    assert_same_runs(Flooding(iterations=30), plan)


def test_runs_end_near_what_is_known() -> None:
    plan = plan_of(FRIENDS_SMOKERS, 4)
    flooding = with_tolerances(Flooding(), most_restarted=0)
    (first,) = flooding.ends([plan])
    (again,) = flooding.ends([plan], known=[first.log_beliefs])
    assert len(again.trace) < len(first.trace)
    np.testing.assert_allclose(np.exp(again.log_beliefs), np.exp(first.log_beliefs), atol=1e-4)


def test_what_moves_most_is_found_in_blocks() -> None:
    plan = plan_of(TRANSITIVE, 6)
    flooding = Flooding(iterations=30)
    (whole,) = flooding.ends([plan])
    (blocks,) = with_tolerances(flooding, most_restarted=0).ends([plan])
    assert whole.region == blocks.region is not None
