"""How objects look to each other inside regions: what count cuts are about (see `count_cuts`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np

from liftgbp.lift.regions import LiftedRegionGraph
from liftgbp.lift.signature import Cluster, Obj, objects_of
from liftgbp.methods.bounding.count_cuts import Looks
from liftgbp.plan import Layout
from liftgbp.solve.energy import Polytope
from liftgbp.support.arrays import Ints
from liftgbp.support.limits import checkpoint

MOST_STATES = 2**16
"""Regions with more states have no cuts: their states are listed."""

MOST_LOOKS = 64
"""Nor do roots to which others look in more ways than this: moments are square in them."""


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
