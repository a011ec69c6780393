"""Broken values are refused by the engine's own checks, under `python -O` as well."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import liftgbp
import processes
from liftgbp.lift.regions import LiftedRegionGraph, build_regions
from liftgbp.lift.regions.counts import Count
from liftgbp.lift.shatter import shatter
from liftgbp.model.example_models import FOLDER
from liftgbp.oracle import reference
from liftgbp.support.errors import InternalError

TESTS = Path(__file__).parent
SMOKERS = FOLDER / "friends-smokers.mln"


def lifted() -> LiftedRegionGraph:
    return build_regions(shatter(liftgbp.load(SMOKERS), {"person": 9}), "intersections")


def too_many_of_a_region() -> object:
    graph = lifted()
    first, *others = graph.regions
    twice = replace(first, count=replace(first.count, times=2 * first.count.times))
    return replace(graph, regions=(twice, *others))


def a_region_inside_is_forgotten() -> object:
    graph = lifted()
    first, *others = graph.regions
    without = replace(first, members=first.members[1:])
    return replace(graph, regions=(without, *others))


def a_factor_is_forgotten() -> object:
    graph = lifted()
    first, *others = graph.regions
    return replace(graph, regions=(replace(first, held=()), *others))


def a_part_of_a_ground_region() -> object:
    return Count(((0, 0, 2),), divisor=3).at([5])


def a_wrong_counting_number_on_the_ground() -> object:
    ground = reference.ground(liftgbp.load(SMOKERS), {"person": 3})
    graph = reference.ground_regions(ground)
    first = next(iter(graph.counting))
    return replace(graph, counting={**graph.counting, first: 2})


BROKEN: dict[str, Callable[[], object]] = {
    check.__name__: check
    for check in (
        too_many_of_a_region,
        a_region_inside_is_forgotten,
        a_factor_is_forgotten,
        a_part_of_a_ground_region,
        a_wrong_counting_number_on_the_ground,
    )
}


def refused() -> list[str]:
    """The broken values that are noticed."""
    names = []
    for name, make in BROKEN.items():
        try:
            make()
        except InternalError:
            names.append(name)
    return names


@pytest.mark.parametrize("make", BROKEN.values(), ids=BROKEN)
def test_broken_values_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InternalError):
        make()


@pytest.mark.slow
def test_no_invariant_is_an_assert_statement() -> None:
    """Those vanish under `python -O`."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted(Path(liftgbp.__file__).parent.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert not found


@pytest.mark.slow
def test_checks_stay_on_under_python_o() -> None:
    script = "import test_invariants as t; print(__debug__, *t.refused())"
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    done = processes.run(
        [sys.executable, "-O", "-c", script], env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", *BROKEN]
