"""Draw the figures on the mathematics and on best worlds: `python docs/draw_figures.py`.

Region graphs and worlds are drawn by hand, as SVG; curves by matplotlib.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
INK, GREY, BLUE, RED, PAPER = "#1f2430", "#6b7280", "#2563a8", "#b4442c", "#ffffff"
WEIGHT = 1.4


# --- drawings


@dataclass
class Drawing:
    """Boxes, arrows and texts on white paper."""

    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 13,
        colour: str = INK,
        at: str = "middle",
    ) -> None:
        """A line of text; `_1` is a subscript."""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{at}">'
            f"{text}</text>"
        )

    def box(self, x: float, y: float, lines: Sequence[str], *, width: float = 130) -> None:
        """A region: a rounded box around its middle."""
        height = 12 + 17 * len(lines)
        self.parts.append(
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" '
            f'height="{height}" rx="7" fill="#f3f6fa" stroke="{BLUE}"/>'
        )
        for number, line in enumerate(lines):
            shift = 17 * (number - (len(lines) - 1) / 2)
            self.text(x, y + 4.5 + shift, line, colour=GREY if number else INK)

    def arrow(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        *,
        bend: float = 0,
        colour: str = GREY,
        marker: bool = True,
    ) -> None:
        """A line from a parent to a child, bent to one side."""
        (x, y), (u, v) = start, end
        a, b = (x + u) / 2 + bend, (y + v) / 2
        head = f' marker-end="url(#{"red" if colour == RED else "head"})"' if marker else ""
        self.parts.append(
            f'<path d="M{x:g} {y:g} Q{a:g} {b:g} {u:g} {v:g}" fill="none" stroke="{colour}"{head}/>'
        )

    def ring(self, x: float, y: float, label: str) -> None:
        """An object in a signature graph."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="13" fill="{PAPER}" stroke="{INK}"/>')
        self.text(x, y + 4.5, label)

    def loop(self, x: float, y: float, label: str) -> None:
        """A unary atom: an arrow from an object to itself."""
        self.parts.append(
            f'<path d="M{x - 8:g} {y - 11:g} C{x - 26:g} {y - 46:g} {x + 26:g} {y - 46:g} '
            f'{x + 8:g} {y - 11:g}" fill="none" stroke="{RED}" marker-end="url(#red)"/>'
        )
        self.text(x, y - 42, label, colour=RED, size=12)

    def svg(self, title: str) -> str:
        """The whole picture."""
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
            for name, colour in (("head", GREY), ("red", RED), ("blue", BLUE))
        )
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" '
            f'font-family="Helvetica, Arial, sans-serif">\n<title>{title}</title>\n'
            f"<defs>{heads}</defs>\n"
            f'<rect width="{self.width}" height="{self.height}" rx="8" fill="{PAPER}"/>\n'
            f"{body}\n</svg>\n"
        )


def ground_and_lifted() -> str:
    """The region graph of friends-smokers over three people, and the lifted one."""
    one = Drawing(760, 330)
    one.text(235, 28, "ground, N = 3: 12 regions", colour=GREY)
    one.text(640, 28, "lifted, any N ≥ 3: 3 regions", colour=GREY)
    pairs = [(1, 2), (1, 3), (2, 3)]
    for k, (i, j) in enumerate(pairs):
        middle = 80 + 155 * k
        for side, (a, b) in ((-38, (i, j)), (38, (j, i))):
            one.box(middle + side, 90, [f"fr{a}{b}", f"sm{a} sm{b}"], width=66)
            one.arrow((middle + side, 114), (middle + side / 4, 175))
        one.box(middle, 190, [f"sm{i} sm{j}"], width=76)
        for person in (i, j):
            one.arrow((middle, 205), (80 + 155 * (person - 1), 267))
    for person in (1, 2, 3):
        one.box(80 + 155 * (person - 1), 282, [f"sm{person}"], width=56)
    one.parts.append(f'<path d="M510 50V310" stroke="{GREY}" stroke-dasharray="3 5"/>')
    one.box(640, 90, ["α: fr(1,2) sm(1) sm(2)", "n = N(N−1),  c = 1"], width=190)
    one.box(640, 190, ["β: sm(1) sm(2)", "n = N(N−1)/2,  c = −1"], width=190)
    one.box(640, 282, ["γ: sm(1)", "n = N,  c = 2 − N"], width=190)
    one.arrow((625, 114), (625, 166), bend=-26)
    one.arrow((655, 114), (655, 166), bend=26)
    one.text(606, 144, "κ = 1", colour=BLUE, size=12, at="end")
    one.text(676, 144, "κ = 1, mirrored", colour=BLUE, size=12, at="start")
    one.arrow((640, 213), (640, 258))
    one.text(648, 240, "κ = N − 1", colour=BLUE, size=12, at="start")
    return one.svg("The ground region graph over three people, and the lifted region graph")


def signatures() -> str:
    """Two clusters with one signature, and the signatures of the worked example."""
    one = Drawing(760, 210)

    def chain(x: float, y: float, labels: Sequence[str]) -> None:
        for k, label in enumerate(labels):
            one.ring(x + 75 * k, y, label)
            if k:
                one.arrow((x + 75 * k - 62, y), (x + 75 * k - 14, y))
                one.text(x + 75 * k - 38, y - 7, "r", size=12, colour=GREY)

    one.text(120, 28, "r(5,9) r(9,4)", colour=GREY)
    chain(45, 65, ["5", "9", "4"])
    one.text(120, 110, "r(2,7) r(8,2)", colour=GREY)
    chain(45, 147, ["8", "2", "7"])
    one.arrow((225, 65), (275, 98), marker=True)
    one.arrow((225, 147), (275, 114), marker=True)
    one.text(365, 62, "canonical: r(1,2) r(2,3)", colour=GREY)
    chain(290, 106, ["1", "2", "3"])
    one.parts.append(f'<path d="M478 30V185" stroke="{GREY}" stroke-dasharray="3 5"/>')
    one.text(555, 178, "α", size=14)
    one.ring(520, 130, "1")
    one.ring(595, 130, "2")
    one.arrow((534, 130), (581, 130))
    one.text(557, 122, "fr", size=12, colour=GREY)
    one.loop(520, 130, "sm")
    one.loop(595, 130, "sm")
    one.text(666, 178, "β", size=14)
    one.ring(645, 130, "1")
    one.ring(688, 130, "2")
    one.loop(645, 130, "sm")
    one.loop(688, 130, "sm")
    one.text(733, 178, "γ", size=14)
    one.ring(733, 130, "1")
    one.loop(733, 130, "sm")
    one.text(620, 50, "automorphisms: α 1, β 2, γ 1", colour=GREY)
    return one.svg("Signature graphs: clusters that are alike have the same canonical form")


def local_graph() -> str:
    """What enters the region α of friends-smokers, with the exponents of messages."""
    one = Drawing(760, 300)
    one.parts.append(
        f'<rect x="250" y="20" width="260" height="262" rx="14" fill="none" stroke="{GREY}" '
        'stroke-dasharray="4 4"/>'
    )
    one.text(262, 40, "inside α", colour=GREY, at="start")
    one.box(380, 72, ["α: fr(1,2) sm(1) sm(2)"], width=180)
    one.box(380, 157, ["sm(1) sm(2)"], width=110)
    one.box(310, 244, ["sm(1)"], width=66)
    one.box(450, 244, ["sm(2)"], width=66)
    one.arrow((380, 87), (380, 142))
    one.arrow((372, 172), (318, 229))
    one.arrow((388, 172), (442, 229))
    one.box(110, 120, ["fr(2,1) sm(1) sm(2)"], width=170)
    one.arrow((195, 124), (325, 153), colour=RED)
    one.text(152, 160, "μ(s₂,s₁), exponent 1 − 0 = 1", colour=RED, size=12)
    one.box(110, 228, ["sm(1) sm(k),  k ≠ 1, 2"], width=170)
    one.arrow((195, 231), (277, 241), colour=RED)
    one.text(125, 268, "m(s₁), exponent (N−1) − 1 = N−2", colour=RED, size=12)
    one.box(650, 228, ["sm(2) sm(k),  k ≠ 1, 2"], width=170)
    one.arrow((565, 231), (483, 241), colour=RED)
    one.text(637, 268, "m(s₂), exponent (N−1) − 1 = N−2", colour=RED, size=12)
    one.text(640, 104, "messages along grey arrows", colour=GREY, size=12)
    one.text(640, 121, "stay inside α and do not count", colour=GREY, size=12)
    return one.svg("The local graph of the outer region: which messages enter it, and how often")


# --- best worlds

OBJECTS = 9
"""So many are in each of the worlds that are drawn; one is left over where they form couples."""

CELL = 17
"""The side of a cell of a matrix, in pixels."""


@dataclass(frozen=True)
class World:
    """A relation over some objects, and where the objects are drawn, in a square of 100.

    parts     the part of each object, which says its colour
    relation  the pairs that are related
    places    of the objects
    directed  whether pairs are drawn as arrows, those of the first object in blue
    """

    example: str
    predicate: str
    parts: tuple[int, ...]
    relation: frozenset[tuple[int, int]]
    places: tuple[tuple[float, float], ...]
    directed: bool = False

    @property
    def in_a_row(self) -> bool:
        """Whether all objects are on one line."""
        return len({y for _, y in self.places}) == 1


def pairs_where(related: Callable[[int, int], bool]) -> frozenset[tuple[int, int]]:
    """The pairs of different objects that are related."""
    numbers = range(OBJECTS)
    return frozenset((a, b) for a in numbers for b in numbers if a != b and related(a, b))


def on_circle(turns: Iterable[float]) -> tuple[tuple[float, float], ...]:
    """Places on a circle, by parts of a whole turn from the top."""
    angles = (2 * math.pi * turn for turn in turns)
    return tuple((50 + 42 * math.sin(angle), 50 - 42 * math.cos(angle)) for angle in angles)


def worlds() -> dict[str, World]:
    """A best world of each kind of structure, by the name of its picture."""
    numbers = range(OBJECTS)
    sides = tuple(int(k >= 5) for k in numbers)
    thirds = tuple(k // 3 for k in numbers)
    couples = tuple(k // 2 for k in numbers)
    rows = tuple((15.0, 10 + 20.0 * k) for k in range(5))
    rows += tuple((85.0, 20 + 20.0 * k) for k in range(4))
    stands = [(5 + 35.0 * (k // 2 % 3) + 20 * (k % 2), 32 + 36.0 * (k // 6)) for k in numbers]
    return {
        "world-two-sides": World(
            "no-triangles", "friends", sides, pairs_where(lambda a, b: sides[a] != sides[b]), rows
        ),
        "world-three-parts": World(
            "no-four-friends",
            "friends",
            thirds,
            pairs_where(lambda a, b: thirds[a] != thirds[b]),
            on_circle(k // 3 / 3 + (k % 3 - 1) / 15 for k in numbers),
        ),
        "world-couples": World(
            "couples",
            "married",
            tuple(int(k == OBJECTS - 1) for k in numbers),
            pairs_where(lambda a, b: couples[a] == couples[b]),
            tuple(stands),
        ),
        "world-ranking": World(
            "ranking",
            "beats",
            (0,) * OBJECTS,
            pairs_where(lambda a, b: a < b),
            tuple((4 + 11.5 * k, 60.0) for k in numbers),
            directed=True,
        ),
        "world-cycles": World(
            "cycles",
            "beats",
            (0,) * OBJECTS,
            pairs_where(lambda a, b: (b - a) % OBJECTS <= OBJECTS // 2),
            on_circle(k / OBJECTS for k in numbers),
            directed=True,
        ),
    }


def drawn_world(name: str) -> str:
    """A world as dots with lines, and as a matrix with a dark cell where a row is related."""
    world = worlds()[name]
    one = Drawing(480, 220)
    places = [(24 + 1.9 * x, 15 + 1.9 * y) for x, y in world.places]
    for a, b in sorted(world.relation, reverse=True):
        if world.directed:
            colour = BLUE if a == 0 else GREY
            one.parts.append(_arrow(places[a], places[b], colour, bow=world.in_a_row))
        elif a < b:
            (x, y), (u, v) = places[a], places[b]
            one.parts.append(f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}" stroke="{GREY}"/>')
    for k, (x, y) in enumerate(places):
        colour = PARTS[world.parts[k]]
        one.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{colour}"/>')
    left, top = 290, 34
    for a in range(OBJECTS):
        for b in range(OBJECTS):
            fill = PARTS[world.parts[a]] if (a, b) in world.relation else "#eef1f5"
            one.parts.append(
                f'<rect x="{left + CELL * b}" y="{top + CELL * a}" width="{CELL - 1}" '
                f'height="{CELL - 1}" fill="{fill}"/>'
            )
    label = {"friends": "are friends", "married": "are married", "beats": "x beats y"}
    one.text(left + CELL * OBJECTS / 2, top + CELL * OBJECTS + 20, "y", colour=GREY)
    one.text(left - 14, top + CELL * OBJECTS / 2, "x", colour=GREY)
    one.text(left + CELL * OBJECTS / 2, top - 12, label[world.predicate], colour=GREY)
    return one.svg(f"A best world of {world.example} over {OBJECTS} objects, and its matrix")


PARTS = (BLUE, RED, "#3c8d5a")
"""The colours of parts."""


def _arrow(start: tuple[float, float], end: tuple[float, float], colour: str, *, bow: bool) -> str:
    """An arrow between two objects, straight or in a bow."""
    (x, y), (u, v) = start, end
    a, b = ((x + u) / 2, y - 0.9 * abs(u - x)) if bow else ((x + u) / 2, (y + v) / 2)
    length = math.hypot(u - a, v - b)
    u, v = u - (u - a) / length * 8, v - (v - b) / length * 8
    head, width = ("blue", 1.6) if colour == BLUE else ("head", 0.7)
    return (
        f'<path d="M{x:.1f} {y:.1f}Q{a:.1f} {b:.1f} {u:.1f} {v:.1f}" fill="none" stroke="{colour}" '
        f'stroke-width="{width}" marker-end="url(#{head})"/>'
    )


# --- curves


def entropy(p: np.ndarray) -> np.ndarray:
    """Σ −p log p, along the first axis."""
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=0)


def beliefs(p: np.ndarray) -> np.ndarray:
    """The best beliefs about pairs of smokers with this share: true-true, both mixed, neither."""
    r2 = ((1 + math.exp(-WEIGHT)) / 2) ** 2
    d = (np.sqrt(r2**2 + 4 * (1 - r2) * r2 * p * (1 - p)) - r2) / (2 * (1 - r2))
    return np.array([p - d, d, d, 1 - p - d])


def free_energy(people: int, p: np.ndarray) -> np.ndarray:
    """The Kikuchi free energy of friends-smokers by the share of smokers."""
    same = math.log(4) + 2 * WEIGHT
    different = same + math.log((1 + math.exp(-WEIGHT)) / 2)
    q = beliefs(p)
    energy = q.T @ np.array([same, different, different, same])
    singles = entropy(np.array([p, 1 - p]))
    pairs = people * (people - 1) / 2
    return -pairs * (entropy(q) + energy) + people * (people - 2) * singles


def wells() -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Curves of the free energy, less its value at one half."""
    p = np.linspace(0.001, 0.999, 999)
    for people in (5, 7, 8, 10):
        yield people, p, free_energy(people, p) - free_energy(people, np.array([0.5]))


def draw_wells(path: Path) -> None:
    """The free energy has one well in small domains, and two in larger ones."""
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    for people, p, curve in wells():
        axes.plot(p, curve, label=f"N = {people}")
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.set(xlabel="share of smokers $p$", ylabel="$F(p) - F(1/2)$", xlim=(0, 1), ylim=(-2.9, 2.2))
    axes.legend(frameon=False, ncols=4, loc="upper center")
    save(figure, path)


def exact_probability(people: int) -> float:
    """P(friends) by the sum over the number of smokers."""
    k = np.arange(people + 1)
    ways = [math.log(math.comb(people, int(one))) for one in k]
    logs = ways + k * (people - k) * math.log((1 + math.exp(-WEIGHT)) / 2)
    shares = np.exp(logs - logs.max())
    mixed = float(shares @ (k * (people - k)) / shares.sum()) / (people * (people - 1))
    return 0.5 - mixed * (0.5 - 1 / (1 + math.exp(WEIGHT)))


def at_best(people: int) -> float:
    """P(friends) at the minima of the free energy, which are mirror images."""
    p = np.linspace(1e-9, 0.5, 200_001)
    best = np.array([p[int(np.argmin(free_energy(people, p)))]])
    return 0.5 - float(beliefs(best)[1, 0]) * (0.5 - 1 / (1 + math.exp(WEIGHT)))


def draw_sizes(path: Path) -> None:
    """One stationary point, the mixture of minima, and the truth, as the domain grows."""
    sizes = np.arange(2, 31)
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    axes.plot(sizes, [exact_probability(int(n)) for n in sizes], "k.", label="exact", zorder=3)
    axes.plot(sizes, [at_best(int(n)) for n in sizes], label="minima of $F$, mixed")
    flat = 0.5 - float(beliefs(np.array([0.5]))[1, 0]) * (0.5 - 1 / (1 + math.exp(WEIGHT)))
    axes.plot(sizes, [flat] * len(sizes), "--", label="flooding: the flat point")
    axes.set(xlabel="number of people $N$", ylabel="P(friends)", xlim=(1.5, 30.5))
    axes.legend(frameon=False)
    save(figure, path)


def save(figure: plt.Figure, path: Path) -> None:
    """Write a figure, the same on every run."""
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def draw(folder: Path) -> None:
    """Write all figures to a folder."""
    style = {
        "svg.hashsalt": "liftgbp",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in (
        ("ground-and-lifted.svg", ground_and_lifted),
        ("signatures.svg", signatures),
        ("local-graph.svg", local_graph),
    ):
        (folder / name).write_text(drawing(), encoding="utf-8")
    for name in worlds():
        (folder / f"{name}.svg").write_text(drawn_world(name), encoding="utf-8")
    with mpl.rc_context(style):
        draw_wells(folder / "wells.svg")
        draw_sizes(folder / "sizes.svg")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "img")
