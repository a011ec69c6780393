"""Ways to assign objects of classes to variables, up to renaming inside the classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeVar, cast

from liftgbp.lift.shatter.normal import Obj
from liftgbp.model.ast import Constant, Equal, Formula, Not, Rule, Term
from liftgbp.support.arrays import Integers
from liftgbp.support.errors import CapacityError, InternalError

Size = TypeVar("Size", int, Integers)
"""An integer of Python, or an array of them."""


def assignments(
    variables: Sequence[str],
    classes: Mapping[str, Sequence[int]],
    sizes: Sequence[int],
    taken: Mapping[int, int] | None = None,
    *,
    distinct: bool = False,
) -> Iterator[dict[str, Obj]]:
    """Each way to send variables to objects, one representative per renaming inside classes.

    Indices inside a class are used in order, so every set partition of the variables of one class
    appears once. The first `taken[c]` objects of class `c` have names of their own: a variable may
    be any one of them or a new one. With `distinct`, different variables are different objects.

    >>> for way in assignments(["x", "y"], {"x": [0], "y": [0]}, [5]):
    ...     print(way)
    {'x': (0, 0), 'y': (0, 0)}
    {'x': (0, 0), 'y': (0, 1)}
    """
    taken = taken or {}
    for choice in product(*(classes[variable] for variable in variables)):
        yield from _fill(variables, choice, sizes, distinct, {}, dict(taken))


def _fill(
    variables: Sequence[str],
    choice: Sequence[int],
    sizes: Sequence[int],
    distinct: bool,
    done: dict[str, Obj],
    used: dict[int, int],
) -> Iterator[dict[str, Obj]]:
    position = len(done)
    if position == len(variables):
        yield dict(done)
        return
    variable, cls = variables[position], choice[position]
    seen = used.get(cls, 0)
    for index in range(min(seen + 1, sizes[cls])):
        if distinct and (cls, index) in done.values():
            continue
        done[variable] = (cls, index)
        used[cls] = max(seen, index + 1)
        yield from _fill(variables, choice, sizes, distinct, done, used)
        del done[variable]
        used[cls] = seen


MOST_WAYS = 20_000
"""The most ways in which the variables of one rule may coincide."""


def check_number_of_ways(rule: Rule, variables: int, ways: Iterator[object]) -> None:
    """Refuse a rule whose variables can coincide in too many ways."""
    if next(islice(ways, MOST_WAYS, None), None) is not None:
        raise CapacityError(
            f"the {variables} variables of this formula can coincide in more than {MOST_WAYS} "
            "ways, above the cap; add '| distinct' or use fewer variables",
            rule.span,
        )


def rule_admits(
    rule: Rule,
    sorts: Mapping[str, str],
    constants: Mapping[tuple[str, str], Obj],
    way: Mapping[str, Obj],
) -> bool:
    """Whether the restrictions of a rule hold for objects of its variables.

    `sorts` are those of the variables; a constant has the sort of what it is compared with.
    """

    def object_of(term: Term, other: Term) -> Obj:
        if isinstance(term, Constant):
            return constants[sorts[other.name], term.name]
        return way[term.name]

    return admits(rule.restrictions, object_of)


def admits(restrictions: Sequence[Equal | Not], object_of: Callable[[Term, Term], Obj]) -> bool:
    """Whether restrictions hold, for objects of terms that are compared with other terms."""
    return all(_holds(restriction, object_of) for restriction in restrictions)


def _holds(restriction: Formula, object_of: Callable[[Term, Term], Obj]) -> bool:
    if isinstance(restriction, Not):
        return not _holds(restriction.body, object_of)
    if not isinstance(restriction, Equal):
        raise InternalError(f"{restriction} is not an equality")
    left, right = restriction.left, restriction.right
    return object_of(left, right) == object_of(right, left)


def falling(n: Size, k: int) -> Size:
    """The falling factorial n (n-1) ... (n-k+1), exactly; of each number of an array.

    >>> falling(5, 2), falling(3, 0), falling(2, 3)
    (20, 1, 0)
    """
    result: Any = 1
    for i in range(k):
        result = result * (n - i)
    return cast(Size, result)
