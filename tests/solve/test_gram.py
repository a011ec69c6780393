"""Weighted products of equations, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from liftgbp import parse
from liftgbp.plan import compile_plan
from liftgbp.regions import build_regions
from liftgbp.shatter import shatter
from liftgbp.solve.factors import Factor, Inverse, PointProjection
from liftgbp.solve.gram import MOST_FILLED, SPARSE_FROM, Gram, LinearMap
from liftgbp.solve.problem import polytope
from liftgbp.solve.starts import starting_beliefs
from liftgbp.solve.tolerances import Tolerances

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


# --- many equations


@settings(deadline=None)
@given(matrix=MATRICES, seed=st.integers(0, 100))
def test_factors_solve_what_elimination_solves(matrix: np.ndarray, seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = generator.uniform(0.1, 1, matrix.shape[1])
    chosen = np.flatnonzero(generator.uniform(size=len(matrix)) < 0.7)
    assume(len(chosen))
    right = np.zeros((len(matrix), 2))
    # Equations that are left out have no say.
    right[chosen] = matrix[chosen] @ (weights[:, None] * generator.normal(size=(len(weights), 2)))
    factor = Factor(Gram(matrix), weights, chosen, 1e-13)
    for own in (right, right[:, 0]):
        solved = factor.solve(own)
        assert not np.delete(solved, chosen, axis=0).any()
        products = (matrix * weights @ matrix.T)[chosen]
        np.testing.assert_allclose(products @ solved, own[chosen], atol=1e-9)


def test_factors_keep_the_digits_of_tiny_beliefs() -> None:
    matrix = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [1.0, 0.0, 1.0, 0.0]])
    weights = np.array([0.5, 0.5, 1e-40, 2e-40])
    by_hand = np.array([[1.0, 0.0, 0.5], [0.0, 3e-40, 1e-40], [0.5, 1e-40, 0.5]])
    wanted = np.array([1.0, 3.0, 0.5])
    factor = Factor(Gram(matrix), weights, np.arange(3), 1e-13)
    np.testing.assert_allclose(factor.solve(by_hand @ wanted), wanted, rtol=1e-9)


@settings(deadline=None)
@given(matrix=MATRICES, seed=st.integers(0, 100), exactly=st.booleans())
def test_inverses_are_those_of_dense_matrices(
    matrix: np.ndarray, seed: int, *, exactly: bool
) -> None:
    generator = np.random.default_rng(seed)
    rows = matrix[matrix.any(axis=1)] + generator.normal(size=(1, matrix.shape[1]))
    assume(len(rows) and np.linalg.matrix_rank(rows, tol=1e-2) == len(rows))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    right = generator.normal(size=(len(rows), 3))
    wanted = np.linalg.inv(rows @ rows.T) @ right
    inverse = Inverse(np.asfortranarray(np.tril(rows @ rows.T)), 1e-13, exactly=exactly)
    np.testing.assert_allclose(inverse @ right, wanted, rtol=1e-6, atol=1e-6)


def test_inverses_leave_out_what_follows_from_other_equations() -> None:
    """Two equal equations and one of their own: the inverse is that of their span."""
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    inverse = Inverse(np.tril(matrix), 1e-13, exactly=True)
    np.testing.assert_allclose(inverse @ np.eye(3), np.linalg.pinv(matrix), atol=1e-14)


@pytest.mark.parametrize("filled", [MOST_FILLED / 4, 2 * MOST_FILLED])
def test_maps_multiply_as_their_matrices_do(filled: float) -> None:
    generator = np.random.default_rng(1)
    matrix = np.where(generator.uniform(size=(100, SPARSE_FROM // 100)) < filled, 2.5, 0.0)
    matrix[3], matrix[:, 5] = 0.0, 0.0
    own, back = generator.normal(size=(2, matrix.shape[1])), generator.normal(size=(2, 100))
    linear = LinearMap(matrix)
    np.testing.assert_allclose(linear(own), own @ matrix.T, atol=1e-11)
    np.testing.assert_allclose(linear.transposed(back), back @ matrix, atol=1e-11)


def test_projections_at_a_point_are_those_of_dense_matrices() -> None:
    rules = [f"0.{k}5 p{k}(x) ^ r(x,y) => p{k - 1}(y) | x != y" for k in range(1, 7)]
    declared = [f"p{k}(person)" for k in range(7)]
    text = "\n".join([*declared, "r(person, person)", *rules])
    layout = compile_plan(build_regions(shatter(parse(text), {"person": 20}))).layout
    consistent = polytope(layout)
    generator = np.random.default_rng(0)
    beliefs = starting_beliefs(layout, random=2, seed=0)[:, consistent.outer]
    roots = np.sqrt(beliefs * generator.uniform(0.5, 2, beliefs.shape))
    for own, root in zip(beliefs, roots, strict=True):
        _, sizes, span = np.linalg.svd(consistent.matrix * root, full_matrices=False)
        span = span[sizes > 1e-12 * sizes[0]]
        vectors = generator.normal(size=(3, len(own)))
        for few in (0, len(consistent.matrix)):  # factorised, and decomposed
            onto = PointProjection(consistent, own, root, Tolerances(decomposed_equations=few))
            projected = vectors - vectors @ span.T @ span
            np.testing.assert_allclose(onto.complement(vectors), projected, atol=1e-11)
            inner = onto.scale[:, None] * consistent.to_inner * root
            inner = inner - inner @ span.T @ span
            np.testing.assert_allclose(onto.gram, inner @ inner.T, atol=1e-11)
