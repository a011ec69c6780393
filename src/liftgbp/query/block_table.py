"""Blocks as answers show them: how many objects, and how likely atoms are between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from liftgbp.arrays import Floats


@dataclass(frozen=True, eq=False, slots=True)
class BlockedAtom:
    """The probabilities of one kind of atom by the blocks of its objects.

    `text` is the atom, such as `friends(x,y)`, `values` are those of the predicate. `objects` are
    the names of the blocked classes, one per axis of `table`; its last axis is the value.
    """

    text: str
    values: tuple[str, ...]
    objects: tuple[str, ...]
    table: Floats

    def as_dict(self) -> dict[str, object]:
        """The table for JSON."""
        return {
            "atom": self.text,
            "values": list(self.values),
            "classes": list(self.objects),
            "p": self.table.tolist(),
        }


@dataclass(frozen=True, eq=False, slots=True)
class BlockStructure:
    """One way in which objects fall into blocks, and its share in the answer.

    sizes        for each class of objects the most likely number of objects in each block
    information  what a world tells about the blocks of its objects, in nats
    log_z        log Z at the most likely sizes, for one way to put objects into blocks
    """

    share: float
    sizes: dict[str, tuple[int, ...]]
    information: float
    log_z: float
    atoms: tuple[BlockedAtom, ...]

    def __str__(self) -> str:
        return "; ".join(self._texts())

    def _texts(self) -> Iterator[str]:
        for name, sizes in self.sizes.items():
            if len(sizes) > 1:
                yield f"{len(sizes)} blocks of {', '.join(map(str, sizes))} {name}"

    def as_dict(self) -> dict[str, object]:
        """The structure for JSON."""
        return {
            "share": self.share,
            "sizes": {name: list(sizes) for name, sizes in self.sizes.items()},
            "information": self.information,
            "log_z": self.log_z,
            "probabilities": [atom.as_dict() for atom in self.atoms],
        }
