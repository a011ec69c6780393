"""Are standard errors honest? Samples with many seeds, of models whose truth is exact."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.progress import track
from rich.table import Table

import liftgbp
from benchmarks.people.asking import WITHIN, probability_of
from benchmarks.people.case import PeopleCase

SWEEPS = 300
RUNS = 200
HONEST = (0.90, 0.99)
"""The part of all runs in which the truth should be within two standard errors."""

MODELS = (
    "transitive 5",
    "transitive 5, 2 facts",
    "symmetric 6, 2 facts",
    "teachers 4",
    "smokers 20, 1.4, 0",
    "equivalence 12, 0",
    "agreement 40, -0.3, 3 values",
    "order 10, 0.5",
)


def table(cases: Sequence[PeopleCase], runs: int) -> Table:
    """For each query, how often its truth is within two standard errors over many seeds."""
    shown = Table(title=f"standard errors of {runs} samples each")
    for column in ("model", "query", "truth", "stated", "mean error", "within two", "off / error"):
        shown.add_column(column, justify="left" if column in ("model", "query") else "right")
    within = total = 0
    for case in cases:
        drawn: dict[str, list[tuple[float, float]]] = {query: [] for query in case.truth}
        for seed in track(range(runs), case.name, transient=True):
            sample = liftgbp.sample(
                case.model,
                case.sizes,
                evidence=case.evidence,
                seed=seed,
                sweeps=SWEEPS,
                log_z=False,
            )
            for query, own in drawn.items():
                own.append(probability_of(sample, query))
        for query, own in drawn.items():
            # An error that is not stated, as chains have not mixed, is nothing to be held to.
            stated = np.array([pair for pair in own if math.isfinite(pair[1]) and pair[1] > 0])
            truth = case.truth[query].value
            off = (stated[:, 0] - truth) / stated[:, 1] if len(stated) else np.zeros(0)
            within += int((abs(off) <= WITHIN).sum())
            total += len(off)
            shown.add_row(
                case.name,
                query,
                f"{truth:.4f}",
                str(len(off)),
                f"{stated[:, 1].mean():.4f}" if len(off) else "",
                f"{(abs(off) <= WITHIN).mean():.1%}" if len(off) else "",
                f"{math.sqrt((off**2).mean()):.2f}" if len(off) else "",
            )
    shown.add_section()
    shown.add_row("all", "", "", str(total), "", f"{within / max(1, total):.1%}", "")
    return shown
