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
from fractions import Fraction

import numpy as np

from liftgbp.lift.shatter.assignments import falling
from liftgbp.lift.shatter.normal import NormalModel
from liftgbp.methods.blocks.flat import RAREST_LOG, Flat, Term, term_of, ways
from liftgbp.methods.blocks.ties import Ties
from liftgbp.support.arrays import Bools, Floats, Ints

HARD = 1e6
"""What a violated hard formula costs while products are improved; in the end none may be."""

COOLING = 0.7
"""What the temperature of a hot product is multiplied by in each round. Faster cooling misses the
three layers of the transitive relation over 1e9 objects."""

FIRST_MOVE, LENGTHEN, SHORTEN = 0.5, 1.5, 0.3
"""The part of the way to where it is pulled that a product goes at first, and what that is
multiplied by after a round that led uphill and after one that did not."""

AT_REST = 1e-6
"""A product has arrived if the whole way to where it is pulled changes no log by more than this."""

ENOUGH_DONE = 0.25
"""Products that have arrived are taken out once they are this part of all."""

CALLS, TERM = 1e4, 100.0
"""What calls of NumPy cost, in operations: for each atom of terms with equally many atoms, which
are added together; and for each atom of a term, where terms are put together. Few facts make dozens
of terms, which are short: the transitive relation with two facts about four people has 67."""

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
        self._terms: list[Term] = []
        self._flat: dict[tuple[int, ...], Flat] = {}
        self.exact_offset = Fraction(0)
        self._offset_rounding = 0.0
        for parfactor in normal.parfactors:
            term, of_all = term_of(parfactor, self.ties)
            self._terms.append(term)
            used = {cls: term.classes.count(cls) for cls in set(term.classes)}
            number = math.prod(falling(self.class_sizes[c], count) for c, count in used.items())
            self.exact_offset += Fraction(of_all) * number
            if parfactor.exchangeable:
                # The energy was divided by a whole number.
                self._offset_rounding += ROUNDING * abs(of_all) * number

    def _over(self, blocks: tuple[int, ...]) -> Flat:
        if blocks not in self._flat:
            kinds = self.classes_of_kind, self.ranges, self.ties.symmetries
            self._flat[blocks] = Flat(self._terms, blocks, *kinds)
        return self._flat[blocks]

    def operations(self, rows: int, blocks: Sequence[int]) -> float:
        """How many operations one evaluation of some products takes, calls of NumPy included."""
        each = sum(
            len(term.atoms)
            * (TERM + rows * len(term.states) * math.prod(blocks[cls] for cls in term.classes))
            for term in self._terms
        )
        return each + CALLS * sum({len(term.atoms) for term in self._terms})

    # --- evaluation

    @property
    def offset(self) -> float:
        """The energy that all states of each factor have in common."""
        return float(self.exact_offset)

    def bounds(self, products: BlockProducts) -> Floats:
        """What log Z is at least by each of some products, less the rounding, (S)."""
        return self.offset + self.rests(products) - ROUNDING * abs(self.offset)

    def rests(self, products: BlockProducts) -> Floats:
        """By how much log Z exceeds the exact offset at least, less the rounding, (S)."""
        energy, size = self._energies(products, np.inf)
        entropy = self.entropies(products)
        return energy + entropy - ROUNDING * (size + entropy) - self._offset_rounding

    def values(self, products: BlockProducts) -> Floats:
        """Expected energy plus entropy, less the offset: good for comparing, (S)."""
        energy, _ = self._energies(products, HARD)
        return energy + self.entropies(products)

    def _energies(self, products: BlockProducts, hard: float) -> tuple[Floats, Floats]:
        """The expected energies and the size of their terms, (S)."""
        flat = self._over(products.blocks)
        terms, energies = flat.terms(flat.packed(products.chances), flat.weights(products.sizes))
        with np.errstate(invalid="ignore"):
            # A state without probability costs nothing, even if it is ruled out.
            terms = np.where(terms > 0, terms * np.maximum(energies, -hard)[:, None], 0.0)
        return terms.sum(axis=0), np.abs(terms).sum(axis=0)

    def entropies(self, products: BlockProducts) -> Floats:
        """The entropies of products, (S)."""
        flat = self._over(products.blocks)
        chances = flat.packed(products.chances)
        counts = self._ways(products) / flat.tied
        return _entropy(counts, chances, np.log(np.where(chances > 0, chances, 1.0)))

    def _ways(self, products: BlockProducts) -> Floats:
        """In how many ways objects make an atom of each entry, (C, S)."""
        own = [ways(products.sizes, classes)[..., None] for classes in self.classes_of_kind]
        return self._over(products.blocks).packed(own)

    # --- improvement

    def improved(
        self, products: BlockProducts, rounds: int, heat: Floats | float = 0.0
    ) -> BlockProducts:
        """Products after rounds in which each atom gets what is best given all others.

        All atoms move at once, and further in the next round if that led uphill; where it did not,
        a product stays and tries a shorter move. Rows with a `heat` start hot: energies are divided
        by a temperature, at first so that no pull exceeds the heat, which then falls to one. That
        takes some rounds more. Rows that no longer move end early.
        """
        flat = self._over(products.blocks)
        logs = flat.packed([np.log(np.maximum(own, VANISHED)) for own in products.chances])
        climb = _Climb(
            flat,
            flat.symmetric(logs) / flat.tied,
            self._ways(products),
            flat.weighted(flat.weights(products.sizes), HARD),
            np.broadcast_to(np.asarray(heat, float), (len(products),)),
        )
        ends = flat.unpacked(climb.run(rounds))
        return BlockProducts(products.sizes, tuple(map(_rounded, ends)))


class _Climb:
    """Products on their way uphill, (S) of them. Arrays have the shapes of `flat`.

    Those that have arrived are taken out: `rows` says which ones are left.
    """

    def __init__(
        self, flat: Flat, logs: Floats, number: Floats, weighted: list[Floats], heat: Floats
    ) -> None:
        self._flat = flat
        self._counts, self._many = number / flat.tied, np.maximum(number, 1.0)
        self._weighted = weighted
        self._logs, self._chances = flat.normalised(logs)
        self._energy, self._entropy, self._pulls = self._seen(self._logs, self._chances)
        # The temperatures at which no pull exceeds the heat, at least one; one without any heat.
        strongest, hot = -self._pulls.min(axis=0, initial=0.0), heat > 0
        warm = np.maximum(1.0, strongest / np.where(hot, heat, 1.0))
        self._warmth = np.where(hot, warm, 1.0)
        self._length = np.full(len(heat), FIRST_MOVE)
        self._rows = np.arange(len(heat))

    def run(self, rounds: int) -> Floats:
        """The probabilities after this many rounds, and those of cooling before them."""
        ends = np.empty_like(self._chances)
        cooling = np.ceil(np.log(self._warmth) / -math.log(COOLING))
        last = rounds + cooling.astype(np.int64)
        for number in range(1, int(last.max(initial=0)) + 1):
            done = self._move() | (last[self._rows] <= number)
            if done.any() and (done.all() or done.sum() > len(done) * ENOUGH_DONE):
                ends[:, self._rows[done]] = self._chances[:, done]
                self._keep(np.flatnonzero(~done))
            if not len(self._rows):
                break
        ends[:, self._rows] = self._chances
        return ends

    def _move(self) -> Bools:
        """Move all products; the result says which of them hardly move any more."""
        target = np.maximum(self._pulls / self._warmth, RAREST_LOG)
        change = self._length * (target - self._logs)
        logs, chances = self._flat.normalised(self._logs + change)
        energy, entropy, pulls = self._seen(logs, chances)
        here = self._energy / self._warmth + self._entropy
        uphill = energy / self._warmth + entropy >= here - ROUNDING * np.abs(here)
        resting = uphill & (self._length == 1.0) & (self._warmth == 1.0)
        if resting.any():
            resting &= np.abs(logs - self._logs).max(axis=0, initial=0.0) < AT_REST
        for old, new in (
            (self._logs, logs),
            (self._chances, chances),
            (self._pulls, pulls),
            (self._energy, energy),
            (self._entropy, entropy),
        ):
            np.copyto(old, new, where=uphill)
        longer = np.minimum(1.0, LENGTHEN * self._length)
        self._length = np.where(uphill, longer, SHORTEN * self._length)
        self._warmth = np.maximum(1.0, self._warmth * COOLING)
        return np.asarray(resting)

    def _seen(self, logs: Floats, chances: Floats) -> tuple[Floats, Floats, Floats]:
        """The energies, the entropies and the pulls."""
        energy, slopes = self._flat.energies(chances, self._weighted)
        pulls = self._flat.from_top(slopes / self._many)
        return energy, _entropy(self._counts, chances, logs), pulls

    def _keep(self, left: Ints) -> None:
        for name in (
            "_counts",
            "_many",
            "_logs",
            "_chances",
            "_pulls",
            "_energy",
            "_entropy",
            "_warmth",
            "_length",
            "_rows",
        ):
            setattr(self, name, getattr(self, name)[..., left])
        self._weighted = [own[:, left] for own in self._weighted]


def _entropy(counts: Floats, chances: Floats, logs: Floats) -> Floats:
    return -np.asarray(np.einsum("cs,cs,cs->s", counts, chances, logs), dtype=np.float64)


def _rounded(chances: Floats) -> Floats:
    """Probabilities without the smallest ones."""
    chances = np.where(chances < VANISHED, 0.0, chances)
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))
