"""R-hat, effective sample size and standard errors: as ArviZ computes them, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from liftgbp.methods.sampling.diagnostics import diagnose, effective_size, rank_normalised, split
from liftgbp.support.arrays import Floats

BY_ARVIZ = [
    ("waves", 0.997155747, 293.655671, 0.043333467),
    ("apart", 1.219945675, 227.580329, 0.054598037),
    ("steps", 0.995041216, 1535.330641, 0.011370260),
    ("slow", 1.790994005, 6.180798, 0.287226803),
]
"""What `rhat`, `ess` and `mcse` of ArviZ 0.23.4 say about the series below."""


def series(name: str) -> Floats:
    t, c = np.arange(200)[:, None], np.arange(4)[None, :]
    return {
        "waves": np.sin(t * 0.7 + c * 1.3) + 0.3 * np.sin(t * 0.05 * (c + 1)),
        "apart": np.sin(t * 0.7 + c) + 0.4 * c,
        "steps": ((t * 7 + c * 3) % 11 < 3).astype(float),
        "slow": np.sin(t * 0.02 + c * 1.7),
    }[name]


@pytest.mark.parametrize(("name", "r_hat", "effective", "error"), BY_ARVIZ)
def test_as_arviz_says(name: str, r_hat: float, effective: float, error: float) -> None:
    found = diagnose(series(name)[:, :, None])
    assert found.r_hat[0] == pytest.approx(r_hat, rel=1e-8)
    assert found.effective[0] == pytest.approx(effective, rel=1e-5)
    assert found.error[0] == pytest.approx(error, rel=1e-5)


def test_quantities_are_independent_of_each_other() -> None:
    every = np.stack([series(name) for name, *_ in BY_ARVIZ], axis=2)
    together = diagnose(every)
    for k in range(len(BY_ARVIZ)):
        alone = diagnose(every[:, :, k : k + 1])
        assert together.r_hat[k] == pytest.approx(alone.r_hat[0])
        assert together.error[k] == pytest.approx(alone.error[0])


def test_ranks_by_hand() -> None:
    # Ranks 1, 2.5, 2.5 and 4 of four draws.
    scores = rank_normalised(np.array([[[1.0], [2.0]], [[2.0], [5.0]]]))
    assert scores[0, 1, 0] == scores[1, 0, 0] == 0.0
    assert scores[0, 0, 0] == -scores[1, 1, 0]
    # (1 - 3/8) / (4 + 1/4) = 0.147059, whose normal quantile is -1.049131.
    assert scores[0, 0, 0] == pytest.approx(-1.049131, abs=1e-6)


def test_a_middle_draw_belongs_to_no_half() -> None:
    assert split(np.arange(5.0).reshape(5, 1, 1))[:, :, 0].T.tolist() == [[0, 1], [3, 4]]


def test_independent_draws_count_as_they_are() -> None:
    draws = np.random.default_rng(3).normal(size=(1000, 8, 1))
    assert effective_size(draws)[0] == pytest.approx(8000, rel=0.1)


def test_what_never_varies_has_mixed() -> None:
    found = diagnose(np.full((20, 4, 1), 0.25))
    assert (found.mean[0], found.error[0], found.r_hat[0]) == (0.25, 0.0, 1.0)


def test_chains_that_stand_still_apart_have_not_mixed() -> None:
    stuck = np.repeat(np.array([0.0, 0.0, 1.0, 1.0])[None, :, None], 20, axis=0)
    assert diagnose(stuck).r_hat[0] == np.inf
