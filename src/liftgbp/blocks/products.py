"""Independent atoms over blocks of objects: what they reach is a lower bound of log Z.

Each class of a normal form is split into blocks. An atom is true with a probability that depends on
its predicate and on the blocks of its objects alone. Such products are cheap at any size, since the
expected energy is a sum over ways to spread the objects of a factor over blocks; by the variational
principle, expected energy plus entropy is at most log Z.

Arrays hold many products at once. S is their number, k the number of blocks of a class, and R the
number of values of an atom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Bools, Floats, Ints
from liftgbp.blocks.ties import Symmetry, Ties
from liftgbp.shatter.assignments import falling
from liftgbp.shatter.normal import NormalModel, NormalParfactor

HARD = 1e6
"""What a violated hard formula costs while products are improved; in the end none may be."""

COOLING = 0.7
"""What the temperature of a hot product is multiplied by in each round. Faster cooling misses the
three layers of the transitive relation over 1e9 objects."""

FIRST_MOVE, LENGTHEN, SHORTEN = 0.5, 1.5, 0.3
"""The part of the way to where it is pulled that a product goes at first, and what that is
multiplied by after a round that led uphill and after one that did not."""

RAREST_LOG = -200.0
"""The log of the smallest probability on the way: no value is out of reach."""

VANISHED = 1e-60
"""A probability below this becomes zero in the end, so that hard formulas hold for certain."""

ROUNDING = 1e-14
"""What rounding does to a sum, in proportion to its terms."""


@dataclass(frozen=True, eq=False, slots=True)
class BlockProducts:
    """Some products with equally many blocks.

    sizes    for each class the number of objects in each block, (S, k); it need not be whole
    chances  for each kind of atom the probability of each value, (S, k, ..., R), with an axis of
             blocks for each object of the kind
    """

    sizes: tuple[Floats, ...]
    chances: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.sizes[0])

    def map(self, change: Callable[[Floats], Floats]) -> BlockProducts:
        """The products with all arrays changed."""
        return BlockProducts(tuple(map(change, self.sizes)), tuple(map(change, self.chances)))

    def rows(self, rows: Ints | slice | Sequence[int]) -> BlockProducts:
        """Some of the products."""
        return self.map(lambda array: array[rows])

    def repeated(self, times: int) -> BlockProducts:
        """Each of the products several times in a row."""
        return self.map(lambda array: np.repeat(array, times, axis=0))

    @staticmethod
    def joined(parts: Sequence[BlockProducts]) -> BlockProducts:
        """All products of some batches."""
        return BlockProducts(
            tuple(map(np.concatenate, zip(*(part.sizes for part in parts), strict=True))),
            tuple(map(np.concatenate, zip(*(part.chances for part in parts), strict=True))),
        )

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of blocks of each class."""
        return tuple(sizes.shape[1] for sizes in self.sizes)


@dataclass(frozen=True, eq=False, slots=True)
class _Term:
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


class MeanField:
    """The products over blocks of a model in normal form.

    `kinds` are the patterns of atoms that may have probabilities of their own; hard formulas tie
    other atoms to these.
    """

    def __init__(self, normal: NormalModel) -> None:
        self.class_sizes = normal.class_sizes
        self.ties = Ties(normal)
        self.kinds = self.ties.kinds
        self.ranges = tuple(normal.ranges[predicate] for predicate, _ in self.kinds)
        self.classes_of_kind = tuple(
            tuple(cls for cls, _ in dict.fromkeys(args)) for _, args in self.kinds
        )
        self._terms: list[_Term] = []
        common = []
        for parfactor in normal.parfactors:
            term, of_all = _term(parfactor, self.ties)
            self._terms.append(term)
            used = {cls: term.classes.count(cls) for cls in set(term.classes)}
            number = math.prod(falling(self.class_sizes[c], count) for c, count in used.items())
            common.append(of_all * float(number))
        self.offset = math.fsum(common)
        self._offset_rounding = ROUNDING * math.fsum(map(abs, common))

    # --- evaluation

    def atom_counts(self, sizes: Sequence[Floats]) -> list[Floats]:
        """For each kind, the number of atoms over each combination of blocks, (S, k, ...)."""
        return [
            ways(sizes, classes) / len(symmetries)
            for classes, symmetries in zip(self.classes_of_kind, self.ties.symmetries, strict=True)
        ]

    def bounds(self, products: BlockProducts) -> Floats:
        """What log Z is at least by each of some products, less the rounding, (S)."""
        counts = self.atom_counts(products.sizes)
        energy, _, size = self._energies(
            products, [ways(products.sizes, t.classes) for t in self._terms], np.inf
        )
        entropy = self._entropy(products, counts)
        return self.offset + energy + entropy - ROUNDING * (size + entropy) - self._offset_rounding

    def values(self, products: BlockProducts) -> Floats:
        """Expected energy plus entropy, less the offset: good for comparing, (S)."""
        counts = self.atom_counts(products.sizes)
        energy, _, _ = self._energies(products, self._weights(products.sizes), HARD)
        return energy + self._entropy(products, counts)

    def entropies(self, products: BlockProducts) -> Floats:
        """The entropies of products, (S)."""
        return self._entropy(products, self.atom_counts(products.sizes))

    def _entropy(self, products: BlockProducts, counts: Sequence[Floats]) -> Floats:
        total = np.zeros(len(products))
        for own, count in zip(products.chances, counts, strict=True):
            entropy = -(own * np.log(np.where(own > 0, own, 1.0))).sum(axis=-1)
            total += (count * entropy).reshape(len(total), -1).sum(axis=1)
        return total

    def _energies(
        self, products: BlockProducts, weights: Sequence[Floats], hard: float
    ) -> tuple[Floats, list[Floats], Floats]:
        """The expected energies, their slopes by probabilities, and the size of their terms."""
        energy, size = np.zeros(len(products)), np.zeros(len(products))
        slopes = [np.zeros_like(own) for own in products.chances]
        for term, weight in zip(self._terms, weights, strict=True):
            own, absolute = _energy(term, weight, products.chances, hard, slopes)
            energy += own
            size += absolute
        symmetric = zip(slopes, self.ties.symmetries, strict=True)
        return energy, [_symmetric(slope, own) for slope, own in symmetric], size

    # --- improvement

    def improved(
        self, products: BlockProducts, rounds: int, heat: Floats | float = 0.0
    ) -> BlockProducts:
        """Products after rounds in which each atom gets what is best given all others.

        All atoms move at once, and further in the next round if that led uphill; where it did not,
        a product stays and tries a shorter move. Rows with a `heat` start hot: energies are divided
        by a temperature, at first so that no pull exceeds the heat, which then falls to one. That
        takes some rounds more.
        """
        counts = self.atom_counts(products.sizes)
        many = [
            np.maximum(ways(products.sizes, classes), 1.0)[..., None]
            for classes in self.classes_of_kind
        ]
        weights = self._weights(products.sizes)

        def seen(logs: list[Floats]) -> tuple[Floats, Floats, list[Floats]]:
            """The energies, the entropies and the pulls of products."""
            now = BlockProducts(products.sizes, tuple(map(np.exp, logs)))
            energy, slopes, _ = self._energies(now, weights, HARD)
            pulls = [_from_top(own / count) for own, count in zip(slopes, many, strict=True)]
            return energy, self._entropy(now, counts), pulls

        logs = [
            _symmetric(np.log(np.maximum(own, VANISHED)), symmetries) / len(symmetries)
            for own, symmetries in zip(products.chances, self.ties.symmetries, strict=True)
        ]
        energy, entropy, pulls = seen(logs)
        warmth = _temperatures(pulls, np.broadcast_to(np.asarray(heat, float), (len(products),)))
        cooling = math.ceil(math.log(warmth.max(initial=1.0)) / -math.log(COOLING))
        length = np.full(len(products), FIRST_MOVE)
        for _ in range(cooling + rounds):
            tried = [
                _normalised(log + _per_row(_normalised(_per_row(pull, 1 / warmth)) - log, length))
                for log, pull in zip(logs, pulls, strict=True)
            ]
            new_energy, new_entropy, new_pulls = seen(tried)
            here, there = energy / warmth + entropy, new_energy / warmth + new_entropy
            uphill = there >= here - ROUNDING * np.abs(here)
            logs = [_chosen(uphill, *pair) for pair in zip(tried, logs, strict=True)]
            pulls = [_chosen(uphill, *pair) for pair in zip(new_pulls, pulls, strict=True)]
            energy = np.where(uphill, new_energy, energy)
            entropy = np.where(uphill, new_entropy, entropy)
            length = np.where(uphill, np.minimum(1.0, LENGTHEN * length), SHORTEN * length)
            warmth = np.maximum(1.0, warmth * COOLING)
        return BlockProducts(products.sizes, tuple(_rounded(np.exp(log)) for log in logs))

    def _weights(self, sizes: Sequence[Floats]) -> list[Floats]:
        return [ways(sizes, term.classes) for term in self._terms]


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


def _term(parfactor: NormalParfactor, ties: Ties) -> tuple[_Term, float]:
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
    return _Term(tuple(cls for cls, _ in objects), atoms, states, own_energies), common


def _energy(
    term: _Term, weight: Floats, chances: Sequence[Floats], hard: float, slopes: list[Floats]
) -> tuple[Floats, Floats]:
    """The expected energy of a term and the size of its parts; its slopes are added to `slopes`."""
    rows, width = len(weight), len(term.classes)
    if not len(term.states):
        return np.zeros(rows), np.zeros(rows)
    energies = np.where(np.isfinite(term.energies), term.energies, -hard)
    factors = []
    for (kind, places), column in zip(term.atoms, term.states.T, strict=True):
        own = chances[kind][..., column]
        # Objects of an atom come in any order; axes in that of the term.
        order = np.argsort(places)
        own = own.transpose(0, *(1 + order), own.ndim - 1)
        shape = _axes(rows, width, {places[k]: own.shape[1 + n] for n, k in enumerate(order)})
        factors.append(own.reshape(*shape, len(column)))
    after: list[Floats | float] = [1.0]
    for factor in reversed(factors[1:]):
        after.append(factor * after[-1])
    before = weight[..., None] * np.ones(len(energies))
    with np.errstate(invalid="ignore"):
        for number, ((kind, places), column) in enumerate(
            zip(term.atoms, term.states.T, strict=True)
        ):
            rest = before * after[len(factors) - 1 - number]
            if number == 0:
                terms = rest * factors[0] * 1.0
                # A state without probability costs nothing, even if it is ruled out.
                terms = np.where(terms > 0, terms * energies, 0.0).reshape(rows, -1)
            gone = tuple(1 + axis for axis in range(width) if axis not in places)
            slope = rest.sum(axis=gone) if gone else rest
            if np.isfinite(hard):
                slope = slope * energies
                slope = slope.transpose(0, *(1 + np.argsort(np.argsort(places))), slope.ndim - 1)
                for value in np.unique(column):
                    slopes[kind][..., value] += slope[..., column == value].sum(axis=-1)
            before = before * factors[number]
    return terms.sum(axis=1), np.abs(terms).sum(axis=1)


def _symmetric(array: Floats, symmetries: Sequence[Symmetry]) -> Floats:
    """The sum of an array (S, k, ..., R) over the symmetries of a kind."""
    if len(symmetries) == 1:
        return array
    last = array.ndim - 1
    turned = [
        array.transpose(0, *(1 + place for place in places), last)[..., list(values)]
        for places, values in symmetries
    ]
    return np.asarray(sum(turned))


def _temperatures(pulls: Sequence[Floats], heat: Floats) -> Floats:
    """The temperatures at which no pull exceeds the heat, at least one; one without any heat."""
    strongest = np.max([-own.reshape(len(own), -1).min(axis=1) for own in pulls], axis=0)
    hot = heat > 0
    return np.where(hot, np.maximum(1.0, strongest / np.where(hot, heat, 1.0)), 1.0)


def _chosen(rows: Bools, new: Floats, old: Floats) -> Floats:
    return np.where(rows.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def _per_row(array: Floats, numbers: Floats) -> Floats:
    return array * numbers.reshape(-1, *(1,) * (array.ndim - 1))


def _from_top(array: Floats) -> Floats:
    return np.asarray(array - array.max(axis=-1, keepdims=True))


def _normalised(logs: Floats) -> Floats:
    """Logs of unnormalised probabilities as those of distributions, none of them too small."""
    logs = np.maximum(_from_top(logs), RAREST_LOG)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=-1, keepdims=True)))


def _rounded(chances: Floats) -> Floats:
    """Probabilities without the smallest ones."""
    chances = np.where(chances < VANISHED, 0.0, chances)
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))
