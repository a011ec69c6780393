"""What may be wrong with a point or an answer, as values; sentences are for whoever shows them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from liftgbp.support.shown import HasCard


class Status(HasCard, Enum):
    """How a run ended.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> hasty = liftgbp.Flooding(iterations=2)
    >>> liftgbp.infer(model, {"person": 20}, solver=hasty).status
    <Status.NOT_CONVERGED: 'not converged'>
    """

    CONVERGED = "converged"
    NOT_CONVERGED = "not converged"
    DIVERGED = "diverged"
    IMPRECISE = "precision lost"
    NO_MINIMUM = "no trustworthy minimum"


class Algorithm(HasCard, Enum):
    """What finds an answer.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> liftgbp.infer(model, {"person": 20}, effort="quick").result.solver.algorithm
    <Algorithm.DESCENT: 'descent'>
    """

    FLOODING = "flooding"
    DESCENT = "descent"
    INDEPENDENT_ATOMS = "independent atoms"
    SUM_OVER_CELLS = "sum over cells"
    SUM_OVER_ARRANGEMENTS = "sum over arrangements in blocks"
    JUNCTION_TREE = "junction tree"
    SAMPLING = "sampling"


@dataclass(frozen=True, slots=True)
class SolvedBy:
    """What found an answer; `size` is how many counts, states or chains it took."""

    algorithm: Algorithm
    size: int = 0


class Flaw(HasCard, Enum):
    """What is wrong; behind it, the numbers that say how much, in this order.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> undecided = liftgbp.infer(model, {"person": 20}, solver=liftgbp.Flooding())
    >>> undecided.flaw.kind is liftgbp.Flaw.SADDLE
    True
    """

    # --- the run
    OUT_OF_ITERATIONS = "out of iterations"  # how many, the residual
    UNSETTLED = "unsettled"
    # --- what a point is
    SADDLE = "saddle"
    SADDLE_BETWEEN_HALVES = "saddle between halves"
    VALLEY = "valley"
    INCONSISTENT = "inconsistent"
    STILL_FALLS = "still falls"  # the change of a belief
    UNPROVEN = "unproven"
    HIDDEN_ENTROPY = "hidden entropy"
    HIDDEN_CURVATURE = "hidden curvature"
    HIDDEN_MINIMUM = "hidden minimum"
    NO_BETTER_MINIMUM = "no better minimum"
    COSTLY_MINIMUM = "costly minimum"
    TOO_LARGE = "too large"
    # --- beliefs that are impossible
    NEGATIVE_ENTROPY = "negative entropy"  # the entropy
    LARGE_ENTROPY = "large entropy"  # the entropy, its bound
    CROWDED = "crowded"
    FRUSTRATED = "frustrated"
    # --- points beside each other
    CROWDED_RIVAL = "crowded rival"
    FEW_DIGITS = "few digits"
    MISSED_MINIMUM = "missed minimum"
    OPEN_RIVAL = "open rival"
    CLOSE_MINIMA = "close minima"  # how many standard deviations they are apart
    # --- sums over counts
    FEW_DIGITS_OF_COUNTS = "few digits of counts"
    OTHER_SOLUTION = "other solution"
    COUNTS = "counts"  # their share
    # --- what else is known
    TOO_LIGHT = "too light"  # by how much log Z falls short
    TOO_HEAVY = "too heavy"  # by how much log Z exceeds its ceiling
    HIDDEN_BLOCKS = "hidden blocks"
    SAMPLE = "sample"  # its probability, the standard error, that of the answer
    NO_SAMPLE = "no sample"
    # --- samples
    NOT_MIXED = "not mixed"  # R-hat
    FEW_DRAWS = "few draws"  # how many independent ones it is worth


@dataclass(frozen=True, slots=True)
class IndependentAtoms:
    """Independent atoms that reach a lower bound of log Z.

    blocks  the sizes of the blocks of each class that is split
    mixed   whether objects are put into the blocks in all ways
    atom    the predicate of an atom that is fixed to each of its values, if one is
    """

    blocks: tuple[tuple[float, ...], ...] = ()
    mixed: bool = False
    atom: str = ""


NO_BLOCKS = IndependentAtoms()
"""Independent atoms with the same chances for all objects of a class."""


@dataclass(frozen=True, slots=True)
class KnownWorlds:
    """A best world and its renamings, whose weights alone reach a lower bound of log Z.

    log_number  the log of how many worlds these are, at least
    """

    log_number: float = 0.0


@dataclass(frozen=True, slots=True)
class Finding(HasCard):
    """Something that is wrong, and where.

    kind     what it is; of a run without more to say, how it ended
    numbers  how much, as `Flaw` says
    region   the number of the region where it shows most
    about    the atom or the counts that it is about, as queries write them
    by       what reaches a bound
    cause    what is wrong there

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> hasty = liftgbp.infer(model, {"person": 20}, solver=liftgbp.Flooding(iterations=2))
    >>> hasty.flaw.kind.value, hasty.flaw.numbers[0], hasty.graph.region_text(hasty.flaw.region)
    ('out of iterations', 2, 'smokes(1) smokes(2)')
    """

    kind: Flaw | Status
    numbers: tuple[float, ...] = ()
    region: int | None = None
    about: str = ""
    by: IndependentAtoms | KnownWorlds | None = None
    cause: Finding | None = None
