"""A text file as words, or as arrays of numbers.

Arrays are fast; words know their place, so that an error can point at one.
"""

from __future__ import annotations

import gzip
import itertools
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import cached_property
from pathlib import Path
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from liftgbp.arrays import Floats, Ints
from liftgbp.errors import InputError, ModelError, Source, Span
from liftgbp.grounding.network import distinct_rows
from liftgbp.input_files import is_gzipped, read_text
from liftgbp.model.syntax import clean_source

# --- words


MOST_DIGITS = 18

DECIMALS = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Arithmetic for potentials beyond doubles: seventeen digits, and those that logarithms need."""


class Words:
    """The words of a file, read from the first to the last.

    Places are found only when something is wrong, since files hold millions of words.

    >>> words = Words(Source("net.uai", "MARKOV\\n2\\n2 x"), comments=re.compile("#.*"))
    >>> words.word("a name"), words.whole("a number"), words.whole("a range")
    ('MARKOV', 2, 2)
    >>> words.whole("the range of variable 1")
    Traceback (most recent call last):
    ...
    liftgbp.errors.ModelError: net.uai:3:3: expected the range of variable 1, got x
      2 x
        ^
    """

    def __init__(self, source: Source, comments: re.Pattern[str]) -> None:
        self._source = source
        # Comments become blanks of the same length, so that offsets stay the same.
        self.text = comments.sub(lambda comment: " " * len(comment.group()), source.text)
        self._next = 0

    @cached_property
    def _words(self) -> list[str]:
        return self.text.split()

    @classmethod
    def of_file(cls, path: str | Path, comments: re.Pattern[str], most: int | None = None) -> Words:
        """The words of a file of at most this many bytes."""
        return cls(clean_source(str(path), read_text(Path(path), most=most)), comments)

    @property
    def position(self) -> int:
        """The number of the next word."""
        return self._next

    @property
    def left(self) -> int:
        """The number of words that are left."""
        return len(self._words) - self._next

    def word(self, what: str) -> str:
        """The next word."""
        return self.several(1, what)[0]

    def several(self, count: int, what: str) -> Sequence[str]:
        """The next words."""
        first, after = self._next, self._next + count
        if after > len(self._words):
            self.fail(f"the file ends where {what} should be", len(self._words))
        self._next = after
        return self._words[first:after]

    def whole(self, what: str) -> int:
        """The next word, as a whole number from 0."""
        self.several(1, what)
        return self.whole_at(self._next - 1, what)

    def wholes(self, count: int, what: str) -> list[int]:
        """The next words, as whole numbers from 0."""
        first = self._next
        self.several(count, what)
        return [self.whole_at(position, what) for position in range(first, self._next)]

    def whole_at(self, position: int, what: str) -> int:
        """The word at a position, as a whole number from 0."""
        word = self._words[position]
        if not (word.isdecimal() and word.isascii() and len(word) <= MOST_DIGITS):
            self.fail(f"expected {what}, got {word}", position)
        return int(word)

    def log_potential(self, position: int) -> float:
        """The logarithm of the word at a position, which must be a potential."""
        word = self._words[position]
        try:
            value = math.nan if "_" in word else float(word)
        except ValueError:
            value = math.nan
        exact = Decimal(word) if value in (0.0, math.inf) else Decimal("NaN")
        if exact.is_finite() and exact > 0:
            return float(DECIMALS.ln(exact))
        if not math.isfinite(value):
            self.fail(f"expected a number, got {word}", position)
        if value < 0:
            self.fail(f"{word} is negative; potentials are 0 or more", position)
        return math.log(value) if value else -math.inf

    def end(self, after: str) -> None:
        """Refuse further words."""
        if self.left:
            self.fail(f"there is more text after {after}", self._next)

    def fail(self, message: str, position: int, error: type[InputError] = ModelError) -> NoReturn:
        """Raise an error that points at a word, or at the end of the file."""
        raise error(message, self._span(position))

    def _span(self, position: int) -> Span:
        found = next(itertools.islice(re.finditer(r"\S+", self.text), position, None), None)
        if found is None:
            end = len(self.text.rstrip())
            return Span(self._source, end, end + 1)
        return Span(self._source, *found.span())


# --- files


COMPRESSION_LEVEL = 6


def without_gz(path: Path) -> Path:
    """The path without the extension `.gz`.

    >>> without_gz(Path("net.uai.gz")).name, without_gz(Path("net.uai")).name
    ('net.uai', 'net.uai')
    """
    return path.with_suffix("") if is_gzipped(path) else path


def in_bytes(path: Path, text: str) -> bytes:
    """The bytes to write for a text, gzipped or not; the same text gives the same bytes."""
    raw = text.encode("utf-8")
    return gzip.compress(raw, COMPRESSION_LEVEL, mtime=0) if is_gzipped(path) else raw


# --- numbers


Bytes: TypeAlias = NDArray[np.uint8]

_BLANK, _DIGIT, _OTHER = 0, 1, 2
_SORT_OF_BYTE = np.full(256, _OTHER, np.uint8)
_SORT_OF_BYTE[list(b" \t\n\v\f\r")] = _BLANK
_SORT_OF_BYTE[list(b"0123456789")] = _DIGIT


class StrangeTextError(Exception):
    """Something is wrong with a text; reading it word by word will say what."""


def require(condition: object) -> None:
    """Give up reading numbers at once unless the condition holds."""
    if not condition:
        raise StrangeTextError


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """The words of a text, all of which are numbers.

    values  the numbers
    wholes  the same as integers; -1 for words that are not whole numbers of at least 0

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
        """The whole number at a position."""
        require(place < len(self) and self.wholes[place] >= 0)
        return self.wholes.item(place)

    def rows(self, starts: Ints, width: int, step: int = 1) -> Ints:
        """A row of `width` whole numbers for each start, every `step`-th from there on."""
        rows = self.wholes[self._places(starts, width, step)]
        require((rows >= 0).all())
        return rows

    def potentials(self, starts: Ints, width: int, step: int = 1) -> Floats:
        """The same for potentials; each row has one that is not 0."""
        rows = self.values[self._places(starts, width, step)]
        require(np.isfinite(rows).all() and (rows >= 0).all() and rows.any(axis=1).all())
        return rows

    def _places(self, starts: Ints, width: int, step: int) -> Ints:
        require(starts.max(initial=0) + step * (width - 1) < len(self))
        return starts[:, None] + step * np.arange(width)


def _cut_out(raw: Bytes, starts: Ints, lengths: Ints) -> Ints:
    """The values of words that consist of digits, which are replaced by blanks.

    This is much faster than parsing doubles, and most words consist of digits.
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
    """The numbers in a text of this many words."""
    with warnings.catch_warnings():
        # Older versions of numpy warn at a word that is not a number, and skip the rest.
        warnings.simplefilter("error")
        try:
            values = np.fromstring(text, sep=" ")
        except (ValueError, DeprecationWarning):
            raise StrangeTextError from None
    # Each word holds at least one number, so equal counts mean one number per word.
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
    """Each different row, with the positions where it occurs."""
    if not len(rows):
        return
    first, group = distinct_rows(rows)
    order = np.argsort(group, kind="stable")
    bounds = np.cumsum(np.bincount(group, minlength=len(first)))[:-1]
    for row, places in zip(rows[first].tolist(), np.split(order, bounds), strict=True):
        yield tuple(row), places


def all_different(rows: Ints) -> bool:
    """Whether no row contains a number twice."""
    in_order = np.sort(rows, axis=1)
    return bool((in_order[:, 1:] != in_order[:, :-1]).all())
