"""An order of all ground atoms, with what each may be conditioned on inside one region.

No joint entropy exceeds the sum over all atoms of the entropy of each given some of the atoms
before it. The sum can be computed from beliefs if each atom and what it is conditioned on lie in
one region, and it can be counted for any domain size if the choice depends on a few cases only. So
the first objects of each class are *anchors*, as many as a region can have, and atoms come in the
order of their last objects, anchors being the very first. An atom lies in a region whose other
objects are anchors; there, all atoms over earlier objects come before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice, permutations, product
from typing import TypeAlias, cast

from liftgbp.lift.regions.counts import Count, choose
from liftgbp.lift.shatter.assignments import Size
from liftgbp.lift.signature import Atom, Cluster, Obj, canonise, objects_of, objects_per_class

MOST_ANCHORS = 5
"""The most anchors of a class; regions with more objects are not used."""

MOST_REGIONS, MOST_PLACEMENTS = 24, 6
"""How many regions are tried for each atom, and how many placements of each."""

MOST_CASES = 10_000
"""The most cases of all kinds of atoms together, times the regions that are tried. Atoms of many
arguments have more; those that come when the cases are used up are conditioned on nothing."""

MOST_IMAGES = 120
"""How many images of a choice under the symmetries of a region are compared."""

Choice: TypeAlias = tuple[int, int, tuple[int, ...]]
"""A region, one of its atoms, and those of its atoms that come before that one."""


@dataclass(frozen=True, slots=True)
class OrderStep:
    """Ground atoms with the same choices of what to condition on; `counts` add up to how many."""

    counts: tuple[Count, ...]
    choices: tuple[Choice, ...]

    def count(self, class_sizes: Sequence[Size]) -> Size:
        """How many ground atoms there are of this kind."""
        return cast(Size, sum(count.at(class_sizes) for count in self.counts))


def order_steps(
    kinds: Collection[Atom],
    clusters: Mapping[int, Cluster],
    symmetries: Mapping[int, Sequence[Sequence[int]]],
    class_sizes: Sequence[int],
) -> tuple[OrderStep, ...]:
    """All atoms of these kinds, each with its choices among numbered regions.

    >>> pair = ((0, ((0, 0),)), (0, ((0, 1),)))
    >>> for step in order_steps([pair[0]], {7: pair}, {7: [(1, 0)]}, [9]):
    ...     print(step.count([9]), step.choices)
    1 ((7, 0, ()),)
    8 ((7, 0, (1,)),)
    """
    # Sizes matter up to the anchors and the objects of one atom, so that most repeat.
    most = MOST_ANCHORS + max((len(args) for _, args in kinds), default=0)
    return _order_steps(
        tuple(kinds),
        tuple(clusters.items()),
        tuple((region, tuple(map(tuple, own))) for region, own in symmetries.items()),
        tuple(min(size, most) for size in class_sizes),
    )


@lru_cache(maxsize=2**8)
def _order_steps(
    kinds: tuple[Atom, ...],
    clusters: tuple[tuple[int, Cluster], ...],
    symmetries: tuple[tuple[int, tuple[tuple[int, ...], ...]], ...],
    class_sizes: tuple[int, ...],
) -> tuple[OrderStep, ...]:
    return _Order(dict(clusters), dict(symmetries), class_sizes).steps(kinds)


class _Order:
    def __init__(
        self,
        clusters: Mapping[int, Cluster],
        symmetries: Mapping[int, Sequence[Sequence[int]]],
        class_sizes: Sequence[int],
    ) -> None:
        self._clusters = clusters
        self._symmetries = symmetries
        self._sizes = class_sizes
        self._anchors = [0] * len(class_sizes)
        for cluster in clusters.values():
            for cls, count in objects_per_class(cluster).items():
                most = min(class_sizes[cls], MOST_ANCHORS)
                self._anchors[cls] = min(most, max(self._anchors[cls], count))
        self._axes_of_kind: dict[Atom, list[tuple[int, int]]] = {}
        # Of atoms over few objects, more come before another one.
        for region, cluster in sorted(clusters.items(), key=lambda item: len(objects_of(item[1]))):
            for axis in self._different_axes(region):
                kind = canonise((cluster[axis],)).cluster[0]
                self._axes_of_kind.setdefault(kind, []).append((region, axis))

    def _different_axes(self, region: int) -> list[int]:
        """One atom of a region from each orbit under its symmetries."""
        axes = range(len(self._clusters[region]))
        return sorted({self._smallest_image(region, axis, ())[0] for axis in axes})

    def steps(self, kinds: Iterable[Atom]) -> tuple[OrderStep, ...]:
        counts: dict[tuple[Choice, ...], list[Count]] = {}
        left = MOST_CASES
        for kind in sorted(kinds, key=lambda own: len(objects_of([own]))):
            places = self._places(kind)
            tried = min(len(self._axes_of_kind[kind]), MOST_REGIONS)
            left -= math.prod(map(len, places)) * tried
            if left < 0:
                every = choose(objects_of([kind]), (), 1)
                counts.setdefault((self._alone(kind),), []).append(every)
                continue
            for atom in self._cases(kind, places):
                counts.setdefault(self._choices(kind, atom), []).append(self._count(atom))
        return tuple(OrderStep(tuple(own), choices) for choices, own in counts.items())

    def _places(self, kind: Atom) -> list[list[Obj]]:
        """For each object of an atom the anchors, and as many others as the atom may need."""
        per_class = objects_per_class((kind,))
        reach = {
            cls: min(self._sizes[cls], self._anchors[cls] + count)
            for cls, count in per_class.items()
        }
        return [[(cls, k) for k in range(reach[cls])] for cls, _ in dict.fromkeys(kind[1])]

    def _cases(self, kind: Atom, places: Sequence[Sequence[Obj]]) -> Iterator[Atom]:
        """The atom over anchors and over the first objects that are none, in all ways."""
        predicate, args = kind
        for chosen in product(*places):
            image = dict(zip(dict.fromkeys(args), chosen, strict=True))
            if len(set(chosen)) == len(chosen) and self._without_gaps(chosen):
                yield predicate, tuple(image[obj] for obj in args)

    def _alone(self, kind: Atom) -> Choice:
        region, axis = self._axes_of_kind[kind][0]
        return region, axis, ()

    def _without_gaps(self, objects: Iterable[Obj]) -> bool:
        beyond = Counter(cls for cls, k in objects if k >= self._anchors[cls])
        return all(k < self._anchors[cls] + beyond[cls] for cls, k in objects)

    def _count(self, atom: Atom) -> Count:
        """How many ground atoms a case stands for: choices of increasing objects past anchors."""
        beyond = Counter(cls for cls, k in objects_of([atom]) if k >= self._anchors[cls])
        return Count(
            tuple((cls, self._anchors[cls], chosen) for cls, chosen in sorted(beyond.items())),
            math.prod(map(math.factorial, beyond.values())),
        )

    def _choices(self, kind: Atom, atom: Atom) -> tuple[Choice, ...]:
        found: set[Choice] = set()
        for region, axis in self._axes_of_kind[kind][:MOST_REGIONS]:
            before = self._before(region, axis, atom)
            largest = [own for own in before if not any(own < other for other in before)]
            found |= {
                (region, *self._smallest_image(region, axis, tuple(sorted(own)))) for own in largest
            }
        return tuple(sorted(found)) or (self._alone(kind),)

    def _before(self, region: int, axis: int, atom: Atom) -> set[frozenset[int]]:
        """The axes whose atoms come before the given one, for several placements of a region."""
        found: set[frozenset[int]] = set()
        own = self._place_in_order(atom)
        for placed in self._placed(region, axis, atom):
            earlier = frozenset(k for k, a in enumerate(placed) if self._place_in_order(a) < own)
            found.add(earlier)
            if len(earlier) == len(placed) - 1:
                break
        return found

    def _placed(self, region: int, axis: int, atom: Atom) -> Iterator[list[Atom]]:
        """The region with one of its atoms given, its other objects on the first free anchors."""
        cluster = self._clusters[region]
        image = dict(zip(cluster[axis][1], atom[1], strict=True))
        classes = sorted({cls for cls, _ in objects_of(cluster)})
        others = [[o for o in objects_of(cluster) if o[0] == h and o not in image] for h in classes]
        free = [
            [(h, k) for k in range(self._anchors[h]) if (h, k) not in image.values()]
            for h in classes
        ]
        if any(len(own) > len(f) for own, f in zip(others, free, strict=True)):
            return
        ways = product(*(permutations(f[: len(o)]) for o, f in zip(others, free, strict=True)))
        for way in islice(ways, MOST_PLACEMENTS):
            placed = dict(image)
            for own, places in zip(others, way, strict=True):
                placed |= zip(own, places, strict=True)
            yield [(predicate, tuple(placed[o] for o in args)) for predicate, args in cluster]

    def _place_in_order(self, atom: Atom) -> tuple[list[tuple[bool, Obj]], Atom]:
        return sorted(
            ((o[1] >= self._anchors[o[0]], o) for o in objects_of([atom])), reverse=True
        ), atom

    def _smallest_image(
        self, region: int, axis: int, given: tuple[int, ...]
    ) -> tuple[int, tuple[int, ...]]:
        """The smallest image of a choice under the symmetries of its region, among those tried."""
        seen = {(axis, given)}
        waiting = [(axis, given)]
        while waiting and len(seen) < MOST_IMAGES:
            here, others = waiting.pop()
            for symmetry in self._symmetries[region]:
                image = symmetry[here], tuple(sorted(symmetry[k] for k in others))
                if image not in seen:
                    seen.add(image)
                    waiting.append(image)
        return min(seen)


Pair: TypeAlias = tuple[int, int, int]
"""A region, and two of its atoms."""


@dataclass(frozen=True, slots=True)
class AlikeAtoms:
    """Exchangeable ground atoms: a pair of them in a region, and how many there are."""

    pair: Pair
    count: Count


def alike_atoms(regions: Iterable[tuple[int, Cluster]]) -> tuple[AlikeAtoms, ...]:
    """All kinds of exchangeable atoms with a pair in a numbered region, each in the first such one.

    >>> smokes = ((0, ((0, 0),)), (0, ((0, 1),)))
    >>> [alike] = alike_atoms([(7, smokes)])
    >>> alike.pair, alike.count.at([20])
    ((7, 0, 1), 20)
    """
    found: dict[object, AlikeAtoms] = {}
    for region, cluster in regions:
        for (axis, one), (other_axis, other) in combinations(enumerate(cluster), 2):
            if exchangeable := _exchangeable(one, other):
                kind, count = exchangeable
                found.setdefault(kind, AlikeAtoms((region, axis, other_axis), count))
    return tuple(found.values())


def _exchangeable(one: Atom, other: Atom) -> tuple[object, Count] | None:
    """If two atoms are exchangeable, their kind and the number of atoms of that kind."""
    (predicate, args), (other_predicate, other_args) = one, other
    if predicate != other_predicate:
        return None
    exchanged = {pair for pair in zip(args, other_args, strict=True) if pair[0] != pair[1]}
    if len(exchanged) != 1:
        return None
    [(own, new)] = exchanged
    fixed = set(args) - {own}
    if own[0] != new[0] or new in fixed or own in other_args:
        return None
    names = {obj: k for k, obj in enumerate(dict.fromkeys(args))}
    kind = predicate, tuple((obj[0], names[obj]) for obj in args), names[own]
    taken = sum(cls == own[0] for cls, _ in fixed)
    return kind, Count(((own[0], taken, 1),), 1)
