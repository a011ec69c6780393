"""A plain sampler: Gibbs sampling of ground atoms, with moves of whole objects and temperatures.

It knows the ground model of `liftgbp.oracle.reference`, and nothing of the engine. Atoms without a
common factor are drawn together, in all chains at once. Between sweeps

- two objects change places, where the model says the same of both, as far as facts allow;
- an object leaves its class of a symmetric relation and joins that of another, or stays alone:
  it takes over the row of the other (Metropolis and Hastings);
- chains of neighbouring temperatures exchange their worlds.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.oracle.reference import GroundAtom, GroundModel

NEVER = -1e4
"""The log weight of what hard formulas rule out."""


@dataclass(frozen=True)
class _Batch:
    """Atoms without a common factor, and for each the factors that it is in.

    The factors of an atom are a number of a table of log odds, and the other atoms of its scope.
    """

    atoms: np.ndarray
    tables: np.ndarray
    others: np.ndarray


class Chains:
    """Worlds of many chains at several temperatures; `beta` multiplies soft weights.

    `known` are atoms with fixed values. With `symmetric`, r(x,y) and r(y,x) are one atom for these
    predicates. A world is a column of `worlds`; the last row is always 0.
    """

    def __init__(
        self,
        ground: GroundModel,
        known: Mapping[GroundAtom, int],
        *,
        symmetric: Sequence[str] = (),
        copies: int = 32,
        betas: Sequence[float] = (1.0,),
        seed: int = 0,
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._symmetric = symmetric
        atoms = sorted({self._one(atom) for atom in ground.atoms})
        self.number = {atom: k for k, atom in enumerate(atoms)}
        self.known = {self.number[self._one(atom)]: value for atom, value in known.items()}
        self._betas = np.array(betas)
        self._level = np.tile(np.arange(len(betas)), copies)
        self._copies = copies
        self.worlds = np.zeros((len(atoms) + 1, copies * len(betas)), np.uint8)
        for atom, value in self.known.items():
            self.worlds[atom] = value
        self._row_cache: dict[str, np.ndarray] = {}
        self._factors(ground)

    def _one(self, atom: GroundAtom) -> GroundAtom:
        if atom.predicate in self._symmetric:
            return GroundAtom(atom.predicate, tuple(sorted(atom.objects)))
        return atom

    def __getitem__(self, atom: GroundAtom) -> int:
        """The number of an atom."""
        return self.number[self._one(atom)]

    # --- factors

    def _factors(self, ground: GroundModel) -> None:
        merged: dict[tuple[int, ...], np.ndarray] = {}
        for factor in ground.factors:
            places = [self[atom] for atom in factor.scope]
            scope = tuple(sorted(set(places)))
            letters = [scope.index(place) for place in places]
            table = np.maximum(np.einsum(factor.log_table, letters, range(len(scope))), NEVER)
            if any(length != 2 for length in table.shape):
                raise ValueError("only Boolean atoms are sampled")
            merged[scope] = merged.get(scope, 0.0) + table
        self._widest = max(map(len, merged))
        self._scopes: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        by_width: dict[int, list[tuple[tuple[int, ...], np.ndarray]]] = defaultdict(list)
        for scope, table in merged.items():
            by_width[len(scope)].append((scope, table))
        for width, rows in by_width.items():
            scopes = np.array([scope for scope, _ in rows])
            self._scopes[width] = scopes, np.array([table.ravel() for _, table in rows])
        self._batches = list(self._batched(merged))

    def _batched(self, merged: Mapping[tuple[int, ...], np.ndarray]) -> Iterator[_Batch]:
        around: dict[int, list[tuple[tuple[int, ...], np.ndarray]]] = defaultdict(list)
        beside: dict[int, set[int]] = defaultdict(set)
        for scope, table in merged.items():
            for atom in scope:
                around[atom].append((scope, table))
                beside[atom].update(scope)
        colour: dict[int, int] = {}
        for atom in range(len(self.number)):
            taken = {colour.get(other) for other in beside[atom]}
            if atom not in self.known:
                colour[atom] = next(c for c in range(len(self.number)) if c not in taken)
        kinds: dict[bytes, int] = {}
        rows: list[np.ndarray] = []
        nowhere = len(self.number)
        for own in range(max(colour.values()) + 1):
            atoms = [atom for atom, c in colour.items() if c == own]
            most = max(len(around[atom]) for atom in atoms)
            tables = np.zeros((len(atoms), max(1, most)), np.int64)
            others = np.full((*tables.shape, self._widest - 1), nowhere)
            for i, atom in enumerate(atoms):
                for j, (scope, table) in enumerate(around[atom]):
                    axis = scope.index(atom)
                    odds = np.diff(table, axis=axis).squeeze(axis)
                    missing = self._widest - 1 - odds.ndim
                    odds = np.broadcast_to(
                        odds.reshape(odds.shape + (1,) * missing), (2,) * (self._widest - 1)
                    )
                    key = np.ascontiguousarray(odds).tobytes()
                    if key not in kinds:
                        kinds[key] = len(kinds) + 1
                        rows.append(odds.ravel())
                    tables[i, j] = kinds[key]
                    others[i, j, : len(scope) - 1] = [a for a in scope if a != atom]
            yield _Batch(np.array(atoms), tables, others)
        # Table 0 is that of no factor. Hard tables are the same at all temperatures.
        self._odds = np.array([np.zeros(2 ** (self._widest - 1)), *rows])
        self._hard_odds = np.where(np.abs(self._odds) > -NEVER / 2, self._odds, 0.0)

    # --- moves

    def sweep(self) -> None:
        """Draw every atom once."""
        soft = (self._odds - self._hard_odds).ravel()
        hard = self._hard_odds.ravel()
        beta = self._betas[self._level]
        width = self._widest - 1
        has_hard = bool(hard.any())
        for batch in self._batches:
            entry = batch.tables[..., None] << width
            entry = np.broadcast_to(entry, (*batch.tables.shape, self.worlds.shape[1])).astype(
                np.int32
            )
            for k in range(width):
                entry += self.worlds[batch.others[..., k]].astype(np.int32) << (width - 1 - k)
            odds = beta * soft[entry].sum(axis=1)
            if has_hard:
                odds = odds + hard[entry].sum(axis=1)
            drawn = self._random.logistic(size=odds.shape)
            self.worlds[batch.atoms] = drawn < odds

    def log_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """The log weights of all worlds: the soft ones, and what hard formulas rule out."""
        soft, hard = np.zeros(self.worlds.shape[1]), np.zeros(self.worlds.shape[1])
        for width, (scopes, tables) in self._scopes.items():
            entry = np.zeros((len(scopes), self.worlds.shape[1]), np.int64)
            for k in range(width):
                entry = 2 * entry + self.worlds[scopes[:, k]]
            logs = np.take_along_axis(tables, entry, axis=1)
            is_hard = logs < NEVER / 2
            hard += np.where(is_hard, logs, 0.0).sum(axis=0)
            soft += np.where(is_hard, 0.0, logs).sum(axis=0)
        return soft, hard

    def exchange(self) -> float:
        """Let neighbouring temperatures of each copy exchange their worlds; the accepted part."""
        levels = len(self._betas)
        if levels == 1:
            return 1.0
        soft, _ = self.log_weights()
        at = np.argsort(self._level.reshape(self._copies, levels), axis=1)
        at += np.arange(self._copies)[:, None] * levels
        accepted = []
        for first in range(levels - 1):
            one, other = at[:, first], at[:, first + 1]
            gap = (self._betas[first] - self._betas[first + 1]) * (soft[other] - soft[one])
            swap = np.log(self._random.random(len(one))) < gap
            self._level[one[swap]], self._level[other[swap]] = first + 1, first
            at[swap, first], at[swap, first + 1] = other[swap], one[swap]
            accepted.append(swap.mean())
        return float(np.mean(accepted))

    def change_places(self, sort_of: Mapping[str, Sequence[str]], sort: str, size: int) -> None:
        """Two objects of a sort change places in each world, unless facts would change."""
        one, other = self._random.choice(size, 2, replace=False)
        turned = {int(one): int(other), int(other): int(one)}
        source = np.arange(len(self.worlds))
        for atom, number in self.number.items():
            sorts = sort_of[atom.predicate]
            objects = tuple(
                turned.get(o, o) if s == sort else o
                for o, s in zip(atom.objects, sorts, strict=True)
            )
            source[number] = self[GroundAtom(atom.predicate, objects)]
        moved = self.worlds[source]
        values = np.array(list(self.known.values()))[:, None]
        fits = np.all(moved[list(self.known)] == values, axis=0) if self.known else slice(None)
        self.worlds[:, fits] = moved[:, fits]

    def join(self, predicate: str, size: int) -> None:
        """An object takes over the row of another one in a symmetric relation, or is alone."""
        mover = int(self._random.integers(size))
        rows = self._rows(predicate, size)
        before = self.worlds.copy()
        chains = np.arange(before.shape[1])
        others = np.delete(np.arange(size), mover)
        # The row of somebody whom the mover joins: the same as theirs, and true for them.
        offered = before[rows][others]  # whom, with whom, chain
        offered[np.arange(size - 1), others] = 1
        offered = offered[:, others]
        offered = np.concatenate([offered, np.zeros((1, *offered.shape[1:]), np.uint8)])
        chosen = self._random.integers(size, size=len(chains))
        new = offered[chosen, :, chains].T
        old = before[rows[mover, others]]
        # What is offered depends on the rows of others among themselves, which stay.
        forth = np.all(offered == new, axis=1).sum(axis=0)
        back = np.all(offered == old, axis=1).sum(axis=0)
        weights = self.log_weights()
        self.worlds[rows[mover, others]] = new
        changed = self.log_weights()
        gain = self._betas[self._level] * (changed[0] - weights[0]) + changed[1] - weights[1]
        with np.errstate(divide="ignore"):
            gain += np.log(back) - np.log(forth)
        for atom, value in self.known.items():
            gain[self.worlds[atom] != value] = -np.inf
        refused = ~(np.log(self._random.random(len(chains))) < gain)
        self.worlds[:, refused] = before[:, refused]

    def _rows(self, predicate: str, size: int) -> np.ndarray:
        """The atoms of a relation by their objects; nowhere for one of an object and itself."""
        if predicate not in self._row_cache:
            rows = np.full((size, size), len(self.number))
            for a, b in itertools.permutations(range(size), 2):
                rows[a, b] = self[GroundAtom(predicate, (a, b))]
            self._row_cache[predicate] = rows
        return self._row_cache[predicate]

    @property
    def by_copy(self) -> np.ndarray:
        """The worlds at the first temperature, one column for each copy in its order."""
        return self.worlds[:, np.flatnonzero(self._level == 0)]
