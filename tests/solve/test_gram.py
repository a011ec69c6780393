"""Weighted products of equations, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from liftgbp.solve.problem import Gram

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 8))
MATRICES = SHAPES.flatmap(lambda shape: arrays(float, shape, elements=st.integers(-2, 2)))


@given(matrix=MATRICES, seed=st.integers(0, 100))
def test_products_are_those_of_dense_matrices(matrix: np.ndarray, seed: int) -> None:
    weights = np.random.default_rng(seed).uniform(0, 1, (3, matrix.shape[1]))
    wanted = [matrix @ np.diag(own) @ matrix.T for own in weights]
    np.testing.assert_allclose(Gram(matrix)(weights), wanted, atol=1e-14)


def test_no_equations() -> None:
    assert Gram(np.zeros((0, 4)))(np.ones((2, 4))).shape == (2, 0, 0)


@given(matrix=MATRICES, seed=st.integers(0, 100))
def test_solutions_solve_what_can_be_solved(matrix: np.ndarray, seed: int) -> None:
    """Equations may repeat each other, as long as their right sides do, too."""
    generator = np.random.default_rng(seed)
    weights = generator.uniform(0.1, 1, (2, matrix.shape[1]))
    right = (weights * generator.normal(size=weights.shape)) @ matrix.T
    gram = Gram(matrix)
    solved = gram.solve(weights, right, 1e-13)
    np.testing.assert_allclose(np.einsum("sij,sj->si", gram(weights), solved), right, atol=1e-9)


@pytest.mark.parametrize("tiny", [1e-10, 1e-30, 1e-50])
def test_equations_between_tiny_beliefs_keep_their_digits(tiny: float) -> None:
    matrix = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [1.0, 0.0, 1.0, 0.0]])
    weights = np.array([[0.5, 0.5, tiny, 2 * tiny]])
    wanted = np.array([[1.0, 3.0, 0.5]])
    # The matrix by hand: each product of two equations.
    by_hand = [[1.0, 0.0, 0.5], [0.0, 3 * tiny, tiny], [0.5, tiny, 0.5 + tiny]]
    right = np.array([wanted[0] @ np.array(by_hand)])
    np.testing.assert_allclose(Gram(matrix).solve(weights, right, 1e-13), wanted, rtol=1e-9)
