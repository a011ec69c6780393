"""The factor graph format of libDAI: `.fg`.

The first variable of a scope changes fastest in its table, of which only the entries that are not
0 are listed. Comments begin with `#`. Variables have labels instead of being counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from liftgbp.ground.formats.simplify import Factors, Logs, check_possible, check_scope
from liftgbp.ground.formats.words import WordReader
from liftgbp.ground.formats.writing import Decimals, WrittenFactors, number_text, write_files
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import CapacityError

COMMENTS = re.compile(r"#.*")
MAX_LABEL = 10**7
MAX_ENTRIES = 2**24


# --- reading


def read_fg(path: str | Path, most: int | None = None) -> GroundNetwork:
    """Read a network from a file of at most this many bytes; labels are the numbers of variables.

    A number that is not a label, but smaller than one, becomes a variable with a single value.
    """
    words = WordReader.of_file(path, COMMENTS, most)
    ranges: dict[int, int] = {}
    factors = Factors(first_axis_fastest=True)
    for number in range(words.whole("the number of factors")):
        scope, shape = _read_scope(words, ranges, number)
        _read_table(words, factors, number, scope, shape)
    words.end("the last factor")
    return factors.network([ranges.get(label, 1) for label in range(max(ranges, default=-1) + 1)])


def _read_scope(
    words: WordReader, ranges: dict[int, int], number: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    length = words.whole("the number of variables of factor {}", number)
    first = words.position
    scope = words.wholes(length, "a variable of factor {}", number)
    check_scope(words, scope, first)
    shape = words.wholes(length, "the number of values of a variable of factor {}", number)
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
    return scope, shape


def _read_table(
    words: WordReader, factors: Factors, number: int, scope: Sequence[int], shape: tuple[int, ...]
) -> None:
    listed = words.whole("the number of entries of factor {}", number)
    first = words.position
    entries = words.several(2 * listed, "an entry of factor {}", number)

    def read() -> Logs:
        flat = [-math.inf] * math.prod(shape)
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
        return flat

    factors.add(scope, shape, entries, read)


# --- writing


def write_fg(network: GroundNetwork, path: str | Path, names: Sequence[str] | None = None) -> None:
    """Write a network, and a table of the `names` of its variables beside it.

    Constants and large potentials are written as in `write_uai`. A variable without factors gets a
    factor of ones, since the format cannot declare it otherwise.
    """
    write_files(Path(path), _fg_text(network), names)


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
