"""The best world where no rule is about more than two objects, with a proof or a bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from liftgbp.lift.shatter import NormalModel
from liftgbp.support.errors import InternalError
from liftgbp.worlds.blocks.block_layout import Layout, Pattern, Place, Row
from liftgbp.worlds.blocks.block_terms import Scale
from liftgbp.worlds.blocks.block_world import BlockWorld
from liftgbp.worlds.blocks.cell_counts import Quadratic
from liftgbp.worlds.blocks.pair_maxima import PairMaxima, pair_of, swapped
from liftgbp.worlds.optimum import Optimum, score_of


def best_of_cells(normal: NormalModel) -> Optimum:
    """The best world of a two-variable model.

    The score is proven where the best counts of cells are; otherwise there may be a bound. A rule
    about more objects raises `NoCellsError`.
    """
    scale = Scale.of(normal)
    cells = _Cells(normal, scale)
    best: tuple[int, int, tuple[int, ...]] | None = None
    proven = True
    for case in range(cells.tables.cases):
        counts, certain = cells.quadratics[case].best(scale.hardly)
        value = cells.of_case[case] + cells.quadratics[case].value(counts)
        proven &= certain
        if best is None or value > best[0]:
            best = value, case, counts
    if best is None:
        raise InternalError("there is no combination of values of no atoms")
    world = cells.world(best[1], best[2])
    score, violated = score_of(world)
    if not violated and best[0] != score * scale.weight - world.true_atoms:
        raise InternalError(f"a world of cells scores {score}, not {best[0]} as a whole")
    if violated:
        return Optimum(None, None, -math.inf if proven else math.inf, how=("cells",))
    upper: Fraction | float = score if proven else _upper(normal, scale)
    return Optimum(world, score, upper, fewest=proven, how=("cells",))


def _upper(normal: NormalModel, scale: Scale) -> Fraction | float:
    """A bound of all scores by that over fractions of objects."""
    scores = scale.of_scores()
    cells = _Cells(normal, scores)
    found = []
    for case in range(cells.tables.cases):
        quadratic = cells.quadratics[case]
        unit = math.gcd(*quadratic.linear, *(own for row in quadratic.pair for own in row))
        value = quadratic.bound(scores.hardly)
        if value is None:
            return math.inf
        # Values are multiples of the unit.
        found.append(cells.of_case[case] + (value // unit * unit if unit else value))
    return Fraction(max(found)) / scores.weight


class _Cells:
    """The numbers of cells and pairs of cells, and the worlds that they stand for."""

    def __init__(self, normal: NormalModel, scale: Scale) -> None:
        self._normal = normal
        self.tables = tables = PairMaxima(normal, scale)
        self._classes = range(len(normal.classes))
        self._cells = [(cls, k) for cls in self._classes for k in range(tables.cells(cls))]
        self.of_case = tables.of_case().tolist()
        self._single = [tables.single(cls) for cls in self._classes]
        self._pair = {
            (a, b): tables.pair(a, b)
            for a in self._classes
            for b in self._classes
            if a < b or (a == b and normal.class_sizes[a] > 1)
        }
        self.quadratics = [self._quadratic(case) for case in range(tables.cases)]

    def _quadratic(self, case: int) -> Quadratic:
        best = {key: table[case].max(axis=-1) for key, table in self._pair.items()}

        def pair(one: tuple[int, int], other: tuple[int, int]) -> int:
            (a, j), (b, k) = sorted((one, other))
            return best[a, b][j, k] if (a, b) in best else 0

        return Quadratic(
            self._normal.class_sizes,
            tuple(cls for cls, _ in self._cells),
            tuple(self._single[cls][case, k] for cls, k in self._cells),
            tuple(tuple(pair(one, other) for other in self._cells) for one in self._cells),
        )

    def world(self, case: int, counts: tuple[int, ...]) -> BlockWorld:
        """The world with so many objects in each cell."""
        tables, normal = self.tables, self._normal
        used = [(*cell, n) for cell, n in zip(self._cells, counts, strict=True) if n]
        values: dict[Pattern, int] = {}
        for atom, value in tables.values(tables.about_nothing, case).items():
            values[atom[0], ()] = value
        rows: list[Row] = []
        for block, (cls, cell, number) in enumerate(used):
            obj = (cls, 0)
            for (p, args), value in tables.values(tables.about(obj), cell).items():
                values[p, tuple((block, 0) for _ in args)] = value
            ordered = False
            if number > 1:
                state = self._state(case, (cls, cell), (cls, cell))
                ordered = any(v != state[swapped(atom, cls)] for atom, v in state.items())
                first, second = pair_of(cls, cls)
                places = {first: (block, 0), second: (block, 1)}
                _write(values, state, places)
            rows.append(Row((cls,), ordered))
        for block, (cls, cell, _) in enumerate(used):
            for later in range(block + 1, len(used)):
                other, its, _ = used[later]
                state = self._state(case, (cls, cell), (other, its))
                first, second = pair_of(cls, other)
                _write(values, state, {first: (block, 0), second: (later, 1)})
        layout = Layout(tuple(rows))
        named = {layout.pattern(p, args): value for (p, args), value in values.items() if value}
        return BlockWorld(normal, layout, tuple(n for _, _, n in used), named)

    def _state(
        self, case: int, one: tuple[int, int], other: tuple[int, int]
    ) -> dict[tuple[int, tuple[tuple[int, int], ...]], int]:
        """The best values of the atoms about a pair, the same both ways round if that is best."""
        tables = self.tables
        own = self._pair[one[0], other[0]][case, one[1], other[1]]
        atoms = tables.about_pair(one[0], other[0])
        states = [tables.values(atoms, int(k)) for k in np.flatnonzero(own == own.max())]
        if one == other:
            for state in states:
                if all(value == state[swapped(a, one[0])] for a, value in state.items()):
                    return state
        return states[0]


def _write(
    values: dict[Pattern, int],
    state: dict[tuple[int, tuple[tuple[int, int], ...]], int],
    places: dict[tuple[int, int], Place],
) -> None:
    for (predicate, args), value in state.items():
        values[predicate, tuple(places[obj] for obj in args)] = value
