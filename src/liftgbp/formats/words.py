"""A text file as a row of words, each of which knows its place when it turns out to be wrong."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from liftgbp.errors import InputError, ModelError, Source, Span

MOST_DIGITS = 18


class Words:
    """The words of a file, read from the first to the last.

    Places are looked up only when something is wrong: files hold millions of words.

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
        # Comments become blanks of the same length, so that places stay what they are.
        self._text = comments.sub(lambda comment: " " * len(comment.group()), source.text)
        self._words = self._text.split()
        self._next = 0

    @classmethod
    def of_file(cls, path: str | Path, comments: re.Pattern[str]) -> Words:
        """The words of a file, or an error that says why it cannot be read."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"cannot read {path}: it is not UTF-8 text") from None
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None
        except ValueError as error:  # a character that no path can have
            raise InputError(f"cannot read {str(path)!r}: {error}") from None
        return cls(Source(str(path), text), comments)

    @property
    def position(self) -> int:
        """The number of the next word."""
        return self._next

    @property
    def left(self) -> int:
        """How many words are still to be read."""
        return len(self._words) - self._next

    def word(self, what: str) -> str:
        """The next word."""
        return self.several(1, what)[0]

    def several(self, count: int, what: str) -> Sequence[str]:
        """The next words."""
        first, after = self._next, self._next + count
        if after > len(self._words):
            self.fail(f"the file ends where {what} should stand", len(self._words))
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
        if not math.isfinite(value):
            self.fail(f"expected a number, got {word}", position)
        if value < 0:
            self.fail(f"{word} is negative; potentials are 0 or more", position)
        return math.log(value) if value else -math.inf

    def end(self, after: str) -> None:
        """Refuse words after the last one."""
        if self.left:
            self.fail(f"{after} is complete, but the file goes on", self._next)

    def fail(self, message: str, position: int, error: type[InputError] = ModelError) -> NoReturn:
        """Raise an error that points at a word, or at the end of the file."""
        raise error(message, self._span(position))

    def _span(self, position: int) -> Span:
        found = next(itertools.islice(re.finditer(r"\S+", self._text), position, None), None)
        if found is None:
            end = len(self._text.rstrip())
            return Span(self._source, end, end + 1)
        return Span(self._source, *found.span())
