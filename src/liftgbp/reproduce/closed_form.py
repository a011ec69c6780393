"""Exact values of friends-smokers at any size, by summing over the number of smokers."""

from __future__ import annotations

import math

import numpy as np

LARGEST = 10**6
"""Sums over more smokers than this take seconds."""


def friends_of_smokers(weight: float, people: int) -> float:
    """P(friends(x,y)) for x ≠ y where friends of smokers smoke with this weight.

    Given who smokes, all friendships are independent. Only a smoker and a non-smoker break the rule
    by being friends: such a pair has weight e^w + 1, every other pair 2 e^w.

    >>> round(friends_of_smokers(1.4, 4), 10)
    0.4509442376
    """
    if people > LARGEST:
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
