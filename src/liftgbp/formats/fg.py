"""The factor graph format of libDAI: `.fg`.

The first variable of a scope changes fastest in its table, of which only the entries that are not
0 are listed. Comments begin with `#`. Variables have labels instead of being counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import CapacityError
from liftgbp.formats.simplify import Factors, check_possible, check_scope
from liftgbp.formats.text_numbers import (
    Numbers,
    StrangeTextError,
    Words,
    all_different,
    equal_rows,
    logarithms,
    require,
)
from liftgbp.formats.writing import (
    Decimals,
    WrittenFactors,
    number_text,
    replace_files,
    table_of_names,
)
from liftgbp.grounding import GroundNetwork

COMMENTS = re.compile(r"#.*")
MAX_LABEL = 10**7
MAX_ENTRIES = 2**24


# --- reading


def read_fg(path: str | Path, most: int | None = None) -> GroundNetwork:
    """Read a network from a file of at most this many bytes; labels are the numbers of variables.

    A number that is not a label, but smaller than one, becomes a variable with a single value.
    """
    words = Words.of_file(path, COMMENTS, most)
    try:
        return _read_at_once(Numbers.of(words.text))
    except StrangeTextError:
        return _read_word_by_word(words)


def _read_at_once(numbers: Numbers) -> GroundNetwork:
    starts = _factor_starts(numbers)
    lengths = numbers.wholes[starts]
    parts = [_read_part(numbers, starts[lengths == n], n) for n in np.unique(lengths).tolist()]
    ranges = _ranges([(part.labels, part.shapes) for part in parts])
    factors = Factors()
    for part in parts:
        for (listed, *shape), own in equal_rows(np.column_stack([part.listed, part.shapes])):
            size = math.prod(shape)
            require(size <= MAX_ENTRIES)
            index = numbers.rows(part.entries[own], listed, step=2)
            potentials = numbers.potentials(part.entries[own] + 1, listed, step=2)
            require((index < size).all() and all_different(index))
            factors.add_all(
                part.labels[own],
                tuple(shape),
                np.hstack([index, potentials]),
                partial(_tables, shape=shape),
            )
    return factors.network(ranges.tolist())


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """The factors over equally many variables.

    labels, shapes  a row per factor
    listed          how many entries of each table are listed
    entries         where these start
    """

    labels: Ints
    shapes: Ints
    listed: Ints
    entries: Ints


def _factor_starts(numbers: Numbers) -> Ints:
    """Where each factor starts (with the number of its variables)."""
    starts, place, wholes = [], 1, numbers.wholes.tolist()
    for _ in range(numbers.whole(0)):
        starts.append(place)
        for _ in ("variables", "entries"):
            require(place < len(wholes) and wholes[place] >= 0)
            place += 1 + 2 * wholes[place]
    require(place == len(numbers))
    return np.array(starts, dtype=np.int64)


def _read_part(numbers: Numbers, starts: Ints, length: int) -> _Part:
    rows = numbers.rows(starts + 1, 2 * length + 1)
    part = _Part(rows[:, :length], rows[:, length:-1], rows[:, -1], starts + 2 + 2 * length)
    require(part.shapes.all() and all_different(part.labels))
    require((part.labels <= MAX_LABEL).all())
    return part


def _ranges(parts: Sequence[tuple[Ints, Ints]]) -> Ints:
    """The number of values of each variable, on which all factors must agree."""
    labels, values = (
        np.concatenate([np.zeros(0, np.int64), *(own.ravel() for own in arrays)])
        for arrays in (zip(*parts, strict=True) if parts else ((), ()))
    )
    ranges = np.ones(1 + labels.max(initial=-1), np.int64)
    ranges[labels] = values
    require((ranges[labels] == values).all())
    return ranges


def _tables(entries: Floats, shape: Sequence[int]) -> Floats:
    """Log tables from rows of indices and potentials."""
    index, potentials = np.hsplit(entries, 2)
    flat = np.full((len(entries), math.prod(shape)), -np.inf)
    np.put_along_axis(flat, index.astype(np.int64), logarithms(potentials), axis=1)
    return flat.reshape(-1, *reversed(shape)).transpose(0, *range(len(shape), 0, -1))


def _read_word_by_word(words: Words) -> GroundNetwork:
    ranges: dict[int, int] = {}
    factors = Factors()
    for number in range(words.whole("the number of factors")):
        scope, shape = _read_scope(words, ranges, number)
        _read_table(words, factors, number, scope, shape)
    words.end("the last factor")
    return factors.network([ranges.get(label, 1) for label in range(max(ranges, default=-1) + 1)])


def _read_scope(
    words: Words, ranges: dict[int, int], number: int
) -> tuple[list[int], tuple[int, ...]]:
    length = words.whole(f"the number of variables of factor {number}")
    first = words.position
    scope = words.wholes(length, f"a variable of factor {number}")
    check_scope(words, scope, first)
    shape = words.wholes(length, f"the number of values of a variable of factor {number}")
    for position, (label, values) in enumerate(zip(scope, shape, strict=True), first):
        if label > MAX_LABEL:
            words.fail(
                f"label {label} is too large; number the variables from 0", position, CapacityError
            )
        if values == 0:
            words.fail("a variable has at least one value", position + length)
        if ranges.setdefault(label, values) != values:
            words.fail(
                f"variable {label} has {values} values here, but {ranges[label]} above",
                position + length,
            )
    if math.prod(shape) > MAX_ENTRIES:
        words.fail(
            f"the table of factor {number} has {math.prod(shape)} entries, more than {MAX_ENTRIES}",
            first - 1,
            CapacityError,
        )
    return scope, tuple(shape)


def _read_table(
    words: Words, factors: Factors, number: int, scope: Sequence[int], shape: tuple[int, ...]
) -> None:
    listed = words.whole(f"the number of entries of factor {number}")
    first = words.position
    entries = words.several(2 * listed, f"an entry of factor {number}")

    def read() -> Floats:
        flat = np.full(math.prod(shape), -np.inf)
        seen = set()
        for k in range(listed):
            here = first + 2 * k
            index = words.whole_at(here, "the index of an entry")
            if index >= len(flat):
                words.fail(f"factor {number} has the entries 0 to {len(flat) - 1}", here)
            if index in seen:
                words.fail(f"entry {index} is listed twice", here)
            seen.add(index)
            flat[index] = words.log_potential(here + 1)
        check_possible(words, flat, first - 1)
        return flat.reshape([length for length in shape if length > 1], order="F")

    factors.add(scope, shape, entries, read)


# --- writing


def write_fg(network: GroundNetwork, path: str | Path, names: Sequence[str] | None = None) -> None:
    """Write a network, and a table of the `names` of its variables beside it.

    Constants and large potentials are written as in `write_uai`. A variable without factors gets a
    factor of ones, since the format cannot declare it otherwise.
    """
    path = Path(path)
    replace_files({path: "".join(_fg_text(network)), **table_of_names(path, names)})


def _fg_text(network: GroundNetwork) -> Iterator[str]:
    factors = WrittenFactors.of(network, every_variable=True)
    ranges = network.ranges.tolist()
    yield f"{len(factors.table_of)}\n"
    texts = [_table_text(potentials) for potentials in factors.tables]
    for scope, number in zip(factors.scopes, factors.table_of, strict=True):
        shape = (ranges[variable] for variable in scope)
        yield f"\n{len(scope)}\n{' '.join(map(str, scope))}\n{' '.join(map(str, shape))}\n"
        yield texts[number]


def _table_text(potentials: Floats | Decimals) -> str:
    flat = potentials.ravel(order="F")
    listed = np.flatnonzero(flat)
    lines = (
        f"{k} {number_text(value)}\n"
        for k, value in zip(listed.tolist(), flat[listed].tolist(), strict=True)
    )
    return f"{len(listed)}\n{''.join(lines)}"
