"""Models whose truth is a sum: each function builds one kind at any size.

Tests compare their truths with enumeration, where models are small.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.people.case import PeopleCase
from benchmarks.people.sums import Cells, Equivalence, Ranking, enumerated, log_sum, matched, ring

# --- equivalence relations


def equivalence(
    size: int,
    weight: float,
    mark: float | None = None,
    differ: float = math.inf,
    facts: str = "",
) -> PeopleCase:
    """Who is the same as who? Perhaps with a property that equals share, always or mostly."""
    text = "person = {Anna, Bob, Carl, Dora, Emil}\n" if facts else ""
    text += (
        "same(person, person)\n"
        "same(x,y) => same(y,x).\nsame(x,y) ^ same(y,z) => same(x,z) | distinct.\n"
    )
    text += f"{weight} same(x,y) | x != y\n" if weight else ""
    if mark is not None:
        strength, end = ("", ".") if differ == math.inf else (f"{differ} ", "")
        text += f"marked(person)\n{mark} marked(x)\n"
        text += f"{strength}same(x,y) => (marked(x) <=> marked(y)){end}\n"
    stated = [(fact[0] != "!", fact.lstrip("!")) for fact in facts.split()]
    pairs = [(tuple(f[5:-1].split(",")), true) for true, f in stated if f.startswith("same")]
    relation = Equivalence(
        size,
        weight,
        mark,
        differ,
        known={f[7:-1]: true for true, f in stated if f.startswith("marked")},
        same=[(a, b) for (a, b), true in pairs if true],
        different=[(a, b) for (a, b), true in pairs if not true],
    )

    def truths() -> dict[str, float]:
        if not facts:
            own = {"same(x,y)": relation.same_probability()}
            return own | ({} if mark is None else {"marked(x)": relation.mark_probability()})
        own = {
            f"same({a},{b})": relation.same_probability(a, b)
            for a, b in (("Anna", "Dora"), ("Dora", "Emil"))
        }
        if mark is not None:
            own["marked(Dora)"] = relation.mark_probability("Dora")
        return own

    kind = "" if mark is None else ", marked" if differ == math.inf else ", mostly marked"
    told = f", {len(stated)} facts" if facts else ""
    return PeopleCase(
        f"equivalence {size}, {weight}{kind}{told}",
        text,
        {"person": size},
        "recursion over set partitions",
        truths,
        "\n".join(facts.split()),
    )


def records(size: int, seed: int = 0) -> PeopleCase:
    """Which citations are the same? Titles and authors are alike or not; no one is two records."""
    names, alike, _ = drawn_records(size, seed)
    text = (
        f"record = {{{', '.join(names)}}}\n*title(record, record)\n*author(record, record)\n"
        "same(record, record)\nsame(x,y) => same(y,x).\n"
        "same(x,y) ^ same(y,z) => same(x,z) | distinct.\n"
        f"{RECORD_WEIGHTS['title']} title(x,y) ^ same(x,y) | x != y\n"
        f"{RECORD_WEIGHTS['author']} author(x,y) ^ same(x,y) | x != y\n"
        f"{RECORD_WEIGHTS['same']} same(x,y) | x != y\n"
    )

    def truths() -> dict[str, float]:
        shares = matched(2 * sum_of_alike(alike, size))
        pairs = itertools.combinations(range(size), 2)
        undecided = sorted(pairs, key=lambda pair: abs(shares[pair] - 0.5))[:3]
        return {f"same({names[i]},{names[j]})": float(shares[i, j]) for i, j in undecided}

    return PeopleCase(
        f"records {size}, hard",
        text,
        {"record": size},
        "sum over set partitions, by subsets",
        truths,
        record_facts(names, alike),
    )


RECORD_WEIGHTS = {"title": 1.1, "author": 0.5, "same": -0.8}
"""What two records that are the same weigh, in each direction."""


def drawn_records(
    size: int, seed: int
) -> tuple[list[str], dict[str, set[tuple[int, int]]], list[int]]:
    """Names of records, which have alike titles and authors, and whom they are about."""
    rng = np.random.default_rng(seed)
    about = [int(own) for own in rng.integers(0, max(2, size // 3), size)]
    alike: dict[str, set[tuple[int, int]]] = {"title": set(), "author": set()}
    for i, j in itertools.combinations(range(size), 2):
        for field_of, (if_same, if_not) in {"title": (0.8, 0.1), "author": (0.9, 0.3)}.items():
            if rng.random() < (if_same if about[i] == about[j] else if_not):
                alike[field_of].add((i, j))
    return [f"R{k}" for k in range(size)], alike, about


def sum_of_alike(alike: Mapping[str, set[tuple[int, int]]], size: int) -> np.ndarray:
    """The weight of each pair if it is the same, in one direction."""
    weights = np.full((size, size), RECORD_WEIGHTS["same"])
    for field_of, pairs in alike.items():
        for i, j in pairs:
            weights[i, j] += RECORD_WEIGHTS[field_of]
            weights[j, i] += RECORD_WEIGHTS[field_of]
    return weights


def record_facts(names: Sequence[str], alike: Mapping[str, set[tuple[int, int]]]) -> str:
    return "\n".join(
        f"{field_of}({names[i]},{names[j]})\n{field_of}({names[j]},{names[i]})"
        for field_of, pairs in alike.items()
        for i, j in sorted(pairs)
    )


# --- linear orders


def order(size: int, good: float, above: float, facts: bool = False) -> PeopleCase:
    """A hard linear order in which good ones tend to be above the others."""
    text = (
        f"{'team = {A, B, C}' if facts else ''}\nbeats(team, team)\ngood(team)\n"
        "beats(x,y) => !beats(y,x).\nbeats(x,y) v beats(y,x) | x != y.\n"
        "beats(x,y) ^ beats(y,z) => beats(x,z).\n"
        f"{good} good(x)\n{above} good(x) ^ !good(y) ^ beats(x,y) | x != y\n"
    )
    ranking = Ranking(size, good, above)

    def truths() -> dict[str, float]:
        if not facts:
            return {"good(x)": ranking.good_probability(), "beats(x,y)": 0.5}
        return {
            "beats(A,B)": ranking.beats_probability(),
            "good(C)": ranking.third_probability(),
        }

    return PeopleCase(
        f"order {size}, {above}{', 2 facts' if facts else ''}",
        text,
        {"team": size},
        "Gaussian binomials",
        truths,
        "good(A)\n!good(B)" if facts else "",
    )


# --- sums over cells


def smokers(size: int, weight: float, bias: float, facts: str = "") -> PeopleCase:
    """Friends of smokers smoke. Facts may be about smoking and friendships of four people."""
    text = "person = {Anna, Bob, Carl, Dora}\n" if facts else ""
    text += (
        "friends(person, person)\nsmokes(person)\n"
        f"{weight} friends(x,y) ^ smokes(x) => smokes(y) | x != y\n{bias} smokes(x)\n"
    )
    stated = {fact.lstrip("!"): fact[0] != "!" for fact in facts.split()}

    def one_way(x: bool, y: bool, known: bool | None) -> float:
        """The log weight of a friendship of x with y, given whether they smoke."""
        if known is not None:
            return weight if not known or not x or y else 0.0
        return log_sum(weight, weight if not x or y else 0.0)

    def truths() -> dict[str, float]:
        names = ["Anna", "Bob", "Carl", "Dora"] if facts else []

        def table(one: str, other: str) -> np.ndarray:
            there, back = (stated.get(f"friends({a},{b})") for a, b in ((one, other), (other, one)))
            return np.array(
                [
                    [one_way(x, y, there) + one_way(y, x, back) for y in (False, True)]
                    for x in (False, True)
                ]
            )

        def alone(name: str) -> np.ndarray:
            known = stated.get(f"smokes({name})")
            single = np.array([0.0, bias])
            return single if known is None else np.where([not known, known], single, -np.inf)

        cells = Cells(
            size,
            np.array([0.0, bias]),
            table("", ""),
            [alone(name) for name in names],
            {
                (i, j): table(names[i], names[j])
                for i, j in itertools.combinations(range(len(names)), 2)
            },
        )
        friend = np.array(
            [
                [math.exp(weight if not x or y else 0.0) for y in (False, True)]
                for x in (False, True)
            ]
        )
        friend /= friend + math.exp(weight)
        if not facts:
            joint = cells.cells()
            return {
                "smokes(x)": float(cells.cell()[1]),
                "friends(x,y)": float((joint * friend).sum()),
            }
        own = {
            f"smokes({name})": float(cells.cell(k)[1])
            for k, name in enumerate(names)
            if f"smokes({name})" not in stated
        }
        return own | {"friends(Dora,Anna)": float((cells.cells(0, 3) * friend.T).sum())}

    told = f", {len(stated)} facts" if facts else ""
    return PeopleCase(
        f"smokers {size}, {weight}, {bias}{told}",
        text,
        {"person": size},
        "sum over counts",
        truths,
        "\n".join(facts.split()),
    )


def asthma(size: int) -> PeopleCase:
    """Two properties of each person, of which one spreads among friends."""
    text = (
        "person = {Anna, Bob, Carl}\nfriends(person, person)\nsmokes(person)\nasthma(person)\n"
        "0.9 smokes(x) => asthma(x)\n-0.7 asthma(x)\n0.5 smokes(x)\n"
        "0.4 friends(x,y) => (smokes(x) <=> smokes(y)) | x != y\n-1 friends(x,y) | x != y\n"
    )
    kinds = list(itertools.product((False, True), repeat=2))

    def truths() -> dict[str, float]:
        single = np.array([0.9 * (not s or a) - 0.7 * a + 0.5 * s for s, a in kinds])
        # A friendship weighs -1, and 0.4 less where two differ.
        pair = np.array(
            [[2 * log_sum(0.4, -1 + 0.4 * (s == t)) for t, _ in kinds] for s, _ in kinds]
        )
        anna = np.where([a for _, a in kinds], single, -np.inf)
        cells = Cells(size, single, pair, [anna, single])
        return {
            "smokes(Anna)": float(cells.cell(0) @ [s for s, _ in kinds]),
            "smokes(Bob)": float(cells.cell(1) @ [s for s, _ in kinds]),
            "asthma(Bob)": float(cells.cell(1) @ [a for _, a in kinds]),
        }

    return PeopleCase(
        f"asthma {size}", text, {"person": size}, "sum over counts", truths, "asthma(Anna)"
    )


def celebrity(size: int) -> PeopleCase:
    """Anna is followed by many, and followers of famous people become famous."""
    bias = round(-1 / size, 6)
    text = (
        "person = {Anna, Bob, Carl}\nfollows(person, person)\nfamous(person)\n"
        f"1.5 famous(Anna)\n0.8 follows(x,Anna) | x != Anna\n{bias} famous(x)\n"
        "0.6 follows(x,y) ^ famous(x) => famous(y) | x != y\n"
    )

    def one_way(x: bool, y: bool, extra: float) -> tuple[float, float]:
        """The log weights of no following and of following."""
        return 0.6, extra + (0.6 if not x or y else 0.0)

    def truths() -> dict[str, float]:
        truth = (False, True)
        pair = np.array(
            [
                [log_sum(*one_way(x, y, 0)) + log_sum(*one_way(y, x, 0)) for y in truth]
                for x in truth
            ]
        )
        # Others follow Anna more.
        with_anna = np.array(
            [
                [log_sum(*one_way(x, y, 0)) + log_sum(*one_way(y, x, 0.8)) for y in truth]
                for x in truth
            ]
        )
        famous, follows = np.zeros(2), np.zeros(2)
        weights = []
        for anna in truth:
            others = np.array([0.0, bias]) + with_anna[int(anna)]
            cells = Cells(size - 1, others, pair)
            weights.append((1.5 + bias) * anna + cells.log_z)
            famous[int(anna)] = cells.cell()[1]
            follows[int(anna)] = sum(
                p / (1 + math.exp(np.subtract(*one_way(x, anna, 0.8))))
                for x, p in zip(truth, cells.cell(), strict=True)
            )
        share = np.exp(np.array(weights) - max(weights))
        share /= share.sum()
        return {
            "famous(Anna)": float(share[1]),
            "famous(Bob)": float(share @ famous),
            "follows(Bob,Anna)": float(share @ follows),
        }

    return PeopleCase(f"celebrity {size}", text, {"person": size}, "sum over counts", truths)


def agreement(size: int, coupling: float, field_of: float, values: int) -> PeopleCase:
    """Everybody tends to agree with everybody, a little: the model of Curie and Weiss, or Potts."""
    domain = " : {low, mid, high}" if values == 3 else ""
    rules = (
        "".join(
            f"{coupling} mood(x) = {own} ^ mood(y) = {own} | x != y\n"
            for own in ("low", "mid", "high")
        )
        if values == 3
        else f"{coupling} mood(x) <=> mood(y) | x != y\n"
    )
    atom = "mood(x) = high" if values == 3 else "mood(x)"
    text = f"mood(person){domain}\n{rules}{field_of} {atom}\n"

    def truths() -> dict[str, float]:
        single = np.zeros(values)
        single[-1] = field_of
        cells = Cells(size, single, 2 * coupling * np.eye(values))
        return {atom: float(cells.cell()[-1])}

    return PeopleCase(
        f"agreement {size}, {coupling}, {values} values",
        text,
        {"person": size},
        "sum over counts",
        truths,
    )


# --- networks with a closed form


def hubs(common: int, own: int, known: int) -> PeopleCase:
    """Two hubs with friends of their own and common ones, of whom some are known to smoke."""
    common_names = [f"C{k}" for k in range(common)]
    own_names = {"Anna": [f"A{k}" for k in range(own)], "Bob": [f"B{k}" for k in range(own)]}
    text = (
        "friends(person, person)\nsmokes(person)\n"
        "0.8 friends(x,y) => (smokes(x) <=> smokes(y))\n-0.3 smokes(x)\n"
    )
    facts = [f"smokes({name})" for name in own_names["Anna"][:known]]
    for hub, names in own_names.items():
        facts += [f"friends({hub},{name})" for name in (*common_names, *names)]
    size = 2 + common + 2 * own

    def truths() -> dict[str, float]:
        total, leaf, hub, shared = 0.0, 0.0, np.zeros(2), 0.0
        for a, b in itertools.product((0, 1), repeat=2):

            def smoking(*others: int) -> tuple[float, float]:
                return tuple(
                    math.exp(-0.3 * s + 0.8 * sum(s == other for other in others)) for s in (0, 1)
                )

            both, of_a, of_b = smoking(a, b), smoking(a), smoking(b)
            weight = math.exp(-0.3 * (a + b) + known * math.log(of_a[1]))
            weight *= sum(both) ** common * sum(of_a) ** (own - known) * sum(of_b) ** own
            total += weight
            hub += weight * np.array([a, b])
            leaf += weight * of_b[1] / sum(of_b)
            shared += weight * both[1] / sum(both)
        return {
            "smokes(Anna)": float(hub[0] / total),
            "smokes(Bob)": float(hub[1] / total),
            "smokes(B0)": leaf / total,
            "smokes(C0)": shared / total,
        }

    return PeopleCase(
        f"hubs {size}",
        text,
        {"person": size},
        "sum over the hubs",
        truths,
        "\n".join(facts),
        ("friends",),
    )


def coloured_ring(size: int) -> PeopleCase:
    """Neighbours on a cycle have different colours; one colour is known."""
    colours = ("red", "green", "blue")
    text = f"*next(place, place)\ncolour(place) : {{{', '.join(colours)}}}\n" + "".join(
        f"next(x,y) ^ colour(x) = {own} => !(colour(y) = {own}).\n" for own in colours
    )
    facts = [f"next(P{k},P{(k + 1) % size})" for k in range(size)]

    def truths() -> dict[str, float]:
        at = ring(np.ones((3, 3)) - np.eye(3), size, {0: 0})
        return {f"colour(P{k}) = red": float(at(k)[0]) for k in (1, 2, 3)}

    return PeopleCase(
        f"coloured ring {size}",
        text,
        {"place": size},
        "transfer matrix",
        truths,
        "\n".join([*facts, "colour(P0) = red"]),
    )


# --- enumeration


def small(
    name: str, text: str, sizes: Mapping[str, int], queries: Sequence[str], facts: str = ""
) -> PeopleCase:
    """A model that can be enumerated."""
    case = PeopleCase(
        name,
        text,
        sizes,
        "enumeration",
        lambda: enumerated(case.model, sizes, case.evidence, queries),
        "\n".join(facts.split("; ")),
    )
    return case
