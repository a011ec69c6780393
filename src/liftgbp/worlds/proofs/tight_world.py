"""A proof that no world is better than a given one, at any domain size, with nothing left over.

Let b* be the exact beliefs of the world. Directions b - b* to other consistent beliefs are the
null space of the equations; along them, beliefs that are zero may only grow, and so may cuts that
are tight. If minus the energy is a sum of such beliefs and cuts with multipliers w, z >= 0, then no
consistent beliefs have more energy than b*. Rare beliefs and cuts that are nearly tight may take
part: what is left of them, times their multipliers, is the distance of the bound from the score.

That is a system of linear equations for nonnegative numbers of little cost, and is solved in whole
numbers: with 10⁹ objects, cuts that matter differ from others in the ninth digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from flint import fmpz_mat

from liftgbp.lift.signature import Cluster
from liftgbp.methods.bounding.count_cuts import FEW_EXCEPTIONS, Cut
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.proofs.score_program import ScoreProgram
from liftgbp.worlds.proofs.whole_simplex import cheapest

Beliefs = Callable[[Cluster], Mapping[tuple[int, ...], Fraction]]
"""How often atoms over placeholders have each joint state in a world, over all ways to choose
different objects of their classes."""

MOST_TIGHT = 400
"""The most cuts that are tried; ten to a hundred are usual."""

MOST_VECTORS = 20_000
"""The most vectors of numbers whose cuts are looked at, about a second; the extremal models have
6,000."""

MOST_ENTRIES = 1000
"""Programs with more beliefs get no such proof."""


def point_of(program: ScoreProgram, beliefs: Beliefs) -> list[Fraction] | None:
    """The beliefs of outer regions in a world; nothing if it violates hard rules."""
    layout, consistent = program.layout, program.consistent
    found = [Fraction(0)] * len(program.energy)
    place = {entry: k for k, entry in enumerate(consistent.outer.tolist())}
    for region, own in enumerate(program.graph.regions):
        start = layout.region_slice(region).start
        if start not in place:
            continue
        shape, entry_of = layout.shapes[region], layout.entry_of[region]
        for state, belief in beliefs(own.cluster).items():
            flat = 0
            for value, length in zip(state, shape, strict=True):
                flat = flat * length + value
            entry = place[start] + int(entry_of[flat])
            if entry < place[start]:
                return None
            found[entry] += belief / program.states[entry]
    return found


def tight_bound(
    program: ScoreProgram, beliefs: Beliefs, likely: Iterable[Cut] = ()
) -> Fraction | None:
    """A bound of all scores that equals the score of a world, if there is one, or is close to it.

    `likely` are cuts that a solver in floats found useful.
    """
    if len(program.energy) > MOST_ENTRIES:
        return None
    point = point_of(program, beliefs)
    if point is None:
        return None
    cuts = _cuts(program, point, likely)
    few = Fraction(FEW_EXCEPTIONS, max(2, min(program.graph.class_sizes)))
    rare = [
        column for column, own in enumerate(point) if not own or own * program.states[column] <= few
    ]
    costs = [*cuts.values(), *(point[column] for column in rare)]
    below = math.lcm(*(own.denominator for own in costs))
    directions = _Directions.of(program, point)
    found = cheapest(
        *directions.equations(program.energy, list(cuts), rare),
        [int(own * below) for own in costs],
        program.lattice.unit / 2 * below,
    )
    if found is None:
        return None
    used = [(cut, own) for cut, own in zip(cuts, found, strict=False) if own]
    grown = dict(zip(rare, found[len(cuts) :], strict=True))
    target = [own + grown.get(column, 0) for column, own in enumerate(program.energy)]
    for cut, multiplier in used:
        for column, value in zip(cut.columns, cut.values, strict=True):
            target[column] += multiplier * value
    sums = program.consistent.outer_regions
    multipliers = directions.multipliers(target)
    between = {number - sums: own for number, own in multipliers.items() if number >= sums and own}
    return program.bound(between, used)


def _cuts(
    program: ScoreProgram, point: Sequence[Fraction], likely: Iterable[Cut]
) -> dict[Cut, Fraction]:
    """Cuts that are tight or nearly so, and what is left; likely ones first, then tight ones."""
    found = {cut: Fraction(0) for cut in likely if cut.at(point) == 0}
    near: dict[Cut, Fraction] = {}
    for looks in program.looks:
        checkpoint()
        nearly = looks.nearly_tight(point, MOST_VECTORS // len(program.looks))
        for cut, left in islice(nearly, MOST_TIGHT):
            (near if left else found).setdefault(cut, cut.at(point))
    return dict(list((found | near).items())[:MOST_TIGHT])


@dataclass(frozen=True, eq=False)
class _Directions:
    """The equations between beliefs, solved for some of them, and so their null space.

    solved     for each pivot, the entries of its equation divided by `divisor`; other pivots are
               not in it
    added_up   for each pivot, how often it takes each of the original equations
    """

    pivots: tuple[int, ...]
    free: tuple[int, ...]
    solved: tuple[dict[int, int], ...]
    added_up: tuple[dict[int, int], ...]
    divisor: int

    @staticmethod
    def of(program: ScoreProgram, point: Sequence[Fraction]) -> _Directions:
        """Solved for beliefs that are not zero, where that is possible."""
        width = len(point)
        order = sorted(range(width), key=lambda column: not point[column])
        equations = _all_equations(program)
        every = range(len(equations))
        rows = [
            [*(own.get(column, 0) for column in order), *(int(k == number) for k in every)]
            for number, own in enumerate(equations)
        ]
        reduced, divisor, _ = fmpz_mat(rows).rref()
        pivots: list[int] = []
        solved: list[dict[int, int]] = []
        added_up: list[dict[int, int]] = []
        for row in reduced.tolist():
            entries = {order[k]: int(own) for k, own in enumerate(row[:width]) if own}
            if entries:
                pivots.append(next(iter(entries)))
                solved.append(entries)
                added_up.append({k: int(own) for k, own in enumerate(row[width:]) if own})
        free = tuple(sorted(set(range(width)) - set(pivots)))
        return _Directions(tuple(pivots), free, tuple(solved), tuple(added_up), int(divisor))

    def equations(
        self, energy: Sequence[Fraction], cuts: Sequence[Cut], zero: Sequence[int]
    ) -> tuple[list[list[int]], list[int]]:
        """One equation for each direction: what cuts, zero beliefs and minus the energy gain."""
        rows, right_side = [], []
        tables = [dict(zip(cut.columns, cut.values, strict=True)) for cut in cuts]
        for column in self.free:
            along = {column: self.divisor} | {
                pivot: -entries[column]
                for pivot, entries in zip(self.pivots, self.solved, strict=True)
                if column in entries
            }
            gains = [sum(table.get(k, 0) * own for k, own in along.items()) for table in tables]
            gains += [along.get(k, 0) for k in zero]
            right = -sum((energy[k] * own for k, own in along.items()), Fraction(0))
            rows.append([own * right.denominator for own in gains])
            right_side.append(right.numerator)
        return rows, right_side

    def multipliers(self, target: Sequence[Fraction]) -> dict[int, Fraction]:
        """How often all equations add up to a target."""
        found: dict[int, Fraction] = {}
        for pivot, times in zip(self.pivots, self.added_up, strict=True):
            each = target[pivot] / self.divisor
            for number, own in times.items():
                found[number] = found.get(number, Fraction(0)) + each * own
        return found


def _all_equations(program: ScoreProgram) -> list[dict[int, int]]:
    """Those that say that regions sum to one come first."""
    sums: list[dict[int, int]] = [{} for _ in range(program.consistent.outer_regions)]
    for column, region in enumerate(program.region):
        sums[region][column] = program.states[column]
    return [*sums, *program.equations]
