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
from itertools import combinations, combinations_with_replacement, islice, product

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.lift.signature import Cluster, Obj, objects_of
from liftgbp.plan import Layout
from liftgbp.solve.energy import Polytope
from liftgbp.support.arrays import Bools, Floats, Ints
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
    """How other objects, of one class or of several, look to roots in one state.

    A term says that an entry of an outer region counts `times` in P(s, f, g), where one object
    looks like `first` and another one like `second`.

    size    how many other objects there are
    among   for each way to look, how many of them may
    apart   for each term, whether its objects are of different classes
    whole   for each term, whether it is one of those that add up to P(s)
    """

    size: int
    among: tuple[int, ...]
    first: Ints
    second: Ints
    column: Ints
    times: Ints
    apart: Bools
    whole: Bools

    @property
    def kinds(self) -> int:
        """In how many ways objects look."""
        return len(self.among)

    def cut(self, vector: Sequence[int], whole: int) -> Cut | None:
        """The inequality of a whole vector and a whole number; nothing if it says 0 >= 0."""
        total: dict[int, int] = {}
        for first, second, column, times, apart, counted in self._terms:
            n, f, g = self.among[first], vector[first], vector[second]
            if apart:
                value = 2 * n * self.among[second] * f * g
            else:
                value = n * (n - 1) * f * g + n * f * (f - 2 * whole - 1)
            if counted:
                value += whole * (whole + 1)
            total[column] = total.get(column, 0) + times * value
        found = {column: value for column, value in sorted(total.items()) if value}
        if not found:
            return None
        divisor = math.gcd(*found.values())
        return Cut(tuple(found), tuple(value // divisor for value in found.values()))

    def violated(self, beliefs: Floats) -> Iterator[Cut]:
        """The cuts that beliefs violate most."""
        terms = self.times * beliefs[self.column]
        total = float(terms[self.whole].sum())
        if total < RARE:
            return
        # All in shares: of the probability of the roots, and of the number of objects.
        terms, among = terms / total, np.array(self.among) / self.size
        one = ~self.apart
        single = among * np.bincount(self.first[one], terms[one], self.kinds)
        weights = among[self.first] * np.where(
            self.apart, 2 * among[self.second], among[self.first] - 1 / self.size
        )
        joint = np.zeros((self.kinds, self.kinds))
        np.add.at(joint, (self.first, self.second), weights * terms)
        moments = (joint + joint.T) / 2 + np.diag(single) / self.size
        vectors = np.array(list(self._directions(moments)), dtype=float)
        # The whole number below the mean makes the most of a vector.
        wholes = np.floor(self.size * (vectors @ single))
        centred = vectors - (wholes / self.size)[:, None]
        second = np.einsum("kf,fg,kg->k", centred, moments, centred)
        value = second - (centred @ single) / self.size
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
        single = [Fraction(0)] * self.kinds
        joint: dict[tuple[int, int], Fraction] = {}
        total = Fraction(0)
        for first, second, column, times, apart, counted in self._terms:
            if belief := times * beliefs[column]:
                n = self.among[first]
                single[first] += 0 if apart else n * belief
                weight = 2 * n * self.among[second] if apart else n * (n - 1)
                joint[first, second] = joint.get((first, second), Fraction(0)) + weight * belief
                total += belief if counted else 0
        if not total:
            return
        live = [k for k in range(self.kinds) if single[k]]
        for vector in islice(whole_vectors(self.kinds, live), most_vectors):
            mean = sum((vector[k] * single[k] for k in live), Fraction(0))
            second_moment = sum(
                (vector[f] * vector[g] * own for (f, g), own in joint.items()),
                sum((vector[k] ** 2 * single[k] for k in live), Fraction(0)),
            )
            below = math.floor(mean / total)
            for whole in (below - 1, below, below + 1):
                left = second_moment - (2 * whole + 1) * mean + whole * (whole + 1) * total
                if left * self.size <= FEW_EXCEPTIONS * total:
                    found = self.cut(vector, whole)
                    if found is not None:
                        yield found, left

    @cached_property
    def _terms(self) -> list[tuple[int, int, int, int, bool, bool]]:
        columns = self.first, self.second, self.column, self.times, self.apart, self.whole
        return list(zip(*(own.tolist() for own in columns), strict=True))

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
    """All roots in all states, and all others of one class; of one root, also those of several."""
    pairs: dict[_Name, dict[tuple[int, int], _Pair]] = {}
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
        for choice in _choices(own.cluster, own.symmetries):
            others = [
                graph.class_sizes[cls] - sum(cls == root[0] for root in choice.roots)
                for cls in choice.classes
            ]
            pair = _Pair(
                others=(others[0], others[1]),
                roots=_codes(values, shape, choice.rooted),
                left=_codes(values, shape, choice.left),
                right=_codes(values, shape, choice.right),
                columns=first + entry_of[states],
            )
            if choice.classes[0] == choice.classes[1]:
                found += _by_state([pair]) if others[0] > 1 else []
            if len(choice.roots) <= 1:
                pairs.setdefault(choice.name, {}).setdefault(choice.classes, pair)
    return found + [looks for known in pairs.values() for looks in _of_several(known)]


@dataclass(frozen=True, slots=True)
class _Choice:
    """Two objects of a cluster, and roots; the axes of atoms of each with the roots, in order."""

    classes: tuple[int, int]
    roots: tuple[Obj, ...]
    rooted: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    name: _Name


@dataclass(frozen=True, slots=True)
class _Pair:
    """How two objects look in each state of a region: how many may, codes of states, entries."""

    others: tuple[int, int]
    roots: Ints
    left: Ints
    right: Ints
    columns: Ints


_Name = tuple[tuple[int, ...], tuple[tuple[int, tuple[bool, ...]], ...], tuple[int, ...]]
"""What one root with its atoms, and the atoms of others with it, are called in all regions."""


def _choices(cluster: Cluster, symmetries: Sequence[Sequence[int]]) -> Iterator[_Choice]:
    place = {atom: k for k, atom in enumerate(cluster)}
    objects = sorted(objects_of(cluster))
    seen: set[tuple[frozenset[int], frozenset[frozenset[int]]]] = set()
    for y, z in combinations(objects, 2):
        free = [obj for obj in objects if obj not in (y, z)]
        for roots in (own for size in range(len(free) + 1) for own in combinations(free, size)):
            pairs = _axes_of_both(place, set(roots), y, z)
            if not pairs:
                continue
            rooted = sorted(
                (predicate, k) for (predicate, args), k in place.items() if set(args) <= set(roots)
            )
            left, right = tuple(own[1] for own in pairs), tuple(own[2] for own in pairs)
            key = frozenset(k for _, k in rooted), frozenset([frozenset(left), frozenset(right)])
            if key in seen:
                continue
            seen |= _orbit(key, symmetries)
            name = (
                tuple(cls for cls, _ in roots),
                tuple(own[0] for own in pairs),
                tuple(predicate for predicate, _ in rooted),
            )
            yield _Choice((y[0], z[0]), roots, tuple(k for _, k in rooted), left, right, name)


def _axes_of_both(
    place: Mapping[tuple[int, tuple[Obj, ...]], int], roots: set[Obj], y: Obj, z: Obj
) -> list[tuple[tuple[int, tuple[bool, ...]], int, int]]:
    """The axes of atoms about an object and roots, and those of the same atoms about another.

    Each with its predicate, and which of its arguments the object is.
    """
    pairs = []
    for (predicate, args), axis in place.items():
        if y in args and set(args) <= roots | {y}:
            other = place.get((predicate, tuple(z if obj == y else obj for obj in args)))
            if other is not None:
                pairs.append(((predicate, tuple(obj == y for obj in args)), axis, other))
    return sorted(pairs)


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


def _of_several(known: Mapping[tuple[int, int], _Pair]) -> Iterator[Looks]:
    """The looks of objects of all classes that are known with each other."""
    classes = sorted(a for (a, b), pair in known.items() if a == b and pair.others[0] > 1)
    wanted = list(combinations_with_replacement(classes, 2))
    if len(classes) > 1 and all(own in known for own in wanted):
        yield from _by_state([known[own] for own in wanted], wanted)


def _codes(values: Ints, shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """The joint state of some axes, as a number."""
    code = np.zeros(values.shape[1], dtype=np.int64)
    for axis in axes:
        code = code * shape[axis] + values[axis]
    return code


def _by_state(
    pairs: Sequence[_Pair], classes: Sequence[tuple[int, int]] = ((0, 0),)
) -> Iterator[Looks]:
    """One for each state of the roots. Ways to look are told apart by class and state."""
    first, second = (
        np.concatenate([_labels(cls[side], own) for cls, own in zip(classes, codes, strict=True)])
        for side, codes in enumerate(zip(*((own.left, own.right) for own in pairs), strict=True))
    )
    among = {
        cls: n
        for own, pair in zip(classes, pairs, strict=True)
        for cls, n in zip(own, pair.others, strict=True)
    }
    lengths = [len(own.roots) for own in pairs]
    roots = np.concatenate([own.roots for own in pairs])
    columns = np.concatenate([own.columns for own in pairs])
    apart = np.repeat([a != b for a, b in classes], lengths)
    whole = np.repeat([own == classes[0] for own in classes], lengths)
    for state in np.unique(roots):
        here = np.flatnonzero(roots == state)
        kinds, number = np.unique(
            np.concatenate([first[here], second[here]]), axis=0, return_inverse=True
        )
        if not 2 <= len(kinds) <= MOST_LOOKS:
            continue
        number = number.reshape(2, len(here))
        rows = np.stack([*number, columns[here], apart[here], whole[here]])
        terms, times = np.unique(rows, axis=1, return_counts=True)
        yield Looks(
            size=sum(among.values()),
            among=tuple(among[cls] for cls in kinds[:, 0].tolist()),
            first=terms[0],
            second=terms[1],
            column=terms[2],
            times=times,
            apart=terms[3].astype(bool),
            whole=terms[4].astype(bool),
        )


def _labels(cls: int, codes: Ints) -> Ints:
    return np.column_stack([np.full(len(codes), cls), codes])
