"""Rules by which atoms exclude each other, and what is made of them on the ground."""

from __future__ import annotations

import math

import pytest

import liftgbp
from liftgbp.model.ast import Forall, WeightedFormula
from liftgbp.model.parser import parse
from liftgbp.model.rewriting import MOST_TOGETHER, with_joint_exclusions
from liftgbp.oracle import reference

PAPERS = "has(paper, topic)\nrated(paper, topic)\nknows(paper, paper)\n"


def is_joint(rule: str, topics: int = 3) -> bool:
    model = parse(PAPERS + rule)
    (found,) = with_joint_exclusions(model, {"paper": 5, "topic": topics}).rules
    assert isinstance(found, WeightedFormula)
    return isinstance(found.formula, Forall)


@pytest.mark.parametrize(
    "rule",
    [
        "has(p,c) ^ has(p,d) => c = d.",
        "!has(p,c) v !has(p,d) v c = d.",
        "has(p,c) ^ c != d => !has(p,d).",
        "c != d => !(has(p,c) ^ has(p,d)).",
        "!has(p,c) v !has(p,d) | c != d.",
        "has(p,c) => !has(p,d) | distinct.",
    ],
)
def test_rules_that_say_that_one_at_most_holds(rule: str) -> None:
    assert is_joint(rule)
    assert not is_joint(rule, MOST_TOGETHER + 1)


@pytest.mark.parametrize(
    "rule",
    [
        "1 has(p,c) ^ has(p,d) => c = d",  # soft
        "has(p,c) ^ has(p,d) => c != d.",  # the other way round
        "has(p,c) v has(p,d) | c != d.",  # at least
        "!has(p,c) v !has(p,d).",  # none at all, since c and d may be the same
        "has(p,c) ^ rated(p,d) => c = d.",  # two predicates
        "has(p,c) ^ has(q,d) => c = d.",  # two papers
        "knows(p,q) ^ knows(p,r) => q = r | p != q.",  # more restrictions
        "!knows(p,q) v !knows(p,r) | distinct.",  # distinct is about p, too
        "has(p,c) ^ has(p,d) ^ has(p,e) => c = d.",  # three atoms
    ],
)
def test_rules_that_say_anything_else_stay(rule: str) -> None:
    assert not is_joint(rule)


RING = """
paper = {A, B, C, D, E, F, G, H}
topic = {X, Y, Z}
*cites(paper, paper)
has(paper, topic)
has(p,c) ^ has(p,d) => c = d.
1.3 cites(p,q) ^ has(p,c) => has(q,c)
0.8 has(p,c)
"""
CITES = "\n".join(f"cites({a},{b})" for a, b in zip("ABCDEFGH", "BCDEFGHA", strict=True))


def test_exclusive_topics_are_exclusive_on_the_ground() -> None:
    """The ring is exact as a chain of matrices over four states: three topics, or none."""
    model = parse(RING)
    answers = liftgbp.infer(model, evidence=CITES, via="ground", effort="quick", exact=False)
    states = range(4)

    def link(s: int, t: int) -> float:
        held = sum(not (s == c and t != c) for c in range(3))
        return math.exp(1.3 * held + 0.8 * (s < 3))

    def around(start: int) -> float:
        weights = {s: float(s == start) for s in states}
        for _ in range(8):
            weights = {t: sum(weights[s] * link(s, t) for s in states) for t in states}
        return weights[start]

    total = sum(map(around, states))
    sums = []
    for paper in "ABCDEFGH":
        own = [answers.marginal(f"has({paper},{topic})") for topic in "XYZ"]
        sums.append(sum(own))
        assert own == pytest.approx([around(0) / total] * 3, abs=0.02)
    assert max(sums) <= 1
    assert answers.flaw is None
    exact = liftgbp.infer(model, evidence=CITES, via="ground", exact=True)
    # A rule holds for certain where nobody cites: 56 pairs of papers, three topics each.
    assert exact.log_z == pytest.approx(math.log(total) + 1.3 * 3 * 56)


@pytest.mark.slow
@pytest.mark.parametrize("most", [20, 10**6])
def test_pairs_that_leave_too_much_room_are_not_trusted(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for regions gets them; and some pairs are looked at, however many there are."""
    monkeypatch.setattr("liftgbp.ground.compress.alignment.MOST_PLACES", most)
    monkeypatch.setattr("liftgbp.ground.compress.alignment.MOST_PAIRS", 10 * most)
    model = parse(RING.replace("X, Y, Z", "X, Y, Z, U, V, W"))
    facts = CITES + "\nhas(A,X)"  # so that papers are not all alike
    pairs = liftgbp.infer(model, evidence=facts, via="ground", regions="intersections")
    with pytest.warns(liftgbp.UntrustedAnswer):
        sums = [sum(pairs.marginal(f"has({p},{c})") for c in "XYZUVW") for p in "ABCDEFGH"]
    assert max(sums) > 1.2
    assert "exclude each other" in pairs.reason
    joint = liftgbp.infer(model, evidence=facts, via="ground", effort="quick", exact=False)
    assert joint.flaw is None
    assert joint.marginal("has(B,X)") == pytest.approx(
        liftgbp.infer(model, evidence=facts, via="ground", exact=True).marginal("has(B,X)"),
        abs=0.02,
    )


def test_both_forms_are_the_same_model() -> None:
    model = parse(RING.replace("A, B, C, D, E, F, G, H", "A, B"))
    joint = with_joint_exclusions(model, {"paper": 2, "topic": 3})
    assert joint != model
    found = [
        reference.exact(reference.ground(own, {}, liftgbp.parse_evidence(own, "cites(A,B)")))
        for own in (model, joint)
    ]
    assert found[0].log_z == pytest.approx(found[1].log_z)
