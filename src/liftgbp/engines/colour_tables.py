"""Atoms that behave alike, found by joins: messages are passed between kinds of atoms only.

Every atom has a colour, which is a number. A round gives it a new one, from its own colour and, for
each pair around it, the potentials as they look from this atom and the colour of the other atom.
When rounds find no more colours, atoms of one colour send and receive the same messages, and one
pair for each combination of colours and potentials is enough. A message then counts as often as
such pairs are around an atom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from liftgbp.engines.engine import Column, Engine, Table, joined
from liftgbp.engines.factor_tables import Kind, column
from liftgbp.engines.message_tables import (
    Messages,
    RegionKinds,
    colour_table,
    parts_of,
    weight,
    with_messages,
)
from liftgbp.support.progress import Progress

WORTHWHILE = 0.25
"""Colours for each atom above which messages are passed between atoms. Rounds stop there: after two
of them, in a network of friends where hardly two people are alike."""

DIGITS = 12
"""Digits of potentials that count: sums over the same numbers may differ beyond."""

HALF = 2**31
"""Signals are added in two halves, which keeps sums of 2^31 of them within 64 bits."""


def by_colour(kind: Kind) -> Kind:
    """The kind of the same scopes over colours: one number stands for the objects of an atom."""
    return Kind(kind.predicates, (1,) * len(kind.predicates), kind.shape)


def compressed(engine: Engine, kinds: RegionKinds, progress: Progress) -> RegionKinds | None:
    """Make the region tables of colours instead of atoms; None if there are too many of them.

    Scopes of three are not compressed.
    """
    if kinds.triples or not kinds.pairs:
        return None
    colours = _Colours(engine, kinds)
    last = 0
    while True:
        progress("comparing atoms", 0, 1)
        number = colours.count()
        if number > WORTHWHILE * colours.atoms:
            return None
        if number == last:
            return colours.quotient()
        last = number
        colours.refine()


class _Colours:
    """The colours of all atoms, which refine those of the round before."""

    def __init__(self, engine: Engine, kinds: RegionKinds) -> None:
        self._engine = engine
        self._kinds = kinds
        self.atoms = 0
        for kind in kinds.atoms:
            table = engine.table(Messages.region_table(kind, 0))
            label = self._label(table, kind, (0,), 0)
            engine.create(colour_table(kind), table.select(*kind.keys, c=label))
            self.atoms += int(engine.number(table.count()))
        for number, kind in enumerate(kinds.pairs):
            table = engine.table(Messages.region_table(kind, 0))
            alike = kind.predicates[0] == kind.predicates[1]
            salts = 2 * number, 2 * number + (0 if alike else 1)
            labels = {
                f"l{axis}": self._label(table, kind, (axis, 1 - axis), salts[axis])
                for axis in (0, 1)
            }
            engine.create(f"labels_{kind.name}", table.select(*kind.keys, **labels))

    def count(self) -> int:
        """How many colours there are."""
        tables = (self._engine.table(colour_table(kind)) for kind in self._kinds.atoms)
        return sum(int(self._engine.number(table.c.nunique())) for table in tables)

    def refine(self) -> None:
        """One round."""
        for kind in self._kinds.atoms:
            self._engine.create(f"next_{kind.name}", self._refined(kind))
        for kind in self._kinds.atoms:
            self._engine.create(colour_table(kind), self._engine.table(f"next_{kind.name}"))
            self._engine.drop(f"next_{kind.name}")

    def _refined(self, kind: Kind) -> Table:
        engine = self._engine
        colours, signals = engine.table(colour_table(kind)), self._signals(kind)
        if not signals:
            return colours
        sums = engine.summed(signals, kind.keys, ["low", "high"])
        sums = sums.rename({f"right_{key}": key for key in kind.keys})
        matches = [colours[key] == sums[f"right_{key}"] for key in kind.keys]
        both = colours.left_join(sums, matches)
        low, high = (both[name].fill_null(0).cast("int64") for name in ("low", "high"))
        return both.select(*kind.keys, c=engine.hashed(both.c, engine.hashed(low, high)))

    def _signals(self, kind: Kind) -> list[Table]:
        """What atoms of a kind hear from the pairs around them, in halves."""
        signals = []
        for pair in self._kinds.pairs:
            labels = self._engine.table(f"labels_{pair.name}")
            for axis, atom in enumerate(parts_of(pair, 1)):
                if atom.kind == kind:
                    table = self._with_colour(labels, pair, 1 - axis)
                    signal = self._engine.hashed(table[f"l{axis}"], table[f"c{1 - axis}"])
                    table = table.select(**atom.objects(table, pair), signal=signal)
                    halves = {"low": table.signal % HALF, "high": table.signal // HALF}
                    signals.append(table.select(*kind.keys, **halves))
        return signals

    def _with_colour(self, table: Table, pair: Kind, axis: int) -> Table:
        """Pairs with the colour of one of their atoms."""
        atom = pair.part([axis])
        colours = self._engine.table(colour_table(atom))
        return joined(table, colours, pair.key(axis), atom.keys, {"c": f"c{axis}"})

    def _label(self, table: Table, kind: Kind, axes: Sequence[int], salt: int) -> Column:
        """A number for the potentials in the order of these axes."""
        states = sorted(kind.states, key=lambda state: [state[axis] for axis in axes])
        # Zero may be negative, which looks like another number.
        numbers = [table[column("t", state)].round(DIGITS) + 0.0 for state in states]
        start = self._engine.ibis.literal(salt, "int64")
        return reduce(self._engine.hashed, numbers, start)

    # --- one pair for all that are alike

    def quotient(self) -> RegionKinds:
        """Make the region tables of colours."""
        kinds = self._kinds
        atoms, pairs = (tuple(map(by_colour, some)) for some in (kinds.atoms, kinds.pairs))
        new = RegionKinds(atoms, pairs, (), kinds.nested, compressed=True)
        for kind in kinds.pairs:
            self._engine.create(f"alike_{kind.name}", self._pairs_alike(kind))
        for kind in kinds.atoms:
            self._engine.create(f"alike_{kind.name}", self._atoms_alike(kind))
        for kind in kinds.atoms:
            alike = self._engine.table(f"alike_{kind.name}")
            self._engine.create(Messages.region_table(kind, 0), alike.drop("many"))
        for kind in kinds.pairs:
            with_messages(self._engine, new, by_colour(kind), self._weighted(kind))
        return new

    def _atoms_alike(self, kind: Kind) -> Table:
        """One row for each colour, with how many atoms have it."""
        table = self._engine.table(Messages.region_table(kind, 0))
        colours = self._engine.table(colour_table(kind))
        both = table.join(colours, kind.keys)
        potentials = {name: both[name].min() for name in kind.columns("t")}
        return both.group_by(k0_0=both.c).aggregate(**potentials, many=both.count())

    def _pairs_alike(self, kind: Kind) -> Table:
        """One row for each combination of colours and potentials, with how many pairs have it."""
        labels = self._engine.table(f"labels_{kind.name}")
        table = self._engine.table(Messages.region_table(kind, 0)).join(labels, kind.keys)
        for axis in (0, 1):
            table = self._with_colour(table, kind, axis)
        hashed = self._engine.hashed
        table = table.mutate(
            f0=hashed(hashed(table.c0, table.l0), table.c1),
            f1=hashed(hashed(table.c1, table.l1), table.c0),
        )
        columns: dict[str, Column] = {"k0_0": table.c0, "k1_0": table.c1, "f": table.f0}
        columns |= {name: table[name] for name in kind.columns("t")}
        if kind.predicates[0] == kind.predicates[1]:
            columns = self._turned(table, kind, columns)
        table = table.select(**columns)
        names = [name for name in columns if name != "f"]
        grouped = table.group_by("f").aggregate(
            **{name: table[name].min() for name in names}, pairs=table.count()
        )
        return grouped.drop("f")

    def _turned(self, table: Table, kind: Kind, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Pairs with their atoms in an order that does not depend on names."""
        other: dict[str, Column] = {"k0_0": table.c1, "k1_0": table.c0, "f": table.f1}
        other |= {column("t", s): table[column("t", s[::-1])] for s in kind.states}
        turn = table.f1 < table.f0
        return {name: turn.ifelse(other[name], one) for name, one in columns.items()}

    def _weighted(self, kind: Kind) -> Table:
        """Pairs of colours with how many of them are around one atom of either colour."""
        table = self._engine.table(f"alike_{kind.name}")
        for axis in (0, 1):
            atoms = self._engine.table(f"alike_{kind.part([axis]).name}")
            table = joined(table, atoms, [f"k{axis}_0"], ["k0_0"], {"many": "many"})
            number = table.pairs.cast("float64") / table.many.cast("float64")
            table = table.mutate(**{weight(axis): number}).drop("many")
        return table.drop("pairs")
