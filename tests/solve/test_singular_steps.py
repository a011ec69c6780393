"""A Hessian whose elimination meets a zero leaves Newton steps to its eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest

import liftgbp
from liftgbp.solve.newton import Curvatures, Span
from liftgbp.solve.tolerances import Tolerances


def test_points_with_a_zero_pivot_keep_their_eigenvectors() -> None:
    """Of two points with the same Hessian, one has a block that rounding has made singular."""
    span = Span(np.eye(2)[None].repeat(2, axis=0))
    values, weights = np.array([[2.0, 4.0], [2.0, 4.0]]), np.array([[1.0, 3.0], [-1.0, -1.0]])
    curvatures = Curvatures(span, span.rows, weights, Tolerances())
    # Rounding has made the second Hessian singular, but not its eigenvalues.
    curvatures.__dict__["_decomposed"] = values, span.rows
    gradient = np.array([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(np.linalg.LinAlgError):
        curvatures.solve_as_is(gradient)
    # The Hessian is diag(2, 4).
    assert curvatures.solve(gradient, values) == pytest.approx(np.array([[0.5, 0.25]] * 2))


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
def test_a_model_that_has_one() -> None:
    model = liftgbp.parse(
        "mood(person)\np(person)\n200 (p(y) v p(x)) ^ mood(z) | distinct\n1/|person| p(y) ^ p(a)"
    )
    answers = liftgbp.infer(model, {"person": 10**100})
    assert answers.log_z == pytest.approx(200e300, rel=1e-6)


def test_curvatures_that_rounding_hides_exceed_nothing() -> None:
    """Two equal directions of huge weight: with one added, their products are still singular."""
    rows = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    gram = rows @ rows.swapaxes(1, 2)
    curvatures = Curvatures(Span(rows), gram, np.array([[1e40, 1e40, -0.5]]), Tolerances())
    assert not curvatures.exceed(0.1)
    known = Curvatures(Span(rows), gram, np.array([[1.0, 1.0, -0.5]]), Tolerances())
    assert known.exceed(0.1) and not known.exceed(0.6)
