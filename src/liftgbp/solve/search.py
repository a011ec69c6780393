"""Batches of points on their way down, each in a frame that suits it.

Steps multiply all outer beliefs. Then points are brought back to consistent beliefs nearby, where
their free energies are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from liftgbp.solve import portable
from liftgbp.solve.energy import LEAST_LOG, Energy, Polytope
from liftgbp.solve.frames import SLACK_BITS, Face, Faces, Frame, size_in_bits
from liftgbp.solve.newton_steps import LONGEST_RISE, Chart, Newton, Step, Sums, step_of
from liftgbp.solve.tolerances import Tolerances
from liftgbp.support.arrays import Bools, Floats, Ints
from liftgbp.support.errors import InternalError

MOST_NUMBERS = 10**6
"""Points are handled together while arrays have fewer numbers than this."""

FAR_APART = 50.0
"""Logs of beliefs that depend on each other are taken to differ by no more than this, upwards."""

ROUGHLY_CONSISTENT = 0.05
"""Where sums of free beliefs differ from what they should be by less than this, in proportion, they
are put in place of it."""


def by_frame(frames: Sequence[Frame], rows: Ints) -> Iterator[tuple[Frame, Ints]]:
    """The rows of points in groups with one frame each, whose arrays fit in memory."""
    groups: dict[Frame, list[int]] = {}
    for row in rows.tolist():
        groups.setdefault(frames[row], []).append(row)
    for frame, own in groups.items():
        together = max(1, MOST_NUMBERS // max(1, frame.rows.size))
        for first in range(0, len(own), together):
            yield frame, np.array(own[first : first + together])


def suited(face: Face, frames: list[Frame], logs: Floats, rows: Ints) -> None:
    """Choose as few frames as possible for points with outer logs (S, D), so that nothing cancels.

    Those that serve most points are tried first: near one minimum, points soon share a frame.
    """
    sizes, left = logs * size_in_bits(1.0), rows
    for frame, _ in Counter(frames[row] for row in rows.tolist()).most_common():
        excess = frame.excess(sizes[left])
        serves = np.array([frames[row] is frame for row in left.tolist()])
        fits = excess <= np.where(serves, 2 * SLACK_BITS, SLACK_BITS)
        for row in left[fits & ~serves].tolist():
            frames[row] = frame
        left = left[~fits]
        if not len(left):
            return
    while len(left):
        before = frames[left[0]]
        frame = face.frame(sizes[left[0]], before) or before
        fits = frame.excess(sizes[left]) <= SLACK_BITS
        fits[0] = True
        for row in left[fits].tolist():
            frames[row] = frame
        left = left[~fits]


class PointBatch:
    """Points of a batch of free energies, each in a frame that suits it.

    logs  (S, D) the logs of outer beliefs
    step  the last Newton step at each point
    """

    def __init__(self, energy: Energy, faces: Faces, logs: Floats, tolerances: Tolerances) -> None:
        self._energy = energy
        self._faces = faces
        self._tolerances = tolerances
        self.logs = np.maximum(logs, LEAST_LOG)
        if faces.first is None:
            raise InternalError("points of an empty polytope")
        self._frames = [faces.first] * len(logs)
        suited(faces.whole, self._frames, self.logs, np.arange(len(logs)))
        self.step = Step.empty(*logs.shape)
        self._tried: list[tuple[Chart, Ints]] = []

    def charts(self, rows: Ints) -> Iterator[tuple[Chart, Ints]]:
        """Some points in groups with one frame each."""
        if not len(rows):
            return
        suited(self._faces.whole, self._frames, self.logs, rows)
        for frame, own in by_frame(self._frames, rows):
            sums = Sums(frame.terms, self.logs[own][:, frame.free])
            yield Chart(self._energy, own, frame, sums), own

    def _known_charts(self, rows: Ints) -> Iterator[tuple[Chart, Ints]]:
        """The same, without new ones of points that have moved there."""
        left = np.zeros(len(self.logs), dtype=bool)
        left[rows] = True
        for chart, own in self._tried:
            if left[own].all() and (self.logs[own] == chart.logs).all():
                left[own] = False
                for row in own.tolist():
                    self._frames[row] = chart.frame
                yield chart, own
        yield from self.charts(np.flatnonzero(left))

    def values(self, rows: Ints) -> Floats:
        """The scaled free energies and entropies (2, S) of some points."""
        found = np.empty((2, len(self.logs)))
        for chart, own in self.charts(rows):
            found[:, own] = chart.values()
            self._tried.append((chart, own))
        return found[:, rows]

    def take_steps(self, rows: Ints) -> None:
        """Find the Newton steps at some points."""
        for chart, own in self._known_charts(rows):
            new = step_of(chart, self.step.damping[own], self._tolerances.zero_belief)
            self.step.update(own, new)
        self._tried = []

    def moved(self, rows: Ints, length: Floats) -> tuple[Bools, Floats, Floats]:
        """Where parts of the steps of some points lead.

        The first result is whether beliefs are positive there (S), then come the logs of outer
        beliefs (S, D), and the scaled free energies and entropies (2, S).
        """
        goal = self.logs[rows] + length[:, None] * self.step.change[rows]
        frames = [self._frames[row] for row in rows.tolist()]
        is_inside, values = np.zeros(len(rows), dtype=bool), np.zeros((2, len(rows)))
        # Giving up early makes room for shorter steps, and halves the time of large models.
        limits = self._tolerances
        for frame, own, sums in _consistent(self._faces, frames, goal, limits, limits.most_idle):
            chart = Chart(self._energy, rows[own], frame, sums)
            is_inside[own], goal[own], values[:, own] = True, chart.logs, chart.values()
            self._tried.append((chart, rows[own]))
        return is_inside, goal, values

    def curvatures(self, rows: Ints) -> dict[int, Floats]:
        """The curvatures at some points."""
        return {
            row: values
            for chart, own in self.charts(rows)
            for row, values in zip(
                own.tolist(), chart.curvatures(self._tolerances.zero_belief), strict=True
            )
        }


def nearest_consistent(faces: Faces, logs: Floats, tolerances: Tolerances) -> tuple[Floats, Bools]:
    """Consistent beliefs near given ones by outer logs (S, D), and whether there are any.

    They are those of least relative entropy, roughly: Newton's method multiplies beliefs until free
    ones can decide the others.
    """
    found, near = logs.copy(), np.zeros(len(logs), dtype=bool)
    if faces.first is None:
        return found, near
    frames = [faces.first] * len(logs)
    for frame, rows, sums in _consistent(faces, frames, logs, tolerances, tolerances.most_rounds):
        found[rows], near[rows] = sums.logs[:, frame.place], True
    return found, near


def _consistent(
    faces: Faces, frames: list[Frame], logs: Floats, tolerances: Tolerances, patience: int
) -> Iterator[tuple[Frame, Ints, Sums]]:
    """Points near others with outer logs (S, D) at which all beliefs are consistent, by frame.

    `frames` get to suit them. Points whose error falls in none of `patience` rounds are given up.
    """
    logs = np.maximum(logs, LEAST_LOG)
    logs -= _log_sums(faces.consistent, logs)
    near, left = np.zeros(len(logs), dtype=bool), np.arange(len(logs))
    best, idle = np.full(len(logs), np.inf), np.zeros(len(logs), dtype=np.int64)
    known: dict[Frame, tuple[Ints, Sums]] = {}
    for _ in range(tolerances.most_rounds):
        suited(faces.whole, frames, logs, left)
        for frame, rows in by_frame(frames, left):
            sums = Sums(frame.terms, logs[rows][:, frame.free])
            off = np.abs(sums.logs[:, frame.place] - logs[rows]).max(axis=1, initial=0.0)
            near[rows] = sums.is_inside & (off < ROUGHLY_CONSISTENT)
            far = rows[~near[rows]]
            if not len(far):
                known[frame] = rows, sums
                continue
            logs[far], error = _improved(frame, logs[far])
            better = error < tolerances.progress * best[far]
            idle[far] = np.where(better, 0, idle[far] + 1)
            best[far] = np.minimum(best[far], error)
        left = left[~near[left] & (idle[left] < patience)]
        if not len(left):
            break
    for frame, rows in by_frame(frames, np.flatnonzero(near)):
        if frame in known and np.array_equal(known[frame][0], rows):
            yield frame, rows, known[frame][1]
        else:
            yield frame, rows, Sums(frame.terms, logs[rows][:, frame.free])


def _improved(frame: Frame, logs: Floats) -> tuple[Floats, Floats]:
    """Outer beliefs that are not consistent after a round of Newton's method.

    And how far sums were off before, in proportion.
    """
    terms = frame.bound_terms
    apart = terms.of_terms(logs[:, frame.free], 0.0) - logs[:, frame.bound][:, terms.row]
    parts = portable.exp(np.minimum(apart, FAR_APART)) * terms.factor
    off = np.add.reduceat(parts, terms.starts, axis=1) - 1
    newton = Newton(terms, terms.sums, parts, np.ones_like(logs))
    change, _ = newton.solved(terms.along(off), np.zeros(len(logs)), np.arange(len(logs)))
    change[:, terms.width :] += off
    moved = logs + np.clip(change[:, frame.place], -LONGEST_RISE, LONGEST_RISE)
    return moved, np.abs(off).max(axis=1, initial=0.0)


def _log_sums(consistent: Polytope, logs: Floats) -> Floats:
    """The log of the sum of the beliefs of its region, for each outer belief."""
    if not logs.size:
        return logs
    region, states = consistent.outer_region_of, consistent.outer_states
    starts = np.searchsorted(region, np.arange(consistent.outer_regions))
    top = np.maximum.reduceat(logs, starts, axis=1)
    sums = np.add.reduceat(portable.exp(logs - top[:, region]) * states, starts, axis=1)
    return np.asarray((top + portable.log(sums))[:, region])
