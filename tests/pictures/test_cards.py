"""What values print, and what notebooks show of them: short, escaped and well-formed."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from gallery import CONTROL, HOSTILE, gallery, public_classes

import liftgbp
from liftgbp.pictures.cards import MOST_ROWS, bar, heat_map, shortened, table
from liftgbp.pictures.markup import Markup, element

NAMES = sorted(gallery())

MOST_LINES, WIDEST = 10, 400
"""What fits on a screen without scrolling."""


class Tags(HTMLParser):
    """The tags of a page, as a browser finds them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.attributes: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def html_of(value: object) -> str:
    shown = value._repr_html_()  # type: ignore[attr-defined]
    assert isinstance(shown, str)
    return shown


def test_the_gallery_has_every_public_class() -> None:
    for name, own in public_classes().items():
        assert isinstance(gallery()[name], own), name


@pytest.mark.parametrize("name", NAMES)
def test_reprs_are_short(name: str) -> None:
    lines = repr(gallery()[name]).split("\n")
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDEST
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_cards_are_well_formed(name: str) -> None:
    """XML is stricter than HTML: all that is opened is closed, and no control character is left."""
    root = ElementTree.fromstring(html_of(gallery()[name]))
    assert root.tag == "div"


@pytest.mark.parametrize("name", NAMES)
def test_no_name_becomes_markup(name: str) -> None:
    page = Tags(html_of(gallery()[name]))
    ours = {"div", "style", "span", "table", "tr", "th", "td", "code", "details", "summary"}
    drawn = {"svg", "rect", "title", "text", "line", "path", "circle", "g", "polygon", "polyline"}
    assert set(page.seen) <= ours | drawn
    assert not [own for own in page.attributes if own.startswith("on") or own in ("href", "src")]


@pytest.mark.parametrize("name", ["Model", "ModelBuilder", "Answer", "answers with evidence"])
def test_hostile_names_are_shown_as_text(name: str) -> None:
    text = "".join(Tags(html_of(gallery()[name])).text)
    assert "<script>" in text or "<b>" in text


def test_cards_load_nothing() -> None:
    for name in NAMES:
        page = html_of(gallery()[name])
        assert "http" not in page.replace("http://www.w3.org", ""), name
        assert "url(" not in page and "@import" not in page


def test_trust_has_a_colour_and_a_reason() -> None:
    shown = gallery()
    red = html_of(shown["answers that are refused"])
    assert "#d9483b" in red and "refused: " in red and "converged" in red
    assert "#2e9e5b" in html_of(shown["answers with evidence"])


def test_cards_do_not_warn_of_untrusted_answers(recwarn: pytest.WarningsRecorder) -> None:
    answers = gallery()["answers that are refused"]
    html_of(answers)
    repr(answers)
    assert not recwarn.list


def test_answers_show_their_probabilities() -> None:
    """Every probability that `query` gives is in the card of the rows."""
    rows = gallery()["every row"]
    assert isinstance(rows, tuple)
    page = html_of(rows)
    for row in rows:
        assert isinstance(row, liftgbp.Answer)
        assert f"{list(row.values.values())[-1]:.6f}" in page


def test_blocks_are_a_heat_map() -> None:
    structure = gallery()["BlockStructure"]
    assert isinstance(structure, liftgbp.BlockStructure)
    page = html_of(gallery()["answers about layers"])
    for panel in structure.panels:
        for cell in (text for line in panel.texts for text in line):
            assert cell in page
    assert "rgba(" in page


def test_rows_stay_tuples() -> None:
    rows = gallery()["rows"]
    assert isinstance(rows, tuple)
    assert rows == tuple(rows)
    assert isinstance(rows[0], liftgbp.Answer)


def test_text_is_never_markup() -> None:
    assert element("b", HOSTILE).source.count("<") == 2
    assert element("b", "x", title='"><i>').source.count("<") == 2
    ElementTree.fromstring(element("b", CONTROL).source)
    assert element("b", Markup("<i>x</i>")).source == "<b><i>x</i></b>"


def test_long_tables_say_how_much_is_left_out() -> None:
    shown = table(("number",), [(str(k),) for k in range(1000)]).source
    assert f"… and {1000 - MOST_ROWS} more" in shown
    assert shown.count("<tr>") == MOST_ROWS + 1


def test_bars_and_heat_maps_of_nothing() -> None:
    assert bar(float("nan")).source == ""
    undefined = heat_map("t", ["r"], ["c"], [[float("nan")]], [[""]]).source
    assert "rgba" not in undefined
    assert shortened("a" * 500, 100).endswith("…")
