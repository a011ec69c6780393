"""Quick dataclasses behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from itertools import product
from typing import Any, ClassVar

import pytest

from liftgbp import values

OPTIONS = [
    dict(zip(("frozen", "slots", "eq", "repr", "kw_only"), choice, strict=True))
    for choice in product((False, True), repeat=5)
]


def several(dataclass: Callable[..., Any], **options: bool) -> list[Any]:
    """Classes of all sorts, made by either library."""

    @dataclass(**options)
    class Plain:
        """With all kinds of fields."""

        a: int
        b: tuple[int, ...] = ()
        c: list[int] = field(default_factory=list, compare=False)
        d: str = field(default="d", repr=False)
        kind: ClassVar[str] = "none"

    @dataclass(**options)
    class Child(Plain):
        """With fields of a parent, and checks."""

        e: float = 0.5

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError(self.a)

    @dataclass(**options)
    class Own:  # noqa: PLW1641
        """With methods of its own."""

        a: int

        def __repr__(self) -> str:
            return f"<{self.a}>"

        def __eq__(self, other: object) -> bool:
            return True

    @dataclass(**options)
    class Empty:
        """Without fields."""

    class Late(Child):
        """No dataclass itself."""

    return [Plain, Child, Own, Empty, Late]


def outcome(action: Callable[[], Any]) -> object:
    try:
        return action()
    except Exception as error:
        return type(error), str(error)


def story(classes: list[Any]) -> list[object]:
    """What can be seen of classes and their instances."""
    plain, child, own, empty, late = classes
    told: list[object] = []
    for cls in classes:
        told += [str(inspect.signature(cls)), cls.__match_args__, cls.__doc__]
        told += [[(one.name, one.type, one.compare) for one in dataclasses.fields(cls)]]
        told += [outcome(lambda cls=cls: cls(1, 2, 3, 4, 5, 6)), outcome(lambda cls=cls: cls(b=2))]
    made = [plain(a=1), plain(a=1, c=[2], d="x"), plain(a=2), child(a=1), child(a=1, e=2.0)]
    made += [own(a=1), own(a=2), empty(), empty(), late(a=1)]
    # An address is a matter of chance.
    told += [repr(one) for one in made if type(one).__repr__ is not object.__repr__]
    told += [x == y for x in made for y in made]
    told += [outcome(lambda one=one: hash(one) == hash(copy.copy(one))) for one in made]
    told += [type(one).__hash__ is None for one in made]
    # In the standard library, a frozen class with slots calls `super` of what it was before it had
    # them, if it is not about one of its fields.
    sound = made[:7] if hasattr(plain, "__slots__") else made
    told += [outcome(lambda one=one: setattr(one, "a", 5)) for one in sound]
    told += [outcome(lambda one=one: delattr(one, "a")) for one in sound]
    if sound is made:
        told += [outcome(lambda one=one: setattr(one, "other", 5)) for one in made]
    told += [outcome(lambda: child(a=-1)), outcome(lambda: dataclasses.replace(child(a=1), a=-1))]
    changed = dataclasses.replace(plain(a=1, d="y"), b=(3,))
    told += [changed.a, changed.b, changed.c, changed.d]
    copied = copy.deepcopy(child(a=7, c=[8]))
    told += [copied.a, copied.c, plain.kind, dataclasses.is_dataclass(plain)]
    told += [plain(a=1).c is plain(a=1).c, late(a=1).a]
    return told


@pytest.mark.parametrize("options", OPTIONS, ids=lambda own: "-".join(k for k in own if own[k]))
def test_everything_that_can_be_seen_is_as_in_the_standard_library(
    options: dict[str, bool],
) -> None:
    assert story(several(values.dataclass, **options)) == story(
        several(dataclasses.dataclass, **options)
    )


@values.dataclass(frozen=True, slots=True)
class Sent:
    """At the top of a module, where pickle finds it."""

    a: int
    b: tuple[str, ...] = ()


def test_instances_can_be_sent_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(Sent(1, ("x",)))) == Sent(1, ("x",))


def test_an_init_is_written_once() -> None:
    @values.dataclass
    class Late:
        """Nobody has made one."""

        a: int

    assert not inspect.isfunction(vars(Late)["__init__"])
    assert Late(1).a == 1
    assert inspect.isfunction(vars(Late)["__init__"])
