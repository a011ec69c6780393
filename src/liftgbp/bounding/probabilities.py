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

from liftgbp.arrays import Floats
from liftgbp.bounding.cases import fixed
from liftgbp.bounding.interval import Interval, log_ratio
from liftgbp.bounding.proving import Ceiling, Proof, Prover
from liftgbp.errors import ContradictionError, QueryError
from liftgbp.model.parser import parse_query
from liftgbp.plan.states import project_states
from liftgbp.query import ProbabilityBounds
from liftgbp.query.rows import Row, query_rows
from liftgbp.shatter import Shattering
from liftgbp.shatter.normal import ObjAtom
from liftgbp.signature import canonise
from liftgbp.solve.newton import few_threads

WEAKEST, STRONGEST = 1e-6, 50.0
"""Fields between which the best one is looked for."""

FIRST_FACTOR, LOOKS = 8.0, 5
"""The factor between the fields that are tried first, and how often it is halved after that."""

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
        rows = query_rows(parsed, self._normal)
        if len(parsed.atoms) != 1 or parsed.given:
            raise QueryError(f"bounds are about single atoms, such as smokes(x), not {query}")
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
        most = [
            min(1.0, by_field, self._most(by_value, value))
            for value, by_field in enumerate(self._by_field(atom, values))
        ]
        least = [self._least(by_value, value) for value in range(values)]
        # What other values leave over.
        rest = [1 - (sum(most) - own) for own in most]
        return [
            (0.0, 0.0)
            if own is None
            else (max(0.0, low - SLACK, left - SLACK), min(1.0, high + SLACK))
            for own, low, left, high in zip(by_value, least, rest, most, strict=True)
        ]

    # --- one atom fixed

    def _fixed(self, atom: ObjAtom, value: int) -> Interval | None:
        """What log Z lies in if an atom has a value; `None` if it cannot have it."""
        try:
            return self._prover.interval(fixed(self._shattering, atom, value))
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
        ceiling, lower = self._proof.best, self._proof.interval.lower
        if ceiling is None or lower is None:
            return [1.0] * values
        kind = canonise((atom,)).cluster[0]
        number = ceiling.graph.atom_counts[kind]
        gap = float(self._proof.interval.upper - lower) / number
        first = min(max(math.sqrt(8 * max(gap, 0.0)), 10 * WEAKEST), STRONGEST / 10)
        with few_threads(0):
            return [
                _least_of(_rise(ceiling, kind, value, number, lower), first)
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
) -> Callable[[float], float]:
    """What a probability is at most by a field of some strength."""
    program = ceiling.program
    towards = _probability(ceiling, kind, value) * (number / ceiling.atoms)

    def at(field: float) -> float:
        pull = field * towards
        tilted = replace(
            program, energy=program.energy + pull, energy_size=program.energy_size + pull
        )
        return float((ceiling.upper_of(tilted) - lower) / number) / field

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


def _least_of(function: Callable[[float], float], first: float) -> float:
    """The least value that was found of a function with one minimum."""
    known = {own: function(own) for own in (first / FIRST_FACTOR, first, first * FIRST_FACTOR)}
    factor = FIRST_FACTOR
    for _ in range(LOOKS):
        best = min(known, key=known.__getitem__)
        if best in (min(known), max(known)):
            new = [best / factor if best == min(known) else best * factor]
        else:
            factor = math.sqrt(factor)
            new = [best / factor, best * factor]
        known |= {own: function(own) for own in new if WEAKEST <= own <= STRONGEST}
    return min(known.values())
