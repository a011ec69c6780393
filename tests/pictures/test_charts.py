"""Charts: bars of answers, answers beside second opinions, curves of sweeps with their branches."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
from gallery import SMOKERS

import liftgbp
from liftgbp.pictures.line_chart import Curve, Stretch, curves_range, line_chart, ticks
from liftgbp.posterior.opinions import Opinion, OpinionRow, compared
from liftgbp.sweeps.sweep_curves import BranchValue, swept_curves
from liftgbp.sweeps.sweep_rows import ANSWER_TYPES

ISING = "s(thing)\nq(thing)\n$w = 1\n$w/|thing| s(x) <=> s(y) | x != y"

FIRST_BYTES = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


def phases(weights: list[float]) -> liftgbp.Sweep:
    model = liftgbp.parse(ISING)
    return liftgbp.sweep(model, {"thing": [50]}, weights={"w": weights}, effort="quick")


# --- answers


def test_bars_are_the_probabilities() -> None:
    answers = liftgbp.infer(liftgbp.load("example:town"), {"person": 1000})
    axes = answers.plot(["smokes(x)", "cancer(x)"]).axes[0]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == [answers.marginal("smokes(x)"), answers.marginal("cancer(x)")]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["smokes(x)", "cancer(x)"]


@pytest.mark.slow
def test_figures_show_themselves_in_notebooks_without_pyplot() -> None:
    answers = liftgbp.infer(liftgbp.load("example:transitive"), {"person": 40})
    checked = liftgbp.check(liftgbp.load("example:friends-smokers"), {"person": 4})
    graph = liftgbp.prepare(liftgbp.load("example:chain"), {"person": 9}).graph
    for shown in (answers, answers.blocks[0], checked, phases([1, 3]), graph):
        figure = shown.plot()
        assert figure._repr_png_().startswith(FIRST_BYTES[".png"])


def test_bars_say_what_is_refused() -> None:
    model = liftgbp.load("example:friends-smokers")
    solver = liftgbp.Flooding(iterations=2)
    answers = liftgbp.infer(model, {"person": 1000}, effort="quick", solver=solver)
    axes = answers.plot("smokes(x)").axes[0]
    assert "REFUSED" in axes.get_title(loc="left")


@pytest.mark.slow
def test_sampled_bars_have_errors() -> None:
    model = liftgbp.parse("p(thing)\n1 p(x) ^ p(y) | x != y")
    drawn = liftgbp.sample(model, {"thing": 4}, sweeps=300, seconds=20.0)
    (row,) = drawn.query("p(x)")
    (line,) = drawn.query("p(x)").plot().axes[0].lines
    low, high = line.get_xdata()
    assert math.isclose(high - low, 4 * row.errors["true",], rel_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("extension", FIRST_BYTES)
def test_names_are_never_formulas(extension: str, tmp_path: Path) -> None:
    answers = liftgbp.infer(liftgbp.parse(SMOKERS, name="$x^2$"), {"person": 9}, effort="quick")
    file = tmp_path / f"answers{extension}"
    answers.write_picture(file)
    assert file.read_bytes().startswith(FIRST_BYTES[extension])
    if extension == ".svg":
        text = "".join(ElementTree.parse(file).getroot().itertext())
        assert "<b>low</b>" in text and "$x^2$" in text


@pytest.mark.slow
def test_many_rows_are_cut_off() -> None:
    text = "p(thing)\n" + "\n".join(f"{k / 100} p(T{k})" for k in range(60))
    answers = liftgbp.infer(liftgbp.parse(text))
    axes = answers.plot().axes[0]
    assert len(axes.patches) == 40
    assert "20 more rows are left out" in axes.get_xlabel()


# --- second opinions


def test_answers_beside_a_second_opinion() -> None:
    said = OpinionRow("p(x)", "p(x)", "", {("true",): 0.25}, {("true",): 0.01})
    answered = OpinionRow("p(x)", "p(x)", "", {("true",): 0.3})
    found = compared([answered], Opinion("the sample", [said]), None)
    axes = found.plot().axes[0]
    places = {tuple(line.get_xdata()) for line in axes.lines}
    assert {(0.25,), (0.3,)} <= places
    (bar,) = axes.collections
    ((start, _), (end, _)) = bar.get_segments()[0]
    assert math.isclose(end - start, 0.04, rel_tol=1e-9)


def test_a_check_without_an_opinion_has_nothing_to_draw() -> None:
    model = liftgbp.parse("p(thing)\n1 p(x)")
    answers = liftgbp.infer(model, {"thing": 3})
    nothing = liftgbp.Check(answers, answers, None, None, "too large")
    with pytest.raises(liftgbp.InputError, match="there is nothing to draw: no second opinion"):
        nothing.plot()


# --- sweeps


def test_branches_are_the_answers_of_single_points() -> None:
    weights = [0.5, 2.0, 3.0]
    model = liftgbp.parse(ISING)
    rows = [row for row in phases(weights) if row.answer.atom == "s(x)"]
    for weight, row in zip(weights, rows, strict=True):
        own = liftgbp.infer(model.with_weights({"w": weight}), {"thing": 50}, effort="quick")
        alone = [own.at(point).marginal("s(x)") for point in own.minima]
        found = [branch.values["true",] for branch in row.branches]
        assert found == pytest.approx(alone if len(alone) > 1 else [], abs=1e-6)
        for branch, point in zip(row.branches, own.minima, strict=len(alone) > 1):
            minimum = point.verdict.kind in (liftgbp.Kind.MINIMUM, liftgbp.Kind.BOUNDARY)
            assert branch.stable == minimum
            assert branch.weight == pytest.approx(point.weight, abs=1e-6)


def test_a_plot_has_branches_and_leaves_out_constants() -> None:
    """Beyond w = 1, the model has a phase with few and one with many."""
    axes = phases([0.5, 1.5, 2.0, 2.5, 3.0]).plot().axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "s(x)" in labels and "q(x)" not in labels
    assert "the same everywhere: q(x) 0.5" in axes.get_xlabel()
    drawn = [y for line in axes.lines for y in line.get_ydata()]
    assert min(drawn) < 0.05 and max(drawn) > 0.95
    low, high = axes.get_ylim()
    assert low <= min(drawn) and max(drawn) <= high


def test_what_is_not_stable_is_dashed() -> None:
    before = (BranchValue(0.1, True, True), BranchValue(0.5, False, False))
    after = (BranchValue(0.52, False, False), BranchValue(0.12, True, True))
    shown = swept_curves([record(1, 0.1), record(2, 0.12)], [before, after], ANSWER_TYPES)
    (curve,) = shown.curves
    assert set(curve.branches) == {
        Stretch(((1.0, 0.1), (2.0, 0.12)), stable=True, shares=True),
        Stretch(((1.0, 0.5), (2.0, 0.52)), stable=False, shares=False),
    }


def test_branches_that_are_far_apart_are_not_joined() -> None:
    before = (BranchValue(0.0, True, True), BranchValue(1.0, True, True))
    after = (BranchValue(0.5, True, True), BranchValue(1.0, True, True))
    shown = swept_curves([record(1, 0.5), record(2, 0.6)], [before, after], ANSWER_TYPES)
    lengths = sorted(abs(own.points[1][1] - own.points[0][1]) for own in shown.curves[0].branches)
    assert lengths == [0.0, 0.0, 0.0]


def record(size: int, p: float, standing: str = "confirmed") -> dict[str, object]:
    told = {"query": "p(x)", "atom": "p(x)", "where": "", "value": "true", "probability": p}
    return {"thing": size, **told, "standing": standing}


def test_the_axis_shows_the_effect() -> None:
    points = ((1.0, 0.5), (2.0, 0.501))
    low, high = curves_range([Curve("p(x)", points, (True, True))])
    assert 0.49 < low < 0.5 and 0.501 < high < 0.51
    # A branch without a share in the answer does not hide it, ...
    far = Stretch(((1.0, 1.0), (2.0, 1.0)), stable=True, shares=False)
    assert curves_range([Curve("p(x)", points, (True, True), (far,))])[1] < 0.51
    # ... and one with a share is part of it.
    part = Stretch(((1.0, 1.0), (2.0, 1.0)), stable=True, shares=True)
    assert curves_range([Curve("p(x)", points, (True, True), (part,))])[1] > 1


def test_points_that_are_not_trusted_are_marked() -> None:
    records = [record(1, 0.1), record(2, 0.2, standing="refused")]
    shown = swept_curves(records, [(), ()], ANSWER_TYPES)
    assert shown.curves[0].sound == (True, False)
    assert "×" in line_chart("thing", shown.curves).svg().source


def test_wide_axes_have_plain_numbers() -> None:
    model = liftgbp.load("example:friends-smokers")
    swept = liftgbp.sweep(model, {"person": [10, 10**9]}, queries="smokes(x)", effort="quick")
    labels = [text.get_text() for text in swept.plot().axes[0].get_xticklabels()]
    assert {"10", "1e9"} <= set(labels)
    assert not any("$" in label for label in labels)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.49999, 0.50001), (-3.0, 1e6), (0.1, 0.7)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 3 <= len(found) <= 8
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)


@pytest.mark.slow
@pytest.mark.parametrize("extension", FIRST_BYTES)
def test_sweeps_to_pictures(extension: str, tmp_path: Path) -> None:
    file = tmp_path / f"sweep{extension}"
    model = liftgbp.parse(ISING)
    options = {"weights": {"w": [1.5, 2.5]}, "effort": "quick"}
    liftgbp.sweep_to_file(model, file, {"thing": [50]}, **options)  # type: ignore[arg-type]
    assert file.read_bytes().startswith(FIRST_BYTES[extension])
    assert [own.name for own in tmp_path.iterdir()] == [file.name]


@pytest.mark.slow
def test_an_interrupted_sweep_keeps_its_branches(tmp_path: Path) -> None:
    """Continued, it draws what an uninterrupted one draws."""
    model = liftgbp.parse(ISING)
    whole, file = tmp_path / "whole.svg", tmp_path / "part.svg"
    options = {"weights": {"w": [1.5, 2.0, 2.5]}, "effort": "quick", "batch": 1}
    liftgbp.sweep_to_file(model, whole, {"thing": [50]}, **options)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        liftgbp.sweep_to_file(
            model,
            file,
            {"thing": [50]},
            progress=interrupt_at(2),
            **options,  # type: ignore[arg-type]
        )
    assert (tmp_path / "part.svg.partial").read_text(encoding="utf-8").count("\n") == 3
    liftgbp.sweep_to_file(model, file, {"thing": [50]}, **options)  # type: ignore[arg-type]
    assert file.read_bytes() == whole.read_bytes()


def interrupt_at(count: int):  # type: ignore[no-untyped-def]
    def progress(stage: str, done: int, total: int) -> None:
        if stage == "sweeping" and done == count:
            raise KeyboardInterrupt

    return progress
