"""From parse trees to the syntax tree: terms, atoms, formulas, weights and restrictions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import cast

from lark import Token, Tree

from liftgbp.errors import InputError, ModelError, Source, Span
from liftgbp.model.ast import (
    And,
    Arithmetic,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Is,
    Logarithm,
    NamedWeight,
    Not,
    Number,
    Or,
    SizeOf,
    Term,
    Variable,
    Weight,
    evaluate_weight,
)
from liftgbp.model.syntax import Node, ParseTree

# Later stages walk formulas recursively; this keeps them well below Python's recursion limit.
MAX_NESTING = 100


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the parse trees of one source."""

    source: Source
    error: type[InputError] = ModelError
    marked: bool = False
    """Whether variables are written `?x`, so that other names are constants."""

    def span(self, node: Node) -> Span:
        """The stretch of text that a node was parsed from."""
        place = node if isinstance(node, Token) else node.meta
        return Span(self.source, cast(int, place.start_pos), cast(int, place.end_pos))

    def problem(self, message: str, node: Node) -> InputError:
        """The error that points at a node."""
        return self.error(message, self.span(node))

    def check_nesting(self, node: Node) -> None:
        """Refuses formulas and weights that are nested absurdly deep."""
        level = [node] if isinstance(node, Tree) else []
        for _ in range(MAX_NESTING):
            level = [part for tree in level for part in subtrees(tree)]
            if not level:
                return
        raise self.problem(f"this is nested more than {MAX_NESTING} levels deep", node)

    # --- terms and atoms

    def term(self, token: Token) -> Term:
        """A variable or a constant."""
        if self.is_variable(token):
            return Variable(plain_name(token), self.span(token))
        return Constant(plain_name(token), self.span(token))

    def is_variable(self, token: Token) -> bool:
        """Whether a term is a variable."""
        return token.type == "VARIABLE" or (is_lower(token) and not self.marked)

    def variable(self, token: Token) -> Variable:
        """The variable of a quantifier."""
        if not self.is_variable(token):
            how = "are written ?x" if self.marked else "start with a lower-case letter"
            raise self.problem(f"{token} is a constant; variables {how}", token)
        return Variable(plain_name(token), self.span(token))

    def atom(self, call: ParseTree) -> Atom:
        """A predicate applied to terms."""
        for mark in call.find_data("unique"):
            raise self.problem("marks of uniqueness (person!) belong in declarations only", mark)
        arguments = (tokens(argument)[-1] for argument in call_arguments(call))
        return Atom(str(call.children[0]), tuple(map(self.term, arguments)), self.span(call))

    def expanded(self, tree: ParseTree) -> frozenset[str]:
        """The variables that are written `+x` anywhere below the node."""
        names = set()
        for argument in tree.find_data("argument"):
            if len(argument.children) == 2:
                token = tokens(argument)[1]
                if not self.is_variable(token):
                    raise self.problem(f"{token} is a constant; + expands variables", argument)
                names.add(plain_name(token))
        return frozenset(names)

    def refuse_expanded(self, tree: ParseTree) -> None:
        """Refuses a variable `+x` below the node."""
        for argument in tree.find_data("argument"):
            if len(argument.children) == 2:
                raise self.problem("+ expands variables of formulas only", argument)

    # --- formulas

    def formula(self, tree: ParseTree) -> Formula:
        """A formula; quantifiers over several variables become nested ones."""
        match tree.data:
            case "truth":
                return Is(self.atom(subtrees(tree)[0]), span=self.span(tree))
            case "starred":
                raise self.problem(
                    "a star before an atom stands for both signs of it, in a formula without a "
                    "weight; before a predicate with its sorts, it declares a closed one",
                    tree,
                )
            case "comparison":
                return self._comparison(tree)
            case "quantified":
                return self._quantified(tree)
        parts = tuple(map(self.formula, subtrees(tree)))
        match tree.data:
            case "negation":
                return Not(*parts)
            case "conjunction":
                return And(parts)
            case "disjunction":
                return Or(parts)
            case "implies":
                return Implies(*parts)
            case "premises":
                return Implies(And(parts[:-1]), parts[-1])
            case _:
                return Iff(*parts)

    def _quantified(self, tree: ParseTree) -> Formula:
        variables, body_tree = subtrees(tree)
        body = self.formula(body_tree)
        node = Exists if tokens(tree)[0].type == "EXIST" else Forall
        for variable in reversed(tokens(variables)):
            body = node(self.variable(variable), body)
        return body

    def _comparison(self, tree: ParseTree) -> Formula:
        left, operator, right = tree.children
        positive: Is | Equal
        if compares_atom(tree):
            atom = self.atom(cast(ParseTree, left))
            positive = Is(atom, plain_name(cast(Token, right)), self.span(tree))
        else:
            terms = self.term(first_token(left)), self.term(cast(Token, right))
            positive = Equal(*terms, self.span(tree))
        return positive if operator == "=" else Not(positive)

    def restrictions(
        self, conditions: ParseTree | None = None
    ) -> tuple[tuple[Equal | Not, ...], bool]:
        """The (in)equalities among conditions, and whether `distinct` is one of them."""
        if conditions is None:
            return (), False
        found = tuple(map(self.restriction, subtrees(conditions)))
        return found, bool(tokens(conditions))

    def restriction(self, comparison: ParseTree) -> Equal | Not:
        """An (in)equality between variables and constants."""
        if compares_atom(comparison):
            raise self.problem(
                "a restriction compares variables and constants, not the values of atoms",
                comparison,
            )
        return cast("Equal | Not", self._comparison(comparison))

    # --- weights

    def weight(self, node: Node) -> Weight:
        """Arithmetic over numbers, domain sizes and named weights; a literal one must be finite."""
        weight = self._arithmetic(node)
        value = self._literal_value(weight, node)
        if value is not None and not math.isfinite(value):
            raise self.problem(f"{self.span(node).text} is not a finite number", node)
        return weight

    def rules_out(self, node: Node) -> bool:
        """Whether a weight is the logarithm of zero, so that its formula never holds."""
        weight = self._arithmetic(node)
        if not isinstance(weight, Logarithm):
            return False
        return self._literal_value(weight.argument, node) == 0

    def potential(self, node: Node) -> Weight:
        """An entry of a table: a weight that is not negative, as far as literal numbers show."""
        weight = self.weight(node)
        value = self._literal_value(weight, node)
        if value is not None and value < 0:
            raise self.problem("a potential cannot be negative", node)
        return weight

    def _literal_value(self, weight: Weight, node: Node) -> float | None:
        """The value of a weight that depends on no domain size and no name."""
        try:
            return evaluate_weight(weight, {})
        except KeyError:
            return None
        except ZeroDivisionError:
            raise self.problem("division by zero", node) from None

    def _arithmetic(self, node: Node) -> Weight:
        if isinstance(node, Token):
            return self._number_or_name(node)
        if node.data == "size":
            return SizeOf(str(node.children[-1]), self.span(node))
        if node.data == "minus":
            operand = self._arithmetic(node.children[1])
            if isinstance(operand, Number):
                return Number(-operand.value)
            return Arithmetic("-", Number(0.0), operand)
        if node.data == "logarithm":
            return Logarithm(self._arithmetic(node.children[1]))
        left, operator, right = node.children
        return Arithmetic(str(operator), self._arithmetic(left), self._arithmetic(right))

    def _number_or_name(self, token: Token) -> Number | NamedWeight:
        if token.type == "WEIGHT_NAME":
            return NamedWeight(weight_name(token), self.span(token))
        if token.type == "NOT_FINITE":
            raise self.problem(
                f"{token} is not a finite number; a formula that must hold is written without a "
                "weight and with a period at its end",
                token,
            )
        return Number(float(token))


def subtrees(tree: ParseTree) -> list[ParseTree]:
    """The children that are trees."""
    return [child for child in tree.children if isinstance(child, Tree)]


def tokens(tree: ParseTree) -> list[Token]:
    """The children that are tokens."""
    return [child for child in tree.children if isinstance(child, Token)]


def first_token(node: Node) -> Token:
    """The token itself, or the name in front of a call."""
    return node if isinstance(node, Token) else tokens(node)[0]


def has_parentheses(operand: Node) -> bool:
    """Whether an operand is a call with parentheses, even if they are empty."""
    return isinstance(operand, Tree) and len(operand.children) == 2


def compares_atom(comparison: ParseTree) -> bool:
    """Whether a comparison tests the value of an atom with parentheses, and not two terms."""
    return has_parentheses(comparison.children[0])


def call_arguments(call: ParseTree) -> list[ParseTree]:
    """The arguments of a call."""
    return [argument for arguments in subtrees(call) for argument in subtrees(arguments)]


def is_lower(token: Token) -> bool:
    """Whether a term is a name that starts with a lower-case letter."""
    return token.type == "NAME" and not token[0].isupper()


def weight_name(token: Token) -> str:
    """The name of a weight, without the dollar sign."""
    return str(token[1:])


def plain_name(token: Token) -> str:
    """The name in a token, without quotes or the mark of a variable."""
    if token.type == "VARIABLE":
        return str(token[1:])
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.type == "STRING" else str(token)
