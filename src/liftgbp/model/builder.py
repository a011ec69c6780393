"""Models built in Python: statements as text or as syntax trees, each checked when it is added."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, SupportsFloat, TypeAlias, TypeVar, cast

from liftgbp.model import ast
from liftgbp.model.assemble import assemble
from liftgbp.model.model import Model
from liftgbp.model.model_checks import checked_names, finite_value
from liftgbp.model.statements import MAX_SIZE, Statement, WeightDeclaration
from liftgbp.model.syntax import Node, ParseTree, clean_source, parse_tree
from liftgbp.model.tree_reader import TreeReader, subtrees
from liftgbp.model.writer import demand_text, predicate_text, rule_text, sort_lines
from liftgbp.pictures.cards import Shown, code, table
from liftgbp.pictures.markup import Content
from liftgbp.support.errors import ModelError, checked_flag, counted, elements, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray


Restrictions: TypeAlias = str | ast.Equal | ast.Not | Iterable[ast.Equal | ast.Not]


@dataclass(frozen=True, repr=False)
class ModelBuilder(Shown):
    """Builds a model; each method returns a new builder and leaves this one unchanged.

    >>> import liftgbp
    >>> model = (
    ...     liftgbp.ModelBuilder("smokers")
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

    def _headline(self) -> str:
        return f"{self.name}: {counted(len(self.statements), 'statement')}"

    def _body(self) -> Iterable[Content]:
        return [table(("statement",), [(code(_statement_text(own)),) for own in self.statements])]

    def sort(
        self, name: str, *, size: SupportsFloat | None = None, constants: Iterable[str | int] = ()
    ) -> ModelBuilder:
        """Declares a sort, with its size, the names of objects, both or neither."""
        checked_size = None if size is None else _sort_size(name, size)
        named = checked_names(constants, "constants")
        return self._with(ast.Sort(_checked_name(name), named, checked_size))

    def predicate(
        self,
        name: str,
        *sorts: str,
        values: Iterable[str | int] = ast.BOOLEAN,
        closed: bool = False,
    ) -> ModelBuilder:
        """Declares a predicate by the sorts of its arguments; its atoms are Boolean by default.

        Atoms of a `closed` predicate are false unless evidence says otherwise.
        """
        checked_sorts = tuple(map(_checked_name, sorts))
        checked_values = checked_names(values, "values")
        checked_name = _checked_name(name)
        is_closed = checked_flag("closed", closed)
        return self._with(ast.Predicate(checked_name, checked_sorts, checked_values, is_closed))

    def weight(self, name: str, value: SupportsFloat) -> ModelBuilder:
        """Declares a named weight, which formulas and tables refer to as `$name`."""
        checked_name = _checked_name(name)
        return self._with(WeightDeclaration(checked_name, finite_value(checked_name, value)))

    def formula(
        self,
        formula: str | ast.Formula | ast.Atom,
        weight: SupportsFloat | str | ast.Weight,
        *,
        where: Restrictions = (),
        distinct: bool = False,
    ) -> ModelBuilder:
        """Adds a formula with a weight: a number, or a text such as `1.4/|person|` or `2*$alpha`.

        `where` restricts the groundings (`"x != y, y != Anna"`), and `distinct` says that all
        variables of one sort are different objects.
        """
        rule = _restricted(_formula(formula), where, distinct)
        return self._with(replace(rule, weight=_weight(weight)))

    def hard(
        self,
        formula: str | ast.Formula | ast.Atom,
        *,
        where: Restrictions = (),
        distinct: bool = False,
    ) -> ModelBuilder:
        """Adds a formula that holds in every possible world."""
        return self._with(_restricted(_formula(formula), where, distinct))

    def table(
        self,
        atoms: Iterable[str | ast.Atom],
        potentials: Iterable[SupportsFloat | str | ast.Weight] | NDArray[Any],
        *,
        where: Restrictions = (),
        distinct: bool = False,
    ) -> ModelBuilder:
        """Adds potentials over the values of some atoms, in row-major order (last atom fastest).

        An array with one axis per atom is read in the same order.
        """
        given = elements(atoms)
        if given is None or isinstance(atoms, ast.Atom):
            raise ModelError(f"a table needs a list of atoms, got {shown(atoms)}")
        listed = tuple(map(_atom, given))
        shape = getattr(potentials, "shape", ())
        if len(shape) > 1:
            self._check_shape(listed, shape)
        table = ast.TableParfactor(listed, tuple(map(_potential, _flat(potentials))))
        return self._with(_restricted(table, where, distinct))

    def build(self) -> Model:
        """The model, checked as a whole."""
        return assemble(self.statements, self.name)

    def _with(self, statement: Statement) -> ModelBuilder:
        return replace(self, statements=(*self.statements, statement))

    def _check_shape(self, atoms: tuple[ast.Atom, ...], shape: tuple[int, ...]) -> None:
        # The number of entries is checked later, but would not distinguish 2 x 3 from 3 x 2.
        declared = {s.name: s for s in self.statements if isinstance(s, ast.Predicate)}
        for atom in atoms:
            if atom.predicate not in declared:
                raise ModelError(f"declare {atom.predicate} before giving an array over its values")
        wanted = tuple(len(declared[atom.predicate].values) for atom in atoms)
        if shape != wanted:
            raise ModelError(f"the array has shape {shape}, but its atoms need {wanted}")


def _statement_text(statement: Statement) -> str:
    match statement:
        case ast.Sort():
            return "; ".join(sort_lines(statement, statement.constants)) or statement.name
        case ast.Predicate():
            return predicate_text(statement)
        case ast.WeightedFormula() | ast.TableParfactor():
            return rule_text(statement)
        case ast.Demand():
            return demand_text(statement)
        case WeightDeclaration(name, value):
            return f"${name} = {value:g}"
    return type(statement).__name__


_RuleT = TypeVar("_RuleT", bound=ast.WeightedFormula | ast.TableParfactor)


def _restricted(rule: _RuleT, where: Restrictions, distinct: bool) -> _RuleT:
    conditions, distinct_too = _conditions(where)
    return replace(
        rule,
        restrictions=(*rule.restrictions, *conditions),
        distinct=checked_flag("distinct", distinct) or rule.distinct or distinct_too,
    )


def _flat(potentials: Any) -> Iterable[SupportsFloat | str | ast.Weight]:
    if hasattr(potentials, "ravel"):
        return list(potentials.ravel().tolist())
    listed = elements(potentials)
    if listed is None:
        raise ModelError(f"potentials are a list of numbers or an array, got {shown(potentials)}")
    return listed


_IDENTIFIER = re.compile(r"[^\W\d]\w*")


# --- checking names and sizes


def _checked_name(given: str) -> str:
    """A name made of letters, digits and underscores."""
    if not isinstance(given, str) or not _IDENTIFIER.fullmatch(given):
        raise ModelError(f"a name consists of letters, digits and underscores, got {shown(given)}")
    return given


def _sort_size(sort: str, given: SupportsFloat) -> int:
    """A whole number of at least one."""
    value = _as_float(given)
    if value is not None and 1 <= value <= MAX_SIZE:
        whole = int(cast(Any, given))  # not through the float, which rounds large numbers
        if whole == given:
            return whole
    raise ModelError(
        f"the size of {sort} must be a whole number from 1 to 1e100, got {shown(given)}"
    )


def _as_float(given: object) -> float | None:
    """The value of a number of any type."""
    if not isinstance(given, Real) or isinstance(given, bool):
        return None
    try:
        return float(given)
    except OverflowError:
        return math.inf


# --- checking weights


def _weight(given: SupportsFloat | str | ast.Weight) -> ast.Weight:
    """A number, a text such as `1.4/|person|` or `2*$alpha`, or a tree."""
    if isinstance(given, str):
        reader, node = _parsed(given, "weight", "weight")
        return reader.weight(node)
    if isinstance(given, ast.Weight):
        return given
    value = _as_float(given)
    if value is None:
        raise ModelError(
            f"a weight is a number or a text such as '1.4/|person|', got {shown(given)}"
        )
    if not math.isfinite(value):
        raise ModelError(f"{value} is not a finite number; state what must hold with hard(...)")
    return ast.Number(value)


def _potential(given: SupportsFloat | str | ast.Weight) -> ast.Weight:
    """A weight that is not negative, as far as its literal numbers show."""
    if isinstance(given, str):
        reader, node = _parsed(given, "potential", "weight")
        return reader.potential(node)
    result = _weight(given)
    if isinstance(result, ast.Number) and result.value < 0:
        raise ModelError(f"a potential cannot be negative, got {shown(given)}")
    return result


# --- checking formulas


def _atom(given: str | ast.Atom) -> ast.Atom:
    """An atom from text or as it is."""
    if isinstance(given, ast.Atom):
        return given
    if not isinstance(given, str):
        raise ModelError(f"an atom is a text such as 'smokes(x)' or an Atom, got {shown(given)}")
    reader, node = _parsed(given, "atom", "call")
    reader.refuse_expanded(cast(ParseTree, node))
    return reader.atom(cast(ParseTree, node))


def _formula(given: str | ast.Formula | ast.Atom) -> ast.WeightedFormula:
    """A hard formula from text, which may end in `| restrictions`, or from a tree."""
    if isinstance(given, ast.Atom):
        return ast.WeightedFormula(ast.Is(given), None)
    if isinstance(given, ast.Formula):
        return ast.WeightedFormula(given, None)
    if not isinstance(given, str):
        raise ModelError(f"a formula is a text or a syntax tree, got {shown(given)}")
    reader, node = _parsed(given, "formula", "formula_text")
    tree, *conditions = subtrees(cast(ParseTree, node))
    return ast.WeightedFormula(
        reader.formula(tree),
        None,
        *reader.restrictions(*conditions),
        reader.expanded(tree),
        reader.span(node),
    )


def _conditions(
    given: str | ast.Equal | ast.Not | Iterable[ast.Equal | ast.Not],
) -> tuple[tuple[ast.Equal | ast.Not, ...], bool]:
    """Restrictions from text such as `x != y, distinct`, or as trees."""
    if isinstance(given, str):
        if not given.strip():
            return (), False
        reader, node = _parsed(given, "where", "conditions")
        return reader.restrictions(cast(ParseTree, node))
    listed = elements(given)
    restrictions = (given,) if listed is None else tuple(listed)
    for restriction in restrictions:
        compared = restriction.body if isinstance(restriction, ast.Not) else restriction
        if not isinstance(compared, ast.Equal):
            raise ModelError(
                f"a restriction is Equal(...) or Not(Equal(...)), got {shown(restriction)}"
            )
    return restrictions, False


def _parsed(text: str, what: str, start: str) -> tuple[TreeReader, Node]:
    source = clean_source(f"<{what}>", text)
    reader = TreeReader(source)
    node = parse_tree(source, start)
    reader.check_nesting(node)
    return reader, node
