"""Evidence for other weights and formulas, with further facts, and without some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import liftgbp
from liftgbp import Evidence, EvidenceError, parse, parse_evidence
from liftgbp.evidence import Problem

DECLARED = """
person = {Anna, Bob}
friends(person, person)
smokes(person)
mood(person) : {low, mid, high}
rain
"""
FORMULAS = [
    "$w friends(x,y) ^ smokes(x) => smokes(y) | x != y",
    "0.3 smokes(Carl)\n$w smokes(x) ^ rain",
    "-0.4 friends(x,Dora)\n$w mood(x) = high => smokes(x)\n0.2 smokes(Bob)",
    "0.7 friends(x,y) => friends(y,x)\n0.1 rain\n$w mood(x) = low",
]
MODELS = [parse(f"{DECLARED}{rules}\n$w = {weight}") for rules in FORMULAS for weight in (1, -0.5)]
MODEL, SIZES = MODELS[0], {"person": 7}

MODEL_OF_MANY = st.integers(0, len(MODELS) - 1).map(MODELS.__getitem__)
NAMES = st.sampled_from(["Anna", "Bob", "Carl", "Dora", "Eve"])


@st.composite
def facts(draw: st.DrawFn) -> dict[str, str]:
    """Lines of facts, by their atoms."""
    lines = {}
    for _ in range(draw(st.integers(0, 6))):
        one, other = draw(NAMES), draw(NAMES)
        atom = draw(st.sampled_from([f"friends({one},{other})", f"smokes({one})", "rain"]))
        sign = draw(st.sampled_from(["", "!", "0.8 ", "0.25 "]))
        lines[atom] = sign + atom
        if draw(st.booleans()):
            atom = f"mood({one})"
            chance = draw(st.sampled_from(["", "0.6 "]))
            lines[atom] = f"{chance}{atom} = {draw(st.sampled_from(['low', 'mid', 'high']))}"
    return lines


def text(lines: Mapping[str, str]) -> str:
    return "\n".join(lines.values())


def objects_in(lines: Mapping[str, str]) -> str:
    """A line that lists the objects of atoms, so that they have names."""
    names = sorted({name for atom in lines for name in inside(atom)})
    return f"person = {{{', '.join(names)}}}" if names else ""


def inside(atom: str) -> list[str]:
    return atom.partition("(")[2][:-1].split(",") if "(" in atom else []


def known(evidence: Evidence) -> dict[str, Any]:
    """What is known of each atom, by names."""
    found: dict[str, Any] = {}
    for relations, column in ((evidence.hard, "values"), (evidence.soft, "log_potentials")):
        for name, relation in relations.items():
            sorts = MODEL.predicates[name].sorts
            for row, value in zip(relation.args, getattr(relation, column).tolist(), strict=True):
                args = [evidence.names[s][k] for s, k in zip(sorts, row.tolist(), strict=True)]
                found[f"{name}({','.join(args)})"] = value
    return found


def answers(model: liftgbp.Model, evidence: Evidence | str) -> dict[str, Any]:
    """Every answer, by names."""
    found = liftgbp.infer(model, SIZES, evidence=evidence, effort="quick")
    names = found.model.constants("person")
    atoms = ["rain", *(f"smokes({name})" for name in names), *(f"mood({name})" for name in names)]
    values = {atom: found.query(atom)[0].values for atom in atoms}
    return {"log Z": found.log_z, **values}


def close(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Objects may have other numbers, and sums another order."""
    return one.keys() == other.keys() and all(
        value == pytest.approx(other[atom], abs=1e-9) for atom, value in one.items()
    )


SLOW = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@SLOW
@given(lines=facts(), one=MODEL_OF_MANY, other=MODEL_OF_MANY)
def test_evidence_is_the_same_for_other_weights_and_formulas(
    lines: dict[str, str], one: liftgbp.Model, other: liftgbp.Model
) -> None:
    evidence = parse_evidence(one, text(lines))
    assert answers(other, evidence) == answers(other, parse_evidence(other, text(lines)))


@pytest.mark.slow
@SLOW
@given(facts(), facts(), MODEL_OF_MANY)
def test_with_facts_is_the_text_with_other_lines(
    before: dict[str, str], new: dict[str, str], model: liftgbp.Model
) -> None:
    changed = parse_evidence(model, text(before)).with_facts(text(new))
    whole = parse_evidence(model, text({**before, **new}))
    assert known(changed) == known(whole)
    assert close(answers(model, changed), answers(model, whole))
    for name, relation in changed.hard.items():
        for objects in relation.args.tolist():
            place = changed.place(name, objects)
            assert place is not None
            assert place.text in {**before, **new}.values()


@pytest.mark.slow
@SLOW
@given(st.data(), facts(), MODEL_OF_MANY)
def test_without_is_the_text_without_lines(
    data: st.DataObject, lines: dict[str, str], model: liftgbp.Model
) -> None:
    dropped = data.draw(st.lists(st.sampled_from(sorted(lines)), unique=True)) if lines else []
    left = {atom: line for atom, line in lines.items() if atom not in dropped}
    evidence = parse_evidence(model, text(lines))
    listed = parse_evidence(model, f"{text(left)}\n{objects_in(lines)}")
    for changed in (
        evidence.without(*dropped),
        evidence.with_facts(dict.fromkeys(dropped)),
    ):
        assert known(changed) == known(listed)
        assert close(answers(model, changed), answers(model, listed))


def test_facts_in_any_form() -> None:
    evidence = parse_evidence(MODEL, "smokes(Anna)\n0.3 smokes(Bob)\nmood(Eve) = low")
    given = {
        "smokes(Anna)": False,
        "smokes(Bob)": True,
        "mood(Eve)": "high",
        "friends": [("A", "B")],
    }
    changed = evidence.with_facts(given)
    expected = {"smokes(Anna)": 0, "smokes(Bob)": 1, "mood(Eve)": 2, "friends(A,B)": 1}
    assert known(changed) == expected
    assert known(evidence.with_facts(parse_evidence(MODEL, "!smokes(Bob)")))["smokes(Bob)"] == 0
    assert known(evidence)["smokes(Anna)"] == 1


def test_whole_predicates_are_forgotten() -> None:
    model = parse("*knows(p, p)\nfriends(p, p)\nsmokes(p)\ntall(p)")
    evidence = parse_evidence(
        model,
        "friends(A,B)\nsmokes(A)\n0.2 smokes(B)",
        closed=["friends"],
        known=["smokes(x) ^ tall(x) = 2", "smokes(x) = 3"],
    )
    rest = evidence.without("friends", "smokes")
    assert not rest.hard
    assert not rest.soft
    assert rest.closed == {"knows"}
    assert [(block.values, block.count) for block in rest.known] == [((("tall", 1),), 2)]
    assert rest.names == {"p": ("A", "B")}
    assert "knows" in evidence.without("knows").closed


def test_closed_predicates_have_no_uncertain_facts() -> None:
    model = parse("friends(p, p)")
    closed = parse_evidence(model, "friends(A,B)", closed=["friends"])
    with pytest.raises(EvidenceError, match="1:1: friends is closed, so its atoms cannot have"):
        closed.with_facts({"friends(B,A)": 0.4})
    assert closed.with_facts({"friends(A,B)": None}).closed == {"friends"}


def test_the_value_of_a_function_is_replaced() -> None:
    model = parse("person = {A, B, C}\nperson motherOf(person)\nsmokes(person)")
    evidence = parse_evidence(model, "motherOf(A) = B\nmotherOf(B) = C\nmotherOf(C) = C")
    changed = evidence.with_facts({"motherOf(A)": "C"})
    assert sorted(changed.hard["motherOf"].args.tolist()) == [[0, 2], [1, 2], [2, 2]]


def test_terms_stand_for_the_values_of_functions() -> None:
    model = parse("person = {A, B, C}\nperson motherOf(person)\nsmokes(person)")
    mothers, smokers = "motherOf(A) = B\nmotherOf(B) = C\nmotherOf(C) = C", "smokes(motherOf(A))"
    both = parse_evidence(model, f"{mothers}\n{smokers}")
    for first, then in ((mothers, smokers), (smokers, mothers)):
        changed = parse_evidence(model, first).with_facts(then)
        assert sorted(changed.names["person"]) == sorted(both.names["person"])
        names = [changed.names["person"][k] for (k,) in changed.hard["smokes"].args.tolist()]
        assert names == ["B"]
        assert Problem.of(model, changed).model == model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.without("smokes(Zoe)"), "1:1: there is no fact about smokes\\(Zoe\\)"),
        (lambda e: e.without("rain", "smokes(Bob)"), "there is no fact about smokes\\(Bob\\)"),
        (lambda e: e.without("smoke"), "1:1: unknown predicate smoke"),
        (lambda e: e.without("smokes(Anna"), "1:12: expected ',' or '\\)'"),
        (lambda e: e.without("smokes(Anna,Bob)"), "smokes takes 1 argument, got 2"),
        (lambda e: e.with_facts({"smokes(Anna)": "perhaps"}), "not perhaps"),
        (lambda e: e.with_facts("smokes(Bob)\n!smokes(Bob)"), "2:1: !smokes\\(Bob\\) contradicts"),
        (lambda e: e.with_facts({"mood(Anna, Bob)": None}), "mood takes 1 argument, got 2"),
    ],
)
def test_mistakes_are_pointed_at(change: Any, message: str) -> None:
    with pytest.raises(EvidenceError, match=message):
        change(parse_evidence(MODEL, "smokes(Anna)\nrain"))


def test_a_list_of_evidence_has_a_list_of_answers() -> None:
    evidence = parse_evidence(MODEL, "smokes(Anna)")
    several = [evidence, evidence.with_facts({"smokes(Bob)": True}), evidence.without("smokes")]
    found = liftgbp.infer(MODEL, SIZES, evidence=several)
    assert [one.log_z for one in found] == [
        liftgbp.infer(MODEL, SIZES, evidence=one).log_z for one in several
    ]
    one = liftgbp.infer(MODEL, SIZES, evidence=["smokes(Anna)", {"rain": True}])
    assert one.log_z == liftgbp.infer(MODEL, SIZES, evidence="smokes(Anna)\nrain").log_z
    with pytest.raises(EvidenceError, match="cannot be in a list"):
        liftgbp.infer(MODEL, SIZES, evidence=["rain", evidence])  # type: ignore[list-item]


@pytest.mark.slow
def test_rules_that_are_left_out_leave_the_numbers_of_objects() -> None:
    """Parts of a model, and explanations, are about the same objects as the whole model."""
    model = parse("p(t)\nq(t)\n1 p(Anna)\n2 q(Bob)")
    part = model.with_rules(model.rules[1:])
    assert part.constants("t") == model.constants("t") == ("Anna", "Bob")
    found = liftgbp.infer(model, {"t": 5}, exact=False)
    assert found.flaw is None, found.reason
    problem = Problem.of(part, None, {"t": 5})
    assert problem.model.mentioned["t"] == ("Bob",)
