"""A text file as words, which know their place, so that an error can point at one."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from pathlib import Path
from typing import NoReturn

from liftgbp.model.syntax import clean_source
from liftgbp.support.errors import InputError, ModelError, Source, Span
from liftgbp.support.input_files import read_text

MOST_DIGITS = 18

DECIMALS = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Arithmetic for potentials beyond doubles: seventeen digits, and those that logarithms need."""


class WordReader:
    """The words of a file, read from the first to the last.

    Places are found only when something is wrong, since files hold millions of words.

    >>> words = WordReader(Source("net.uai", "MARKOV\\n2\\n2 x"), comments=re.compile("#.*"))
    >>> words.several(1, "a name"), words.whole("a number"), words.whole("a range")
    (['MARKOV'], 2, 2)
    >>> words.whole("the range of variable {}", 1)
    Traceback (most recent call last):
    ...
    liftgbp.ModelError: net.uai:3:3: expected the range of variable 1, got x
      2 x
        ^
    """

    def __init__(self, source: Source, comments: re.Pattern[str]) -> None:
        self._source = source
        # Comments become blanks of the same length, so that offsets stay the same.
        self._text = comments.sub(lambda comment: " " * len(comment.group()), source.text)
        self._words = self._text.split()
        self._next = 0

    @classmethod
    def of_file(
        cls, path: str | Path, comments: re.Pattern[str], most: int | None = None
    ) -> WordReader:
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

    def several(self, count: int, what: str, number: int | None = None) -> Sequence[str]:
        """The next words; `what` they should be has `{}` for the number of a factor."""
        first, after = self._next, self._next + count
        if after > len(self._words):
            place = len(self._words)
            self.fail(f"the file ends where {what.format(number)} should be", place)
        self._next = after
        return self._words[first:after]

    def whole(self, what: str, number: int | None = None) -> int:
        """The next word, as a whole number from 0."""
        self.several(1, what, number)
        return self.whole_at(self._next - 1, what, number)

    def wholes(self, count: int, what: str, number: int | None = None) -> tuple[int, ...]:
        """The next words, as whole numbers from 0."""
        first, words = self._next, self.several(count, what, number)
        together = "".join(words)
        if together.isdecimal() and together.isascii() and len(together) <= MOST_DIGITS:
            return tuple(map(int, words))
        return tuple(self.whole_at(position, what, number) for position in range(first, self._next))

    def whole_at(self, position: int, what: str, number: int | None = None) -> int:
        """The word at a position, as a whole number from 0."""
        word = self._words[position]
        if not (word.isdecimal() and word.isascii() and len(word) <= MOST_DIGITS):
            self.fail(f"expected {what.format(number)}, got {word}", position)
        return int(word)

    def log_potential(self, position: int) -> float:
        """The logarithm of the word at a position, which must be a potential."""
        word = self._words[position]
        try:
            value = math.nan if "_" in word else float(word)
        except ValueError:
            value = math.nan
        if 0.0 < value < math.inf:
            return math.log(value)
        exact = Decimal(word) if value in (0.0, math.inf) else Decimal("NaN")
        if exact.is_finite() and exact > 0:
            return float(DECIMALS.ln(exact))
        if not math.isfinite(value):
            self.fail(f"expected a number, got {word}", position)
        if value < 0:
            self.fail(f"{word} is negative; potentials are 0 or more", position)
        return -math.inf

    def end(self, after: str) -> None:
        """Refuse further words."""
        if self.left:
            self.fail(f"there is more text after {after}", self._next)

    def fail(self, message: str, position: int, error: type[InputError] = ModelError) -> NoReturn:
        """Raise an error that points at a word, or at the end of the file."""
        raise error(message, self._span(position))

    def _span(self, position: int) -> Span:
        found = next(itertools.islice(re.finditer(r"\S+", self._text), position, None), None)
        if found is None:
            end = len(self._text.rstrip())
            return Span(self._source, end, end + 1)
        return Span(self._source, *found.span())
