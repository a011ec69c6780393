"""Dataclasses that are made quickly.

The standard library writes and compiles up to six methods for each dataclass, which takes longer
than solving a small model for all classes of the engine together. Here, one function per method
serves every class, and `__init__` is written when it is first looked up: most classes are never
made in a run. Everything else is as in `dataclasses`, to which type checkers are referred.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Hashable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        repr: bool = True,
        eq: bool = True,
        slots: bool = False,
        kw_only: bool = False,
    ) -> Any:
        """`dataclasses.dataclass`, with the options that are needed here; all fields are given."""

        def make(plain: type) -> type:
            # To the standard library no class is frozen, so none may derive from one of its own.
            made = dataclasses.dataclass(
                plain, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )
            own = vars(made)
            if "__init__" not in own:
                made.__init__ = _Init(made, frozen)
            if repr and "__repr__" not in own:
                made.__repr__ = _shown_fields
            if eq:
                _compare_by_value(made, frozen)
            if frozen:
                _freeze(made, slots)
            return made

        return make if cls is None else make(cls)


class _Init:
    """Stands for the `__init__` of a dataclass until somebody looks it up."""

    def __init__(self, made: type, frozen: bool) -> None:
        self.made, self.frozen = made, frozen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        init = _written_init(self.made, self.frozen)
        type.__setattr__(self.made, "__init__", init)
        return init if instance is None else init.__get__(instance)


class _ToBeMade:
    """Stands for a value that a field's factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_TO_BE_MADE = _ToBeMade()


def _written_init(made: type, frozen: bool) -> Any:
    """The `__init__` of a dataclass, in the words of the standard library."""
    own = sorted(dataclasses.fields(made), key=lambda one: bool(one.kw_only))
    outside: dict[str, object] = {"_set": object.__setattr__, "_to_be_made": _TO_BE_MADE}
    parameters, body = ["self"], ["pass"]
    for one in own:
        name = value = one.name
        if one.kw_only and "*" not in parameters:
            parameters.append("*")
        if one.default_factory is not dataclasses.MISSING:
            outside[f"_new_{name}"] = one.default_factory
            parameters.append(f"{name}=_to_be_made")
            value = f"_new_{name}() if {name} is _to_be_made else {name}"
        elif one.default is not dataclasses.MISSING:
            outside[f"_default_{name}"] = one.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    init = f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(body)
    text = f"def within({', '.join(outside)}):\n {init}\n return __init__"
    # Annotations are looked up in the module of the class.
    found: dict[str, Any] = {}
    exec(text, vars(sys.modules[made.__module__]), found)
    written = found["within"](**outside)
    written.__qualname__ = f"{made.__qualname__}.__init__"
    written.__annotations__ = {one.name: one.type for one in own} | {"return": None}
    return written


@recursive_repr()
def _shown_fields(self: Any) -> str:
    shown = [one.name for one in dataclasses.fields(self) if one.repr]
    return f"{type(self).__qualname__}({', '.join(f'{k}={getattr(self, k)!r}' for k in shown)})"


def _compare_by_value(made: Any, frozen: bool) -> None:
    """Instances are equal if their fields are, and can be hashed if they cannot change."""
    own = vars(made)
    values = _values_of(tuple(one.name for one in dataclasses.fields(made) if one.compare))
    # A class with its own equality and no hash has `None` there, put by Python.
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    if "__eq__" not in own:

        def equal(self: object, other: object) -> bool:
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        made.__eq__ = equal
    if not has_hash:
        made.__hash__ = (lambda self: hash(values(self))) if frozen else None


def _values_of(names: tuple[str, ...]) -> Callable[[object], Hashable]:
    """What reads some fields at once, as a tuple; one field as it is."""
    return attrgetter(*names) if names else lambda self: ()


def _freeze(made: Any, slots: bool) -> None:
    """Let no field change; instances with slots can still be copied and pickled."""
    names = frozenset(one.name for one in dataclasses.fields(made))

    def refuse_to_assign(self: object, name: str, value: object) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    made.__setattr__, made.__delattr__ = refuse_to_assign, refuse_to_delete
    if slots and "__getstate__" not in vars(made):
        made.__getstate__, made.__setstate__ = _state, _take_state


def _state(self: Any) -> list[object]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _take_state(self: Any, state: list[object]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
