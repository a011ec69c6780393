"""Inequalities that the beliefs of real worlds satisfy: objects are counted in whole numbers.

Let some objects, the roots, be in state s, and let K_f be how many of the n other objects of a
class look like f to them. Numbers are whole, so for any whole vector v and any whole number m

    E[1_s (v·K - m)(v·K - m - 1)]  ≥  0,

in any distribution over worlds and over the places of the roots. The left side is linear in the
joint beliefs P(s, f, g) of the roots and two of the others:

    E[1_s K_f K_g] = n(n-1) P(s, f, g) + [f = g] n P(s, f),    E[1_s K_f] = n P(s, f).

Consistent beliefs need not satisfy this: of three people, all pairs may differ with certainty. As
the K_f sum up to n, adding one number to all of v changes nothing but m; and vectors of large
numbers say that the matrix of second moments has no negative eigenvalue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, islice, product

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.lift.signature import Cluster, Obj, objects_of
from liftgbp.plan import Layout
from liftgbp.solve.energy import Polytope
from liftgbp.support.arrays import Floats, Ints
from liftgbp.support.limits import checkpoint

MOST_STATES = 2**16
"""Regions with more states have no cuts: their states are listed."""

MOST_LOOKS = 64
"""Nor do roots to which others look in more ways than this: moments are square in them."""

FEW_LOOKS, SOME_LOOKS = 4, 6
"""With up to so many looks, all vectors of numbers up to two are tried, or up to one."""

FINE = 2**20
"""Eigenvectors become whole numbers up to this one."""

VIOLATED = 1e-9
"""A cut is violated if it is below minus this, its largest coefficient being one."""

RARE = 1e-12
"""Roots in a state of a smaller probability are not looked at."""

PARTS = (0.25, 0.5, 0.75)
"""Looks whose number in an eigenvector is above such a part of the largest one are counted
together."""

FEW_EXCEPTIONS = 16
"""A cut is nearly tight if it is tight but for so many of the objects that may be roots: one is
left over where the others form couples."""

PER_LOOKS = 3
"""The most violated cuts of one state of roots that are added at once."""


@dataclass(frozen=True, slots=True)
class Cut:
    """An inequality between beliefs of outer regions: their sum with whole coefficients is >= 0."""

    columns: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def largest(self) -> int:
        """The largest coefficient, whatever its sign."""
        return max(map(abs, self.values))

    def at(self, beliefs: Sequence[Fraction]) -> Fraction:
        """The sum."""
        pairs = zip(self.columns, self.values, strict=True)
        return sum((beliefs[column] * value for column, value in pairs), Fraction(0))

    def row(self, width: int) -> Floats:
        """All coefficients, the largest of them one."""
        row, largest = np.zeros(width), self.largest
        row[list(self.columns)] = [value / largest for value in self.values]
        return row


@dataclass(frozen=True, eq=False)
class Looks:
    """How the other objects of a class look to roots in one state.

    A term says that an entry of an outer region counts `times` in P(s, f, g), where `pair` is
    f * kinds + g.

    others  how many other objects there are
    kinds   in how many ways they look
    """

    others: int
    kinds: int
    pair: Ints
    column: Ints
    times: Ints

    def pairs(self, beliefs: Floats) -> Floats:
        """P(s, f, g) as a square matrix."""
        terms = self.times * beliefs[self.column]
        flat = np.bincount(self.pair, terms, self.kinds**2)
        return flat.astype(float).reshape(self.kinds, self.kinds)

    def exact_pairs(self, beliefs: Sequence[Fraction]) -> list[list[Fraction]]:
        """The same in fractions."""
        found = [[Fraction(0)] * self.kinds for _ in range(self.kinds)]
        for pair, column, times in self._terms:
            if beliefs[column]:
                found[pair // self.kinds][pair % self.kinds] += times * beliefs[column]
        return found

    def cut(self, vector: Sequence[int], whole: int) -> Cut | None:
        """The inequality of a whole vector and a whole number; nothing if it says 0 >= 0."""
        n = self.others
        total: dict[int, int] = {}
        for pair, column, times in self._terms:
            f, g = vector[pair // self.kinds], vector[pair % self.kinds]
            value = n * (n - 1) * f * g + n * f * (f - 2 * whole - 1) + whole * (whole + 1)
            total[column] = total.get(column, 0) + times * value
        found = {column: value for column, value in sorted(total.items()) if value}
        if not found:
            return None
        divisor = math.gcd(*found.values())
        return Cut(tuple(found), tuple(value // divisor for value in found.values()))

    def violated(self, beliefs: Floats) -> Iterator[Cut]:
        """The cuts that beliefs violate most."""
        joint = self.pairs(beliefs)
        total = float(joint.sum())
        if total < RARE:
            return
        joint = (joint + joint.T) / (2 * total)
        single, n = joint.sum(axis=1), self.others
        moments = (n - 1) / n * joint + np.diag(single) / n
        vectors = np.array(list(self._directions(moments)), dtype=float)
        means = n * (vectors @ single)
        # The whole number below the mean makes the most of a vector.
        wholes = np.floor(means)
        centred = vectors - (wholes / n)[:, None]
        second = np.einsum("kf,fg,kg->k", centred, moments, centred)
        value = second - (centred @ single) / n
        size = np.abs(centred).max(axis=1) ** 2
        worst = np.argsort(value / np.maximum(size, RARE), kind="stable")
        for number in worst[:PER_LOOKS].tolist():
            found = self.cut([int(v) for v in vectors[number]], int(wholes[number]))
            if found is not None and found.row(len(beliefs)) @ beliefs < -VIOLATED:
                yield found

    def nearly_tight(
        self, beliefs: Sequence[Fraction], most_vectors: int
    ) -> Iterator[tuple[Cut, Fraction]]:
        """The cuts of small vectors that hold with hardly more than equality at exact beliefs.

        With each of them, what is left in its own units.
        """
        joint = self.exact_pairs(beliefs)
        single = [sum(row, Fraction(0)) for row in joint]
        total, n = sum(single, Fraction(0)), self.others
        if not total:
            return
        live = [k for k in range(self.kinds) if single[k]]
        for vector in islice(whole_vectors(self.kinds, live), most_vectors):
            nonzero = [k for k in live if vector[k]]
            mean = sum((vector[k] * single[k] for k in nonzero), Fraction(0)) * n
            pairs = ((f, g) for f in nonzero for g in nonzero if joint[f][g])
            second = n * (n - 1) * sum(vector[f] * vector[g] * joint[f][g] for f, g in pairs)
            second += n * sum(vector[k] ** 2 * single[k] for k in nonzero)
            below = math.floor(mean / total)
            for whole in (below - 1, below, below + 1):
                left = second - (2 * whole + 1) * mean + whole * (whole + 1) * total
                if left * n <= FEW_EXCEPTIONS * total:
                    found = self.cut(vector, whole)
                    if found is not None:
                        yield found, left

    @cached_property
    def _terms(self) -> list[tuple[int, int, int]]:
        return list(zip(self.pair.tolist(), self.column.tolist(), self.times.tolist(), strict=True))

    def _directions(self, moments: Floats) -> Iterator[Sequence[float] | Floats]:
        """Whole vectors along which counts may vary less than they must."""
        yield from np.eye(self.kinds)
        if self.kinds <= FEW_LOOKS:
            yield from whole_vectors(self.kinds, range(self.kinds))
        values, vectors = np.linalg.eigh(moments)
        for value, vector in zip(values, vectors.T, strict=True):
            if value > VIOLATED:
                break
            direction = vector / np.abs(vector).max()
            yield np.round(direction * FINE)
            for part in PARTS:
                above, below = direction > part, direction < -part
                yield from (
                    own
                    for own in (above * 1.0, below * 1.0, above * 1.0 - below * 1.0)
                    if own.any()
                )


def whole_vectors(kinds: int, live: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Vectors of small whole numbers, one of each pair of opposite ones.

    With many kinds, only few of them are not zero; those that are `live` come in threes at most.

    >>> list(whole_vectors(2, [0, 1]))[:4]
    [(0, 1), (1, -1), (1, 0), (1, 1)]
    """
    if kinds <= SOME_LOOKS:
        sizes = (1, 2) if kinds <= FEW_LOOKS else (1,)
        for size in sizes:
            for vector in product(range(-size, size + 1), repeat=kinds):
                leading = next((v for v in vector if v), 0)
                if leading > 0 and max(map(abs, vector)) == size:
                    yield vector
        return
    alive = list(live)
    dead = [k for k in range(kinds) if k not in set(alive)]
    groups: list[tuple[int, ...]] = [(k,) for k in range(kinds)]
    groups += [own for size in (2, 3) for own in combinations(alive, size)]
    for group in groups:
        for signs in product((1, -1), repeat=len(group) - 1):
            at = dict(zip(group, (1, *signs), strict=True))
            yield tuple(at.get(k, 0) for k in range(kinds))
    if len(dead) > 1:
        yield tuple(int(k in dead) for k in range(kinds))


def looks_of(graph: LiftedRegionGraph, layout: Layout, consistent: Polytope) -> list[Looks]:
    """All roots in all states, inside all outer regions, one of each orbit of symmetries."""
    found: list[Looks] = []
    for region in np.unique(layout.region_of[consistent.outer]).tolist():
        shape = layout.shapes[region]
        if math.prod(shape) > MOST_STATES:
            continue
        checkpoint()
        own = graph.regions[region]
        first = int(np.searchsorted(consistent.outer, layout.region_slice(region).start))
        entry_of = layout.entry_of[region]
        states = np.flatnonzero(entry_of >= 0)
        values = np.array(np.unravel_index(states, shape)).reshape(len(shape), len(states))
        columns = first + entry_of[states]
        for others, roots, left, right in _choices(own.cluster, own.symmetries, graph.class_sizes):
            code = [_codes(values, shape, axes) for axes in (roots, left, right)]
            found += _by_state(others, code[0], code[1], code[2], columns)
    return found


_Choice = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The number of others, and the axes of the roots, of one other object, and of another one."""


def _choices(
    cluster: Cluster, symmetries: Sequence[Sequence[int]], class_sizes: Sequence[int]
) -> Iterator[_Choice]:
    place = {atom: k for k, atom in enumerate(cluster)}
    objects = objects_of(cluster)
    seen: set[tuple[frozenset[int], frozenset[frozenset[int]]]] = set()
    for y, z in combinations(objects, 2):
        if y[0] != z[0]:
            continue
        free = [obj for obj in objects if obj not in (y, z)]
        for roots in (own for size in range(len(free) + 1) for own in combinations(free, size)):
            pairs = _axes_of_both(place, set(roots), y, z)
            others = class_sizes[y[0]] - sum(obj[0] == y[0] for obj in roots)
            if not pairs or others < 2:
                continue
            rooted = tuple(k for atom, k in place.items() if set(atom[1]) <= set(roots))
            left, right = tuple(k for k, _ in pairs), tuple(k for _, k in pairs)
            key = frozenset(rooted), frozenset([frozenset(left), frozenset(right)])
            if key in seen:
                continue
            seen |= _orbit(key, symmetries)
            yield others, rooted, left, right


def _axes_of_both(
    place: Mapping[tuple[int, tuple[Obj, ...]], int], roots: set[Obj], y: Obj, z: Obj
) -> list[tuple[int, int]]:
    """The axes of atoms about an object and roots, and those of the same atoms about another."""
    pairs = []
    for (predicate, args), axis in place.items():
        if y in args and set(args) <= roots | {y}:
            other = place.get((predicate, tuple(z if obj == y else obj for obj in args)))
            if other is not None:
                pairs.append((axis, other))
    return pairs


def _orbit(
    key: tuple[frozenset[int], frozenset[frozenset[int]]], symmetries: Sequence[Sequence[int]]
) -> set[tuple[frozenset[int], frozenset[frozenset[int]]]]:
    found, new = {key}, [key]
    while new:
        roots, sides = new.pop()
        for symmetry in symmetries:
            image = (
                frozenset(symmetry[k] for k in roots),
                frozenset(frozenset(symmetry[k] for k in side) for side in sides),
            )
            if image not in found:
                found.add(image)
                new.append(image)
    return found


def _codes(values: Ints, shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """The joint state of some axes, as a number."""
    code = np.zeros(values.shape[1], dtype=np.int64)
    for axis in axes:
        code = code * shape[axis] + values[axis]
    return code


def _by_state(others: int, roots: Ints, left: Ints, right: Ints, columns: Ints) -> Iterator[Looks]:
    for state in np.unique(roots):
        own = np.flatnonzero(roots == state)
        kinds, number = np.unique(np.concatenate([left[own], right[own]]), return_inverse=True)
        if not 2 <= len(kinds) <= MOST_LOOKS:
            continue
        pair = number[: len(own)] * len(kinds) + number[len(own) :]
        width = int(columns.max()) + 1
        terms, times = np.unique(pair * width + columns[own], return_counts=True)
        yield Looks(others, len(kinds), terms // width, terms % width, times)
