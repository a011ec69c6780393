"""Arithmetic that is the same on every processor, against the library of C and LAPACK."""

from __future__ import annotations

import math

import numpy as np
import pytest

from liftgbp.solve import portable


def test_exponentials() -> None:
    values = np.concatenate([np.linspace(-745, 700, 20001), [0.0, -1e-300, -1e15]])
    expected = np.array([math.exp(own) for own in values])
    normal = expected > 1e-300
    found = portable.exp(values.copy())
    assert np.abs(found[normal] / expected[normal] - 1).max() < 1e-15
    assert found[~normal] == pytest.approx(expected[~normal], abs=1e-300)
    assert portable.exp(np.zeros(1)) == 1.0


def test_logarithms() -> None:
    draw = np.random.default_rng(0)
    values = np.concatenate([draw.uniform(0, 2, 10000), 10.0 ** draw.uniform(-300, 300, 10000)])
    expected = np.array([math.log(own) for own in values])
    error = np.abs(portable.log(values.copy()) - expected)
    assert (error <= 1e-15 * np.maximum(np.abs(expected), 1)).all()
    assert portable.log(np.ones(1)) == 0.0
    assert portable.log(np.zeros(1)) == -math.inf


@pytest.mark.parametrize("part", [1.0, 0.02])
@pytest.mark.parametrize("size", [1, 2, 7, 40, portable.BLOCK, portable.BLOCK + 40])
def test_equations(size: int, part: float) -> None:
    """Of some systems most entries are zero."""
    draw = np.random.default_rng(size)
    rows = draw.normal(size=(3, size, size)) / size
    rows[:, draw.random((size, size)) > part] = 0.0
    matrices = np.eye(size) + rows @ rows.swapaxes(1, 2)
    right = draw.normal(size=(3, size))
    found, positive = portable.solved(matrices, right)
    assert positive.all()
    assert found == pytest.approx(np.linalg.solve(matrices, right[:, :, None])[:, :, 0], rel=1e-9)


def test_signs_of_pivots() -> None:
    """Of two equations with the same right side, one has a negative curvature, one none at all."""
    matrices = np.array([np.diag([1.0, 2.0]), np.diag([1.0, -2.0]), np.diag([1.0, 0.0])])
    found, positive = portable.solved(matrices, np.ones((3, 2)))
    assert positive.tolist() == [True, False, False]
    assert found[0].tolist() == [1.0, 0.5]
    assert found[2].tolist() == [0.0, 0.0]
