"""The search for the best world of blocks: which rows, of which sizes, with which values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from liftgbp.lift.shatter import NormalModel
from liftgbp.support.errors import CapacityError, InternalError
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.blocks.block_layout import Layout, Row
from liftgbp.worlds.blocks.block_tally import unbroken
from liftgbp.worlds.blocks.block_terms import BlockTerms, Scale, worth
from liftgbp.worlds.blocks.block_world import BlockWorld
from liftgbp.worlds.blocks.quotient_values import best_values
from liftgbp.worlds.blocks.row_sizes import climbed, moves_of
from liftgbp.worlds.optimum import Budget, Optimum, score_of

Sizes = tuple[int, ...]

SHARES: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((1, 1), (1, 2), (1, 3)),
    3: ((1, 1, 1), (1, 2, 1), (1, 2, 3)),
    4: ((1, 1, 1, 1), (1, 2, 2, 1), (1, 2, 3, 4)),
}
"""The proportions of rows that a search starts from, by their number."""

ROUNDS = 8
"""How often values and sizes take turns, at most; nearly all starts need two or three."""

HARDLY_ANY = (1, 2)
"""So many objects a further row starts with, beside halves and thirds."""


@dataclass(frozen=True, slots=True)
class _Effort:
    """What a search may try.

    plain       the most plain rows of a class
    groups      the most objects of a group
    growth      how often the best rows get one more
    placements  the most placements of the variables of a rule
    states      the most states of tables while values are found
    tries       starts where that is too many
    pairs       the most values that are also changed in pairs from there
    largest     of how many classes, the largest ones, objects are put into special rows
    """

    plain: int
    groups: int
    growth: int
    placements: int
    states: int
    tries: int
    pairs: int = 60
    largest: int = 1_000


EFFORTS = {
    "brief": _Effort(2, 2, 0, 600, 2**13, 1, 0, 2),
    "quick": _Effort(2, 2, 0, 2_000, 2**13, 4),
    "normal": _Effort(3, 3, 2, 6_000, 2**15, 8),
    "thorough": _Effort(4, 4, 4, 30_000, 2**19, 30),
}
"""By effort; `brief` is for worlds that only judge other answers, and takes some hundredths of a
second."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Rows with their sizes and values, and what they are worth."""

    terms: BlockTerms
    sizes: Sizes
    values: tuple[int, ...]
    worth: int


def best_blocks(normal: NormalModel, budget: Budget) -> Optimum:
    """The best world of blocks that a search finds; others are bounded by breaking no rule.

    Of the normal form only classes and observations are read. If all worlds that are found violate
    a hard rule, there is none.
    """
    found = _Search(normal, budget).best()
    if found is None:
        return Optimum(None, None, how=("blocks",))
    world, score = found
    upper = unbroken(world)
    how = ("blocks", "no rule is broken") if score == upper else ("blocks",)
    return Optimum(world, score, upper, fewest=score == upper and not world.true_atoms, how=how)


class _Search:
    def __init__(self, normal: NormalModel, budget: Budget) -> None:
        self._normal, self._budget = normal, budget
        self._effort = EFFORTS[budget.effort]
        self._scale = Scale.of(normal)
        self._tried: set[tuple[Row, ...]] = set()
        self._most: Fraction | None = None

    def best(self) -> tuple[BlockWorld, Fraction] | None:
        """The best world that is found, with its score."""
        best = None
        for rows in self._layouts():
            best = self._better(best, rows, self._starts(rows))
        for _ in range(self._effort.growth):
            before = best
            for rows, starts in self._grown(best):
                best = self._better(best, rows, starts)
            if best is before:
                break
        if best is None:
            return None
        world = self._world(best)
        score, violated = score_of(world)
        if violated:
            return None
        if best.worth != score * self._scale.weight - world.true_atoms:
            raise InternalError(f"a world of blocks scores {score}, not {best.worth} as a whole")
        return world, score

    def _world(self, found: _Found) -> BlockWorld:
        patterns = found.terms.patterns
        values = {own: v for own, v in zip(patterns, found.values, strict=True) if v}
        return BlockWorld(self._normal, found.terms.layout, found.sizes, values)

    def _is_final(self, best: _Found) -> bool:
        """Whether no world is worth more, or there is no time left."""
        if self._most is None:
            self._most = unbroken(self._world(best)) * self._scale.weight
        return best.worth >= self._most or self._budget.left() <= 0

    # --- rows

    @cached_property
    def _open(self) -> list[int]:
        """The classes of two objects or more, the largest first, as far as effort goes."""
        sizes = self._normal.class_sizes
        several = sorted((k for k, size in enumerate(sizes) if size > 1), key=lambda k: -sizes[k])
        return several[: self._effort.largest]

    def _layouts(self) -> Iterator[tuple[Row, ...]]:
        """Rows to try: all classes alike, then one class of its own kind."""
        sizes = self._normal.class_sizes
        several = range(len(sizes))
        for number in range(1, self._effort.plain + 1):
            yield tuple(Row((k,)) for k in several for _ in range(min(number, sizes[k])))
        special = [Row((k,), ordered=True) for k in self._open]
        for k in self._open:
            groups = range(2, min(self._effort.groups, sizes[k]) + 1)
            special += [Row((k,) * number) for number in groups]
            special += [Row((k,) * number, ordered=True) for number in groups]
        special += [Row((j, k)) for j in self._open for k in self._open if j < k]
        for own in special:
            # What is left of the classes lies in plain rows, which may be empty.
            yield (own, *(Row((k,)) for k in several))

    def _grown(self, best: _Found | None) -> Iterator[tuple[tuple[Row, ...], list[Sizes]]]:
        """The best rows, and one more."""
        if best is None:
            return
        kept = [k for k, size in enumerate(best.sizes) if size]
        rows = tuple(best.terms.layout.rows[k] for k in kept)
        sizes = tuple(best.sizes[k] for k in kept)
        for k in self._open:
            for new in (Row((k,)), Row((k, k)), Row((k,), ordered=True)):
                starts = []
                for j, row in enumerate(rows):
                    width = len(new.classes)
                    if row.classes != (k,):
                        continue
                    for part in {sizes[j] // (2 * width), sizes[j] // (3 * width), *HARDLY_ANY}:
                        if 0 < part * width <= sizes[j]:
                            left = (*sizes[:j], sizes[j] - part * width, *sizes[j + 1 :])
                            starts.append((*left, part))
                if starts:
                    yield (*rows, new), starts

    def _starts(self, rows: Sequence[Row]) -> list[Sizes]:
        """Sizes of rows to start from."""
        plain: dict[int, list[int]] = {}
        for j, row in enumerate(rows):
            if row == Row(row.classes[:1]):
                plain.setdefault(row.classes[0], []).append(j)
        sizes = [0] * len(rows)
        left = list(self._normal.class_sizes)
        for j, row in enumerate(rows):
            if row != Row(row.classes[:1]):
                sizes[j] = min(left[k] // row.classes.count(k) for k in row.classes)
                for k in row.classes:
                    left[k] -= sizes[j]
        most = max(map(len, plain.values()), default=1)
        starts: dict[Sizes, None] = {}
        for shares in SHARES.get(most, ((1,) * most,)):
            own = list(sizes)
            for cls, where in plain.items():
                for j, size in zip(where, _shared(left[cls], shares[: len(where)]), strict=True):
                    own[j] = size
            starts[tuple(own)] = None
        return list(starts)

    # --- values and sizes in turn

    def _better(
        self, best: _Found | None, rows: tuple[Row, ...], starts: Sequence[Sizes]
    ) -> _Found | None:
        """The better one of what is known and what these rows give."""
        if (best is not None and self._is_final(best)) or rows in self._tried:
            return best
        self._tried.add(rows)
        try:
            layout = Layout(rows)
            terms = BlockTerms(self._normal, layout, self._scale, self._effort.placements)
        except CapacityError:
            return best
        moves = moves_of(layout)
        ends: set[Sizes] = set()
        for start in starts:
            found = self._from(terms, start, moves, ends)
            if found is not None and (best is None or found.worth > best.worth):
                best = found
        return best

    def _from(
        self,
        terms: BlockTerms,
        sizes: Sizes,
        moves: Sequence[tuple[tuple[int, int], ...]],
        ends: set[Sizes],
    ) -> _Found | None:
        """Values for the sizes, sizes for the values, as long as that leads up."""
        best = None
        for _ in range(ROUNDS):
            checkpoint()
            if sizes in ends:
                break
            ends.add(sizes)
            effort = self._effort
            values = best_values(
                terms.ranges,
                terms.factors(sizes),
                self._scale.violation,
                effort.states,
                effort.tries,
                self._budget.seed,
                effort.pairs,
            )
            polynomial = terms.polynomial(values)
            sizes, number = climbed(
                lambda own, p=polynomial: worth(p, own),  # type: ignore[misc]
                sizes,
                moves,
                terms.degree,
            )
            if best is not None and number <= best.worth:
                break
            best = _Found(terms, sizes, tuple(values), number)
        return best


def _shared(total: int, shares: Sequence[int]) -> list[int]:
    """A number in whole parts of these proportions.

    >>> _shared(10, (1, 1, 1))
    [3, 3, 4]
    """
    whole, ends, done = sum(shares), [0], 0
    for share in shares:
        done += share
        ends.append(total * done // whole)
    return [b - a for a, b in pairwise(ends)]
