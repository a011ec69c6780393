"""Facts that nobody states: steps and orders of numbers, and the objects that functions construct.

A function with facts has the values that these state. A function without any constructs an object
from each choice of arguments, named like the term: `walking(Anna)`.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from itertools import product

import numpy as np

from liftgbp.evidence.evidence import Relation
from liftgbp.model.ast import Predicate, applied
from liftgbp.model.model import Model
from liftgbp.support.arrays import Ints
from liftgbp.support.errors import CapacityError, EvidenceError, SizeError

MOST_FACTS = 10**6
"""So many facts take a second and 16 MB; an order of 1400 numbers has that many."""


def computed_facts(model: Model, stated: Container[str]) -> tuple[Model, dict[str, Relation]]:
    """The model with the objects that functions construct, and the facts that are computed.

    Functions about which facts are `stated` construct nothing.
    """
    facts: dict[str, Ints] = {}
    for predicate in model.predicates.values():
        if predicate.kind == "function" and predicate.name not in stated:
            model, facts[predicate.name] = _constructed(model, predicate)
    for predicate in model.predicates.values():
        if not predicate.is_stated:
            facts[predicate.name] = _between_numbers(model, predicate)
    return model, {
        name: Relation(rows, np.ones(len(rows), np.int64))
        for name, rows in facts.items()
        if len(rows)
    }


def check_all_named(model: Model, sizes: Mapping[str, int]) -> None:
    """Refuse unnamed objects of sorts that steps or functions are about."""
    for predicate in model.predicates.values():
        sorts = predicate.sorts if predicate.kind != "relation" else ()
        for sort in sorts:
            names = model.constants(sort)
            if sizes[sort] > len(names):
                raise SizeError(
                    f"{sizes[sort] - len(names)} of {sizes[sort]} objects of {sort} have no names, "
                    f"but steps such as t+1 and functions need them; list them, as in "
                    f"{sort} = {{1,...,{sizes[sort]}}}, and drop the size",
                    model.sorts[sort].span,
                )


# --- functions


def _constructed(model: Model, function: Predicate) -> tuple[Model, Ints]:
    *arguments, result = function.sorts
    if result in arguments:
        example = applied(function.name, [_example(model, sort) for sort in arguments])
        raise EvidenceError(
            f"{function.name} has no values, and cannot construct objects of {result} from objects "
            f"of {result}; state its values as facts, as in {example} = {_example(model, result)}"
        )
    names = [model.constants(sort) for sort in arguments]
    _check_number(function, math.prod(map(len, names)))
    terms = [applied(function.name, chosen) for chosen in product(*names)]
    model = model.with_constants({result: terms})
    numbers = model.object_numbers(result)
    indices = product(*(range(len(one)) for one in names))
    rows = [(*chosen, numbers[term]) for chosen, term in zip(indices, terms, strict=True)]
    return model, np.array(rows, np.int64).reshape(-1, len(function.sorts))


def _example(model: Model, sort: str) -> str:
    return next(iter(model.constants(sort)), "Anna")


# --- numbers


def _between_numbers(model: Model, predicate: Predicate) -> Ints:
    """The pairs of a step or of an order."""
    sort = predicate.sorts[0]
    numbers = np.array([_number(sort, name) for name in model.constants(sort)], np.int64)
    if predicate.kind == "order":
        _check_number(predicate, len(numbers) ** 2)
        return np.argwhere(numbers[:, None] < numbers[None, :]).astype(np.int64)
    by = int(predicate.name.removeprefix(sort))
    place = {number: k for k, number in enumerate(numbers.tolist())}
    pairs = [(k, place[n + by]) for n, k in place.items() if n + by in place]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _number(sort: str, name: str) -> int:
    try:
        number = int(name)
    except ValueError:
        number = None
    if number is None or str(number) != name or abs(number) > 2**60:
        raise EvidenceError(
            f"{name} is an object of {sort}, whose objects must be whole numbers, since formulas "
            "take steps between them or compare them"
        )
    return number


def _check_number(predicate: Predicate, facts: int) -> None:
    if facts > MOST_FACTS:
        raise CapacityError(
            f"{predicate.name} would have {facts:.3g} facts, above the cap of {MOST_FACTS:.0e}; "
            "use fewer objects"
        )
