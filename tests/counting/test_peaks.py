"""Sums over counts against closed forms and plain summation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random

import mpmath
import pytest

from liftgbp.methods.counting.peaks import MOST_VISITED, weigh
from liftgbp.methods.counting.space import Counts, Space, SplitClass, log_factorial
from liftgbp.support.errors import CapacityError

Exponent = Callable[[Counts], Decimal]


def weighed(space: Space, log_z: Exponent, rough: bool = False):
    def exponents(points: Sequence[Counts]) -> list[Decimal]:
        return [space.log_ways(point) + log_z(point) for point in points]

    return weigh(space, exponents, lambda point: rough)


def test_factorials_have_thirty_digits() -> None:
    mpmath.mp.dps = 60
    for n in (0, 1, 2, 59, 60, 61, 100, 12345, 10**6, 10**12):
        exact = mpmath.loggamma(n + 1)
        assert abs(mpmath.mpf(str(log_factorial(n))) - exact) < 1e-24


def test_all_compositions_are_there_once() -> None:
    space = Space((SplitClass(4, 3), SplitClass(2, 2)))
    points = list(space.all())
    assert len(points) == len(set(points)) == space.number == 15 * 3
    assert all(sum(p[:3]) == 4 and sum(p[3:]) == 2 and min(p) >= 0 for p in points)


@pytest.mark.parametrize("size", [3, 150, 1000, 10**5, 10**6, 10**9])
@pytest.mark.parametrize("odds", ["0.3", "0.00001", "5", "1e-12", "1e7"])
def test_independent_objects(size: int, odds: str) -> None:
    """Each object has the property with these odds: the sum is (1 + odds) ** size."""
    log_odds = Decimal(odds).ln()
    found = weighed(Space((SplitClass(size, 2),)), lambda counts: counts[0] * log_odds)
    exact = size * (1 + Decimal(odds)).ln()
    assert float(found.log_total - exact) == pytest.approx(0, abs=1e-10)
    mean = math.fsum(counts[0] / size * share for counts, share in found.shares.items())
    assert mean == pytest.approx(float(Decimal(odds) / (1 + Decimal(odds))), rel=1e-9)
    assert found.visited < 500


@pytest.mark.parametrize("size", [401, 1000, 3000, 20_000])
@pytest.mark.parametrize("coupling", [0.5, 0.9, 1.0, 1.001, 1.02, 1.3, 2.0])
def test_objects_that_like_to_agree(size: int, coupling: float) -> None:
    """One maximum, two, and all that lies between; against the plain sum."""

    def log_z(k: int) -> float:
        return coupling * (2 * k - size) ** 2 / (2 * size)

    found = weighed(Space((SplitClass(size, 2),)), lambda counts: Decimal(log_z(counts[0])))
    logs = [
        math.lgamma(size + 1) - math.lgamma(k + 1) - math.lgamma(size - k + 1) + log_z(k)
        for k in range(size + 1)
    ]
    top = max(logs)
    total = top + math.log(math.fsum(math.exp(log - top) for log in logs))
    assert float(found.log_total) == pytest.approx(total, abs=1e-10 + 1e-13 * total)
    spread = math.fsum(
        (2 * k / size - 1) ** 2 * math.exp(log - total) for k, log in enumerate(logs)
    )
    own = math.fsum((2 * c[0] / size - 1) ** 2 * share for c, share in found.shares.items())
    assert own == pytest.approx(spread, rel=1e-8)


def test_a_maximum_at_the_end_takes_few_batches() -> None:
    """There are thirty lengths from a sixteenth of all objects to one; as many counts matter."""
    batches: list[int] = []

    def exponents(points: Sequence[Counts]) -> list[Decimal]:
        batches.append(len(points))
        return [-Decimal(counts[0]) for counts in points]

    found = weigh(Space((SplitClass(2**34, 2),)), exponents)
    assert len(batches) < 12
    assert found.peaks[0].counts == (0, 2**34)
    assert float(found.log_total) == pytest.approx(-math.log(1 - math.exp(-1)), abs=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_a_climb_ends_at_the_highest_point_that_it_has_seen(seed: int) -> None:
    """Where weights are as rough as can be, some way leads on from what is seen on the way."""
    seen: dict[Counts, Decimal] = {}

    def exponents(points: Sequence[Counts]) -> list[Decimal]:
        seen.update({c: Decimal(Random(seed * 10**7 + c[0]).uniform(0, 1e6)) for c in points})
        return [seen[counts] for counts in points]

    found = weigh(Space((SplitClass(10**6, 2),)), exponents, lambda point: True)
    assert found.peaks[0].counts == max(seen, key=seen.__getitem__)


def test_a_maximum_beside_a_narrow_one() -> None:
    """Nobody, or about a third of all: narrow and wide maxima have steps of their own."""
    size = 10**6
    wide = size * (1 + Decimal("0.5")).ln()

    def log_z(counts: Counts) -> Decimal:
        k = counts[0]
        return wide - 40 * k if k < 1000 else k * Decimal("0.5").ln()

    found = weighed(Space((SplitClass(size, 2),)), log_z)
    # Next to nobody, the terms are C(size, k) exp(-40 k): one, up to 1e-11.
    assert float(found.log_total - wide) == pytest.approx(math.log(2), abs=1e-8)
    assert sorted(peak.counts[0] for peak in found.peaks) == [0, 333333]
    assert [peak.share for peak in found.peaks] == pytest.approx([0.5, 0.5], abs=1e-8)


@pytest.mark.parametrize(("place", "width"), [(100, 30), (1300, 300), (20_000, 3000)])
def test_a_narrow_maximum_between_grid_points(place: int, width: int) -> None:
    """A few counts outweigh all others by far; against the plain sum."""
    size = 10**5

    def log_z(k: int) -> float:
        away = (k - place) / width
        return 0.7 * size * math.exp(-(away**2)) if abs(away) < 6 else 0.0

    found = weighed(Space((SplitClass(size, 2),)), lambda counts: Decimal(log_z(counts[0])))
    logs = [
        math.lgamma(size + 1) - math.lgamma(k + 1) - math.lgamma(size - k + 1) + log_z(k)
        for k in range(size + 1)
    ]
    top = max(logs)
    total = top + math.log(math.fsum(math.exp(log - top) for log in logs))
    assert float(found.log_total) == pytest.approx(total, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 30, 100, 400])
def test_four_cells(size: int) -> None:
    odds = [Decimal(text) for text in ("1", "0.5", "0.2", "0.01")]

    def log_z(counts: Counts) -> Decimal:
        return sum((n * p.ln() for n, p in zip(counts, odds, strict=True)), Decimal(0))

    found = weighed(Space((SplitClass(size, 4),)), log_z)
    assert float(found.log_total - size * sum(odds).ln()) == pytest.approx(0, abs=1e-7)
    for cell, own in enumerate(odds):
        mean = math.fsum(counts[cell] / size * share for counts, share in found.shares.items())
        assert mean == pytest.approx(float(own / sum(odds)), abs=1e-7)


def test_several_blocks() -> None:
    odds = [Decimal("0.5"), Decimal("3")]
    space = Space((SplitClass(1, 2), SplitClass(1, 2), SplitClass(500, 2)))
    found = weighed(space, lambda c: (c[0] + c[4]) * odds[0].ln() + c[2] * odds[1].ln())
    exact = 501 * (1 + odds[0]).ln() + (1 + odds[1]).ln()
    assert float(found.log_total - exact) == pytest.approx(0, abs=1e-7)


def test_impossible_counts_weigh_nothing() -> None:
    even = weighed(
        Space((SplitClass(100, 2),)), lambda c: Decimal("-Infinity") if c[0] % 2 else Decimal(0)
    )
    assert float(even.log_total - 99 * Decimal(2).ln()) == pytest.approx(0, abs=1e-10)
    assert weighed(Space((SplitClass(3, 2),)), lambda _: Decimal("-Infinity")) is None


@pytest.mark.slow
def test_too_many_counts() -> None:
    with pytest.raises(CapacityError, match=f"more than {MOST_VISITED} counts"):
        weighed(Space((SplitClass(60, 8),)), lambda _: Decimal(0))


@pytest.mark.slow
def test_rough_weights_are_not_compared_ever_more_finely() -> None:
    space = Space((SplitClass(10**6, 2),))
    noise = lambda point: Decimal(hash(point) % 1000) / 10**6  # noqa: E731
    found = weighed(space, noise, rough=True)
    exact = 10**6 * mpmath.log(2)
    assert abs(float(found.log_total) - float(exact)) < 2e-3
    assert found.visited < weighed(space, noise).visited / 4
