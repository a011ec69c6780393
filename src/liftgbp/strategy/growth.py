"""Growing the regions step by step, so that one sees whether the answer has settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from liftgbp.lift.regions import BETHE, FACTOR_SCOPES, Family, over_objects
from liftgbp.posterior import Posterior
from liftgbp.posterior.results import GrowthEnd, GrowthStop
from liftgbp.support.errors import CapacityError, SizeError


class EffortError(CapacityError):
    """Larger regions take more work than the effort allows."""

    def __init__(self) -> None:
        super().__init__("larger regions take more effort")


def grow(
    run: Callable[[Family], Posterior],
    families: Iterable[Family] | None = None,
    judge: Callable[[Posterior], Posterior] = lambda answers: answers,
    regions: Callable[[Posterior], object] | None = None,
) -> Posterior:
    """The answers of the largest regions that can be trusted, with those of all others.

    `run` answers for a region family. If no families are given, they are bethe, intersections,
    objects:2, objects:3 and so on, until a table would outgrow its cap, all objects are in one
    region, nothing is approximated, or an answer is not trustworthy any more. Families that add no
    region to the one before are left out. `judge` takes a last look at answers that would be the
    best, and may find that they are not to be trusted. `regions` tells whether two answers have the
    same regions; by itself this compares the clusters of lifted graphs.
    """
    regions = regions or clusters_of
    chain: list[Posterior] = []
    last = GrowthEnd.ONE_REGION if families is None else GrowthEnd.MORE_EFFORT
    stop = GrowthStop(last)
    for family in _families(chain) if families is None else families:
        try:
            answers = run(family)
        except (CapacityError, SizeError) as error:
            if not chain:
                raise
            refused = GrowthStop(GrowthEnd.REFUSED, message=error.message)
            stop = GrowthStop(GrowthEnd.MORE_EFFORT) if isinstance(error, EffortError) else refused
            break
        if _is_saturated(answers, family, chain):
            stop = GrowthStop(GrowthEnd.SAME_REGIONS)
            break
        if not chain or regions(answers) != regions(chain[-1]):
            chain.append(answers)
            if family.name == "objects" and not answers.sound:
                stop = GrowthStop(GrowthEnd.NOT_TRUSTED, str(family))
                break
            if not answers.approximate:
                stop = GrowthStop(GrowthEnd.NOT_APPROXIMATE)
                break
        elif answers.sound and not chain[-1].sound:
            # Solved part by part, the same regions may have another answer.
            chain[-1] = answers
    for k in reversed(range(len(chain))):
        if chain[k].sound:
            chain[k] = judge(chain[k])
            if chain[k].sound:
                best = chain[k]
                break
            stop = GrowthStop(GrowthEnd.NOT_TRUSTED, str(chain[k].graph.family))
    else:
        # A second opinion on an answer says more than why another one fails.
        known = (own for own in reversed(chain) if own.result.verdict.contradicted)
        best = next(known, chain[-1])
    return best.made_of(growth=tuple(chain), growth_stop=stop)


def _families(chain: list[Posterior]) -> Iterator[Family]:
    yield BETHE
    yield FACTOR_SCOPES
    # By now the chain holds answers, and these know how many objects there are.
    largest = max(chain[0].sizes.values(), default=0)
    yield from over_objects(max(largest, 2))


def clusters_of(answers: Posterior) -> list[object]:
    """The clusters of the regions of answers, which are equal for equal lifted graphs."""
    return [region.cluster for region in answers.graph.regions]


def _is_saturated(answers: Posterior, family: Family, chain: list[Posterior]) -> bool:
    """Whether a family is past the widest factor, and still adds nothing."""
    if family.name != "objects" or clusters_of(answers) != clusters_of(chain[-1]):
        return False
    clusters = [region.cluster for region in answers.graph.regions]
    objects = [{obj for _, args in cluster for obj in args} for cluster in clusters]
    widest = max(map(len, objects), default=0)
    return family.size > widest
