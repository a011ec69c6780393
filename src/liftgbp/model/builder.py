"""Models built in Python, statement by statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias, TypeVar

from liftgbp.errors import ModelError
from liftgbp.model import inputs
from liftgbp.model.assemble import assemble
from liftgbp.model.ast import (
    BOOLEAN,
    Atom,
    Equal,
    Formula,
    Not,
    Predicate,
    Sort,
    TableParfactor,
    Weight,
    WeightedFormula,
)
from liftgbp.model.model import Model, finite_value
from liftgbp.model.statements import Statement, WeightDeclaration

if TYPE_CHECKING:
    from numpy.typing import NDArray

Restrictions: TypeAlias = str | Equal | Not | Iterable[Equal | Not]


@dataclass(frozen=True)
class ModelBuilder:
    """A model in the making; each method returns a new builder and leaves the old one as it was.

    >>> model = (
    ...     ModelBuilder("smokers")
    ...     .sort("person", size=1000)
    ...     .predicate("friends", "person", "person")
    ...     .predicate("smokes", "person")
    ...     .formula("friends(x,y) ^ smokes(x) => smokes(y)", weight=1.4, distinct=True)
    ...     .hard("friends(x,y) => friends(y,x)", where="x != y")
    ...     .build()
    ... )
    >>> len(model.rules), model.domain_sizes()
    (2, {'person': 1000})
    """

    name: str = "model"
    statements: tuple[Statement, ...] = ()

    def sort(
        self, name: str, *, size: SupportsFloat | None = None, constants: Iterable[str | int] = ()
    ) -> ModelBuilder:
        """Declares a sort by its size, by the names of its objects, by both or by neither."""
        checked_size = None if size is None else inputs.sort_size(name, size)
        named = inputs.names(constants, "constants")
        return self._with(Sort(inputs.sort_name(name), named, checked_size))

    def predicate(
        self,
        name: str,
        *sorts: str,
        values: Iterable[str | int] = BOOLEAN,
        closed: bool = False,
    ) -> ModelBuilder:
        """Declares a predicate by the sorts of its arguments; its atoms are Boolean by default.

        Atoms of a `closed` predicate are false unless evidence says otherwise.
        """
        checked_sorts = tuple(map(inputs.sort_name, sorts))
        checked_values = inputs.names(values, "values")
        checked_name = inputs.predicate_name(name)
        return self._with(Predicate(checked_name, checked_sorts, checked_values, bool(closed)))

    def weight(self, name: str, value: SupportsFloat) -> ModelBuilder:
        """Declares a named weight, which formulas and tables refer to as `$name`."""
        checked_name = inputs.predicate_name(name)
        return self._with(WeightDeclaration(checked_name, finite_value(checked_name, value)))

    def formula(
        self,
        formula: str | Formula | Atom,
        weight: SupportsFloat | str | Weight,
        *,
        where: Restrictions = (),
        distinct: bool = False,
    ) -> ModelBuilder:
        """Adds a formula with a weight: a number, or a text such as `1.4/|person|` or `2*$alpha`.

        `where` restricts the groundings (`"x != y, y != Anna"`), and `distinct` says that all
        variables of one sort are different objects.
        """
        rule = _restricted(inputs.formula(formula), where, distinct)
        return self._with(replace(rule, weight=inputs.weight(weight)))

    def hard(
        self,
        formula: str | Formula | Atom,
        *,
        where: Restrictions = (),
        distinct: bool = False,
    ) -> ModelBuilder:
        """Adds a formula that holds in every possible world."""
        return self._with(_restricted(inputs.formula(formula), where, distinct))

    def table(
        self,
        atoms: Iterable[str | Atom],
        potentials: Iterable[SupportsFloat | str | Weight] | NDArray[Any],
        *,
        where: Restrictions = (),
        distinct: bool = False,
    ) -> ModelBuilder:
        """Adds potentials over the values of some atoms, row-major with the last atom fastest.

        An array with one axis per atom is read in the same order.
        """
        if isinstance(atoms, str | Atom) or not isinstance(atoms, Iterable):
            raise ModelError(f"a table is over a list of atoms, got {atoms!r}")
        listed = tuple(map(inputs.atom, atoms))
        shape = getattr(potentials, "shape", ())
        if len(shape) > 1:
            self._check_shape(listed, shape)
        table = TableParfactor(listed, tuple(map(inputs.potential, _flat(potentials))))
        return self._with(_restricted(table, where, distinct))

    def build(self) -> Model:
        """The model, checked as a whole."""
        return assemble(self.statements, self.name)

    def _with(self, statement: Statement) -> ModelBuilder:
        return replace(self, statements=(*self.statements, statement))

    def _check_shape(self, atoms: tuple[Atom, ...], shape: tuple[int, ...]) -> None:
        # The number of entries is checked later, but it would not tell 2 x 3 from 3 x 2.
        declared = {s.name: s for s in self.statements if isinstance(s, Predicate)}
        for atom in atoms:
            if atom.predicate not in declared:
                raise ModelError(f"declare {atom.predicate} before an array over its values")
        wanted = tuple(len(declared[atom.predicate].values) for atom in atoms)
        if shape != wanted:
            raise ModelError(f"the array has shape {shape}, but its atoms need {wanted}")


_RuleT = TypeVar("_RuleT", bound=WeightedFormula | TableParfactor)


def _restricted(rule: _RuleT, where: Restrictions, distinct: bool) -> _RuleT:
    conditions, distinct_too = inputs.conditions(where)
    return replace(
        rule,
        restrictions=(*rule.restrictions, *conditions),
        distinct=rule.distinct or distinct_too or bool(distinct),
    )


def _flat(potentials: Any) -> Iterable[SupportsFloat | str | Weight]:
    if hasattr(potentials, "ravel"):
        return list(potentials.ravel().tolist())
    if isinstance(potentials, str) or not isinstance(potentials, Iterable):
        raise ModelError(f"potentials are a list of numbers or an array, got {potentials!r}")
    return potentials
