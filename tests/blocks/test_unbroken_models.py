"""Models without minima at which blocks differ: their answers do not change."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import HealthCheck, given, settings

import liftgbp
import random_models
from liftgbp.model.model import Model

EXAMPLES = 200


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_models.models())
def test_answers_without_broken_minima_stay_the_same(model: Model) -> None:
    sizes = dict.fromkeys(model.sorts, 4)
    try:
        plain = liftgbp.infer(model, sizes, effort="quick")
        answers = liftgbp.infer(model, sizes, effort="quick", blocks=2)
    except liftgbp.InputError:
        return
    if answers.blocks:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", liftgbp.UntrustedAnswer)
        assert answers.log_z == pytest.approx(plain.log_z, rel=1e-9, abs=1e-9, nan_ok=True)
        for one, other in zip(answers.all, plain.all, strict=True):
            assert one.values == pytest.approx(other.values, abs=1e-9)
