"""Independent parts of a model are solved apart."""

from __future__ import annotations

import math
import tempfile
from itertools import combinations
from pathlib import Path

import pytest

import liftgbp
from liftgbp.lift.shatter import shatter
from liftgbp.oracle import reference
from liftgbp.strategy.parts import independent_parts

TWO = liftgbp.parse("""
p(t)
q(t)
1 p(x) <=> p(y) | x != y
1 q(x) <=> q(y) | x != y
""")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"effort": "quick"}, {"exact": False}, {}, {"effort": "quick", "via": "ground"}],
)
def test_each_part_mixes_its_own_minima(options: dict[str, object]) -> None:
    truth = reference.exact(reference.ground(TWO, {"t": 5}))
    answers = liftgbp.infer(TWO, {"t": 5}, **options)  # type: ignore[call-overload]
    assert answers.flaw is None
    assert answers.marginal("p(x)") == pytest.approx(0.5, abs=1e-9)
    assert answers.marginal("q(x)") == pytest.approx(0.5, abs=1e-9)
    assert answers.log_z == pytest.approx(truth.log_z, abs=1e-4)
    if answers.via == "ground":
        return
    one = answers.query("p(x) ^ p(y) | x != y")[0]["true", "true"]
    both = answers.query("p(x) ^ p(y) ^ q(x) ^ q(y) | x != y")[0]["true", "true", "true", "true"]
    assert both == pytest.approx(one**2, rel=1e-9)


@pytest.mark.slow
def test_ten_parts_of_two_minima_each() -> None:
    """A thousand minima of the whole: nobody would find them all."""
    lines = [f"p{k}(t)\n1 p{k}(x) <=> p{k}(y) | x != y" for k in range(10)]
    answers = liftgbp.infer(liftgbp.parse("\n".join(lines)), {"t": 50}, effort="quick")
    alone = liftgbp.infer(liftgbp.parse(lines[0]), {"t": 50}, effort="quick")
    assert answers.flaw is None
    assert answers.log_z == pytest.approx(10 * alone.log_z, rel=1e-12)
    assert all(answers.marginal(f"p{k}(x)") == pytest.approx(0.5, abs=1e-9) for k in range(10))


@pytest.mark.slow
def test_blocks_of_one_part_know_nothing_of_another() -> None:
    one = "1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct"
    alone = liftgbp.infer(liftgbp.parse(f"r(t,t)\n{one}"), {"t": 40})
    text = f"r(t,t)\ns(t,t)\n{one}\n{one.replace('r(', 's(')}"
    answers = liftgbp.infer(liftgbp.parse(text), {"t": 40})
    assert len(answers.blocks) == 2 * len(alone.blocks)
    for atom in ("r(x,y)", "s(x,y)"):
        assert answers.marginal(atom) == pytest.approx(alone.marginal("r(x,y)"), rel=1e-9)
    # Atoms r(x,x) and s(x,x) are free.
    assert answers.log_z == pytest.approx(2 * alone.log_z, rel=1e-12)


def test_facts_and_uncertain_facts_stay_with_their_part() -> None:
    facts = "p(A)\n!q(B)\n0.7 q(C)"
    evidence = liftgbp.parse_evidence(TWO, facts)
    answers = liftgbp.infer(TWO, {"t": 5}, evidence=evidence, via="lifted", exact=False)
    truth = reference.exact(reference.ground(TWO, {"t": 5}, evidence))
    assert answers.log_z == pytest.approx(truth.log_z, abs=1e-6)
    for name, number in (("A", 0), ("B", 1), ("C", 2)):
        for predicate in ("p", "q"):
            exact = truth.marginals.get(reference.GroundAtom(predicate, (number,)))
            if exact is not None:
                row = answers.query(f"{predicate}({name})")[0]
                assert row["true"] == pytest.approx(float(exact[1]), abs=1e-6)


@pytest.mark.slow
def test_sweeps_agree_with_single_runs() -> None:
    rows = liftgbp.sweep(TWO, {"t": [5, 30]}, effort="quick").rows
    for size in (5, 30):
        single = liftgbp.infer(TWO, {"t": size}, effort="quick")
        own = [row for row in rows if dict(row.point.sizes)["t"] == size]
        assert [row.log_z for row in own] == pytest.approx([single.log_z] * 2, rel=1e-12)
        assert [row.answer["true"] for row in own] == pytest.approx([0.5] * 2, abs=1e-9)


@pytest.mark.slow
def test_parts_of_a_network() -> None:
    """Two clusters of spins that have nothing to do with each other."""
    text = ["MARKOV", "10", "2 " * 10, "20"]
    pairs = [own for k in (0, 5) for own in combinations(range(k, k + 5), 2)]
    text += [f"2 {a} {b}" for a, b in pairs] + ["4 7 1 1 7"] * 10 + ["4 8 1 1 8"] * 10
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clusters.uai"
        path.write_text("\n".join(text), encoding="utf-8")
        network = liftgbp.load_network(path)
    exact = liftgbp.infer(network, exact=True)
    answers = liftgbp.infer(network, effort="quick")
    assert "parts" in answers.as_dict()
    assert answers.log_z == pytest.approx(exact.log_z, abs=0.05)
    for variable in ("x0", "x5"):
        assert answers.marginal(variable, "1") == pytest.approx(0.5, abs=1e-6)
    assert answers.query("x0 ^ x5")[0]["1", "1"] == pytest.approx(0.25, abs=1e-6)


def test_rules_that_share_atoms_are_one_part() -> None:
    model = liftgbp.parse("p(t)\nq(t)\nr(t,t)\n1 p(x)\n1 q(x)\n1 p(x) ^ r(x,y)\n1 r(x,x) => q(x)")
    parts = independent_parts(shatter(model, {"t": 9}))
    assert [sorted(part.rules) for part in parts] == [[0, 1, 2, 3]]
    # With r known nothing connects p and q.
    known = liftgbp.parse_evidence(model, "", closed=["r"])
    parts = independent_parts(shatter(model, {"t": 9}, evidence=known))
    assert len(parts) == 2


@pytest.mark.slow
def test_each_part_shows_its_minima() -> None:
    answers = liftgbp.infer(TWO, {"t": 9}, effort="quick")
    result = answers.as_dict()
    parts = result["parts"]
    assert isinstance(parts, list)
    assert [len([m for m in part["minima"] if m["weight"] > 0]) for part in parts] == [2, 2]
    assert math.isclose(sum(m["weight"] for m in parts[0]["minima"]), 1.0)


@pytest.mark.slow
def test_parts_are_told_where_no_sum_was_chosen() -> None:
    """What answers are made of does not depend on why no counts were summed over."""
    rule = "{0}(t,t)\n1 {0}(x,y) <=> {0}(y,z)"
    model = liftgbp.parse("\n".join(map(rule.format, "rs")))
    plain = liftgbp.infer(model, {"t": 6}, regions="auto", effort="quick")
    answers = liftgbp.infer(model, {"t": 6}, regions="auto", sum_over="auto", effort="quick")
    told = answers.as_dict()
    assert "no predicate was chosen" in told["sum_over"]["choice"]  # type: ignore[index]
    assert told["parts"] == plain.as_dict()["parts"]
    assert answers.used == plain.used
