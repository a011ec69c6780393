"""Why answers cannot be trusted, and what is worth trying then."""

from __future__ import annotations

from liftgbp.lift.regions import BETHE
from liftgbp.posterior import Posterior, Standing
from liftgbp.posterior.results import GrowthEnd
from liftgbp.report.wording import reason, sentence, support_text
from liftgbp.solve import Kind, Remedy

FEW_PREDICATES = 4
"""In models with more unary predicates, sums over counts take too long to be recommended."""

MOST_NAMED = 1000
"""In graphs with more regions none is named, since putting such a graph into words takes long."""

NOTHING = frozenset[Remedy]()


def reason_of(posterior: Posterior, tried: frozenset[Remedy] = NOTHING) -> str:
    """Why the answer is not confirmed; if it is refused, also what to try. Empty if it is."""
    match posterior.standing:
        case Standing.CONFIRMED:
            return ""
        case Standing.UNCONFIRMED:
            return support_text(posterior.support)
    return reason(flaw_text(posterior), remedies_of(posterior, tried))


def standing_text(posterior: Posterior) -> str:
    """Why the answer stands as it does, in words."""
    if not posterior.trusted:
        return reason_of(posterior)
    if posterior.approximate:
        return support_text(posterior.support)
    runs = (posterior, *posterior.provenance.parts)
    if any(own.verdict.kind is Kind.SAMPLED for own in runs):
        return "the answer is a sample with known standard errors"
    return "the answer is exact"


def flaw_text(posterior: Posterior) -> str:
    """Why the numbers cannot be used, without what to try; empty if they can."""
    flaw = posterior.result.flaw
    text, region = sentence(flaw), None if flaw is None else flaw.region
    if region is not None and len(posterior.graph.regions) <= MOST_NAMED:
        named = posterior.reader.prepared.region_text(region)
        text = f"{text}, most of all in the region {named}"
    return text


def remedies_of(posterior: Posterior, tried: frozenset[Remedy] = NOTHING) -> tuple[Remedy, ...]:
    """What is worth trying if the numbers cannot be used; empty if they can."""
    if posterior.sound:
        return ()
    return tuple(
        own for own in posterior.result.remedies if own not in tried and _applies(own, posterior)
    )


def _applies(remedy: Remedy, posterior: Posterior) -> bool:
    """Whether a remedy can be tried on a model, and was not in use."""
    made, via = posterior.provenance, posterior.via
    match remedy:
        case Remedy.EFFORT:
            return made.effort == "quick"
        case Remedy.BLOCKS:
            return made.effort != "quick" and not made.blocks and posterior.verdict.breaks
        case Remedy.REGIONS:
            stop = made.growth_stop
            more = stop is not None and stop.kind is GrowthEnd.MORE_EFFORT
            return not made.growth or (via == "ground" and more)
        case Remedy.BETHE:
            return via == "ground" and posterior.graph.family != BETHE
        case Remedy.SUM_OVER:
            # More effort sums over counts, too, as far as that takes little time.
            predicates = posterior.model.predicates.values()
            unary = sum(len(one.sorts) == 1 and len(one.values) == 2 for one in predicates)
            return via == "lifted" and 0 < unary <= FEW_PREDICATES
    return True
