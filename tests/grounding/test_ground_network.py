"""Ground networks hold just the factors that plain grounding under the evidence gives."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from plain_grounding import PlainAtom, PlainGrounder, ViolatedError, World

from liftgbp import infer, parse_evidence
from liftgbp.evidence import Evidence, Known, Problem, Relation, SoftRelation
from liftgbp.evidence.stated_facts import FactFile
from liftgbp.ground.grounding import GroundNetwork, ground_network
from liftgbp.model.model import Model
from liftgbp.model.parser import parse
from liftgbp.oracle import reference
from liftgbp.oracle.reference import ground
from liftgbp.support.errors import CapacityError, ContradictionError, InputError, SizeError, Source
from random_models import PREDICATES, models, models_with_evidence

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


def grounded(evidence: Evidence, sizes: Mapping[str, int], **options: Any) -> GroundNetwork:
    """The ground network of the model that evidence was made for."""
    return ground_network(Problem.of(evidence.vocabulary, evidence, sizes), **options)


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


def in_order(plain: Mapping[tuple[PlainAtom, ...], np.ndarray], model: Model) -> dict:
    """Tables with atoms in the order of variables, for scopes in the order of names."""
    names = list(model.predicates)
    tables = {}
    for scope, table in plain.items():
        order = sorted(range(len(scope)), key=lambda k: (names.index(scope[k][0]), scope[k][1]))
        tables[tuple(scope[k] for k in order)] = table.transpose(order)
    return tables


def check_tables(found: dict, wanted: dict) -> None:
    assert found.keys() == wanted.keys()
    for scope, table in found.items():
        np.testing.assert_allclose(table, wanted[scope], rtol=0, atol=1e-12)


def check_network(evidence: Evidence, sizes: dict[str, int]) -> None:
    grounder = PlainGrounder(evidence, sizes)
    try:
        plain = grounder.ground()
    except ViolatedError:
        with pytest.raises(ContradictionError):
            grounded(evidence, sizes)
        return
    network = grounded(evidence, sizes)
    model = evidence.vocabulary
    check_tables(scopes_of(network, model), in_order(plain.tables, model))
    assert network.log_constant == pytest.approx(plain.log_constant, rel=0, abs=1e-12)
    assert dict(network.free) == plain.free()


# --- properties

GENEROUS = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@GENEROUS
@given(settings_of_models())
def test_factors_are_those_of_plain_grounding(given: tuple[Evidence, dict[str, int]]) -> None:
    check_network(*given)


@pytest.mark.slow
@settings(GENEROUS, max_examples=60)
@given(settings_of_models())
def test_substitutions_that_are_counted_first(given: tuple[Evidence, dict[str, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liftgbp.ground.grounding.rules.LISTED_AT_ONCE", 0)
        check_network(*given)


@pytest.mark.slow
@settings(GENEROUS, max_examples=60)
@given(settings_of_models(), st.randoms(use_true_random=False))
def test_weights_of_worlds(given: tuple[Evidence, dict[str, int]], chance: random.Random) -> None:
    evidence, sizes = given
    grounder = PlainGrounder(evidence, sizes)
    try:
        network = grounded(evidence, sizes)
    except ContradictionError:
        assume(False)
    tables = scopes_of(network, evidence.vocabulary)
    for _ in range(5):
        world: World = {
            atom: grounder.observed.get(atom, chance.randrange(grounder.values[atom[0]]))
            for atom in grounder.atoms()
        }
        weight = network.log_constant + sum(
            float(table[tuple(world[atom] for atom in scope)]) for scope, table in tables.items()
        )
        assert weight == pytest.approx(grounder.log_weight(world), rel=0, abs=1e-10)


@pytest.mark.slow
@settings(GENEROUS, max_examples=60)
@given(models_with_evidence(most=3))
def test_factors_are_those_of_the_reference(
    given: tuple[Model, dict[str, int], Evidence],
) -> None:
    model, sizes, evidence = given
    try:
        plain = ground(model, sizes, evidence)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            ground_network(Problem.of(model, evidence, sizes))
        return
    network = ground_network(Problem.of(model, evidence, sizes))
    wanted = in_order({factor.scope: factor.log_table for factor in plain.factors}, model)
    check_tables(scopes_of(network, model), wanted)
    assert network.log_constant == pytest.approx(plain.log_constant, rel=0, abs=1e-12)
    assert len(network.ranges) + sum(network.free.values()) == len(plain.atoms)


@pytest.mark.slow
@settings(GENEROUS, max_examples=40)
@given(models(), st.integers(2, 3), st.integers(1, 2))
def test_without_evidence(model: Model, people: int, things: int) -> None:
    check_network(Evidence(model), {"person": people, "thing": things})


# --- single cases


def relation(*facts: tuple[int, ...]) -> Relation:
    """True atoms, by their objects."""
    return Relation(np.array(facts, np.int64).reshape(len(facts), -1), np.ones(len(facts), int))


SOCIAL = """
person = {Anna, Bob, Chris}
friends(person, person)
works(person, person)
smokes(person)
mood(person) : {low, mid, high}
"""


def social(rules: str, **kinds: object) -> Evidence:
    return Evidence(parse(SOCIAL + rules, "social.mln"), **kinds)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    [
        # Either of two closed predicates is enough, or each matters by itself.
        "0.5 (friends(x,y) v works(x,y)) ^ smokes(x) => smokes(y)",
        "0.5 friends(x,y) <=> works(x,y)",
        "0.5 friends(x,y) ^ works(y,z) => smokes(z)",
        "0.5 !friends(x,y) ^ smokes(x)",
        "0.5 friends(x,Bob) ^ smokes(Chris) => smokes(x)",
        "0.5 friends(x,x) => smokes(x)",
        "0.5 friends(x,y) => mood(x) = high | x != y, y != Anna",
        "0.5 friends(x,y) ^ friends(y,z) ^ friends(z,x) => smokes(x) | distinct",
        # Quantifiers over closed and open predicates, in all positions.
        "0.5 smokes(x) => EXIST y (friends(x,y) ^ smokes(y))",
        "0.5 FORALL x (smokes(x) => EXIST y (works(y,x) ^ !friends(x,y)))",
        "0.5 friends(x,y) => (FORALL z (friends(y,z) ^ z != x => smokes(z)))",
        "0.5 smokes(x) <=> (EXIST x friends(x,x))",
        "0.5 EXIST x,y (friends(x,y) ^ smokes(x) ^ smokes(y))",
        "0.5 smokes(x) v (FORALL y (friends(x,y) v works(x,y) => (EXIST z works(y,z))))",
        "0.5 EXIST y (y = Bob ^ friends(x,y) <=> smokes(y))",
        "0.5 smokes(x) ^ (EXIST y (mood(y) = mid v works(x,y)))",
    ],
)
@pytest.mark.parametrize("closed", [(), ("friends",), ("friends", "works")])
def test_rules_under_closed_worlds(rules: str, closed: tuple[str, ...]) -> None:
    hard = {
        "friends": relation((0, 1), (1, 2), (2, 0), (2, 2)),
        "works": relation((0, 1), (2, 0)),
        "smokes": Relation(np.array([[1]]), np.array([0])),
        "mood": Relation(np.array([[0], [1]]), np.array([2, 0])),
    }
    check_network(social(rules, hard=hard, closed=frozenset(closed)), {"person": 3})


def test_predicates_of_which_all_atoms_are_observed() -> None:
    everyone = Relation(np.arange(4)[:, None], np.array([2, 0, 2, 1]))
    rules = "0.5 mood(x) = high ^ smokes(x) => smokes(y)\n0.2 mood(x) = low v smokes(x)"
    check_network(social(rules, hard={"mood": everyone}), {"person": 4})


def test_numbers_of_constants_are_those_of_the_whole_model() -> None:
    # A rule that mentions the last constant alone must not take it for the first.
    model = parse("smokes(person)\n0.3 smokes(Anna)\n0.7 smokes(Bob)")
    evidence = Evidence(model, {"smokes": Relation(np.array([[0]]), np.array([1]))})
    network = grounded(evidence, {"person": 2})
    assert network.atoms is not None
    assert network.atoms.args.tolist() == [[1]]
    assert network.tables[0].tolist() == [0.0, 0.7]
    assert network.log_constant == 0.3


def test_closed_worlds_of_any_size() -> None:
    # Only the three facts can be gone through; the rest is counted.
    evidence = social(
        "1.5 friends(x,y) ^ smokes(x) => smokes(y)",
        hard={"friends": relation((0, 1), (0, 2), (2, 2))},
        closed=frozenset({"friends", "works"}),
    )
    people = 10**12
    network = grounded(evidence, {"person": people})
    assert network.factors == 2
    # Two pairs of friends remain; a friend of oneself fulfils the formula like all others.
    assert network.log_constant == 1.5 * (people**2 - 2)
    assert network.free == {2: people - 3, 3: people}


def test_weights_follow_sizes_and_names() -> None:
    model = parse("$alpha = 2\nsmokes(person)\n$alpha/|person| smokes(x)")
    network = ground_network(Problem.of(model.with_weights({"alpha": 6.0}), None, {"person": 3}))
    assert [table.tolist() for table in network.tables] == [[0.0, 2.0]]


def test_progress_counts_rules() -> None:
    evidence = social("0.5 smokes(x)\n0.2 friends(x,y)")
    seen: list[tuple[str, int, int]] = []
    grounded(evidence, {}, progress=lambda *step: seen.append(step))
    assert seen == [("grounding", done, 2) for done in range(3)]


# --- errors


def test_violated_hard_formula_names_an_example_and_a_fact() -> None:
    source = Source("facts.db", "Smokes(Anna)\nFriends(Bob,Anna)\n")
    evidence = social(
        "friends(x,y) => smokes(y).",
        hard={
            "friends": replace(relation((1, 0)), places=np.array([[0, 1]])),
            "smokes": Relation(np.array([[0]]), np.array([0])),
        },
        closed=frozenset({"friends"}),
        origins=(FactFile(source, source.text.split("\n")),),
    )
    with pytest.raises(ContradictionError) as error:
        grounded(evidence, {})
    assert error.value.span is not None
    assert error.value.span.source.name == "social.mln"
    assert error.value.message == (
        "the evidence violates this hard formula for x = Bob, y = Anna: "
        "friends(Bob,Anna) is true (facts.db:2:1), smokes(Anna) is false"
    )


def test_violation_where_nothing_is_listed() -> None:
    evidence = social(
        "friends(x,y) | x != y.",
        hard={"friends": relation((0, 1), (0, 2), (1, 0))},
        closed=frozenset({"friends"}),
    )
    with pytest.raises(ContradictionError, match="x = Anna, y = #4"):
        grounded(evidence, {"person": 10**6})


def test_violation_below_a_quantifier() -> None:
    evidence = social(
        "smokes(x) => EXIST y friends(x,y).",
        hard={"smokes": relation((2,)), "friends": relation((0, 1))},
        closed=frozenset({"friends"}),
    )
    with pytest.raises(ContradictionError, match=r"x = Chris: smokes\(Chris\) is true"):
        grounded(evidence, {})


def test_contradiction_without_evidence() -> None:
    model = parse("smokes(person)\nsmokes(x) ^ !smokes(x).")
    with pytest.raises(ContradictionError, match="no world satisfies this hard formula"):
        ground_network(Problem.of(model, None, {"person": 2}))


def test_soft_evidence_that_rules_out_an_observed_value() -> None:
    evidence = social(
        "0.5 smokes(x)",
        hard={"smokes": relation((1,))},
        soft={"smokes": SoftRelation(np.array([[1]]), np.array([[0.0, -np.inf]]))},
    )
    with pytest.raises(ContradictionError, match=r"every value that smokes\(Bob\) can have"):
        grounded(evidence, {})


def test_too_many_substitutions() -> None:
    evidence = social("0.5 friends(x,y) ^ smokes(x) => smokes(y)")
    with pytest.raises(CapacityError, match="closed-world") as error:
        grounded(evidence, {"person": 10**9})
    assert error.value.span is not None
    assert error.value.span.line == 7


def test_too_large_join(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = social(
        "0.5 friends(x,y) ^ friends(y,z) => smokes(x)",
        hard={"friends": relation(*product(range(1, 21), [0]), *product([0], range(1, 21)))},
        closed=frozenset({"friends"}),
    )
    # In and out through the hub: 400 ways to go, and 20 to return to each of the others.
    monkeypatch.setattr("liftgbp.ground.grounding.rules.MOST_ROWS", 500)
    grounded(evidence, {"person": 21})
    monkeypatch.setattr("liftgbp.ground.grounding.rules.MOST_ROWS", 300)
    with pytest.raises(CapacityError, match="more than 300 substitutions"):
        grounded(evidence, {"person": 21})


@pytest.mark.slow
def test_substitutions_that_the_evidence_settles_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 41^3 substitutions, the facts leave few: a product of their numbers would be 68,921."""
    facts = [(x, y) for x in range(41) for y in range(41) if x != y]
    evidence = social(
        "0.5 friends(x,y) ^ friends(y,z) ^ friends(x,z) => smokes(x)\n"
        "0.5 friends(x,y) ^ friends(y,z) => friends(x,z)",
        hard={
            "friends": relation(*facts),
            "smokes": Relation(np.arange(1, 41)[:, None], np.ones(40, np.int64)),
        },
        closed=frozenset({"friends"}),
    )
    sizes = {"person": 41}
    whole = grounded(evidence, sizes)
    monkeypatch.setattr("liftgbp.ground.grounding.rules.LISTED_AT_ONCE", 1000)
    # Only those about the one person of whom it is not known whether they smoke.
    monkeypatch.setattr("liftgbp.ground.grounding.rules.MOST_ROWS", 40 * 39)
    network = grounded(evidence, sizes)
    assert network.log_constant == whole.log_constant
    check_tables(scopes_of(network, evidence.vocabulary), scopes_of(whole, evidence.vocabulary))
    monkeypatch.setattr("liftgbp.ground.grounding.rules.MOST_ROWS", 40 * 39 - 1)
    with pytest.raises(CapacityError, match="substitutions that the evidence does not settle"):
        grounded(evidence, sizes)


def test_too_many_unknown_atoms_below_a_quantifier() -> None:
    evidence = social("0.5 EXIST y (friends(x,y) ^ smokes(y))", closed=frozenset({"works"}))
    with pytest.raises(CapacityError, match=r"below the quantifier closed-world"):
        grounded(evidence, {"person": 12})


def test_too_many_instances_of_quantifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("liftgbp.ground.grounding.quantifiers.MOST_INSTANCES", 100)
    evidence = social("0.5 smokes(x) ^ (EXIST y mood(y) = low)")
    with pytest.raises(CapacityError, match="more than 100 instances"):
        grounded(evidence, {"person": 11})


def test_more_known_objects_than_the_sort_has() -> None:
    evidence = social("0.5 smokes(x)", known=(Known("person", (("smokes", 1),), 5),))
    with pytest.raises(SizeError, match="5 unnamed objects are known"):
        grounded(evidence, {"person": 7})


def test_without_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    evidence = social("0.5 smokes(x)")
    with pytest.raises(InputError, match=r"pip install 'liftgbp\[data\]'"):
        grounded(evidence, {})


# --- quantifiers over many unknown atoms

ADVISED = """
person = {Anna, Bob, Carl}
student(person)
prof(person)
advises(person, person)
-1 advises(x,y)
0.3 student(x)
"""
LARGE = {
    "weighted": "1.5 student(y) => EXIST x advises(x,y)",
    "hard": "student(y) => EXIST x (advises(x,y) ^ prof(x)).",
    "both": "0.8 student(y) <=> (FORALL x (advises(x,y) => prof(x)))\n0.2 EXIST x student(x)",
    "nested": "0.9 prof(x) => EXIST y (advises(x,y) ^ !(EXIST z (advises(y,z) ^ student(z))))",
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize("facts", ["", "student(Anna)\n!advises(Bob,Anna)\nprof(Carl)"])
def test_large_formulas_are_taken_apart(rule: str, facts: str) -> None:
    """Stand-ins change neither log Z nor any marginal."""
    model = parse(ADVISED + rule)
    evidence = parse_evidence(model, facts)
    sizes = {"person": 3}
    exact = reference.exact(reference.ground(model, sizes, evidence))
    network = ground_network(Problem.of(model, evidence, sizes), table_cap=8, chained=True)
    assert network.atoms is not None
    assert max(table.size for table in network.tables) <= 8
    assert (network.atoms.predicate == len(model.predicates)).any()
    answers = infer(model, sizes, evidence=evidence, via="ground", table_cap=8, exact=True)
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-9)
    for name in ("Anna", "Bob", "Carl"):
        number = model.object_numbers("person")[name]
        for predicate in ("student", "prof"):
            wanted = exact.marginals.get(reference.GroundAtom(predicate, (number,)))
            if wanted is not None:
                found = answers.query(f"{predicate}({name})")[0].values.values()
                assert list(found) == pytest.approx(wanted.tolist(), abs=1e-9)
    assert not any(row.atom.startswith("?") for row in answers.all)


@pytest.mark.slow
def test_messages_pass_through_stand_ins() -> None:
    """Each column of advises is a tree, so messages are exact: as the sum over cells says."""
    model = parse(
        "person = 68\nstudent(person)\nadvises(person, person)\n"
        "student(y) => EXIST x advises(x,y).\n-4 advises(x,y)\n0.3 student(x)"
    )
    evidence = parse_evidence(model, "student(Anna)\nadvises(Bob,Carl)")
    ground = infer(model, evidence=evidence, via="ground", exact=False)
    lifted = infer(model, evidence=evidence, via="lifted", exact=True)
    assert ground.log_z == pytest.approx(lifted.log_z, abs=1e-8)
    for query in ("student(Bob)", "advises(Bob,Anna)", "advises(Anna,Bob)"):
        (one,), (other,) = ground.query(query), lifted.query(query)
        assert one["true"] == pytest.approx(other["true"], abs=1e-8)
