"""Small inputs that once took minutes or gigabytes: solved by better ways, or refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import liftgbp
from liftgbp import Limits
from liftgbp.ground.grounding.from_classes import ground_classes
from liftgbp.lift.shatter import shatter
from liftgbp.lift.signature import objects_of, overlaps
from liftgbp.lift.signature.canonical import Cluster
from liftgbp.methods.counting.points import CountedModel
from liftgbp.methods.effort import EFFORTS
from liftgbp.plan import Plan
from liftgbp.solve import Descent, Solution
from liftgbp.support.limits import MOST_WORK, searching

EIGHT = "abcdefgh"


def surjections(variables: int, objects: int) -> int:
    """How many maps of variables reach all of these objects, by inclusion and exclusion."""
    return sum(
        (-1) ** k * math.comb(objects, k) * (objects - k) ** variables for k in range(objects + 1)
    )


# --- many variables


@pytest.mark.slow
def test_ways_that_lead_to_the_same_atoms_are_one_parfactor() -> None:
    """Eight variables coincide in 4140 ways; eight sets of atoms come of it."""
    formula = " ^ ".join(f"p({v})" for v in EIGHT)
    normal = shatter(liftgbp.parse(f"p(t)\n1 {formula}"), {"t": 20})
    entries = {len(p.atoms): float(p.log_table.ravel()[-1]) for p in normal.parfactors}
    assert len(normal.parfactors) == 8
    # A factor counts once for each set of objects.
    assert entries == {k: surjections(8, k) for k in range(1, 9)}


def test_five_variables_of_one_atom_each() -> None:
    formula = " ^ ".join(f"p({v})" for v in EIGHT[:5])
    model = liftgbp.parse(f"p(t)\n1e-5 {formula}")
    found = liftgbp.infer(model, {"t": 20}, sum_over="p")
    exponents = [math.log(math.comb(20, k)) + 1e-5 * k**5 for k in range(21)]
    assert found.log_z == pytest.approx(logsumexp(exponents), rel=1e-12)


@pytest.mark.slow
def test_an_atom_of_eight_arguments() -> None:
    model = liftgbp.parse(f"p({','.join('t' * 8)})\n1 p({','.join(EIGHT)})")
    found = liftgbp.infer(model, {"t": 20}, effort="quick")
    assert found.log_z == pytest.approx(20**8 * math.log1p(math.e), rel=1e-12)
    row = found.query("p(a,a,b,b,c,c,d,e)")[-1]
    assert row["true"] == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("work", [None, 5000])
def test_regions_that_overlap_in_too_many_ways(work: int | None) -> None:
    formula = " v ".join(f"r({a},{b})" for a, b in zip("abcdef", "bcdefg", strict=True))
    model = liftgbp.parse(f"r(t,t)\n1 {formula}")
    limits = None if work is None else Limits(work=work)
    named = MOST_WORK if work is None else work
    with pytest.raises(liftgbp.CapacityError, match=f"more than {named} steps.*--work"):
        liftgbp.infer(model, {"t": 20}, limits=limits)


# --- many named objects


def named(number: int) -> str:
    return f"y = {{{', '.join(map(str, range(1, number + 1)))}}}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "query"),
    [
        (f"{named(300)}\nr(y,y)\n1 r(+x,+z)", "r(7,8)"),
        (f"{named(3000)}\np(y)\n1 p(+x)", "p(7)"),
    ],
)
def test_rules_about_each_of_many_objects(text: str, query: str) -> None:
    found = liftgbp.infer(liftgbp.parse(text))
    assert found.via == "ground"
    assert found.marginal(query) == pytest.approx(1 / (1 + math.exp(-1)), rel=1e-12)


@pytest.mark.slow
def test_too_many_rules_for_classes() -> None:
    model = liftgbp.parse(f"{named(300)}\nr(y,y)\n1 r(+x,+z)")
    with pytest.raises(liftgbp.CapacityError, match=f"more than {MOST_WORK} steps.*--via ground"):
        liftgbp.infer(model, via="lifted")


def test_rules_see_only_the_constants_that_they_mention() -> None:
    """One table serves all objects that a rule does not mention."""
    model = liftgbp.parse(f"{named(40)}\np(y)\n1 p(x) ^ p(7)\n2 p(x) ^ EXIST z p(z)")
    with pytest.raises(liftgbp.CapacityError, match="expands over the 40 objects"):
        shatter(model)
    small = liftgbp.parse(f"{named(4)}\np(y)\n1 p(x) ^ p(3)\n2 p(x) ^ EXIST z p(z)\n1 p(+x)")
    found = liftgbp.infer(small, exact=True)
    worlds = list(product((0, 1), repeat=4))
    logs = [sum(w) * w[2] + 2 * sum(w) + sum(w) for w in worlds]
    assert found.log_z == pytest.approx(logsumexp(logs), rel=1e-12)


def test_sums_over_many_classes_are_refused_at_once() -> None:
    model = liftgbp.parse(f"{named(1200)}\np(y)\n1 p(+x)")
    with pytest.raises(liftgbp.CapacityError, match="counts; sum over fewer predicates"):
        liftgbp.infer(model, via="lifted", sum_over="p")


# --- large domains


@pytest.mark.slow
@pytest.mark.parametrize("size", [10**30, 10**100])
def test_sums_whose_terms_have_too_many_digits(size: int) -> None:
    model = liftgbp.load("example:friends-smokers")
    with pytest.raises(liftgbp.CapacityError, match="60 digits do not tell such numbers apart"):
        liftgbp.infer(model, {"person": size}, sum_over="smokes")
    # What nobody asked for is left out.
    assert liftgbp.infer(model, {"person": size}).flaw is None


def test_steps_beyond_all_numbers_warn_of_nothing() -> None:
    """Warnings are errors in tests; whether to trust the answer is another question."""
    model = liftgbp.parse(
        "t = {A, B, C}\np(t,t)\nq(t,t)\n1.65 p(+x,y) v q(B,A) | distinct\n1.39 q(B,z)"
    )
    assert liftgbp.infer(model, {"t": 10**12}, effort="quick").result.log_z > 0


def test_energies_beyond_all_numbers_are_refused_without_a_warning() -> None:
    """There are 1e306 atoms, and each has an energy of 1e5."""
    model = liftgbp.parse("p(t,t,t)\n100000 p(x,y,z)")
    with pytest.raises(liftgbp.SizeError, match="the energy of its worlds, exceed 1e308"):
        liftgbp.infer(model, {"t": 10**102})


def test_hard_formulas_over_huge_domains_warn_of_nothing() -> None:
    """Nearly all of 1e303 atoms come in pairs, and a pair has three states."""
    model = liftgbp.parse("r(t,t,t)\nr(x,y,z) v r(y,x,z).")
    found = liftgbp.infer(model, {"t": 10**101}, effort="quick")
    assert found.log_z == pytest.approx(1e303 / 2 * math.log(3), rel=1e-12)


def test_objects_that_no_rule_is_about_are_not_written_out() -> None:
    model = liftgbp.parse("t = {Anna, Bob}\np(t)\nq(t)\n1 p(Anna) ^ q(Bob)")
    chance = (1 + math.e) / (3 + math.e)
    with pytest.raises(liftgbp.CapacityError, match="objects of one sort, and sampling writes"):
        liftgbp.sample(model, {"t": 10**12}, sweeps=40)
    answers = liftgbp.infer(model, {"t": 10**12}, exact=True)
    assert answers.marginal("p(Anna)") == pytest.approx(chance, rel=1e-12)


@pytest.mark.slow
def test_queries_about_many_variables_are_refused() -> None:
    """Eleven variables coincide in 678570 ways; thirty atoms have 2^30 states."""
    answers = liftgbp.infer(liftgbp.parse("p(t)\n1 p(x)"), {"t": 20}, effort="quick")
    with pytest.raises(liftgbp.CapacityError, match="ask about fewer of them, or allow more"):
        answers.query(" ^ ".join(f"p(y{k})" for k in range(11)))
    one = liftgbp.infer(liftgbp.parse("p(t)\n1 p(x)"), {"t": 1}, effort="quick")
    with pytest.raises(liftgbp.CapacityError, match="over 30 atoms with 1073741824 entries"):
        one.query(" ^ ".join(f"p(y{k})" for k in range(30)))
    (row,) = one.query(" ^ ".join(f"p(y{k})" for k in range(5)))
    assert row[("true",) * 5] == pytest.approx(math.e / (1 + math.e))


def test_objects_are_named_only_where_facts_are_about_them() -> None:
    model = liftgbp.parse("p(t)\nq(t)\n1 q(Anna)")
    known = liftgbp.parse_evidence(model, "p(Anna)\n!p(Bob)", closed=["p", "q"])
    table = liftgbp.infer(model, {"t": 10**15}, evidence=known).to_columns(observed=True)
    assert table["arguments"].tolist() == ["Anna", "Bob"]


P_AND_Q = liftgbp.parse("p(t)\nq(t)\n0.509 (!p(y) <=> !q(x)) | distinct")


def log_z_of_p_and_q(objects: int) -> float:
    """Given which objects have p, each q(x) is on its own."""
    logs = []
    for k in range(objects + 1):
        inside, outside = np.array([k - 1, objects - k]), np.array([k, objects - 1 - k])
        terms = k * logsumexp(0.509 * inside) + (objects - k) * logsumexp(0.509 * outside)
        logs.append(math.log(math.comb(objects, k)) + terms)
    return float(logsumexp(logs))


@pytest.fixture
def inexact_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let regions grow in sums that are exact without that, and small enough for a test."""
    monkeypatch.setattr(CountedModel, "overlaps", True)


@pytest.mark.usefixtures("inexact_sums")
def test_growing_regions_in_a_sum_take_limited_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EFFORTS, "thorough", replace(EFFORTS["thorough"], work=1e7))
    found = liftgbp.infer(P_AND_Q, {"t": 14}, sum_over="p", regions="auto")
    assert "takes more effort" in found.growth_end


def test_exact_answers_do_not_descend(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick answers beside them are found when they are read."""
    solved: list[Plan] = []
    descend = Descent.solve_all

    def counted(self: Descent, plans: Sequence[Plan], *rest: Any) -> list[Solution]:
        solved.extend(plans)
        return descend(self, plans, *rest)

    monkeypatch.setattr(Descent, "solve_all", counted)
    rules = list(combinations("abcdefg", 4))[::18]
    atoms = sorted(set().union(*rules))
    lines = [f"{atom}(t)" for atom in atoms]
    lines += ["0.7 " + " v ".join(f"{atom}(x)" for atom in rule) for rule in rules]
    answers = liftgbp.infer(liftgbp.parse("\n".join(lines)), {"t": 1})
    assert answers.verdict.kind is liftgbp.Kind.EXACT
    assert not solved
    assert answers.quick is not None
    assert solved
    worlds = [dict(zip(atoms, w, strict=True)) for w in product((0, 1), repeat=len(atoms))]
    logs = [0.7 * sum(any(w[atom] for atom in rule) for rule in rules) for w in worlds]
    assert answers.log_z == pytest.approx(logsumexp(logs), rel=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("inexact_sums")
def test_growing_regions_in_a_sum_share_their_work() -> None:
    """Each size of regions is affordable, and there are a dozen of them."""
    found = liftgbp.infer(P_AND_Q, {"t": 14}, sum_over="auto", regions="auto")
    assert len(found.growth) < 8
    assert "more effort" in found.growth_end
    assert found.log_z == pytest.approx(log_z_of_p_and_q(14), rel=1e-9)


def test_regions_do_not_grow_where_a_sum_is_exact() -> None:
    found = liftgbp.infer(P_AND_Q, {"t": 14}, sum_over="auto", regions="auto")
    assert len(found.growth) == 1
    assert found.log_z == pytest.approx(log_z_of_p_and_q(14), rel=1e-12)


def test_networks_that_are_too_large_to_write(tmp_path: Path) -> None:
    model = liftgbp.load("example:friends-smokers")
    output = tmp_path / "net.uai"
    with pytest.raises(liftgbp.CapacityError, match=r"870 factors over 900 atoms.*--work"):
        liftgbp.export_network(model, output, {"person": 30}, limits=Limits(work=100))
    assert list(tmp_path.iterdir()) == []
    liftgbp.export_network(model, output, {"person": 30}, limits=Limits(work=200))
    assert output.stat().st_size


def test_networks_that_are_too_large_are_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "liftgbp.ground.grounding.ground_network", lambda *_, **__: pytest.fail("built")
    )
    model = liftgbp.load("example:friends-smokers")
    with pytest.raises(liftgbp.CapacityError, match=r"writing 3998000 ground formulas.*--work"):
        liftgbp.export_network(model, tmp_path / "net.uai", {"person": 2000})
    assert list(tmp_path.iterdir()) == []


# --- quantifiers over all objects


def star(objects: int) -> Cluster:
    """What a quantifier over all objects leads to: r(0,0), r(0,1), ..."""
    return tuple((0, ((0, 0), (0, k))) for k in range(objects))


def placed(cluster: Cluster, size: int) -> set[int]:
    """The overlaps of a cluster with itself, from all placements on some objects."""
    objects = objects_of(cluster)
    bit = {atom: 1 << k for k, atom in enumerate(cluster)}
    found = set()
    for images in permutations(range(size), len(objects)):
        image = {obj: (0, k) for obj, k in zip(objects, images, strict=True)}
        moved = ((p, tuple(image[obj] for obj in args)) for p, args in cluster)
        found.add(sum(bit.get(atom, 0) for atom in moved))
    return found - {0}


@pytest.mark.parametrize("size", [5, 6, 7])
def test_overlaps_leave_room_for_twins(size: int) -> None:
    assert overlaps(star(5), star(5), [size]) == placed(star(5), size)


def test_overlaps_over_all_objects_take_few_steps() -> None:
    with searching("overlaps", "") as search:
        assert overlaps(star(30), star(30), [30]) == {2**30 - 1}
    assert search.steps < 2 * 30**2


def test_somebody_for_everybody() -> None:
    model = liftgbp.parse("r(t,t)\nEXIST y r(x,y).")
    found = liftgbp.infer(model, {"t": 16}, effort="quick")
    assert found.log_z == pytest.approx(16 * math.log(2**16 - 1), rel=1e-12)


@pytest.mark.parametrize("size", [11, 20])
def test_quantifiers_that_cost_less_unexpanded(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of 2**20 entries took 15 s; each object has one of 2**size - 1 sets of others."""

    def expanded(*_: object) -> None:
        raise AssertionError("the quantifier was expanded")

    monkeypatch.setattr("liftgbp.strategy.answering.LiftedCase", expanded)
    found = liftgbp.infer(liftgbp.parse("r(t,t)\nEXIST y r(x,y)."), {"t": size})
    assert found.log_z == pytest.approx(size * math.log(2**size - 1), rel=1e-12)
    share = 2 ** (size - 1) / (2**size - 1)
    assert found.query("r(x,y)")[1]["true"] == pytest.approx(share, rel=1e-12)


def test_queries_about_three_objects_expand_quantifiers() -> None:
    model = liftgbp.parse("r(t,t)\nEXIST y r(x,y).")
    query = "r(x,y) ^ r(y,z)"
    found = liftgbp.infer(model, {"t": 11}, queries=query, exact=False, effort="quick")
    share = 2**10 / (2**11 - 1)
    assert found.query(query)[-1]["true", "true"] == pytest.approx(share**2, rel=1e-9)


def test_exchangeable_objects_are_chosen_together() -> None:
    """Each of 13 objects with all the others; there are 13! orders of them."""
    model = liftgbp.parse("m(t,t)\nEXIST y m(x,y).\n!m(x,y) v !m(x,z) | y != z.")
    normal = shatter(model, {"t": 13})
    blocks = ground_classes(normal).blocks
    rows = sorted(len(set(scope)) for block in blocks for scope in block.scopes.tolist())
    pairs = sum(1 for _ in combinations(range(13), 2)) * 13
    assert rows == [2] * pairs + [13] * 13
    assert all(np.unique(block.scopes).size for block in blocks)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("p(t)\n1e-300 p(x) ^ p(y) ^ p(z) ^ p(u)", "<text>:2:1"),
        ("p(t)\np(a) ^ p(b) ^ p(c) ^ p(d) => p(e) | distinct.", "<text>:2:1"),
        ("p(t)\n1 EXIST x EXIST y EXIST z EXIST u (p(x) ^ p(y) ^ p(z) ^ p(u))", "<text>:2:1"),
        ("q(t)\np(t,t,t,t)\n1 q(x)", "<text>:2:1"),
    ],
)
@pytest.mark.parametrize(
    "run",
    [liftgbp.infer, liftgbp.prepare, liftgbp.bounds, liftgbp.sample, liftgbp.check],
)
def test_more_groundings_than_doubles_reach(
    text: str, place: str, run: Callable[..., object]
) -> None:
    """Counts of 400 digits become floats somewhere in every run, so that all refuse them."""
    with pytest.raises(liftgbp.SizeError, match=f"{place}: the domain is too large: .* 1e[45]00 "):
        run(liftgbp.parse(text), {"t": 10**100})
    # 300 digits are fine.
    fine = liftgbp.parse("p(t)\n1e-200 p(x) ^ p(y) ^ p(z) | distinct")
    assert fine.domain_sizes({"t": 10**100}) == {"t": 10**100}


def test_bounds_of_1e200_atoms() -> None:
    """Steps of the upper bound rise beyond 1e308 when they are cubed."""
    model = liftgbp.parse("s(t,t)\nq\n((!s(w,z) ^ !s(x,w)) => s(z,x)).\n1.4 q")
    found = liftgbp.bounds(model, {"t": 10**100})
    # Every world in which s is true everywhere but between the halves of a cut is possible.
    assert 0.25 * math.log(2) <= found.upper / 1e200 <= math.log(2)
    assert 0 <= found.lower <= found.upper


def test_bounds_over_huge_domains_are_refused_in_words() -> None:
    model = liftgbp.parse("p(t,t)\nq(t)\n1e-9 p(x,y) ^ q(z) ^ q(u) => q(w)")
    with pytest.raises(liftgbp.SizeError, match="the domain is too large"):
        liftgbp.bounds(model, {"t": 10**100})
