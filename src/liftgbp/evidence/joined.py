"""All statements about one predicate together: repetitions leave, contradictions are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from liftgbp.evidence.evidence import Floats, Ints
from liftgbp.evidence.statements import Origin, Statements, statement_text
from liftgbp.model.ast import Predicate

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
    def certain(self) -> NDArray[np.bool_]:
        """Which statements leave no doubt."""
        result: NDArray[np.bool_] = self.chances == 1
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


def join(
    parts: Sequence[tuple[Statements, Ints]],
    numbers: Mapping[str, Mapping[str, int]],
    origins: list[Origin],
) -> Joined:
    """The statements with the numbers of their objects; their origins are added to the list."""
    first = len(origins)
    origins.extend(part.origin for part, _ in parts)
    everything = Joined(
        parts[0][0].predicate,
        np.concatenate([args for _, args in parts]),
        np.concatenate([part.values for part, _ in parts]),
        np.concatenate([part.chances for part, _ in parts]),
        np.repeat(np.arange(first, len(origins)), [len(part.rows) for part, _ in parts]),
        np.concatenate([part.rows for part, _ in parts]),
    )
    sizes = [len(numbers[sort]) for sort in everything.predicate.sorts]
    _, firsts, atom_of = np.unique(
        _keys(everything.args, sizes), return_index=True, return_inverse=True
    )
    first_of = firsts[atom_of.ravel()]
    differs = (everything.values != everything.values[first_of]) | (
        everything.chances != everything.chances[first_of]
    )
    if differs.any():
        second = int(np.flatnonzero(differs)[0])
        _refuse(everything, int(first_of[second]), second, numbers, origins)
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


def _refuse(
    all_statements: Joined,
    first: int,
    second: int,
    numbers: Mapping[str, Mapping[str, int]],
    origins: Sequence[Origin],
) -> None:
    predicate = all_statements.predicate
    names = [
        list(numbers[sort])[number]
        for sort, number in zip(predicate.sorts, all_statements.args[second], strict=True)
    ]
    one, other = (
        statement_text(
            predicate, names, int(all_statements.values[k]), float(all_statements.chances[k])
        )
        for k in (first, second)
    )
    place = origins[all_statements.origins[first]].place(int(all_statements.rows[first]))
    raise origins[all_statements.origins[second]].problem(
        int(all_statements.rows[second]), f"{other} contradicts {one} in {place}; drop one of them"
    )
