"""The law of the engine: at every iteration a belief is that of each ground region it covers."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from liftgbp import reference
from liftgbp.check import check
from liftgbp.errors import CapacityError, ContradictionError
from liftgbp.model.model import Model
from random_models import models, sizes

MOST_GROUND_FACTORS = 150


@pytest.mark.parametrize("regions", ["intersections", "subsets", "bethe", "objects:2"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models(), domain=sizes())
def test_random_models(regions: str, model: Model, domain: dict[str, int]) -> None:
    try:
        ground = reference.ground(model, domain)
        assume(len(ground.factors) <= MOST_GROUND_FACTORS)
        assume(max((len(f.scope) for f in ground.factors), default=0) <= 6)
        reference.ground_regions(ground, regions)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            check(model, domain, regions=regions)
        return
    except CapacityError:
        assume(False)
    report = check(model, domain, regions=regions, iterations=6)
    assert report.agrees, report
