"""Relations that are equivalences or orders, against enumeration, recursions and known numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from all_worlds import scores
from liftgbp.lift.shatter import shatter
from liftgbp.methods.exact.pair_tables import NoCellsError
from liftgbp.methods.exact.recognition import recognised
from liftgbp.oracle import reference
from liftgbp.support.errors import CapacityError, ContradictionError, QueryError

DECLARED = "r(t, t)\na(t)\nb(t)\n"
EQUIVALENCE = "r(x,y) ^ r(y,z) => r(x,z).\nr(x,y) => r(y,x).\nr(x,x).\n"
LINEAR = "r(x,y) ^ r(y,z) => r(x,z).\n!(r(x,y) ^ r(y,x)).\nr(x,y) v r(y,x) | x != y.\n"
WEAK = "r(x,y) ^ r(y,z) => r(x,z).\nr(x,y) v r(y,x).\n"

WRITTEN = {
    "equivalence": [
        EQUIVALENCE,
        "r(x,y) ^ r(y,z) => r(x,z) | distinct.\nr(x,y) <=> r(y,x).\n",
        "r(x,y) ^ r(z,y) => r(x,z).\nr(x,x).\n",
        "!r(x,y) v !r(y,z) v r(x,z).\n!r(x,y) v r(y,x).\n",
    ],
    "difference": ["!r(x,y) ^ !r(y,z) => !r(x,z).\nr(x,y) => r(y,x).\n"],
    "strict order": [
        LINEAR,
        "r(x,y) ^ r(y,z) => r(x,z) | distinct.\n!(r(x,y) <=> r(y,x)) | x != y.\n",
        "!(r(x,y) ^ r(y,z) ^ r(z,x)) | distinct.\n!(r(x,y) <=> r(y,x)) | x != y.\n",
        "!r(x,y) ^ !r(y,z) => !r(x,z).\nr(x,y) => !r(y,x).\n",
    ],
    "order": [WEAK],
}
OTHERS = [
    "9 r(x,y) ^ r(y,z) => r(x,z)\nr(x,y) => r(y,x).\n",
    "r(x,y) ^ r(y,z) => r(x,z).\n",
    "!(r(x,y) ^ r(y,z) ^ r(x,z)) | distinct.\nr(x,y) => r(y,x).\n",
    EQUIVALENCE + "0.3 r(x,y) ^ a(y) => a(z)\n",
]
"""Nearly transitive relations, partial orders, graphs without triangles, and an equivalence with a
rule about three objects that does not always hold."""


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in WRITTEN.items() for text in texts]
)
def test_structures_are_recognised_however_they_are_written(name: str, text: str) -> None:
    found = recognised(shatter(liftgbp.parse(DECLARED + text + "0.4 r(x,y) ^ a(x)"), {"t": 5}))
    assert found.tables.structure.name == name


@pytest.mark.parametrize("text", OTHERS)
def test_other_relations_have_no_structure(text: str) -> None:
    with pytest.raises(NoCellsError):
        recognised(shatter(liftgbp.parse(DECLARED + text), {"t": 5}))


# --- against the reference, which knows nothing of structures


WEIGHTS = st.sampled_from([-1.2, -0.4, 0.3, 0.9])
SOFT = (
    "r(x,y)",
    "a(x)",
    "r(x,x) => a(x)",
    "r(x,y) => (a(x) <=> a(y))",
    "r(x,y) ^ a(x) => a(y)",
    "a(x) ^ !a(y) | x != y",
    "r(x,y) ^ r(y,z) => r(x,z)",
    "r(x,y) ^ r(y,z) ^ r(z,x)",
)
FACTS = ("", "a(A)", "r(A,B)", "!r(A,B)", "r(A,B)\na(C)", "r(A,C)\n!r(B,C)")


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    hard=st.sampled_from([text for texts in WRITTEN.values() for text in texts]),
    soft=st.lists(st.tuples(WEIGHTS, st.sampled_from(SOFT)), min_size=1, max_size=3),
    facts=st.sampled_from(FACTS),
)
def test_log_z_and_marginals_are_those_of_the_ground_model(
    hard: str, soft: list[tuple[float, str]], facts: str
) -> None:
    rules = "\n".join(f"{weight} {rule}" for weight, rule in soft)
    model = liftgbp.parse(f"r(t, t)\na(t)\n{hard}{rules}")
    try:
        evidence = liftgbp.parse_evidence(model, facts)
    except ContradictionError:
        assume(False)
    atoms, logs = scores(reference.ground(model, {"t": 3}, evidence))
    weights = np.exp(logs)
    assume(weights.sum() > 0)
    answers = liftgbp.infer(model, {"t": 3}, evidence=evidence, exact=True)
    free = 12 - len(atoms) - len(facts.splitlines())
    whole = math.log(weights.sum()) + free * math.log(2)
    assert answers.log_z == pytest.approx(whole, rel=1e-12, abs=1e-10)
    for axis, atom in enumerate(atoms):
        others = tuple(k for k in range(len(atoms)) if k != axis)
        wanted = weights.sum(axis=others) / weights.sum()
        objects = [np.array([k]) for k in atom.objects]
        number = list(answers.model.predicates).index(atom.predicate)
        found = answers.posterior.reader.marginals(number, objects)[0]
        np.testing.assert_allclose(found, wanted, atol=1e-11)


# --- against worlds listed one by one


def blocks_of(objects: int, *, ordered: bool) -> Iterator[tuple[int, ...]]:
    """All ways to put objects into blocks, in a row or not, each way once."""
    for own in product(range(objects), repeat=objects):
        first = [own.index(block) for block in sorted(set(own))]
        if set(own) == set(range(len(set(own)))) and (ordered or first == sorted(first)):
            yield own


World = tuple[tuple[int, ...], tuple[int, ...]]
"""The block of each object, and who has the property."""

KINDS: dict[str, tuple[str, bool, Callable[[int, int], bool]]] = {
    "equivalence": (EQUIVALENCE, False, lambda one, other: one == other),
    "linear order": (LINEAR, True, lambda one, other: one < other),
    "weak order": (WEAK, True, lambda one, other: one <= other),
}


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    weights=st.tuples(*[st.floats(-1.5, 1.5)] * 4),
    objects=st.integers(3, 4),
)
def test_joint_distributions_are_those_of_all_worlds(
    kind: str, weights: tuple[float, ...], objects: int
) -> None:
    hard, ordered, leads = KINDS[kind]
    soft = ["r(x,y) | x != y", "r(x,y) => (a(x) <=> a(y))", "a(x)", "r(x,y) ^ a(x) ^ !a(y)"]
    rules = "\n".join(f"{weight:.12f} {rule}" for weight, rule in zip(weights, soft, strict=True))
    answers = liftgbp.infer(liftgbp.parse(f"r(t, t)\na(t)\n{hard}{rules}"), {"t": objects})
    assert answers.verdict.kind is liftgbp.Kind.EXACT
    worlds: dict[World, float] = {}
    for own in blocks_of(objects, ordered=ordered):
        if kind == "linear order" and len(set(own)) < objects:
            continue
        for a in product(range(2), repeat=objects):
            total = weights[2] * sum(a)
            for x, y in product(range(objects), repeat=2):
                r = leads(own[x], own[y])
                total += weights[0] * (r and x != y)
                total += weights[1] * (not r or a[x] == a[y])
                total += weights[3] * (r and a[x] and not a[y])
            worlds[own, a] = math.exp(total)
    whole = math.fsum(worlds.values())

    def chance(holds: Callable[[Callable[[int, int], bool], tuple[int, ...]], bool]) -> float:
        likely = (
            weight
            for (own, a), weight in worlds.items()
            if holds(lambda x, y, own=own: leads(own[x], own[y]), a)  # type: ignore[misc]
        )
        return math.fsum(likely) / whole

    assert answers.log_z == pytest.approx(math.log(whole), abs=1e-10)
    one = answers.query("a(x) ^ r(x,y) ^ a(y) | x != y")[0]
    assert one.values["true", "true", "true"] == pytest.approx(
        chance(lambda r, a: bool(a[0] and r(0, 1) and a[1])), abs=1e-11
    )
    three = answers.query("(r(x,y) ^ r(x,z)) v a(y) | distinct")[0]
    assert three["true"] == pytest.approx(
        chance(lambda r, a: bool((r(0, 1) and r(0, 2)) or a[1])), abs=1e-11
    )


# --- known numbers


@cache
def bell(number: int) -> int:
    """How many equivalences there are over so many objects."""
    row = [1]
    for _ in range(number):
        following = [row[-1]]
        for entry in row:
            following.append(following[-1] + entry)
        row = following
    return row[0]


def in_blocks(objects: int, weight: Callable[[int], Fraction]) -> list[Fraction]:
    """Sums over all equivalences of 0, 1, ... objects, each block with a weight by its size."""
    sums = [Fraction(1)]
    for n in range(1, objects + 1):
        terms = (math.comb(n - 1, k - 1) * weight(k) * sums[n - k] for k in range(1, n + 1))
        sums.append(sum(terms, Fraction()))
    return sums


@pytest.mark.parametrize("objects", [5, 40, 400])
def test_equivalences_are_bell_numbers(objects: int) -> None:
    answers = liftgbp.infer(liftgbp.parse(f"r(t, t)\n{EQUIVALENCE}"), {"t": objects})
    assert answers.verdict.kind is liftgbp.Kind.EXACT
    assert answers.log_z == pytest.approx(math.log(bell(objects)), rel=1e-13)
    same = Fraction(bell(objects - 1), bell(objects))
    assert answers.marginal("r(x,y)") == pytest.approx(float(same), rel=1e-10)


@pytest.mark.parametrize(("objects", "weight"), [(30, 0.05), (40, 0.05), (40, -0.1), (60, 0.04)])
def test_equivalences_with_a_weight_are_a_recursion(objects: int, weight: float) -> None:
    answers = liftgbp.infer(liftgbp.parse(f"r(t, t)\n{EQUIVALENCE}{weight} r(x,y)"), {"t": objects})
    sums = in_blocks(objects, lambda k: Fraction(math.exp(weight * k * k)))
    assert answers.log_z == pytest.approx(math.log(sums[-1]), rel=1e-12)
    pairs = sum(
        math.comb(objects - 2, k - 2) * Fraction(math.exp(weight * k * k)) * sums[objects - k]
        for k in range(2, objects + 1)
    )
    wanted = float(pairs / sums[-1])
    assert answers.marginal("r(x,y)") == pytest.approx(wanted, rel=1e-9)


def test_linear_orders_are_factorials() -> None:
    answers = liftgbp.infer(liftgbp.parse(f"r(t, t)\n{LINEAR}"), {"t": 1000})
    assert answers.log_z == pytest.approx(math.lgamma(1001), rel=1e-13)
    assert answers.marginal("r(x,y)") == pytest.approx(0.5, abs=1e-11)
    first = answers.query("r(x,y) ^ r(x,z) | distinct")[0]
    assert first["true", "true"] == pytest.approx(1 / 3, abs=1e-11)


@pytest.mark.parametrize("objects", [6, 200])
def test_weak_orders_are_fubini_numbers(objects: int) -> None:
    answers = liftgbp.infer(liftgbp.parse(f"r(t, t)\n{WEAK}"), {"t": objects})
    numbers = [1]
    for n in range(1, objects + 1):
        numbers.append(sum(math.comb(n, k) * numbers[n - k] for k in range(1, n + 1)))
    assert answers.log_z == pytest.approx(math.log(numbers[-1]), rel=1e-13)
    # Two objects that tie are one object among one less.
    tied = numbers[-2] / numbers[-1]
    assert answers.marginal("r(x,y)") == pytest.approx((1 + tied) / 2, rel=1e-10)


def test_who_is_first_by_a_property() -> None:
    """Those with the property are last: a Mann-Whitney statistic, by Gaussian binomials."""
    weight, objects = 0.3, 12
    text = f"r(t, t)\na(t)\n{LINEAR}{weight} r(x,y) ^ !a(x) ^ a(y)"
    answers = liftgbp.infer(liftgbp.parse(text), {"t": objects})
    q = math.exp(weight)
    factorial = [math.prod((q**k - 1) / (q - 1) for k in range(1, n + 1)) for n in range(13)]
    # k! (N - k)! orders for each word of k letters, of which q counts the pairs in order.
    each = [
        math.comb(objects, k)
        * math.factorial(k)
        * math.factorial(objects - k)
        * factorial[objects]
        / factorial[k]
        / factorial[objects - k]
        for k in range(objects + 1)
    ]
    assert answers.log_z == pytest.approx(math.log(math.fsum(each)), rel=1e-12)
    distribution = answers.count("a(x)")
    for k, weighs in enumerate(each):
        assert distribution.exactly(k) == pytest.approx(weighs / math.fsum(each), abs=1e-11)


@pytest.mark.parametrize(("objects", "weight"), [(7, 0.3), (80, -0.02)])
def test_sizes_of_blocks(objects: int, weight: float) -> None:
    """How many objects are in the block of one of them."""
    model = liftgbp.parse(f"r(t, t)\na(t)\n{EQUIVALENCE}{weight} r(x,y)\n1 a(x)")
    answers = liftgbp.infer(model, {"t": objects})
    sums = in_blocks(objects, lambda k: Fraction(math.exp(weight * k * k)))
    (row,) = answers.query("#{y : r(x,y)}")
    for k in range(1, min(objects, 12)):
        ways = math.comb(objects - 1, k - 1) * Fraction(math.exp(weight * k * k))
        wanted = float(ways * sums[objects - k] / sums[-1])
        assert row.values.get((str(k),), 0.0) == pytest.approx(wanted, abs=1e-8)


def test_ranks_in_a_linear_order_are_uniform() -> None:
    answers = liftgbp.infer(liftgbp.parse(f"r(t, t)\n{LINEAR}"), {"t": 60})
    (row,) = answers.query("#{y : r(x,y)}")
    assert [row.values[str(k),] for k in range(60)] == pytest.approx([1 / 60] * 60, abs=1e-12)


COUNTED = ("r(x,y)", "r(y,x) ^ a(y)", "r(x,y) v a(y)", "!r(y,x) ^ f(x,y)")


@settings(max_examples=15, deadline=None)
@given(
    kind=st.sampled_from(["equivalence", "linear order"]),
    weights=st.tuples(*[st.floats(-1.5, 1.5)] * 3),
    counted=st.sampled_from(COUNTED),
    facts=st.sampled_from(["", "a(A)", "r(A,B)"]),
)
def test_counts_beside_an_object_are_those_of_a_junction_tree(
    kind: str, weights: tuple[float, ...], counted: str, facts: str
) -> None:
    soft = ["r(x,y) => (a(x) <=> a(y))", "a(x)", "r(x,y) ^ a(x) => f(x,y)"]
    rules = "\n".join(f"{weight:.12f} {rule}" for weight, rule in zip(weights, soft, strict=True))
    model = liftgbp.parse(f"r(t, t)\na(t)\nf(t, t)\n{KINDS[kind][0]}{rules}")
    answers = liftgbp.infer(model, {"t": 3}, evidence=facts, exact=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liftgbp.methods.exact.structured_cells.recognised", no_structure)
        tree = liftgbp.infer(model, {"t": 3}, evidence=facts, exact=True)
    query = f"#{{y : {counted}}}"
    for row, other in zip(answers.query(query), tree.query(query), strict=True):
        for count in range(4):
            wanted = other.values.get((str(count),), 0.0)
            assert row.values.get((str(count),), 0.0) == pytest.approx(wanted, abs=1e-8)


def no_structure(normal: object) -> None:
    raise NoCellsError("no structure is looked for")


def test_rules_that_follow_count_for_all_objects() -> None:
    text = f"r(t, t)\n{EQUIVALENCE}0.7 r(x,y) ^ r(y,z) => r(x,z)"
    answers = liftgbp.infer(liftgbp.parse(text), {"t": 20})
    assert answers.log_z == pytest.approx(math.log(bell(20)) + 0.7 * 20**3, rel=1e-13)


@pytest.mark.parametrize("objects", [5, 300])
def test_matchings_are_equivalences_without_large_blocks(objects: int) -> None:
    """Telephone numbers: an object is alone, or takes one of the others."""
    text = "r(t, t)\n!r(x,x).\nr(x,y) => r(y,x).\n!(r(x,y) ^ r(x,z)) | distinct."
    answers = liftgbp.infer(liftgbp.parse(text), {"t": objects})
    numbers = [1, 1]
    for n in range(2, objects + 1):
        numbers.append(numbers[-1] + (n - 1) * numbers[-2])
    assert answers.log_z == pytest.approx(math.log(numbers[-1]), rel=1e-13)
    assert answers.marginal("r(x,y)") == pytest.approx(numbers[-3] / numbers[-1], rel=1e-10)


@pytest.mark.parametrize("objects", [4, 30])
def test_rules_about_three_objects_of_one_block(objects: int) -> None:
    text = f"r(t, t)\n{EQUIVALENCE}0.4 r(x,y)\n-0.07 r(x,y) ^ r(y,z) | distinct"
    answers = liftgbp.infer(liftgbp.parse(text), {"t": objects})
    sums = in_blocks(
        objects, lambda k: Fraction(math.exp(0.4 * k * k - 0.07 * k * (k - 1) * (k - 2)))
    )
    assert answers.log_z == pytest.approx(math.log(sums[-1]), rel=1e-12)


def test_soft_relations_beside_an_equivalence_are_summed_out() -> None:
    """Friends are ten times as likely in one block: a pair in one block weighs 11 / 2."""
    text = f"r(t, t)\nf(t, t)\n{EQUIVALENCE}{math.log(10)} r(x,y) ^ f(x,y)"
    answers = liftgbp.infer(liftgbp.parse(text), {"t": 9})
    sums = in_blocks(9, lambda k: Fraction(11 ** (k * k), 2 ** (k * k)))
    assert answers.log_z == pytest.approx(math.log(sums[-1]) + 81 * math.log(2), rel=1e-12)
    assert answers.probability("f(x,y) | r(x,y)") == pytest.approx(10 / 11, abs=1e-11)


def beside(answers: liftgbp.Answers, query: str) -> float:
    """The probability for objects without a name."""
    return max(answers.query(query), key=lambda row: row.count)["true"]


def test_named_objects_may_be_known_to_be_in_one_block_or_apart() -> None:
    model = liftgbp.parse(f"r(t, t)\n{EQUIVALENCE}")
    together = liftgbp.infer(model, {"t": 40}, evidence="r(A, B)")
    assert together.log_z == pytest.approx(math.log(bell(39)), rel=1e-13)
    assert beside(together, "r(A, x)") == pytest.approx(bell(38) / bell(39), rel=1e-10)
    apart = liftgbp.infer(model, {"t": 40}, evidence="!r(A, B)\nr(B, C)")
    assert apart.log_z == pytest.approx(math.log(bell(39) - bell(38)), rel=1e-13)
    assert apart.query("r(A, C)")[0]["true"] == pytest.approx(0.0, abs=1e-12)


def test_named_objects_of_a_linear_order() -> None:
    model = liftgbp.parse(f"r(t, t)\n{LINEAR}")
    answers = liftgbp.infer(model, {"t": 30}, evidence="r(A, B)\nr(B, C)")
    assert answers.log_z == pytest.approx(math.lgamma(31) - math.log(6), rel=1e-13)
    assert beside(answers, "r(A, x)") == pytest.approx(3 / 4, abs=1e-11)


def test_records_that_all_differ_are_exact_by_default() -> None:
    pairs = [(0, 1), (1, 2), (0, 3), (3, 4), (2, 5), (1, 4)]
    names = [(f"R{a}", f"R{b}") for a, b in pairs]
    facts = {"email": names[:2], "alike": names[1:4], "differ": names[4:]}
    answers = liftgbp.infer(liftgbp.load("example:records"), evidence=facts)
    assert answers.trusted
    weights: dict[tuple[int, ...], float] = {}
    for own in blocks_of(6, ordered=False):
        total = -0.2 * sum(own[a] == own[b] for a in range(6) for b in range(6) if a != b)
        for weight, stated in ((3, pairs[:2]), (1, pairs[1:4]), (-2, pairs[4:])):
            total += weight * sum(own[a] == own[b] for a, b in stated)
        weights[own] = math.exp(total)
    whole = math.fsum(weights.values())
    assert answers.log_z == pytest.approx(math.log(whole), rel=1e-12)
    for a, b in [*pairs, (0, 2), (0, 5)]:
        same = math.fsum(weight for own, weight in weights.items() if own[a] == own[b])
        (row,) = answers.query(f"same(R{a}, R{b})")
        assert row["true"] == pytest.approx(same / whole, abs=1e-11)


# --- limits


def test_what_takes_too_long_is_not_exact() -> None:
    model = liftgbp.parse(f"{DECLARED}{EQUIVALENCE}0.1 r(x,y) ^ a(x) ^ !b(y)")
    with pytest.raises(CapacityError, match="into blocks takes more than"):
        liftgbp.infer(model, {"t": 200}, exact=True)


def test_counts_beside_two_objects_are_listed_while_they_are_few() -> None:
    model = liftgbp.parse(f"r(t, t)\n{EQUIVALENCE}")
    row = liftgbp.infer(model, {"t": 3}).query("#{z : r(x,z) ^ r(y,z)} = 3")[-1]
    assert row["true"] == pytest.approx(1 / bell(3), abs=1e-12)
    with pytest.raises(QueryError):
        liftgbp.infer(model, {"t": 40}).query("#{z : r(x,z) ^ r(y,z)} = 3")
