"""Models whose exact answers are known without the engine: random relational ones, and classics.

Relational models have a unary `p` and `q` and a binary `r` over one sort. Small ones are enumerated
or solved by the junction tree of `reference`. Models with two variables over many objects are
summed over cells here: objects of one cell have the same atoms of their own, and given the cells of
all objects, pairs of them are independent.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

import liftgbp
from liftgbp.oracle import reference
from liftgbp.oracle.reference import GroundAtom, GroundFactor, GroundModel

SEED = 12
HARD_RULES = 0.15
"""The part of all rules that are hard."""

OBSERVED = 0.25
"""The part of small models that have facts about two of their objects."""

LARGEST_TABLE = 2**18
"""What a junction tree may need, in entries; models that need more are drawn again."""

MOST_OBJECTS = 60

Formula: TypeAlias = tuple[object, ...]
"""An atom as in ("r", "x", "y"), or a connective with its parts as in ("^", one, other)."""

Truth: TypeAlias = dict[tuple[str, ...], bool]
Exact: TypeAlias = dict[str, list[float]]
"""For each query the probabilities of the values of its atom."""


@dataclass(frozen=True)
class Case:
    """A model with its exact answers; `None` if it contradicts itself."""

    name: str
    model: liftgbp.Model | liftgbp.Network
    sizes: dict[str, int] | None
    exact: Exact | None
    facts: str = ""
    observed: dict[int, int] = field(default_factory=dict)
    text: str = ""

    @property
    def kind(self) -> str:
        """What the case is one of, in words."""
        return self.name.partition(" ")[0]


# --- random formulas


@dataclass(frozen=True)
class RandomRule:
    """A weighted formula; a weight of `None` makes it hard."""

    formula: Formula
    weight: float | None
    different: bool

    @property
    def variables(self) -> list[str]:
        return sorted({name for atom in atoms_of(self.formula) for name in atom[1:]})

    def __str__(self) -> str:
        where = " | distinct" if self.different and len(self.variables) > 1 else ""
        text = written(self.formula)
        return f"{text}{where}." if self.weight is None else f"{self.weight} {text}{where}"

    def log_factor(self, truth: Truth, named: dict[str, str]) -> float:
        """The log of its factor once its variables are named."""
        if self.different and len(set(named.values())) < len(named):
            return 0.0
        holds = is_true(self.formula, truth, named)
        if self.weight is None:
            return 0.0 if holds else -math.inf
        return self.weight if holds else 0.0


def atoms_of(formula: Formula) -> list[tuple[str, ...]]:
    if formula[0] in CONNECTIVES:
        return [atom for part in formula[1:] for atom in atoms_of(part)]  # type: ignore[arg-type]
    return [formula]  # type: ignore[list-item]


CONNECTIVES = {
    "!": lambda a: not a,
    "^": lambda a, b: a and b,
    "v": lambda a, b: a or b,
    "=>": lambda a, b: not a or b,
    "<=>": lambda a, b: a == b,
}


def written(formula: Formula) -> str:
    head, *parts = formula
    if head == "!":
        return f"!{written(parts[0])}"  # type: ignore[arg-type]
    if head in CONNECTIVES:
        one, other = map(written, parts)  # type: ignore[arg-type]
        return f"({one} {head} {other})"
    return f"{head}({','.join(map(str, parts))})"


def is_true(formula: Formula, truth: Truth, named: dict[str, str]) -> bool:
    head, *parts = formula
    if head in CONNECTIVES:
        values = (is_true(part, truth, named) for part in parts)  # type: ignore[arg-type]
        return bool(CONNECTIVES[str(head)](*values))
    return truth[str(head), *(named[str(name)] for name in parts)]


def random_rule(rng: np.random.Generator, predicates: Sequence[str], names: str) -> RandomRule:
    def grown(atoms: int) -> Formula:
        if atoms == 1:
            predicate = str(rng.choice(list(predicates)))
            args = [str(rng.choice(list(names))) for _ in range(2 if predicate == "r" else 1)]
            atom: Formula = (predicate, *args)
            return ("!", atom) if rng.random() < 0.3 else atom
        left = int(rng.integers(1, atoms))
        head = str(rng.choice(["^", "v", "=>", "<=>"]))
        return (head, grown(left), grown(atoms - left))

    weight = None if rng.random() < HARD_RULES else round(float(rng.normal(0.0, 1.0)), 2)
    return RandomRule(grown(int(rng.choice([1, 2, 2, 3]))), weight, bool(rng.random() < 0.7))


DECLARED = "p(t)\nq(t)\nr(t,t)\n"
NAMES = "ABCDE"


def model_text(rules: Sequence[RandomRule], declared: str = DECLARED) -> str:
    return declared + "".join(f"{rule}\n" for rule in rules)


# --- small models


def small_case(rng: np.random.Generator, number: int) -> Case:
    """A model over two to five objects, perhaps with facts."""
    while True:
        predicates = ("p", "q", "r") if rng.random() < 0.7 else ("p", "q")
        rules = [random_rule(rng, predicates, "xyz") for _ in range(rng.integers(1, 5))]
        text, size = model_text(rules), int(rng.integers(2, 6))
        facts = ""
        if size > 2 and rng.random() < OBSERVED:
            possible = ["p(A)", "!p(A)", "q(B)", "!q(B)", "r(A,B)", "!r(A,B)", "r(A,A)"]
            chosen = rng.choice(possible, size=2, replace=False).tolist()
            if chosen[0].lstrip("!") == chosen[1].lstrip("!"):
                continue
            text = f"t = {{{', '.join(NAMES[:size])}}}\n{text}"
            facts = "\n".join(chosen)
        try:
            return _enumerated(f"small {number}", text, size, facts)
        except liftgbp.CapacityError:
            continue


def _enumerated(name: str, text: str, size: int, facts: str) -> Case:
    model = liftgbp.parse(text)
    evidence = liftgbp.parse_evidence(model, facts) if facts else None
    sizes = {"t": size}
    try:
        grounded = reference.ground(model, sizes, evidence)
        marginals = reference.exact(grounded, cap=LARGEST_TABLE).marginals
    except liftgbp.ContradictionError:
        return Case(name, model, sizes, None, facts, text=text)
    # Without facts, all objects are alike.
    named = NAMES[:size] if facts else "xy"
    queries = [f"{p}({v})" for p in "pq" for v in named]
    queries += [f"r({v},{w})" for v in named for w in named if v != w]
    exact: Exact = {}
    for query in queries:
        predicate, args = query[0], query[2:-1].split(",")
        atom = GroundAtom(predicate, tuple(map(named.index, args)))
        if atom in marginals:
            exact[query] = marginals[atom].tolist()
    return Case(name, model, sizes, exact, facts, text=text)


# --- models with two variables


def cells_case(rng: np.random.Generator, number: int) -> Case:
    """A model with two variables over six to sixty objects."""
    own = "pq" if rng.random() < 0.5 else "pr"
    rules = [random_rule(rng, own, "xy") for _ in range(rng.integers(1, 5))]
    size = int(rng.integers(6, MOST_OBJECTS + 1))
    text = model_text(rules, "p(t)\nq(t)\n" if own == "pq" else "p(t)\nr(t,t)\n")
    exact = summed_over_cells(rules, own, size)
    return Case(f"cells {number}", liftgbp.parse(text), {"t": size}, exact, text=text)


def summed_over_cells(rules: Sequence[RandomRule], own: str, size: int) -> Exact | None:
    """Exact answers: the sum over how many objects are in each cell."""
    alone = [(own[0], "x"), (own[1], "x") if own == "pq" else ("r", "x", "x")]
    between = [] if own == "pq" else [("r", "x", "y"), ("r", "y", "x")]
    cells = list(itertools.product((False, True), repeat=2))

    def renamed(atoms: Sequence[tuple[str, ...]], new: str) -> list[tuple[str, ...]]:
        return [tuple(new if part == "x" else part for part in atom) for atom in atoms]

    def log_weight(truth: Truth, objects: str) -> float:
        """The factors that mention exactly these objects."""
        total = 0.0
        for rule in rules:
            for chosen in itertools.product(objects, repeat=len(rule.variables)):
                if set(chosen) == set(objects):
                    named = dict(zip(rule.variables, chosen, strict=True))
                    total += rule.log_factor(truth, named)
        return total

    singles = np.array([log_weight(dict(zip(alone, cell, strict=True)), "x") for cell in cells])
    pairs, joint = np.zeros((4, 4)), np.zeros((4, 4))
    for (i, one), (j, other) in itertools.product(enumerate(cells), repeat=2):
        truth = dict(zip(alone, one, strict=True))
        truth |= dict(zip(renamed(alone, "y"), other, strict=True))
        logs, holds = [], []
        for values in itertools.product((False, True), repeat=len(between)):
            logs.append(log_weight(truth | dict(zip(between, values, strict=True)), "xy"))
            holds.append(bool(values and values[0]))
        top = max(logs)
        weights = np.exp(np.array(logs) - top) if top > -math.inf else np.zeros(len(logs))
        pairs[i, j] = top + math.log(weights.sum()) if top > -math.inf else -math.inf
        if weights.sum() > 0:
            joint[i, j] = weights[holds].sum() / weights.sum()
    counts = np.array(
        [
            (a, b, c, size - a - b - c)
            for a in range(size + 1)
            for b in range(size + 1 - a)
            for c in range(size + 1 - a - b)
        ]
    )
    factorials = np.cumsum([0.0, *np.log(np.arange(1, size + 1))])
    logs = factorials[size] - factorials[counts].sum(axis=1)
    for i in range(4):
        logs = logs + _times(counts[:, i], singles[i])
        logs = logs + _times(counts[:, i] * (counts[:, i] - 1) // 2, pairs[i, i])
        for j in range(i):
            logs = logs + _times(counts[:, i] * counts[:, j], pairs[i, j])
    if logs.max() == -math.inf:
        return None
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    of_cell = shares @ counts / size
    exact: Exact = {f"{own[0]}(x)": _boolean(of_cell @ [c[0] for c in cells])}
    if own == "pq":
        exact["q(x)"] = _boolean(of_cell @ [c[1] for c in cells])
    else:
        ordered = np.einsum("s,si,sj->ij", shares, counts, counts) - np.diag(shares @ counts)
        exact["r(x,y)"] = _boolean(float((ordered * joint).sum() / (size * (size - 1))))
    return exact


def _times(numbers: np.ndarray, log: float) -> np.ndarray:
    """Numbers times a log that may be minus infinity."""
    return np.where(numbers > 0, np.where(numbers > 0, numbers, 1) * log, 0.0)


def _boolean(probability: float) -> list[float]:
    return [1 - float(probability), float(probability)]


# --- classical networks


@dataclass(frozen=True)
class Factor:
    """A table over variables; the last one changes fastest."""

    scope: tuple[int, ...]
    table: np.ndarray


def classical_cases(rng: np.random.Generator) -> Iterator[Case]:
    """Sixty networks: spins on grids and random graphs, Boltzmann machines, and textbook ones."""
    for k in range(12):
        coupling, field_of = (0.2, 0.4, 0.6, 1.0)[k % 4], (0.05, 0.3, 0.0)[k // 4]
        fields = field_of * rng.choice([-1, 1], size=25)
        yield _network(f"ising {k}", *_spins(_grid(5), coupling, fields))
    for k in range(12):
        width = (0.5, 1.0, 1.5, 2.0)[k % 4]
        couplings = rng.normal(0.0, width, size=len(_grid(5)))
        yield _network(f"glass {k}", *_spins(_grid(5), couplings, rng.normal(0, 0.3, size=25)))
    for k in range(6):
        coupling = (0.3, 0.7, 1.2)[k % 3]
        yield _network(f"potts {k}", *_potts(_grid(4), 3, coupling, rng.normal(0, 0.2, (16, 3))))
    for k in range(10):
        edges = _regular(rng, 14, 3 if k < 5 else 4)
        couplings = rng.normal(0.0, 1.0, size=len(edges)) if k % 2 else 0.3 + 0.1 * (k // 2)
        yield _network(f"regular {k}", *_spins(edges, couplings, rng.normal(0, 0.2, size=14)))
    for k in range(8):
        edges = [(v, 8 + h) for v in range(8) for h in range(5)]
        couplings = rng.normal(0.0, (0.3, 0.6, 1.0, 1.5)[k % 4], size=len(edges))
        yield _network(f"boltzmann {k}", *_spins(edges, couplings, rng.normal(0, 0.5, size=13)))
    for name, (ranges, factors, cases) in BAYESIAN.items():
        for k, observed in enumerate(cases):
            yield _network(f"bayes {name} {k}", ranges, factors(), observed)


def _grid(side: int) -> list[tuple[int, int]]:
    across = [(side * i + j, side * i + j + 1) for i in range(side) for j in range(side - 1)]
    return across + [
        (side * i + j, side * i + j + side) for i in range(side - 1) for j in range(side)
    ]


def _regular(rng: np.random.Generator, nodes: int, degree: int) -> list[tuple[int, int]]:
    while True:
        ends = rng.permutation(np.repeat(np.arange(nodes), degree)).reshape(-1, 2)
        edges = {(min(a, b), max(a, b)) for a, b in ends.tolist()}
        if len(edges) == len(ends) and all(a != b for a, b in edges):
            return sorted(edges)


def _spins(
    edges: Sequence[tuple[int, int]], couplings: float | np.ndarray, fields: np.ndarray
) -> tuple[list[int], list[Factor]]:
    strengths = np.broadcast_to(couplings, len(edges)).tolist()
    factors = [
        Factor(edge, np.exp(strength * np.array([[1.0, -1.0], [-1.0, 1.0]])))
        for edge, strength in zip(edges, strengths, strict=True)
    ]
    factors += [Factor((k,), np.exp([-own, own])) for k, own in enumerate(fields.tolist())]
    return [2] * len(fields), factors


def _potts(
    edges: Sequence[tuple[int, int]], values: int, coupling: float, fields: np.ndarray
) -> tuple[list[int], list[Factor]]:
    factors = [Factor(edge, np.exp(coupling * np.eye(values))) for edge in edges]
    factors += [Factor((k,), np.exp(own)) for k, own in enumerate(fields)]
    return [values] * len(fields), factors


def _true(*chances: float) -> np.ndarray:
    """A table of conditional probabilities from those of `true`; the value 1 is true."""
    table = np.array([[1 - own, own] for own in chances])
    return table.reshape((2,) * (len(chances).bit_length()))


def _asia() -> list[Factor]:
    """S. L. Lauritzen and D. J. Spiegelhalter, Local computations with probabilities (1988)."""
    # asia, tuberculosis, smoking, lung cancer, bronchitis, either, x-ray, dyspnoea
    return [
        Factor((0,), _true(0.01)),
        Factor((0, 1), _true(0.01, 0.05)),
        Factor((2,), _true(0.5)),
        Factor((2, 3), _true(0.01, 0.1)),
        Factor((2, 4), _true(0.3, 0.6)),
        Factor((1, 3, 5), _true(0.0, 1.0, 1.0, 1.0)),
        Factor((5, 6), _true(0.05, 0.98)),
        Factor((4, 5, 7), _true(0.1, 0.7, 0.8, 0.9)),
    ]


def _sprinkler() -> list[Factor]:
    """S. Russell and P. Norvig, Artificial Intelligence: cloudy, sprinkler, rain, wet grass."""
    return [
        Factor((0,), _true(0.5)),
        Factor((0, 1), _true(0.5, 0.1)),
        Factor((0, 2), _true(0.2, 0.8)),
        Factor((1, 2, 3), _true(0.0, 0.9, 0.9, 0.99)),
    ]


def _earthquake() -> list[Factor]:
    """The same book: burglary, earthquake, alarm, John calls, Mary calls."""
    return [
        Factor((0,), _true(0.001)),
        Factor((1,), _true(0.002)),
        Factor((0, 1, 2), _true(0.001, 0.29, 0.94, 0.95)),
        Factor((2, 3), _true(0.05, 0.9)),
        Factor((2, 4), _true(0.01, 0.7)),
    ]


def _cancer() -> list[Factor]:
    """K. Korb and A. Nicholson, Bayesian Artificial Intelligence: pollution, smoker, cancer, ..."""
    return [
        Factor((0,), _true(0.1)),
        Factor((1,), _true(0.3)),
        Factor((0, 1, 2), _true(0.001, 0.03, 0.02, 0.05)),
        Factor((2, 3), _true(0.2, 0.9)),
        Factor((2, 4), _true(0.3, 0.65)),
    ]


BAYESIAN = {
    "asia": ([2] * 8, _asia, [{}, {7: 1}, {0: 1, 6: 1}]),
    "sprinkler": ([2] * 4, _sprinkler, [{}, {3: 1}, {1: 1, 3: 1}]),
    "earthquake": ([2] * 5, _earthquake, [{}, {3: 1, 4: 1}, {3: 1}]),
    "cancer": ([2] * 5, _cancer, [{}, {3: 1}, {4: 1, 0: 1}]),
}
"""Numbers of values, factors, and what is observed."""


def _network(
    name: str,
    ranges: Sequence[int],
    factors: Sequence[Factor],
    observed: dict[int, int] | None = None,
) -> Case:
    known = observed or {}
    atoms = tuple(GroundAtom(f"x{k:03}") for k in range(len(ranges)))
    scopes = [tuple(atoms[k] for k in own.scope) for own in factors]
    evidence = [
        GroundFactor((atoms[k],), np.where(np.arange(ranges[k]) == value, 0.0, -np.inf))
        for k, value in known.items()
    ]
    with np.errstate(divide="ignore"):
        tables = [np.log(own.table) for own in factors]
    own = [GroundFactor(*pair) for pair in zip(scopes, tables, strict=True)]
    ground = GroundModel(
        atoms, dict(zip(atoms, ranges, strict=True)), (*own, *evidence), 0.0, {}, {}, {}
    )
    marginals = reference.exact(ground).marginals
    exact = {f"x{k}": marginals[atom].tolist() for k, atom in enumerate(atoms) if k not in known}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name.replace(' ', '-')}.uai"
        path.write_text(_uai(ranges, factors), encoding="utf-8")
        network = liftgbp.load_network(path)
    return Case(name, network, None, exact, observed=known)


def _uai(ranges: Sequence[int], factors: Sequence[Factor]) -> str:
    lines = ["MARKOV", str(len(ranges)), " ".join(map(str, ranges)), str(len(factors))]
    lines += [" ".join(map(str, (len(own.scope), *own.scope))) for own in factors]
    lines += [
        f"{own.table.size} {' '.join(map(repr, own.table.ravel().tolist()))}" for own in factors
    ]
    return "\n".join(lines) + "\n"


def all_cases(models: int) -> Iterator[Case]:
    """Random models, three small ones for every two with two variables; then the classics."""
    for number in range(models):
        rng = np.random.default_rng([SEED, number])
        yield small_case(rng, number) if number % 5 < 3 else cells_case(rng, number)
    yield from classical_cases(np.random.default_rng(SEED))
