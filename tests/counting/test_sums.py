"""Sums over counts against closed forms, exact inference, and ground message passing."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import liftgbp
from liftgbp.evidence import Evidence, Known, Relation
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.oracle.messages import GroundObjects
from liftgbp.posterior import every_row
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from random_models import models_with_evidence

SMOKERS = """
friends(person, person)
smokes(person)
$w = 1.4
$w friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""
TRANSITIVE = "0.5 friends(x,y) ^ friends(y,z) => friends(x,z) | distinct\n"
TWO = f"""
{SMOKERS}
rich(person)
0.7 rich(x) ^ friends(x,y) => rich(y) | x != y
-0.3 rich(x) ^ smokes(x)
"""


def summed(*arguments: object, **options: object) -> liftgbp.Answers:
    return liftgbp.infer(*arguments, **options, effort="quick")  # type: ignore[arg-type]


def closed_form(size: int, weight: float) -> tuple[float, float, float]:
    """log Z, P(smokes) and P(friends) of friends-smokers, by the number k of smokers.

    A pair of a smoker and one who is not has the states not friends (weight e^w) and friends (1);
    all other pairs satisfy the formula in both states. Friendship with oneself is free.
    """
    mpmath.mp.dps = 60
    w = mpmath.mpf(weight)
    broken, kept = mpmath.log(1 + mpmath.exp(w)), mpmath.log(2) + w
    log_factorial = [mpmath.loggamma(size + 1)]
    # Beyond these the weight is below e^-1000.
    near = range(size + 1) if size <= 400 else [*range(40), *range(size - 39, size + 1)]
    logs = {
        k: log_factorial[0]
        - mpmath.loggamma(k + 1)
        - mpmath.loggamma(size - k + 1)
        + k * (size - k) * broken
        + (size * (size - 1) - k * (size - k)) * kept
        + size * mpmath.log(2)
        for k in near
    }
    top = max(logs.values())
    weights = {k: mpmath.exp(log - top) for k, log in logs.items()}
    total = mpmath.fsum(weights.values())
    smokes = mpmath.fsum(k * own for k, own in weights.items()) / total / size
    friends = mpmath.fsum(
        own * (k * (size - k) / (1 + mpmath.exp(w)) + (size * (size - 1) - k * (size - k)) / 2)
        for k, own in weights.items()
    ) / (total * size * (size - 1))
    return top + mpmath.log(total), smokes, friends


@pytest.mark.parametrize("weight", [0.3, 1.4])
def test_the_closed_form_is_that_of_enumeration(weight: float) -> None:
    model = liftgbp.parse(SMOKERS).with_weights({"w": weight})
    exact = reference.exact(reference.ground(model, {"person": 3}))
    log_z, smokes, friends = closed_form(3, weight)
    assert float(log_z) == pytest.approx(exact.log_z, abs=1e-12)
    marginal = exact.marginals
    assert float(smokes) == pytest.approx(
        marginal[reference.GroundAtom("smokes", (1,))][1], abs=1e-12
    )
    assert float(friends) == pytest.approx(
        marginal[reference.GroundAtom("friends", (0, 1))][1], abs=1e-12
    )


@pytest.mark.parametrize("weight", [0.01, 0.3, 1.4, 5.0, -0.4])
@pytest.mark.parametrize("size", [2, 3, 4, 7, 30, 200])
def test_friends_and_smokers_are_exact(size: int, weight: float) -> None:
    model = liftgbp.parse(SMOKERS).with_weights({"w": weight})
    answers = summed(model, {"person": size}, sum_over="smokes")
    log_z, smokes, friends = closed_form(size, weight)
    assert answers.log_z == pytest.approx(float(log_z), abs=1e-9)
    assert answers.marginal("smokes(x)") == pytest.approx(float(smokes), abs=1e-9)
    assert answers.marginal("friends(x,y)") == pytest.approx(float(friends), abs=1e-9)
    assert answers.status is liftgbp.Status.CONVERGED


@pytest.mark.parametrize("weight", [0.3, 1.4])
def test_friends_and_smokers_are_exact_in_a_million(weight: float) -> None:
    model = liftgbp.parse(SMOKERS).with_weights({"w": weight})
    answers = summed(model, {"person": 10**6}, sum_over="smokes")
    log_z, smokes, friends = closed_form(10**6, weight)
    assert answers.log_z == pytest.approx(float(log_z), rel=1e-14)
    assert answers.marginal("smokes(x)") == pytest.approx(float(smokes), abs=1e-6)
    assert answers.marginal("friends(x,y)") == pytest.approx(float(friends), abs=1e-6)
    assert {text for text, _ in answers.sum_over.peaks} == {"smokes: 0", "smokes: 1000000"}
    assert answers.sum_over.visited < 500


def test_a_wide_maximum_in_a_million() -> None:
    """People who smoke independently, and agree a little: the sum against 50 digits."""
    size = 10**6
    model = liftgbp.parse("s(thing)\n-0.4 s(x)\n$w = 0.5\n$w/|thing| s(x) <=> s(y) | x != y")
    answers = summed(model, {"thing": size}, sum_over="s")
    mpmath.mp.dps = 50
    w, odds = mpmath.mpf(0.5 / size), mpmath.mpf(-0.4)

    def log_weight(k: int) -> mpmath.mpf:
        agreeing = k * (k - 1) + (size - k) * (size - k - 1)
        ways = mpmath.loggamma(size + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(size - k + 1)
        return ways + odds * k + w * agreeing

    middle = round(size * answers.marginal("s(x)"))
    counts = range(middle - 6000, middle + 6001, 60)
    top = log_weight(middle)
    weights = [mpmath.exp(log_weight(k) - top) for k in counts]
    mean = mpmath.fsum(k * own for k, own in zip(counts, weights, strict=True))
    mean /= mpmath.fsum(weights) * size
    assert answers.marginal("s(x)") == pytest.approx(float(mean), abs=1e-11)
    assert answers.log_z == pytest.approx(
        float(top + mpmath.log(60 * mpmath.fsum(weights))), rel=1e-15
    )


def test_transitive_friends_come_nearer_to_exact() -> None:
    model = liftgbp.parse(SMOKERS + TRANSITIVE)
    plain = liftgbp.infer(model, {"person": 4}, effort="quick")
    answers = summed(model, {"person": 4}, sum_over="smokes")
    diagonal = 4 * math.log(2)
    exact = reference.exact(reference.ground(model, {"person": 4}))
    truth = exact.marginals[reference.GroundAtom("friends", (0, 1))][1]
    assert truth == pytest.approx(0.389999, abs=1e-6)
    assert exact.log_z - diagonal == pytest.approx(37.7578, abs=1e-4)
    assert plain.marginal("friends(x,y)") == pytest.approx(0.377504, abs=1e-6)
    assert answers.marginal("friends(x,y)") == pytest.approx(0.388638, abs=1e-6)
    assert answers.log_z - diagonal == pytest.approx(37.7477, abs=1e-4)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_two_predicates_are_exact(size: int) -> None:
    model = liftgbp.parse(TWO)
    answers = summed(model, {"person": size}, sum_over=("smokes", "rich"))
    exact = reference.exact(reference.ground(model, {"person": size}))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-10)
    for row, atom in every_row(answers.posterior.reader):
        wanted = exact.marginals[GroundObjects(answers.posterior.reader.normal).atom(atom)]  # type: ignore[attr-defined]
        assert list(row.values.values()) == pytest.approx(wanted.tolist(), abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("size", [12, 40])
def test_two_predicates_among_many(size: int) -> None:
    """The plain sum over how many people smoke, are rich, both or neither."""
    model = liftgbp.parse(TWO)
    answers = summed(model, {"person": size}, sum_over=("smokes", "rich"))
    w, v = 1.4, 0.7
    logs, rich = [], []
    for both in range(size + 1):
        for smoke in range(size + 1 - both):
            for wealthy in range(size + 1 - both - smoke):
                cells = {(1, 1): both, (1, 0): smoke, (0, 1): wealthy}
                cells[0, 0] = size - both - smoke - wealthy
                log = math.lgamma(size + 1) - sum(math.lgamma(n + 1) for n in cells.values())
                log += size * math.log(2) - 0.3 * both
                for (s, r), n in cells.items():
                    for (t, u), m in cells.items():
                        pairs = n * (m - ((s, r) == (t, u)))
                        lost = (w if s and not t else 0) + (v if r and not u else 0)
                        log += pairs * (w + v + math.log(1 + math.exp(-lost)))
                logs.append(log)
                rich.append((both + wealthy) / size)
    top = max(logs)
    weights = np.exp(np.array(logs) - top)
    assert answers.log_z == pytest.approx(top + math.log(weights.sum()), abs=1e-8)
    assert answers.marginal("rich(x)") == pytest.approx(
        float(weights @ np.array(rich) / weights.sum()), abs=1e-9
    )


def test_joints_and_conditionals() -> None:
    model = liftgbp.parse(SMOKERS)
    answers = summed(model, {"person": 3}, sum_over="smokes")
    exact = {True: 0.0, False: 0.0}
    worlds = itertools.product((0, 1), repeat=3 + 6)
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    both, total = 0.0, 0.0
    for world in worlds:
        smokes, friends = world[:3], dict(zip(pairs, world[3:], strict=True))
        kept = sum(not (f and smokes[i]) or smokes[j] for (i, j), f in friends.items())
        weight = math.exp(1.4 * kept)
        total += weight
        both += weight * (smokes[0] and smokes[1])
        if friends[0, 1] and smokes[0]:
            exact[bool(smokes[1])] += weight
    (row,) = answers.query("smokes(x) ^ smokes(y) | x != y")
    assert row["true", "true"] == pytest.approx(both / total, abs=1e-12)
    (row,) = answers.query("smokes(y) | friends(x,y), smokes(x), x != y")
    assert row["true", "true", "true"] == pytest.approx(
        exact[True] / sum(exact.values()), abs=1e-12
    )


def summed_ground(
    model: Model, domain: dict[str, int], evidence: Evidence, predicate: str, iterations: int
) -> tuple[float, dict[reference.GroundAtom, np.ndarray]]:
    """log Z and marginals by ground message passing given each assignment of a predicate."""
    free = reference.ground(model, domain, evidence)
    atoms = [atom for atom in free.atoms if atom.predicate == predicate]
    old = evidence.hard.get(predicate)
    logs, tables = [], []
    for values in itertools.product((0, 1), repeat=len(atoms)):
        rows = [list(atom.objects) for atom in atoms]
        args, known = np.array(rows, np.int64).reshape(-1, 1), np.array(values, np.int64)
        if old is not None:
            args, known = np.vstack([old.args, args]), np.concatenate([old.values, known])
        more = replace(evidence, hard={**evidence.hard, predicate: Relation(args, known)})
        ground = reference.ground(model, domain, more)
        if ground.log_constant == -math.inf:
            continue
        assume(len(ground.factors) <= 60)
        try:
            graph = reference.ground_regions(ground)
            *_, beliefs = reference.iterates(graph, 0.5, iterations)
        except ContradictionError:
            continue
        assume(all(np.abs(b[np.isfinite(b)]).max(initial=0) < 50 for b in beliefs.values()))
        logs.append(reference.log_z(graph, beliefs))
        tables.append(
            {
                atom: reference.marginal(graph, beliefs, atom)
                if atom not in ground.observed
                else np.eye(length)[ground.observed[atom]]
                for atom, length in free.ranges.items()
            }
        )
    assume(logs)
    weights = np.exp(np.array(logs) - max(logs))
    shares = weights / weights.sum()
    mixed = {
        atom: sum(s * table[atom] for s, table in zip(shares, tables, strict=True))
        for atom in free.ranges
    }
    return max(logs) + math.log(weights.sum()), mixed


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=models_with_evidence(most=3))
def test_counts_stand_for_all_assignments(case: tuple[Model, dict[str, int], Evidence]) -> None:
    model, domain, evidence = case
    assume("p" not in evidence.closed)
    iterations = 12
    try:
        free = reference.ground(model, domain, evidence)
        assume(any(atom.predicate == "p" for atom in free.atoms))
        log_z, marginals = summed_ground(model, domain, evidence, "p", iterations)
    except (ContradictionError, CapacityError):
        assume(False)
    answers = summed(
        model,
        domain,
        evidence=evidence,
        sum_over="p",
        solver=liftgbp.Flooding(iterations=iterations, tol=1e-300),
    )
    assert answers.result.log_z == pytest.approx(log_z, rel=1e-9, abs=1e-8)
    objects = GroundObjects(answers.posterior.reader.normal)  # type: ignore[attr-defined]
    for row, atom in every_row(answers.posterior.reader):
        ground_atom = objects.atom(atom)
        if ground_atom in marginals:
            wanted = marginals[ground_atom].tolist()
            assert list(row.values.values()) == pytest.approx(wanted, abs=1e-8)


def test_observed_objects_are_not_split() -> None:
    """Two observed people, and a constant that a rule mentions: exact against the reference."""
    model = liftgbp.parse(f"person = {{Anna, Bob, Carl}}\n{SMOKERS}\n0.8 smokes(Anna)\n")
    facts = {
        "smokes": Relation(np.array([[1]]), np.array([1])),
        "friends": Relation(np.array([[0, 2], [2, 1]]), np.array([1, 0])),
    }
    evidence = Evidence(model, facts)
    answers = summed(model, {"person": 4}, evidence=evidence, sum_over="smokes")
    exact = reference.exact(reference.ground(model, {"person": 4}, evidence))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-10)
    for name, number in (("Anna", 0), ("Carl", 2)):
        (row,) = answers.query(f"smokes({name})")
        wanted = exact.marginals[reference.GroundAtom("smokes", (number,))][1]
        assert row["true"] == pytest.approx(wanted, abs=1e-10)
    (row,) = answers.query("friends(Anna,Bob)")
    wanted = exact.marginals[reference.GroundAtom("friends", (0, 1))][1]
    assert row["true"] == pytest.approx(wanted, abs=1e-10)
    (bob,) = answers.query("smokes(Bob)")
    assert bob.values == {("false",): 0.0, ("true",): 1.0}


def test_hard_formulas_rule_out_counts() -> None:
    model = liftgbp.parse("s(thing)\nt(thing)\ns(x) => s(y).\n0.5 s(x) ^ t(y)")
    answers = summed(model, {"thing": 5}, sum_over="s")
    exact = reference.exact(reference.ground(model, {"thing": 5}))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-10)
    assert answers.marginal("t(x)") == pytest.approx(
        exact.marginals[reference.GroundAtom("t", (0,))][1], abs=1e-10
    )
    nothing = liftgbp.parse("s(thing)\ns(x).\n!s(x).")
    with pytest.raises(ContradictionError):
        liftgbp.infer(nothing, {"thing": 5}, sum_over="s", effort="quick")


@pytest.mark.slow
def test_auto_takes_what_changes_most() -> None:
    model = liftgbp.parse(TWO)
    answers = summed(model, {"person": 5}, sum_over="auto")
    changes = {
        name: summed(model, {"person": 5}, sum_over=name).log_z
        - liftgbp.infer(model, {"person": 5}, effort="quick").log_z
        for name in ("smokes", "rich")
    }
    (chosen,) = answers.sum_over.predicates
    assert chosen == max(changes, key=lambda name: abs(changes[name]))
    assert "smokes +" in answers.sum_over.choice


@pytest.mark.slow
@pytest.mark.parametrize("leaf", ["0.8 smokes(x) => cancer(x)", "cancer(x) <=> !smokes(x)."])
def test_auto_leaves_out_what_another_count_settles(leaf: str) -> None:
    model = liftgbp.parse(f"cancer(person)\n{SMOKERS}{TRANSITIVE}{leaf}")
    answers = summed(model, {"person": 4}, sum_over="auto")
    assert answers.sum_over.predicates == ("smokes",)
    assert "cancer" not in answers.sum_over.choice
    # The count of the one that is left out would add nothing.
    both = summed(model, {"person": 4}, sum_over=["smokes", "cancer"])
    assert answers.log_z == pytest.approx(both.log_z, abs=1e-9)
    cancer = both.marginal("cancer(x)")
    assert answers.marginal("cancer(x)") == pytest.approx(cancer, abs=1e-9)


def test_auto_tries_one_of_two_that_settle_each_other() -> None:
    model = liftgbp.parse("s(thing)\nc(thing)\n0.5 s(x) <=> c(y)\n1 c(x)")
    answers = summed(model, {"thing": 5}, sum_over="auto")
    # Pairs meet with weight 0.5 where both are true or both are false; c has a weight of its own.
    terms = [
        math.comb(5, s) * math.comb(5, c) * math.exp(0.5 * (s * c + (5 - s) * (5 - c)) + c)
        for s in range(6)
        for c in range(6)
    ]
    assert answers.log_z == pytest.approx(math.log(math.fsum(terms)), abs=1e-9)
    assert len(answers.sum_over.predicates) == 1


def test_auto_keeps_what_is_linked_across_objects() -> None:
    model = liftgbp.parse(f"cancer(person)\n{SMOKERS}0.3 cancer(x) ^ cancer(y) | x != y")
    answers = summed(model, {"person": 4}, sum_over="auto")
    assert "cancer" in answers.sum_over.choice


def test_auto_takes_none_where_nothing_is_gained() -> None:
    model = liftgbp.parse("s(thing)\nt(thing)\n0.5 s(x) ^ t(x)")
    answers = summed(model, {"thing": 100}, sum_over="auto")
    assert answers.sum_over.predicates == ()
    assert "none changes log Z" in answers.sum_over.choice
    assert answers.log_z == liftgbp.infer(model, {"thing": 100}, effort="quick").log_z
    binary = liftgbp.parse("r(thing, thing)\n0.5 r(x,y)")
    answers = summed(binary, {"thing": 100}, sum_over="auto")
    assert "no unary Boolean one" in answers.sum_over.choice


@pytest.mark.slow
def test_doubtful_counts_show_in_the_status() -> None:
    model = liftgbp.parse(SMOKERS + "1.4 friends(x,y) ^ friends(y,z) => friends(z,u) | distinct\n")
    answers = summed(
        model, {"person": 8}, sum_over="smokes", solver=liftgbp.Flooding(iterations=40)
    )
    assert answers.status is not liftgbp.Status.CONVERGED
    assert answers.sum_over.untrusted > 0.1


@pytest.mark.parametrize(
    ("sum_over", "message"),
    [
        ("drinks", r"no such predicate; possible here: friends\(x,x\), smokes, mood"),
        ("friends", r"atoms about one object; possible here: friends\(x,x\), smokes, mood"),
        ("friends(x,y)", "atoms about one object"),
        ("smokes(x,x)", "atoms about one object"),
        ("owns", "atoms about one object"),
        (("smokes", "friends"), "atoms about one object"),
    ],
)
def test_what_cannot_be_counted(sum_over: str, message: str) -> None:
    model = liftgbp.parse(f"{SMOKERS}\nmood(person) : {{low, high}}\nowns(person, thing)")
    with pytest.raises(InputError, match=message):
        liftgbp.infer(model, {"person": 5, "thing": 2}, sum_over=sum_over, effort="quick")


DECLARED = """
person = {Anna, Bob}
mood(person) : {low, mid, high}
likes(person, person)
smokes(person)
"""
MOODS = """
0.4 mood(x) = high ^ mood(y) = high | x != y
0.3 mood(x) = low ^ mood(y) = mid
"""
SELF_LIKING = """
0.2 likes(x,x) ^ likes(y,y)
-0.5 likes(x,x)
0.5 likes(x,x) => smokes(x)
"""
PAIRS = "0.6 likes(x,y) ^ smokes(x) => smokes(y) | x != y"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "sum_over"),
    [
        (MOODS, ["mood"]),
        (SELF_LIKING, ["likes(x,x)"]),
        (MOODS + SELF_LIKING + PAIRS, ["likes(x, x)", "mood(x)", "smokes"]),
    ],
    ids=["mood", "diagonal", "all"],
)
@pytest.mark.parametrize("facts", ["", "mood(Anna) = mid\n!likes(Anna,Anna)\nlikes(Anna,Bob)"])
def test_many_values_and_diagonals(rules: str, sum_over: list[str], facts: str) -> None:
    """Where counts are known, the rest falls apart into what regions see, so the sum is exact."""
    model = liftgbp.parse(DECLARED + rules)
    evidence = liftgbp.parse_evidence(model, facts)
    answers = summed(model, {"person": 3}, evidence=evidence, sum_over=sum_over)
    exact = reference.exact(reference.ground(model, {"person": 3}, evidence))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-8)
    objects = GroundObjects(answers.posterior.reader.normal)  # type: ignore[attr-defined]
    for row, atom in every_row(answers.posterior.reader):
        if (ground_atom := objects.atom(atom)) in exact.marginals:
            wanted = exact.marginals[ground_atom].tolist()
            assert list(row.values.values()) == pytest.approx(wanted, abs=1e-8)
    assert answers.sum_over.predicates == tuple(
        name.replace(" ", "").replace("mood(x)", "mood") for name in sum_over
    )


@pytest.mark.slow
def test_counts_of_many_values_are_multinomial() -> None:
    model = liftgbp.parse(
        "mood(person) : {low, mid, high}\n0.02 mood(x) = high ^ mood(y) = high | x != y\n"
        "-0.01 mood(x) = low ^ mood(y) = mid"
    )
    size = 60
    answers = summed(model, {"person": size}, sum_over="mood")
    logs = {
        (low, mid): math.lgamma(size + 1)
        - math.lgamma(low + 1)
        - math.lgamma(mid + 1)
        - math.lgamma(size - low - mid + 1)
        + 0.02 * (size - low - mid) * (size - low - mid - 1)
        - 0.01 * low * mid
        for low in range(size + 1)
        for mid in range(size + 1 - low)
    }
    top = max(logs.values())
    weights = {key: math.exp(log - top) for key, log in logs.items()}
    total = math.fsum(weights.values())
    assert answers.log_z == pytest.approx(top + math.log(total), abs=1e-7)
    low = math.fsum(weight * key[0] for key, weight in weights.items()) / total / size
    assert answers.marginal("mood(x)", "low") == pytest.approx(low, abs=1e-7)
    assert "mood = low: " in answers.sum_over.peaks[0][0]


def test_what_is_known_need_not_be_counted() -> None:
    model = liftgbp.parse(SMOKERS)
    closed = Evidence(model, closed=frozenset({"smokes"}))
    counted = Evidence(model, known=(Known("person", (("smokes", 1),), 5),))
    for evidence in (closed, counted):
        with pytest.raises(InputError, match="all atoms of smokes are observed"):
            liftgbp.infer(
                model, {"person": 5}, evidence=evidence, sum_over="smokes", effort="quick"
            )


def test_too_many_classes_to_count() -> None:
    names = ", ".join(f"P{k}" for k in range(12))
    facts = "\n".join(f"{0.1 * k} smokes(P{k})" for k in range(12))
    model = liftgbp.parse(f"person = {{{names}}}\n{SMOKERS}{facts}\n")
    with pytest.raises(CapacityError, match="the sum over smokes"):
        liftgbp.infer(model, {"person": 100}, sum_over="smokes", effort="quick")


@pytest.mark.parametrize("weight", [1e6, 1e10, 1e14])
def test_weights_that_leave_no_choice(weight: float) -> None:
    """Only worlds without a smoker whose friend does not smoke are left: count them."""
    rule = f"{weight} friends(x,y) ^ smokes(x) => smokes(y) | x != y"
    model = liftgbp.parse(f"friends(person,person)\nsmokes(person)\n{rule}")
    answers = liftgbp.infer(model, {"person": 4}, sum_over="smokes", effort="quick")
    worlds = {k: math.comb(4, k) * 2 ** (12 - k * (4 - k)) for k in range(5)}
    share = sum(w * (12 - k * (4 - k)) / 24 for k, w in worlds.items()) / sum(worlds.values())
    assert answers.marginal("friends(x,y)") == pytest.approx(share, rel=1e-12)


def test_predicates_are_chosen_once_while_regions_grow() -> None:
    model = liftgbp.parse(
        "friends(person,person)\nsmokes(person)\n1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y"
    )
    answers = liftgbp.infer(model, {"person": 4}, sum_over="auto", regions="auto", effort="quick")
    assert answers.sum_over.predicates == ("smokes",)
    assert "smokes was chosen" in answers.sum_over.choice
    assert len(answers.growth) >= 1
    exact = reference.exact(reference.ground(model, {"person": 4}))
    assert answers.log_z == pytest.approx(exact.log_z, rel=1e-12)


ONE_RULE = (
    "friends(person,person)\nsmokes(person)\n1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y"
)


@pytest.mark.parametrize("regions", [None, "intersections", "auto"])
def test_what_is_exact_is_chosen_even_if_it_changes_nothing(regions: str | None) -> None:
    """In large domains the sum has the log Z of the minima, to all digits."""
    model = liftgbp.parse(ONE_RULE)
    answers = liftgbp.infer(model, {"person": 5000}, sum_over="auto", regions=regions)
    assert not answers.approximate
    assert answers.sum_over.predicates == ("smokes",)
    assert "nothing is approximated" in answers.sum_over.choice
    assert len(answers.growth) <= 1
    quick = liftgbp.infer(model, {"person": 5000}, effort="quick")
    assert quick.approximate
    assert answers.log_z == pytest.approx(quick.log_z, rel=1e-9)


def test_where_a_sum_is_exact_nothing_else_is_tried() -> None:
    answers = liftgbp.infer(liftgbp.parse(ONE_RULE), {"person": 5000})
    assert answers.growth == ()
    assert answers.quick is not None


@pytest.mark.parametrize(
    "query",
    [
        "friends(x,y) ^ friends(z,x) ^ smokes(z)",
        "smokes(y) | friends(x,y), smokes(x)",
        "friends(x,y), friends(y,z)",
        "rich(y) | friends(x,y), smokes(x)",
        "rich(x) ^ friends(x,y) ^ rich(y)",
    ],
)
def test_exact_sums_have_joint_distributions_of_any_atoms(query: str) -> None:
    """Regions that share nothing are independent, given the counts."""
    rules = "\nrich(person)\n0.7 rich(x) ^ smokes(x)\n-0.4 rich(x) ^ smokes(y)"
    model = liftgbp.parse(ONE_RULE + rules)
    summed = liftgbp.infer(model, {"person": 4}, sum_over="smokes")
    exact = liftgbp.infer(model, {"person": 4}, exact=True)
    assert not summed.approximate
    for one, other in zip(summed.query(query), exact.query(query), strict=True):
        assert one.atom == other.atom
        for state, probability in other.values.items():
            assert one.values[state] == pytest.approx(probability, abs=1e-10, nan_ok=True)


@pytest.mark.slow
def test_a_sum_that_leaves_loops_is_approximate() -> None:
    model = liftgbp.parse(ONE_RULE + "\n0.5 friends(x,y) ^ friends(y,z) => friends(x,z) | distinct")
    assert liftgbp.infer(model, {"person": 9}, sum_over="smokes", effort="quick").approximate


def test_regions_grow_where_no_predicate_can_be_chosen() -> None:
    model = liftgbp.parse("r(person,person)\n0.5 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    answers = liftgbp.infer(model, {"person": 4}, sum_over="auto", regions="auto", effort="quick")
    assert "no predicate was chosen" in answers.sum_over.choice
    exact = reference.exact(reference.ground(model, {"person": 4}))
    assert answers.log_z == pytest.approx(exact.log_z, rel=1e-9)
    assert len(answers.growth) >= 3


@pytest.mark.parametrize("effort", ["normal", "thorough"])
def test_a_sum_is_possible_though_its_middle_is_not(effort: str) -> None:
    """At most one object has the property: seven worlds, and no object in six of them."""
    model = liftgbp.parse("q(thing)\nq(x) => !q(y) | distinct.")
    answers = liftgbp.infer(model, {"thing": 6}, effort=effort)
    assert answers.flaw is None
    assert answers.marginal("q(x)") == pytest.approx(1 / 7, rel=1e-12)


@pytest.mark.slow
def test_a_sum_whose_points_share_no_graph_is_not_cheap() -> None:
    """Each way to give six named people a value is a graph of its own; descent needs no sum."""
    model = liftgbp.parse(SMOKERS)
    facts = "friends(Anna,Bob)\nfriends(Carl,Dora)\nfriends(Dora,Emil)\nfriends(Fred,Emil)"
    evidence = liftgbp.parse_evidence(model, facts)
    answers = liftgbp.infer(model, {"person": 12}, evidence=evidence, exact=False)
    exact = liftgbp.infer(model, {"person": 12}, evidence=evidence, exact=True)
    assert not answers.used.startswith("sum over")
    assert answers.flaw is None
    assert answers.compare(exact).agrees


@pytest.mark.slow
def test_facts_about_few_objects_leave_the_sum_affordable() -> None:
    """Anna smokes, and Bob is a friend of hers: both are alone in their classes."""
    people, weight = 3000, 0.002
    model = liftgbp.parse(f"""
        friends(person, person)
        smokes(person)
        {weight} friends(x,y) ^ smokes(x) => smokes(y) | x != y
    """)
    evidence = "smokes(Anna)\nfriends(Anna,Bob)"
    answers = liftgbp.infer(model, {"person": people}, evidence=evidence, exact=False)
    assert answers.posterior.provenance.sums.predicates == ("smokes",)
    logs, bob = [], []
    log_pair, log_bad = math.log(2) + weight, math.log1p(math.exp(weight))
    for smokes in (False, True):
        for others in range(people - 1):
            smokers = 1 + smokes + others
            bad = smokers * (people - smokers)
            pairs = people * (people - 1)
            # Of Anna and Bob friendship is known.
            log = bad * log_bad + (pairs - bad) * log_pair - (log_pair if smokes else log_bad)
            log += weight if smokes else 0.0
            ways = math.lgamma(people - 1) - math.lgamma(others + 1)
            logs.append(log + ways - math.lgamma(people - 1 - others))
            bob.append(smokes)
    top = max(logs)
    total = math.fsum(math.exp(own - top) for own in logs)
    # Whether people are their own friends nothing says.
    log_z = top + math.log(total) + people * math.log(2)
    assert answers.result.log_z == pytest.approx(log_z, rel=1e-12)
    share = math.fsum(math.exp(log - top) for log, own in zip(logs, bob, strict=True) if own)
    assert answers.marginal("smokes(Bob)") == pytest.approx(share / total, abs=1e-8)
