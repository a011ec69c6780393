"""Stationary points of a free energy, proven in ball arithmetic.

Doubles say where to look. From there Newton's method goes on in balls, with as many bits as the
counts need. Then interval Newton proves that just one stationary point lies in a box around the
end, and an elimination in balls proves what it is: log Z and beliefs are balls, whatever the
processor.

Reference: R. E. Moore, R. B. Kearfott and M. J. Cloud, *Introduction to Interval Analysis*, SIAM
2009, chapter 8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from flint import arb, arb_mat, fmpq

from liftgbp.plan import Plan
from liftgbp.solve.energy import LEAST_LOG, polytope
from liftgbp.solve.faces import Way, ways_inside
from liftgbp.solve.frames import Face, Faces, faces_of, precision, size_in_bits
from liftgbp.solve.places import (
    ZERO,
    Numbers,
    Outcome,
    Place,
    descend,
    falls_along_of,
    is_positive,
    largest_of,
    middles,
    newton,
    solved,
)
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Floats

EXTRA_BITS = 128
"""Bits beyond twice those of the largest count: log Z has thirty digits more than it needs."""

MOST_DOUBLINGS = 3
"""How often bits are doubled before a point counts as degenerate."""

CLEAR_CURVATURE = 2.0**-36
"""Curvatures up to this are found in balls; doubles see eight digits of larger ones."""

INVERSE_ROUNDS = 4
"""Rounds of inverse iteration: each takes a factor of many thousands off other directions."""

MOST_BOXES = 3
"""How many boxes are tried in a proof, each 64 times as large as the one before."""

MOST_FACES = 8
"""How many faces a point may leave, each for a larger one."""

NEGLIGIBLE = 100.0
"""A belief is as good as zero where log Z would change by less than exp(-100)."""

SHARE_BITS = 30
"""Bits of the shares of extreme ways in a mixture of them."""

FALL = 20.0
"""How far inside descent begins where no entropy says how far, as minus a log."""

FIRST_STEP = 0.1
PARTS_TRIED = 16
"""How far beside a saddle descent begins at most: the largest change of the log of a free belief;
and how many places nearer to it are tried, each at a quarter of the distance before."""


# --- proofs


class Proof(Enum):
    """What is proven about a stationary point on a face."""

    MINIMUM = "minimum"
    SADDLE = "saddle"
    DEGENERATE = "degenerate"


@dataclass(frozen=True, eq=False, slots=True)
class Stationary:
    """A stationary point on a face: the box that has it and no other one, and what it is.

    `falls_along` are changes of the logs of free beliefs along which the free energy falls.
    """

    box: Place
    proof: Proof
    falls_along: list[arb] | None = None


def prove(place: Place, radius: float) -> Stationary:
    """The stationary point beside a place, proven; a degenerate one if there is no proof.

    The first box that is tried changes the logs of free beliefs by up to `radius`.
    """
    if not place.free_logs:
        return Stationary(place, Proof.MINIMUM)
    gradient = place.gradient()
    for _ in range(MOST_BOXES):
        around = place.at([own + arb(0, radius) for own in place.free_logs])
        if not around.is_inside:
            break
        found = _interval_newton(place, around, gradient)
        if found is not None:
            return _judged(found)
        radius = 64 * radius
    return Stationary(place, Proof.DEGENERATE)


def _interval_newton(place: Place, around: Place, gradient: Sequence[arb]) -> Place | None:
    """The part of a box that may have stationary points, if that proves that there is one."""
    # Derivatives by logs, which are multiplied by the roots at the middle.
    columns = [own / root for own, root in zip(around.free, place.roots, strict=True)]
    rows = [
        [value * root * column for value, column in zip(row, columns, strict=True)]
        for row, root in zip(around.second_derivatives(), place.roots, strict=True)
    ]
    change = solved(rows, gradient)
    if change is None:
        return None
    logs = [
        log - own / root
        for log, own, root in zip(place.free_logs, change, place.roots, strict=True)
    ]
    inside = all(
        box.contains_interior(own) for box, own in zip(around.free_logs, logs, strict=True)
    )
    return place.at(logs) if inside else None


def _judged(box: Place) -> Stationary:
    hessian = box.hessian()
    if is_positive(hessian):
        return Stationary(box, Proof.MINIMUM)
    direction = falls_along_of(hessian)
    if direction is None:
        return Stationary(box, Proof.DEGENERATE)
    logs = [(own / root).mid() for own, root in zip(direction, box.roots, strict=True)]
    return Stationary(box, Proof.SADDLE, logs)


def _floats(rows: list[list[arb]]) -> Floats:
    return np.array([[float(own) for own in row] for row in rows])


def _smallest_eigenvalue(bent: Floats, metric: Floats) -> tuple[float, Floats]:
    """The smallest ratio of two forms, and where it is; zero if rounding hides it."""
    try:
        lower = np.linalg.cholesky(metric)
    except np.linalg.LinAlgError:
        return 0.0, np.ones(len(bent))
    half = np.linalg.solve(lower, bent)
    values, turn = np.linalg.eigh(np.linalg.solve(lower, half.T))
    return float(values[0]), np.linalg.solve(lower.T, turn[:, 0])


def _smallest_ratio(rows: list[list[arb]], metric: list[list[arb]], direction: list[arb]) -> float:
    """The ratio of two forms that is nearest to zero, by inverse iteration from a direction."""
    weigh = arb_mat(metric)
    for _ in range(INVERSE_ROUNDS):
        right = weigh * arb_mat(len(direction), 1, direction)
        found = solved(middles(rows), [own.mid() for own in right.entries()])
        if found is None:
            return 0.0
        direction = [(own / max(map(abs, found)).mid()).mid() for own in found]
    column = arb_mat(len(direction), 1, direction)
    bent, length = ((column.transpose() * arb_mat(own) * column)[0, 0] for own in (rows, metric))
    return float(bent / length)


# --- from doubles to proofs


@dataclass(frozen=True, eq=False)
class CertifiedPoint:
    """A stationary point whose kind is proven.

    log_beliefs  the logs of all beliefs, rounded
    log_z        log Z without `plan.log_offset`, as a ball
    entropy      the entropy that it implies, as a ball
    bits         with how many bits it was proven
    on_boundary  whether some beliefs are zero, or so small that log Z does not show it
    ways_proven  whether all ways inside were ruled out; if not, extreme ones were
    """

    plan: Plan
    box: Place
    proof: Proof
    log_beliefs: Floats
    log_z: arb
    entropy: arb
    bits: int
    on_boundary: bool
    ways_proven: bool
    falls_along: list[arb] | None

    @property
    def outer(self) -> Floats:
        """The beliefs of outer regions, rounded."""
        return np.asarray(np.exp(self.log_beliefs[polytope(self.plan.layout).outer]))

    def beliefs(self) -> Iterator[tuple[int, arb]]:
        """The belief entries that are not zero, and their beliefs as balls."""
        own, face = polytope(self.plan.layout), self.box.face
        entries = [*own.outer[list(face.outer)].tolist(), *own.inner[face.inner].tolist()]
        return zip(entries, self.box.beliefs, strict=True)

    @property
    def radius(self) -> float:
        """How far the logs of free beliefs may lie from where they are said to be."""
        return max((float(own.rad()) for own in self.box.free_logs), default=0.0)

    @cached_property
    def curvature(self) -> float:
        """The smallest second derivative in the metric of the outer entropy."""
        if not self.box.free_logs:
            return 1.0
        with precision(self.bits):
            place = self.box.at([own.mid() for own in self.box.free_logs])
            bent, metric = place.hessian(), place.hessian(outer_only=True)
            # Ones in the diagonal of the metric keep tiny directions from being lost.
            scale = [own[k].rsqrt() for k, own in enumerate(metric)]
            bent, metric = (
                [
                    [value * here * there for value, there in zip(row, scale, strict=True)]
                    for row, here in zip(rows, scale, strict=True)
                ]
                for rows in (bent, metric)
            )
            lowest, first = _smallest_eigenvalue(_floats(bent), _floats(metric))
            if abs(lowest) > CLEAR_CURVATURE:
                return min(lowest, 1.0)
            return _smallest_ratio(bent, metric, [arb(own) for own in first.tolist()])


def bits_of(plan: Plan) -> int:
    """The bits that a proof takes at first."""
    return EXTRA_BITS + 2 * plan.largest_weight.bit_length()


def is_affordable(plan: Plan, logs: Floats, tolerances: Tolerances) -> bool:
    """Whether a proof near logs of outer beliefs takes seconds at most."""
    if len(logs) > tolerances.most_proven:
        return False
    alive = int((logs > math.log(tolerances.zero_belief)).sum())
    if len(logs) - alive > tolerances.most_zeros:
        return False
    first = faces_of(plan.layout).first
    return first is None or min(alive, len(first.free)) <= tolerances.most_free


def certify(plan: Plan, logs: Floats, tolerances: Tolerances) -> CertifiedPoint | None:
    """The stationary point near logs of outer beliefs, with a proof; nothing without one.

    Beliefs up to `tolerances.zero_belief` count as zero at first.
    """
    bits = bits_of(plan)
    for _ in range(MOST_DOUBLINGS):
        with precision(bits):
            limits = tolerances.zero_belief, *tolerances.unsure_beliefs
            found = _Search(plan, bits).certified(logs, limits)
        if found is None or found.proof is not Proof.DEGENERATE:
            return found
        bits *= 2
    return found


def followed(
    plan: Plan, logs: Floats, inside: Floats, tolerances: Tolerances
) -> CertifiedPoint | None:
    """What descent in balls leads to from logs of outer beliefs; `inside` has no zeros."""
    bits = bits_of(plan)
    with precision(bits):
        search = _Search(plan, bits)
        place = search.mixed(logs, inside)
        return None if place is None else search.below(place, tolerances)


def beside(point: CertifiedPoint, tolerances: Tolerances) -> list[CertifiedPoint]:
    """The points that descent leads to from both sides of a saddle."""
    if point.falls_along is None:
        return []
    with precision(point.bits):
        search = _Search(point.plan, point.bits)
        middle = point.box.at([log.mid() for log in point.box.free_logs])
        length = arb(FIRST_STEP) / arb(largest_of(point.falls_along))
        starts = (_lowest_along(middle, point.falls_along, sign * length) for sign in (1, -1))
        ends = [search.below(own, tolerances) for own in starts if own is not None]
    return [own for own in ends if own is not None]


def _lowest_along(place: Place, change: Sequence[arb], length: arb) -> Place | None:
    """The lowest of some places along a change: near a critical weight minima lie close by."""
    tried = (place.moved(change, length / 4**k) for k in range(PARTS_TRIED))
    inside = [own for own in tried if own.is_inside]
    return min(inside, key=lambda own: own.free_energy.mid(), default=None)


class _Search:
    """The search for a stationary point of a plan, with some bits."""

    def __init__(self, plan: Plan, bits: int) -> None:
        self._plan = plan
        self._bits = bits
        self._faces = faces_of(plan.layout)
        self.settled = 2.0 ** -(bits // 2 - 16)

    def certified(self, logs: Floats, limits: Sequence[float]) -> CertifiedPoint | None:
        """The stationary point near logs of outer beliefs, proven.

        Beliefs up to the first limit that leaves some others are zero at first.
        """
        alive: list[int] = []
        for limit in limits:
            before, alive = alive, np.flatnonzero(logs > math.log(limit)).tolist()
            if alive == before:
                continue
            place = self._place(self._faces.of(alive), [arb(own) for own in logs[alive].tolist()])
            if place is not None and place.is_inside:
                return self.finished(place)
        return None

    def below(self, place: Place, tolerances: Tolerances) -> CertifiedPoint | None:
        """The point that descent leads to from a place, proven."""
        place = descend(place, self.settled)
        found = self.finished(place)
        if found is not None:
            return found
        logs = np.full(len(self._faces.consistent.outer), LEAST_LOG)
        alive = list(place.face.outer)
        logs[alive] = [float(own) for own in place.logs[: len(alive)]]
        return certify(self._plan, logs, tolerances)

    def mixed(self, logs: Floats, inside: Floats) -> Place | None:
        """A place on the whole polytope near beliefs some of which may be zero."""
        pairs = [
            (arb(a).exp(), arb(b).exp())
            for a, b in zip(logs.tolist(), inside.tolist(), strict=True)
        ]
        for exponent in (*range(-400, -20, 60), -20, -10, -5, -2, -1):
            part = arb(2) ** exponent
            mixed = [(own * (1 - part) + other * part).log() for own, other in pairs]
            place = self._place(self._faces.whole, mixed)
            if place is not None and place.is_inside:
                return place
        return None

    def _place(self, face: Face, logs: Sequence[arb]) -> Place | None:
        sizes = np.array([size_in_bits(float(own)) for own in logs])
        frame = face.frame(sizes)
        if frame is None:
            return None
        numbers = Numbers.of(self._plan, self._faces.consistent, face.outer, face.inner)
        return Place(face, numbers, frame, [logs[n].mid() for n in frame.free])

    def finished(self, place: Place | None) -> CertifiedPoint | None:
        """The stationary point near a place, proven; faces are left where ways lead inside."""
        for _ in range(MOST_FACES):
            if place is None or not place.is_inside:
                return None
            end, outcome, size = newton(place, self.settled)
            if outcome is Outcome.LOST:
                return None
            if outcome is Outcome.FLAT:
                return self._point(Stationary(end, Proof.DEGENERATE), None)
            whole = end.face is self._faces.whole
            inwards = None if whole else _Inwards(self._plan, end, self._faces)
            if inwards is None or not inwards.enters:
                return self._point(prove(end, 4 * size), inwards)
            place = self._entered(end, inwards)
        return None

    def _entered(self, box: Place, inwards: _Inwards) -> Place | None:
        """A place inside, as far as each way leads downwards."""
        ways = inwards.enters
        raised = set()
        for _, way in ways:
            raised |= {e for e, own in zip(inwards.outer, way.raised, strict=True) if own}
        alive = sorted({*box.face.outer, *raised})
        face = self._faces.of(alive)
        middle = box.beliefs[: len(box.face.outer)]
        for shrink in range(60):
            beliefs = {e: own.mid() for e, own in zip(box.face.outer, middle, strict=True)}
            for log_part, way in ways:
                part = (log_part - shrink).exp()
                for e, own in (
                    *zip(box.face.outer, way.outer, strict=True),
                    *zip(inwards.outer, way.raised, strict=True),
                ):
                    if own:
                        beliefs[e] = beliefs.get(e, ZERO) + part * arb(own)
            if all(own > 0 for own in beliefs.values()):
                place = self._place(face, [beliefs[e].log() for e in alive])
                if place is not None and place.is_inside:
                    return place if not inwards.falls else descend(place, self.settled)
        return None

    def _point(self, found: Stationary, inwards: _Inwards | None) -> CertifiedPoint:
        box, own = found.box, self._faces.consistent
        logs = np.full(own.entries, -math.inf)
        face, values = box.face, [float(log) for log in box.logs]
        logs[own.outer[list(face.outer)]] = values[: len(face.outer)]
        logs[own.inner[face.inner]] = values[len(face.outer) :]
        proof = found.proof
        if proof is Proof.MINIMUM and inwards is not None and not inwards.is_minimum:
            proof = Proof.DEGENERATE
        return CertifiedPoint(
            plan=self._plan,
            box=box,
            proof=proof,
            log_beliefs=logs,
            log_z=-box.free_energy,
            entropy=box.entropy,
            bits=self._bits,
            on_boundary=face is not self._faces.whole,
            ways_proven=inwards is None or inwards.is_proven,
            falls_along=found.falls_along,
        )


class _Inwards:
    """What the free energy does on ways inside from a stationary point on a face.

    enters  ways on which it falls, with the logs of how far
    falls   whether it falls without an entropy that would stop it
    is_minimum  whether it falls on none of the ways that were looked at
    is_proven   whether it falls on no other way
    """

    def __init__(self, plan: Plan, box: Place, faces: Faces) -> None:
        ways = ways_inside(box.face, faces)
        self.outer = ways.outer
        self.enters: list[tuple[arb, Way]] = []
        self.falls = False
        self.is_minimum = True
        self.is_proven = True
        if ways.is_closed:
            return
        self._raised = Numbers.of(plan, faces.consistent, ways.outer, ways.inner)
        self._counts = ways.entropies(self._raised.weights)
        best = ways.most_entropy(self._counts)
        if best is not None and best[0] < 0:
            return
        self._box = box
        self.is_proven = False
        extreme = [*([] if best is None else [best[1]]), *ways.extreme]
        flat = [own for own in extreme if self._k(own) == 0]
        bent = [own for own in extreme if self._k(own) > 0]
        mixtures = [self._mixture(own) for own in (flat, bent, flat + bent)]
        for way in (*extreme, *(own for own in mixtures if own is not None)):
            self.is_minimum &= self._is_known(way)
        self.is_minimum &= not self.enters

    def _k(self, way: Way) -> fmpq:
        return sum((c * own for c, own in zip(self._counts, way.raised, strict=True)), fmpq(0))

    def _mixture(self, ways: Sequence[Way]) -> Way | None:
        """The mixture of ways that leads down most, as far as their own entropies tell.

        The free energy along a mixture is lower by the entropy of its parts, times what positive
        entropies of beliefs count for.
        """
        if len(ways) < 2:
            return None
        costs = []
        for way in ways:
            count = sum((w * own for w, own in zip(self._raised.weights, way.raised, strict=False)))
            cost = float(self._slope(way) / arb(count)) if count > 0 else math.inf
            costs.append(cost if math.isfinite(cost) else math.inf)
        least = min(costs)
        if math.isinf(least):
            return None
        shares = [
            fmpq(round(2**SHARE_BITS * math.exp(least - own)), 2**SHARE_BITS) for own in costs
        ]
        return Way.mixed(ways, shares)

    def _is_known(self, way: Way) -> bool:
        """Whether it is known what the free energy does on a way; if it falls, the way is kept."""
        k = self._k(way)
        if k < 0:
            return True
        a = self._slope(way)
        if not a.is_finite():
            return False
        if k == 0 and not a < 0:
            return bool(a > 0)
        self.falls |= k == 0
        log_part = (-1 - a / arb(k)).mid() if k else arb(-FALL)
        if not k or log_part + arb(k).log() > -NEGLIGIBLE:
            self.enters.append((log_part, way))
        return True

    def _slope(self, way: Way) -> arb:
        """How the free energy changes along a way, but for what k counts."""
        total = ZERO
        changes = [*way.outer, *way.inner]
        for slope, own in zip(self._box.slopes, changes, strict=True):
            if own:
                total = total + slope * arb(own)
        pairs = zip(self._raised.weights, self._raised.theta, strict=True)
        for (weight, theta), own in zip(pairs, [*way.raised, *way.others], strict=True):
            if own and weight:
                total = total + weight * arb(own) * (arb(own).log() - theta)
        return total
