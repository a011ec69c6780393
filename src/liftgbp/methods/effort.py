"""How much work an answer may take.

Work is counted, not timed, so that runs can be repeated: in units of `solve.work_of`, of which 1e9
take about a second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeAlias, cast

from liftgbp.lift.regions import Family, over_objects
from liftgbp.lift.shatter import ObjectClass
from liftgbp.solve import Flooding, Solver
from liftgbp.support.errors import InputError, checked_number, comma_list, shown, wrong_type
from liftgbp.support.limits import spare_memory

EffortChoice: TypeAlias = Literal["quick", "normal", "thorough"]
BlocksChoice: TypeAlias = Literal["auto"] | int | Mapping[str, int]
"""The most blocks of each class of objects: as many as pay, a number, or one for each sort."""

AUTO_BLOCKS = 4
"""The most blocks that `auto` looks for: each one more takes about twice as long."""

WORK_OF_STATE = 20.0
"""What a state of an exact sum takes: chain over 6 people has 44 million, and takes a second."""

MOST_STATES = 2**27
"""How many states an exact answer has at most: they take less than two gigabytes."""

STATE_BYTES = 16
"""The memory that a state takes, with some to spare: 12 to 13 bytes on the chain over 6 people and
on a grid of 17 x 17 spins, eight of them for its entry in a table."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a level of effort allows.

    work      what each method may cost
    blocks    the most blocks that a class of objects is split into
    families  the regions that are tried beyond factor scopes
    loops     the same on the ground
    table     the most states of such a region
    """

    name: EffortChoice
    work: float = 0.0
    blocks: int = 1
    families: tuple[Family, ...] = ()
    loops: tuple[Family, ...] = ()
    table: int = 0

    @property
    def exact_states(self) -> int:
        """How many states an exact answer may have; they must fit into the memory that is left."""
        return int(min(self.work / WORK_OF_STATE, MOST_STATES, spare_memory() / STATE_BYTES))


LOOPS = tuple(Family("loops", length) for length in (3, 4, 6))

EFFORTS: dict[str, Effort] = {
    "quick": Effort("quick"),
    "normal": Effort(
        "normal",
        work=1e9,
        blocks=AUTO_BLOCKS,
        families=tuple(over_objects(3)),
        loops=LOOPS[:2],
        table=2**12,
    ),
    "thorough": Effort(
        "thorough",
        work=6e10,
        blocks=6,
        families=tuple(over_objects(5)),
        loops=LOOPS,
        table=2**16,
    ),
}


def checked_effort(
    effort: object, solver: Solver, blocks: BlocksChoice | None = None
) -> EffortChoice:
    """The effort; message passing is that of the paper, whatever the effort."""
    blocks = checked_blocks(blocks)
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise InputError(f"unknown effort {shown(effort)}; choose among {', '.join(EFFORTS)}")
    if not isinstance(solver, Flooding):
        return cast(EffortChoice, effort)
    if blocks not in (None, 1):
        raise InputError(
            "blocks are found by descent, not by message passing; choose the solver descent or auto"
        )
    return "quick"


def checked_blocks(blocks: BlocksChoice | None) -> BlocksChoice | None:
    """The number of blocks; whole numbers of NumPy become those of Python."""
    if isinstance(blocks, Integral) and not isinstance(blocks, bool):
        return int(blocks)
    if blocks is None or isinstance(blocks, Mapping | str):
        return blocks
    raise wrong_type("blocks", 'a whole number, a mapping of sorts, or "auto"', blocks)


def most_blocks(
    asked: BlocksChoice, classes: Sequence[ObjectClass], *, by_hand: bool = True
) -> dict[int, int]:
    """The most blocks of each class; an object that rules mention is alone in its class.

    A number that was asked for by hand may not exceed that of the objects.

    >>> most_blocks({"person": 2}, [ObjectClass("person", 9), ObjectClass("movie", 5)])
    {0: 2, 1: 1}
    """
    sorts = dict.fromkeys(own.sort for own in classes)
    if isinstance(asked, Mapping):
        unknown = [sort for sort in asked if sort not in sorts]
        if unknown:
            raise InputError(
                f"blocks of {unknown[0]}: the model has no such sort; it has {comma_list(sorts)}"
            )
        by_sort = {sort: _number(asked.get(sort, 1), sort) for sort in sorts}
    elif asked == "auto":
        by_sort = dict.fromkeys(sorts, AUTO_BLOCKS)
    elif isinstance(asked, int) and not isinstance(asked, bool):
        by_sort = dict.fromkeys(sorts, _number(asked, "each sort"))
    else:
        raise wrong_type("blocks", 'a whole number, a mapping of sorts, or "auto"', asked)
    for sort, blocks in by_sort.items() if by_hand and asked != "auto" else ():
        largest = max(own.size for own in classes if own.sort == sort)
        if blocks > largest:
            raise InputError(
                f"{blocks} blocks of {sort} are more than the {largest} objects that can be split"
            )
    return {
        k: min(by_sort[own.sort], own.size) if own.constant is None else 1
        for k, own in enumerate(classes)
    }


def _number(blocks: object, sort: str) -> int:
    return checked_number(f"the number of blocks of {sort}", blocks, least=1)
