"""What answers were made of: sums, blocks, parts and regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from liftgbp.posterior.block_table import BlockStructure
from liftgbp.posterior.results import Choice, GrowthStop
from liftgbp.support.shown import Reported, in_words

if TYPE_CHECKING:
    from liftgbp.posterior.posterior import Posterior
    from liftgbp.posterior.proven_bounds import Bounds


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CountSum(Reported):
    """A sum over how many objects have some properties; over none, if `auto` chose none.

    predicates  whose counts were summed over
    visited     how many counts were solved
    peaks       the most likely counts in words, each with the share of the counts around it
    untrusted   the share of counts whose solution cannot be trusted
    exact       whether nothing is approximated at any count, since regions do not overlap there
    chosen      why these predicates were chosen, or none, if they were not asked for by name

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> answers = liftgbp.infer(model, {"person": 20}, sum_over="smokes")
    >>> print(answers.sum_over)
    sum over smokes, 21 counts
    """

    predicates: tuple[str, ...] = ()
    visited: int = 0
    peaks: tuple[tuple[str, float], ...] = ()
    untrusted: float = 0.0
    exact: bool = False
    chosen: Choice | None = None

    @property
    def choice(self) -> str:
        """Why these predicates were chosen, in words."""
        return "" if self.chosen is None else in_words(self.chosen)

    def as_dict(self) -> dict[str, object]:
        """The sum for JSON."""
        return {
            "predicates": list(self.predicates),
            "counts_visited": self.visited,
            "most_likely": [{"counts": text, "share": share} for text, share in self.peaks],
            "untrusted_share": self.untrusted,
            "choice": self.choice,
        }

    def __str__(self) -> str:
        return f"sum over {', '.join(self.predicates)}, {self.visited} counts"


NO_SUM = CountSum()


@dataclass(frozen=True, slots=True)
class SampleMade:
    """A sample: its chains, the sweeps of each, the worst R-hat, and the error of log Z."""

    chains: int
    sweeps: int
    r_hat: float
    log_z_error: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Provenance:
    """What answers were made of, and what is known beside them.

    sums        the sum over counts
    blocks      how objects fall into blocks that behave differently, the largest share first
    parts       the answers about independent parts, of which these are the product
    growth      the answers of every family that regions grew through, small regions first
    growth_stop why they did not grow further
    effort      the level of effort, where one was chosen
    plain       the answers without sums, blocks or larger regions, if these are others
    bounds      what log Z lies in for certain, if that was asked for
    sample      the sample that the answers are read from, or that judged them
    communities the number of minima of each community that has several
    """

    sums: CountSum = NO_SUM
    blocks: tuple[BlockStructure, ...] = ()
    parts: tuple[Posterior, ...] = ()
    growth: tuple[Posterior, ...] = ()
    growth_stop: GrowthStop | None = None
    effort: str = ""
    plain: Posterior | None = None
    bounds: Bounds | None = None
    sample: SampleMade | None = None
    communities: tuple[int, ...] = ()


NOTHING_SPECIAL = Provenance()
"""Minima over a family of regions, or an exact answer."""
