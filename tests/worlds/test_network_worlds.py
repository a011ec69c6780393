"""Best worlds of networks against a list of all worlds, and of networks that other tools write."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import liftgbp
from liftgbp.ground.formats import Network
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, merged
from liftgbp.support.errors import CapacityError, ContradictionError
from liftgbp.worlds import Budget
from liftgbp.worlds.ground import best_of_network
from random_networks import log_weights, networks


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(networks(), st.sampled_from(["quick", "normal"]))
def test_random_networks(network: GroundNetwork, effort: str) -> None:
    """Logs that are no decimals, hard rules, and weights of very different sizes."""
    outside = sum(count * math.log(length) for length, count in network.free.items())
    scores = log_weights(network) - outside
    optimum = float(scores.max())
    if optimum == -math.inf:
        with pytest.raises(ContradictionError):
            best_of_network(network, Budget(effort=effort))
        return
    best = best_of_network(network, Budget(effort=effort))
    # Scores are exact sums of decimals; those of the list are rounded.
    slight = 1e-12 * max(1.0, np.abs(scores[np.isfinite(scores)]).max())
    assert float(best.score) == pytest.approx(scores[tuple(best.values)], abs=slight)
    assert best.score <= optimum + slight
    assert best.upper >= optimum - slight
    if best.upper == best.score:
        assert float(best.score) == pytest.approx(optimum, abs=slight)
    if best.undecided is not None:
        winners = np.argwhere(scores >= optimum - slight)
        differ = np.array([len(set(column)) > 1 for column in winners.T.tolist()])
        assert (best.undecided <= differ).all()
        assert ((best.undecided | best.free) == differ).all()


def chain(length: int, seed: int) -> tuple[GroundNetwork, float]:
    """A chain of variables with three values, and its optimum by dynamic programming."""
    random = np.random.default_rng(seed)
    tables = [np.round(random.normal(size=(3, 3)), 2) for _ in range(length - 1)]
    best = np.zeros(3)
    for table in tables:
        best = (best[:, None] + table).max(axis=0)
    scopes = np.column_stack([np.arange(length - 1), np.arange(1, length)])
    block = FactorBlock(scopes, np.arange(length - 1))
    return merged(np.full(length, 3), [block], tables), float(best.max())


def test_a_long_chain() -> None:
    network, optimum = chain(5_000, 1)
    best = best_of_network(network, Budget())
    assert best.score == best.upper
    assert float(best.score) == pytest.approx(optimum, abs=1e-6)


def ising(size: int, strength: np.ndarray, field: np.ndarray) -> GroundNetwork:
    """A grid whose neighbours gain `strength` where they are equal, and `field` where true."""
    places = np.arange(size * size).reshape(size, size)
    right = np.column_stack([places[:, :-1].ravel(), places[:, 1:].ravel()])
    down = np.column_stack([places[:-1].ravel(), places[1:].ravel()])
    ends = np.concatenate([right, down])
    tables = [np.array([[w, 0.0], [0.0, w]]) for w in strength[: len(ends)].tolist()]
    tables += [np.array([0.0, h]) for h in field.ravel().tolist()]
    pairs = FactorBlock(ends, np.arange(len(ends)))
    singles = FactorBlock(places.reshape(-1, 1), np.arange(len(ends), len(tables)))
    return merged(np.full(size * size, 2), [pairs, singles], tables)


def test_a_narrow_grid_by_flow_and_by_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two methods that share no code."""
    from liftgbp.worlds.ground import part_search

    random = np.random.default_rng(5)
    strength, field = random.integers(1, 9, 112) / 10, random.integers(-9, 10, 64) / 10
    network = ising(8, strength, field)
    flow = best_of_network(network, Budget())
    assert flow.how == ("maximum flow",)
    steps = part_search.STEPS["normal"]
    methods = [part_search.Eliminating(steps.states)]
    monkeypatch.setattr(part_search, "methods_for", lambda _steps: iter(methods))
    other = best_of_network(network, Budget())
    assert other.how == ("elimination",)
    assert (other.score, other.upper, other.fewest) == (flow.score, flow.upper, True)
    assert (other.undecided == flow.undecided).all()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12, 1e250])
def test_scores_scale_with_weights(scale: float) -> None:
    random = np.random.default_rng(3)
    strength = random.integers(-9, 10, 112).astype(float)
    field = random.integers(-9, 10, 64).astype(float)
    plain = best_of_network(ising(8, strength, field), Budget())
    scaled = best_of_network(ising(8, strength * scale, field * scale), Budget())
    assert plain.score == plain.upper
    assert scaled.score == scaled.upper
    assert float(scaled.score) == pytest.approx(float(plain.score) * scale, rel=1e-12)


def test_weights_of_very_different_sizes() -> None:
    """A small weight counts beside one that is 10^12 times as large."""
    tables = [np.array([[1e9, 0.0], [0.0, 1e9]]), np.array([0.0, 1e-3])]
    blocks = [
        FactorBlock(np.array([[0, 1]]), np.array([0])),
        FactorBlock(np.array([[1]]), np.array([1])),
    ]
    best = best_of_network(merged(np.array([2, 2]), blocks, tables), Budget())
    assert best.values.tolist() == [1, 1]
    assert best.score == best.upper == Fraction(10**12 + 1, 1000)


def test_logs_without_a_common_unit() -> None:
    """What rounding can change is no tie, and no proof that there are the fewest true atoms."""
    tables = [np.log([2.0, 3.0]), np.log([7.0, 5.0])]
    blocks = [FactorBlock(np.array([[k]]), np.array([k])) for k in range(2)]
    best = best_of_network(merged(np.array([2, 2]), blocks, tables), Budget())
    assert best.values.tolist() == [1, 0]
    assert float(best.score) == pytest.approx(math.log(21))
    assert best.undecided is None
    assert not best.fewest


def test_too_many_factors_are_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    network, _ = chain(20, 0)
    monkeypatch.setattr(type(network), "factors", 20_000_001)
    with pytest.raises(CapacityError, match="20000001 factors, above 20000000; close a predicate"):
        best_of_network(network, Budget())


def test_a_network_file(tmp_path: Path) -> None:
    """Three variables, one observed; what is best is listed by hand."""
    file = tmp_path / "three.uai"
    file.write_text(
        "MARKOV\n3\n2 3 2\n2\n2 0 1\n2 1 2\n6\n1 2 3 4 5 1\n6\n1 2 8 1 2 3\n", encoding="utf-8"
    )
    network = liftgbp.load_network(file)
    world = liftgbp.best_world(network)
    # 5 · 8 is the largest product, and 3 · 3 where the last variable has its second value.
    assert world.proven
    assert world.score == pytest.approx(math.log(40))
    observed = liftgbp.best_world(network, evidence={2: 1})
    assert observed.score == pytest.approx(math.log(9))
    assert world.score - observed.score == pytest.approx(world.cost({2: 1}))
    assert world.cost("x2 = 1") == world.cost({2: 1})
    with pytest.raises(liftgbp.InputError):
        world.cost("x7 = 1")


def test_impossible_networks(tmp_path: Path) -> None:
    file = tmp_path / "none.uai"
    file.write_text("MARKOV\n2\n2 2\n2\n2 0 1\n2 0 1\n4\n1 0 0 1\n4\n0 1 1 0\n", encoding="utf-8")
    with pytest.raises(ContradictionError):
        liftgbp.best_world(liftgbp.load_network(file))


def test_the_model_of_a_network_is_written_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    size = 200
    lines = ["MARKOV", str(size), " ".join(["2"] * size), str(size)]
    lines += [f"1 {k}" for k in range(size)] + ["2 1.0 2.0"] * size
    file = tmp_path / "many.uai"
    file.write_text("\n".join(lines), encoding="utf-8")
    network = liftgbp.load_network(file)
    world = liftgbp.best_world(network)
    written = []
    as_problem = Network.as_problem
    monkeypatch.setattr(
        Network, "as_problem", lambda self, seen: written.append(1) or as_problem(self, seen)
    )
    assert world.as_dict()["true_numbers"]
    assert world._repr_html_()
    assert len(written) <= 2
