"""Regions and messages as tables; an iteration is a group-by and a few joins.

A region is a row: the objects of its atoms, its own log potentials t, and its messages m to each
region inside that is next to it. Let n(r) = t(r) + (messages into r) - (messages out of r). Then

    log b(R) = the sum of n(r) over R and all regions inside R
    m(P to C) += rate * (log of P's marginal - log b(C))

which is generalized belief propagation from parents to children: messages between two regions that
both lie inside R cancel. Every atom is a region, and so is every scope of three. A factor over two
atoms is part of the only scope of three around it; if there is none, or more than one, it is a
region. In the family `intersections`, all pairs that several scopes of three share are regions
inside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, combinations
from operator import add

from liftgbp.engines.engine import Column, Engine, Table, joined
from liftgbp.engines.factor_tables import Kind, column

RATE = "rate"
"""The table with the rate of updates, the only number that differs between iterations."""

SMALLEST = 1e-280
"""Sums of probabilities below this have lost digits, and are summed as logarithms. A person with
3500 friends has such ones."""


@dataclass(frozen=True, slots=True)
class Child:
    """A kind of regions inside another kind: which axes of that they have."""

    axes: tuple[int, ...]
    kind: Kind

    @property
    def name(self) -> str:
        """How columns about messages to it begin."""
        return "_".join(map(str, self.axes))

    @property
    def message(self) -> str:
        """How columns of messages to it begin."""
        return f"m{self.name}s"

    @property
    def flag(self) -> str:
        """The column that says whether there is such a region inside."""
        return f"h{self.name}"

    def state(self, whole: Sequence[int]) -> tuple[int, ...]:
        """The state of a region inside that is part of a state of the whole."""
        return tuple(whole[axis] for axis in self.axes)

    def keys_in(self, kind: Kind) -> list[str]:
        """The columns of the whole that hold the objects of its atoms."""
        return [key for axis in self.axes for key in kind.key(axis)]

    def objects(self, table: Table, kind: Kind) -> dict[str, Column]:
        """These columns of a table of the whole, under the names that they have in its own."""
        keys = zip(self.kind.keys, self.keys_in(kind), strict=True)
        return {own: table[key] for own, key in keys}


def parts_of(kind: Kind, size: int) -> list[Child]:
    """The parts of a scope with so many atoms."""
    axes = combinations(range(len(kind.predicates)), size)
    return [Child(own, kind.part(own)) for own in axes]


@dataclass(frozen=True, slots=True)
class RegionKinds:
    """The kinds of regions of a run.

    atoms    single atoms
    pairs    pairs of atoms
    triples  scopes of three
    nested   whether pairs are regions inside scopes of three; in `bethe`, only atoms are

    If they are `compressed`, colours of atoms stand for atoms; see `colour_tables.py`.
    """

    atoms: tuple[Kind, ...]
    pairs: tuple[Kind, ...]
    triples: tuple[Kind, ...]
    nested: bool
    compressed: bool = False

    def pairs_inside(self, kind: Kind) -> list[Child]:
        """The pairs that may lie inside a scope of three."""
        return [child for child in parts_of(kind, 2) if self.nested and child.kind in self.pairs]

    def children(self, kind: Kind) -> list[Child]:
        """The regions that regions of a kind may send messages to."""
        pairs = self.pairs_inside(kind) if len(kind.predicates) == 3 else []
        return pairs + parts_of(kind, 1)

    def is_shared(self, kind: Kind) -> bool:
        """Whether regions of this kind may lie inside scopes of three."""
        return len(kind.predicates) == 2 and any(
            child.kind == kind for triple in self.triples for child in self.pairs_inside(triple)
        )

    def numbers_of(self, kind: Kind) -> int:
        """How many columns the table of the regions of a kind has while messages are passed."""
        if len(kind.predicates) == 1:
            return len(kind.keys) + len(kind.states)
        children = self.children(kind)
        messages = sum(len(child.kind.states) for child in children)
        flags = sum(len(child.axes) == 2 for child in children)
        beliefs = 2 * len(kind.states) if self.is_shared(kind) else 0
        return len(kind.keys) + len(kind.states) + messages + flags + beliefs + 1


def colour_table(kind: Kind) -> str:
    """The table of the colours of the atoms of a kind: their objects, and c."""
    return f"colours_{kind.name}"


def weight(axis: int) -> str:
    """The column that says for how many regions around an atom a row stands; none for one."""
    return f"w{axis}"


class Messages:
    """The region tables of a run, and what an iteration makes of them.

    Iterations read the tables of one parity and write those of the other, so that their SQL is made
    twice, and not each time. Ibis takes longer for it than an engine for a small table.
    """

    def __init__(self, engine: Engine, kinds: RegionKinds) -> None:
        self._engine = engine
        self._ibis = engine.ibis
        self._sql: dict[tuple[str, int], str] = {}
        self.kinds = kinds

    # --- the tables

    @staticmethod
    def region_table(kind: Kind, iteration: int) -> str:
        """The table of the regions of a kind; that of single atoms does not change."""
        return f"regions_{kind.name}" + (f"_{iteration % 2}" if len(kind.predicates) > 1 else "")

    @staticmethod
    def atom_beliefs(kind: Kind) -> str:
        """The table of n and of log b of single atoms."""
        return f"beliefs_{kind.name}"

    def tables(self, iteration: int) -> list[str]:
        """The tables that an iteration leaves, which are all that the next one needs."""
        kinds = (*self.kinds.atoms, *self.kinds.pairs, *self.kinds.triples)
        colours = map(colour_table, self.kinds.atoms if self.kinds.compressed else ())
        return [*colours, *(self.region_table(kind, iteration) for kind in kinds)]

    # --- an iteration

    def step(self, iteration: int, rate: float) -> float:
        """Make the tables of the next iteration; returns the largest change of a message.

        It is infinite if a message is no number any more.
        """
        self._engine.create_as(RATE, f"SELECT CAST('{rate!r}' AS DOUBLE) AS rate")
        self.atoms(iteration)
        largest = 0.0
        for kind in (*self.kinds.pairs, *self.kinds.triples):
            name = self.region_table(kind, iteration + 1)
            new = self._made(name, iteration, partial(self._updated, kind, iteration))
            # Engines take NaN for the largest number of all.
            moved = self._engine.number(new.moved.max())
            if moved is not None:
                largest = max(largest, math.inf if math.isnan(moved) else float(moved))
        return largest

    def atoms(self, iteration: int) -> None:
        """Make the tables of single atoms: n, and the normalised log b."""
        for kind in self.kinds.atoms:
            name = self.atom_beliefs(kind)
            self._made(name, iteration, partial(self._beliefs, kind, iteration))

    def _made(self, name: str, iteration: int, expression: Callable[[], Table]) -> Table:
        """Make a table of an iteration; its expression is the same every second time."""
        key = name, iteration % 2
        if key not in self._sql:
            self._sql[key] = self._engine.sql(expression())
        return self._engine.create_as(name, self._sql[key])

    def _beliefs(self, kind: Kind, iteration: int) -> Table:
        """The single atoms of a kind with n and log b."""
        atoms = self._engine.table(self.region_table(kind, 0))
        potentials = zip(kind.columns("n"), kind.columns("t"), strict=True)
        parts = [atoms.select(*kind.keys, **{n: atoms[t] for n, t in potentials})]
        for other in (*self.kinds.pairs, *self.kinds.triples):
            table = self._engine.table(self.region_table(other, iteration))
            parts += self._into(kind, table, other, parts_of(other, 1))
        numbers = kind.columns("n")
        beliefs = self._normalised(self._engine.summed(parts, kind.keys, numbers), numbers)
        names = {name: beliefs[f"l{place}"] for place, name in enumerate(kind.columns("b"))}
        return beliefs.select(*kind.keys, *numbers, **names)

    def _updated(self, kind: Kind, iteration: int) -> Table:
        """The regions of a kind with new messages."""
        regions = self._engine.table(self.region_table(kind, iteration))
        children = self.kinds.children(kind)
        shared = self.kinds.is_shared(kind)
        table = regions.cross_join(self._engine.table(RATE))
        if shared:
            table = self._with_incoming(table, kind, iteration)
        for child in children:
            table = self._joined(table, child, kind, iteration)
        table = table.mutate(**self._raw(table, kind, children, shared))
        table = self._normalised(table, kind.columns("r"))
        changes = self._changes(table, kind, children)
        table = table.mutate(**{f"d{name}": change for name, change in changes.items()})
        columns: dict[str, Column] = {
            name: table[f"d{name}"] * table.rate + table[name] for name in changes
        }
        if shared:
            columns |= {column("n", s): table[column("n_", s)] for s in kind.states}
            columns |= {name: table[f"l{k}"] for k, name in enumerate(kind.columns("b"))}
        sizes = [table[f"d{name}"].abs() for name in changes]
        columns["moved"] = self._ibis.greatest(*sizes)
        unchanged = [name for name in regions.columns if name not in columns]
        return table.select(*unchanged, **columns)

    # --- parts of it

    def _into(
        self, kind: Kind, table: Table, other: Kind, children: Sequence[Child]
    ) -> list[Table]:
        """The messages of regions of another kind into regions of this kind."""
        parts = []
        for child in children:
            if child.kind == kind:
                numbers = {
                    column("n", state): table[column(child.message, state)] for state in kind.states
                }
                weighted = weight(child.axes[0])
                if weighted in table.columns:
                    numbers = {name: number * table[weighted] for name, number in numbers.items()}
                parts.append(table.select(**child.objects(table, other), **numbers))
        return parts

    def _with_incoming(self, table: Table, kind: Kind, iteration: int) -> Table:
        """Pairs with the sum of the messages from the scopes of three around them."""
        parts = [
            part
            for triple in self.kinds.triples
            for part in self._into(
                kind,
                self._engine.table(self.region_table(triple, iteration)),
                triple,
                self.kinds.pairs_inside(triple),
            )
        ]
        names = {column("n", state): column("i", state) for state in kind.states}
        old = [name for name in table.columns if name in names or name.startswith("b")]
        table = table.drop(*old)
        incoming = self._engine.summed(parts, kind.keys, list(names))
        return joined(table, incoming, kind.keys, kind.keys, names, outer=True)

    def _joined(self, table: Table, child: Child, kind: Kind, iteration: int) -> Table:
        """Regions with n and log b of the regions inside."""
        if len(child.axes) == 1:
            right = self._engine.table(self.atom_beliefs(child.kind))
        else:
            # Pairs come first: those of the next iteration know their n and log b in this one.
            right = self._engine.table(self.region_table(child.kind, iteration + 1))
        names = {
            column(letter, state): column(f"{letter}{child.name}s", state)
            for letter in "nb"
            for state in child.kind.states
        }
        return joined(table, right, child.keys_in(kind), child.kind.keys, names, outer=True)

    def _raw(
        self, table: Table, kind: Kind, children: Sequence[Child], shared: bool
    ) -> dict[str, Column]:
        """The log beliefs before they are normalised, and n of shared regions."""
        columns: dict[str, Column] = {}
        for state in kind.states:
            total = table[column("t", state)]
            if shared:
                total = total + table[column("i", state)]
            for child in children:
                total = total - table[column(child.message, child.state(state))]
            if shared:
                columns[column("n_", state)] = total
            inside = [table[column(f"n{child.name}s", child.state(state))] for child in children]
            columns[column("r", state)] = reduce(add, inside, total)
        return columns

    def _normalised(self, table: Table, names: Sequence[str]) -> Table:
        """The table with columns e (relative probabilities), their sum z, and l (log beliefs)."""
        ibis = self._ibis
        table = table.mutate(top=ibis.greatest(*(table[name] for name in names)))
        table = table.mutate(
            **{f"e{k}": (table[name] - table.top).exp() for k, name in enumerate(names)}
        )
        table = table.mutate(z=reduce(add, [table[f"e{k}"] for k in range(len(names))]))
        table = table.mutate(log_z=table.z.ln())
        return table.mutate(
            **{f"l{k}": table[name] - table.top - table.log_z for k, name in enumerate(names)}
        )

    def _changes(self, table: Table, kind: Kind, children: Sequence[Child]) -> dict[str, Column]:
        """For each message column, how far the parent's marginal is from the child's belief."""
        changes: dict[str, Column] = {}
        flags = [child for child in children if len(child.axes) == 2]
        for child in children:
            for state in child.kind.states:
                inside = [k for k, whole in enumerate(kind.states) if child.state(whole) == state]
                marginal = self._log_sum(table, inside)
                change = marginal - table[column(f"b{child.name}s", state)]
                if len(child.axes) == 2:
                    change = change * table[child.flag]
                else:
                    # An atom hears from a scope of three unless a pair is between them.
                    for pair in flags:
                        if child.axes[0] in pair.axes:
                            change = change * (1.0 - table[pair.flag])
                changes[column(child.message, state)] = change
        return changes

    def _log_sum(self, table: Table, states: Sequence[int]) -> Column:
        """The logarithm of the belief in one of several states."""
        logs = [table[f"l{k}"] for k in states]
        if len(logs) == 1:
            return logs[0]
        total = reduce(add, [table[f"e{k}"] for k in states])
        top = self._ibis.greatest(*logs)
        small = reduce(add, [(log - top).exp() for log in logs]).ln() + top
        usual = self._ibis.greatest(total, SMALLEST).ln() - table.log_z
        return self._ibis.ifelse(total < SMALLEST, small, usual)


# --- the first tables


def build_regions(engine: Engine, factors: dict[Kind, Table], family: str) -> RegionKinds:
    """Make the region tables of iteration 0 from the tables of factors."""
    triples = {kind: table for kind, table in factors.items() if len(kind.predicates) == 3}
    pairs = {kind: table for kind, table in factors.items() if len(kind.predicates) == 2}
    atoms = _atom_regions(engine, factors)
    inside = _pairs_of_triples(engine, triples)
    shared = {kind: table for kind, table in pairs.items() if kind not in inside}
    for kind in inside:
        shared[kind] = _pair_regions(engine, kind, inside, pairs.get(kind), family)
    filled = tuple(kind for kind, table in shared.items() if engine.rows(table.limit(1)))
    kinds = RegionKinds(atoms, filled, tuple(triples), nested=family == "intersections")
    for kind in filled:
        with_messages(engine, kinds, kind, shared[kind])
    for kind, table in triples.items():
        whole = _with_merged(table, kind, inside, pairs)
        for child in kinds.pairs_inside(kind):
            whole = _flagged(engine, whole, kind, child)
        with_messages(engine, kinds, kind, whole)
    return kinds


def _zeros(engine: Engine, kind: Kind) -> dict[str, Column]:
    return dict.fromkeys(kind.columns("t"), engine.constant(0.0))


def _atom_regions(engine: Engine, factors: dict[Kind, Table]) -> tuple[Kind, ...]:
    """Every atom of a factor, with the potentials of factors over this atom alone."""
    parts: dict[Kind, list[Table]] = {}
    for kind, table in factors.items():
        if len(kind.predicates) == 1:
            parts.setdefault(kind, []).append(table.select(*kind.keys, *kind.columns("t")))
            continue
        for child in parts_of(kind, 1):
            row = table.select(**child.objects(table, kind), **_zeros(engine, child.kind))
            parts.setdefault(child.kind, []).append(row)
    for atom, some in parts.items():
        whole = engine.summed(some, atom.keys, atom.columns("t"))
        engine.create(Messages.region_table(atom, 0), whole)
    return tuple(parts)


def _pairs_of_triples(engine: Engine, triples: dict[Kind, Table]) -> dict[Kind, Table]:
    """How many scopes of three each pair of atoms lies in."""
    parts: dict[Kind, list[Table]] = {}
    for kind, table in triples.items():
        for child in parts_of(kind, 2):
            parts.setdefault(child.kind, []).append(table.select(**child.objects(table, kind)))
    tables = {}
    for kind, some in parts.items():
        whole = engine.union(some)
        counted = whole.group_by(kind.keys).aggregate(around=whole.count())
        tables[kind] = engine.create(f"inside_{kind.name}", counted)
    return tables


def _once(kind: Kind, inside: dict[Kind, Table]) -> Table:
    """The pairs that lie in one scope of three only."""
    counts = inside[kind]
    return counts.filter(counts.around == 1).select(*kind.keys)


def _pair_regions(
    engine: Engine, kind: Kind, inside: dict[Kind, Table], factors: Table | None, family: str
) -> Table:
    """The pairs that are regions: those in no scope of three, and those that several share."""
    several = inside[kind].filter(inside[kind].around > 1)
    several = several.select(*kind.keys, **_zeros(engine, kind))
    parts = [several if family == "intersections" else several.limit(0)]
    if factors is not None:
        left = factors.anti_join(_once(kind, inside), kind.keys)
        parts.append(left.select(*kind.keys, *kind.columns("t")))
    whole = engine.summed(parts, kind.keys, kind.columns("t"))
    return engine.create(f"pairs_{kind.name}", whole)


def _flagged(engine: Engine, table: Table, kind: Kind, child: Child) -> Table:
    """Scopes of three with a column that is 1 where this pair of theirs is a region."""
    regions = engine.table(Messages.region_table(child.kind, 0))
    marked = regions.select(*child.kind.keys, one=engine.constant(1.0))
    return joined(
        table, marked, child.keys_in(kind), child.kind.keys, {"one": child.flag}, outer=True
    )


def _with_merged(
    table: Table, kind: Kind, inside: dict[Kind, Table], pairs: dict[Kind, Table]
) -> Table:
    """Scopes of three with the potentials of pairs that lie in no other one."""
    for child in parts_of(kind, 2):
        if child.kind not in pairs:
            continue
        merged = pairs[child.kind].semi_join(_once(child.kind, inside), child.kind.keys)
        names = dict(zip(child.kind.columns("t"), child.kind.columns("p"), strict=True))
        table = joined(table, merged, child.keys_in(kind), child.kind.keys, names, outer=True)
        sums = {
            column("t", state): table[column("t", state)] + table[column("p", child.state(state))]
            for state in kind.states
        }
        table = table.mutate(**sums).drop(*names.values())
    return table


def with_messages(engine: Engine, kinds: RegionKinds, kind: Kind, table: Table) -> None:
    """Make the region table of iteration 0, with messages that say nothing."""
    zero = engine.constant(0.0)
    messages = (child.kind.columns(child.message) for child in kinds.children(kind))
    columns = dict.fromkeys(chain.from_iterable(messages), zero)
    engine.create(Messages.region_table(kind, 0), table.mutate(**columns, moved=zero))
