"""All statements about one predicate together: repetitions leave, contradictions are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from liftgbp.arrays import Bools, Floats, Ints
from liftgbp.errors import EvidenceError
from liftgbp.evidence.statements import Origin, Statements, statement_text
from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model

_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False, slots=True)
class Joined:
    """Statements about different atoms of one predicate, in the order of their sources.

    Statement k stands in row `rows[k]` of origin number `origins[k]`.
    """

    predicate: Predicate
    args: Ints
    values: Ints
    chances: Floats
    origins: Ints
    rows: Ints

    @property
    def certain(self) -> Bools:
        """Which statements leave no doubt."""
        result: Bools = self.chances == 1
        return result

    def __getitem__(self, kept: Ints) -> Joined:
        return Joined(
            self.predicate,
            self.args[kept],
            self.values[kept],
            self.chances[kept],
            self.origins[kept],
            self.rows[kept],
        )


def join(model: Model, statements: Sequence[Statements], args: Sequence[Ints]) -> dict[str, Joined]:
    """All statements by predicate; origins are numbered like the statements."""
    by_predicate: dict[str, list[int]] = {}
    for number, part in enumerate(statements):
        by_predicate.setdefault(part.predicate.name, []).append(number)
    joined = {}
    for name, numbers in by_predicate.items():
        parts = [statements[number] for number in numbers]
        everything = Joined(
            parts[0].predicate,
            np.concatenate([args[number] for number in numbers]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.chances for part in parts]),
            np.repeat(numbers, [len(part.rows) for part in parts]),
            np.concatenate([part.rows for part in parts]),
        )
        joined[name] = _once(model, everything, [part.origin for part in statements])
    return joined


def _once(model: Model, everything: Joined, origins: Sequence[Origin]) -> Joined:
    """Each atom once, as it was stated first; all further statements about it must say the same."""
    sizes = [len(model.constants(sort)) for sort in everything.predicate.sorts]
    _, firsts, atom_of = np.unique(
        _keys(everything.args, sizes), return_index=True, return_inverse=True
    )
    first_of = firsts[atom_of]
    differs = (everything.values != everything.values[first_of]) | (
        everything.chances != everything.chances[first_of]
    )
    if differs.any():
        second = int(np.flatnonzero(differs)[0])
        raise _contradiction(model, everything, int(first_of[second]), second, origins)
    return everything[np.sort(firsts)]


def _keys(args: Ints, sizes: Sequence[int]) -> Ints:
    """One number per row, equal for equal rows."""
    keys = np.zeros(len(args), np.int64)
    bound = 1
    for column, size in zip(args.T, sizes, strict=True):
        if bound * size > _LARGEST_KEY:
            _, keys = np.unique(keys, return_inverse=True)
            bound = len(args)
        keys = keys * size + column
        bound *= size
    return keys


def _contradiction(
    model: Model, everything: Joined, first: int, second: int, origins: Sequence[Origin]
) -> EvidenceError:
    one, other = (_text(model, everything, k) for k in (first, second))
    first_origin, origin = (origins[int(everything.origins[k])] for k in (first, second))
    place = first_origin.place(int(everything.rows[first]))
    return origin.problem(
        int(everything.rows[second]), f"{other} contradicts {one} in {place}; drop one of them"
    )


def _text(model: Model, everything: Joined, statement: int) -> str:
    predicate = everything.predicate
    objects = everything.args[statement].tolist()
    names = [model.constants(sort)[k] for sort, k in zip(predicate.sorts, objects, strict=True)]
    value, chance = everything.values[statement], everything.chances[statement]
    return statement_text(predicate, names, int(value), float(chance))
