"""Growing the regions step by step, so that one sees whether the answer has settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count

from liftgbp.errors import CapacityError, SizeError
from liftgbp.posterior import Posterior
from liftgbp.posterior.provenance import MORE_EFFORT

AUTO = "auto"
"""The name of the choice of regions that grows them."""


def grow(
    run: Callable[[str], Posterior],
    families: Iterable[str] | None = None,
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
    end = "" if families is None else MORE_EFFORT
    for family in _families(chain) if families is None else families:
        try:
            answers = run(family)
        except (CapacityError, SizeError) as error:
            if not chain:
                raise
            end = error.message
            break
        if _is_saturated(answers, family, chain):
            end = "larger families have the same regions"
            break
        if not chain or regions(answers) != regions(chain[-1]):
            chain.append(answers)
            if family.startswith("objects") and not answers.trusted:
                end = f"the answer of {family} cannot be trusted"
                break
            if not answers.approximate:
                end = "nothing is approximated"
                break
        elif answers.trusted and not chain[-1].trusted:
            # Solved part by part, the same regions may have another answer.
            chain[-1] = answers
    for k in reversed(range(len(chain))):
        if chain[k].trusted:
            chain[k] = judge(chain[k])
            if chain[k].trusted:
                best = chain[k]
                break
            end = f"the answer of {chain[k].graph.family} cannot be trusted"
    else:
        # A second opinion on an answer says more than why another one fails.
        known = (own for own in reversed(chain) if own.result.verdict.contradicted)
        best = next(known, chain[-1])
    end = end or "one region holds all objects"
    return best.made_of(growth=tuple(chain), growth_end=end)


def _families(chain: list[Posterior]) -> Iterator[str]:
    yield "bethe"
    yield "intersections"
    # By now the chain holds answers, and these know how many objects there are.
    largest = max(chain[0].sizes.values(), default=0)
    for objects in count(2):
        yield f"objects:{objects}"
        if objects >= largest:
            return


def clusters_of(answers: Posterior) -> list[object]:
    """The clusters of the regions of answers, which are equal for equal lifted graphs."""
    return [region.cluster for region in answers.graph.regions]


def _is_saturated(answers: Posterior, family: str, chain: list[Posterior]) -> bool:
    """Whether a family is past the widest factor, and still adds nothing."""
    if not family.startswith("objects") or clusters_of(answers) != clusters_of(chain[-1]):
        return False
    clusters = [region.cluster for region in answers.graph.regions]
    objects = [{obj for _, args in cluster for obj in args} for cluster in clusters]
    widest = max(map(len, objects), default=0)
    return int(family.partition(":")[2]) > widest
