"""Eigenvectors of stacks, also where the fast routine gives up."""

from __future__ import annotations

from typing import Never

import numpy as np
import pytest

from liftgbp.solve.factors import eigenvectors


def test_matrices_on_which_divide_and_conquer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(stack: object) -> Never:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    factors = np.random.default_rng(0).normal(size=(3, 5, 8))
    factors *= 10.0 ** -np.arange(0, 40, 5)
    stack = factors @ factors.swapaxes(1, 2)
    monkeypatch.setattr(np.linalg, "eigh", fail)
    values, vectors = eigenvectors(stack)
    assert (np.diff(values, axis=1) >= 0).all()
    again = (vectors * values[:, None, :]) @ vectors.swapaxes(1, 2)
    np.testing.assert_allclose(again, stack, atol=1e-13)
    same = vectors.swapaxes(1, 2) @ vectors
    np.testing.assert_allclose(same, np.broadcast_to(np.eye(5), same.shape), atol=1e-13)
