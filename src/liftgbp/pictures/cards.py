"""What notebooks show: a card with a title, tables, bars and colours of trust.

Colours are those of the surroundings (`currentColor`), or medium ones that are seen on light and on
dark backgrounds, since a notebook may be dark where the system is light. Nothing is loaded from
elsewhere, and without the style sheet a card is still a readable table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

from liftgbp.pictures.markup import Content, Markup, element, joined
from liftgbp.support.texts import visible

MOST_ROWS = 25
"""Tables in cards show at most this many rows."""

MOST_LETTERS = 300
"""A `repr` is cut off after this many letters, about four lines."""

MOST_LINES, MOST_LETTERS_OF_LINE = 9, 150
"""How much a tuple prints: with a last line for what is left out, there are ten."""

MOST_LETTERS_OF_CELL = 200
"""What a cell says is cut off after this many letters."""

GOOD, DOUBTFUL, BAD, PLAIN = "good", "doubtful", "bad", "plain"
"""How far something can be trusted: green, amber, red, and no statement."""

COLOURS = {GOOD: "#2e9e5b", DOUBTFUL: "#c98a00", BAD: "#d9483b", PLAIN: "#7a7a7a"}

BAR = "#4c8fd1"
"""The colour of bars and of heat maps."""

STYLE = """
.liftgbp { font-size: 13px; line-height: 1.45; max-width: 60em; }
.liftgbp-title { font-weight: 600; margin: 2px 0 4px; }
.liftgbp-title span { font-weight: 400; opacity: .75; }
.liftgbp table { border-collapse: collapse; margin: 6px 0; color: inherit; font-size: 12px; }
.liftgbp th, .liftgbp td { text-align: left; padding: 2px 10px 2px 0; vertical-align: middle;
  border: 0; background: none; }
.liftgbp th { font-weight: 600; opacity: .75; border-bottom: 1px solid; }
.liftgbp td.liftgbp-number, .liftgbp th.liftgbp-number { text-align: right;
  font-variant-numeric: tabular-nums; }
.liftgbp code { font-size: 12px; color: inherit; background: none; padding: 0;
  white-space: pre-wrap; }
.liftgbp-note { opacity: .75; margin: 2px 0; }
.liftgbp-maps { display: flex; flex-wrap: wrap; gap: 0 24px; }
.liftgbp table.liftgbp-map td { text-align: center; padding: 5px 6px; min-width: 3em; }
.liftgbp table.liftgbp-map th { border: 0; padding: 2px 8px 2px 0; }
.liftgbp svg { max-width: 100%; height: auto; }
.liftgbp svg.liftgbp-bar { height: 9px; width: 90px; }
"""


class Shown:
    """Something with a line of text, and with a card in notebooks that says the same.

    What it is is said by `_headline`, in words after the name of its class, and by `_body`.
    """

    __slots__ = ()

    def _headline(self) -> str:
        """The most important, in one line."""
        raise NotImplementedError

    def _body(self) -> Iterable[Content]:
        """What a card shows below the headline."""
        return ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {shortened(self._headline(), MOST_LETTERS)}>"

    def _repr_html_(self) -> str:
        return card(f"{type(self).__name__} ", self._headline(), *self._body())


def card(kind: str, headline: str, *body: Content) -> str:
    """A card: what it is, its headline, and more below."""
    words = shortened(headline, MOST_LETTERS)
    title = element("div", element("span", kind), words, class_="liftgbp-title")
    style = Markup(f"<style>{STYLE}</style>")
    return element("div", style, *([title] * bool(words)), *body, class_="liftgbp").source


def shortened(text: str, most: int) -> str:
    """Text in one line, cut off after some letters.

    >>> shortened("from here\\nto there", 12)
    'from here t…'
    """
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


# --- pieces


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    numbers: Iterable[int] = (),
    total: int | None = None,
    most: int = MOST_ROWS,
) -> Markup:
    """A table; columns with these numbers are aligned at their right.

    Columns in which nothing stands are left out. `total` is how many rows there are, if that is
    more than are given.
    """
    right = set(numbers)
    given = list(rows)
    shown = given[:most]
    if not shown:
        return Markup("")
    kept = [k for k in range(len(headings)) if any(str(row[k]) for row in shown)]

    def cell(name: str, k: int, content: Content) -> Markup:
        text = shortened(content, MOST_LETTERS_OF_CELL) if isinstance(content, str) else content
        return element(name, text, class_="liftgbp-number" if k in right else None)

    lines = [element("tr", *(cell("th", k, headings[k]) for k in kept))]
    lines += [element("tr", *(cell("td", k, row[k]) for k in kept)) for row in shown]
    left = (len(given) if total is None else total) - len(shown)
    parts = [element("table", *lines)]
    if left > 0:
        parts.append(note(f"… and {left} more"))
    return joined(parts)


def fields(pairs: Iterable[tuple[str, Content]]) -> Markup:
    """Names and values below each other; those without a value are left out."""
    shown = [(name, value) for name, value in pairs if str(value)]
    return element(
        "table",
        *(
            element("tr", element("td", name, class_="liftgbp-note"), element("td", value))
            for name, value in shown
        ),
    )


def bar(p: float, least: float | None = None, most: float | None = None) -> Markup:
    """A probability as a bar, with an interval as a line if there is one."""
    if math.isnan(p):
        return Markup("")
    parts = [
        element("rect", width=100, height=10, rx=2, fill="currentColor", fill_opacity=0.12),
        element("rect", width=100 * min(max(p, 0.0), 1.0), height=10, rx=2, fill=BAR),
    ]
    if least is not None and most is not None:
        parts.append(
            element(
                "rect",
                x=100 * least,
                y=3.5,
                width=max(100 * (most - least), 1.0),
                height=3,
                fill="currentColor",
            )
        )
    return _strip(*parts, aria_label=f"{p:.3g}")


def _strip(*parts: Markup, **attributes: str) -> Markup:
    """A small picture in a line of a table, 100 wide and 10 high in its own units."""
    return element(
        "svg",
        *parts,
        viewBox="0 0 100 10",
        width=90,
        height=9,
        preserveAspectRatio="none",
        class_="liftgbp-bar",
        role="img",
        **attributes,
    )


def columns_chart(shares: Sequence[float], first: int, together: int) -> Markup:
    """How likely numbers are, as columns beside each other, some numbers to a column."""
    highest = max(shares, default=0.0) or 1.0
    width = max(2.0, min(16.0, 320.0 / max(1, len(shares))))
    columns = [
        element(
            "rect",
            element("title", f"{_span(first + k * together, together)}: {share:.4g}"),
            x=k * width,
            y=60 * (1 - share / highest),
            width=0.85 * width,
            height=60 * share / highest,
            fill=BAR,
        )
        for k, share in enumerate(shares)
    ]
    last = first + len(shares) * together - 1
    across = width * len(shares)
    small = {"y": 74, "font_size": 11, "fill": "currentColor"}
    texts = [element("text", str(first), x=0, **small)]
    texts += [element("text", str(last), x=across, text_anchor="end", **small)] * (last > first)
    base = element("line", x1=0, x2=across, y1=60.5, y2=60.5, stroke="currentColor")
    return element(
        "svg", *columns, base, *texts, viewBox=f"-4 0 {across + 8:.5g} 78", width=across + 8,
        height=78,
    )  # fmt: skip


def pull_bar(share: float) -> Markup:
    """A bar from the middle to the right for what pulls up, to the left for what pulls down."""
    length = 50 * min(1.0, abs(share))
    colour = BAR if share > 0 else COLOURS[DOUBTFUL]
    return _strip(
        element("rect", width=100, height=10, fill="currentColor", fill_opacity=0.08),
        element("rect", x=50.0 if share > 0 else 50 - length, width=length, height=10, fill=colour),
        element("rect", x=49.5, width=1, height=10, fill="currentColor"),
    )


def _span(first: int, numbers: int) -> str:
    return str(first) if numbers == 1 else f"{first} to {first + numbers - 1}"


def badge(level: str, text: str) -> Markup:
    """A statement about trust with a dot in its colour."""
    dot = element("span", "●", style=f"color:{COLOURS[level]}")
    return element("div", dot, " ", shortened(text, 3 * MOST_LETTERS))


def note(text: str) -> Markup:
    """A remark that is less important."""
    return element("div", shortened(text, 3 * MOST_LETTERS), class_="liftgbp-note")


def code(text: str) -> Markup:
    """Text of the language."""
    return element("code", text)


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
) -> Markup:
    """Probabilities as a table in which the higher ones are darker."""
    heading = element("tr", element("th", title), *(element("th", name) for name in columns))
    lines = [
        element("tr", element("th", name), *map(_coloured, own, shown))
        for name, own, shown in zip(rows, cells, texts, strict=True)
    ]
    return element("table", heading, *lines, class_="liftgbp-map")


def _coloured(p: float, text: str) -> Markup:
    if math.isnan(p):
        return element("td", text)
    red, green, blue = (int(BAR[k : k + 2], 16) for k in (1, 3, 5))
    return element("td", text, style=f"background:rgba({red},{green},{blue},{p:.3f})")


def side_by_side(parts: Iterable[Markup]) -> Markup:
    """Pieces beside each other, as far as there is room."""
    return element("div", *parts, class_="liftgbp-maps")


def folded(summary: str, *content: Content) -> Markup:
    """What is shown after a click."""
    return element("details", element("summary", summary), *content)


# --- words


def number_text(number: float | None) -> str:
    """A number with as many digits as are read."""
    return "" if number is None or math.isnan(number) else f"{number:.6g}"


def count_text(count: int) -> str:
    """A number of objects or atoms; those of many digits are rounded."""
    return f"{count:,}" if abs(count) < 10**9 else f"{Decimal(count):.4g}"


def _size_text(size: int) -> str:
    return str(size) if size < 10**12 else f"{Decimal(size):.4g}"


def sizes_text(sizes: dict[str, int]) -> str:
    """Domain sizes in words, such as `(person = 20)`; empty if there are none."""
    listed = ", ".join(f"{sort} = {_size_text(size)}" for sort, size in sizes.items())
    return f" ({listed})" if listed else ""
