"""Exact probabilities of larger models, by recursions and sums that share nothing with the engine.

- Equivalence relations: a sum over set partitions, as a recursion over the block of one object.
- Linear orders with two kinds of objects: Gaussian binomials.
- Models with two variables: a sum over how many objects are in each cell. Objects of one cell have
  the same unary atoms; given the cells of all, pairs of objects are independent.
- Small models: the enumeration and the junction tree of `liftgbp.oracle.reference`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import mpmath
import numpy as np

import liftgbp
from liftgbp.evidence import Problem
from liftgbp.oracle import reference
from liftgbp.oracle.reference import GroundAtom

DIGITS = 40
"""Decimal digits of recursions. All their terms are positive, so that no digits are lost."""

LARGEST_TABLE = 2**22
"""What enumeration may need, in entries of a table."""


# --- enumeration


def enumerated(
    model: liftgbp.Model,
    sizes: Mapping[str, int],
    evidence: liftgbp.Evidence | None,
    queries: Sequence[str],
) -> dict[str, float]:
    """The probabilities that atoms are true, or have the value after `=`, by a junction tree."""
    problem = Problem.of(model, evidence, dict(sizes))
    marginals = reference.exact(reference.ground(model, sizes, evidence), LARGEST_TABLE).marginals
    return {
        query: float(marginals[atom][value])
        for query in queries
        for atom, value in [ground_atom(problem, query)]
    }


def ground_atom(problem: Problem, query: str) -> tuple[GroundAtom, int]:
    """The atom and the number of the value that a query is about.

    Variables stand for objects without names, different ones for different objects.
    """
    text, _, value = (part.strip() for part in query.partition("="))
    name, _, arguments = text.rstrip(")").partition("(")
    predicate = problem.model.predicates[name]
    chosen: dict[tuple[str, str], int] = {}
    objects = []
    for term, sort in zip(filter(None, arguments.split(",")), predicate.sorts, strict=True):
        known = list(problem.model.constants(sort))
        if term in known:
            objects.append(known.index(term))
        else:
            others = sum(same == sort for same, _ in chosen)
            objects.append(chosen.setdefault((sort, term), len(known) + others))
    number = list(predicate.values).index(value) if value else 1
    return GroundAtom(name, tuple(objects)), number


# --- equivalence relations


@dataclass(frozen=True, eq=False)
class Equivalence:
    """An equivalence relation with a weight for each ordered pair of different equal objects.

    Each object may be marked, which has the weight `mark`. Each ordered pair of equal objects of
    which one is marked costs `differ`, which may be infinite. `known` says of named objects whether
    they are marked, `same` and `different` which of them are equal.
    """

    size: int
    weight: float
    mark: float | None = None
    differ: float = 0.0
    known: Mapping[str, bool] = field(default_factory=dict)
    same: Sequence[tuple[str, str]] = ()
    different: Sequence[tuple[str, str]] = ()

    def same_probability(self, one: str = "#1", other: str = "#2") -> float:
        """The probability that two objects are equal; those of the default have no names."""
        return self._share(lambda block_of: block_of[one] == block_of[other], one, other)

    def mark_probability(self, one: str = "#1") -> float:
        """The probability that an object is marked."""
        marked = replace(self, known={**self.known, one: True})
        with mpmath.workdps(DIGITS):
            return float(marked.total(one) / self.total(one))

    def log_z(self) -> float:
        """Log Z, where atoms about an object and itself are no part of the model."""
        with mpmath.workdps(DIGITS):
            return float(mpmath.log(self.total()))

    def _share(self, holds: Callable[[Mapping[str, int]], bool], *names: str) -> float:
        with mpmath.workdps(DIGITS):
            return float(self.total(*names, holds=holds) / self.total(*names))

    def total(
        self, *names: str, holds: Callable[[Mapping[str, int]], bool] = lambda _: True
    ) -> mpmath.mpf:
        """The weight of all partitions of which something holds, said of named objects."""
        named = sorted({*names, *self.known, *itertools.chain(*self.same, *self.different)})
        total = mpmath.mpf(0)
        for block_of in _partitions_of(named):
            if (
                all(block_of[a] == block_of[b] for a, b in self.same)
                and all(block_of[a] != block_of[b] for a, b in self.different)
                and holds(block_of)
            ):
                total += self._with_named(block_of)
        return total

    def _with_named(self, block_of: Mapping[str, int]) -> mpmath.mpf:
        """The weight of all ways in which the other objects join blocks of named ones, or not."""
        others = self.size - len(block_of)
        series = self._free_series[: others + 1]
        for block in set(block_of.values()):
            known = [self.known.get(name) for name, own in block_of.items() if own == block]
            trues, falses = known.count(True), known.count(False)
            joined = [
                self._block(len(known) + more, trues, falses) / mpmath.factorial(more)
                for more in range(others + 1)
            ]
            series = [
                mpmath.fsum(series[k] * joined[n - k] for k in range(n + 1))
                for n in range(others + 1)
            ]
        return series[others] * mpmath.factorial(others)

    @cached_property
    def _free_series(self) -> list[mpmath.mpf]:
        """The weights of partitions of n objects without names, divided by n!."""
        block = [self._block(k, 0, 0) for k in range(self.size + 1)]
        totals = [mpmath.mpf(1)]
        for n in range(1, self.size + 1):
            totals.append(
                mpmath.fsum(
                    math.comb(n - 1, k - 1) * block[k] * totals[n - k] for k in range(1, n + 1)
                )
            )
        return [total / mpmath.factorial(n) for n, total in enumerate(totals)]

    @lru_cache  # noqa: B019 (as long as the few cases live)
    def _block(self, size: int, trues: int, falses: int) -> mpmath.mpf:
        """The weight of one block with so many objects that are known to be marked, or not."""
        inside = mpmath.exp(mpmath.mpf(self.weight) * size * (size - 1))
        if self.mark is None:
            return inside
        free = size - trues - falses
        return inside * mpmath.fsum(
            math.comb(free, more)
            * mpmath.exp(mpmath.mpf(self.mark) * marked)
            * self._differing(marked * (size - marked))
            for more in range(free + 1)
            for marked in [more + trues]
        )

    def _differing(self, pairs: int) -> mpmath.mpf:
        """The factor of so many equal pairs, in two directions, of which one is marked."""
        return mpmath.exp(-2 * mpmath.mpf(self.differ) * pairs) if pairs else mpmath.mpf(1)


def _partitions_of(names: Sequence[str]) -> Iterator[dict[str, int]]:
    """All set partitions of some names, as the number of the block of each."""
    if not names:
        yield {}
        return
    *first, last = names
    for block_of in _partitions_of(first):
        for block in range(len(set(block_of.values())) + 1):
            yield {**block_of, last: block}


def matched(log_weights: np.ndarray) -> np.ndarray:
    """The probabilities that objects are equal, given a log weight for each pair that is.

    A sum over all set partitions, one subset after the other: with 12 objects there are 4 million
    partitions, but 531 441 pairs of a subset and a block in it.
    """
    size = len(log_weights)
    inside = np.zeros(2**size)
    for subset in range(1, 2**size):
        rest = subset & (subset - 1)
        lowest = (subset ^ rest).bit_length() - 1
        members = [k for k in range(size) if rest >> k & 1]
        inside[subset] = inside[rest] + log_weights[lowest, members].sum()
    block = np.exp(inside)
    whole = 2**size - 1
    totals = np.zeros(2**size)
    totals[0] = 1.0
    for subset in range(1, 2**size):
        rest = subset & (subset - 1)
        part = rest
        while True:  # the blocks of the lowest object, each with some of the rest
            totals[subset] += block[subset ^ rest | part] * totals[rest ^ part]
            if not part:
                break
            part = (part - 1) & rest
    shares = np.zeros((size, size))
    for subset in range(1, 2**size):
        share = block[subset] * totals[whole ^ subset] / totals[whole]
        members = [k for k in range(size) if subset >> k & 1]
        shares[np.ix_(members, members)] += share
    return shares


# --- linear orders


@dataclass(frozen=True)
class Ranking:
    """A linear order in which good objects tend to be above the others.

    An object is good with the weight `good`; each good one above one that is not has the weight
    `above`. Of all sequences of k good objects and others, the sum of q^(pairs in order) is the
    Gaussian binomial, and any objects can be the good ones, in any order among their kind.
    """

    size: int
    good: float
    above: float

    def good_probability(self) -> float:
        """P(good(x))."""
        return self._mean(mpmath.mpf) / self.size

    def beats_probability(self) -> float:
        """P(x is above y), if x is good and y is not."""
        return self._mean(self._pairs_in_order) / self._mean(self._mixed_pairs)

    def third_probability(self) -> float:
        """P(good(z)), if x is good and y is not."""
        among = self._mean(lambda k: self._mixed_pairs(k) * (k - 1))
        return among / self._mean(self._mixed_pairs) / (self.size - 2)

    def _mixed_pairs(self, k: int) -> mpmath.mpf:
        return mpmath.mpf(k * (self.size - k))

    def _pairs_in_order(self, k: int) -> mpmath.mpf:
        """The mean number of good ones above others, with k good ones: d log binomial / d log q."""
        return mpmath.diff(lambda log_q: self._log_binomial(k, log_q), mpmath.mpf(self.above))

    def _log_binomial(self, k: int, log_q: mpmath.mpf) -> mpmath.mpf:
        q = mpmath.exp(log_q)
        return mpmath.fsum(
            mpmath.log((1 - q ** (self.size - k + i)) / (1 - q**i)) for i in range(1, k + 1)
        )

    def _mean(self, value: Callable[[int], mpmath.mpf]) -> float:
        """The mean of a function of the number of good objects."""
        with mpmath.workdps(DIGITS):
            weights = [
                mpmath.exp(
                    k * mpmath.mpf(self.good) + self._log_binomial(k, mpmath.mpf(self.above))
                )
                for k in range(self.size + 1)
            ]
            mean = mpmath.fsum(w * value(k) for k, w in enumerate(weights))
            return float(mean / mpmath.fsum(weights))


# --- sums over cells


@dataclass(frozen=True, eq=False)
class Cells:
    """Objects that are each in a cell, with weights for single objects and unordered pairs.

    `single` has the log weight of an object in each cell and `pair` that of two objects; `named`
    the log weights of named objects (what is ruled out has -inf) and `between` those of two of
    them, where they differ from `pair`.
    """

    size: int
    single: np.ndarray
    pair: np.ndarray
    named: Sequence[np.ndarray] = ()
    between: Mapping[tuple[int, int], np.ndarray] = field(default_factory=dict)

    @cached_property
    def log_z(self) -> float:
        """The log of the sum of all weights."""
        return float(np.logaddexp.reduce(self._logs[2].ravel()))

    @cached_property
    def _sum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same with the share of each in place of its log weight."""
        assigned, counts, logs = self._logs
        return assigned, counts, np.exp(logs - self.log_z)

    @cached_property
    def _logs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The cells of the named objects, the counts of the others, and their log weights."""
        cells, others = len(self.single), self.size - len(self.named)
        counts = np.array(list(_compositions(others, cells)))
        factorials = np.cumsum([0.0, *np.log(np.arange(1, others + 1))])
        logs = factorials[others] - factorials[counts].sum(axis=1) + counts @ self.single
        among = np.einsum("si,sj,ij->s", counts, counts, self.pair) - counts @ np.diag(self.pair)
        logs += among / 2
        assigned, weights = [], []
        for cell_of in itertools.product(range(cells), repeat=len(self.named)):
            own = logs + sum(
                log[cell] + counts @ self.pair[cell]
                for log, cell in zip(self.named, cell_of, strict=True)
            )
            for (i, one), (j, other) in itertools.combinations(enumerate(cell_of), 2):
                own = own + self.between.get((i, j), self.pair)[one, other]
            assigned.append(cell_of)
            weights.append(own)
        return np.array(assigned).reshape(len(assigned), -1), counts, np.array(weights)

    def cell(self, name: int | None = None) -> np.ndarray:
        """The probability of each cell, for a named object or one of the others."""
        assigned, counts, shares = self._sum
        if name is None:
            return shares.sum(axis=0) @ counts / counts[0].sum()
        return np.bincount(assigned[:, name], shares.sum(axis=1), minlength=len(self.single))

    def cells(self, one: int | None = None, other: int | None = None) -> np.ndarray:
        """The joint probability of the cells of two objects, those without names last."""
        assigned, counts, shares = self._sum
        size = len(self.single)
        others = counts[0].sum()
        if one is None:
            ordered = np.einsum("s,si,sj->ij", shares.sum(axis=0), counts, counts)
            ordered -= np.diag(shares.sum(axis=0) @ counts)
            return ordered / (others * (others - 1))
        joint = np.zeros((size, size))
        for cell_of, own in zip(assigned, shares, strict=True):
            if other is None:
                joint[cell_of[one]] += own @ counts / others
            else:
                joint[cell_of[one], cell_of[other]] += own.sum()
        return joint


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to share a number among so many parts."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def log_sum(*logs: float) -> float:
    """The log of a sum of exponentials."""
    return float(np.logaddexp.reduce(logs))


# --- trees and cycles


def ring(transfer: np.ndarray, size: int, known: Mapping[int, int]) -> Callable[[int], np.ndarray]:
    """The distributions of variables on a cycle, each pair of neighbours with one table."""

    def at(place: int) -> np.ndarray:
        states = len(transfer)
        product = np.eye(states)
        for step in range(size):
            where = (place + step) % size
            mask = np.zeros(states) if where in known else np.ones(states)
            if where in known:
                mask[known[where]] = 1.0
            product = (product * mask) @ transfer
            product /= product.sum()
        diagonal = np.diag(product)
        return diagonal / diagonal.sum()

    return at
