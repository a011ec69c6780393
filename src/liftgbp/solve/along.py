"""Solving plans that follow each other, such as those of growing domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from liftgbp.plan import Plan
from liftgbp.solve.descent import Descent
from liftgbp.solve.solution import Solution


def solve_along(
    method: Descent, plans: Sequence[Plan], stride: int, afresh: Iterable[int] = ()
) -> list[Solution]:
    """All solutions of plans with one layout.

    Every `stride`-th plan, the last one and those in `afresh` are solved from all starts; the plans
    between follow what was found there.
    """
    anchors = sorted({*afresh, *range(0, len(plans), stride), len(plans) - 1})
    found = dict(zip(anchors, method.solve_all([plans[k] for k in anchors]), strict=True))
    between = [k for k in range(len(plans)) if k not in found]
    around = [
        (found[k - k % stride], found[min(k - k % stride + stride, len(plans) - 1)])
        for k in between
    ]
    found |= zip(between, method.follow([plans[k] for k in between], around), strict=True)
    return [found[k] for k in range(len(plans))]
