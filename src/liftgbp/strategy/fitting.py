"""Weights that make formulas as probable as a model demands, `P(smokes(x)) = 0.3`.

Each demand has one unknown weight. With it, the model is the one of largest entropy, relative to
its other rules, in which the formula holds for this share of its groundings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import root

from liftgbp.model.ast import And, Demand, Formula, Number, WeightedFormula
from liftgbp.model.model import Model
from liftgbp.model.writer import demand_text, formula_text
from liftgbp.posterior import Answer
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import ModelError

TOLERANCE = 1e-6
"""How far a share may be from what is demanded."""


Query = Callable[[str], Sequence[Answer]]


def fitted(model: Model, query_about: Callable[[Model], Query]) -> Model:
    """The model with formulas whose weights meet its demands, by the answers about such models."""
    demands = model.demands
    if not demands:
        return model

    def misses(weights: Floats) -> Floats:
        query = query_about(_weighted(model, weights.tolist()))
        return np.array([_miss(query, demand) for demand in demands])

    start = np.array([math.log(one.probability / (1 - one.probability)) for one in demands])
    found = root(misses, start, method="hybr", options={"xtol": 1e-10})
    left = np.abs(misses(found.x))
    worst = int(np.argmax(left))
    if not left[worst] <= TOLERANCE:
        raise ModelError(
            f"no weights were found that meet {demand_text(demands[worst])} together with the "
            f"other rules; the best misses it by {left[worst]:.2g}",
            demands[worst].span,
        )
    return _weighted(model, found.x.tolist())


def _weighted(model: Model, weights: Sequence[float]) -> Model:
    rules = list(model.rules)
    for demand, weight in zip(model.demands, weights, strict=True):
        both = _both(demand)
        rules.append(WeightedFormula(both, Number(weight), span=demand.span))
        if demand.given is not None:
            share = Number(-weight * demand.probability)
            rules.append(WeightedFormula(demand.given, share, span=demand.span))
    remarks = (
        f"{demand_text(demand)} holds with the weight {weight:.4g}, before any evidence"
        for demand, weight in zip(model.demands, weights, strict=True)
    )
    return replace(model, rules=tuple(rules), demands=(), remarks=(*model.remarks, *remarks))


def _both(demand: Demand) -> Formula:
    return demand.formula if demand.given is None else And((demand.formula, demand.given))


def _miss(query: Query, demand: Demand) -> float:
    """By how much the share of groundings that hold is too large."""
    whole = 1.0 if demand.given is None else _share(query, demand.given)
    return _share(query, _both(demand)) - demand.probability * whole


def _share(query: Query, formula: Formula) -> float:
    rows = query(formula_text(formula))
    total = sum(row.count for row in rows)
    return sum(row.count * row[("true",) * len(next(iter(row.values)))] for row in rows) / total
