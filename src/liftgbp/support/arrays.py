"""The types of arrays, and operations on rows of integers: grouping, hashing, expanding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
"""Of 64 bits, but for indices into large arrays that `narrow` has made shorter."""

Hashes: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.object_]
"""Integers of Python, which may be of any size."""

Column: TypeAlias = NDArray[np.integer | np.bool_]
"""One column of rows."""

Item = TypeVar("Item")
AnyNumber = TypeVar("AnyNumber", bound=np.generic)


def mix(values: Hashes) -> Hashes:
    """Spread each number over all 64 bits (the finaliser of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_ODD = mix(np.arange(256, dtype=np.uint64)) | np.uint64(1)
"""Odd multipliers that look random, and are the same in every run."""


def hash_rows(columns: Sequence[Column]) -> Hashes:
    """One hash per row; the columns come as separate arrays."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for number, column in enumerate(columns):
        total += mix(column.astype(np.uint64) * _ODD[2 * number % 256] + _ODD[2 * number % 256 + 1])
    return total


class RowIndex:
    """Finds one of many rows of whole numbers; a dictionary would take ten times the memory.

    >>> index = RowIndex(np.array([[7, 1], [2, 9]]))
    >>> index.find((2, 9)), index.find((9, 2))
    (1, None)
    """

    def __init__(self, rows: Ints) -> None:
        self._order = row_order(list(rows.T)) if rows.shape[1] else np.arange(len(rows))
        self._columns = np.ascontiguousarray(rows[self._order].T)

    def find(self, row: Sequence[int]) -> int | None:
        """The place of a row, if it is there."""
        first, last = 0, len(self._order)
        for column, value in zip(self._columns, row, strict=True):
            part = column[first:last]
            start, stop = (part.searchsorted(value, side) for side in ("left", "right"))
            first, last = first + int(start), first + int(stop)
        return self._order.item(first) if first < last else None


def distinct(values: NDArray[AnyNumber]) -> NDArray[AnyNumber]:
    """The distinct numbers of an array, in ascending order.

    For a million distinct ones, NumPy's `unique` takes fifteen times as long.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values, axis=None)
    return np.asarray(ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]])


PACKED_FROM = 1000
"""Fewer numbers are sorted faster by themselves than together with their places."""


def stable_order(keys: NDArray[np.integer]) -> Ints:
    """The places of an array in the order of its numbers, equal ones in the order of places.

    Numbers and places are sorted as one number where there is room: `argsort` of millions takes
    six times as long, `lexsort` fifteen times.

    >>> stable_order(np.array([5, 3, 5, 3])).tolist()
    [1, 3, 0, 2]
    """
    if len(keys) < PACKED_FROM or not _leave_room(keys):
        return np.argsort(keys, kind="stable")
    if _span(keys) <= 2**8:
        # Bytes are counted, not compared.
        return np.argsort((keys - keys.min()).astype(np.uint8), kind="stable")
    bits = (len(keys) - 1).bit_length()
    packed = (keys - keys.min()).astype(np.int64)
    packed <<= bits
    packed |= np.arange(len(keys))
    packed.sort()
    packed &= 2**bits - 1
    return np.asarray(packed)


def _leave_room(keys: NDArray[np.integer]) -> bool:
    """Whether one number has room for a key and its place."""
    bits = max(1, len(keys) - 1).bit_length()
    return not len(keys) or _span(keys) <= 2 ** (63 - bits)


def _span(keys: Column) -> int:
    """How many numbers there are from the least to the largest."""
    return int(keys.max()) - int(keys.min()) + 1


def row_order(columns: Sequence[Column]) -> Ints:
    """The places of rows in lexicographic order, equal ones in the order of places.

    >>> row_order([np.array([7, 3, 7]), np.array([2, 9, 1])]).tolist()
    [1, 2, 0]
    """
    keys = _packed(columns)
    if keys is not None:
        return stable_order(keys)
    order: Ints = np.lexsort(columns[::-1])
    return order


FEW_ROWS = 30
"""So many rows are grouped faster without arrays: small models group a dozen times."""


def _few_groups(columns: Sequence[Column]) -> tuple[Ints, Ints]:
    """The first row of each group, in the order of rows, and the group of each row."""
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    first: dict[tuple[int, ...], int] = {}
    for place, row in enumerate(rows):
        first.setdefault(row, place)
    number = {row: k for k, row in enumerate(sorted(first))}
    return (
        np.array([first[row] for row in number], dtype=np.int64),
        np.array([number[row] for row in rows], dtype=np.int64),
    )


def group_rows(columns: Sequence[Column]) -> tuple[Ints, Ints]:
    """The first row of each group of equal rows, and the group of each row.

    Rows that are too wide for one number are compared by hashes, and then confirmed.

    >>> first, group = group_rows([np.array([7, 8, 7]), np.array([1, 1, 1])])
    >>> first[group].tolist()
    [0, 1, 0]
    """
    if len(columns[0]) <= FEW_ROWS:
        return _few_groups(columns)
    keys = _packed(columns)
    if keys is not None:
        return _groups(keys)
    first, group = _groups(hash_rows(columns))
    if any((column[first][group] != column).any() for column in columns):
        table = np.column_stack([column.astype(np.int64) for column in columns])
        _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), group.ravel().astype(np.int64)


def first_places(numbers: Ints) -> Ints:
    """Where each of the numbers 0, 1, ... occurs first; all of them occur.

    >>> first_places(np.array([1, 0, 1])).tolist()
    [1, 0]
    """
    first = np.empty(1 + int(numbers.max(initial=-1)), dtype=np.int64)
    # Of several values for one place, NumPy keeps the last.
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def places_of_rows(wanted: Sequence[Column], known: Sequence[Column]) -> Ints:
    """Where each wanted row is among known ones, which differ from each other; -1 if nowhere.

    Both are sorted together: looking up millions of rows one by one waits for memory each time.

    >>> places_of_rows([np.array([8, 5, 7])], [np.array([7, 8])]).tolist()
    [1, -1, 0]
    """
    number = len(known[0])
    first, group = group_rows([np.concatenate(pair) for pair in zip(known, wanted, strict=True)])
    place = np.where(first < number, first, -1)
    return np.asarray(place[group[number:]])


def _packed(columns: Sequence[Column]) -> Ints | None:
    """One number per row in the order of rows, if there is room for all values of all columns."""
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    keys = columns[0].astype(np.int64)
    room, offset = 1, 0
    for number, column in enumerate(columns):
        least, span = int(column.min()), _span(column)
        room *= span
        if room >= 2**63:
            return None
        if number and span > 1:
            # Numbers may overflow, and hashes be negative; their differences are the same.
            keys *= span
            keys += column.astype(np.int64, copy=False)
        offset = offset * span + (least if span > 1 or not number else 0)
    if offset:
        keys -= np.uint64(offset % 2**64).astype(np.int64)
    return keys


def _groups(keys: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The first place of each key, in the order of keys, and which key each place has."""
    if len(keys) >= PACKED_FROM and _span(keys) <= min(MOST_COUNTED, len(keys)):
        return _counted_groups(keys - keys.min(), _span(keys))
    order = stable_order(keys) if _leave_room(keys) else np.argsort(keys)
    ordered = keys[order]
    head = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    group = np.empty(len(keys), dtype=np.int64)
    group[order] = np.cumsum(head) - 1
    # Within a group, a quick sort leaves places in any order.
    first = np.minimum.reduceat(order, np.flatnonzero(head)) if len(order) else order
    return first, group


MOST_COUNTED = 2**16
"""Up to this many different keys, those that occur are marked: sorting takes five times as long."""


def _counted_groups(keys: Ints, number: int) -> tuple[Ints, Ints]:
    """The same for keys below a number."""
    first = np.full(number, -1)
    # Of several values for one place, NumPy keeps the last.
    first[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)
    present = np.flatnonzero(first >= 0)
    group = np.zeros(number, dtype=np.int64)
    group[present] = np.arange(len(present))
    return first[present], group[keys]


def equal_rows(columns: Sequence[Column]) -> list[Ints]:
    """The places of each group of equal rows.

    >>> [places.tolist() for places in equal_rows([np.array([7, 8, 7])])]
    [[0, 2], [1]]
    """
    if len(columns[0]) <= FEW_ROWS:
        found: dict[tuple[int, ...], list[int]] = {}
        for place, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            found.setdefault(row, []).append(place)
        return [np.array(places, dtype=np.int64) for places in found.values()]
    first, group = group_rows(columns)
    places = stable_order(group)
    bounds = starts_of(np.bincount(group, minlength=len(first)))
    return [places[bounds[k] : bounds[k + 1]] for k in np.argsort(first)]


def row_keys(rows: Ints, sizes: Sequence[int]) -> Ints:
    """One number per row, in the order of the rows; equal rows have equal numbers.

    >>> row_keys(np.array([[0, 4], [2, 1], [0, 4]]), [3, 5]).tolist()
    [4, 11, 4]
    """
    keys = np.zeros(len(rows), np.int64)
    below = 1
    for column, size in zip(rows.T, sizes, strict=True):
        if below * size >= 2**63:
            # Ranks keep the order and are no more than the rows.
            keys = np.unique(keys, return_inverse=True)[1].ravel()
            column = np.unique(column, return_inverse=True)[1].ravel()  # noqa: PLW2901
            below, size = len(rows), len(rows)  # noqa: PLW2901
        keys = keys * size + column
        below *= size
    return keys


NARROWED_FROM = 10**5
"""Shorter arrays of indices stay as they are: NumPy widens them again, each time they are used."""


def narrow(indices: Ints) -> Ints:
    """Indices in half the memory, if there are many and none is too large."""
    if len(indices) < NARROWED_FROM or int(indices.max()) >= 2**31:
        return indices
    return cast(Ints, indices.astype(np.int32))


def empty_indices(length: int, below: int) -> Ints:
    """Room for indices that are less than a number, in half the memory where `narrow` would."""
    short = length >= NARROWED_FROM and below <= 2**31
    return cast(Ints, np.empty(length, dtype=np.int32 if short else np.int64))


AT_ONCE = 2**18
"""How many numbers a loop over parts of a large array handles at once: a few megabytes. Making room
for hundreds takes longer than filling them."""


def in_parts(rows: int, width: int) -> Iterator[slice]:
    """Slices of so many rows of so many numbers, one after the other, none of them large.

    >>> list(in_parts(300_000, 1))
    [slice(0, 262144, None), slice(262144, 300000, None)]
    """
    step = max(1, AT_ONCE // max(1, width))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def starts_of(lengths: Ints) -> Ints:
    """Where segments of these lengths start, with the total length at the end."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def expand(starts: Ints, lengths: Ints) -> Ints:
    """The positions of segments, one segment after the other.

    >>> expand(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)


def segment_sums(values: Hashes, lengths: Ints) -> Hashes:
    """The sums of segments along the first axis; empty segments sum up to zero."""
    sums = np.zeros((len(lengths), *values.shape[1:]), dtype=values.dtype)
    filled = np.flatnonzero(lengths)
    if len(filled):
        sums[filled] = np.add.reduceat(values, starts_of(lengths)[filled], axis=0)
    return sums


def ranks(order: Ints) -> Ints:
    """The inverse of a permutation: at which place each number is.

    >>> ranks(np.array([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


class Segments:
    """Segments of the last axis, one after the other, none of them empty.

    Where long runs of segments have one length, as regions of one shape do, a run is a table, and
    its columns are added up: ten times as fast as segment by segment. Sums and maxima are the same.

    >>> pairs = Segments(np.array([0, 2]), 5)
    >>> pairs.sums(np.arange(5.0)).tolist(), pairs.tops(np.arange(5.0)).tolist()
    ([1.0, 9.0], [1.0, 4.0])
    """

    LONG_RUN = 64
    """Segments per run from which on tables are faster."""

    WIDEST = 8
    """Fewer terms are added one after the other in either way, so that no digit differs."""

    def __init__(self, starts: Ints, total: int, offset: int = 0) -> None:
        self.starts = starts
        self._total = total
        self._offset = offset

    def part(self, own: slice) -> Segments:
        """Some segments that follow each other; their positions are counted from the first."""
        bounds = [*self.starts[own.start : own.stop + 1][[0, -1]].tolist(), self._total]
        end = bounds[1] if own.stop < len(self.starts) else self._total
        part = Segments(self.starts[own], end, bounds[0])
        if self._runs is not None:
            part.__dict__["_runs"] = list(self._runs_within(own, bounds[0]))
        return part

    def _runs_within(self, own: slice, offset: int) -> Iterator[tuple[slice, slice, int]]:
        for segments, places, length in self._runs or ():
            first, last = max(segments.start, own.start), min(segments.stop, own.stop)
            if first < last:
                begin = places.start + (first - segments.start) * length - offset
                stretch = slice(begin, begin + (last - first) * length)
                yield slice(first - own.start, last - own.start), stretch, length

    @property
    def lengths(self) -> Ints:
        """The number of positions of each segment."""
        return np.diff(self.starts, append=self._total)

    @cached_property
    def of(self) -> Ints:
        """The segment of each position."""
        segment = narrow(np.repeat(np.arange(len(self.starts)), self.lengths))
        segment.setflags(write=False)
        return segment

    @cached_property
    def _runs(self) -> list[tuple[slice, slice, int]] | None:
        """Segments, positions and length of each run; `None` if runs are short."""
        lengths = self.lengths
        if lengths.max(initial=0) >= self.WIDEST:
            return None
        bounds = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(lengths)]
        if len(bounds) * self.LONG_RUN > len(lengths):
            return None
        ends = starts_of(lengths)
        return [
            (slice(a, b), slice(ends.item(a), ends.item(b)), lengths.item(a))
            for a, b in pairwise(bounds)
        ]

    def sums(self, values: Floats, out: Floats | None = None) -> Floats:
        """The sum of each segment."""
        return self._reduced(np.add, values, out)

    def tops(self, values: Floats, out: Floats | None = None) -> Floats:
        """The largest value of each segment."""
        return self._reduced(np.maximum, values, out)

    def _reduced(self, operation: np.ufunc, values: Floats, out: Floats | None = None) -> Floats:
        if self._runs is None:
            starts = self.starts - self._offset if self._offset else self.starts
            return np.asarray(operation.reduceat(values, starts, axis=-1, out=out))
        result = np.empty((*values.shape[:-1], len(self.starts))) if out is None else out
        for own, places, length in self._runs:
            table = values[..., places].reshape(*values.shape[:-1], -1, length)
            target = result[..., own]
            target[...] = table[..., 0]
            for column in range(1, length):
                operation(target, table[..., column], out=target)
        return result

    def apply(self, operation: np.ufunc, values: Floats, of_segments: Floats) -> None:
        """Combine values with the number of their segment, in place."""
        if self._runs is None:
            operation(values, of_segments.take(self.of, axis=-1), out=values)
            return
        for own, places, length in self._runs:
            table = values[..., places].reshape(*values.shape[:-1], -1, length)
            operation(table, of_segments[..., own, None], out=table)


class Shared(Sequence[Item]):
    """A sequence of millions of items of which few differ; each is kept once.

    values  the items that occur
    which   for each place the number of its item

    >>> list(Shared(["a", "b"], np.array([1, 1, 0])))
    ['b', 'b', 'a']
    """

    def __init__(self, values: Sequence[Item], which: Ints) -> None:
        self.values = values
        self.which = which

    def __len__(self) -> int:
        return len(self.which)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        if isinstance(place, slice):
            return Shared(self.values, self.which[place])
        return self.values[self.which.item(place)]

    def __iter__(self) -> Iterator[Item]:
        return map(self.values.__getitem__, self.which.tolist())


class Ragged(Sequence[tuple[int, ...]]):
    """Rows of whole numbers, of different lengths, one after the other in one array.

    flat    the numbers of all rows
    starts  where each row starts, and the length of all at the end

    >>> Ragged.of([(4, 5), (), (6,)])[0]
    (4, 5)
    """

    def __init__(self, flat: Ints, starts: Ints) -> None:
        self.flat = flat
        self.starts = starts

    @staticmethod
    def of(rows: Sequence[Sequence[int]] | Sequence[Ints]) -> Ragged:
        """The same rows in one array."""
        if isinstance(rows, Ragged):
            return rows
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        return Ragged(flat, starts_of(np.fromiter(map(len, rows), dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, place: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[int, ...]]: ...
    def __getitem__(self, place: int | slice) -> tuple[int, ...] | Sequence[tuple[int, ...]]:
        if isinstance(place, slice):
            return tuple(self)[place]
        start, stop = self.starts[:-1][place], self.starts[1:][place]
        return tuple(self.flat[start:stop].tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        flat = self.flat.tolist()
        return (tuple(flat[start:stop]) for start, stop in pairwise(self.starts.tolist()))


def exact_sum(values: Floats) -> float:
    """The sum of numbers, correctly rounded whatever cancels.

    >>> exact_sum(np.array([1e100, 1.0, -1e100]))
    1.0
    """
    at_once = 2**16  # a list of all would take four times as much memory
    parts = (values[first : first + at_once] for first in range(0, len(values), at_once))
    return math.fsum(chain.from_iterable(part.tolist() for part in parts))


def stacked_rows(rows: Sequence[Floats]) -> Floats:
    """Rows as one array; a single one, which may be large, is not copied.

    >>> stacked_rows([np.zeros(2), np.ones(2)]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    return rows[0][None] if len(rows) == 1 else np.array(rows)


def logs_of(potentials: Floats) -> Floats:
    """The logs of potentials; that of zero is minus infinity.

    Those of NumPy differ in the last bit from one processor to another, and with them the model.

    >>> logs_of(np.array([[1.0, 0.0], [0.5, 1.0]])).tolist()
    [[0.0, -inf], [-0.6931471805599453, 0.0]]
    """
    values, which = np.unique(potentials, return_inverse=True)
    logs = np.array([math.log(value) if value else -math.inf for value in values.tolist()])
    return np.asarray(logs[which].reshape(potentials.shape))


UNITS = 2**1074
"""The smallest double is one of this many parts of one, and every double is a whole number of them.
Sums of doubles, each times a count, are exact as integers, and without importing fractions."""


def in_units(number: float) -> int:
    """A finite double as a number of the smallest ones; divided by `UNITS` it is itself again.

    >>> in_units(0.1) / UNITS, (in_units(1e300) + in_units(1e-300) - in_units(1e300)) / UNITS
    (0.1, 1e-300)
    """
    numerator, denominator = number.as_integer_ratio()
    return numerator * (UNITS // denominator)


def first_and_last(count: int, most: int) -> list[int | None]:
    """At most this many of the numbers below `count`; `None` marks a gap in the middle.

    >>> first_and_last(9, 4)
    [0, 1, None, 7, 8]
    """
    if count <= most:
        return list(range(count))
    tail = most // 2
    return [*range(most - tail), None, *range(count - tail, count)]


@lru_cache(maxsize=2**14)
def positions_of(mask: int) -> tuple[int, ...]:
    """The bits of a mask.

    >>> positions_of(0b1010)
    (1, 3)
    """
    return tuple(k for k in range(mask.bit_length()) if mask >> k & 1)
