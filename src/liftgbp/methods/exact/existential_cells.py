"""Exact answers with quantifiers over large sorts: a sum over counts of cells.

`EXIST y r(x,y)` is an atom of its own, which is part of the cell of x. Given all cells, the pairs
of objects are independent, so no y satisfies the body with the probability R, a product over the
counts of cells; some y does with 1 - R. Both are positive, so nothing cancels, as it does where
Skolem functions have negative weights (G. Van den Broeck, W. Meert and A. Darwiche,
*Skolemization for weighted first-order model counting*, KR 2014). What one object sees of another
must not depend on what the other sees of it: a symmetric relation is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from liftgbp.lift.shatter.normal import NormalModel, Obj, ObjAtom
from liftgbp.lift.shatter.rule_tables import Labels, RuleTables
from liftgbp.lift.signature import objects_of
from liftgbp.methods.exact.cells import ROUNDING, all_counts, log_factorials
from liftgbp.methods.exact.pair_tables import NoCellsError, PairTables, placeholders
from liftgbp.model.rewriting import QuantifierDefinition
from liftgbp.posterior import Source
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import CapacityError, ContradictionError, QueryError

NEVER, NONE, SOME, SURELY = range(4)
"""What the cell of an object means for a definition: it is impossible; no other object may satisfy
the body, or some other must; the object itself satisfies it."""

SAME = 1e-9
"""How far probabilities of independent events may be from their product."""

MOST_VISITED = 2**25
"""The most entries of arrays over all counts."""


@dataclass(frozen=True, eq=False, slots=True)
class _Class:
    """The cells of a class; those that look alike to all others are one group.

    size    how many objects it has
    group   (C) the group of each cell, -1 for impossible ones
    means   (D, C) what each cell means for each definition
    weights (W, C) the logarithm of the weight of each cell
    """

    cls: int
    size: int
    group: Ints
    means: Ints
    weights: Floats

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1

    @property
    def examples(self) -> list[int]:
        """A cell of each group."""
        return [int((self.group == group).argmax()) for group in range(self.groups)]

    def meanings(self, group: int) -> list[tuple[int, ...]]:
        own = self.means[:, self.group == group]
        return sorted({tuple(column) for column in own.T.tolist()})

    def with_meaning(self, group: int, meaning: Sequence[int]) -> Ints:
        alike = (self.means == np.array(meaning, int)[:, None]).all(axis=0)
        return np.flatnonzero((self.group == group) & alike)


class ExistentialCells(Source):
    """The sum over the counts of cells under definitions of existential atoms."""

    def __init__(
        self, normal: NormalModel, definitions: Sequence[QuantifierDefinition], most_terms: int
    ) -> None:
        """Sum over all counts; more than `most_terms` of them are a `CapacityError`."""
        self._normal = normal
        self._definitions = definitions
        self._tables = PairTables(normal)
        if self._tables.worlds != 1:
            raise NoCellsError("quantifiers over large sorts do not go with atoms without objects")
        rule_tables = [
            RuleTables(normal.model, own.rule, normal.sizes, normal.table_cap)
            for own in definitions
        ]
        self._bodies = [
            _Body(normal, own, tables) for own, tables in zip(definitions, rule_tables, strict=True)
        ]
        self._sees = {
            (a, b): self._seen(a, b)
            for a in range(self._tables.classes)
            for b in range(self._tables.classes)
        }
        self._classes = [self._class(cls) for cls in range(self._tables.classes)]
        self.terms = math.prod(
            math.comb(own.size + own.groups - 1, own.groups - 1) for own in self._classes
        )
        if self.terms > most_terms:
            raise CapacityError(
                f"there are {self.terms} ways to count who has which properties, above {most_terms}"
            )
        self._counts = all_counts([(own.size, own.groups) for own in self._classes])
        if self._counts.size * (1 + len(definitions)) > MOST_VISITED:
            raise CapacityError("the counts of all groups take too much memory")
        self._starts = np.cumsum([0, *(own.groups for own in self._classes)]).tolist()
        self._offset, self._log_pairs = self._paired()
        self._single = {
            place: self._log_single(*place)
            for own in self._classes
            for place in ((own.cls, group) for group in range(own.groups))
        }
        logs = self._weighed()
        top = logs.max()
        if top == -math.inf:
            raise ContradictionError("the hard formulas leave no possible world")
        shares = np.exp(logs - top)
        self.log_z = float(self._offset + top + math.log(shares.sum()))
        self._shares = shares / shares.sum()

    # --- pairs

    def _seen(self, a: int, b: int) -> Floats:
        """(D, Ca, Cb): the log of how likely an object of class b does not satisfy the bodies of
        one of class a, given both cells."""
        first, second = self._tables.objects(a, b)
        shape = self._tables.cells(a), self._tables.cells(b)
        seen = np.zeros((len(self._definitions), *shape))
        if a == b and self._normal.class_sizes[a] < 2:
            return seen
        table, axes = self._tables.with_pair(first, second)
        logs = table.reshape(*shape, -1)
        total = np.logaddexp.reduce(logs, axis=-1)
        bits = []
        for d, body in enumerate(self._bodies):
            for x, y in ((first, second), (second, first)):
                if not body.applies(x, y):
                    continue
                holds = body.spread(x, y, axes, table.shape).reshape(logs.shape)
                bits.append(holds)
                if (x, y) == (first, second):
                    seen[d] = self._given(np.where(holds, -np.inf, logs), total)
        self._check_independent(bits, logs, total)
        return seen

    @staticmethod
    def _given(logs: Floats, total: Floats) -> Floats:
        """The log of a part over that of the whole; of an impossible whole, all."""
        own: Floats = np.logaddexp.reduce(logs, axis=-1)
        return np.asarray(np.subtract(own, total, out=np.zeros_like(own), where=total > -np.inf))

    def _check_independent(self, bits: Sequence[Bools], logs: Floats, total: Floats) -> None:
        for number in range(2, len(bits) + 1):
            for chosen in combinations(bits, number):
                none = np.logical_or.reduce(chosen)
                together = np.exp(self._given(np.where(none, -np.inf, logs), total))
                apart = np.prod(
                    [np.exp(self._given(np.where(b, -np.inf, logs), total)) for b in chosen], axis=0
                )
                if np.abs(together - apart).max(initial=0.0) > SAME:
                    raise NoCellsError(
                        "quantifiers over large sorts are about atoms that depend on each other"
                    )

    def _class(self, cls: int) -> _Class:
        weights = self._tables.single(cls)
        means = np.array([body.means(cls, self._tables) for body in self._bodies])
        means = means.reshape(len(self._bodies), weights.shape[1])
        possible = np.flatnonzero((weights > -np.inf).any(axis=0) & ~(means == NEVER).any(axis=0))
        if not len(possible):
            raise ContradictionError("the hard formulas leave an object no possible cell")
        cells = weights.shape[1]
        columns = []
        for other in range(self._tables.classes):
            columns += [
                np.moveaxis(self._tables.pair(cls, other), 1, 0).reshape(cells, -1),
                np.moveaxis(self._sees[cls, other], 1, 0).reshape(cells, -1),
                np.moveaxis(self._sees[other, cls], 2, 0).reshape(cells, -1),
            ]
        rows = np.concatenate(columns, axis=1)[possible]
        _, inverse = np.unique(rows.round(12), axis=0, return_inverse=True)
        group = np.full(cells, -1)
        group[possible] = inverse.ravel()
        return _Class(cls, self._normal.class_sizes[cls], group, means, weights)

    def _paired(self) -> tuple[float, Floats]:
        """What all pairs add together, and what is left for pairs of groups.

        Large domains have so many pairs that what all have in common would hide the rest.
        """
        offset = 0.0
        rows = []
        for one in self._classes:
            row = []
            for other in self._classes:
                table = self._tables.pair(one.cls, other.cls)[0]
                block = table[np.ix_(one.examples, other.examples)]
                common = float(block[block > -np.inf].max(initial=-np.inf))
                common = common if common > -np.inf else 0.0
                pairs = one.size * (one.size - 1) if one is other else one.size * other.size
                offset += common * pairs / 2
                row.append(block - common)
            rows.append(row)
        return offset, np.block(rows) if rows else np.zeros((0, 0))

    # --- weights

    def _log_none(self, d: int, cls: int, group: int, *, besides: int | None = None) -> Floats:
        """For each count, the log of R: no other object satisfies the body of one in a group.

        `besides` is the column of the group of one more object that is left out.
        """
        own = self._classes[cls]
        seen = (self._sees[cls, o.cls][d][own.examples[group]][o.examples] for o in self._classes)
        logs = np.concatenate(list(seen))
        others = self._counts.astype(float)
        others[:, self._starts[cls] + group] -= 1
        if besides is not None:
            others[:, besides] -= 1
        others = np.maximum(others, 0.0)
        never = np.isneginf(logs)
        found = others @ np.where(never, 0.0, logs)
        found[(others[:, never] > 0).any(axis=1)] = -np.inf
        return np.asarray(np.minimum(found, 0.0))

    def _log_meaning(self, cls: int, group: int, meaning: Sequence[int]) -> Floats:
        """For each count, the log of how likely all that a cell means comes true."""
        total = np.zeros(len(self._counts))
        for d, kind in enumerate(meaning):
            if kind == NONE:
                total = total + self._log_none(d, cls, group)
            elif kind == SOME:
                total = total + _log_complement(self._log_none(d, cls, group))
        return total

    def _log_single(self, cls: int, group: int) -> Floats:
        """For each count, the log of the weight of an object in a group."""
        own = self._classes[cls]
        total = np.full(len(self._counts), -np.inf)
        for meaning in own.meanings(group):
            weight = np.logaddexp.reduce(own.weights[0][own.with_meaning(group, meaning)])
            total = np.logaddexp(total, weight + self._log_meaning(cls, group, meaning))
        return total

    def _weighed(self) -> Floats:
        counts = self._counts.astype(float)
        logs = -log_factorials(self._counts).sum(axis=1)
        logs += sum(math.lgamma(own.size + 1) for own in self._classes)
        pairs = self._log_pairs
        barred = np.isneginf(pairs).astype(float)
        pairs = np.where(barred > 0, 0.0, pairs)
        logs += np.einsum("ti,ij,tj->t", counts, pairs, counts, optimize=True) / 2
        logs -= counts @ np.diag(pairs) / 2
        occurs = np.einsum("ti,ij,tj->t", counts, barred, counts, optimize=True)
        occurs -= counts @ np.diag(barred)
        logs[occurs > 0] = -np.inf
        for (cls, group), single in self._single.items():
            number = counts[:, self._starts[cls] + group]
            with np.errstate(invalid="ignore"):
                logs += np.where(number > 0, number * single, 0.0)
        largest = np.abs(logs[logs > -np.inf]).max(initial=0.0)
        if len(logs) > 1 and largest * np.finfo(float).eps > ROUNDING:
            raise CapacityError("the weights of counts have more digits than doubles")
        return np.asarray(logs)

    # --- distributions

    def holds(self, atom: ObjAtom) -> bool:
        """Whether factors are about an atom."""
        return self._tables.holds(atom)

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of different atoms about at most two objects, one axis each."""
        objects = sorted(objects_of(atoms))
        if len(objects) > 2:
            raise QueryError("with quantifiers over large sorts, queries are about two objects")
        if not objects:
            return np.ones(())
        placed = placeholders(objects)
        moved = [(p, tuple(placed[obj] for obj in args)) for p, args in atoms]
        mine = [placed[obj] for obj in objects]
        if len(mine) == 1:
            table, axes = self._one(mine[0]), self._tables.about(mine[0])
        else:
            table, axes = self._two(mine[0], mine[1])
        shape = [self._normal.ranges[p] for p, _ in axes]
        wanted = [axes.index(atom) for atom in moved]
        others = tuple(k for k in range(len(axes)) if k not in wanted)
        summed = table.reshape(shape).sum(axis=others)
        return np.asarray(summed.transpose([sorted(wanted).index(axis) for axis in wanted]))

    def _one(self, obj: Obj) -> Floats:
        """The distribution of the cell of an object."""
        own = self._classes[obj[0]]
        found = np.zeros(len(own.group))
        for group in range(own.groups):
            number = self._counts[:, self._starts[own.cls] + group] / own.size
            single = self._single[own.cls, group]
            for meaning in own.meanings(group):
                log = self._log_meaning(own.cls, group, meaning)
                cells = own.with_meaning(group, meaning)
                found[cells] = self._mean(number, log, [single]) * np.exp(own.weights[0][cells])
        return found

    def _mean(self, chance: Floats, log: Floats, singles: Sequence[Floats]) -> float:
        """The mean over counts of a chance, where parts of groups replace whole ones."""
        inside = (chance > 0) & (log > -np.inf)
        for single in singles:
            inside &= single > -np.inf
        total = log[inside] - sum(single[inside] for single in singles)
        return float((self._shares[inside] * chance[inside]) @ np.exp(total))

    def _two(self, first: Obj, second: Obj) -> tuple[Floats, tuple[ObjAtom, ...]]:
        """The distribution of all atoms about two objects."""
        table, axes = self._tables.with_pair(first, second)
        one, other = self._classes[first[0]], self._classes[second[0]]
        logs = table.reshape(len(one.group), len(other.group), -1)
        total = np.logaddexp.reduce(logs, axis=-1)[..., None]
        given = np.exp(
            np.subtract(logs, total, out=np.full_like(logs, -np.inf), where=total > -np.inf)
        )
        found = np.zeros_like(logs)
        holds = {
            (d, side): body.spread(x, y, axes, table.shape).reshape(logs.shape)
            for d, body in enumerate(self._bodies)
            for side, (x, y) in enumerate(((first, second), (second, first)))
            if body.applies(x, y)
        }
        for g, h in product(range(one.groups), range(other.groups)):
            a, b = self._starts[one.cls] + g, self._starts[other.cls] + h
            chance = self._counts[:, a] / one.size
            left = other.size - 1 if one is other else other.size
            chance = (
                chance * np.maximum(self._counts[:, b] - (1 if a == b else 0), 0) / max(1, left)
            )
            singles = [self._single[one.cls, g], self._single[other.cls, h]]
            for means in product(one.meanings(g), other.meanings(h)):
                cells = np.ix_(one.with_meaning(g, means[0]), other.with_meaning(h, means[1]))
                weight = np.exp(one.weights[0][cells[0]] + other.weights[0][cells[1]])[..., None]
                for bits in product((False, True), repeat=len(holds)):
                    state = dict(zip(holds, bits, strict=True))
                    log = self._log_states(means, state, (one.cls, g, a), (other.cls, h, b))
                    alike = np.ones(found[cells].shape, bool)
                    for key, bit in state.items():
                        alike &= holds[key][cells] == bit
                    found[cells] += np.where(
                        alike, self._mean(chance, log, singles) * weight * given[cells], 0.0
                    )
        return found, axes

    def _log_states(
        self,
        means: tuple[Sequence[int], Sequence[int]],
        state: Mapping[tuple[int, int], bool],
        one: tuple[int, int, int],
        other: tuple[int, int, int],
    ) -> Floats:
        """For each count, the log of how likely what two cells mean comes true.

        `state` says for definitions and sides whether the other object satisfies the body.
        """
        total = np.zeros(len(self._counts))
        for side, (cls, group, _) in enumerate((one, other)):
            column = (other, one)[side][2]
            for d, kind in enumerate(means[side]):
                if kind == SURELY:
                    continue
                bit = state.get((d, side), False)
                known = (d, side) in state
                none = self._log_none(d, cls, group, besides=column if known else None)
                if kind == NONE:
                    total = np.full_like(total, -np.inf) if bit else total + none
                elif not bit:
                    total = total + _log_complement(none)
        return total


class _Body:
    """The body of a definition over placeholders."""

    def __init__(self, normal: NormalModel, own: QuantifierDefinition, tables: RuleTables) -> None:
        self._normal = normal
        self._own = own
        self._tables = tables
        self._number = normal.predicate_number[own.stand_in.name]
        self._constants = {
            (c.sort, c.constant): (k, 0)
            for k, c in enumerate(normal.classes)
            if c.constant is not None
        }

    def applies(self, x: Obj, y: Obj) -> bool:
        """Whether two objects are of the sorts of the variables."""
        classes = self._normal.classes
        sorts = self._own.sorts
        return (classes[x[0]].sort, classes[y[0]].sort) == (
            sorts[self._own.outer],
            sorts[self._own.inner],
        )

    def truth(self, x: Obj, y: Obj) -> tuple[tuple[ObjAtom, ...], Bools]:
        """The unknown atoms of the body, and in which of their states it holds."""
        objects = list(dict.fromkeys([x, y, *self._constants.values()]))
        label = {obj: k for k, obj in enumerate(objects)}
        labels = Labels(
            variables=((self._own.outer, label[x]), (self._own.inner, label[y])),
            constants=tuple((key, label[obj]) for key, obj in self._constants.items()),
            domains=(),
        )
        named, truth = self._tables.truth(self._own.body, labels)
        atoms = [(p, tuple(objects[k] for k in args)) for p, args in named]
        values = [self._normal.observations.value(atom) for atom in atoms]
        left = tuple(a for a, value in zip(atoms, values, strict=True) if value is None)
        if any(obj not in (x, y) for _, args in left for obj in args):
            raise NoCellsError("a quantifier over a large sort is about a named object")
        return left, truth[tuple(slice(None) if v is None else v for v in values)]

    def spread(self, x: Obj, y: Obj, axes: Sequence[ObjAtom], shape: Sequence[int]) -> Bools:
        """In which states of more atoms the body holds."""
        atoms, truth = self.truth(x, y)
        order = sorted(range(len(atoms)), key=lambda k: axes.index(atoms[k]))
        own = [size if atom in atoms else 1 for atom, size in zip(axes, shape, strict=True)]
        return np.broadcast_to(truth.transpose(order).reshape(own), tuple(shape))

    def means(self, cls: int, tables: PairTables) -> Ints:
        """What each cell of a class means for the definition."""
        obj = (cls, 0)
        axes = tables.about(obj)
        shape = [self._normal.ranges[p] for p, _ in axes]
        sort = self._normal.classes[cls].sort
        if sort != self._own.sorts[self._own.outer]:
            return np.full(math.prod(shape), SURELY)
        stand_in = np.indices(shape)[axes.index((self._number, (obj,)))].ravel() == 1
        itself = np.zeros(stand_in.shape, bool)
        if self.applies(obj, obj):
            itself = self.spread(obj, obj, axes, shape).ravel()
        return np.where(itself, np.where(stand_in, SURELY, NEVER), np.where(stand_in, SOME, NONE))


def _log_complement(logs: Floats) -> Floats:
    """The log of one minus a probability, given its log."""
    with np.errstate(divide="ignore"):
        return np.where(
            logs > -math.log(2), np.log(-np.expm1(np.minimum(logs, 0.0))), np.log1p(-np.exp(logs))
        )
