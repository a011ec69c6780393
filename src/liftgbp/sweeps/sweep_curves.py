"""What a plot of a sweep shows: curves that vary, their branches, and which rows are constant."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from liftgbp.pictures.charts import curves
from liftgbp.pictures.line_chart import Curve, Stretch
from liftgbp.pictures.scene import Spot
from liftgbp.posterior import Standing
from liftgbp.support.texts import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONSTANT = 5e-6
"""Probabilities that differ by less are the same everywhere, as far as a plot can show."""

JUMP = 0.3
"""Stationary points whose probabilities differ by more do not belong to one branch: a branch of the
Ising-like model `s(x) <=> s(y)` moves by less from one of ten sizes to the next."""


class BranchValue(NamedTuple):
    """A probability at one stationary point: whether that is a minimum, and part of the answer."""

    p: float
    stable: bool
    shares: bool


Branches = Sequence[BranchValue]


class Drawn(NamedTuple):
    """The curves of a sweep over one quantity, and the rows that are the same everywhere."""

    along: str
    curves: list[Curve]
    constant: list[str]


def swept_curves(
    records: Sequence[Mapping[str, object]],
    branches: Sequence[Branches],
    answer_columns: Container[str],
) -> Drawn:
    """Curves over the quantity that varies most, one for each row and value but `false`.

    `records` are those of the sweep, and `branches` what each is at all stationary points.
    """
    if not records:
        return Drawn("", [], [])
    swept = [name for name in records[0] if name not in answer_columns]
    count = {name: len({str(record[name]) for record in records}) for name in swept}
    along = max(swept, key=lambda name: count[name]) if swept else ""
    fixed = [name for name in swept if name != along and count[name] > 1]
    by_name: dict[str, list[tuple[float, Mapping[str, object], Branches]]] = {}
    for place, (record, values) in enumerate(zip(records, branches, strict=True)):
        if record["value"] != "false":
            x = float(str(record[along])) if along else float(place)
            by_name.setdefault(_name(record, fixed), []).append((x, record, values))
    every = [
        _curve(name, sorted(values, key=lambda one: one[0])) for name, values in by_name.items()
    ]
    varying = [curve for curve in every if _varies(curve)]
    constant = [f"{curve.name} {curve.points[0][1]:.4g}" for curve in every if curve not in varying]
    return Drawn(along, varying, constant) if varying else Drawn(along, every, [])


def sweep_figure(shown: Drawn) -> Figure:
    """The plot of a sweep."""
    return curves("", shown.along, shown.curves, shown.constant)


def _name(record: Mapping[str, object], fixed: Sequence[str]) -> str:
    value = "" if record["value"] == "true" else f" {record['value']}"
    where = f" ({record['where']})" if record["where"] else ""
    settings = "".join(f", {one} = {float(str(record[one])):g}" for one in fixed)
    return visible(f"{record['atom']}{value}{where}{settings}")


def _curve(name: str, rows: Sequence[tuple[float, Mapping[str, object], Branches]]) -> Curve:
    points = tuple((x, float(str(record["probability"]))) for x, record, _ in rows)
    sound = tuple(record["standing"] != Standing.REFUSED.value for _, record, _ in rows)
    stretches = _stretches([(x, values) for x, _, values in rows])
    return Curve(name, points, sound, tuple(stretches))


def _varies(curve: Curve) -> bool:
    numbers = [y for _, y in curve.points]
    numbers += [y for branch in curve.branches for _, y in branch.points]
    return max(numbers) - min(numbers) > CONSTANT


# --- branches


def _stretches(columns: Sequence[tuple[float, Branches]]) -> Iterator[Stretch]:
    """Lines between stationary points at neighbouring settings that belong together.

    Where there is one point only, it is the answer itself, and there is nothing to add.
    """
    lines: list[tuple[list[Spot], bool, bool]] = []
    ended: dict[tuple[float, BranchValue], tuple[list[Spot], bool, bool]] = {}
    for (x, before), (next_x, after) in pairwise(columns):
        if max(len(before), len(after)) < 2:
            continue
        for first, second in _matched(before, after):
            stable, shares = first.stable and second.stable, first.shares or second.shares
            line = ended.get((x, first))
            if line is None or line[1:] != (stable, shares):
                line = [(x, first.p)], stable, shares
                lines.append(line)
            line[0].append((next_x, second.p))
            ended[x, first] = ended[next_x, second] = line
    for points, stable, shares in lines:
        yield Stretch(tuple(points), stable, shares)
    for x, values in columns:
        for value in values if len(values) > 1 else ():
            if (x, value) not in ended:
                yield Stretch(((x, value.p), (x, value.p)), value.stable, value.shares)


def _matched(before: Branches, after: Branches) -> Iterator[tuple[BranchValue, BranchValue]]:
    """Pairs of the nearest points, those of the same kind first."""
    near = sorted(
        (one.stable != other.stable, abs(one.p - other.p), k, j)
        for k, one in enumerate(before)
        for j, other in enumerate(after)
        if abs(one.p - other.p) <= JUMP
    )
    left, right = set[int](), set[int]()
    for _, _, k, j in near:
        if k not in left and j not in right:
            left.add(k)
            right.add(j)
            yield before[k], after[j]
