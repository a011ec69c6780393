"""Intervals that contain log Z and probabilities for certain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from liftgbp.lift.regions import FACTOR_SCOPES
from liftgbp.posterior.opinions import Opinion, OpinionRow
from liftgbp.solve import IndependentAtoms
from liftgbp.support.errors import QueryError, shown
from liftgbp.support.shown import Reported, in_words

PRINTED = 5e-7
"""Probabilities are printed with six digits; what differs by less looks the same."""


DIGITS = 10
"""Digits of a printed log Z."""


@dataclass(frozen=True, slots=True, repr=False)
class ProbabilityBounds(Reported):
    """What the probabilities of one row lie in: an interval (least, most) for each value.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> bounds = liftgbp.bounds(model, {"person": 20}, queries=["smokes(x)"])
    >>> least, most = bounds.rows[0].values["true"]
    >>> 0.49 < least < 0.5 < most < 0.51
    True
    """

    query: str
    atom: str
    where: str
    count: int
    values: dict[str, tuple[float, float]]
    example: str = ""

    def __getitem__(self, value: str) -> tuple[float, float]:
        """The interval of the probability of a value."""
        if not isinstance(value, str) or value not in self.values:
            values = ", ".join(self.values)
            given = value if isinstance(value, str) else shown(value)
            raise QueryError(f"{self.atom} takes the values {values}, not {given}")
        return self.values[value]

    @property
    def informative(self) -> bool:
        """Whether some value has an interval that is printed as less than [0, 1]."""
        return any(least > PRINTED or most < 1 - PRINTED for least, most in self.values.values())

    def as_dict(self) -> dict[str, object]:
        """The row for JSON."""
        return {
            "query": self.query,
            "atom": self.atom,
            "where": self.where,
            "count": self.count,
            "example": self.example,
            "informative": self.informative,
            "values": [
                {
                    "value": value,
                    "least": least,
                    "most": most,
                    "text": interval_text(least, most),
                }
                for value, (least, most) in self.values.items()
            ],
        }

    def __str__(self) -> str:
        lead = f"{self.atom}{f' [{self.where}]' if self.where else ''}"
        if not self.informative:
            return f"{lead}  no information"
        return "  ".join(
            [lead, *(f"{value}: {interval_text(*own)}" for value, own in self.values.items())]
        )


@dataclass(frozen=True, slots=True, repr=False)
class Bounds(Reported):
    """Proven bounds: `lower` <= log Z <= `upper`, whatever any approximation says.

    lower      minus infinity if no world was found that hard formulas allow
    upper      what log Z is at most
    width      their difference, which is more precise than that of the rounded ends
    atoms      the number of ground atoms that are not observed
    reached    what reaches the lower bound
    family     the family of regions that proves the upper one; empty if no regions do
    rows       intervals of the probabilities that were asked for

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> bounds = liftgbp.bounds(model, {"person": 20})
    >>> bounds.lower < bounds.upper < bounds.lower + 0.01
    True
    >>> print(bounds)
    809.9520512 <= log Z <= 809.9601776
    a gap of 1.93e-05 per ground atom (420 atoms)
    """

    model: str
    domains: dict[str, int]
    lower: float
    upper: float
    width: float
    atoms: int
    reached: IndependentAtoms
    family: str
    rows: tuple[ProbabilityBounds, ...] = ()
    seconds: float = 0.0

    @property
    def lower_by(self) -> str:
        """What reaches the lower bound, in words; empty if none was found."""
        return in_words(self.reached) if math.isfinite(self.lower) else ""

    @property
    def upper_by(self) -> str:
        """What proves the upper bound, in words."""
        if not self.family:
            return "the largest energy of each factor"
        regions = "factor scopes" if self.family == str(FACTOR_SCOPES) else self.family
        return f"conditional entropies over {regions}"

    @property
    def lower_per_atom(self) -> float:
        """The lower bound for each ground atom."""
        return self.lower / max(self.atoms, 1)

    @property
    def upper_per_atom(self) -> float:
        """The upper bound for each ground atom."""
        return self.upper / max(self.atoms, 1)

    @property
    def width_per_atom(self) -> float:
        """What is not known of log Z, for each ground atom."""
        return self.width / max(self.atoms, 1)

    def __contains__(self, log_z: float) -> bool:
        return self.lower <= log_z <= self.upper

    def opinion_on(self, answers: Any, queries: Sequence[str]) -> Opinion:
        """What is proven nearest to the answers: these themselves, if they are possible.

        There is an opinion on the atoms that bounds were asked for.
        """
        known = {(row.query, row.atom, row.where): row for row in self.rows}
        asked = queries or dict.fromkeys(row.query for row in self.rows)
        rows = [
            OpinionRow(own.query, own.atom, own.where, _nearest(own.values, row.values))
            for query in asked
            for own in answers.query(query)
            if (row := known.get((own.query, own.atom, own.where))) is not None
        ]
        log_z = min(max(answers.result.log_z, self.lower), self.upper)
        return Opinion("the proven bounds", rows, log_z)

    def as_dict(self) -> dict[str, object]:
        """The bounds for JSON."""
        return {
            "model": self.model,
            "domains": self.domains,
            "log_z": self.log_z_as_dict(),
            "rows": [row.as_dict() for row in self.rows],
            "seconds": self.seconds,
        }

    @property
    def text(self) -> str:
        """What log Z lies in, in words; both ends are rounded outwards."""
        upper = rounded_text(self.upper, ROUND_CEILING)
        if not math.isfinite(self.lower):
            return f"log Z <= {upper}; no lower bound was found"
        return f"{rounded_text(self.lower, ROUND_FLOOR)} <= log Z <= {upper}"

    def log_z_as_dict(self) -> dict[str, object]:
        """The bounds of log Z for JSON; a missing lower bound is `None`."""
        finite = math.isfinite(self.lower)
        return {
            "text": self.text,
            "lower": self.lower if finite else None,
            "upper": self.upper,
            "width": self.width if finite else None,
            "atoms": self.atoms,
            "lower_per_atom": self.lower_per_atom if finite else None,
            "upper_per_atom": self.upper_per_atom,
            "width_per_atom": self.width_per_atom if finite else None,
            "lower_by": self.lower_by,
            "upper_by": self.upper_by,
        }

    def __str__(self) -> str:
        lines = [
            self.text,
            f"a gap of {self.width_per_atom:.3g} per ground atom ({self.atoms} atoms)",
            *map(str, self.rows),
        ]
        return "\n".join(lines)


def _nearest(
    answered: Mapping[tuple[str, ...], float], proven: Mapping[str, tuple[float, float]]
) -> dict[tuple[str, ...], float]:
    return {
        key: min(max(p, proven[key[0]][0]), proven[key[0]][1])
        for key, p in answered.items()
        if len(key) == 1 and key[0] in proven
    }


def interval_text(least: float, most: float) -> str:
    """An interval of probabilities, rounded outwards.

    >>> interval_text(0.25, 0.5), interval_text(0.1234567, 0.7654321)
    ('[0.250000, 0.500000]', '[0.123456, 0.765433]')
    """
    sixth = Decimal("1e-6")
    down = Decimal(least).quantize(sixth, ROUND_FLOOR)
    return f"[{down}, {Decimal(most).quantize(sixth, ROUND_CEILING)}]"


def rounded_text(number: float, rounding: str, digits: int = DIGITS) -> str:
    """A number with some digits, rounded up or down.

    >>> rounded_text(2 / 3, ROUND_FLOOR, 4), rounded_text(1.23456e20, ROUND_CEILING, 4)
    ('0.6666', '1.235e+20')
    """
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(number))
    return f"{float(rounded):.{digits}g}"
