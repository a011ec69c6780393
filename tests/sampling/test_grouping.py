"""Chains that stay apart are weighed by shares; those that have mixed are pooled."""

from __future__ import annotations

import numpy as np
import pytest

from liftgbp.methods.sampling.diagnostics import grouped
from liftgbp.support.arrays import Floats

START_OF = np.repeat([0, 1, 2], [4, 6, 6])


def draws(means: list[float], length: int = 200) -> Floats:
    random = np.random.default_rng(1)
    return np.array(means)[None, :, None] + 0.1 * random.normal(size=(length, len(means), 1))


def test_chains_that_have_mixed_are_pooled() -> None:
    found = grouped(draws([0.5] * 16), START_OF, [None, 0.9, 0.1])
    assert not found.apart


def test_chains_that_stay_apart_are_weighed() -> None:
    # Random worlds went to either group.
    means = [0.0, 0.0, 1.0, 1.0] + [0.0] * 6 + [1.0] * 6
    every = draws(means)
    found = grouped(every, START_OF, [None, 0.9, 0.1])
    assert found.shares == {1: 0.9, 2: 0.1}
    diagnosis = found.diagnosed(every)
    assert diagnosis.mean[0] == pytest.approx(0.1, abs=0.01)
    assert diagnosis.r_hat[0] < 1.01
    # Two groups of eight chains with 200 independent draws each.
    expected = 0.1 / np.sqrt(8 * 200) * np.hypot(0.9, 0.1)
    assert diagnosis.error[0] == pytest.approx(expected, rel=0.1)


def test_a_chain_that_left_its_start_belongs_to_where_it_went() -> None:
    means = [0.0] * 4 + [0.0] * 6 + [0.0] + [1.0] * 5
    found = grouped(draws(means), START_OF, [None, 0.5, 0.5])
    assert found.group_of.tolist() == [1] * 11 + [2] * 5


def test_groups_that_have_not_mixed_settle_nothing() -> None:
    means = [0.0, 0.3, 0.6, 0.9] + [0.0, 0.2, 0.4] * 2 + [1.0, 1.3, 1.6] * 2
    every = draws(means)
    found = grouped(every, START_OF, [None, 0.5, 0.5])
    assert not found.apart
    assert found.diagnosed(every).r_hat[0] > 1.5


def test_without_shares_nothing_is_weighed() -> None:
    means = [0.0] * 8 + [1.0] * 8
    assert not grouped(draws(means), np.zeros(16, np.int64), [None]).apart


def test_slow_chains_are_no_groups() -> None:
    # Means all over the place: cut into two, each half would be narrower.
    means = np.linspace(0, 1, 16)[np.random.default_rng(0).permutation(16)].tolist()
    every = draws(means)
    found = grouped(every, START_OF, [None, 0.5, 0.5])
    assert not found.apart
    assert found.diagnosed(every).r_hat[0] > 1.5


def test_chains_that_go_to_and_fro_are_no_groups() -> None:
    # Two clear levels, but where a chain is has nothing to do with where it started.
    means = [0.0, 1.0] * 8
    assert not grouped(draws(means), START_OF, [None, 0.5, 0.5]).apart
