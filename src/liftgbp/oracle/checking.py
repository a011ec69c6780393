"""Checking an answer: beside the exact value where that can be had, else beside a sample.

Where neither is possible, the answer of a smaller domain is checked instead, by the same method.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from liftgbp.api import infer
from liftgbp.evidence import AnyEvidence, Evidence
from liftgbp.ground.formats import Network
from liftgbp.ground.grounding.from_classes import ground_factors
from liftgbp.lift.shatter import shatter
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.methods.sampling import Sample, sample
from liftgbp.model.model import Model, check_model
from liftgbp.oracle import reference
from liftgbp.oracle.messages import ground_atom_of
from liftgbp.pictures.cards import BAD, DOUBTFUL, Shown, badge
from liftgbp.pictures.markup import Content
from liftgbp.posterior import ClassReader
from liftgbp.posterior.answer import read_row
from liftgbp.posterior.count_queries import asks_for_count, listed_counts
from liftgbp.posterior.ground_reader import PreparedGround
from liftgbp.posterior.lookup import conditional_table
from liftgbp.posterior.opinions import Comparison, Opinion, OpinionRow
from liftgbp.report import Answers
from liftgbp.report.cards_of_engines import body
from liftgbp.solve import Kind
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import (
    CapacityError,
    InputError,
    SizeError,
    check_function,
    checked_number,
    checked_seconds,
    checked_texts,
)
from liftgbp.support.limits import Limits, limited
from liftgbp.support.progress import Progress, silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECONDS = 10.0
"""How long a sample takes, unless something else is asked for."""

MOST_FACTORS = 60_000
"""The most ground factors of a model that is sampled: the transitive relation over 40 objects, of
which 64 chains make some 50 sweeps a second."""

FEW_FACTORS, FEW_STATES = 5000, 2**20
"""Exact answers of models up to this size are compared with those of the reference, which is
slow."""

SMALLER = (500, 200, 100, 80, 60, 50, 40, 30, 20, 15, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1)
"""The sizes of domains that are tried where a model is too large for a second opinion."""


@dataclass(frozen=True, eq=False, slots=True)
class ExactInference:
    """Exact inference by the reference, as a second opinion on exact answers."""

    opinion: Opinion

    @classmethod
    def about(
        cls, ground: reference.GroundModel, answers: Answers, queries: Sequence[str]
    ) -> ExactInference:
        """What the reference says about the rows of some queries, or about every predicate.

        What is too large for it raises a `CapacityError`.
        """
        reader, name = answers.posterior.reader, ground_atom_of(answers)
        exact = reference.exact(ground, FEW_STATES)

        def joint(atoms: Sequence[ObjAtom]) -> Floats:
            shape = [len(reader.values(atom)) for atom in atoms]
            return _joint(ground, exact, [name(atom) for atom in atoms], shape)

        counts = [text for text in queries if asks_for_count(text, reader)]
        texts = (
            ((text, row) for text in queries if text not in counts for row in reader.rows(text))
            if queries
            else reader.rows_of_everything()
        )
        rows = [
            OpinionRow(own.query, own.atom, own.where, own.values)
            for text in counts
            for own in listed_counts(reader, text, joint)
        ]
        for text, row in texts:
            answered = read_row(text, row, [reader])[0]
            values = answered.values
            atoms = [name(atom) for atom in row.every]
            # A row on the ground may stand for all atoms that are false since nothing is said.
            if all(atom in ground.ranges or atom in ground.observed for atom in atoms):
                table = joint(row.every)[None]
                if row.event is not None:
                    table = row.event.folded(table, len(row.given))
                if row.conditional:
                    table = conditional_table(table, len(row.given))
                values = dict(zip(values, map(float, table.ravel()), strict=True))
            rows.append(OpinionRow(answered.query, answered.atom, answered.where, values))
        return cls(Opinion("independent exact inference", rows, exact.log_z))

    def opinion_on(self, answers: object, queries: Sequence[str]) -> Opinion:
        """The opinion on the answers that it was made for."""
        return self.opinion


def _joint(
    ground: reference.GroundModel,
    exact: reference.ExactValues,
    atoms: Sequence[reference.GroundAtom],
    shape: Sequence[int],
) -> Floats:
    """The joint distribution of atoms, some of which may be observed, or equal."""
    unknown = [atom for atom in dict.fromkeys(atoms) if atom not in ground.observed]
    if len(unknown) == 1:
        known = exact.marginals[unknown[0]]
    else:
        known = reference.exact_joint(ground, unknown, FEW_STATES) if unknown else np.ones(())
    table = np.zeros(shape)
    for state in np.ndindex(*known.shape):
        value = ChainMap(dict(zip(unknown, state, strict=True)), dict(ground.observed))
        table[tuple(value[atom] for atom in atoms)] += known[state]
    return table


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Check(Shown):
    """An answer beside a second opinion.

    `answers` are the answers that were asked for. `comparison` puts them, or those over the smaller
    domains `sizes` (`compared`), beside `second`: exact answers or a sample. It is missing where no
    second opinion could be had; `note` says why.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> check = liftgbp.check(model, {"person": 6})
    >>> check.method, check.agrees, check.sizes
    ('exact', True, {'person': 6})
    """

    answers: Answers
    compared: Answers
    second: Answers | Sample | ExactInference | None
    comparison: Comparison | None
    note: str

    @property
    def method(self) -> str | None:
        """What the second opinion is: `exact`, a `sample`, or nothing."""
        if self.second is None:
            return None
        return "sample" if isinstance(self.second, Sample) else "exact"

    @property
    def sizes(self) -> dict[str, int]:
        """The domain sizes at which answers were compared."""
        return self.compared.sizes

    @property
    def is_smaller(self) -> bool:
        """Whether the domains had to be smaller than asked for."""
        return self.sizes != self.answers.sizes

    @property
    def agrees(self) -> bool:
        """Whether there is a second opinion, and the answers agree with it."""
        return self.comparison is not None and self.comparison.agrees

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if self.comparison is None:
            return f"no second opinion: {self.note}"
        said = f"the answer {self.comparison.sentence}"
        if not self.is_smaller:
            return said
        here, asked = self._changed(self.sizes), self._changed(self.answers.sizes)
        return f"at {here} {said}; asked for {asked}, which is too large for a second opinion"

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why answers are refused: those that were asked for, and those that were compared."""
        if not self.is_smaller:
            return () if self.answers.flaw is None else (self.answers.reason,)
        return tuple(
            f"at {self._changed(own.sizes)}: {own.reason}"
            for own in (self.answers, self.compared)
            if own.flaw is not None
        )

    def _changed(self, sizes: Mapping[str, int]) -> str:
        """Those sizes that differ between what was asked for and what was compared."""
        changed = [sort for sort in sizes if self.answers.sizes[sort] != self.sizes[sort]]
        return ", ".join(f"{sort} = {sizes[sort]}" for sort in changed)

    def __str__(self) -> str:
        table = [] if self.comparison is None else str(self.comparison).splitlines()[:-1]
        return "\n".join([*table, self.sentence])

    def _headline(self) -> str:
        return f"{self.answers.model.name}: {self.sentence}"

    def _body(self) -> Iterable[Content]:
        yield from (badge(BAD, f"refused: {doubt}") for doubt in self.doubts)
        if self.comparison is None:
            yield badge(DOUBTFUL, self.sentence)
        else:
            yield from body(self.comparison)

    def plot(self) -> Figure:
        """A figure of Matplotlib: each probability beside the second opinion on it."""
        return self._compared.plot()

    def write_picture(self, path: str | os.PathLike[str]) -> None:
        """Write that figure to a `.png`, `.svg` or `.pdf` file."""
        self._compared.write_picture(path)

    @property
    def _compared(self) -> Comparison:
        if self.comparison is None:
            raise InputError(f"there is nothing to draw: {self.sentence}")
        return self.comparison

    def as_dict(self) -> dict[str, object]:
        """The check for JSON."""
        return {
            "model": self.answers.model.name,
            "domains": self.answers.sizes,
            "compared_domains": self.sizes,
            "agrees": self.agrees,
            "sentence": self.sentence,
            "trusted": self.answers.trusted,
            "reason": self.answers.reason,
            "doubts": list(self.doubts),
            "used": self.compared.used,
            "method": self.method,
            "comparison": None if self.comparison is None else self.comparison.as_dict(),
            "note": self.note,
        }


@limited("starting")
def check(
    model: Model | Network,
    sizes: Mapping[str, int] | None = None,
    *,
    evidence: AnyEvidence | Mapping[int, int] | None = None,
    queries: str | Iterable[str] = (),
    seconds: float = SECONDS,
    seed: int = 0,
    limits: Limits | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Check:
    """Answer as `infer` does with these options, and put the answers beside a second opinion.

    That is the exact answer where the model is small enough, and else a sample that takes some
    `seconds`. Where the model is too large for either, the answers over the largest domains that
    allow one are compared. An exact answer is compared with exact inference by other code, or with
    a sample.

    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> found = liftgbp.check(model, {"person": 10}, queries="friends(x,y)", effort="quick")
    >>> print(found.sentence.partition(", in ")[0])
    the answer agrees with the exact answer: the largest difference is 0.00017
    """
    asked = checked_texts("queries", queries)
    check_function("progress", progress)
    checked_number("seed", seed, least=0)
    seconds = checked_seconds(seconds)
    known: Any = evidence
    if not isinstance(model, Network):
        check_model(model)
        known = None if evidence is None else Evidence.of(model, cast(AnyEvidence, evidence))
    checking = _Checking(model, known, asked, seconds, seed, progress, options)
    return checking.as_asked(None if isinstance(model, Network) else sizes)


@dataclass(frozen=True, eq=False, slots=True)
class _Checking:
    model: Model | Network
    evidence: Any
    queries: tuple[str, ...]
    seconds: float
    seed: int
    progress: Progress
    options: dict[str, Any]

    def as_asked(self, sizes: Mapping[str, int] | None) -> Check:
        answers = self._answers(sizes, self.options)
        second, note = self._second(sizes, answers)
        if second is not None:
            comparison = answers.compare(second, self.queries)
            return Check(answers, answers, second, comparison, "")
        if isinstance(self.model, Network):
            return Check(answers, answers, None, None, note)
        return self._smaller(answers, note)

    def _smaller(self, answers: Answers, note: str) -> Check:
        """The check at the largest domains that allow one."""
        # What is exact there is not so at the size that was asked for.
        options = dict(self.options)
        if options.get("exact") is None:
            options["exact"] = False
        for most in SMALLER:
            sizes = {sort: min(size, most) for sort, size in answers.sizes.items()}
            if sizes == answers.sizes:
                continue
            try:
                if not self._fits(sizes):
                    continue
                compared = self._answers(sizes, options)
                second, _ = self._second(sizes, compared)
            except (SizeError, CapacityError):
                continue
            except InputError:
                # Evidence or a query names more objects than that.
                break
            if second is not None:
                comparison = compared.compare(second, self.queries)
                return Check(answers, compared, second, comparison, "")
        if self.evidence is not None:
            note += "; the evidence is about more objects than smaller domains have, so check with "
            note += "a part of it"
        return Check(answers, answers, None, None, note)

    def _answers(self, sizes: Mapping[str, int] | None, options: Mapping[str, Any]) -> Answers:
        call: Callable[..., Answers] = infer
        given = {} if sizes is None else {"sizes": sizes}
        return call(self.model, **given, evidence=self.evidence, progress=self.progress, **options)

    def _second(
        self, sizes: Mapping[str, int] | None, answers: Answers
    ) -> tuple[Answers | Sample | ExactInference | None, str]:
        """Exact answers, or a sample; or why there is neither."""
        exact = self._independent(answers) if answers.verdict.kind is Kind.EXACT else None
        if exact is not None:
            return exact, ""
        if answers.verdict.kind is not Kind.EXACT:
            via = {} if isinstance(self.model, Network) else {"via": answers.via}
            try:
                return self._answers(sizes, {**via, "exact": True}), ""
            except CapacityError:
                pass
        if _factors(answers) > MOST_FACTORS:
            return None, f"the ground model has more than {MOST_FACTORS} factors"
        try:
            drawn = sample(
                self.model,
                sizes,
                evidence=self.evidence,
                answers=answers,
                seconds=self.seconds,
                seed=self.seed,
                progress=self.progress,
            )
        except CapacityError as error:
            return None, error.message
        return drawn, ""

    def _independent(self, answers: Answers) -> ExactInference | None:
        """Exact inference by other code than that of the answers."""
        if _factors(answers) > FEW_FACTORS:
            return None
        if isinstance(self.model, Network):
            ground = as_reference(self.model, self.model.observed(self.evidence))
        else:
            ground = reference.ground(self.model, answers.sizes, self.evidence)
        try:
            return ExactInference.about(ground, answers, self.queries)
        except CapacityError:
            return None

    def _fits(self, sizes: Mapping[str, int]) -> bool:
        """Whether a model has few enough ground factors over smaller domains."""
        if isinstance(self.model, Network):
            return False
        normal = shatter(self.model, sizes, evidence=self.evidence)
        return ground_factors(normal) <= MOST_FACTORS


def as_reference(network: Network, observed: Mapping[int, int]) -> reference.GroundModel:
    """A network as the reference takes it; what is observed is left to the reference."""
    own = network.ground
    ranges = own.ranges.tolist()
    single = {k: 0 for k, values in enumerate(ranges) if values == 1}
    factors = [
        ([f"x{k}" for k in scope], own.tables[table])
        for block in own.blocks
        for scope, table in zip(block.scopes.tolist(), block.table_of.tolist(), strict=True)
    ]
    return reference.ground_factors(
        {f"x{k}": values for k, values in enumerate(ranges)},
        factors,
        {f"x{k}": value for k, value in {**single, **observed}.items()},
        own.log_constant,
    )


def _factors(answers: Answers) -> int:
    """How many ground factors the model of some answers has."""
    reader = answers.posterior.reader
    if isinstance(reader, ClassReader):
        return ground_factors(reader.normal)
    prepared = reader.prepared
    return prepared.graph.network.factors if isinstance(prepared, PreparedGround) else 0
