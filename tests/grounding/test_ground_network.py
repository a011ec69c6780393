"""Ground networks hold just the factors that plain grounding under the evidence gives."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plain_grounding import Plain, PlainGrounder, ViolatedError, World

from liftgbp.errors import ContradictionError
from liftgbp.evidence import Evidence, Known, Relation, SoftRelation
from liftgbp.grounding import GroundNetwork, ground_network
from liftgbp.model.model import Model
from random_models import PREDICATES, models

# --- strategies


def _atoms_of(name: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    return list(product(*(range(sizes[sort]) for sort in PREDICATES[name].sorts)))


def _args(atoms: list[tuple[int, ...]], name: str) -> np.ndarray:
    return np.array(atoms, np.int64).reshape(len(atoms), len(PREDICATES[name].sorts))


@st.composite
def evidences(draw: st.DrawFn, model: Model, sizes: dict[str, int]) -> Evidence:
    hard, soft = {}, {}
    known: list[Known] = []
    named = len(model.constants("person"))
    if draw(st.booleans()):
        value = st.integers(0, 1)
        counts = draw(st.lists(st.integers(1, 2), max_size=2))
        counts = counts if sum(counts) + named <= sizes["person"] else []
        known = [Known("person", (("p", draw(value)),), count) for count in counts]
    last = named + sum(k.count for k in known)
    for name, predicate in PREDICATES.items():
        values = st.integers(0, len(predicate.values) - 1)
        atoms = st.sampled_from(_atoms_of(name, sizes))
        most = draw(st.sampled_from([0, 2, 20]))
        facts = draw(st.dictionaries(atoms, values, max_size=most))
        if name == "p":
            facts = {a: v for a, v in facts.items() if not named <= a[0] < last}
        if facts:
            hard[name] = Relation(_args(list(facts), name), np.array(list(facts.values())))
        uncertain = draw(st.lists(atoms, unique=True, max_size=draw(st.sampled_from([0, 0, 3]))))
        if uncertain:
            logs = st.sampled_from([-np.inf, -0.4, 0.0, 1.1])
            rows = [[draw(logs) for _ in predicate.values] for _ in uncertain]
            soft[name] = SoftRelation(_args(uncertain, name), np.array(rows))
    booleans = [name for name, p in PREDICATES.items() if len(p.values) == 2]
    closed = draw(st.sets(st.sampled_from(booleans)))
    return Evidence(model, hard, soft, frozenset(closed), tuple(known))


@st.composite
def settings_of_models(draw: st.DrawFn, most: int = 3) -> tuple[Evidence, dict[str, int]]:
    model = draw(models())
    sizes = {"person": draw(st.integers(2, most)), "thing": draw(st.integers(1, 2))}
    return draw(evidences(model, sizes)), sizes


# --- reading networks


def scopes_of(network: GroundNetwork, model: Model) -> dict:
    names = list(model.predicates)
    assert network.atoms is not None
    atoms = [
        (names[number], tuple(k for k in args if k >= 0))
        for number, args in zip(
            network.atoms.predicate.tolist(), network.atoms.args.tolist(), strict=True
        )
    ]
    tables = {}
    for block in network.blocks:
        for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True):
            assert scope == sorted(set(scope))
            key = tuple(atoms[k] for k in scope)
            assert key not in tables
            tables[key] = network.tables[table]
    touched = {atom for scope in tables for atom in scope}
    assert touched == set(atoms)
    assert atoms == sorted(atoms, key=lambda atom: (names.index(atom[0]), atom[1]))
    assert network.ranges.tolist() == [len(model.predicates[name].values) for name, _ in atoms]
    return tables


def in_order(plain: Plain, model: Model) -> dict:
    """Tables with atoms in the order of variables, for scopes in the order of names."""
    names = list(model.predicates)
    tables = {}
    for scope, table in plain.tables.items():
        order = sorted(range(len(scope)), key=lambda k: (names.index(scope[k][0]), scope[k][1]))
        tables[tuple(scope[k] for k in order)] = table.transpose(order)
    return tables


def check_network(evidence: Evidence, sizes: dict[str, int]) -> None:
    grounder = PlainGrounder(evidence, sizes)
    try:
        plain = grounder.ground()
    except ViolatedError:
        with pytest.raises(ContradictionError):
            ground_network(evidence.model, sizes, evidence)
        return
    network = ground_network(evidence.model, sizes, evidence)
    found, wanted = scopes_of(network, evidence.model), in_order(plain, evidence.model)
    assert found.keys() == wanted.keys()
    for scope, table in found.items():
        np.testing.assert_allclose(table, wanted[scope], rtol=0, atol=1e-12)
    assert network.log_constant == pytest.approx(plain.log_constant, rel=0, abs=1e-12)
    assert dict(network.free) == plain.free()


# --- properties

GENEROUS = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@GENEROUS
@given(settings_of_models())
def test_factors_are_those_of_plain_grounding(given: tuple[Evidence, dict[str, int]]) -> None:
    check_network(*given)


@settings(GENEROUS, max_examples=60)
@given(settings_of_models(), st.randoms(use_true_random=False))
def test_weights_of_worlds(given: tuple[Evidence, dict[str, int]], chance: random.Random) -> None:
    evidence, sizes = given
    grounder = PlainGrounder(evidence, sizes)
    try:
        network = ground_network(evidence.model, sizes, evidence)
    except ContradictionError:
        assume(False)
    tables = scopes_of(network, evidence.model)
    for _ in range(5):
        world: World = {
            atom: grounder.observed.get(atom, chance.randrange(grounder.values[atom[0]]))
            for atom in grounder.atoms()
        }
        weight = network.log_constant + sum(
            float(table[tuple(world[atom] for atom in scope)]) for scope, table in tables.items()
        )
        assert weight == pytest.approx(grounder.log_weight(world), rel=0, abs=1e-10)


@settings(GENEROUS, max_examples=40)
@given(models(), st.integers(2, 3), st.integers(1, 2))
def test_without_evidence(model: Model, people: int, things: int) -> None:
    check_network(Evidence(model), {"person": people, "thing": things})
