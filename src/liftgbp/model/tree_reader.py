"""From parse trees to the syntax tree: terms, atoms, formulas, weights and restrictions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeGuard, cast

from lark import Token, Tree

from liftgbp.model import ast
from liftgbp.model.function_terms import LESS, Definitions, is_step, step
from liftgbp.model.syntax import Node, ParseTree
from liftgbp.support.errors import InputError, ModelError, Source, Span
from liftgbp.support.limits import checkpoint

# Later stages walk formulas recursively; this keeps them well below Python's recursion limit.
MAX_NESTING = 100


@dataclass(frozen=True, slots=True)
class TreeReader:
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
        left = [(node, 1)] if isinstance(node, Tree) else []
        while left:
            checkpoint()
            tree, level = left.pop()
            if level > MAX_NESTING:
                raise self.problem(f"this is nested more than {MAX_NESTING} levels deep", node)
            parts = subtrees(tree)
            # A quantifier over several variables becomes several quantifiers.
            deeper = len(tokens(parts[0])) if tree.data == "quantified" else 1
            left.extend((part, level + deeper) for part in parts)

    # --- terms and atoms

    def term(self, token: Token) -> ast.Term:
        """A variable or a constant."""
        if self.is_variable(token):
            return ast.Variable(plain_name(token), self.span(token))
        return ast.Constant(plain_name(token), self.span(token))

    def is_variable(self, token: Token) -> bool:
        """Whether a term is a variable."""
        return token.type == "VARIABLE" or (is_lower(token) and not self.marked)

    def variable(self, token: Token) -> ast.Variable:
        """The variable of a quantifier."""
        if not self.is_variable(token):
            how = "are written ?x" if self.marked else "start with a lower-case letter"
            raise self.problem(f"{token} is a constant; variables {how}", token)
        return ast.Variable(plain_name(token), self.span(token))

    def atom(self, call: ParseTree, definitions: Definitions | None = None) -> ast.Atom:
        """A predicate applied to terms."""
        for mark in call.find_data("unique"):
            raise self.problem("marks of uniqueness (person!) belong in declarations only", mark)
        arguments = (self._any_term(a.children[-1], definitions) for a in call_arguments(call))
        return ast.Atom(str(call.children[0]), tuple(arguments), self.span(call))

    def _any_term(self, node: Node, definitions: Definitions | None) -> ast.Term:
        """A variable or a constant, or the variable that stands for a function or a step."""
        if isinstance(node, Token):
            return self.term(node)
        if node.data == "negative":
            return ast.Constant("".join(map(str, tokens(node))), self.span(node))
        if node.data == "call" and not has_parentheses(node):
            return self.term(first_token(node))
        if definitions is None:
            return self._constructed(node)
        if node.data == "shifted":
            by, base = self._shift(node)
            return step(by, self._any_term(base, definitions), definitions, self.span(node))
        args = [self._any_term(a.children[-1], definitions) for a in call_arguments(node)]
        return definitions.value(str(node.children[0]), args, self.span(node))

    def _constructed(self, node: ParseTree) -> ast.Constant:
        """The object that a function constructs from others, named like the term."""
        terms = [self._any_term(a.children[-1], None) for a in call_arguments(node)]
        if node.data == "shifted" or not all(isinstance(term, ast.Constant) for term in terms):
            raise self.problem(
                "functions and steps of variables belong in formulas of a model; name the object",
                node,
            )
        return ast.Constant(ast.applied(str(node.children[0]), map(str, terms)), self.span(node))

    def _shift(self, node: ParseTree) -> tuple[int, Node]:
        """The step and the term in front of it."""
        base, sign, *number = node.children
        size = float(cast(Token, number[0])) if number else 1.0
        if not size.is_integer():
            raise self.problem("a step is a whole number", number[0])
        return int(size) * (-1 if str(sign).startswith("-") else 1), base

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

    def formula(self, tree: ParseTree, definitions: Definitions | None = None) -> ast.Formula:
        """A formula; quantifiers over several variables become nested ones.

        What functions and steps stand for is added to `definitions`; without these, both are
        refused.
        """
        checkpoint()
        match tree.data:
            case "truth":
                return ast.Is(self.atom(subtrees(tree)[0], definitions), span=self.span(tree))
            case "starred":
                raise self.problem(
                    "a star before an atom stands for both signs of it, in a formula without a "
                    "weight; before a predicate with its sorts, it declares a closed one",
                    tree,
                )
            case "comparison":
                return self._comparison(tree, definitions)
            case "quantified":
                return self._quantified(tree, definitions)
        parts = tuple(self.formula(part, definitions) for part in subtrees(tree))
        match tree.data:
            case "negation":
                return ast.Not(*parts)
            case "conjunction" | "goals":
                return ast.And(parts)
            case "disjunction":
                return ast.Or(parts)
            case "implies":
                return ast.Implies(*parts)
            case "premises":
                return ast.Implies(ast.And(parts[:-1]), parts[-1])
            case _:
                return ast.Iff(*parts)

    def rule_formula(
        self, tree: ParseTree, definitions: Definitions, *, hard: bool, negated: bool = False
    ) -> ast.Formula:
        """The formula of a rule, with all its definitions below any `FORALL` in front."""
        if tree.data == "quantified" and tokens(tree)[0].type == "FORALL":
            variables, body_tree = subtrees(tree)
            body = self.rule_formula(body_tree, definitions, hard=hard, negated=negated)
            for token in reversed(tokens(variables)):
                body = ast.Forall(self.variable(token), body)
            return body
        found = self.formula(tree, definitions)
        return definitions.rule(ast.Not(found) if negated else found, hard=hard)

    def _quantified(self, tree: ParseTree, definitions: Definitions | None) -> ast.Formula:
        variables, body_tree = subtrees(tree)
        node = ast.Exists if tokens(tree)[0].type == "EXIST" else ast.Forall
        quantified = [self.variable(token) for token in tokens(variables)]
        inner = None if definitions is None else definitions.inside()
        body = self.formula(body_tree, inner)
        if definitions is not None and inner is not None:
            body = definitions.bound(node, {v.name for v in quantified}, body, inner)
        for variable in reversed(quantified):
            body = node(variable, body)
        return body

    def _comparison(self, tree: ParseTree, definitions: Definitions | None = None) -> ast.Formula:
        left, operator, right = tree.children
        if cast(Token, operator).type == "ORDER":
            return self._order(tree, definitions)
        positive: ast.Formula
        if compares_atom(tree):
            atom = self.atom(cast(ParseTree, left), definitions)
            if isinstance(right, Tree):
                value = self._any_term(right, definitions).name
            else:
                value = plain_name(right)
            positive = ast.Is(atom, value, self.span(tree))
        else:
            positive = self._equality(tree, definitions)
        return positive if operator == "=" else ast.Not(positive)

    def _equality(self, tree: ParseTree, definitions: Definitions | None) -> ast.Formula:
        """Two terms are the same object; functions and steps of the other side need no variable."""
        left, _, right = tree.children
        if is_term(right) and definitions is not None:
            result = self._any_term(left, definitions)
            if right.data == "shifted":
                by, base = self._shift(right)
                return is_step(result, by, self._any_term(base, definitions), self.span(tree))
            args = [self._any_term(a.children[-1], definitions) for a in call_arguments(right)]
            atom = ast.Atom(str(right.children[0]), (*args, result), self.span(right))
            return ast.Is(atom, span=self.span(tree))
        terms = self._any_term(left, definitions), self._any_term(right, definitions)
        return ast.Equal(*terms, self.span(tree))

    def _order(self, tree: ParseTree, definitions: Definitions | None) -> ast.Formula:
        left, operator, right = tree.children
        if definitions is None:
            raise self.problem(f"{operator} compares numbers in formulas of a model only", tree)
        one, other = self._any_term(left, definitions), self._any_term(right, definitions)
        if operator in (">", "<="):
            one, other = other, one
        less = ast.Is(ast.Atom(LESS, (one, other), self.span(tree)), span=self.span(tree))
        return less if operator in ("<", ">") else ast.Not(less)

    def restrictions(
        self, conditions: ParseTree | None = None
    ) -> tuple[tuple[ast.Equal | ast.Not, ...], bool]:
        """The (in)equalities among conditions, and whether `distinct` is one of them."""
        if conditions is None:
            return (), False
        found = tuple(map(self.restriction, subtrees(conditions)))
        return found, bool(tokens(conditions))

    def restriction(self, comparison: ParseTree) -> ast.Equal | ast.Not:
        """An (in)equality between variables and constants."""
        if compares_atom(comparison):
            raise self.problem(
                "a restriction compares variables and constants, not the values of atoms",
                comparison,
            )
        if is_term(comparison.children[2]):
            raise self.problem("a restriction compares variables and constants", comparison)
        return cast("ast.Equal | ast.Not", self._comparison(comparison))

    # --- weights

    def weight(self, node: Node) -> ast.Weight:
        """Arithmetic over numbers, domain sizes and named weights; a literal one must be finite."""
        weight = self._arithmetic(node)
        value = self._literal_value(weight, node)
        if value is not None and not math.isfinite(value):
            raise self.problem(f"{self.span(node).text} is not a finite number", node)
        return weight

    def rules_out(self, node: Node) -> bool:
        """Whether a weight is the logarithm of zero, so that its formula never holds."""
        weight = self._arithmetic(node)
        if not isinstance(weight, ast.Logarithm):
            return False
        return self._literal_value(weight.argument, node) == 0

    def potential(self, node: Node) -> ast.Weight:
        """An entry of a table: a weight that is not negative, as far as literal numbers show."""
        weight = self.weight(node)
        value = self._literal_value(weight, node)
        if value is not None and value < 0:
            raise self.problem("a potential cannot be negative", node)
        return weight

    def _literal_value(self, weight: ast.Weight, node: Node) -> float | None:
        """The value of a weight that depends on no domain size and no name."""
        try:
            return ast.evaluate_weight(weight, {})
        except KeyError:
            return None
        except ZeroDivisionError:
            raise self.problem("division by zero", node) from None

    def _arithmetic(self, node: Node) -> ast.Weight:
        if isinstance(node, Token):
            return self._number_or_name(node)
        if node.data == "size":
            return ast.SizeOf(str(node.children[-1]), self.span(node))
        if node.data == "minus":
            operand = self._arithmetic(node.children[1])
            if isinstance(operand, ast.Number):
                return ast.Number(-operand.value)
            return ast.Arithmetic("-", ast.Number(0.0), operand)
        if node.data == "logarithm":
            return ast.Logarithm(self._arithmetic(node.children[1]))
        left, operator, right = node.children
        return ast.Arithmetic(str(operator), self._arithmetic(left), self._arithmetic(right))

    def _number_or_name(self, token: Token) -> ast.Number | ast.NamedWeight:
        if token.type == "WEIGHT_NAME":
            return ast.NamedWeight(weight_name(token), self.span(token))
        if token.type == "NOT_FINITE":
            raise self.problem(
                f"{token} is not a finite number; a formula that must hold is written without a "
                "weight and with a period at its end",
                token,
            )
        return ast.Number(float(token))


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


def is_term(node: Node) -> TypeGuard[ParseTree]:
    """Whether a node is a function or a step, and not a name or a number."""
    return isinstance(node, Tree) and node.data != "negative"


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
