"""The four models of the paper, each with its query, the sizes that ground inference can handle,
and a closed form where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from liftgbp.model.ast import Number, WeightedFormula
from liftgbp.model.model import Model
from liftgbp.model.parser import load

PERSON = "person"

SAMPLED_WEIGHT = 1.4

LARGEST_SUM = 10**6
"""Sums over more smokers than this take seconds."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A model of the paper, which is one of the examples.

    `ground_sizes` are those for which ground GBP and a junction tree take seconds at most;
    `closed_form` gives the exact query probability for a weight and any larger size, if known.
    `sampled` has query probabilities by Gibbs sampling for the weight `SAMPLED_WEIGHT`, by size.
    """

    name: str
    query: str
    ground_sizes: tuple[int, ...]
    closed_form: Callable[[float, int], float] | None = None
    sampled: Mapping[int, float] = field(default_factory=dict)

    @property
    def predicate(self) -> str:
        """The predicate that the query asks for."""
        return self.query.partition("(")[0]

    def model(self, weight: float) -> Model:
        """The model with this weight of its rule."""
        model = load(f"example:{self.name}")
        formulas = (rule for rule in model.rules if isinstance(rule, WeightedFormula))
        rules = tuple(replace(rule, weight=Number(weight)) for rule in formulas)
        return replace(model, rules=rules)


def friends_of_smokers(weight: float, people: int) -> float:
    """P(friends(x,y)) for x ≠ y where friends of smokers smoke with this weight.

    Given who smokes, all friendships are independent. Only a smoker and a non-smoker break the rule
    by being friends: such a pair has weight e^w + 1, every other pair 2 e^w.

    >>> round(friends_of_smokers(1.4, 4), 10)
    0.4509442376
    """
    if people > LARGEST_SUM:
        return math.nan
    smokers = np.arange(people + 1)
    mixed_pairs = smokers * (people - smokers)
    broken = math.log1p(math.exp(-weight)) - math.log(2)
    from scipy.special import gammaln  # slow to import

    choices = gammaln(people + 1) - gammaln(smokers + 1) - gammaln(people - smokers + 1)
    log_shares = choices + broken * mixed_pairs
    shares = np.exp(log_shares - log_shares.max())
    share_of_mixed = np.average(mixed_pairs / (people * (people - 1)), weights=shares)
    friends_if_mixed = 1 / (1 + math.exp(weight))
    return float(0.5 + share_of_mixed * (friends_if_mixed - 0.5))


FRIENDS_SMOKERS = Experiment("friends-smokers", "friends(x,y)", (4, 5, 6, 8), friends_of_smokers)

TRANSITIVE = Experiment(
    "transitive",
    "r(x,y)",
    (4, 5),
    sampled={6: 0.319, 10: 0.263, 14: 0.2376, 20: 0.2179, 40: 0.1922, 60: 0.1895, 100: 0.1893},
)

FRIENDS_KNOWS = Experiment(
    "friends-knows",
    "friends(x,y)",
    (4, 5),
    sampled={10: 0.230, 20: 0.1688, 40: 0.1408, 60: 0.1527, 100: 0.1577},
)

CHAIN = Experiment("chain", "r(x,y)", (4, 5), sampled={10: 0.1405, 20: 0.131})

EXPERIMENTS = (FRIENDS_SMOKERS, TRANSITIVE, FRIENDS_KNOWS, CHAIN)
