"""The UAI format of the inference competitions: `.uai` networks and `.uai.evid` evidence.

The last variable of a scope changes fastest in its table. Lines that begin with `c` are comments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from liftgbp.ground.formats.simplify import Factors, Logs, check_possible, check_scope, described
from liftgbp.ground.formats.words import WordReader
from liftgbp.ground.formats.writing import WrittenFactors, number_text, write_files
from liftgbp.ground.grounding import GroundNetwork

COMMENTS = re.compile(r"^[ \t]*c(?=\s|$).*$", re.MULTILINE)
KINDS = ("MARKOV", "BAYES")


# --- reading


def read_uai(path: str | Path, most: int | None = None) -> GroundNetwork:
    """Read a network from a file of at most this many bytes.

    `MARKOV` and `BAYES` mean the same, since both multiply their tables.
    """
    words = WordReader.of_file(path, COMMENTS, most)
    (kind,) = words.several(1, "the kind of the network, MARKOV or BAYES,")
    if kind.upper() not in KINDS:
        words.fail(f"a network starts with {' or '.join(KINDS)}, got {kind}", 0)
    count = words.whole("the number of variables")
    first = words.position
    ranges = words.wholes(count, "the number of values of a variable")
    if 0 in ranges:
        words.fail("a variable has at least one value", first + ranges.index(0))
    scopes = [_read_scope(words, ranges, k) for k in range(words.whole("the number of factors"))]
    factors = Factors()
    for number, scope in enumerate(scopes):
        _read_table(words, factors, number, scope, tuple(ranges[v] for v in scope))
    words.end("the last table")
    return factors.network(ranges)


def _read_scope(words: WordReader, ranges: Sequence[int], number: int) -> tuple[int, ...]:
    length = words.whole("the number of variables of factor {}", number)
    first = words.position
    scope = words.wholes(length, "a variable of factor {}", number)
    if max(scope, default=-1) >= len(ranges):
        place = next(k for k, variable in enumerate(scope) if variable >= len(ranges))
        unknown = f"there is no variable {scope[place]}; {described(np.array(ranges))}"
        words.fail(unknown, first + place)
    check_scope(words, scope, first)
    return scope


def _read_table(
    words: WordReader, factors: Factors, number: int, scope: Sequence[int], shape: tuple[int, ...]
) -> None:
    stated = words.whole("the number of entries of table {}", number)
    first = words.position
    if stated != math.prod(shape):
        product = f"{' x '.join(map(str, shape))} = " if len(shape) > 1 else ""
        words.fail(
            f"table {number} has {stated} entries, but its variables need "
            f"{product}{math.prod(shape)}",
            first - 1,
        )
    entries = words.several(stated, "an entry of table {}", number)

    def read() -> Logs:
        table = [words.log_potential(first + k) for k in range(stated)]
        check_possible(words, table, first)
        return table

    factors.add(scope, shape, entries, read)


def read_uai_evidence(
    path: str | Path, network: GroundNetwork, most: int | None = None
) -> dict[int, int]:
    """Read the observed values of variables of a network from a file of at most this many bytes.

    The file holds the number of observed variables and then each variable with its value. Older
    files put the number of such lists, 1, in front.
    """
    words = WordReader.of_file(path, COMMENTS, most)
    count = words.whole("the number of observed variables")
    if count == 1 and words.left % 2 == 1:
        count = words.whole("the number of observed variables")
    observed: dict[int, int] = {}
    for _ in range(count):
        variable, value = words.wholes(2, "an observed variable and its value")
        here = words.position - 2
        if variable >= len(network.ranges):
            words.fail(f"there is no variable {variable}; {described(network.ranges)}", here)
        if value >= network.ranges[variable]:
            last = network.ranges[variable] - 1
            words.fail(f"variable {variable} has the values 0 to {last}, not {value}", here + 1)
        if observed.setdefault(variable, value) != value:
            before = observed[variable]
            words.fail(f"variable {variable} was observed to be {before} before", here + 1)
    words.end("the list of observed variables")
    return observed


# --- writing


def write_uai(network: GroundNetwork, path: str | Path, names: Sequence[str] | None = None) -> None:
    """Write a network, and a table of the `names` of its variables beside it.

    What factors without variables and atoms outside the network add to log Z becomes a constant
    factor over variable 0, so that log Z stays the same. If that exceeds the range of doubles, all
    factors share it; if it exceeds what they have room for, its number does not fit into a double.
    A factor whose potentials exceed the range of doubles is written as several factors.
    """
    write_files(Path(path), _uai_text(network), names)


def _uai_text(network: GroundNetwork) -> Iterator[str]:
    factors = WrittenFactors.of(network)
    yield f"MARKOV\n{len(network.ranges)}\n{' '.join(map(str, network.ranges.tolist()))}\n"
    yield f"{len(factors.table_of)}\n"
    for scope in factors.scopes:
        yield f"{' '.join(map(str, (len(scope), *scope)))}\n"
    texts = [
        f"\n{potentials.size}\n{' '.join(map(number_text, potentials.ravel().tolist()))}\n"
        for potentials in factors.tables
    ]
    for number in factors.table_of:
        yield texts[number]
