"""A relational model: sorts, predicates, rules and weights, checked against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from liftgbp.model import ast
from liftgbp.model.model_checks import (
    check_countable,
    check_weight_name,
    check_whole,
    checked_names,
    checked_predicate,
    finite_value,
    missing_sizes,
    missing_weights,
    whole_size,
)
from liftgbp.model.scopes import RuleScope, expanded_variables, shared_weight
from liftgbp.model.writer import demand_text, model_body, model_text
from liftgbp.pictures.cards import Shown
from liftgbp.pictures.markup import Content
from liftgbp.support.errors import (
    InputError,
    ModelError,
    SizeError,
    check_mapping,
    checked_flag,
    checked_texts,
    comma_list,
    counted,
    shown,
    wrong_type,
)


@dataclass(frozen=True, repr=False)
class Model(Shown):
    """A relational model; immutable, and checked when it is constructed.

    Read one with `liftgbp.load` or `liftgbp.parse`, or build it with `liftgbp.ModelBuilder`.
    `weights` are the values of the named weights, which rules refer to as `$name`. A model that is
    `untrusted` is by a stranger: what is done with it is within `Limits.for_strangers()`, unless
    other limits are given.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> sorted(model.predicates), len(model.rules)
    (['friends', 'smokes'], 1)
    >>> print(model)
    friends(person, person)
    smokes(person)
    1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
    """

    sorts: Mapping[str, ast.Sort]
    predicates: Mapping[str, ast.Predicate]
    rules: tuple[ast.Rule, ...] = ()
    name: str = field(default="model", compare=False)
    weights: Mapping[str, float] = field(default_factory=dict)
    untrusted: bool = field(default=False, compare=False)
    demands: tuple[ast.Demand, ...] = ()
    """Probabilities that formulas must have; `liftgbp.fit_weights` finds weights for them."""
    files: tuple[str, ...] = field(default=(), compare=False)
    """The files that the model was read from, which no output replaces."""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """What was done to the model and a user may want to know."""

    def __post_init__(self) -> None:
        values = {name: finite_value(name, value) for name, value in self.weights.items()}
        object.__setattr__(self, "weights", values)
        object.__setattr__(self, "sorts", self._with_implied_sorts())
        check_whole(self)

    def _with_implied_sorts(self) -> dict[str, ast.Sort]:
        sorts = dict(self.sorts)
        for predicate in self.predicates.values():
            for sort in predicate.sorts:
                sorts.setdefault(sort, ast.Sort(sort, span=predicate.span))
        return sorts

    def __str__(self) -> str:
        """The model as text of the language."""
        return model_text(self)

    def _headline(self) -> str:
        predicates = counted(len(self.predicates), "predicate")
        return f"{self.name}: {predicates}, {counted(len(self.rules), 'rule')}"

    def _body(self) -> Iterable[Content]:
        return model_body(self)

    # --- what the rules mention

    def variable_sorts(self, rule: ast.Rule) -> dict[str, str]:
        """The sort of each variable of a rule, free or quantified."""
        if not isinstance(rule, ast.WeightedFormula | ast.TableParfactor):
            raise wrong_type("rule", "a WeightedFormula or a TableParfactor", rule)
        return dict(self.scope(rule).sorts)

    def scope(self, rule: ast.Rule) -> RuleScope:
        """What a rule is about; for rules of the model itself, this is found once."""
        known = self._scopes
        found = known.get(id(rule))
        if found is None:
            found = RuleScope.of(rule, self.predicates)
            if id(rule) in known:
                known[id(rule)] = found
        return found

    @cached_property
    def _scopes(self) -> dict[int, RuleScope | None]:
        """The scopes of the model's own rules, by identity: rules are long to hash."""
        return dict.fromkeys(map(id, self.rules))

    def __getstate__(self) -> dict[str, object]:
        return {name: own for name, own in self.__dict__.items() if name != "_scopes"}

    @cached_property
    def mentioned(self) -> Mapping[str, tuple[str, ...]]:
        """Per sort, the constants that rules mention, in order of appearance.

        A variable written `+x` mentions every declared constant of its sort.
        """
        found: dict[str, dict[str, None]] = {sort: {} for sort in self.sorts}
        for rule in self.rules:
            scope = self.scope(rule)
            for sort, constant in scope.constants:
                found[sort][constant] = None
            for variable in expanded_variables(rule):
                sort = scope.sorts[variable]
                found[sort].update((name, None) for name in self.sorts[sort].constants)
        return {sort: tuple(names) for sort, names in found.items()}

    def constants(self, sort: str) -> tuple[str, ...]:
        """The named objects of a sort: declared, mentioned by rules, named by evidence.

        Objects are numbered in this order.
        """
        self._check_sort(sort)
        return self._constants[sort]

    def object_numbers(self, sort: str) -> Mapping[str, int]:
        """The numbers of the named objects of a sort."""
        self._check_sort(sort)
        return self._object_numbers[sort]

    def _check_sort(self, name: str) -> None:
        if not isinstance(name, str) or name not in self.sorts:
            named = name if isinstance(name, str) else shown(name)
            raise ModelError(f"unknown sort {named}; the model has {comma_list(self.sorts)}")

    @cached_property
    def _constants(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(dict.fromkeys(self._names(sort))) for name, sort in self.sorts.items()}

    def _names(self, sort: ast.Sort) -> Iterator[str]:
        """All names of a sort; those of evidence keep their numbers, whatever rules mention."""
        yield from sort.constants
        if mentioned := self.mentioned[sort.name]:
            listed = set(sort.from_evidence)
            yield from (name for name in mentioned if name not in listed)
        yield from sort.from_evidence

    @cached_property
    def _object_numbers(self) -> dict[str, dict[str, int]]:
        return {
            sort: {name: number for number, name in enumerate(names)}
            for sort, names in self._constants.items()
        }

    def with_constants(self, names: Mapping[str, Iterable[str]]) -> Model:
        """The same model with further named objects, numbered after those that it has.

        A declared size that is too small for the new names grows. `+x` does not expand over them.

        >>> import liftgbp
        >>> model = liftgbp.parse("person = {Anna} \\n smokes(person) \\n 1 smokes(Bob)")
        >>> model.with_constants({"person": ["Carl", "Bob"]}).constants("person")
        ('Anna', 'Bob', 'Carl')
        """
        check_mapping("names", names, 'such as {"person": ["Anna"]}')
        for sort in names:
            self._check_sort(sort)
        sorts = {s.name: self._with_names(s, names.get(s.name, ())) for s in self.sorts.values()}
        return self if sorts == self.sorts else replace(self, sorts=sorts)

    def with_rules(self, rules: Iterable[ast.Rule]) -> Model:
        """The model with other rules about the same named objects, which keep their numbers.

        >>> import liftgbp
        >>> model = liftgbp.parse("smokes(person) \\n 1 smokes(Bob)")
        >>> model.with_rules([]).constants("person")
        ('Bob',)
        """
        sorts = {
            name: replace(sort, from_evidence=self.constants(name)[len(sort.constants) :])
            for name, sort in self.sorts.items()
        }
        return replace(self, sorts=sorts, rules=tuple(rules))

    def without_rules(self) -> Model:
        """The model without its rules; objects that only rules name are kept.

        >>> import liftgbp
        >>> liftgbp.parse("smokes(person) \\n 1 smokes(Bob)").without_rules().constants("person")
        ('Bob',)
        """
        # Without rules, nothing follows from steps and functions.
        plain = {n: replace(p, kind="relation") for n, p in self.predicates.items()}
        return replace(self.with_rules(()), predicates=plain, weights={})

    @cached_property
    def closed(self) -> frozenset[str]:
        """The predicates that the model declares closed."""
        return frozenset(name for name, predicate in self.predicates.items() if predicate.closed)

    @property
    def asked_by_default(self) -> tuple[ast.Predicate, ...]:
        """The predicates that are worth asking about: not functions, and not steps in time."""
        return tuple(p for p in self.predicates.values() if p.kind == "relation")

    def _with_names(self, sort: ast.Sort, names: Iterable[str]) -> ast.Sort:
        known = self.object_numbers(sort.name)
        new = [name for name in checked_names(names, "constants") if name not in known]
        size = sort.size
        if new and size is not None:
            size = max(size, len(known) + len(new))
        return replace(sort, from_evidence=(*sort.from_evidence, *new), size=size)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a user may want to know, although nothing is wrong."""
        notes = []
        for name, sort in self.sorts.items():
            declared = frozenset(sort.constants)
            extra = [one for one in self.mentioned[name] if one not in declared]
            if declared and extra:
                listed = ", ".join(extra)
                notes.append(f"formulas mention {listed} besides the declared constants of {name}")
        return (*notes, *self.remarks)

    # --- named weights

    def with_weights(self, values: Mapping[str, float]) -> Model:
        """The same model with other values for some of its named weights.

        >>> import liftgbp
        >>> model = liftgbp.parse("$alpha = 1.4 \\n rain \\n $alpha rain")
        >>> model.with_weights({"alpha": 2}).weights, model.weights
        ({'alpha': 2.0}, {'alpha': 1.4})
        """
        check_mapping("weights", values, 'such as {"alpha": 0.5}')
        open_names = {weight.name for weight, _ in self._left_out()}
        shared = set(map(shared_weight, self.rules))
        given = {
            ast.own_weight(name) if isinstance(name, str) else name: v for name, v in values.items()
        }
        for name in given:
            if name not in open_names and str(name).partition("(")[0] not in shared:
                check_weight_name(self, name)
        return replace(self, weights={**self.weights, **given})

    def own_weights(self, rule: ast.Rule) -> dict[tuple[str, ...], float]:
        """The weights that a formula about `+x` has for some of the constants of x.

        >>> import liftgbp
        >>> model = liftgbp.parse("person = {Anna, Bob}\\nsmokes(person)\\n$w smokes(+x)\\n$w = 1")
        >>> model.with_weights({"w(Bob)": 2}).own_weights(model.rules[0])
        {('Bob',): 2.0}
        """
        name = shared_weight(rule)
        if name is None:
            return {}
        stated = {key: value for key, value in self.weights.items() if key.startswith(f"{name}(")}
        if not stated:
            return {}
        return {
            chosen: stated[own]
            for chosen in self.choices_of_constants(rule)
            if (own := ast.applied(name, chosen)) in stated
        }

    def choices_of_constants(self, rule: ast.Rule) -> Iterator[tuple[str, ...]]:
        """The constants that the variables `+x` of a rule stand for, in order of appearance."""
        scope = self.scope(rule)
        names = [name for name in scope.free if name in expanded_variables(rule)]
        return product(*(self.constants(scope.sorts[name]) for name in names))

    def _left_out(self) -> Iterator[tuple[ast.OpenWeight, ast.WeightedFormula]]:
        for rule in self.rules:
            if isinstance(rule, ast.WeightedFormula) and isinstance(rule.weight, ast.OpenWeight):
                yield rule.weight, rule

    @cached_property
    def without_weight(self) -> Mapping[str, ast.WeightedFormula]:
        """The formulas that have no weight yet, by the names that `with_weights` takes.

        >>> import liftgbp
        >>> text = "smokes(person)\\nfriends(person,person)\\nfriends(x,y) => smokes(x)"
        >>> model = liftgbp.parse(text)
        >>> list(model.without_weight), list(model.with_weights({"w1": 0.7}).without_weight)
        (['w1'], [])
        """
        missing = {w.name: rule for w, rule in self._left_out() if w.name not in self.weights}
        for name, rule in list(missing.items()):
            # A formula about `+x` may have a weight for each constant.
            own = self.own_weights(rule)
            if own and all(chosen in own for chosen in self.choices_of_constants(rule)):
                del missing[name]
        return missing

    def check_weights(self) -> None:
        """Refuse formulas without a weight, once numbers are needed."""
        missing = self.without_weight
        if missing:
            raise missing_weights(self, missing)
        if self.demands:
            raise ModelError(
                f"no weight makes {demand_text(self.demands[0])} true yet; infer and liftgbp "
                "query find it, and print(liftgbp.fit_weights(model, sizes=...)) is the model "
                "with its weights for everything else",
                self.demands[0].span,
            )

    # --- domain sizes

    def domain_sizes(self, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
        """The size of every sort: a given size, else a declared one, else the named objects."""
        if not isinstance(sizes, Mapping | None):
            raise wrong_type("sizes", 'a mapping such as {"person": 1000}', sizes)
        given = dict(sizes or {})
        for sort in given:
            if not isinstance(sort, str):
                raise wrong_type("sizes", 'a mapping such as {"person": 1000}', sizes)
            if sort not in self.sorts:
                raise SizeError(f"unknown sort {sort}; the model has {comma_list(self.sorts)}")
        found = {name: self._size(sort, given.get(name)) for name, sort in self.sorts.items()}
        missing = [sort for name, sort in self.sorts.items() if not found[name]]
        if missing:
            raise missing_sizes(missing)
        check_countable(self, found)
        return found

    def _size(self, sort: ast.Sort, given: int | None) -> int:
        """The size of a sort, or 0 where nothing states it."""
        named = len(self.constants(sort.name))
        size = sort.size if given is None else whole_size(sort.name, given)
        if size is None:
            return named
        if size < max(1, named):
            reason, span = "it must be at least 1", sort.span
            if named:
                by = "the evidence" if sort.from_evidence else "the model"
                span = None if sort.from_evidence and given is not None else span
                reason = f"{by} names {named} of its objects; give at least -n {sort.name}={named}"
            raise SizeError(f"size {size} is too small for sort {sort.name}: {reason}", span)
        return size

    # --- checks

    def check_queries(self, queries: str | Iterable[str], *, atoms: bool = False) -> None:
        """Refuse queries that no run could answer, before one is started.

        With evidence, ask the model of the evidence, which knows the objects that evidence names.
        With `atoms`, also refuse those that `answers.top` does not take: all but single atoms.

        >>> import liftgbp
        >>> liftgbp.parse("person = 9\\nsmokes(person)").check_queries(["smokes(x,y)"])
        Traceback (most recent call last):
        liftgbp.QueryError: <query>:1:1: smokes takes 1 argument, got 2
          smokes(x,y)
          ^~~~~~~~~~~
        """
        from liftgbp.model.queries import check_text, checked_atom_query  # need this class

        check = checked_atom_query if checked_flag("atoms", atoms) else check_text
        for query in checked_texts("queries", queries):
            check(query, self)

    def check_atom(self, atom: ast.Atom, error: type[InputError] = ModelError) -> ast.Predicate:
        """The predicate of an atom, or an error that points at the atom."""
        return checked_predicate(self, atom, error)


def check_model(given: object) -> None:
    """Refuse what is not a model, such as its text or its path.

    >>> check_model(5)
    Traceback (most recent call last):
    liftgbp.InputError: the model must be a Model (load and parse make one), got the int 5
    """
    if not isinstance(given, Model):
        raise wrong_type("the model", "a Model (load and parse make one)", given)
