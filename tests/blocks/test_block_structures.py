"""How blocks are numbered, put into words and drawn: structures made by hand, and one answer."""

from __future__ import annotations

import importlib.util
import json
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import liftgbp
from liftgbp.posterior.block_table import ClassTable, size_text

BOOLEAN = ("false", "true")
LAYERS = np.array([[0.0, 0.5, 1.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
LAYER_SIZES = (10, 20, 10)


def of_true(p: np.ndarray) -> np.ndarray:
    return np.stack([1 - p, p], axis=-1)


def structure(
    classes: list[tuple[str, tuple[int, ...]]], *tables: ClassTable
) -> liftgbp.BlockStructure:
    return liftgbp.BlockStructure.of(classes, tables, share=0.75, information=3.0, log_z=7.0)


def relation(p: np.ndarray, classes: tuple[int, int] = (0, 0), name: str = "r") -> ClassTable:
    return ClassTable(f"{name}(x,y)", BOOLEAN, ("x", "y"), classes, of_true(p))


def property_of(p: np.ndarray, cls: int = 0, name: str = "s") -> ClassTable:
    return ClassTable(f"{name}(x)", BOOLEAN, ("x",), (cls,), of_true(p))


# --- order and numbers


def test_the_order_does_not_depend_on_how_blocks_were_found() -> None:
    """Layers come from the first to the last, so that the table is triangular."""
    for order in permutations(range(3)):
        kept = list(order)
        sizes = tuple(LAYER_SIZES[k] for k in kept)
        found = structure([("person", sizes)], relation(LAYERS[np.ix_(kept, kept)]))
        assert found.sizes == {"person": LAYER_SIZES}
        assert np.array_equal(found.atoms[0].table[..., 1], LAYERS)


def test_without_a_direction_larger_blocks_come_first() -> None:
    halves = np.array([[0.0, 0.5], [0.5, 0.0]])
    for sizes in ((5, 9), (9, 5)):
        found = structure([("person", sizes)], relation(halves))
        assert found.sizes == {"person": (9, 5)}


def test_blocks_of_equal_size_are_ordered_by_what_their_objects_are_like() -> None:
    for p in (np.array([0.1, 0.8]), np.array([0.8, 0.1])):
        found = structure([("person", (5, 5))], property_of(p))
        assert found.probability("s(x)", 1) == 0.8


def test_rounding_does_not_decide_about_the_order() -> None:
    noise = np.array([[0.0, 1e-9], [0.0, 0.0]])
    halves = np.array([[0.0, 0.5], [0.5, 0.0]])
    for sign in (1, -1):
        found = structure([("person", (5, 9))], relation(halves + sign * noise))
        assert found.sizes == {"person": (9, 5)}


def test_a_second_sort_follows_the_order_of_the_first() -> None:
    """Who likes what: the table of likes is as diagonal as it can be."""
    likes = np.array([[0.1, 0.9], [0.9, 0.1]])
    found = structure([("person", (5, 5)), ("movie", (4, 4))], relation(likes, (0, 1), "likes"))
    assert [(own.number, own.objects) for own in found.blocks] == [
        (1, "person"),
        (2, "person"),
        (3, "movie"),
        (4, "movie"),
    ]
    assert found.probability("likes(x,y)", 1, 3) == 0.9
    assert found.probability("likes(x,y)", 2, 4) == 0.9
    assert found.summary == "person in 2 blocks of 5, 5; movie in 2 blocks of 4, 4"


def test_classes_of_one_sort_share_a_table() -> None:
    """A class that is not split is a block of its own, and comes last."""
    found = structure(
        [("Anna", (1,)), ("person", (5, 9))],
        relation(np.array([[0.25, 0.75]]), (0, 1)),
        relation(np.array([[0.0, 0.5], [0.0, 0.0]]), (1, 1)),
    )
    assert [own.objects for own in found.blocks] == ["person", "person", "Anna"]
    assert len(found.atoms) == 1
    assert found.probability("r(x,y)", 3, 1) == 0.25
    assert found.probability("r(x, y)", 1, 2) == 0.5
    assert found.atoms[0].blocks == ((1, 2, 3), (1, 2))


def test_a_block_of_one_object_has_no_pairs() -> None:
    found = structure([("person", (1, 9))], relation(np.array([[0.3, 0.5], [0.1, 0.2]])))
    assert math.isnan(found.probability("r(x,y)", 1, 1))
    assert [1, 1] not in [row["blocks"] for row in found.atoms[0].rows()]


def test_atoms_that_blocks_do_not_change_are_left_out() -> None:
    found = structure(
        [("person", (1, 9))], property_of(np.array([0.3, 0.3])), relation(LAYERS[:2, :2])
    )
    assert [atom.text for atom in found.atoms] == ["r(x,y)"]


# --- texts


def test_a_structure_prints_as_tables() -> None:
    found = structure(
        [("person", LAYER_SIZES)], relation(LAYERS), property_of(np.array([0.9, 0.5, 0.1]))
    )
    assert str(found).splitlines() == [
        "3 blocks of 10, 20, 10",
        "",
        "block  objects  size  s(x)",
        "1      person   10    0.900",
        "2      person   20    0.500",
        "3      person   10    0.100",
        "",
        "r(x,y)  y in 1  y in 2  y in 3",
        "x in 1  0.000   0.500   1.000",
        "x in 2  0.000   0.000   0.500",
        "x in 3  0.000   0.000   0.000",
    ]


def test_many_values_and_three_objects() -> None:
    mood = ClassTable(
        "mood(x)",
        ("low", "mid", "high"),
        ("x",),
        (0,),
        np.array([[0.0, 0.2, 0.8], [0.7, 0.2, 0.1]]),
    )
    between = ClassTable(
        "t(x,y,z)", BOOLEAN, ("x", "y", "z"), (0, 0, 0), of_true(np.arange(8).reshape(2, 2, 2) / 8)
    )
    found = structure([("person", (5, 5))], mood, between)
    assert [text for text, _ in found.singles] == ["mood(x) low", "mood(x) mid", "mood(x) high"]
    assert found.probability("mood(x)", 1, value="high") in (0.8, 0.1)
    assert [panel.title for panel in found.panels] == [
        "t(x,y,z), x in block 1",
        "t(x,y,z), x in block 2",
    ]
    rows = found.as_dict()["probabilities"]
    assert isinstance(rows, list)
    assert len(rows) == 2 * 3 + 8


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0"), (99_999, "99999"), (123_456, "1.235e5"), (10**12, "1e12")]
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("arguments", "value", "message"),
    [
        (("q(x)", 1), "true", "blocks tell of r(x,y), not of 'q(x)'"),
        (("r(x,y)", 1), "true", "r(x,y) has 2 objects; give a block for each"),
        (("r(x,y)", 1, 4), "true", "y of r(x,y) is in one of the blocks 1, 2, 3"),
        (("r(x,y)", 1, 2), "high", "r(x,y) takes the values false, true, not 'high'"),
    ],
)
def test_questions_that_have_no_answer(
    arguments: tuple[str, int], value: str, message: str
) -> None:
    found = structure([("person", LAYER_SIZES)], relation(LAYERS))
    with pytest.raises(liftgbp.QueryError) as error:
        found.probability(*arguments, value=value)
    assert error.value.message == message


# --- pictures


@pytest.mark.slow
def test_pictures(tmp_path: Path) -> None:
    found = structure(
        [("person", (1, 20, 10))], relation(LAYERS), property_of(np.array([0.9, 0.5, 0.1]))
    )
    found.write_picture(tmp_path / "blocks.png")
    assert (tmp_path / "blocks.png").read_bytes().startswith(b"\x89PNG")
    svg = tmp_path / "blocks.svg"
    found.write_picture(svg)
    text = svg.read_text(encoding="utf-8")
    for word in ("r(x,y)", "s(x)", "0.500", "1.000", "3 blocks of 1, 20, 10 (share 0.75)"):
        assert f">{word}</text>" in text
    found.write_picture(svg)
    assert svg.read_text(encoding="utf-8") == text, "the same blocks give the same file"


def test_a_figure_has_one_panel_per_atom_and_value() -> None:
    mood = ClassTable(
        "mood(x)",
        ("low", "mid", "high"),
        ("x",),
        (0,),
        np.array([[0.0, 0.2, 0.8], [0.7, 0.2, 0.1]]),
    )
    found = structure(
        [("person", (5, 5))], mood, relation(LAYERS[:2, :2]), relation(LAYERS[:2, :2], name="q")
    )
    titles = [axes.get_title() for axes in found.plot().axes if axes.get_title()]
    assert titles == ["r(x,y)", "q(x,y)", "mood(x) low", "mood(x) mid", "mood(x) high"]


def test_everything_is_inside_the_picture() -> None:
    """Nothing is cut off at the edges, and blocks are at one height in all maps of a line."""
    found = structure(
        [("Nebuchadnezzar", (1,)), ("person", (500_000, 20, 10))],
        relation(np.array([[0.25, 0.75, 0.5]]), (0, 1)),
        relation(LAYERS, (1, 1)),
        property_of(np.array([0.9, 0.5, 0.1]), 1, "is_taller_than_most"),
    )
    figure = found.plot()
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    box = figure.get_tightbbox()
    dpi = figure.dpi
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 * dpi <= width
    assert box.y1 * dpi <= height
    relations, properties = figure.axes[:2]
    assert relations.get_ylim() == properties.get_ylim()
    assert relations.get_position().y0 == properties.get_position().y0
    assert relations.get_position().y1 == properties.get_position().y1


def test_pictures_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = structure([("person", LAYER_SIZES)], relation(LAYERS))
    with pytest.raises(liftgbp.InputError, match=r"one of \.pdf, \.png, \.svg"):
        found.write_picture(tmp_path / "blocks.gif")
    with pytest.raises(liftgbp.InputError, match="there is no directory"):
        found.write_picture(tmp_path / "missing" / "blocks.svg")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(liftgbp.InputError, match=r"needs matplotlib; .*liftgbp\[plot\]"):
        found.write_picture(tmp_path / "blocks.svg")
    with pytest.raises(liftgbp.InputError, match="drawing needs matplotlib"):
        found.plot()


# --- an answer


@pytest.mark.slow
def test_the_layers_of_a_transitive_relation() -> None:
    """Kleitman and Rothschild 1975: a quarter, half, a quarter; half of the pairs between
    neighbouring layers, all pairs between the outer ones, none inside a layer or back.
    """
    model = liftgbp.parse("r(person,person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    size = 10**6
    answers = liftgbp.infer(model, {"person": size}, effort="normal")
    first = answers.blocks[0]
    assert first.sizes["person"] == pytest.approx((size / 4, size / 2, size / 4), rel=1e-3)
    for row, own in enumerate(LAYERS, start=1):
        for column, p in enumerate(own, start=1):
            assert first.probability("r(x,y)", row, column) == pytest.approx(p, abs=1e-3)
    assert answers.used == f"{first.summary}; factor scopes"
    change = answers.change
    assert change is not None
    assert change.row.atom == "r(x,y)"
    assert change.assignment == ("true",)
    assert change.p == answers.marginal("r(x,y)")
    assert answers.quick is not None
    assert change.quick == answers.quick.marginal("r(x,y)")


@pytest.mark.slow
def test_tied_predicates_are_shown_too() -> None:
    """A predicate that another one decides: its table is that of the other, turned and negated."""
    model = liftgbp.parse(
        "r(person,person)\nn(person,person)\n"
        "1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct\nn(x,y) <=> !r(y,x)."
    )
    first = liftgbp.infer(model, {"person": 40}, effort="normal").blocks[0]
    atoms = {atom.text: atom.table[..., 1] for atom in first.atoms}
    assert set(atoms) == {"r(x,y)", "n(x,y)"}
    assert atoms["n(x,y)"] == pytest.approx(1 - atoms["r(x,y)"].T, abs=1e-6)


@pytest.mark.slow
def test_the_mean_over_blocks_is_the_answer() -> None:
    """Where sizes are not summed over, a marginal is the mean of the table over pairs."""
    model = liftgbp.parse("r(person,person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    answers = liftgbp.infer(model, {"person": 10**6}, effort="normal")
    (first,) = answers.blocks
    pairs = sum(
        first.probability("r(x,y)", one.number, other.number)
        * one.size
        * (other.size - (one is other))
        for one in first.blocks
        for other in first.blocks
    )
    assert answers.marginal("r(x,y)") == pytest.approx(pairs / (10**6 * (10**6 - 1)), abs=1e-9)


@pytest.mark.slow
def test_blocks_survive_json() -> None:
    model = liftgbp.parse("r(person,person)\n1.4 r(x,y) ^ r(y,z) => r(x,z) | distinct")
    answers = liftgbp.infer(model, {"person": 40}, effort="normal")
    shown = json.loads(json.dumps(answers.as_dict()))["blocks"][0]
    first = answers.blocks[0]
    assert [row["size"] for row in shown["sizes"]] == list(first.sizes["person"])
    assert [row["block"] for row in shown["sizes"]] == [1, 2, 3]
    assert len(shown["probabilities"]) == 9
    for row in shown["probabilities"]:
        assert row["p"] == first.probability(row["atom"], *row["blocks"], value=row["value"])
