"""A text of numbers as arrays, for files in which nothing is wrong."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Floats, Ints
from liftgbp.formats.words import MOST_DIGITS
from liftgbp.grounding.network import distinct_rows

Bytes: TypeAlias = NDArray[np.uint8]

_BLANK, _DIGIT, _OTHER = 0, 1, 2
_SORT_OF_BYTE = np.full(256, _OTHER, np.uint8)
_SORT_OF_BYTE[list(b" \t\n\v\f\r")] = _BLANK
_SORT_OF_BYTE[list(b"0123456789")] = _DIGIT


class StrangeTextError(Exception):
    """Something is not as it should be; reading the text word by word will tell what."""


def require(condition: object) -> None:
    """Give up unless all is as it should be."""
    if not condition:
        raise StrangeTextError


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """The words of a text, which are numbers.

    values  all of them
    wholes  the same as integers; -1 for words that are not written as a whole number from 0

    >>> Numbers.of("2 0.5 1e3").wholes.tolist()
    [2, -1, -1]
    """

    values: Floats
    wholes: Ints

    @classmethod
    def of(cls, text: str) -> Numbers:
        """The numbers of a text."""
        require(text.isascii())
        raw = np.frombuffer(bytearray(text, "ascii"), np.uint8)
        sorts = np.pad(_SORT_OF_BYTE[raw], 1)
        changes = np.flatnonzero((sorts[1:] > _BLANK) != (sorts[:-1] > _BLANK))
        starts, lengths = changes[::2], changes[1::2] - changes[::2]
        require(len(starts))
        whole = np.bitwise_or.reduceat(sorts[1:], starts) == _DIGIT
        whole &= lengths <= MOST_DIGITS
        wholes = np.full(len(starts), -1, np.int64)
        wholes[whole] = _cut_out(raw, starts[whole], lengths[whole])
        values = wholes.astype(float)
        others = np.flatnonzero(~whole)
        if len(others):
            values[others] = _parsed(raw.tobytes(), len(others))
        return cls(values, wholes)

    def __len__(self) -> int:
        return len(self.values)

    def whole(self, place: int) -> int:
        """The whole number at a place."""
        require(place < len(self) and self.wholes[place] >= 0)
        return self.wholes.item(place)

    def rows(self, starts: Ints, width: int, step: int = 1) -> Ints:
        """So many whole numbers for each start, from there on in steps."""
        rows = self.wholes[self._places(starts, width, step)]
        require((rows >= 0).all())
        return rows

    def potentials(self, starts: Ints, width: int, step: int = 1) -> Floats:
        """The same for potentials; not all of a row are 0."""
        rows = self.values[self._places(starts, width, step)]
        require(np.isfinite(rows).all() and (rows >= 0).all() and rows.any(axis=1).all())
        return rows

    def _places(self, starts: Ints, width: int, step: int) -> Ints:
        require(starts.max(initial=0) + step * (width - 1) < len(self))
        return starts[:, None] + step * np.arange(width)


def _cut_out(raw: Bytes, starts: Ints, lengths: Ints) -> Ints:
    """The numbers that words of digits stand for; blanks remain in their places.

    This is much faster than reading them as doubles, and most words are of this sort.
    """
    numbers = np.empty(len(starts), np.int64)
    for length in np.unique(lengths):
        own = np.flatnonzero(lengths == length)
        total = np.zeros(len(own), np.int64)
        for place in range(length):
            here = starts[own] + place
            total = 10 * total + (raw[here] - ord("0"))
            raw[here] = ord(" ")
        numbers[own] = total
    return numbers


def _parsed(text: bytes, words: int) -> Floats:
    """The numbers of a text of so many words."""
    with warnings.catch_warnings():
        # Older versions of numpy warn where a word is no number, and go on without the rest.
        warnings.simplefilter("error")
        try:
            values = np.fromstring(text, sep=" ")
        except (ValueError, DeprecationWarning):
            raise StrangeTextError from None
    # Each word holds a number at least, so that equally many numbers are one from each.
    require(len(values) == words)
    return values


def logarithms(potentials: Floats) -> Floats:
    """The logarithms of potentials.

    >>> logarithms(np.array([[1.0, 0.0]])).tolist()
    [[0.0, -inf]]
    """
    logs = np.full(potentials.shape, -np.inf)
    positive = potentials > 0
    logs[positive] = [math.log(value) for value in potentials[positive].tolist()]
    return logs


def equal_rows(rows: Ints) -> Iterator[tuple[tuple[int, ...], Ints]]:
    """Each different row, with the places where it stands."""
    if not len(rows):
        return
    first, group = distinct_rows(rows)
    order = np.argsort(group, kind="stable")
    bounds = np.cumsum(np.bincount(group, minlength=len(first)))[:-1]
    for row, places in zip(rows[first].tolist(), np.split(order, bounds), strict=True):
        yield tuple(row), places


def all_different(rows: Ints) -> bool:
    """Whether no row holds a number twice."""
    in_order = np.sort(rows, axis=1)
    return bool((in_order[:, 1:] != in_order[:, :-1]).all())
