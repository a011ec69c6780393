"""Conditioning: the sliced ground model against the worlds of the whole one that agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from reference_models import hard, is_, model, soft

from liftgbp.evidence import Evidence, Known, Relation, SoftRelation
from liftgbp.model.ast import And, Exists, Implies, Not, Predicate, Sort, Variable
from liftgbp.model.model import Model
from liftgbp.oracle.reference import GroundAtom, GroundModel, exact, ground
from liftgbp.support.errors import CapacityError, ContradictionError, SizeError
from random_models import models_with_evidence

MOST_WORLDS = 2**15


def facts(*rows: tuple[tuple[int, ...], int]) -> Relation:
    args = np.array([objects for objects, _ in rows], np.int64)
    return Relation(args, np.array([value for _, value in rows], np.int64))


# --- an oracle that knows nothing of slicing


def stated(evidence: Evidence, whole: GroundModel) -> dict[GroundAtom, int]:
    """The observed value of each atom, atom by atom."""
    return {a: value for a in whole.atoms if (value := value_of(evidence, a)) is not None}


def value_of(evidence: Evidence, atom: GroundAtom) -> int | None:
    relation = evidence.hard.get(atom.predicate, facts())
    for row, value in zip(relation.args, relation.values, strict=True):
        if tuple(row) == atom.objects:
            return int(value)
    if len(atom.objects) == 1:
        (sort,) = evidence.vocabulary.predicates[atom.predicate].sorts
        anonymous = atom.objects[0] - len(evidence.vocabulary.constants(sort))
        groups = [known for known in evidence.known if known.sort == sort]
        members = list(itertools.chain(*([known] * known.count for known in groups)))
        if 0 <= anonymous < len(members):
            value = dict(members[anonymous].values).get(atom.predicate)
            if value is not None:
                return value
    return 0 if atom.predicate in evidence.closed else None


def log_likelihoods(evidence: Evidence) -> Iterator[tuple[GroundAtom, np.ndarray]]:
    for name, relation in evidence.soft.items():
        for row, log_potentials in zip(relation.args, relation.log_potentials, strict=True):
            yield GroundAtom(name, tuple(row.tolist())), log_potentials


def agreeing_worlds(
    whole: GroundModel, evidence: Evidence
) -> tuple[dict[GroundAtom, np.ndarray], np.ndarray]:
    """The states of all atoms in the worlds that agree with the facts, and the worlds' weights."""
    fixed = stated(evidence, whole)
    choices = [[fixed[a]] if a in fixed else list(range(whole.ranges[a])) for a in whole.atoms]
    worlds = np.array(list(itertools.product(*choices))).T
    states = dict(zip(whole.atoms, worlds, strict=True))
    log_weights = np.full(worlds.shape[1], whole.log_constant)
    for factor in whole.factors:
        log_weights += factor.log_table[tuple(states[atom] for atom in factor.scope)]
    for atom, log_potentials in log_likelihoods(evidence):
        log_weights += log_potentials[states[atom]]
    return states, log_weights


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(models_with_evidence(most=3))
def test_slicing_equals_conditioning(drawn: tuple[Model, dict[str, int], Evidence]) -> None:
    plain, domain, evidence = drawn
    try:
        whole = ground(evidence.vocabulary, domain)
    except (ContradictionError, CapacityError):
        assume(False)
    fixed = stated(evidence, whole)
    free = [atom for atom in whole.atoms if atom not in fixed]
    # Atoms in no factor are left out, so that the worlds stay few.
    touched = {a for factor in whole.factors for a in factor.scope} | fixed.keys()
    touched |= {atom for atom, _ in log_likelihoods(evidence)}
    assume(math.prod(whole.ranges[a] for a in touched if a not in fixed) <= MOST_WORLDS)
    small = replace(whole, atoms=tuple(a for a in whole.atoms if a in touched))
    states, log_weights = agreeing_worlds(small, evidence)
    weights = np.exp(log_weights)

    if not weights.any():
        with pytest.raises(ContradictionError):
            exact(ground(plain, domain, evidence))
        return
    conditioned = ground(plain, domain, evidence)
    answer = exact(conditioned)
    assert conditioned.observed == fixed
    assert list(conditioned.atoms) == list(answer.marginals) == free
    untouched = sum(math.log(whole.ranges[a]) for a in free if a not in touched)
    assert answer.log_z == pytest.approx(math.log(weights.sum()) + untouched, abs=1e-9)
    for atom in free:
        length = whole.ranges[atom]
        expected = np.full(length, 1 / length)
        if atom in touched:
            expected = np.bincount(states[atom], weights, length) / weights.sum()
        assert np.allclose(answer.marginals[atom], expected, rtol=0, atol=1e-9), atom


# --- single cases

SMOKERS = model(
    {"smokes": ("person",), "friends": ("person", "person")},
    soft(1.5, Implies(And((is_("friends", "x", "y"), is_("smokes", "x"))), is_("smokes", "y"))),
    person=Sort("person", ("Anna", "Bob")),
)


def scopes(grounded: GroundModel) -> list[str]:
    return [" ".join(map(str, factor.scope)) for factor in grounded.factors]


def test_each_factor_loses_its_observed_and_then_its_idle_atoms() -> None:
    evidence = Evidence(SMOKERS, hard={"smokes": facts(((0,), 0))})
    grounded = ground(SMOKERS, {"person": 2}, evidence)
    # Anna does not smoke: nothing follows from her friendships, and her friends' always holds.
    assert scopes(grounded) == ["friends(1,0) smokes(1)"]
    assert grounded.observed == {GroundAtom("smokes", (0,)): 0}
    assert GroundAtom("smokes", (0,)) not in grounded.atoms
    # (0,0), (0,1) and (1,1) hold in every world.
    assert grounded.log_constant == pytest.approx(3 * 1.5)


def test_closed_predicates_are_false_unless_stated() -> None:
    evidence = Evidence(
        SMOKERS, hard={"friends": facts(((0, 1), 1))}, closed=frozenset({"friends"})
    )
    grounded = ground(SMOKERS, {"person": 3}, evidence)
    assert scopes(grounded) == ["smokes(0) smokes(1)"]
    assert len(grounded.observed) == 9
    assert sum(grounded.observed.values()) == 1


def test_soft_evidence_is_a_factor_over_one_atom() -> None:
    evidence = Evidence(
        SMOKERS,
        soft={"smokes": SoftRelation(np.array([[0]]), np.log([[0.3, 0.7]]))},
        closed=frozenset({"friends"}),
    )
    answer = exact(ground(SMOKERS, {"person": 2}, evidence))
    assert answer.marginals[GroundAtom("smokes", (0,))] == pytest.approx([0.3, 0.7])
    assert answer.marginals[GroundAtom("smokes", (1,))] == pytest.approx([0.5, 0.5])
    assert answer.log_z == pytest.approx(4 * 1.5 + math.log(2))


def test_soft_evidence_about_an_observed_atom_only_weighs_the_world() -> None:
    soft_facts = {"smokes": SoftRelation(np.array([[0]]), np.array([[0.25, 0.75]]))}
    observed = Evidence(SMOKERS, hard={"smokes": facts(((0,), 1))})
    both = replace(observed, soft=soft_facts)
    without, with_soft = (ground(SMOKERS, {"person": 2}, e) for e in (observed, both))
    assert scopes(without) == scopes(with_soft)
    assert with_soft.log_constant - without.log_constant == pytest.approx(0.75)


def test_known_objects_follow_the_named_ones_as_stated() -> None:
    known = (Known("person", (("smokes", 1),), 2), Known("person", (("smokes", 0),), 1))
    grounded = ground(SMOKERS, {"person": 6}, Evidence(SMOKERS, known=known))
    assert grounded.observed == {
        GroundAtom("smokes", (2,)): 1,
        GroundAtom("smokes", (3,)): 1,
        GroundAtom("smokes", (4,)): 0,
    }


def test_more_known_objects_than_there_are() -> None:
    known = (Known("person", (("smokes", 1),), 2), Known("person", (("smokes", 0),), 1))
    with pytest.raises(SizeError, match="size 4 is too small for sort person: 3 unnamed objects"):
        ground(SMOKERS, {"person": 4}, Evidence(SMOKERS, known=known))


def test_observed_atoms_do_not_count_against_the_capacity() -> None:
    somebody = Exists(Variable("y"), is_("friends", "x", "y"))
    wide = model(
        {"smokes": ("person",), "friends": ("person", "person")},
        soft(1.0, Implies(is_("smokes", "x"), somebody)),
    )
    with pytest.raises(CapacityError):
        ground(wide, {"person": 40})
    evidence = Evidence(wide, closed=frozenset({"friends"}))
    assert scopes(ground(wide, {"person": 40}, evidence)) == [f"smokes({k})" for k in range(40)]


def test_evidence_that_violates_a_hard_formula() -> None:
    rule = hard(Implies(is_("p", "x"), is_("q", "x")))
    pq = model({"p": ("person",), "q": ("person",)}, rule)
    evidence = Evidence(pq, hard={"p": facts(((1,), 1)), "q": facts(((1,), 0))})
    with pytest.raises(ContradictionError, match="the evidence violates this hard formula"):
        ground(pq, {"person": 2}, evidence)


def test_a_rule_that_always_fails_is_not_blamed_on_evidence() -> None:
    never = model({"p": ("person",), "rain": ()}, hard(And((is_("p", "x"), Not(is_("p", "x"))))))
    evidence = Evidence(never, hard={"rain": facts(((), 1))})
    with pytest.raises(ContradictionError, match="whatever the atoms are"):
        ground(never, {"person": 1}, evidence)


def test_soft_evidence_against_an_observed_value() -> None:
    evidence = Evidence(
        SMOKERS,
        hard={"smokes": facts(((0,), 1))},
        soft={"smokes": SoftRelation(np.array([[0]]), np.array([[0.0, -np.inf]]))},
    )
    with pytest.raises(ContradictionError, match=r"every value that smokes\(0\) can have"):
        ground(SMOKERS, {"person": 2}, evidence)


def test_atoms_without_arguments_and_with_many_values() -> None:
    predicates = {"rain": Predicate("rain"), "mood": Predicate("mood", (), ("low", "mid", "high"))}
    plain = Model({}, predicates, (soft(1.0, Implies(is_("rain"), Not(is_("rain")))),))
    evidence = Evidence(plain, hard={"rain": facts(((), 1)), "mood": facts(((), 2))})
    grounded = ground(plain, {}, evidence)
    assert grounded.observed == {GroundAtom("rain"): 1, GroundAtom("mood"): 2}
    assert (grounded.atoms, grounded.factors, grounded.log_constant) == ((), (), 0.0)
