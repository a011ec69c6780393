"""The figures of the documentation show what the engine and enumeration find."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import liftgbp

DOCS = Path(__file__).parent.parent / "docs"
W = 1.4


@pytest.fixture(scope="module")
def figures() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(DOCS)
        yield import_module("draw_figures")


@pytest.fixture(scope="module")
def model() -> liftgbp.Model:
    return liftgbp.load("example:friends-smokers")


@pytest.mark.parametrize("people", [2, 3])
def test_exact_probabilities_are_those_of_enumeration(figures: ModuleType, people: int) -> None:
    pairs = [(x, y) for x in range(people) for y in range(people) if x != y]
    total = friends = 0.0
    for smokes in product((0, 1), repeat=people):
        for named in product((0, 1), repeat=len(pairs)):
            rules = zip(named, pairs, strict=True)
            kept = sum(not (f and smokes[x] and not smokes[y]) for f, (x, y) in rules)
            total += math.exp(W * kept)
            friends += math.exp(W * kept) * named[0]
    assert figures.exact_probability(people) == pytest.approx(friends / total, abs=1e-12)


@pytest.mark.parametrize("people", [5, 7, 8, 20])
def test_the_minima_of_the_curves_are_those_of_descent(
    figures: ModuleType, model: liftgbp.Model, people: int
) -> None:
    answers = liftgbp.infer(model, {"person": people}, effort="quick")
    found = answers.marginal("friends(x,y) | x != y")
    assert figures.at_best(people) == pytest.approx(found, abs=1e-6)
    shares = np.linspace(1e-9, 0.5, 200_001)
    least = float(figures.free_energy(people, shares).min())
    best = answers.minima[0].log_z - people * math.log(2)
    assert -least == pytest.approx(best, abs=1e-6)


def test_the_drawings_are_up_to_date(figures: ModuleType) -> None:
    for name in ("ground_and_lifted", "signatures", "local_graph"):
        file = DOCS / "img" / f"{name.replace('_', '-')}.svg"
        assert file.read_text(encoding="utf-8") == getattr(figures, name)()


WORLDS = ("two-sides", "three-parts", "couples", "ranking", "cycles")


def test_the_worlds_are_up_to_date(figures: ModuleType) -> None:
    assert set(figures.worlds()) == {f"world-{name}" for name in WORLDS}
    for name in figures.worlds():
        file = DOCS / "img" / f"{name}.svg"
        assert file.read_text(encoding="utf-8") == figures.drawn_world(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_worlds_that_are_drawn_are_best(figures: ModuleType, name: str) -> None:
    drawn = figures.worlds()[f"world-{name}"]
    model = liftgbp.load(f"example:{drawn.example}")
    (sort,) = model.sorts
    pairs = [(f"N{a}", f"N{b}") for a, b in sorted(drawn.relation)]
    evidence = liftgbp.load_evidence(model, {drawn.predicate: pairs}, closed=[drawn.predicate])
    of_drawn = liftgbp.best_world(model, {sort: figures.OBJECTS}, evidence=evidence)
    best = liftgbp.best_world(model, {sort: figures.OBJECTS}, via="lifted")
    assert best.proven
    assert of_drawn.score == best.score == KNOWN[name]


N = 9
KNOWN = {
    "two-sides": 2 * (N * N // 4),
    "three-parts": N * N - 3 * (N // 3) ** 2,
    "couples": 2 * (N // 2),
    "ranking": N * (N - 1) * (N - 2),
    "cycles": (N**3 - N) / 8,
}
"""The scores that docs/examples.md states."""


def test_every_picture_is_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    pages += (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for picture in (DOCS / "img").iterdir():
        assert f"img/{picture.name}" in pages
