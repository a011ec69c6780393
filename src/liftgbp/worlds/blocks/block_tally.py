"""How many groundings of a rule hold in a world of blocks: the rule itself, read once a placement.

This is what scores are checked against, so it reads formulas and no tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from liftgbp.model import ast
from liftgbp.support.limits import checkpoint
from liftgbp.worlds.blocks.block_layout import Place, Placement, number_of_ways
from liftgbp.worlds.blocks.block_world import BlockWorld
from liftgbp.worlds.optimum import exact, log_weights


def tally(world: BlockWorld, rule: ast.Rule) -> tuple[int, ...]:
    """The groundings of a rule: (violated, satisfied), or a number for each potential.

    The rule is about the predicates of the model, and may name any of its objects.
    """
    reading = _Reading(world, rule)
    formula = isinstance(rule, ast.WeightedFormula)
    counts = [0] * (2 if formula else len(rule.potentials))  # type: ignore[union-attr]
    for placement in reading.placements():
        checkpoint()
        number = number_of_ways(placement.spec, world.sizes)
        if number:
            where = reading.where(placement)
            if reading.admits(where):
                counts[reading.state(where, placement)] += number
    return tuple(counts)


def unbroken(world: BlockWorld) -> Fraction:
    """What no world scores more than: every grounding in its best state, and every fact."""
    problem = world.problem
    total = Fraction(0)
    for rule in problem.model.rules:
        logs = log_weights(rule, problem.sizes, problem.model.weights)
        total += sum(tally(world, rule)) * exact(max(logs))
    for relation in problem.evidence.soft.values():
        total += sum(
            (exact(own) for own in relation.log_potentials.max(axis=1).tolist()), Fraction(0)
        )
    return total


class _Reading:
    """A rule, and where the objects that it names are."""

    def __init__(self, world: BlockWorld, rule: ast.Rule) -> None:
        self._world, self._rule = world, rule
        model = world.problem.model
        self._scope = scope = model.scope(rule)
        self._number = world.normal.predicate_number
        self._sorts = {name: predicate.sorts for name, predicate in model.predicates.items()}
        self._values = {name: own.values for name, own in model.predicates.items()}
        self._pins = {
            (sort, name): world.place(sort, model.object_numbers(sort)[name])
            for sort, name in scope.constants
        }
        self._asked = tuple(dict.fromkeys(scope.sorts[v.name] for v in scope.quantified))
        self._depth = 0
        if isinstance(rule, ast.WeightedFormula):
            self._depth = quantifier_depth(rule.formula)

    def placements(self) -> Sequence[Placement]:
        """All ways to place the variables of the rule."""
        world = self._world
        classes = [self._classes(self._scope.sorts[v]) for v in self._scope.free]
        return list(
            world.layout.placements(
                classes,
                room=world.room,
                pins=list(self._pins.values()),
                depth=self._depth,
                asked=[cls for sort in self._asked for cls in self._classes(sort)],
            )
        )

    def _classes(self, sort: str) -> tuple[int, ...]:
        return self._world.normal.classes_of(sort)

    def where(self, placement: Placement) -> dict[object, Place]:
        """The place of each variable, by name, and of each constant, by sort and name."""
        keys: list[object] = [*self._pins, *self._scope.free]
        return dict(zip(keys, placement.places, strict=True))

    def admits(self, where: Mapping[object, Place]) -> bool:
        """Whether the restrictions of the rule hold."""
        if self._rule.distinct:
            free = [(self._scope.sorts[v], where[v]) for v in self._scope.free]
            if len(set(free)) < len(free):
                return False
        return all(self._holds(own, where, ()) for own in self._rule.restrictions)

    def state(self, where: Mapping[object, Place], placement: Placement) -> int:
        """The state of a grounding, as `tally` counts them."""
        if isinstance(self._rule, ast.WeightedFormula):
            domain = tuple(dict.fromkeys((*placement.places, *placement.others)))
            return int(self._holds(self._rule.formula, where, domain))
        state = 0
        for atom in self._rule.atoms:
            state = state * len(self._values[atom.predicate]) + self._value(atom, where)
        return state

    def _place(self, term: ast.Term, sort: str, where: Mapping[object, Place]) -> Place:
        return where[term.name] if isinstance(term, ast.Variable) else where[sort, term.name]

    def _value(self, atom: ast.Atom, where: Mapping[object, Place]) -> int:
        places = [
            self._place(term, sort, where)
            for term, sort in zip(atom.args, self._sorts[atom.predicate], strict=True)
        ]
        return self._world.value_at(self._number[atom.predicate], places)

    def _holds(
        self, formula: ast.Formula, where: Mapping[object, Place], domain: tuple[Place, ...]
    ) -> bool:
        match formula:
            case ast.Is(atom, value):
                return self._values[atom.predicate][self._value(atom, where)] == value
            case ast.Equal(left, right):
                variable = left if isinstance(left, ast.Variable) else right
                sort = self._scope.sorts[variable.name]
                return self._place(left, sort, where) == self._place(right, sort, where)
            case ast.Not(body):
                return not self._holds(body, where, domain)
            case ast.And(parts):
                return all(self._holds(part, where, domain) for part in parts)
            case ast.Or(parts):
                return any(self._holds(part, where, domain) for part in parts)
            case ast.Implies(left, right):
                return not self._holds(left, where, domain) or self._holds(right, where, domain)
            case ast.Iff(left, right):
                return self._holds(left, where, domain) == self._holds(right, where, domain)
            case ast.Exists(variable, body) | ast.Forall(variable, body):
                classes = self._classes(self._scope.sorts[variable.name])
                each = (
                    self._holds(body, {**where, variable.name: place}, domain)
                    for place in domain
                    if self._world.layout.blocks[place[0]][1] in classes
                )
                return any(each) if isinstance(formula, ast.Exists) else all(each)


def quantifier_depth(formula: ast.Formula) -> int:
    """How many quantifiers there are, one inside the other."""
    inner = max(map(quantifier_depth, ast.children(formula)), default=0)
    return inner + isinstance(formula, ast.Exists | ast.Forall)
