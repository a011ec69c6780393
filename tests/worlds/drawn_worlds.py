"""Random models with evidence, and random worlds of them."""

from __future__ import annotations

import random
from itertools import product

from hypothesis import strategies as st

from all_worlds import Atom
from liftgbp.evidence import Evidence
from liftgbp.lift.shatter import NormalModel
from liftgbp.model.model import Model
from random_models import models, models_with_evidence, sizes

Case = tuple[Model, dict[str, int], Evidence | None]


def random_world(normal: NormalModel, source: random.Random) -> dict[Atom, int]:
    """A value for every atom over the objects of classes."""
    objects = [[(c, k) for k in range(n)] for c, n in enumerate(normal.class_sizes)]
    chance = source.choice([0.1, 0.5, 0.9])
    world: dict[Atom, int] = {}
    for number, predicate in enumerate(normal.predicates):
        domains = [
            [own for c in normal.classes_of(sort) for own in objects[c]] for sort in predicate.sorts
        ]
        for args in product(*domains):
            other = source.randrange(1, len(predicate.values))
            world[number, args] = other if source.random() < chance else 0
    return world


@st.composite
def cases(draw: st.DrawFn) -> Case:
    if draw(st.booleans()):
        return draw(models_with_evidence(most=4))
    return draw(models()), draw(sizes(most=4)), None
