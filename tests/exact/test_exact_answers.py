"""Exact answers against exact inference of the reference, enumeration and closed forms."""

from __future__ import annotations

import math
import re
import sys
from itertools import chain, product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
import processes
from liftgbp.evidence import Evidence, Problem
from liftgbp.ground.formats import Network
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, ground_network, merged
from liftgbp.ground.grounding.from_classes import ground_classes, must_join
from liftgbp.lift.shatter import shatter
from liftgbp.methods.exact.cells import CellSum, all_counts
from liftgbp.methods.exact.junction_tree import JunctionTree
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from random_models import models, models_with_evidence
from random_networks import log_weights, log_z, networks

SMOKERS = liftgbp.parse("""
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
""")
TRANSITIVE = liftgbp.parse("r(t, t)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")


def exact_marginals(answers: liftgbp.Answers) -> dict[reference.GroundAtom, np.ndarray]:
    found = {}
    for number, predicate in enumerate(answers.model.predicates.values()):
        atoms = list(product(*(range(answers.sizes[sort]) for sort in predicate.sorts)))
        objects = list(np.array(atoms, dtype=np.int64).reshape(len(atoms), -1).T)
        tables = answers.posterior.reader.marginals(number, objects)
        names = (reference.GroundAtom(predicate.name, args) for args in atoms)
        found |= zip(names, tables, strict=True)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("via", ["lifted", "ground"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence(most=3))
def test_log_z_and_marginals_are_exact(
    via: str, case: tuple[Model, dict[str, int], Evidence]
) -> None:
    model, domain, evidence = case
    try:
        truth = reference.exact(reference.ground(model, domain, evidence), cap=2**16)
    except (CapacityError, ContradictionError):
        assume(False)
    try:
        answers = liftgbp.infer(model, domain, evidence=evidence, via=via, exact=True)
    except CapacityError:
        assume(False)
    assert answers.verdict.kind is liftgbp.Kind.EXACT
    assert answers.result.log_z == pytest.approx(truth.log_z, rel=1e-9, abs=1e-9)
    found = exact_marginals(answers)
    for atom, marginal in truth.marginals.items():
        np.testing.assert_allclose(found[atom], marginal, atol=1e-10)


@pytest.mark.slow
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), people=st.integers(2, 4), seed=st.integers(0, 99))
def test_sums_over_cells_agree_with_junction_trees(model: Model, people: int, seed: int) -> None:
    """The same joint distributions of any atoms, by two ways that share no code."""
    domain = {"person": people, "thing": 2}
    try:
        normal = shatter(model, domain)
        cells = CellSum(normal, 2**12)
        network = ground_network(Problem.of(model, None, domain))
        tree = JunctionTree(network, 2**18)
    except (CapacityError, ContradictionError):
        assume(False)
    generator = np.random.default_rng(seed)
    variables = generator.permutation(len(network.ranges))[:3].tolist()
    assume(variables and network.atoms is not None)
    used: dict[int, int] = {}
    placeholder = {}
    for sort, size in normal.sizes.items():
        for number in range(size):
            cls = normal.class_index[sort].of(number)
            placeholder[sort, number] = (cls, used.setdefault(cls, 0))
            used[cls] += 1
    atoms = []
    for variable in variables:
        predicate = int(network.atoms.predicate[variable])
        sorts = normal.predicates[predicate].sorts
        objects = network.atoms.args[variable].tolist()[: len(sorts)]
        pairs = zip(sorts, objects, strict=True)
        atoms.append((predicate, tuple(placeholder[pair] for pair in pairs)))
    np.testing.assert_allclose(cells.joint(atoms), tree.joint(variables), atol=1e-10)


def test_pairs_of_sixty_objects_are_a_binomial_sum() -> None:
    model = liftgbp.parse("p(t)\n-0.1 p(x) ^ p(y) | x != y\n1 p(x)")
    answers = liftgbp.infer(model, {"t": 60})
    assert answers.verdict.kind is liftgbp.Kind.EXACT
    logs = [
        math.log(math.comb(60, k)) + k - 0.1 * k * (k - 1) for k in range(61)
    ]  # each ordered pair is a factor
    top = max(logs)
    weights = [math.exp(own - top) for own in logs]
    mean = sum(k * w for k, w in enumerate(weights)) / sum(weights)
    assert answers.log_z == pytest.approx(top + math.log(sum(weights)), rel=1e-12)
    assert answers.marginal("p(x)") == pytest.approx(mean / 60, rel=1e-10)
    both = sum(k * (k - 1) * w for k, w in enumerate(weights)) / sum(weights) / (60 * 59)
    row = answers.query("p(x) ^ p(y) | x != y")[0]
    assert row["true", "true"] == pytest.approx(both, rel=1e-10)


def test_atoms_that_share_no_clique() -> None:
    """Along a chain of seven atoms, the ends are joined by the product of all links."""
    text = "\n".join([*(f"p{k}" for k in range(7)), *(f"0.8 p{k} <=> p{k + 1}" for k in range(6))])
    answers = liftgbp.infer(liftgbp.parse(text), exact=True)
    link = math.tanh(0.4)
    row = answers.query("p0 ^ p6")[0]
    assert row["true", "true"] == pytest.approx((1 + link**6) / 4, rel=1e-12)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(ground=networks())
def test_networks_against_enumeration(ground: GroundNetwork) -> None:
    logs = log_weights(ground)
    assume(np.max(logs) > -math.inf)
    weights = np.exp(logs - logs.max())
    answers = liftgbp.infer(Network("random", ground), exact=True)
    assert answers.log_z == pytest.approx(log_z(ground), rel=1e-12, abs=1e-9)
    for variable, size in enumerate(ground.ranges.tolist()):
        if size > 1:
            others = tuple(k for k in range(weights.ndim) if k != variable)
            wanted = weights.sum(axis=others) / weights.sum()
            found = answers.posterior.reader.marginals(variable, [])[0]
            np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_what_messages_cannot_tell_apart_has_rows_of_its_own() -> None:
    """A ring of six and two rings of three look alike to messages, but have other marginals."""
    model = liftgbp.parse("p(t)\ne(t, t)\n1.5 e(x,y) => (p(x) <=> p(y))\n0.3 p(x)")
    rings = [[0, 1, 2, 3, 4, 5], [6, 7, 8], [9, 10, 11]]
    edges = [(r[k], r[(k + 1) % len(r)]) for r in rings for k in range(len(r))]
    facts = "\n".join(f"e(O{a}, O{b})" for a, b in edges)
    evidence = liftgbp.parse_evidence(model, facts, closed=["e"])
    answers = liftgbp.infer(model, evidence=evidence, via="ground", exact=True)
    truth = reference.exact(reference.ground(model, answers.sizes, evidence))
    wanted = {
        round(float(v[1]), 9): sum(
            1 for other in truth.marginals.values() if abs(other[1] - v[1]) < 1e-9
        )
        for v in truth.marginals.values()
    }
    assert len(wanted) == 2
    assert {round(row["true"], 9): row.count for row in answers.query("p(x)")} == wanted


def test_what_takes_longer_than_the_exact_answer_does_not_stand_beside_it() -> None:
    generator = np.random.default_rng(0)
    spins = [(9 * i + j, 9 * i + j + 1) for i in range(9) for j in range(8)]
    spins += [(9 * i + j, 9 * i + j + 9) for i in range(8) for j in range(9)]
    blocks = [FactorBlock(np.array([pair]), np.array([k])) for k, pair in enumerate(spins)]
    tables = [generator.normal() * np.array([[1.0, -1.0], [-1.0, 1.0]]) for _ in spins]
    grid = Network("grid", merged(np.full(81, 2), blocks, tables))
    answers = liftgbp.infer(grid)
    assert answers.verdict.kind is liftgbp.Kind.EXACT
    assert answers.quick is None
    assert answers.marginal("x0", "1") == pytest.approx(0.5, abs=1e-12)


# --- when answers are exact


def test_small_models_are_exact_by_default() -> None:
    answers = liftgbp.infer(TRANSITIVE, {"t": 4})
    truth = reference.exact(reference.ground(TRANSITIVE, {"t": 4}))
    assert answers.flaw is None
    assert answers.used.startswith("exact")
    assert answers.log_z == pytest.approx(truth.log_z, rel=1e-12)
    assert answers.quick is not None
    assert answers.quick.verdict.kind is liftgbp.Kind.MINIMUM
    assert answers.as_dict()["verdict"]["text"] == "exact"  # type: ignore[index]


@pytest.mark.slow
def test_six_people_of_the_chain_are_exact_by_default() -> None:
    """Beside an enumeration of all 2^30 worlds, by a program that shares nothing with this one."""
    answers = liftgbp.infer(liftgbp.load("example:chain"), {"person": 6})
    assert answers.used == "exact (a junction tree with 44040192 states)"
    assert answers.marginal("r(x,y)") == pytest.approx(0.161588790151589, abs=1e-12)
    assert answers.log_z == pytest.approx(517.700539931262, abs=1e-9)


LITTLE_MEMORY = """
import liftgbp
from liftgbp.support.limits import GIGABYTE, resident_memory
model, sizes = liftgbp.load("example:chain"), {"person": 6}
limits = liftgbp.Limits(memory=resident_memory() / GIGABYTE + 0.1)
assert not liftgbp.infer(model, sizes, limits=limits).used.startswith("exact")
try:
    liftgbp.infer(model, sizes, exact=True, limits=limits)
except liftgbp.LimitExceeded as error:
    assert "memory" in str(error), error
else:
    raise AssertionError("it was not refused")
"""


@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_not_exact_unless_asked_for() -> None:
    """In a process of its own, which has no memory that other tests have left."""
    done = processes.run([sys.executable, "-c", LITTLE_MEMORY])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "options",
    [
        {"effort": "quick"},
        {"exact": False},
        {"solver": liftgbp.Descent()},
        {"regions": "objects:2"},
        {"blocks": 1},
        {"sum_over": ()},
    ],
)
def test_who_asks_for_a_method_gets_it(options: dict[str, object]) -> None:
    answers = liftgbp.infer(SMOKERS, {"person": 4}, **options)  # type: ignore[call-overload]
    assert answers.verdict.kind is not liftgbp.Kind.EXACT


@pytest.mark.slow
def test_large_models_are_not_exact() -> None:
    with pytest.raises(CapacityError, match=r"no exact answer: .*leave --exact"):
        liftgbp.infer(TRANSITIVE, {"t": 1000}, exact=True)
    assert liftgbp.infer(TRANSITIVE, {"t": 1000}).verdict.kind is not liftgbp.Kind.EXACT


def test_the_limit_that_matters_is_named() -> None:
    """Cells go further than the ground, and there is no exact answer beyond what they allow."""
    with pytest.raises(CapacityError, match=r"beyond about \d+ objects of a class") as refused:
        liftgbp.infer(SMOKERS, {"person": 2000}, exact=True)
    most = int(re.findall(r"\d+", str(refused.value))[0])
    assert liftgbp.infer(SMOKERS, {"person": most - 5}, exact=True).used.startswith("exact")
    with pytest.raises(CapacityError, match="beyond about"):
        liftgbp.infer(SMOKERS, {"person": most + 5}, exact=True)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence(most=5), bits=st.integers(1, 12))
def test_atoms_that_must_join_do_so_on_the_ground(
    case: tuple[Model, dict[str, int], Evidence], bits: int
) -> None:
    """Ground atoms leave while one has few enough states together with its neighbours."""
    model, domain, evidence = case
    try:
        normal = shatter(model, domain, evidence=evidence)
    except ContradictionError:
        assume(False)
    network = ground_classes(normal)
    around: dict[int, set[int]] = {}
    for block in network.blocks:
        for scope in block.scopes.tolist():
            for atom in scope:
                around.setdefault(atom, set()).update(scope)
    while light := [
        atom
        for atom, beside in around.items()
        if math.prod(network.ranges[list(beside)].tolist()) <= 2**bits
    ]:
        around = {atom: own.difference(light) for atom, own in around.items() if atom not in light}
    assert must_join(normal, 2**bits) == bool(around)


@pytest.mark.parametrize("classes", [[(0, 2)], [(3, 1)], [(4, 3)], [(2, 2), (3, 3)]])
def test_all_counts_are_listed_in_order(classes: list[tuple[int, int]]) -> None:
    spread = [
        [own for own in product(range(size + 1), repeat=cells) if sum(own) == size]
        for size, cells in classes
    ]
    expected = [[*chain.from_iterable(own)] for own in product(*spread)]
    assert all_counts(classes).tolist() == expected


def test_many_counts_are_not_listed_only_to_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "liftgbp.methods.exact.cells.all_counts", lambda _: pytest.fail("they are listed")
    )
    with pytest.raises(CapacityError, match="beyond about"):
        liftgbp.infer(SMOKERS, {"person": 10**6}, exact=True)


def test_exact_answers_leave_nothing_to_choose() -> None:
    with pytest.raises(InputError, match="nothing to choose"):
        liftgbp.infer(SMOKERS, {"person": 4}, exact=True, blocks=2)
    with pytest.raises(InputError, match="exact"):
        liftgbp.infer(SMOKERS, {"person": 4}, exact="yes")  # type: ignore[call-overload]


def test_contradictions_are_found() -> None:
    model = liftgbp.parse("p(t)\n!(p(x) <=> p(y)) | distinct.")
    for via in ("lifted", "ground"):
        with pytest.raises(ContradictionError):
            liftgbp.infer(model, {"t": 3}, via=via, exact=True)  # type: ignore[call-overload]
