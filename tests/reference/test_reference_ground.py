from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from reference_models import (
    atom,
    equal,
    friends_smokers,
    hard,
    is_,
    model,
    random_model,
    soft,
    table,
)

from liftgbp.model.ast import (
    And,
    Arithmetic,
    Atom,
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
    SizeOf,
    Sort,
    TableParfactor,
    Term,
    Variable,
    WeightedFormula,
)
from liftgbp.model.model import Model
from liftgbp.model.parser import parse
from liftgbp.model.scopes import free_variables
from liftgbp.oracle.reference import GroundAtom, GroundModel, ground
from liftgbp.support.errors import CapacityError, ContradictionError, ModelError, SizeError

P = {"p": ("person",)}
PQ = {"p": ("person",), "q": ("person", "person")}


def tables(ground_model: GroundModel) -> dict[str, Any]:
    return {
        " ".join(map(str, factor.scope)): factor.log_table.tolist()
        for factor in ground_model.factors
    }


# --- atoms and substitutions


def test_every_atom_of_every_predicate_is_there() -> None:
    grounded = ground(friends_smokers(1.0), {"person": 3})
    assert len(grounded.atoms) == 9 + 3
    assert grounded.ranges[GroundAtom("friends", (2, 2))] == 2
    assert set(grounded.ranges) == set(grounded.atoms)


def test_one_formula_over_two_objects() -> None:
    grounded = ground(model(P, soft(0.7, is_("p", "x"))), {"person": 2})
    assert tables(grounded) == {"p(0)": [0.0, 0.7], "p(1)": [0.0, 0.7]}
    assert grounded.log_constant == 0.0


def test_a_restriction_removes_groundings() -> None:
    grounded = ground(friends_smokers(1.4), {"person": 3})
    assert len(grounded.factors) == 6
    assert all(len(factor.scope) == 3 for factor in grounded.factors)


def test_a_tautology_becomes_a_constant() -> None:
    premise = And((is_("q", "x", "y"), is_("p", "x")))
    grounded = ground(model(PQ, soft(1.4, Implies(premise, is_("p", "y")))), {"person": 3})
    assert len(grounded.factors) == 6
    assert grounded.log_constant == pytest.approx(3 * 1.4)


def test_distinct_concerns_each_sort_by_itself() -> None:
    predicates = {"r": ("a", "a", "b")}
    grounded = ground(
        model(predicates, soft(1.0, is_("r", "x", "y", "z"), distinct=True)), {"a": 3, "b": 2}
    )
    assert len(grounded.factors) == 3 * 2 * 2


def test_restriction_to_a_constant() -> None:
    rule = soft(0.5, is_("p", "x"), restrictions=(equal("x", "Bob"),))
    grounded = ground(model(P, rule, person=Sort("person", ("Ann", "Bob"))), {"person": 4})
    assert tables(grounded) == {"p(1)": [0.0, 0.5]}


def test_a_plus_changes_nothing() -> None:
    persons = Sort("person", ("Ann", "Bob"))
    plain = model(P, soft(0.5, is_("p", "x")), person=persons)
    expanded = model(P, soft(0.5, is_("p", "x"), expanded=frozenset("x")), person=persons)
    assert tables(ground(plain, {"person": 3})) == tables(ground(expanded, {"person": 3}))


# --- constants


def test_a_constant_names_an_object_of_the_positions_sort() -> None:
    predicates = {"likes": ("person", "dog")}
    sorts = {"person": Sort("person", ("Bob", "Rex")), "dog": Sort("dog", ("Rex",))}
    grounded = ground(model(predicates, soft(1.0, is_("likes", "Rex", "Rex")), **sorts), {"dog": 2})
    assert tables(grounded) == {"likes(1,0)": [0.0, 1.0]}


def test_a_compared_constant_has_the_sort_of_the_variable() -> None:
    predicates = {"likes": ("person", "dog")}
    sorts = {"person": Sort("person", ("Bob", "Rex")), "dog": Sort("dog", ("Rex",), 2)}
    formula = And((is_("likes", "x", "y"), equal("x", "Rex"), equal("Rex", "y")))
    grounded = ground(model(predicates, soft(1.0, formula), **sorts))
    assert tables(grounded) == {"likes(1,0)": [0.0, 1.0]}


# --- quantifiers


def test_exists_sees_every_object_of_the_sort() -> None:
    rule = soft(2.0, Exists(Variable("y"), is_("q", "x", "y")), distinct=True)
    grounded = ground(model(PQ, rule), {"person": 2})
    assert tables(grounded) == {
        "q(0,0) q(0,1)": [[0.0, 2.0], [2.0, 2.0]],
        "q(1,0) q(1,1)": [[0.0, 2.0], [2.0, 2.0]],
    }


def test_forall_with_an_equality_inside() -> None:
    inner = Or((equal("x", "y"), is_("q", "x", "y")))
    grounded = ground(model(PQ, soft(2.0, Forall(Variable("y"), inner))), {"person": 2})
    assert tables(grounded) == {"q(0,1)": [0.0, 2.0], "q(1,0)": [0.0, 2.0]}


def test_an_inner_quantifier_hides_a_free_variable() -> None:
    shadowing = Exists(Variable("x"), is_("q", "x", "x"))
    grounded = ground(model(PQ, soft(1.0, And((is_("p", "x"), shadowing)))), {"person": 2})
    scopes = [" ".join(map(str, factor.scope)) for factor in grounded.factors]
    assert scopes == ["p(0) q(0,0) q(1,1)", "p(1) q(0,0) q(1,1)"]
    assert grounded.factors[0].log_table[1].tolist() == [[0.0, 1.0], [1.0, 1.0]]


def test_empty_conjunction_is_true_and_empty_disjunction_false() -> None:
    grounded = ground(model(P, soft(1.0, And(())), soft(5.0, Or(()))), {"person": 2})
    assert grounded.log_constant == 1.0


# --- hard formulas and tables


def test_a_hard_formula_forbids() -> None:
    grounded = ground(model(P, hard(is_("p", "x"))), {"person": 1})
    assert tables(grounded) == {"p(0)": [-math.inf, 0.0]}


def test_what_can_never_be_true_is_a_contradiction() -> None:
    either = Or((is_("p", "x"), is_("p", "y"), Not(is_("p", "x"))))
    rule = hard(And((either, equal("x", "y"))))
    assert ground(model(P, rule), {"person": 1}).factors == ()
    with pytest.raises(ContradictionError):
        ground(model(P, rule), {"person": 2})


def test_a_table_is_read_on_its_diagonal() -> None:
    pair = table((atom("p", "x"), atom("p", "y")), 1, 2, 3, 4)
    grounded = ground(model(P, pair), {"person": 2})
    assert tables(grounded)["p(0)"] == [0.0, math.log(4)]
    both_orders = [[0.0, math.log(2) + math.log(3)], [math.log(3) + math.log(2), 2 * math.log(4)]]
    assert np.allclose(tables(grounded)["p(0) p(1)"], both_orders)


def test_many_valued_table_with_unsorted_atoms_and_a_zero() -> None:
    predicates = {
        "size": Predicate("size", ("thing",), ("S", "M", "L")),
        "blue": Predicate("blue", ("thing",)),
    }
    rule = table((atom("size", "x"), atom("blue", "x")), 1, 2, 3, 4, 5, 0)
    (factor,) = ground(Model({}, predicates, (rule,)), {"thing": 1}).factors
    assert factor.scope == (GroundAtom("blue", (0,)), GroundAtom("size", (0,)))
    assert np.exp(factor.log_table) == pytest.approx(np.array([[1, 3, 5], [2, 4, 0]]))


def test_a_value_of_a_many_valued_atom() -> None:
    predicates = {"size": Predicate("size", ("thing",), ("S", "M", "L"))}
    rule = soft(1.0, Not(Is(atom("size", "x"), "M")))
    grounded = ground(Model({}, predicates, (rule,)), {"thing": 1})
    assert tables(grounded) == {"size(0)": [1.0, 0.0, 1.0]}


# --- scopes


def test_atoms_leave_each_factor_before_factors_are_added() -> None:
    idle = soft(1.0, And((is_("p", "x"), Or((is_("q", "x", "x"), Not(is_("q", "x", "x")))))))
    assert list(tables(ground(model(PQ, idle), {"person": 1}))) == ["p(0)"]
    cancelling = model(P, soft(1.0, is_("p", "x")), soft(-1.0, is_("p", "x")))
    assert tables(ground(cancelling, {"person": 1})) == {"p(0)": [0.0, 0.0]}


def test_a_weight_of_zero_leaves_no_factor() -> None:
    assert ground(friends_smokers(0.0), {"person": 3}).factors == ()


def test_tables_are_read_only() -> None:
    (factor,) = ground(model(P, soft(1.0, is_("p", "x"))), {"person": 1}).factors
    with pytest.raises(ValueError, match="read-only"):
        factor.log_table[0] = 1.0


# --- weights and limits


def test_weights_may_depend_on_the_domain_size() -> None:
    weight = Arithmetic("/", Number(3.0), SizeOf("person"))
    grounded = ground(model(P, WeightedFormula(is_("p", "x"), weight)), {"person": 2})
    assert tables(grounded)["p(0)"] == [0.0, 1.5]


def test_named_weights_scale_the_tables() -> None:
    named = parse("$a = 3\np(person)\n2*$a/|person| p(x)\nparfactor p(Anna) : [$a, 1]")
    for value in (3.0, 0.5):
        grounded = ground(named.with_weights({"a": value}), {"person": 2})
        assert tables(grounded) == {"p(0)": [math.log(value), value], "p(1)": [0.0, value]}


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        ("1/$a p(x)", 0.0, "not finite"),
        ("parfactor p(x) : [1, $a]", -1.0, "-1.0 is negative"),
    ],
)
def test_a_named_weight_with_a_wrong_value(rule: str, value: float, message: str) -> None:
    named = parse(f"$a = 1\np(person)\n{rule}")
    with pytest.raises(ModelError, match=message):
        ground(named.with_weights({"a": value}), {"person": 2})


def test_a_weight_without_a_value_is_an_error() -> None:
    weight = Arithmetic("/", Number(3.0), Arithmetic("-", SizeOf("person"), Number(1.0)))
    with pytest.raises(ModelError, match="not finite"):
        ground(model(P, WeightedFormula(is_("p", "x"), weight)), {"person": 1})


def test_a_negative_potential_is_an_error() -> None:
    with pytest.raises(ModelError, match="negative"):
        ground(model(P, table((atom("p", "x"),), 1, -1)), {"person": 1})


def test_what_outgrows_the_cap_is_an_error() -> None:
    wide = model(PQ, soft(1.0, Exists(Variable("y"), is_("q", "x", "y"))))
    with pytest.raises(CapacityError, match="2097152 table entries"):
        ground(wide, {"person": 21})
    with pytest.raises(CapacityError, match="ground atoms"):
        ground(wide, {"person": 10**9})
    deep = model(P, soft(1.0, And(tuple(is_("p", name) for name in "uvwxyz"))))
    with pytest.raises(CapacityError, match="substitutions"):
        ground(deep, {"person": 100})


def test_sizes_are_checked_by_the_model() -> None:
    with pytest.raises(SizeError):
        ground(friends_smokers(1.0))


# --- random models against one world at a time


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.parametrize("persons", [1, 2, 3])
def test_factors_multiply_to_the_weight_of_a_world(seed: int, persons: int) -> None:
    random_rules = random_model(seed)
    sizes = random_rules.domain_sizes({"person": persons, "shop": 1 + seed % 2})
    try:
        grounded = ground(random_rules, sizes)
    except ContradictionError:
        grounded = None
    rng = random.Random(seed)
    for _ in range(8):
        world = {
            GroundAtom(predicate.name, objects): rng.choice(predicate.values)
            for predicate in random_rules.predicates.values()
            for objects in itertools.product(*(range(sizes[sort]) for sort in predicate.sorts))
        }
        expected = World(random_rules, sizes, world).log_weight()
        if grounded is None:
            assert expected == -math.inf
        else:
            assert from_factors(random_rules, grounded, world) == pytest.approx(expected)


def from_factors(whole: Model, grounded: GroundModel, world: Mapping[GroundAtom, str]) -> float:
    total = grounded.log_constant
    for factor in grounded.factors:
        index = tuple(whole.predicates[a.predicate].values.index(world[a]) for a in factor.scope)
        total += float(factor.log_table[index])
    return total


class World:
    """The truth of formulas in one world, by the book."""

    def __init__(
        self, whole: Model, sizes: Mapping[str, int], values: Mapping[GroundAtom, str]
    ) -> None:
        self.model, self.sizes, self.values = whole, sizes, values
        self.sorts: dict[str, str] = {}

    def log_weight(self) -> float:
        total = 0.0
        for rule in self.model.rules:
            self.sorts = self.model.variable_sorts(rule)
            names = free_variables(rule)
            domains = [range(self.sizes[self.sorts[name]]) for name in names]
            for objects in itertools.product(*domains):
                env = dict(zip(names, objects, strict=True))
                if rule.distinct and any(
                    env[a] == env[b] and self.sorts[a] == self.sorts[b]
                    for a, b in itertools.combinations(names, 2)
                ):
                    continue
                if not all(self.holds(part, env) for part in rule.restrictions):
                    continue
                if isinstance(rule, TableParfactor):
                    total += self.table_entry(rule, env)
                elif rule.weight is None:
                    total += 0.0 if self.holds(rule.formula, env) else -math.inf
                elif self.holds(rule.formula, env):
                    assert isinstance(rule.weight, Number)
                    total += rule.weight.value
        return total

    def table_entry(self, rule: TableParfactor, env: dict[str, int]) -> float:
        row = 0
        for each in rule.atoms:
            values = self.model.predicates[each.predicate].values
            row = row * len(values) + values.index(self.values[self.atom(each, env)])
        potential = rule.potentials[row]
        assert isinstance(potential, Number)
        return math.log(potential.value) if potential.value else -math.inf

    def atom(self, each: Atom, env: dict[str, int]) -> GroundAtom:
        sorts = self.model.predicates[each.predicate].sorts
        objects = [self.object(arg, sort, env) for arg, sort in zip(each.args, sorts, strict=True)]
        return GroundAtom(each.predicate, tuple(objects))

    def object(self, arg: Term, sort: str, env: dict[str, int]) -> int:
        if isinstance(arg, Variable):
            return env[arg.name]
        return self.model.constants(sort).index(arg.name)

    def holds(self, formula: Formula, env: dict[str, int]) -> bool:
        match formula:
            case Is(each, value):
                return self.values[self.atom(each, env)] == value
            case Equal(left, right):
                variable = left if isinstance(left, Variable) else right
                sort = self.sorts[variable.name]
                return self.object(left, sort, env) == self.object(right, sort, env)
            case Not(body):
                return not self.holds(body, env)
            case And(parts):
                return all(self.holds(part, env) for part in parts)
            case Or(parts):
                return any(self.holds(part, env) for part in parts)
            case Implies(left, right):
                return not self.holds(left, env) or self.holds(right, env)
            case Iff(left, right):
                return self.holds(left, env) == self.holds(right, env)
            case Exists(variable, body):
                objects = range(self.sizes[self.sorts[variable.name]])
                return any(self.holds(body, env | {variable.name: o}) for o in objects)
            case Forall(variable, body):
                objects = range(self.sizes[self.sorts[variable.name]])
                return all(self.holds(body, env | {variable.name: o}) for o in objects)
