"""The expected energy of independent atoms over blocks, as sums over flat arrays.

A product has a number for each kind of atom, combination of blocks and value: an *entry*. Here all
entries are one axis of an array, and products are the other one. A term of the energy is a product
of the entries of a factor's atoms, so terms are rows of entry numbers, made once for each number of
blocks.

Shapes: S products, C entries, A atoms of a factor, M terms of factors with as many atoms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.lift.shatter.normal import NormalParfactor
from liftgbp.methods.blocks.ties import Symmetry, Ties
from liftgbp.support.arrays import Floats, Ints

RAREST_LOG = -200.0
"""The log of the smallest probability on the way: no value is out of reach."""


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """A parfactor, less what all its states have in common.

    classes  those of its objects
    atoms    for each atom its kind, and the places of its objects among the classes
    states   (Z, atoms) the states with an energy of their own
    energies (Z) what these states have more than all others, minus infinity if they are ruled out
    """

    classes: tuple[int, ...]
    atoms: tuple[tuple[int, tuple[int, ...]], ...]
    states: Ints
    energies: Floats


def term_of(parfactor: NormalParfactor, ties: Ties) -> tuple[Term, float]:
    """A parfactor as a term, and the energy that all its states have in common."""
    objects = list(dict.fromkeys(obj for _, args in parfactor.atoms for obj in args))
    tied = [ties.of(atom, objects) for atom in parfactor.atoms]
    atoms = tuple(dict.fromkeys((own.kind, own.places) for own in tied))
    axis = {atom: k for k, atom in enumerate(atoms)}
    index = []
    for own in tied:
        shape = [1] * len(atoms)
        shape[axis[own.kind, own.places]] = len(own.values)
        index.append(np.array(own.values).reshape(shape))
    times = math.prod(math.factorial(len(group)) for group in parfactor.exchangeable)
    table = np.asarray(parfactor.log_table)[tuple(index)] / times
    energies, counts = np.unique(table[np.isfinite(table)], return_counts=True)
    # Of equally frequent energies the largest: those of the best states are then small numbers.
    common = float(energies[len(counts) - 1 - counts[::-1].argmax()]) if len(energies) else 0.0
    states = np.argwhere(table != common)
    own_energies = table[tuple(states.T)] - common
    return Term(tuple(cls for cls, _ in objects), atoms, states, own_energies), common


def ways(sizes: Sequence[Floats], classes: Sequence[int]) -> Floats:
    """In how many ways different objects of some classes lie in blocks, (S, k, ...)."""
    rows = len(sizes[0])
    total = np.ones((rows,) + (1,) * len(classes))
    for place, cls in enumerate(classes):
        blocks = sizes[cls].shape[1]
        own = sizes[cls].reshape(_axes(rows, len(classes), {place: blocks}))
        for earlier in range(place):
            if classes[earlier] == cls:
                shape = _axes(1, len(classes), {earlier: blocks, place: blocks})
                own = own - np.eye(blocks).reshape(shape)
        total = total * own
    return np.maximum(total, 0.0)


def _axes(rows: int, number: int, lengths: dict[int, int]) -> tuple[int, ...]:
    return (rows, *(lengths.get(place, 1) for place in range(number)))


class Flat:
    """The entries of products with some numbers of blocks, and the terms of their energy.

    `classes_of_kind`, `ranges` and `symmetries` describe the kinds of atoms. `tied` (C, 1) is the
    number of symmetries of the kind of each entry.
    """

    def __init__(
        self,
        terms: Sequence[Term],
        blocks: Sequence[int],
        classes_of_kind: Sequence[Sequence[int]],
        ranges: Sequence[int],
        symmetries: Sequence[Sequence[Symmetry]],
    ) -> None:
        shapes = [tuple(blocks[cls] for cls in classes) for classes in classes_of_kind]
        self._values: list[tuple[int, int, int]] = []
        self._entries: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(shapes)
        self.size = 0
        # Kinds with equally many values lie together: first all first values, then all second ones.
        for values in sorted(set(ranges)):
            kinds = [kind for kind, own in enumerate(ranges) if own == values]
            number = sum(math.prod(shapes[kind]) for kind in kinds)
            first = self.size
            for kind in kinds:
                count = math.prod(shapes[kind])
                own = first + np.arange(count)[:, None] + number * np.arange(values)
                self._entries[kind] = own.reshape(*shapes[kind], values)
                first += count
            self._values.append((self.size, values, number))
            self.size += values * number
        self.tied = np.ones((self.size, 1))
        for entries, group in zip(self._entries, symmetries, strict=True):
            self.tied[entries.ravel()] = len(group)
        self._turned = [
            (entries.ravel(), np.array([_turned(entries, own).ravel() for own in group]))
            for entries, group in zip(self._entries, symmetries, strict=True)
            if len(group) > 1
        ]
        by_length: dict[int, list[Term]] = {}
        for term in terms:
            if len(term.states):
                by_length.setdefault(len(term.atoms), []).append(term)
        self._sums = [_Sum(own, blocks, self._entries) for own in by_length.values()]

    # --- arrays by kind

    def packed(self, arrays: Sequence[Floats]) -> Floats:
        """The arrays (S, k, ..., R) of all kinds as one array (C, S).

        If an array has one value instead of R, it is that of all values.
        """
        flat = np.empty((self.size, len(arrays[0])))
        for own, entries in zip(arrays, self._entries, strict=True):
            full = np.broadcast_to(own, (len(own), *entries.shape))
            flat[entries.ravel()] = full.reshape(len(own), -1).T
        return flat

    def unpacked(self, flat: Floats) -> tuple[Floats, ...]:
        """The arrays (S, k, ..., R) of all kinds."""
        columns = np.ascontiguousarray(flat.T)
        return tuple(columns[:, entries] for entries in self._entries)

    def symmetric(self, flat: Floats) -> Floats:
        """The sums (C, S) over the symmetries of each kind."""
        if not self._turned:
            return flat
        total = flat.copy()
        for entries, turned in self._turned:
            total[entries] = flat[turned].sum(axis=0)
        return total

    # --- distributions

    def from_top(self, flat: Floats) -> Floats:
        """The numbers of each atom less the largest of them."""
        found = np.empty_like(flat)
        for own, out in zip(self._by_value(flat), self._by_value(found), strict=True):
            np.subtract(own, own.max(axis=0), out=out)
        return found

    def normalised(self, logs: Floats) -> tuple[Floats, Floats]:
        """Logs of unnormalised probabilities as those of distributions, and these.

        None of them is too small.
        """
        logs = np.maximum(self.from_top(logs), RAREST_LOG)
        chances = np.exp(logs)
        parts = zip(self._by_value(logs), self._by_value(chances), strict=True)
        for own_logs, own in parts:
            total = own.sum(axis=0)
            np.divide(own, total, out=own)
            np.subtract(own_logs, np.log(total), out=own_logs)
        return logs, chances

    def _by_value(self, flat: Floats) -> list[Floats]:
        """Views (R, atoms, S) of all atoms with R values, for each R."""
        return [
            flat[first : first + values * number].reshape(values, number, -1)
            for first, values, number in self._values
        ]

    # --- energies

    def weights(self, sizes: Sequence[Floats]) -> list[Floats]:
        """How many factors each term stands for, (M, S) for each number of atoms."""
        return [own.weights(sizes) for own in self._sums]

    def terms(self, chances: Floats, weights: Sequence[Floats]) -> tuple[Floats, Floats]:
        """All terms without their energies (M, S), and the energies (M)."""
        if not self._sums:
            return np.zeros((0, chances.shape[1])), np.zeros(0)
        pairs = zip(self._sums, weights, strict=True)
        found = [own * chances[one.index].prod(axis=0) for one, own in pairs]
        return np.concatenate(found), np.concatenate([one.energies for one in self._sums])

    def weighted(self, weights: Sequence[Floats], hard: float) -> list[Floats]:
        """Weights times energies; what is ruled out costs `hard`."""
        return [
            own * np.maximum(one.energies, -hard)[:, None]
            for one, own in zip(self._sums, weights, strict=True)
        ]

    def energies(self, chances: Floats, weighted: Sequence[Floats]) -> tuple[Floats, Floats]:
        """The expected energies (S) and their slopes by probabilities (C, S)."""
        energy, slopes = np.zeros(chances.shape[1]), np.zeros_like(chances)
        for one, own in zip(self._sums, weighted, strict=True):
            energy += one.add(chances, own, slopes)
        return energy, self.symmetric(slopes)


class _Sum:
    """All terms of factors with equally many atoms.

    index     (A, M) the entries that are multiplied
    energies  (M)
    """

    def __init__(
        self, terms: Sequence[Term], blocks: Sequence[int], entries: Sequence[Ints]
    ) -> None:
        self._terms = terms
        self.index = np.concatenate([_index(own, blocks, entries) for own in terms], axis=1)
        self.energies = np.concatenate(
            [np.tile(own.energies, math.prod(blocks[cls] for cls in own.classes)) for own in terms]
        )
        self._order = np.argsort(self.index, axis=None, kind="stable")
        self._targets, self._starts = np.unique(self.index.ravel()[self._order], return_index=True)

    def weights(self, sizes: Sequence[Floats]) -> Floats:
        """How many factors each term stands for, (M, S)."""
        parts = []
        for own in self._terms:
            number = ways(sizes, own.classes).reshape(len(sizes[0]), -1)
            parts.append(np.repeat(number.T, len(own.states), axis=0))
        return np.concatenate(parts)

    def add(self, chances: Floats, weighted: Floats, slopes: Floats) -> Floats:
        """The sum (S) of all terms; slopes by probabilities are added to `slopes`."""
        factors = chances[self.index]
        others = np.empty_like(factors)
        product = weighted
        for own, rest in zip(factors, others, strict=True):
            rest[...] = product
            product = product * own
        after = factors[-1]
        for own, rest in zip(factors[-2::-1], others[-2::-1], strict=True):
            np.multiply(rest, after, out=rest)
            after = after * own
        flat = others.reshape(-1, chances.shape[1])[self._order]
        slopes[self._targets] += np.add.reduceat(flat, self._starts, axis=0)
        return np.asarray(product.sum(axis=0))


def _index(term: Term, blocks: Sequence[int], entries: Sequence[Ints]) -> Ints:
    """The entries (A, M) that each term of a parfactor multiplies: by blocks, then by state."""
    shape = tuple(blocks[cls] for cls in term.classes)
    grid = np.indices(shape).reshape(len(shape), math.prod(shape), 1)
    rows = [
        entries[kind][(*(grid[place] for place in places), column)]
        for (kind, places), column in zip(term.atoms, term.states.T, strict=True)
    ]
    whole = (math.prod(shape), len(term.states))
    return np.array([np.broadcast_to(row, whole).ravel() for row in rows])


def _turned(entries: Ints, symmetry: Symmetry) -> Ints:
    places, values = symmetry
    return entries.transpose(*places, len(places))[..., list(values)]
