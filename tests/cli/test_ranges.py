"""Ranges of sizes and weights as people write them."""

from __future__ import annotations

import pytest

from liftgbp import InputError, SizeError
from liftgbp.cli.ranges import size_range, weight_range


def test_size_ranges_are_logarithmic_and_keep_their_ends() -> None:
    sizes = size_range("person", "2..1e9", 200)
    assert (sizes[0], sizes[-1]) == (2, 10**9)
    assert sizes == sorted(set(sizes))
    # Small numbers repeat on a logarithmic scale and are taken once.
    assert 180 < len(sizes) <= 200


def test_weight_ranges_are_even() -> None:
    assert weight_range("w", "-1..1", 5) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert weight_range("w", "0.1, 0.2", 5) == [0.1, 0.2]
    assert weight_range("w", "3..3", 5) == [3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9..2", "reversed"),
        ("2..", "two ends"),
        ("..", "two ends"),
        ("2..3..4", "two ends"),
        ("0..5", "at least 1"),
        ("a..5", "whole number"),
        ("2.5", "whole number"),
        ("", "whole number"),
    ],
)
def test_bad_size_ranges(text: str, message: str) -> None:
    with pytest.raises((InputError, SizeError), match=message):
        size_range("person", text, 10)


def test_bad_points_and_weights() -> None:
    with pytest.raises(InputError, match="at least 1"):
        size_range("person", "2..9", 0)
    with pytest.raises(InputError, match="finite"):
        weight_range("w", "nan", 3)
    with pytest.raises(InputError, match="reversed"):
        weight_range("w", "2..1", 3)
