"""Findings in words: the one table of what users read about trust, with places and remedies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from liftgbp.posterior import Confirmation, Silence, Support, Unconfirmed
from liftgbp.posterior.results import Choice, ChoiceKind, GrowthEnd, GrowthStop
from liftgbp.solve import (
    NO_BLOCKS,
    Algorithm,
    Finding,
    Flaw,
    IndependentAtoms,
    Kind,
    KnownWorlds,
    Remedy,
    SolvedBy,
    Status,
    Verdict,
)
from liftgbp.support.errors import counted

WORDINGS: dict[Flaw | Status, str] = {
    Status.CONVERGED: "neighbouring regions agree on their common marginals",
    Status.NOT_CONVERGED: "message passing has not converged",
    Status.DIVERGED: "message passing has diverged",
    Status.IMPRECISE: "the counts of this domain exceed double precision",
    Status.NO_MINIMUM: "no trustworthy minimum of the free energy was found",
    Flaw.OUT_OF_ITERATIONS: (
        "message passing has not converged after {0:.0f} iterations (residual {1:.1e})"
    ),
    Flaw.UNSETTLED: "descent stopped before it reached a minimum of the free energy",
    Flaw.SADDLE: "the beliefs are a saddle of the free energy, not a minimum",
    Flaw.SADDLE_BETWEEN_HALVES: (
        "the beliefs are a saddle of the ground free energy: objects of a class would rather "
        "behave differently (blocks)"
    ),
    Flaw.VALLEY: "the free energy is flat, so that other beliefs are as good as these",
    Flaw.INCONSISTENT: "no consistent beliefs are near",
    Flaw.STILL_FALLS: "the free energy still falls: a step changes a belief by {0:.1e}",
    Flaw.UNPROVEN: "no minimum of the free energy was proven to be near the beliefs",
    Flaw.HIDDEN_ENTROPY: "the counts of this domain are so large that rounding hides entropies",
    Flaw.HIDDEN_CURVATURE: "rounding hides whether the beliefs are a minimum of the free energy",
    Flaw.HIDDEN_MINIMUM: (
        "rounding hides the minimum of the free energy; the answer is that of independent atoms"
    ),
    Flaw.NO_BETTER_MINIMUM: "no minimum is worth as much as these independent atoms over blocks",
    Flaw.COSTLY_MINIMUM: (
        "to find the minimum beside these independent atoms over blocks takes more effort"
    ),
    Flaw.TOO_LARGE: "the Hessian of the free energy is too large",
    Flaw.NEGATIVE_ENTROPY: "the entropy {0:.4g} is negative",
    Flaw.LARGE_ENTROPY: "the entropy {0:.4g} exceeds its bound {1:.4g}",
    Flaw.CROWDED: "atoms exclude each other more than their number allows",
    Flaw.FRUSTRATED: "atoms differ from each other more often around a cycle than is possible",
    Flaw.CROWDED_RIVAL: "in a minimum with a larger log Z, atoms exclude each other too much",
    Flaw.FEW_DIGITS: "log Z has too few digits to compare the minima of the free energy",
    Flaw.MISSED_MINIMUM: "a saddle has a larger log Z than all minima, so one was missed",
    Flaw.OPEN_RIVAL: (
        "a point that may weigh as much as the best one is not known to be a minimum"
    ),
    Flaw.CLOSE_MINIMA: (
        "a community has minima only {0:.2g} standard deviations apart, and worlds between them"
    ),
    Flaw.FEW_DIGITS_OF_COUNTS: (
        "log Z has too few digits to be compared with that of other counts"
    ),
    Flaw.OTHER_SOLUTION: "the solver trusts another solution than at the most likely counts",
    Flaw.COUNTS: "{counts} be trusted: at the most likely one of them ({about}), {cause}",
    Flaw.TOO_LIGHT: "log Z is {0:.3g} below what {by} reach",
    Flaw.TOO_HEAVY: "log Z is {0:.3g} above what is proven to be possible",
    Flaw.HIDDEN_BLOCKS: (
        "the counts of this domain are so large that rounding hides which blocks of objects are "
        "best"
    ),
    Flaw.SAMPLE: "a sample says P({about}) = {0:.3g} (standard error {1:.1g}), not {2:.3g}",
    Flaw.NO_SAMPLE: (
        "no sample could judge the answer, since no possible world was found to start from"
    ),
    Flaw.NOT_MIXED: "the sample has not mixed: R-hat is {0:.3g} for {about}",
    Flaw.FEW_DRAWS: (
        "the sample has not mixed: it is worth {0:.0f} independent draws of {about}; sample for "
        "longer"
    ),
}
"""What each finding says; what stands in braces are its numbers and places."""

CONFIRMATIONS: dict[Support, str] = {
    Support.SAMPLE: "a sample says the same",
    Support.SMALLER_SAMPLE: "at {sizes} a sample says the same, and the answer keeps its structure",
    Support.PART: "in a part of the network ({sizes}) a sample says the same",
}
"""What speaks for an answer."""

SILENCES: dict[Silence, str] = {
    Silence.NOT_ASKED: "no second opinion was asked for",
    Silence.TOO_LARGE: "a sample of so many atoms takes more effort",
    Silence.NO_WORLD: "no chain of a sample found a possible world",
    Silence.NOT_MIXED: "the chains of a sample{at} have not mixed",
    Silence.SAMPLE_DIFFERS: "a sample{at} differs from the same method by {0:.2g} in {about}",
    Silence.OTHER_STRUCTURE: "the structure of the answer is another one{at}",
}
"""Why nothing speaks for an answer."""

NEARLY_ALL = 0.995
"""Counts with a larger share are called all of them."""


def sentence(finding: Finding | None) -> str:
    """A finding in words; empty if there is none.

    >>> sentence(Finding(Flaw.TOO_LIGHT, (0.5,), by=IndependentAtoms(((5, 5),), mixed=True)))
    'log Z is 0.5 below what independent atoms over blocks of 5, 5, mixed in all ways, reach'
    """
    if finding is None:
        return ""
    share = finding.numbers[0] if finding.kind is Flaw.COUNTS else 0.0
    counts = f"counts that carry {100 * share:.2g}% of the sum cannot"
    return WORDINGS[finding.kind].format(
        *finding.numbers,
        about=finding.about,
        by=reached_by(finding.by or NO_BLOCKS),
        cause=sentence(finding.cause),
        counts="none of the counts that are summed over can" if share > NEARLY_ALL else counts,
    )


def support_text(support: Confirmation | Unconfirmed) -> str:
    """What speaks for an answer besides its own method, or why nothing does.

    >>> support_text(Confirmation(Support.SAMPLE, 0.0023, "r(x,y)"))
    'a sample says the same; the largest difference is 0.0023, in r(x,y)'
    >>> support_text(Unconfirmed())
    'nothing contradicts the answer, but no second opinion was asked for'
    """
    sizes = ", ".join(f"{sort} = {size}" for sort, size in support.sizes.items())
    if isinstance(support, Unconfirmed):
        at = f" at {sizes}" if sizes else ""
        why = SILENCES[support.why].format(*support.numbers, at=at, about=support.about)
        return f"nothing contradicts the answer, but {why}"
    words: str = CONFIRMATIONS[support.by].format(sizes=sizes)
    if not support.about:
        return words
    return f"{words}; the largest difference is {support.difference:.2g}, in {support.about}"


def reached_by(by: IndependentAtoms | KnownWorlds) -> str:
    """What reaches a lower bound of log Z.

    >>> reached_by(IndependentAtoms(((6 * 10**99, 4 * 10**99),)))
    'independent atoms over blocks of 6e+99, 4e+99'
    """
    if isinstance(by, KnownWorlds):
        return "a best world and its renamings"
    words = "independent atoms"
    if by.blocks:
        listed = (", ".join(f"{size:.12g}" for size in own) for own in by.blocks)
        words = f"{words} over blocks of {' and '.join(listed)}"
    if by.mixed:
        words = f"{words}, mixed in all ways,"
    return f"{words} for each value of one {by.atom}" if by.atom else words


# --- remedies


class Advice(NamedTuple):
    """What to try: in words, as an argument of `infer`, and on the command line."""

    words: str
    python: str
    options: str

    def __str__(self) -> str:
        return f"{self.words} ({self.python}, {self.options})"


ADVICE = {
    Remedy.DESCENT: Advice("descent", "solver=liftgbp.Descent()", "--solver descent"),
    Remedy.DAMPING: Advice(
        "more damping and more iterations",
        "solver=liftgbp.Flooding(damping=0.9, iterations=5000)",
        "--solver flooding --damping 0.9 --iterations 5000",
    ),
    Remedy.EFFORT: Advice("more effort", "effort='normal'", "--effort normal"),
    Remedy.BLOCKS: Advice("blocks", "blocks='auto'", "--blocks auto"),
    Remedy.REGIONS: Advice("other regions", "regions='auto'", "--regions auto"),
    Remedy.BETHE: Advice("small regions", "regions='bethe'", "--regions bethe"),
    Remedy.SUM_OVER: Advice("a sum over counts", "sum_over='auto'", "--sum-over auto"),
}


def reason(flaw: str, remedies: Sequence[Remedy]) -> str:
    """One sentence: what is wrong, and what to try; empty if nothing is wrong.

    >>> reason("message passing has diverged", [Remedy.DESCENT])
    'message passing has diverged; try descent (solver=liftgbp.Descent(), --solver descent)'
    """
    advice = " or ".join(str(ADVICE[own]) for own in remedies)
    return f"{flaw}; try {advice}" if flaw and advice else flaw


# --- points and runs


def verdict_text(verdict: Verdict) -> str:
    """What is known about a point, in one line."""
    if verdict.kind in (Kind.EXACT, Kind.SAMPLED):
        return str(verdict.kind.value)
    curvatures = []
    if verdict.curvature is not None:
        curvatures.append(f"smallest curvature {verdict.curvature:.2g}")
    if verdict.broken_curvature is not None:
        curvatures.append(f"{verdict.broken_curvature:.2g} between halves of classes")
    curvature = f" ({', '.join(curvatures)})" if curvatures else ""
    unknown = f" ({sentence(verdict.unknown)})" if verdict.unknown else ""
    wrong = verdict.implausible
    plausible = f"implausible ({sentence(wrong)})" if wrong else "plausible"
    proven = ", proven" if verdict.proven else ""
    return (
        f"{verdict.kind.value}{proven}{curvature}{unknown}, {plausible}, "
        f"residual {verdict.residual:.1e}"
    )


def unchecked_text(verdict: Verdict) -> str:
    """What is noted about an answer that was not checked: what it is, and how to compare it."""
    if verdict.unknown is not None and verdict.unknown.kind is Flaw.TOO_LARGE:
        return (
            "the regions are too many to check that the answer is a minimum of the free energy; to "
            "compare, ask about a part of the data or use other regions (regions='bethe', "
            "--regions bethe)"
        )
    return sentence(verdict.unknown)


def solver_text(solver: SolvedBy) -> str:
    """What found an answer."""
    match solver.algorithm:
        case Algorithm.SUM_OVER_CELLS:
            return f"exact (a sum over {counted(solver.size, 'count')})"
        case Algorithm.SUM_OVER_ARRANGEMENTS:
            return f"exact (a sum over blocks of objects, for {counted(solver.size, 'count')})"
        case Algorithm.JUNCTION_TREE:
            return f"exact (a junction tree with {solver.size} states)"
        case Algorithm.SAMPLING:
            return f"sampling ({counted(solver.size, 'chain')})"
    return str(solver.algorithm.value)


# --- choices


GROWTH_ENDS = {
    GrowthEnd.MORE_EFFORT: "larger regions take more effort",
    GrowthEnd.LONGER_LOOPS: "longer loops are not tried",
    GrowthEnd.SAME_REGIONS: "larger families have the same regions",
    GrowthEnd.NOT_TRUSTED: "the answer of {0.family} cannot be trusted",
    GrowthEnd.NOT_APPROXIMATE: "nothing is approximated",
    GrowthEnd.ONE_REGION: "one region holds all objects",
    GrowthEnd.REFUSED: "{0.message}",
}


def growth_end(stop: GrowthStop | None) -> str:
    """Why there are no larger regions; empty where none were tried."""
    return "" if stop is None else GROWTH_ENDS[stop.kind].format(stop)


CHOICES = {
    ChoiceKind.EXACT: "{0.predicate} was chosen: at each of its counts, nothing is approximated",
    ChoiceKind.LARGEST_CHANGE: (
        "{0.predicate} was chosen: summing over its counts changes log Z most ({listed})"
    ),
    ChoiceKind.NO_CHANGE: "no predicate was chosen: none changes log Z ({listed})",
    ChoiceKind.NO_CANDIDATE: (
        "no predicate was chosen: there is no unary Boolean one in the formulas whose counts could "
        "be summed"
    ),
}


def choice_text(choice: Choice) -> str:
    """Why counts of a predicate were summed over, or of none."""
    listed = ", ".join(f"{name} {change:+.3g}" for name, change in choice.changes)
    return CHOICES[choice.kind].format(choice, listed=listed)
