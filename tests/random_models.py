"""Random relational models: what every part of the engine must be right about."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from liftgbp.evidence import Evidence, Known, Relation, SoftRelation
from liftgbp.model.ast import (
    BOOLEAN,
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
    map_formula,
)
from liftgbp.model.model import Model

SORTS = {"person": Sort("person", ("Anna", "Bob")), "thing": Sort("thing")}
VARIABLES = {"person": ("x", "y", "z"), "thing": ("a", "b")}
PREDICATES = {
    p.name: p
    for p in (
        Predicate("rain"),
        Predicate("p", ("person",)),
        Predicate("q", ("thing",), ("low", "mid", "high")),
        Predicate("r", ("person", "person")),
        Predicate("s", ("person", "thing")),
        Predicate("t", ("person", "person", "thing")),
    )
}
VALUES = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 3.5])
WEIGHTS = st.sampled_from([-1.2, -0.5, 0.3, 0.7, 1.4])


def _term(sort: str, constants: bool) -> st.SearchStrategy[Term]:
    variables: st.SearchStrategy[Term] = st.sampled_from([Variable(v) for v in VARIABLES[sort]])
    named = SORTS[sort].constants
    if not constants or not named:
        return variables
    # Constants are rarer than variables, so that most rules stay relational.
    return st.one_of(variables, variables, st.sampled_from([Constant(c) for c in named]))


def atoms(constants: bool = True) -> st.SearchStrategy[Atom]:
    return st.one_of(
        *(
            st.tuples(*(_term(sort, constants) for sort in predicate.sorts)).map(
                lambda args, name=predicate.name: Atom(name, args)
            )
            for predicate in PREDICATES.values()
        )
    )


@st.composite
def tests_of_atoms(draw: st.DrawFn) -> Formula:
    atom = draw(atoms())
    return Is(atom, draw(st.sampled_from(PREDICATES[atom.predicate].values)))


def formulas(leaves: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    def grow(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        pairs = st.tuples(parts, parts)
        return st.one_of(
            parts.map(Not),
            pairs.map(And),
            pairs.map(Or),
            pairs.map(lambda two: Implies(*two)),
            pairs.map(lambda two: Iff(*two)),
        )

    return st.recursive(leaves, grow, max_leaves=3)


def _people(rule: Rule) -> list[str]:
    from liftgbp.model.scopes import free_variables

    return [v for v in free_variables(rule) if v in VARIABLES["person"]]


@st.composite
def restricted(draw: st.DrawFn, rule: Rule) -> Rule:
    """The rule, perhaps with restrictions on its groundings."""
    people = _people(rule)
    kind = draw(st.sampled_from(["none", "distinct", "different", "constant"]))
    if kind == "distinct":
        return replace(rule, distinct=True)
    if kind == "different" and len(people) >= 2:
        return replace(rule, restrictions=(Not(Equal(Variable(people[0]), Variable(people[1]))),))
    if kind == "constant" and people:
        same = Equal(Variable(people[0]), Constant("Anna"))
        return replace(rule, restrictions=(draw(st.sampled_from([same, Not(same)])),))
    return rule


@st.composite
def weighted_formulas(draw: st.DrawFn) -> Rule:
    formula = draw(formulas(tests_of_atoms()))
    quantifier = draw(st.sampled_from([None, None, None, Exists, Forall]))
    plain = WeightedFormula(formula, Number(1.0))
    people = _people(plain)
    if quantifier is not None and people:
        formula = quantifier(Variable(people[-1]), formula)
    elif len(people) >= 2 and draw(st.booleans()):
        formula = Or((formula, Equal(Variable(people[0]), Variable(people[1]))))
    weight = None if draw(st.integers(0, 4)) == 0 else Number(draw(WEIGHTS))
    return draw(restricted(WeightedFormula(formula, weight)))


@st.composite
def tables(draw: st.DrawFn) -> Rule:
    scope = tuple(draw(st.lists(atoms(), min_size=1, max_size=3)))
    entries = 1
    for atom in scope:
        entries *= len(PREDICATES[atom.predicate].values)
    potentials = draw(st.lists(VALUES, min_size=entries, max_size=entries))
    return draw(restricted(TableParfactor(scope, tuple(map(Number, potentials)))))


def rules() -> st.SearchStrategy[Rule]:
    return st.one_of(weighted_formulas(), tables())


@st.composite
def models(draw: st.DrawFn, max_rules: int = 3) -> Model:
    some = tuple(draw(st.lists(rules(), min_size=1, max_size=max_rules)))
    return Model(SORTS, PREDICATES, some)


def mirrored(model: Model) -> Model:
    """The model with a copy of each rule about the opposite values: turning all values changes
    nothing then."""
    return replace(model, rules=tuple(own for rule in model.rules for own in (rule, _turned(rule))))


def _turned(rule: Rule) -> Rule:
    """The rule about opposite values: true and false, high and low."""
    if isinstance(rule, WeightedFormula):
        return replace(rule, formula=_turned_formula(rule.formula))
    shape = [len(PREDICATES[atom.predicate].values) for atom in rule.atoms]
    table = np.array([own.value for own in rule.potentials]).reshape(shape)
    return replace(rule, potentials=tuple(map(Number, np.flip(table).ravel().tolist())))


def _turned_formula(formula: Formula) -> Formula:
    if not isinstance(formula, Is):
        return map_formula(_turned_formula, formula)
    values = PREDICATES[formula.atom.predicate].values
    return replace(formula, value=values[-1 - values.index(formula.value)])


@st.composite
def sizes(draw: st.DrawFn, most: int = 5) -> dict[str, int]:
    return {"person": draw(st.integers(2, most)), "thing": draw(st.integers(1, most))}


# --- evidence


@st.composite
def with_names(draw: st.DrawFn, model: Model, sizes: Mapping[str, int]) -> Model:
    """The model with names for some of the objects that had none."""
    sorts = {}
    for name, sort in model.sorts.items():
        old = model.constants(name)
        named = draw(st.integers(len(old), sizes[name]))
        new = tuple(f"{name.title()}{number}" for number in range(len(old), named))
        sorts[name] = replace(sort, constants=(*old, *new))
    return replace(model, sorts=sorts)


def _named_atoms(model: Model, predicate: Predicate) -> list[tuple[int, ...]]:
    named = [range(len(model.constants(sort))) for sort in predicate.sorts]
    return list(itertools.product(*named))


@st.composite
def hard_facts(draw: st.DrawFn, model: Model, predicate: Predicate) -> Relation:
    values = st.one_of(st.none(), st.integers(0, len(predicate.values) - 1))
    rows = _named_atoms(model, predicate)
    drawn = draw(st.lists(values, min_size=len(rows), max_size=len(rows)))
    facts = [(row, value) for row, value in zip(rows, drawn, strict=True) if value is not None]
    return Relation(
        args=np.array([row for row, _ in facts], np.int64).reshape(
            len(facts), len(predicate.sorts)
        ),
        values=np.array([value for _, value in facts], np.int64),
    )


@st.composite
def soft_facts(draw: st.DrawFn, model: Model, predicate: Predicate) -> SoftRelation:
    rows = draw(st.lists(st.sampled_from(_named_atoms(model, predicate)), max_size=3, unique=True))
    columns = len(predicate.values)
    weights = draw(st.lists(WEIGHTS, min_size=len(rows) * columns, max_size=len(rows) * columns))
    return SoftRelation(
        args=np.array(rows, np.int64).reshape(len(rows), len(predicate.sorts)),
        log_potentials=np.array(weights).reshape(len(rows), columns),
    )


@st.composite
def known_counts(draw: st.DrawFn, model: Model, sizes: Mapping[str, int]) -> tuple[Known, ...]:
    left = {sort: sizes[sort] - len(model.constants(sort)) for sort in model.sorts}
    unary = [p for p in model.predicates.values() if len(p.sorts) == 1]
    found = []
    for predicate in draw(st.lists(st.sampled_from(unary), max_size=2)):
        (sort,) = predicate.sorts
        if left[sort]:
            count = draw(st.integers(1, left[sort]))
            left[sort] -= count
            value = draw(st.integers(0, len(predicate.values) - 1))
            found.append(Known(sort, ((predicate.name, value),), count))
    return tuple(found)


@st.composite
def evidence(draw: st.DrawFn, model: Model, sizes: Mapping[str, int]) -> Evidence:
    """Facts about named objects, and counts of objects without names."""
    model = draw(with_names(model, sizes))
    some = st.lists(st.sampled_from(sorted(model.predicates)), unique=True)
    predicates = {name: model.predicates[name] for name in draw(some)}
    hard = {name: draw(hard_facts(model, p)) for name, p in predicates.items()}
    uncertain = [p for p in model.predicates.values() if _named_atoms(model, p)]
    soft = {p.name: draw(soft_facts(model, p)) for p in uncertain if draw(st.integers(0, 3)) == 0}
    boolean = [name for name, p in model.predicates.items() if p.values == BOOLEAN]
    closed = [name for name in boolean if draw(st.integers(0, 3)) == 0]
    return Evidence(
        vocabulary=model,
        hard={name: facts for name, facts in hard.items() if len(facts.values)},
        soft={name: facts for name, facts in soft.items() if len(facts.args)},
        closed=frozenset(closed),
        known=draw(known_counts(model, sizes)) if draw(st.booleans()) else (),
    )


@st.composite
def models_with_evidence(draw: st.DrawFn, most: int = 5) -> tuple[Model, dict[str, int], Evidence]:
    """A model, domain sizes, and evidence about objects of these domains."""
    model, domain = draw(models()), draw(sizes(most))
    return model, domain, draw(evidence(model, domain))
