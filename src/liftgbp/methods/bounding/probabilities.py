"""Intervals for probabilities, from bounds of log Z.

Two ways, and the intervals of both hold. If one atom is fixed to each of its values in turn, the
bounds of log Z there bound the ratio of the sums over worlds. That tells something where few atoms
are involved. If all n atoms of a kind get a field h towards a value, log Z rises by at least h n P,
since it is convex in h: so P <= (upper(h) - lower(0)) / (h n) for any h. That tells something where
the interval of log Z is narrow for each atom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from liftgbp.lift.regions import FACTOR_SCOPES, build_regions
from liftgbp.lift.shatter import Shattering
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.lift.signature import canonise
from liftgbp.methods.bounding.cases import fixed
from liftgbp.methods.bounding.interval import Interval, log_ratio
from liftgbp.methods.bounding.proving import Ceiling, Proof, Prover
from liftgbp.model.parser import parse_query
from liftgbp.plan import compile_plan
from liftgbp.plan.states import project_states
from liftgbp.posterior import ProbabilityBounds
from liftgbp.posterior.rows import Row, query_rows
from liftgbp.solve.energy import one_thread
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import ContradictionError, QueryError

WEAKEST, STRONGEST = 1e-6, 50.0
"""Fields between which the best one is looked for."""

FACTOR, LOOKS, NEAR = 3.0, 7, 0.003
"""By which factor fields change until the best one lies between two of them, how many are tried at
most, and how near to the best one is near enough: bounds hardly differ around it."""

HOPELESS = 40
"""If log Z is known no better than this, in nats, fixing one atom tells nothing."""

SLACK = 1e-12
"""What rounding may do to a probability that is computed from bounds."""


class Probabilities:
    """Intervals for the probabilities of a model."""

    def __init__(self, prover: Prover, shattering: Shattering, proof: Proof) -> None:
        self._prover = prover
        self._shattering = shattering
        self._proof = proof
        self._normal = shattering.normal()

    def of(self, query: str) -> list[ProbabilityBounds]:
        """The intervals of all rows of a query for a single atom."""
        parsed = parse_query(query)
        if not parsed.single:
            raise QueryError(f"bounds are about single atoms, such as smokes(x), not {query}")
        rows = query_rows(parsed, self._normal)
        if not rows:
            raise QueryError(f"no objects satisfy the restrictions of {query}")
        return [self._row(query, row) for row in rows]

    def _row(self, query: str, row: Row) -> ProbabilityBounds:
        (atom,) = row.atoms
        names = self._normal.predicates[atom[0]].values
        intervals = self._intervals(atom)
        return ProbabilityBounds(
            query=query,
            atom=row.text,
            where=row.where,
            count=row.count,
            values=dict(zip(names, intervals, strict=True)),
            example=row.example,
        )

    def _intervals(self, atom: ObjAtom) -> list[tuple[float, float]]:
        values = self._normal.ranges[atom[0]]
        known = self._normal.observations.value(atom)
        if known is not None:
            return [(float(v == known), float(v == known)) for v in range(values)]
        if not self._proof.holds(atom):
            return [(1 / values, 1 / values)] * values
        by_value = [self._fixed(atom, value) for value in range(values)]
        if sum(own is not None for own in by_value) == 1:
            return [(float(own is not None), float(own is not None)) for own in by_value]
        most = [
            min(1.0, by_field, self._most(by_value, value))
            for value, by_field in enumerate(self._by_field(atom, values))
        ]
        least = [self._least(by_value, value) for value in range(values)]
        # What other values leave over, at least and at most.
        ceiling = sum(most)
        least = [max(0.0, own, 1 - ceiling + high) for own, high in zip(least, most, strict=True)]
        floor = sum(least)
        most = [min(own, 1 - floor + low) for own, low in zip(most, least, strict=True)]
        return [
            (0.0, 0.0) if own is None else (max(0.0, low - SLACK), min(1.0, high + SLACK))
            for own, low, high in zip(by_value, least, most, strict=True)
        ]

    # --- one atom fixed

    def _fixed(self, atom: ObjAtom, value: int) -> Interval | None:
        """What log Z lies in if an atom has a value; `None` if it cannot have it."""
        whole = self._proof.interval
        try:
            normal = fixed(self._shattering, atom, value)
            if whole.lower is not None and whole.upper - whole.lower < HOPELESS:
                return Proof(self._prover.smaller, normal).interval
            # Where it is not impossible, nothing could be said about it.
            compile_plan(build_regions(normal, FACTOR_SCOPES), bounds=False)
            return replace(whole, lower=None)
        except ContradictionError:
            return None

    def _most(self, by_value: list[Interval | None], value: int) -> float:
        own = by_value[value]
        if own is None:
            return 0.0
        others = [one for k, one in enumerate(by_value) if k != value and one is not None]
        ratios = [log_ratio(one.lower, own.upper) for one in others]
        whole = self._proof.interval.lower
        by_whole = math.inf if whole is None else float(own.upper - whole)
        return min(_share(ratios), math.exp(min(by_whole, 0.0)))

    def _least(self, by_value: list[Interval | None], value: int) -> float:
        own = by_value[value]
        if own is None or own.lower is None:
            return 0.0
        others = [one for k, one in enumerate(by_value) if k != value and one is not None]
        ratios = [log_ratio(one.upper, own.lower) for one in others]
        by_whole = float(own.lower - self._proof.interval.upper)
        return max(_share(ratios), math.exp(min(by_whole, 0.0)))

    # --- a field on all atoms of a kind

    def _by_field(self, atom: ObjAtom, values: int) -> list[float]:
        """The most that each value's probability can be."""
        best, lower = self._proof.best, self._proof.interval.lower
        if best is None or lower is None:
            return [1.0] * values
        kind = canonise((atom,)).cluster[0]
        number = best[0].graph.atom_counts[kind]
        gap = max(float((best[1] - lower) / number), 0.0)
        first = min(max(math.sqrt(8 * gap), 10 * WEAKEST), STRONGEST / 10)
        with one_thread():
            return [
                _least_of(_rise(best[0], kind, value, number, lower), first)
                for value in range(values)
            ]


def _share(log_ratios: list[float]) -> float:
    """One divided by one plus all ratios."""
    largest = max(0.0, *log_ratios, 0.0)
    if largest == math.inf:
        return 0.0
    total = math.exp(-largest) + sum(math.exp(own - largest) for own in log_ratios)
    return math.exp(-largest) / total


def _rise(
    ceiling: Ceiling, kind: ObjAtom, value: int, number: int, lower: Fraction
) -> Callable[[float], tuple[float, float]]:
    """What a probability is at most by a field, and the probability under that field.

    The second is the slope of the upper bound by the field, for each atom.
    """
    program = ceiling.program
    probability = _probability(ceiling, kind, value)

    def at(field: float) -> tuple[float, float]:
        pull = field * (number / ceiling.atoms) * probability
        tilted = replace(
            program, energy=program.energy + pull, energy_size=program.energy_size + pull
        )
        upper, beliefs = ceiling.proven(tilted)
        if upper is None:
            return math.inf, 0.0
        return float((upper - lower) / number) / field, float(probability @ beliefs)

    return at


def _probability(ceiling: Ceiling, kind: ObjAtom, value: int) -> Floats:
    """The probability of a value of an atom as a function of the beliefs of outer regions."""
    layout, regions = ceiling.plan.layout, ceiling.program.regions
    kinds = list(ceiling.graph.atom_counts)
    region = next(r for r in np.unique(regions) if kinds.index(kind) in layout.atom_of_axis[r])
    axis = layout.atom_of_axis[region].index(kinds.index(kind))
    states = np.flatnonzero(layout.entry_of[region] >= 0)
    has = project_states(states, layout.shapes[region], (axis,)) == value
    found = np.zeros(len(regions))
    first = int(np.flatnonzero(regions == region)[0])
    np.add.at(found, first + layout.entry_of[region][states[has]], 1.0)
    return found


def _least_of(rise: Callable[[float], tuple[float, float]], field: float) -> float:
    """The least bound of a probability that was found.

    It is least where it equals the probability under the field; below, a stronger field is better.
    """
    best, weaker, stronger = 1.0, 0.0, math.inf
    for _ in range(LOOKS):
        bound, slope = rise(field)
        best = min(best, bound)
        if abs(bound - slope) < NEAR * bound:
            break
        if bound > slope:
            weaker = field
        else:
            stronger = field
        if stronger == math.inf:
            field = FACTOR * weaker
        else:
            field = math.sqrt(weaker * stronger) if weaker else stronger / FACTOR
        if not WEAKEST <= field <= STRONGEST:
            break
    return best
