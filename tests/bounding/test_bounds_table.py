"""The table of bounds in the docs is what the program proves, and exact values lie within."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.lift.shatter import TABLE_CAP, shatter
from liftgbp.methods.bounding.proving import Proof, Prover
from liftgbp.methods.effort import EFFORTS
from liftgbp.model.example_models import FOLDER
from liftgbp.strategy.answering import answers_about
from liftgbp.strategy.request import Request
from liftgbp.strategy.run import Run
from liftgbp.support.progress import silent

ROOT = Path(__file__).parent.parent.parent
WHOLE = (ROOT / "docs" / "second-opinions.md").read_text(encoding="utf-8")
PAGE, _, CUTS = WHOLE.partition("### How narrow they are")[2].partition("### What counting adds")


def rows_of(text: str) -> list[list[str]]:
    lines = re.findall(r"^\| (?:[a-z]+-?[a-z]+) \| [\d–].*\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


ROWS, CUT_ROWS = rows_of(PAGE), rows_of(CUTS)


def close_to(cell: str, least: str) -> object:
    """About an upper bound of the table, for comparisons.

    Cuts that hardly help are added or not, as rounding has it: on another processor, what is left
    open may differ in the sixth digit.
    """
    return pytest.approx(float(cell), rel=1e-9, abs=1e-5 * abs(float(cell) - float(least)))


@cache
def bounds_of(name: str, people: int) -> liftgbp.Bounds:
    return liftgbp.bounds(liftgbp.load(f"example:{name}"), {"person": people})


def test_all_models_and_sizes_are_there() -> None:
    assert len(ROWS) == 16
    assert len(CUT_ROWS) == 9
    assert {float(row[1]) for row in ROWS} == {4, 10, 100, 1e6}


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_intervals(row: list[str]) -> None:
    name, people, least, most, gap, estimate, exact = row
    bounds = bounds_of(name, int(float(people)))
    assert bounds.lower == pytest.approx(float(least), rel=1e-9)
    assert bounds.upper == close_to(most, least)
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
    problem = Problem.of(model, None, {"person": int(people)})
    run = Run(liftgbp.Descent(), TABLE_CAP, silent)
    # What is estimated before a sample is asked.
    answers = answers_about(problem, "auto", EFFORTS["normal"], Request(seconded=False), run)
    assert answers.result.log_z == pytest.approx(float(estimate.split()[0]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("row", CUT_ROWS, ids=lambda row: str(row[0]))
def test_count_cuts(row: list[str]) -> None:
    name, least, plain, most, exact = row
    model = liftgbp.load(next(FOLDER.rglob(f"{name}.mln")))
    prover, normal = (
        Prover.of("normal", None, silent),
        shatter(model, dict.fromkeys(model.sorts, 100)),
    )
    for own, wanted in ((replace(prover, rounds=0), plain), (prover, most)):
        interval = Proof(own, normal).interval
        assert float(interval.upper) == close_to(wanted, exact if least == "–" else least)
        if least == "–":
            assert interval.lower is None
        else:
            assert interval.lower is not None
            assert float(interval.lower) == pytest.approx(float(least), rel=1e-9)
    # Those that are known are checked in test_cut_bounds.py.
    if exact != "–":
        assert float(exact) <= float(most) <= float(plain)
