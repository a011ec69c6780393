"""Networks in files of other tools: Markov random fields in the `.uai` and `.fg` formats.

The extension of a file names its format; with `.gz` after it, the file is gzipped.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from liftgbp.evidence import Evidence, Problem, Relation
from liftgbp.ground.formats.fg import read_fg, write_fg
from liftgbp.ground.formats.simplify import check_observed, conditioned
from liftgbp.ground.formats.uai import read_uai, read_uai_evidence, write_uai
from liftgbp.ground.formats.writing import names_path, without_gz
from liftgbp.ground.grounding import AtomTable, GroundNetwork
from liftgbp.model.ast import Predicate
from liftgbp.model.model import Model
from liftgbp.pictures.cards import Shown, fields
from liftgbp.pictures.markup import Content
from liftgbp.support.errors import (
    CapacityError,
    InputError,
    check_mapping,
    checked_flag,
    checked_path,
    counted,
)
from liftgbp.support.files import check_place
from liftgbp.support.input_files import LARGEST_UNTRUSTED
from liftgbp.support.limits import Limits, limited

READERS = {".uai": read_uai, ".fg": read_fg}
WRITERS = {".uai": write_uai, ".fg": write_fg}


@dataclass(frozen=True, eq=False, repr=False)
class Network(Shown):
    """A Markov random field over numbered variables, read from a file.

    Variables are numbered from 0 as in the file. Queries call variable 3 `x3`, and its values `0`,
    `1` and so on. Factors without variables, and variables on which a factor does not depend, have
    been removed; factors over the same variables have been multiplied. What is done with an
    `untrusted` network is within `Limits.for_strangers()`, unless other limits are given.

    >>> import pathlib
    >>> import tempfile
    >>> import liftgbp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pair.uai"
    ...     _ = path.write_text("MARKOV 3  2 2 3  2  2 0 1  1 2   4 1 2 2 1  3 1 2 3")
    ...     network = liftgbp.load_network(path)
    >>> print(str(network).removeprefix(folder))
    /pair.uai
    variables x0 to x2: 2 with 2 values, 1 with 3 values
    factors: 1 over 1 variable, 1 over 2 variables
    """

    name: str
    ground: GroundNetwork
    untrusted: bool = False
    files: tuple[str, ...] = ()
    """The file that the network was read from, which no output replaces."""

    @property
    def variables(self) -> int:
        """The number of variables."""
        return len(self.ground.ranges)

    @property
    def factors(self) -> int:
        """The number of factors."""
        return self.ground.factors

    def _headline(self) -> str:
        variables = counted(self.variables, "variable")
        return f"{self.name}: {variables}, {counted(self.factors, 'factor')}"

    def _body(self) -> Iterable[Content]:
        return [fields(self._described())]

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"{name}: {text}" for name, text in self._described())])

    def _described(self) -> list[tuple[str, str]]:
        values = sorted(Counter(self.ground.ranges.tolist()).items())
        widths = [(block.scopes.shape[1], len(block.table_of)) for block in self.ground.blocks]
        named = f" x0 to x{self.variables - 1}" if self.variables else ""
        return [
            (f"variables{named}", _sizes(values, "with", "value")),
            ("factors", _sizes(widths, "over", "variable")),
        ]

    def observed(
        self, evidence: str | os.PathLike[str] | Mapping[int, int] | None = None
    ) -> dict[int, int]:
        """The observed value of each observed variable, by number.

        Evidence is a `.uai.evid` file, or a mapping from variables to values.
        """
        if evidence is None:
            return {}
        if isinstance(evidence, Mapping):
            check_observed(self.ground, evidence)
            return {int(variable): int(value) for variable, value in evidence.items()}
        most = LARGEST_UNTRUSTED if self.untrusted else None
        return read_uai_evidence(checked_path("evidence", evidence), self.ground, most)

    def check_queries(self, queries: str | Iterable[str], *, atoms: bool = False) -> None:
        """Refuse queries that no run could answer, before one is started.

        With `atoms`, also refuse all but single atoms, which `answers.top` takes.
        """
        self.as_problem({})[0].model.check_queries(queries, atoms=atoms)

    def conditioned(self, observed: Mapping[int, int]) -> GroundNetwork:
        """The network given the values of some variables, which keep their numbers."""
        check_mapping("observed", observed, "from variables to values")
        return conditioned(self.ground, observed)

    def as_problem(self, observed: Mapping[int, int]) -> tuple[Problem, AtomTable]:
        """What is observed, about a model without objects, and the atom of each variable.

        The model declares a predicate for each variable. A predicate has at least two values: of a
        variable with one value, the first of them is observed.
        """
        check_mapping("observed", observed, "from variables to values")
        ranges = self.ground.ranges
        single = np.flatnonzero(ranges == 1).tolist()
        predicates = {
            f"x{k}": Predicate(f"x{k}", (), tuple(map(str, range(max(2, values)))))
            for k, values in enumerate(ranges.tolist())
        }
        facts = {
            f"x{k}": Relation(np.zeros((1, 0), np.int64), np.array([value]))
            for k, value in {**dict.fromkeys(single, 0), **observed}.items()
        }
        atoms = AtomTable(np.arange(len(ranges)), np.zeros((len(ranges), 0), np.int64))
        model = Model({}, predicates, name=self.name, files=self.files)
        return Problem(model, Evidence(model, facts), {}), atoms


def _sizes(counts: Sequence[tuple[int, int]], word: str, noun: str) -> str:
    return ", ".join(f"{n} {word} {counted(size, noun)}" for size, n in counts) or "none"


@limited("reading the network")
def load_network(
    path: str | os.PathLike[str], *, untrusted: bool = False, limits: Limits | None = None
) -> Network:
    """Read a Markov random field in the format that the extension of the file names.

    Packed files are read up to 256 MB unpacked, and those of strangers (`untrusted`) up to 16 MB.

    >>> import pathlib
    >>> import tempfile
    >>> import liftgbp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "coin.uai")
    ...     _ = path.write_text("MARKOV 1  2  1  1 0  2  1 3")
    ...     network = liftgbp.load_network(path)
    >>> round(liftgbp.infer(network).marginal("x0", "1"), 6)
    0.75
    """
    path = checked_path("the network", path)
    untrusted = checked_flag("untrusted", untrusted)
    most = LARGEST_UNTRUSTED if untrusted else None
    ground = READERS[_extension(path)](path, most)
    _check_values(path, ground)
    return Network(str(path), ground, untrusted, (str(path.absolute()),))


MOST_VALUES, MOST_VALUES_TOGETHER = 2**20, 2**26
"""Values of one variable, and of all together: each value has a name, and a few bytes of a file can
declare a billion of them."""


def _check_values(path: Path, network: GroundNetwork) -> None:
    most = int(network.ranges.max(initial=0))
    if most > MOST_VALUES:
        raise CapacityError(f"{path}: a variable has {most} values, more than {MOST_VALUES}")
    together = sum(network.ranges.tolist())
    if together > MOST_VALUES_TOGETHER:
        raise CapacityError(
            f"{path}: the variables have {together} values, more than {MOST_VALUES_TOGETHER}"
        )


def write_network(
    network: GroundNetwork, path: str | Path, names: Sequence[str] | None = None
) -> None:
    """Write a network in the format that the extension of the file names."""
    WRITERS[_extension(path)](network, path, names)


def check_target(path: Path) -> tuple[Path, Path]:
    """The files that are written: the network, and the names of its atoms.

    Refuses one that could not be written, before there is a network to write.
    """
    _extension(path)
    check_place(path)
    check_place(names_path(path))
    return path, names_path(path)


def _extension(path: str | Path) -> str:
    extension = without_gz(Path(path)).suffix.lower()
    if extension not in READERS:
        raise InputError(
            f"cannot tell the format of {path}: its extension must be {' or '.join(READERS)}, "
            "with or without .gz"
        )
    return extension
