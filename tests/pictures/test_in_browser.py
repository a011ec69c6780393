"""Cards as a browser draws them, on light and on dark pages."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from gallery import gallery

from browser import rendered

pytestmark = pytest.mark.browser

MEASURE = """
<script>
window.alert = () => { window.alerted = true; };
window.addEventListener("load", () => {
  document.querySelectorAll("details").forEach((own) => { own.open = true; });
  const cards = [...document.querySelectorAll("section")].map((own) => {
    const card = own.querySelector(".liftgbp"), box = card.getBoundingClientRect();
    const colours = [...card.querySelectorAll("td, th, div, text")].map(
      (e) => getComputedStyle(e)[e.tagName == "text" ? "fill" : "color"]);
    const inside = [...card.querySelectorAll("table, svg")].map((e) => e.getBoundingClientRect());
    return {
      name: own.id, height: box.height, width: box.width, colours: [...new Set(colours)],
      empty: inside.filter((e) => e.width < 1 || e.height < 1).length,
      widest: Math.max(0, ...inside.map((e) => e.right)),
    };
  });
  document.body.dataset.found = JSON.stringify({cards, alerted: !!window.alerted});
});
</script>
"""


@pytest.mark.parametrize(
    ("ink", "paper"),
    [("rgb(20, 20, 20)", "rgb(255, 255, 255)"), ("rgb(230, 230, 230)", "rgb(17, 17, 17)")],
    ids=["light", "dark"],
)
def test_cards_in_a_browser(ink: str, paper: str, tmp_path: Path) -> None:
    cards = {name: own._repr_html_() for name, own in gallery().items()}  # type: ignore[attr-defined]
    sections = "".join(f'<section id="{name}">{card}</section>' for name, card in cards.items())
    style = f"color: {ink}; background: {paper}; font-family: sans-serif; width: 960px"
    page = f"<!doctype html><meta charset='utf-8'>{MEASURE}<body style='{style}'>{sections}</body>"
    shown = rendered(page, tmp_path)
    match = re.search(r'data-found="([^"]*)"', shown)
    assert match is not None
    found = json.loads(unescape(match[1]))
    assert not found["alerted"]
    assert [card["name"] for card in found["cards"]] == list(cards)
    for card in found["cards"]:
        assert card["height"] >= 15, card
        assert not card["empty"], card
        assert card["widest"] <= 1000, card
        # Text has the colour of the page, or a blue that is seen on both.
        assert ink in card["colours"], card
        assert set(card["colours"]) <= {ink, "rgb(76, 143, 209)"}, card
