"""Proofs in ball arithmetic, against mpmath and closed forms."""

from __future__ import annotations

import math
import random

import mpmath as mp
import numpy as np
import pytest
from flint import fmpz_mat

import liftgbp
from liftgbp.lift.regions import build_regions
from liftgbp.lift.shatter import shatter
from liftgbp.plan import Plan, compile_plan, symmetries
from liftgbp.solve import Descent, Kind
from liftgbp.solve.certified import CertifiedPoint, Proof, beside, certify
from liftgbp.solve.energy import polytope
from liftgbp.solve.frames import precision
from liftgbp.solve.tolerances import Tolerances


def plan_of(model: liftgbp.Model, size: int, regions: str = "intersections") -> Plan:
    sizes = dict.fromkeys(model.sorts, size)
    return compile_plan(build_regions(shatter(model, sizes), regions))


def best_of(plan: Plan) -> CertifiedPoint:
    """The proof of the best minimum that descent finds."""
    best = max(Descent()(plan).points, key=lambda point: point.weight)
    logs = best.log_beliefs[polytope(plan.layout).outer]
    found = certify(plan, logs, Tolerances())
    assert found is not None
    return found


# --- another program


def beliefs_of(point: CertifiedPoint) -> list[mp.mpf]:
    """All beliefs of a point that has no zeros, to eighty digits."""
    own = polytope(point.plan.layout)
    face = point.box.face
    assert len(face.outer) == len(own.outer)
    with precision(2 * point.bits):
        texts = [b.mid().str(100, radius=False) for b in point.box.beliefs]
    beliefs: list[mp.mpf] = [mp.mpf(0)] * own.entries
    for entry, text in zip([*own.outer.tolist(), *own.inner.tolist()], texts, strict=True):
        beliefs[entry] = mp.mpf(text)
    return beliefs


def equations_of(plan: Plan) -> list[list[int]]:
    """What consistent beliefs obey, straight from the layout: marginals agree, and sums are one.

    The last column is the right side.
    """
    layout = plan.layout
    rows = []
    ends = np.append(layout.source_starts[1:], len(layout.sources))
    for entry, child in enumerate(layout.children.tolist()):
        row = [0] * (layout.belief_entries + 1)
        for k in range(layout.source_starts[entry], ends[entry]):
            row[layout.sources[k]] += int(layout.source_counts[k])
        row[child] -= 1
        rows.append(row)
    for region in range(len(layout.shapes)):
        own = layout.region_slice(region)
        row = [0] * (layout.belief_entries + 1)
        row[own] = layout.multiplicity[own].tolist()
        rows.append([*row[:-1], 1])
    return rows


def free_energy(plan: Plan, beliefs: list[mp.mpf]) -> mp.mpf:
    total = mp.mpf(0)
    for entry, belief in enumerate(beliefs):
        weight = plan.weights[int(plan.layout.region_of[entry])]
        theta = mp.mpf(float(plan.theta[entry])) + mp.mpf(float(plan.theta_lost[entry]))
        times = weight * int(plan.layout.multiplicity[entry])
        if times:
            total += times * belief * (mp.log(belief) - theta)
    return total


CASES = [
    ("town", 2 * 10**9, "subsets"),
    ("town", 10**12, "intersections"),
    ("transitive", 10**9, "intersections"),
    ("friends-smokers", 20, "intersections"),
    ("married", 10, "intersections"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size", "regions"), CASES)
def test_mpmath_finds_the_same_minimum(name: str, size: int, regions: str) -> None:
    plan = plan_of(liftgbp.load(f"example:{name}"), size, regions)
    point = best_of(plan)
    assert point.proof is Proof.MINIMUM
    with mp.workdps(90):
        beliefs = beliefs_of(point)
        equations = equations_of(plan)
        for row in equations:
            assert abs(mp.fdot(row[:-1], beliefs) - row[-1]) < mp.mpf(10) ** -40
        lowest = free_energy(plan, beliefs)
        known = mp.mpf(point.log_z.mid().str(60, radius=False))
        assert abs(known + lowest) < mp.mpf(10) ** -30 * abs(lowest)
        _rises_in_all_directions(plan, beliefs, equations, lowest)


def _rises_in_all_directions(
    plan: Plan, beliefs: list[mp.mpf], equations: list[list[int]], lowest: mp.mpf
) -> None:
    basis, count = fmpz_mat([row[:-1] for row in equations]).nullspace()
    columns = [[int(basis[i, j]) for i in range(len(beliefs))] for j in range(count)]
    draw = random.Random(0)
    step = mp.mpf(10) ** -20
    for _ in range(20):
        change = [mp.mpf(0)] * len(beliefs)
        for column in columns:
            size = min(b for b, own in zip(beliefs, column, strict=True) if own)
            times = draw.uniform(-1, 1) * size
            change = [a + times * b for a, b in zip(change, column, strict=True)]
        largest = max(abs(a / b) for a, b in zip(change, beliefs, strict=True))
        up, down = (
            free_energy(plan, [b + sign * step / largest * a for a, b in moved])
            for sign in (1, -1)
            for moved in [list(zip(change, beliefs, strict=True))]
        )
        assert up + down - 2 * lowest > 0
        assert abs(up - down) / (2 * step) < mp.mpf(10) ** -12 * plan.largest_weight


# --- closed forms


def friends_smokers(weight: float, people: int) -> Plan:
    rule = f"{weight!r} friends(x,y) ^ smokes(x) => smokes(y) | x != y"
    return plan_of(liftgbp.parse(f"friends(person,person)\nsmokes(person)\n{rule}"), people)


@pytest.mark.parametrize("people", [100, 10**6])
@pytest.mark.parametrize("below", [1e-12, -1e-12])
def test_the_sign_of_a_curvature_beside_a_critical_weight(people: int, below: float) -> None:
    """Half of the people smoke at a minimum up to this weight, and at a saddle beyond it.

    With p = 1 / (2 - s), s = exp(-w), for the share of pairs that are friends and alike, the
    curvature along the share of smokers vanishes where (N - 1) (1 + s) = 2 (N - 3).
    """
    with mp.workdps(50):
        critical = -mp.log(2 * (people - 3) / mp.mpf(people - 1) - 1)
        weight = float(critical * (1 - mp.mpf(below)))
    plan = friends_smokers(weight, people)
    # A little below the critical weight there is one minimum, in which smoking or not is the same.
    (start,) = Descent()(friends_smokers(0.999 * weight, people)).points
    (mirror,) = symmetries(plan)
    beliefs = np.exp(start.log_beliefs)
    even = (beliefs + beliefs[mirror]) / 2
    found = certify(plan, np.log(even[polytope(plan.layout).outer]), Tolerances())
    assert found is not None
    assert found.proof is (Proof.MINIMUM if below > 0 else Proof.SADDLE)
    assert (found.curvature > 0) == (below > 0)
    if below < 0 and people == 100:
        ends = beside(found, Tolerances())
        assert [own.proof for own in ends] == [Proof.MINIMUM] * 2


@pytest.mark.parametrize("people", [10**12, 10**15])
def test_one_rule_about_anna_decides_the_shares(people: int) -> None:
    answers = liftgbp.infer(liftgbp.load("example:celebrity"), {"person": people}, effort="quick")
    assert answers.flaw is None
    shares = sorted(point.weight for point in answers.minima if point.weight)
    expected = [1 / (1 + math.exp(1.5)), 1 / (1 + math.exp(-1.5))]
    assert shares == pytest.approx(expected, rel=1e-12)


def test_a_tiny_belief_is_what_it_should_be() -> None:
    """Nearly nobody smokes or nearly all do; beliefs of others are far below any double.

    Friends of a smoker among N - 1 who do not smoke each cost a factor of (1 + exp(-w)) / 2.
    """
    people, weight = 10**6, 1.4
    solution = Descent()(friends_smokers(weight, people))
    assert solution.sound
    assert {p.verdict.kind for p in solution.points if p.weight} == {Kind.BOUNDARY}
    pairs = people * (people - 1)
    # All pairs may be friends or not, and so may each with himself.
    worlds = (math.log(2) + weight) * pairs + math.log(2) * people
    assert solution.log_z == pytest.approx(worlds + math.log(2), rel=1e-14)


def test_a_flat_valley_is_not_proven() -> None:
    """All or none of the things have p, or any mixture of both: the free energy is flat."""
    solution = Descent()(plan_of(liftgbp.parse("p(thing)\np(x) <=> p(y)."), 3))
    assert not solution.sound
    flat = [p for p in solution.points if abs(p.verdict.curvature or 0.0) < 1e-9]
    assert flat
    assert not any(point.verdict.proven for point in flat)
