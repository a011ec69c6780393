"""The table of bounds in the docs is what the program proves, and exact values lie within."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import liftgbp

ROOT = Path(__file__).parent.parent.parent
WHOLE = (ROOT / "docs" / "second-opinions.md").read_text(encoding="utf-8")
PAGE = WHOLE.partition("### How narrow they are")[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in re.findall(r"^\| (?:[a-z]+-?[a-z]+) \| \d.*\|$", PAGE, re.MULTILINE)
]


@cache
def bounds_of(name: str, people: int) -> liftgbp.Bounds:
    return liftgbp.bounds(liftgbp.load(f"example:{name}"), {"person": people})


def test_all_models_and_sizes_are_there() -> None:
    assert len(ROWS) == 16
    assert {float(row[1]) for row in ROWS} == {4, 10, 100, 1e6}


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_intervals(row: list[str]) -> None:
    name, people, least, most, gap, estimate, exact = row
    bounds = bounds_of(name, int(float(people)))
    assert bounds.lower == pytest.approx(float(least), rel=1e-9)
    assert bounds.upper == pytest.approx(float(most), rel=1e-9)
    # Per atom, rounding shows where almost everything is known.
    assert bounds.width_per_atom == pytest.approx(float(gap), rel=0.05, abs=1e-11)
    digits = 1e-10 * abs(float(most))
    for cell in (estimate, exact):
        if cell != "–":
            inside = float(least) - digits <= float(cell.split()[0]) <= float(most) + digits
            # Estimates with a star are proven wrong.
            assert inside != cell.endswith("*")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")  # the table is about estimates
@pytest.mark.parametrize("row", [row for row in ROWS if float(row[1]) <= 10], ids=lambda r: r[0])
def test_estimates(row: list[str]) -> None:
    name, people, *_, estimate, _ = row
    model = liftgbp.load(f"example:{name}")
    answers = liftgbp.infer(model, {"person": int(people)}, effort="normal")
    assert answers.log_z == pytest.approx(float(estimate.split()[0]), rel=1e-9)
