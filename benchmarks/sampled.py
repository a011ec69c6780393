"""Transitive relations beyond exact inference: answers beside those of Gibbs sampling.

`python -m benchmarks.sampled` prints both. The first rows have exact values, too, and show how far
the samples can be trusted: many independent chains, started from random relations, with the first
third of each left out.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.accuracy import CASES, LARGEST_TABLE
from liftgbp import reference

CHAINS = 300
SWEEPS = {5: 600, 6: 600, 10: 500, 20: 200}
EXACT_UP_TO = 6
WEIGHTS = (0.5, 1.4)

(TRANSITIVE,) = (case for case in CASES if case.name == "transitive")


def sampled(people: int, weight: float, sweeps: int, seed: int = 0) -> float:
    """The share of pairs that are related, by Gibbs sampling of single pairs."""
    generator = np.random.default_rng(seed)
    related = (generator.random((CHAINS, people, people)) < 0.2).astype(float)
    related[:, np.arange(people), np.arange(people)] = 0
    pairs = [(x, z) for x in range(people) for z in range(people) if x != z]
    means = []
    for _ in range(sweeps):
        for x, z in pairs:
            broken = _broken_more(related, x, z)
            related[:, x, z] = generator.random(CHAINS) < 1 / (1 + np.exp(weight * broken))
        means.append(related.sum() / (CHAINS * len(pairs)))
    return float(np.mean(means[sweeps // 3 :]))


def _broken_more(related: np.ndarray, x: int, z: int) -> np.ndarray:
    """How many more groundings each chain breaks if x is related to z than if it is not."""
    into, out = related[:, :, x], related[:, z, :]
    after_z = out * (1 - related[:, x, :])
    before_x = into * (1 - related[:, :, z])
    between = related[:, x, :] * related[:, :, z]
    others = np.ones(related.shape[1])
    others[[x, z]] = 0
    return np.asarray(((after_z + before_x - between) * others).sum(axis=1))


def main() -> None:
    table = Table(title="transitive: P(r(x,y))")
    for heading in ("w", "N", "exact", "sampled", "quick", "normal", "sharpest"):
        table.add_column(heading, justify="right")
    for weight in WEIGHTS:
        model = TRANSITIVE.model(weight)
        for people, sweeps in SWEEPS.items():
            sizes = {"person": people}
            quick = liftgbp.infer(model, sizes, effort="quick")
            sharpest = liftgbp.infer(model, sizes, effort="quick", regions="auto", table_cap=2**12)
            answers = quick, liftgbp.infer(model, sizes), sharpest
            numbers = sampled(people, weight, sweeps), *(a.marginal("r(x,y)") for a in answers)
            texts = [_exact(model, people), *(f"{p:.4f}" for p in numbers)]
            table.add_row(f"{weight}", f"{people}", *texts)
    Console().print(table)


def _exact(model: liftgbp.Model, people: int) -> str:
    if people > EXACT_UP_TO:
        return ""
    truth = reference.exact(reference.ground(model, {"person": people}), cap=LARGEST_TABLE)
    return f"{truth.marginals[reference.GroundAtom('r', (0, 1))][1]:.4f}"


if __name__ == "__main__":
    main()
