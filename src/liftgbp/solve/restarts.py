"""Flooding from other starts: a point that it reaches need not be the only minimum.

Stable points of message passing are minima of the free energy, but which one is reached depends on
where messages start: in a model of friends who smoke alike, all smoke or nobody does. So messages
start again from tilted atoms, and from the mirror image of what was found. Where that mirror is a
symmetry of the model, the image needs no messages; where evidence breaks the symmetry, it does.
Nothing starts again where there is no other fixed point to be found: the one that was found is the
minimum then, though its curvature may not be known.

Reference: T. Heskes, *Stable fixed points of loopy belief propagation are local minima of the Bethe
free energy*, NIPS 2002.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np

from liftgbp.plan import Layout, Plan
from liftgbp.solve.exact_log_z import is_comparable
from liftgbp.solve.findings import Status
from liftgbp.solve.flooding import FloodedBatch, FloodEnd, Flooding, verdicts_on
from liftgbp.solve.images import Places, images_of
from liftgbp.solve.mean_field import AtomValues, bound_by_marginals
from liftgbp.solve.mixture import mixed
from liftgbp.solve.solution import Point, Solution
from liftgbp.solve.starts import opposite_distributions, starting_distributions
from liftgbp.solve.tolerances import Tolerances
from liftgbp.solve.uniqueness import has_one_fixed_point
from liftgbp.solve.verdict import Verdict
from liftgbp.support.arrays import Floats
from liftgbp.support.progress import Progress, silent


def flooded_again(
    flooding: Flooding, plan: Plan, first: Solution, progress: Progress = silent
) -> Solution:
    """What flooding has found, mixed with its images and with what it finds from other starts."""
    tolerances = flooding.tolerances
    if not plan.layout.message_entries:
        return first
    if has_one_fixed_point(plan, tolerances):
        return replace(first, judged=partial(_only_minimum, plan, first, tolerances))
    images = images_of(plan, first.log_beliefs, tolerances)
    known = [first.log_beliefs, *images]
    places = Places(tolerances.same)
    for own in known:
        places.add(np.exp(own))
    others: list[FloodEnd] = []
    for messages in _starting_messages(plan.layout, first, tolerances):
        ends = flooding.ends([plan] * len(messages), progress, messages, known)
        converged = (end for end in ends if end.status is Status.CONVERGED)
        others += [end for end in converged if places.add(np.exp(end.log_beliefs))]
    if not others and not images:
        return first
    found = [first]
    if others:
        batch = FloodedBatch(others, tolerances)
        found += [batch.solution(k) for k in range(len(others))]
    return mixed(first, plan, [_point(plan, own, tolerances) for own in found], tolerances)


def _only_minimum(plan: Plan, first: Solution, tolerances: Tolerances) -> Verdict:
    """The verdict on the only stationary point: it is the lowest one, and lies below all products.

    So none is looked for, which would take longer than everything else in a verdict.
    """
    end = FloodEnd(plan, first.log_beliefs, first.trace, first.status, None)
    bound = bound_by_marginals(plan, first.log_beliefs, tolerances)
    (verdict,) = verdicts_on([end], [bound], tolerances)
    return verdict.as_only_minimum()


def _starting_messages(layout: Layout, first: Solution, tolerances: Tolerances) -> Iterator[Floats]:
    """Messages that tilt atoms, in batches of rows.

    For large layouts, where each run takes long, there are fewer of them, one after the other.
    """
    values = AtomValues.of(layout)
    small = layout.belief_entries <= tolerances.most_restarted
    tilted = starting_distributions(layout, 0, 0)[1:] if small else opposite_distributions(layout)
    logs = [values.of_groups(layout, distributions) for distributions in tilted]
    with np.errstate(under="ignore"):
        marginals = values.marginals(layout, np.exp(first.log_beliefs))
    least = tolerances.zero_belief
    logs.append(np.log(np.maximum(values.mirrored(marginals), least)))
    for batch in [np.array(logs)] if small else [own[None] for own in logs]:
        yield values.log_beliefs(layout, batch, tolerances)[:, layout.children]


def _point(plan: Plan, solution: Solution, tolerances: Tolerances) -> Point:
    return Point(
        solution.log_beliefs,
        solution.log_z,
        0.0,
        solution.verdict,
        Decimal(solution.log_z) - Decimal(plan.log_offset),
        is_comparable(plan, tolerances),
    )
