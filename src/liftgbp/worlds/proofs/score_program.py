"""The score as a linear function of consistent beliefs, in fractions, and what it is at most.

Scores are decimals (`optimum.exact`). A linear program over consistent beliefs b

    max energy'b   with   A b = r,   b >= 0,   G b >= 0   (count cuts)

bounds the score of all worlds. Its value as a solver reports it is no bound: at 10⁶ objects it was
too low by 4·10⁵. But for *any* multipliers y and z >= 0,

    energy'b  <=  energy'b + z'G b  =  y'r + (energy + G'z - A'y)'b,

where the last term is at most the sum over outer regions of the largest number in their tables.
That is evaluated in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.lift.shatter import NormalModel
from liftgbp.methods.bounding.count_cuts import Cut, Looks
from liftgbp.methods.bounding.decomposition import Reading, readings_of
from liftgbp.methods.bounding.looks_in_regions import looks_of
from liftgbp.plan import Layout
from liftgbp.solve.energy import Polytope, polytope
from liftgbp.worlds.optimum import DECIMALS, exact


@dataclass(frozen=True, slots=True)
class Lattice:
    """All scores are `base` and a multiple of `unit`; where that is zero, they are `base`."""

    base: Fraction
    unit: Fraction

    def below(self, bound: Fraction) -> Fraction:
        """The largest possible score that is not above a bound.

        >>> Lattice(Fraction(1), Fraction(2)).below(Fraction(13, 2))
        Fraction(5, 1)
        """
        if not self.unit:
            return self.base
        return self.base + (bound - self.base) // self.unit * self.unit


@dataclass(frozen=True, eq=False)
class ScoreProgram:
    """The score of all worlds: what they have in common, and energies of beliefs.

    common    the score is `common + energy'b`, and no energy is positive
    energy    (D) for each entry of outer regions
    constant  what factors without atoms add to the score
    lattices  what each kind of factors may add
    """

    graph: LiftedRegionGraph
    layout: Layout
    consistent: Polytope
    common: Fraction
    energy: tuple[Fraction, ...]
    constant: Fraction
    lattices: tuple[Lattice, ...]

    @cached_property
    def lattice(self) -> Lattice:
        """What scores are possible."""
        base = sum((own.base for own in self.lattices), self.constant)
        return Lattice(base, _unit(own.unit for own in self.lattices))

    @cached_property
    def looks(self) -> list[Looks]:
        """What count cuts are about."""
        return looks_of(self.graph, self.layout, self.consistent)

    @cached_property
    def equations(self) -> list[dict[int, int]]:
        """The rows of the matrix after those that say that regions sum to one."""
        rows = self.consistent.matrix[self.consistent.outer_regions :]
        return [{k: int(row[k]) for k in np.flatnonzero(row).tolist()} for row in rows]

    @cached_property
    def region(self) -> list[int]:
        """The outer region of each entry."""
        return [int(own) for own in self.consistent.outer_region_of]

    @cached_property
    def states(self) -> list[int]:
        """How many states each entry stands for."""
        return [int(own) for own in self.consistent.outer_states]

    def bound(
        self, equations: Mapping[int, Fraction], cuts: Sequence[tuple[Cut, Fraction]]
    ) -> Fraction:
        """What no score exceeds, by any multipliers; those of cuts may not be negative."""
        rest = list(self.energy)
        for number, multiplier in equations.items():
            for column, coefficient in self.equations[number].items():
                rest[column] -= multiplier * coefficient
        for cut, multiplier in cuts:
            if multiplier > 0:
                for column, coefficient in zip(cut.columns, cut.values, strict=True):
                    rest[column] += multiplier * coefficient
        highest: dict[int, Fraction] = {}
        for region, states, left in zip(self.region, self.states, rest, strict=True):
            value = left / states
            highest[region] = max(highest.get(region, value), value)
        return self.lattice.below(self.common + sum(highest.values(), Fraction(0)))

    def score(self, beliefs: Sequence[Fraction]) -> Fraction:
        """The score of worlds with these beliefs."""
        pairs = zip(self.energy, beliefs, strict=True)
        return self.common + sum((energy * own for energy, own in pairs if own), Fraction(0))


def score_program(graph: LiftedRegionGraph, layout: Layout) -> ScoreProgram:
    """The program of a region graph."""
    consistent = polytope(layout)
    energy = [Fraction(0)] * len(consistent.outer)
    lattices: list[Lattice] = []
    for number, count in enumerate(graph.factor_counts):
        table = exact_table(graph, number)
        top = _largest(table)
        found = readings_of(graph, layout, consistent, number)
        for first, own in enumerate(_energies(found[0], table, count, top), found[0].first):
            energy[first] += own
        options = [Lattice(count * top, _unit(top - own for own in table if own is not None))]
        options += [_lattice(graph, table, count, reading) for reading in found]
        lattices.append(coarsest(options))
    common, constant = largest_score(graph), exact_constant(graph.normal)
    return ScoreProgram(graph, layout, consistent, common, tuple(energy), constant, tuple(lattices))


def largest_score(graph: LiftedRegionGraph) -> Fraction:
    """The score of a world in which each factor has its largest value, possible or not."""
    tops = (count * _largest(exact_table(graph, k)) for k, count in enumerate(graph.factor_counts))
    return exact_constant(graph.normal) + sum(tops, Fraction(0))


def _largest(table: Sequence[Fraction | None]) -> Fraction:
    return max(own for own in table if own is not None)


def coarsest(lattices: Iterable[Lattice]) -> Lattice:
    """The lattice with the fewest numbers."""
    return min(lattices, key=lambda own: (own.unit != 0, -own.unit))


def _energies(
    reading: Reading, table: Sequence[Fraction | None], count: int, top: Fraction
) -> list[Fraction]:
    """The energies of the entries of a region, less the largest."""
    found = [Fraction(0)] * len(reading.times)
    for places in reading.tables:
        for entry, place in enumerate(places.tolist()):
            own = table[place]
            if own is not None and own != top:
                each = Fraction(count * int(reading.times[entry]), len(reading.tables))
                found[entry] += each * (own - top)
    return found


def _lattice(
    graph: LiftedRegionGraph, table: Sequence[Fraction | None], count: int, reading: Reading
) -> Lattice:
    """What a kind of factors adds to scores: each ground region is in one of the states.

    A friendship that goes both ways counts twice, so that scores are even.
    """
    regions = graph.n[reading.region]
    each = Fraction(count, regions * len(reading.tables))
    values = [
        each * sum(own for place in places if (own := table[place]) is not None)
        for places in zip(*(own.tolist() for own in reading.tables), strict=True)
    ]
    return Lattice(regions * values[0], _unit(own - values[0] for own in values))


def exact_table(graph: LiftedRegionGraph, parfactor: int) -> list[Fraction | None]:
    """The log table of a parfactor in fractions; nothing stands for what hard rules rule out."""
    flat = graph.normal.parfactors[parfactor].log_table.ravel().tolist()
    return [exact(own) if math.isfinite(own) else None for own in flat]


def exact_constant(normal: NormalModel) -> Fraction:
    """What factors without atoms add to the score: a decimal, if it is close to one."""
    constant = normal.exact_constant
    whole = 10**DECIMALS % constant.denominator == 0
    return constant if whole else exact(float(constant))


def _unit(numbers: Iterable[Fraction]) -> Fraction:
    """The largest fraction that all numbers are multiples of."""
    found = list({own for own in numbers if own})
    if not found:
        return Fraction(0)
    below = math.lcm(*(own.denominator for own in found))
    return Fraction(math.gcd(*(int(own * below) for own in found)), below)
