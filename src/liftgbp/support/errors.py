"""Errors: each branch of their tree says who can do something about them.

LiftgbpError
    InputError          whoever wrote the text, the data or the options
    LimitExceeded       whoever set the limits of the run
    ProcessError        whoever started another process (BusyError), or ended one (WorkerError)
    InternalError       the authors of liftgbp
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name that a user knows it by (a path, `<stdin>`, `<query>`)."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a source, from offset `start` up to but not including offset `end`."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line number, from 1."""
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """Column number, from 1."""
        return self.start - self.source.text.rfind("\n", 0, self.start)

    @property
    def text(self) -> str:
        """The text of this part."""
        return self.source.text[self.start : self.end]

    def point(self) -> str:
        """The line of the span with a caret and tildes under it; of a long line, what is around."""
        text = self.source.text
        line_start = text.rfind("\n", 0, self.start) + 1
        line_end = text.find("\n", self.start)
        line_end = len(text) if line_end < 0 else line_end
        while line_end > line_start and text[line_end - 1] == "\r":
            line_end -= 1
        start, end = line_start, line_end
        if end - start > LONGEST_LINE:
            start = max(start, min(self.start - LONGEST_LINE // 2, end - LONGEST_LINE))
            end = start + LONGEST_LINE
        before, after = "..." * (start > line_start), "..." * (end < line_end)
        width = max(1, min(self.end, end) - self.start)
        # Tabs stay tabs, so that the caret stands under its character in any terminal.
        shown = before + text[start : self.start]
        indent = "".join(c if c == "\t" else " " for c in shown)
        return f"  {before}{text[start:end]}{after}\n  {indent}^{'~' * (width - 1)}"


LONGEST_LINE = 200
"""The most characters of a line that a message shows: what fits on a few lines of a terminal."""

LONGEST_WORD = 300
"""The most characters of a word in a message; paths are rarely longer."""

LONGEST_MESSAGE = 4000
"""The most characters of a message; those about many rows of a table are half as long."""


def brief(message: str) -> str:
    """A message without the middle of what is too long in it: names of strangers, lists of names.

    >>> brief("unknown predicate " + 999 * "a") == f"unknown predicate {200 * 'a'}...{50 * 'a'}"
    True
    """
    if len(message) > LONGEST_WORD:
        message = _LONG_WORD.sub(lambda word: f"{word[0][:200]}...{word[0][-50:]}", message)
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[: LONGEST_MESSAGE - 1000]} ... {message[-900:]}"
    return message


_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


class LiftgbpError(Exception):
    """All errors that liftgbp raises by itself; the message is cut off where it is too long.

    >>> import liftgbp
    >>> try:
    ...     liftgbp.infer(liftgbp.parse("smokes(person)"))
    ... except liftgbp.LiftgbpError as error:
    ...     print(type(error).__name__)
    SizeError
    """

    def __init__(self, message: str) -> None:
        self.message = brief(message)
        super().__init__(self.message)

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = "liftgbp"  # as users write it, and as tracebacks shall name it


class InputError(LiftgbpError):
    """Input that cannot be used; the message names the place and the remedy.

    >>> import liftgbp
    >>> try:
    ...     liftgbp.parse("friends(person, person)\\n1.4 friends(x) => friends(x,y)")
    ... except liftgbp.InputError as error:
    ...     print(error)
    <text>:2:5: friends takes 2 arguments, got 1
      1.4 friends(x) => friends(x,y)
          ^~~~~~~~~~
    """

    def __init__(self, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.span = span

    def __str__(self) -> str:
        if self.span is None:
            return self.message
        place = f"{self.span.source.name}:{self.span.line}:{self.span.column}"
        return f"{place}: {self.message}\n{self.span.point()}"


class ModelError(InputError):
    """The model's text or structure is wrong.

    >>> import liftgbp
    >>> liftgbp.parse("smokes(person)\\n1.4 smoke(x)")
    Traceback (most recent call last):
    liftgbp.ModelError: <text>:2:5: unknown predicate smoke; the model declares smokes
      1.4 smoke(x)
          ^~~~~~~~
    """


class SizeError(InputError):
    """A domain size is missing, malformed or too small for the constants it must hold.

    >>> import liftgbp
    >>> try:
    ...     liftgbp.infer(liftgbp.parse("smokes(person)"))
    ... except liftgbp.SizeError as error:
    ...     print(error.message.split(";")[0])
    sort person has no size
    """


class QueryError(InputError):
    """A query asks for something that the model lacks, or that no region holds.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> try:
    ...     liftgbp.infer(model, {"person": 4}).marginal("drinks(x)")
    ... except liftgbp.QueryError as error:
    ...     print(error.message)
    unknown predicate drinks; the model declares friends, smokes
    """


class NotHeldError(QueryError):
    """The atoms of a query lie in no common region.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> answers = liftgbp.infer(model, {"person": 1000}, effort="quick")
    >>> try:
    ...     answers.query("friends(x,y) ^ friends(y,z)")
    ... except liftgbp.NotHeldError as error:
    ...     print(error.message.split(":")[0])
    no region holds friends(x,y) ^ friends(y,z) where x != y, x != z, y != z
    """


class EvidenceError(InputError):
    """The evidence does not fit the model, or contradicts itself.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> try:
    ...     liftgbp.parse_evidence(model, "smokes(Anna)\\n!smokes(Anna)")
    ... except liftgbp.EvidenceError as error:
    ...     print(error.message.split(" in ")[0])
    !smokes(Anna) contradicts smokes(Anna)
    """


class CapacityError(InputError):
    """A table or a graph would exceed its cap.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> try:
    ...     liftgbp.prepare(model, {"person": 10}, regions="objects:5", table_cap=1000)
    ... except liftgbp.CapacityError as error:
    ...     print(error.message.split(",")[0])
    regions objects:5 need a table over 25 atoms with 33554432 entries
    """


class ContradictionError(InputError):
    """The hard formulas leave no possible world.

    >>> import liftgbp
    >>> model = liftgbp.parse("smokes(person)\\nsmokes(x).\\n!smokes(x).")
    >>> try:
    ...     liftgbp.infer(model, {"person": 4})
    ... except liftgbp.ContradictionError as error:
    ...     print(error.message.split(":")[0])
    the hard formulas contradict each other
    """


class LimitExceeded(LiftgbpError):  # noqa: N818
    """A run took more time or memory than its limits allow; `stage` says what it was doing.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> try:
    ...     liftgbp.sample(model, {"person": 50}, limits=liftgbp.Limits(seconds=1e-6))
    ... except liftgbp.LimitExceeded as error:
    ...     print("stopped in a stage:", error.stage != "")
    stopped in a stage: True
    """

    def __init__(self, message: str, stage: str = "") -> None:
        super().__init__(message)
        self.stage = stage


class ProcessError(LiftgbpError):
    """Another process is in the way, or one that is needed is gone.

    >>> import liftgbp
    >>> issubclass(liftgbp.BusyError, liftgbp.ProcessError)
    True
    """


class BusyError(ProcessError):
    """Another process writes to the same file.

    >>> import tempfile
    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         liftgbp.export_network(model, f"{folder}/net.uai", {"person": 3})
    ...     except liftgbp.BusyError as error:
    ...         print(error)  # names the process that holds the file
    ...     else:
    ...         print("written")
    written
    """


class WorkerError(ProcessError):
    """A process that worked for a run is gone, or could not be started.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> try:
    ...     sweep = liftgbp.sweep(model, {"person": [10, 20]}, effort="quick", jobs=2)
    ...     print(len(sweep.rows))
    ... except liftgbp.WorkerError as error:
    ...     print(error)  # says which signal ended the process
    6
    """


class InternalError(LiftgbpError):
    """An invariant of liftgbp itself does not hold. This is a bug, whatever the input was.

    >>> import liftgbp
    >>> issubclass(liftgbp.InternalError, liftgbp.InputError)  # `except InputError` hides no bugs
    False
    """


# --- checking arguments

LONGEST_SHOWN = 40


def wrong_type(what: str, wanted: str, given: object) -> InputError:
    """The error for an argument of the wrong type.

    >>> print(wrong_type("table_cap", "a whole number", "many"))
    table_cap must be a whole number, got the str 'many'
    """
    return InputError(f"{what} must be {wanted}, got the {type(given).__name__} {shown(given)}")


def shown(given: object) -> str:
    """A value in a message: on one line, and not too long.

    >>> shown([1, 2]), shown("many")
    ('[1, 2]', "'many'")
    """
    try:
        text = " ".join(repr(given).split())
    except Exception:  # whatever the class of the value does there
        return "that cannot be shown"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def elements(given: object) -> list[Any] | None:
    """The elements of a list or an array; `None` for a text and whatever else is none.

    >>> elements((1, 2)), elements("smokes(x)")
    ([1, 2], None)
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        return None
    try:
        return list(given)
    except TypeError:  # an array without axes
        return None


def checked_path(what: str, given: object) -> Path:
    """The argument as a path.

    >>> checked_path("output", 5)
    Traceback (most recent call last):
    liftgbp.InputError: output must be a path, got the int 5
    """
    if not isinstance(given, str | os.PathLike):
        raise wrong_type(what, "a path", given)
    return Path(given)


def checked_texts(what: str, given: object) -> tuple[str, ...]:
    """The texts of a list; a single text counts as a list of one.

    >>> checked_texts("queries", "smokes(x)"), checked_texts("queries", [])
    (('smokes(x)',), ())
    """
    texts: list[str] = []
    listed = elements(given)
    for one in [given] if listed is None else listed:
        if not isinstance(one, str):
            raise wrong_type(what, "text, or a list of texts", one)
        texts.append(one)
    return tuple(texts)


def checked_number(what: str, given: object, *, least: int) -> int:
    """The argument as a whole number.

    >>> checked_number("points", 0, least=1)
    Traceback (most recent call last):
    liftgbp.InputError: points must be a whole number of at least 1, got the int 0
    """
    if not isinstance(given, Integral) or isinstance(given, bool) or given < least:
        raise wrong_type(what, f"a whole number of at least {least}", given)
    return int(given)


LONGEST_SECONDS = 1e9
"""Seconds beyond any computation."""


def checked_seconds(given: object) -> float:
    """A time in seconds, as a number of any type.

    >>> checked_seconds(0)
    Traceback (most recent call last):
    liftgbp.InputError: seconds must be a number above 0, got the int 0
    """
    known = isinstance(given, Real) and not isinstance(given, bool)
    if not known or not 0 < given < LONGEST_SECONDS:  # type: ignore[operator]
        raise wrong_type("seconds", "a number above 0", given)
    return float(given)  # type: ignore[arg-type]


def checked_flag(what: str, given: object) -> bool:
    """The argument as True or False; those of NumPy count, too."""
    kind = type(given)
    if kind is not bool and not (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")):
        raise wrong_type(what, "True or False", given)
    return bool(given)


def check_mapping(what: str, given: object, wanted: str) -> None:
    """Refuse an argument that is no mapping."""
    if not isinstance(given, Mapping):
        raise wrong_type(what, f"a mapping {wanted}", given)


def check_function(what: str, given: object) -> None:
    """Refuse an argument that cannot be called."""
    if not callable(given):
        raise wrong_type(what, "a function", given)


# --- numbers and lists in messages


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "argument"), counted(2, "argument")
    ('1 argument', '2 arguments')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def comma_list(names: Iterable[str]) -> str:
    """Names separated by commas.

    >>> comma_list(["friends", "smokes"]), comma_list([])
    ('friends, smokes', 'none')
    """
    return ", ".join(names) or "none"


LONGEST_WRITTEN_OUT = 12
"""Numbers with more digits than this are written in scientific notation."""


def states_text(axes: Mapping[int, int]) -> str:
    """The number of states of a table as text, given the number of axes of each length.

    >>> states_text({2: 20}), states_text({2: 380, 3: 1}), states_text({2: 10**9})
    ('1048576', '7.4e114', '10^301029995')
    """
    digits = math.fsum(count * math.log10(length) for length, count in axes.items())
    if digits <= LONGEST_WRITTEN_OUT:
        return str(math.prod(length**count for length, count in axes.items()))
    exponent = math.floor(digits)
    # Beyond that, rounding of the logarithm leaves no digits for a mantissa.
    if exponent >= 10**6:
        return f"10^{exponent}"
    return f"{10 ** (digits - exponent):.1f}e{exponent}"
