"""How far an answer can be trusted: three states, and what speaks for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from liftgbp.support.shown import HasCard


class Standing(HasCard, Enum):
    """How far an answer can be trusted.

    CONFIRMED    exact, sampled with known errors, or an independent method agrees
    UNCONFIRMED  nothing contradicts it, but nothing independent was or could be asked
    REFUSED      something is wrong with it

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> liftgbp.infer(model, {"person": 20}).standing
    <Standing.CONFIRMED: 'confirmed'>
    >>> liftgbp.infer(model, {"person": 20}, effort="quick").standing
    <Standing.UNCONFIRMED: 'unconfirmed'>
    """

    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    REFUSED = "refused"


class Support(Enum):
    """What may speak for an answer, or could have."""

    SAMPLE = auto()
    """A sample that has mixed says the same."""

    SMALLER_SAMPLE = auto()
    """A sample of a smaller world says the same there, and the answer keeps its structure."""

    PART = auto()
    """A sample of a part of the network says the same about that part."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What speaks for an answer.

    difference  the largest difference of a probability from what the second opinion says
    about       the atom where it is
    sizes       those of the smaller world that was looked at, if it was one
    """

    by: Support
    difference: float = 0.0
    about: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)


class Silence(Enum):
    """Why there is no second opinion on an answer."""

    NOT_ASKED = auto()
    """The effort leaves no time for one, or the answer of a named method was wanted."""

    TOO_LARGE = auto()
    """A sample would take more than the effort allows."""

    NO_WORLD = auto()
    """No chain of a sample found a possible world."""

    NOT_MIXED = auto()
    """A sample was drawn, but its chains have not mixed."""

    SAMPLE_DIFFERS = auto()
    """In a smaller world, a sample says something else than the same method."""

    OTHER_STRUCTURE = auto()
    """Between the smaller world and this one, the structure of the answer changes."""


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """Why nothing independent speaks for an answer."""

    why: Silence = Silence.NOT_ASKED
    numbers: tuple[float, ...] = ()
    about: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)


NOT_ASKED = Unconfirmed()
"""Nobody asked for a second opinion."""
