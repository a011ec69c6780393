"""Answers beside a second opinion."""

from __future__ import annotations

import numpy as np
import pytest

import liftgbp
from liftgbp.ground.formats import Network
from liftgbp.ground.grounding import FactorBlock
from liftgbp.ground.grounding.network import merged
from liftgbp.oracle import reference
from liftgbp.oracle.checking import ExactInference

SMOKERS = liftgbp.load("example:friends-smokers")
TRANSITIVE = liftgbp.load("example:transitive")


def test_the_answer_of_query_is_checked() -> None:
    found = liftgbp.check(SMOKERS, {"person": 10}, effort="quick")
    truth = reference.exact(reference.ground(SMOKERS, {"person": 10}))
    assert found.method == "exact"
    assert found.agrees
    assert found.comparison is not None
    (row,) = [
        r
        for r in found.comparison.rows
        if r.atom == "friends(x,y)" and r.where == "x != y" and r.assignment == ("true",)
    ]
    exact = float(truth.marginals[reference.GroundAtom("friends", (0, 1))][1])
    assert row.second == pytest.approx(exact, abs=1e-12)
    assert row.answer == found.answers.query("friends(x,y)")[1]["true"]
    assert found.comparison.second_log_z == pytest.approx(truth.log_z, rel=1e-12)


def test_an_answer_that_is_off_disagrees() -> None:
    """Flooding goes to a saddle of the free energy of ten smokers."""
    found = liftgbp.check(
        SMOKERS, {"person": 10}, solver=liftgbp.Flooding(), queries="friends(x,y)"
    )
    assert not found.agrees
    assert "disagrees with the exact answer by 0.05" in found.sentence
    assert "in friends(x,y) [x != y]" in found.sentence


def test_exact_answers_are_compared_with_other_code() -> None:
    found = liftgbp.check(TRANSITIVE, {"person": 4})
    assert found.answers.used.startswith("exact")
    assert "independent exact inference" in found.sentence
    assert found.agrees


@pytest.mark.slow
def test_atoms_observed_with_different_values_have_rows_of_their_own() -> None:
    model = liftgbp.parse("*ties(p,p)\ns(p)\n0.5 ties(x,y) => (s(x) <=> s(y))")
    facts = "ties(A,B)\nties(B,C)\nties(C,D)\n!s(A)\ns(D)"
    for exact in (True, False):
        found = liftgbp.check(
            model, evidence=facts, queries="s(x)", via="ground", exact=exact, seconds=2
        )
        assert found.agrees, found.sentence
        rows = [(row.where, row["true"]) for row in found.answers.query("s(x)")]
        assert rows[-2:] == [("observed false", 0.0), ("observed true", 1.0)]
        change = found.answers.change
        assert change is None or abs(change.p - change.quick) < 1e-6  # the network is a tree


def test_exact_joints_and_conditionals_are_compared_with_other_code() -> None:
    queries = ["smokes(x), smokes(y)", "friends(x,y) | smokes(x), smokes(y)", "smokes(Anna)"]
    evidence = liftgbp.parse_evidence(SMOKERS, "smokes(Anna)\nfriends(Anna,Bob)")
    for known in (None, evidence):
        asked = queries if known else queries[:2]
        found = liftgbp.check(SMOKERS, {"person": 4}, evidence=known, queries=asked)
        assert found.answers.used.startswith("exact")
        assert "agrees with independent exact inference" in found.sentence
        assert found.comparison is not None
        assert not found.comparison.missing
        assert all(abs(row.difference) < 1e-9 for row in found.comparison.rows)
        assert any(row.value == "true | false,true" for row in found.comparison.rows)


def test_the_reason_says_which_size_it_is_about() -> None:
    """Message passing stops at a saddle at either size."""
    sizes, solver = {"person": 10**6}, liftgbp.Flooding()
    found = liftgbp.check(SMOKERS, sizes, solver=solver, queries="smokes(x)")
    assert found.is_smaller
    asked, compared = found.doubts
    assert asked.startswith("at person = 1000000: ")
    assert compared.startswith(f"at person = {found.sizes['person']}: the beliefs are a saddle")
    few = liftgbp.check(SMOKERS, {"person": 10}, solver=solver)
    assert few.doubts == (few.answers.reason,)
    assert repr(few) == f"<Check friends-smokers: {few.sentence}>"


def test_large_domains_are_checked_at_a_smaller_size() -> None:
    found = liftgbp.check(SMOKERS, {"person": 10**6})
    assert found.is_smaller
    assert found.sizes == {"person": 200}
    assert found.answers.sizes == {"person": 10**6}
    assert found.sentence.startswith("at person = 200 the answer agrees with the exact answer")
    assert "asked for person = 1000000" in found.sentence
    # What is exact at that size would say nothing about the other.
    assert not found.compared.used.startswith("exact")


@pytest.mark.slow
def test_what_has_no_exact_answer_is_sampled() -> None:
    found = liftgbp.check(TRANSITIVE, {"person": 8}, seconds=1.5, effort="quick")
    assert found.method == "sample"
    assert found.comparison is not None
    assert all(row.error > 0 for row in found.comparison.rows if row.where == "x != y")
    # Regions of three objects are too small for eight people: the true value is about 0.29.
    assert not found.agrees
    assert found.comparison.largest is not None
    assert abs(found.comparison.largest.difference) > 0.03
    # On a slow machine, 1.5 seconds may be too short for a verdict.
    assert "disagrees with the sample" in found.sentence or "undecided" in found.sentence


@pytest.mark.slow
def test_without_time_for_a_sample_a_smaller_size_is_checked() -> None:
    found = liftgbp.check(TRANSITIVE, {"person": 20}, seconds=1e-9)
    assert found.is_smaller
    assert found.method == "exact"
    assert "asked for person = 20" in found.sentence


@pytest.mark.slow
def test_with_evidence_by_classes_and_on_the_ground() -> None:
    model = liftgbp.load("example:smoking-network")
    evidence = liftgbp.load_evidence(model, "example:smoking-network.db", closed=["friends"])
    for via in ("lifted", "ground"):
        found = liftgbp.check(model, evidence=evidence, via=via, exact=False)
        assert found.method == "exact"
        assert found.comparison is not None
        assert not found.comparison.missing
        assert found.comparison.log_z == found.answers.result.log_z


def test_networks() -> None:
    generator = np.random.default_rng(3)
    ring = [[k, (k + 1) % 6] for k in range(6)]
    tables = [generator.normal(size=(2, 2)) for _ in ring]
    blocks = [FactorBlock(np.array([own]), np.array([k])) for k, own in enumerate(ring)]
    network = Network("ring", merged(np.full(6, 2), blocks, tables))
    found = liftgbp.check(network, exact=False)
    assert found.method == "exact"
    assert found.comparison is not None
    assert len(found.comparison.rows) == 12


@pytest.mark.parametrize("observed", [{}, {2: 1, 3: 0}])
def test_exact_answers_about_networks_are_put_beside_independent_ones(
    observed: dict[int, int],
) -> None:
    """By listing all states; variable 4 has one value, and variable 5 lies in no factor."""
    generator = np.random.default_rng(5)
    ranges = [2, 3, 2, 2, 1, 2]
    scopes = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 4)]
    tables = [generator.normal(size=[ranges[k] for k in own]) for own in scopes]
    blocks = [FactorBlock(np.array([own]), np.array([k])) for k, own in enumerate(scopes)]
    network = Network("square", merged(np.array(ranges), blocks, tables))
    weights = np.zeros(ranges)
    pairs = list(zip(scopes, tables, strict=True))
    for state in np.ndindex(*ranges):
        possible = all(state[k] == value for k, value in observed.items())
        logs = sum(table[tuple(state[k] for k in own)] for own, table in pairs)
        weights[state] = np.exp(logs) if possible else 0.0
    found = liftgbp.check(network, evidence=observed, queries=["x0", "x1, x2", "x5", "x4"])
    assert found.method == "exact"
    assert found.agrees
    assert isinstance(found.second, ExactInference)
    opinion = found.second.opinion
    assert opinion.log_z == pytest.approx(np.log(weights.sum()))
    first = np.array(list(opinion.rows[0].values.values()))
    assert first == pytest.approx(weights.sum(axis=(1, 2, 3, 4, 5)) / weights.sum())
    pair = np.array(list(opinion.rows[1].values.values())).reshape(3, 2)
    assert pair == pytest.approx(weights.sum(axis=(0, 3, 4, 5)) / weights.sum())


def test_the_check_for_json_and_in_words() -> None:
    found = liftgbp.check(SMOKERS, {"person": 5}, effort="quick", queries=["smokes(x)"])
    result = found.as_dict()
    assert result["method"] == "exact"
    assert result["agrees"] is True
    assert str(found).endswith(found.sentence)
    assert str(found).count(found.sentence) == 1


def test_evidence_that_allows_no_smaller_domain() -> None:
    model = liftgbp.load("example:town")
    evidence = liftgbp.load_evidence(model, known=["smokes(x)=3e5"])
    found = liftgbp.check(model, {"person": 10**6}, evidence=evidence, effort="quick")
    assert found.comparison is None
    assert not found.agrees
    assert "check with a part of it" in found.sentence


def test_answers_over_other_domains_are_not_compared() -> None:
    few, many = (liftgbp.infer(SMOKERS, {"person": n}, effort="quick") for n in (10, 11))
    with pytest.raises(liftgbp.InputError, match="other sizes"):
        few.compare(many)


def test_bad_input() -> None:
    with pytest.raises(liftgbp.InputError, match="seconds"):
        liftgbp.check(SMOKERS, {"person": 4}, seconds=-1.0)
    with pytest.raises(liftgbp.InputError, match="seed"):
        liftgbp.check(SMOKERS, {"person": 4}, seed=-1)
    with pytest.raises(liftgbp.InputError, match="seconds"):
        liftgbp.check(TRANSITIVE, {"person": 8}, seconds=-1.0)
    with pytest.raises(liftgbp.InputError):
        liftgbp.check(SMOKERS, {"person": 5}, queries="hates(x)")
