"""Small models for the tests of the reference, built node by node."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Mapping

from liftgbp.model.ast import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Is,
    Not,
    Number,
    Or,
    Predicate,
    Rule,
    Sort,
    TableParfactor,
    Term,
    Variable,
    WeightedFormula,
)
from liftgbp.model.model import Model
from liftgbp.oracle.reference import enumerate_worlds, ground
from liftgbp.support.errors import ContradictionError, ModelError


def term(name: str) -> Term:
    """Capitals are constants, as in the text format."""
    return Constant(name) if name[0].isupper() else Variable(name)


def atom(predicate: str, *args: str) -> Atom:
    return Atom(predicate, tuple(map(term, args)))


def is_(predicate: str, *args: str) -> Is:
    return Is(atom(predicate, *args))


def equal(left: str, right: str) -> Equal:
    return Equal(term(left), term(right))


def soft(weight: float, formula: Formula, **options: object) -> WeightedFormula:
    return WeightedFormula(formula, Number(weight), **options)  # type: ignore[arg-type]


def hard(formula: Formula, **options: object) -> WeightedFormula:
    return WeightedFormula(formula, None, **options)  # type: ignore[arg-type]


def table(atoms: tuple[Atom, ...], *potentials: float) -> TableParfactor:
    return TableParfactor(atoms, tuple(map(Number, potentials)))


def model(predicates: Mapping[str, tuple[str, ...]], *rules: Rule, **sorts: Sort) -> Model:
    """A model whose predicates are Boolean."""
    declared = {name: Predicate(name, args) for name, args in predicates.items()}
    return Model(sorts, declared, rules)


# --- the models that values are published for


def friends_smokers(w: float) -> Model:
    premise = And((is_("friends", "x", "y"), is_("smokes", "x")))
    rule = soft(w, Implies(premise, is_("smokes", "y")), restrictions=(Not(equal("x", "y")),))
    return model({"friends": ("person", "person"), "smokes": ("person",)}, rule)


def transitive(w: float) -> Model:
    premise = And((is_("r", "x", "y"), is_("r", "y", "z")))
    rule = soft(w, Implies(premise, is_("r", "x", "z")), distinct=True)
    return model({"r": ("person", "person")}, rule)


def chain(w: float) -> Model:
    premise = And((is_("r", "x", "y"), is_("r", "y", "z")))
    rule = soft(w, Implies(premise, is_("r", "z", "u")), distinct=True)
    return model({"r": ("person", "person")}, rule)


# --- random models

PREDICATES = {
    "p": Predicate("p", ("person",)),
    "q": Predicate("q", ("person", "person")),
    "lives": Predicate("lives", ("person",), ("town", "hills", "sea")),
    "open": Predicate("open", ("shop",)),
    "rain": Predicate("rain"),
}
TERMS = {"person": ("x", "y", "Ann"), "shop": ("s", "Ann")}


def random_model(seed: int, hard_share: float = 0.15) -> Model:
    """Two to four random rules with quantifiers, constants, equalities and tables."""
    rng = random.Random(seed)
    rules: list[Rule] = []
    while len(rules) < rng.randint(2, 4):
        rule = _random_table(rng) if rng.random() < 0.3 else _random_rule(rng, hard_share)
        try:
            Model({}, PREDICATES, (rule,))
        except ModelError:
            continue  # an equality whose variable no atom gives a sort
        rules.append(rule)
    return Model({}, PREDICATES, tuple(rules))


def possible_seeds(count: int, **sizes: int) -> list[int]:
    """The seeds below `count` whose model has a possible world."""
    possible = []
    for seed in range(count):
        with contextlib.suppress(ContradictionError):
            enumerate_worlds(ground(random_model(seed), sizes))
            possible.append(seed)
    return possible


def _random_atom(rng: random.Random) -> Atom:
    predicate = rng.choice(list(PREDICATES.values()))
    return atom(predicate.name, *(rng.choice(TERMS[sort]) for sort in predicate.sorts))


def _random_formula(rng: random.Random, depth: int) -> Formula:
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.15:
            return equal(rng.choice("xy"), rng.choice(TERMS["person"]))
        leaf = _random_atom(rng)
        return Is(leaf, rng.choice(PREDICATES[leaf.predicate].values))
    left, right = _random_formula(rng, depth - 1), _random_formula(rng, depth - 1)
    quantified = Variable(rng.choice("xys"))
    return rng.choice(
        (
            Not(left),
            And((left, right)),
            Or((left, right, _random_formula(rng, 0))),
            Implies(left, right),
            Iff(left, right),
            Exists(quantified, left),
            Forall(quantified, left),
        )
    )


def _random_options(rng: random.Random) -> dict[str, object]:
    restriction = rng.choice((equal("x", "y"), Not(equal("x", "y")), Not(equal("x", "Ann"))))
    restrictions = (restriction,) if rng.random() < 0.3 else ()
    return {"restrictions": restrictions, "distinct": rng.random() < 0.3}


def _random_rule(rng: random.Random, hard_share: float) -> WeightedFormula:
    formula = _random_formula(rng, rng.randint(1, 3))
    weight = None if rng.random() < hard_share else Number(round(rng.uniform(-2, 2), 3))
    return WeightedFormula(formula, weight, **_random_options(rng))  # type: ignore[arg-type]


def _random_table(rng: random.Random) -> TableParfactor:
    atoms = tuple(_random_atom(rng) for _ in range(rng.randint(1, 3)))
    entries = math.prod(len(PREDICATES[each.predicate].values) for each in atoms)
    potentials = tuple(
        Number(0.0 if rng.random() < 0.05 else round(rng.uniform(0.2, 3), 3))
        for _ in range(entries)
    )
    return TableParfactor(atoms, potentials, **_random_options(rng))  # type: ignore[arg-type]
