"""Answers that mix minima with different blocks, each with the weight of all ways to form them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from functools import cached_property

import numpy as np

from liftgbp.lift.shatter import Shattering
from liftgbp.lift.shatter.normal import ObjAtom
from liftgbp.lift.shatter.splitting import Cell
from liftgbp.methods.blocks.block_search import Found, find_blocks
from liftgbp.methods.blocks.branches import Branch, Branches
from liftgbp.methods.blocks.curvature import (
    WORK_OF_REGION,
    HalvesJudge,
    divided,
    size_of_parts,
)
from liftgbp.methods.blocks.labels import best_mixture
from liftgbp.methods.blocks.products import ROUNDING, MeanField
from liftgbp.methods.counting.count_mixture import CountMixture
from liftgbp.methods.counting.points import exact_offset
from liftgbp.methods.counting.space import DIGITS
from liftgbp.model.ast import applied
from liftgbp.posterior import (
    BlockStructure,
    ClassReader,
    MixedResult,
    Posterior,
    Result,
    Source,
)
from liftgbp.posterior.block_table import ClassTable, class_names
from liftgbp.posterior.count_cases import Counted, CountedCase
from liftgbp.posterior.readers import variable_names
from liftgbp.solve import (
    NO_BLOCKS,
    Descent,
    Finding,
    Flaw,
    IndependentAtoms,
    KnownWorlds,
    Remedy,
    Solution,
    exact_logs_z,
)
from liftgbp.solve.energy import rounding_hides_entropy
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import InternalError
from liftgbp.support.progress import Progress, silent

NEGLIGIBLE = 25.0
"""Products whose worth falls short of the best by more than this, in nats, are not followed. Where
rounding hides minima, the worst of them may seem to be the best (friends-knows over 1e12)."""

WORK_OF_DESCENT = 1.0
"""What descent from a product takes, for each belief and pair of equations, as `solve.work_of`
counts work; measured on three blocks of the transitive relation, where facts name up to four
people."""

SMALLEST_SHARE = 1e-12
"""Points with a smaller share are left out of the mixture."""


@dataclass(frozen=True, eq=False, slots=True)
class Mixture(Source):
    """Several readers with their shares."""

    parts: tuple[tuple[float, ClassReader], ...]

    def holds(self, atom: ObjAtom) -> bool:
        """Any of its parts may know about an atom."""
        return True

    def joint(self, atoms: Sequence[ObjAtom]) -> Floats:
        """The joint distribution of atoms: the mean over all parts."""
        mean = np.asarray(sum(share * reader.joint(atoms) for share, reader in self.parts))
        # Beliefs at neighbouring sizes are extrapolated, so that sums are one to some digits only.
        return np.asarray(mean / mean.sum())

    def counted(self, case: CountedCase, reader: ClassReader) -> Counted:
        """How likely each number of objects is, given the blocks that they are in."""
        found = [reader.counted(case) for _, reader in self.parts]
        mixed = sum(share * own.chances for (share, _), own in zip(self.parts, found, strict=True))
        return Counted(np.asarray(mixed), any(own.estimated for own in found))


@dataclass(frozen=True, slots=True)
class Bound:
    """What log Z is at least, since some independent atoms or worlds reach it."""

    log_z: float
    slack: float
    by: IndependentAtoms | KnownWorlds = NO_BLOCKS

    def judge(self, answers: Posterior) -> Posterior:
        """Answers that are refused if their log Z is below the bound."""
        verdict = answers.result.verdict
        if not self.log_z > verdict.log_z_bound:
            return answers
        judged = verdict.bounded_by(self.log_z, self.by, self.slack)
        return answers.judged(judged)


def with_blocks(
    answers: Posterior,
    shattering: Shattering,
    most: Mapping[int, int],
    descent: Descent,
    *,
    mix: bool = True,
    most_work: float = math.inf,
    progress: Progress = silent,
) -> tuple[Posterior, Bound]:
    """Answers mixed with minima at which blocks differ, and the bound of products over blocks.

    `answers` are those with one block per class. `most` is the largest number of blocks of each
    class of the shattering. Where no such minimum is found, or if they are not to be mixed, answers
    stay as they are, but for what the bound says about them. What would take more than `most_work`
    is left out.
    """
    with localcontext(Context(prec=DIGITS)):
        return _Mixer(answers, shattering, most, descent, most_work, progress).run(mix)


class _Mixer:
    def __init__(
        self,
        answers: Posterior,
        shattering: Shattering,
        most: Mapping[int, int],
        descent: Descent,
        most_work: float,
        progress: Progress,
    ) -> None:
        self._answers = answers
        self._shattering = shattering
        self._most = most
        self._descent = descent
        self._most_work = most_work
        self._progress = progress
        reader = answers.reader
        if not isinstance(reader, ClassReader):
            raise InternalError("blocks split classes of objects")
        self._reader = reader
        self._prepared = reader.prepared
        # With a sum over counts, objects are split at the most likely counts.
        self._normal = reader.prepared.graph.normal
        self._field = MeanField(self._normal)

    def run(self, mix: bool) -> tuple[Posterior, Bound]:
        answers, bound = self._found(mix)
        if answers.sound and rounding_hides_entropy(self._prepared.plan, self._descent.tolerances):
            verdict = answers.result.verdict.contradicted_by(Finding(Flaw.HIDDEN_BLOCKS))
            answers = answers.judged(verdict)
        return answers, bound

    def _found(self, mix: bool) -> tuple[Posterior, Bound]:
        # Regions that share nothing are exact.
        if not self._field.kinds or not self._prepared.plan.layout.message_entries:
            return self._answers, Bound(-math.inf, 0.0)
        self._progress("looking for blocks", 0, 1)
        # Classes of the normal form are split as those of the shattering that they are part of.
        cells = (self._cell_of[cls] for cls in range(len(self._normal.classes)))
        most = [self._most.get(cls, 1) for cls, _ in cells]
        found = find_blocks(self._field, most, most_work=self._most_work)
        if not found:
            return self._answers, Bound(-math.inf, 0.0)
        bound = self._bound(found)
        paying = [own for own in found[1:] if mix and not own.alike]
        if paying:
            answers = self._of_costly_product(max(paying, key=lambda own: own.total), bound)
            if answers is not None:
                return answers, bound
        followed = [own for own in paying if self._is_cheap(own)]
        best = max((own.total for own in followed), default=0.0)
        least = best - NEGLIGIBLE - ROUNDING * abs(best)
        branches = [
            branch
            for own in followed
            if own.total > least
            for branch in self._branches(own).of(own, self._reached(found))
        ]
        answers = bound.judge(self._mixed(branches) if branches else self._answers)
        if mix and answers.result.verdict.shortfall(answers.result.log_z):
            # The mean field is not worse than anything else (the chain over 10 objects).
            cheap = [own for own in paying if self._is_cheap(own)]
            if cheap:
                answers = self._of_product(max(cheap, key=lambda own: own.total), bound) or answers
        return answers, bound

    def _of_product(
        self, found: Found, bound: Bound, why: Flaw = Flaw.NO_BETTER_MINIMUM
    ) -> Posterior | None:
        """The answers of a product over blocks; none if it reaches less than the bound."""
        branches = self._branches(found).product(found, why)
        if not branches:
            return None
        answers = bound.judge(self._mixed(branches, alone=True))
        return answers if answers.sound else None

    def _of_costly_product(self, found: Found, bound: Bound) -> Posterior | None:
        """The answers of the best product where descent from it takes too long.

        None if they are worth less than those with one block, as the free energy may know better.
        Facts that name a few objects make regions many, and blocks pay none the less.
        """
        if self._is_cheap(found) or self._works(found)[0] > self._most_work:
            return None
        answers = self._of_product(found, bound, Flaw.COSTLY_MINIMUM)
        if answers is None or answers.result.log_z < self._answers.result.log_z:
            return None
        return answers

    def _is_cheap(self, found: Found) -> bool:
        return sum(self._works(found)) <= self._most_work

    def _works(self, found: Found) -> tuple[float, float]:
        """What it takes to build the regions over blocks, and to descend from a product."""
        blocks = dict(enumerate(found.products.blocks))
        regions, step = size_of_parts(self._prepared, blocks)
        return WORK_OF_REGION * regions, WORK_OF_DESCENT * step

    # --- classes and cells

    @cached_property
    def _cell_of(self) -> dict[int, Cell]:
        """The cell of the shattering's classes that each class of the normal form is."""
        source = self._reader.source
        if not isinstance(source, CountMixture):
            return {cls: (cls, 0) for cls in range(len(self._normal.classes))}
        best, _ = source.likely
        return {cls: cell for cell, cls in best.base.class_of.items()}

    def _branches(self, found: Found) -> Branches:
        number = {cell: cls for cls, cell in self._cell_of.items()}
        blocks = {cell: found.products.blocks[cls] for cell, cls in number.items()}
        source = self._reader.source
        counted = source.split.splits if isinstance(source, CountMixture) else ()
        known = {own.cls: own.cells for own in counted}
        split, origin = divided(self._shattering, known, lambda cell: blocks.get(cell, 1))
        places = {
            place: (number[cell], block)
            for place, (cell, block) in origin.items()
            if cell in number
        }
        regions = self._prepared.graph.family
        return Branches(split, self._field, places, regions, self._descent)

    # --- the answers

    def _reached(self, found: Sequence[Found]) -> float:
        """What the best product reaches alone, as a branch does."""
        values = [float(self._field.bounds(own.products)[0]) for own in found]
        return self._prepared.plan.log_offset + max(values)

    def _bound(self, found: Sequence[Found]) -> Bound:
        """The best of what products reach, mixed in all ways to put objects into blocks."""
        values = [float(self._field.bounds(own.products)[0]) for own in found]
        reached, by = best_mixture(found, values, self._field)
        log_z = self._prepared.plan.log_offset + reached
        return Bound(log_z, self._descent.tolerances.slack_of(log_z), by)

    def _mixed(self, branches: list[Branch], *, alone: bool = False) -> Posterior:
        """The branches mixed with the answers of one block, unless they stand alone."""
        base = self._answers
        parts: list[tuple[Decimal, ClassReader]] = [(b.log_weight, b.reader) for b in branches]
        # The answer with one block may be trusted, though halves of classes may differ.
        judge = HalvesJudge(self._shattering, self._descent.tolerances, self._most_work)
        if not alone and judge.judge(base).sound:
            parts.append((self._base_weight(), self._reader))
        shares, total = _shares([weight for weight, _ in parts])
        kept = [
            (share, reader)
            for share, (_, reader) in zip(shares, parts, strict=True)
            if share > SMALLEST_SHARE
        ]
        ordered = sorted(zip(shares, branches, strict=False), key=lambda pair: -pair[0])
        structures = tuple(
            self._structure(branch, share) for share, branch in ordered if share > SMALLEST_SHARE
        )
        if not structures:
            return base
        top = ordered[0][1]
        reader = ClassReader(top.prepared, Mixture(tuple(kept)), self._reader.normal)
        result = self._result(top, branches, float(total))
        return replace(base, reader=reader, result=result).made_of(blocks=structures)

    def _result(self, top: Branch, branches: Sequence[Branch], log_z: float) -> Result:
        """How the run ended, by the branch with the largest share."""
        solution, own = top.solution, self._answers.result
        summed = bool(self._answers.provenance.sums.predicates)
        return MixedResult(
            solver=solution.solver,
            status=solution.status,
            iterations=max(own.iterations, *(b.solution.iterations for b in branches)),
            residual=solution.residual,
            log_z=log_z,
            verdict=solution.verdict,
            flaw=solution.flaw,
            remedies=own.remedies if summed else (Remedy.REGIONS,),
        )

    def _base_weight(self) -> Decimal:
        result = self._answers.result
        if not isinstance(result, Solution):
            return Decimal(result.log_z)
        prepared = self._prepared
        log_z = exact_logs_z([prepared.plan], [result], self._descent.tolerances)[0]
        return log_z.value + exact_offset(prepared.graph)

    def _structure(self, branch: Branch, share: float) -> BlockStructure:
        classes = list(zip(class_names(self._normal), branch.sizes, strict=True))
        tables = [self._table(branch, pattern) for pattern in self._field.ties.patterns]
        return BlockStructure.of(
            classes,
            tables,
            share=share,
            information=branch.information,
            log_z=branch.solution.log_z,
        )

    def _table(self, branch: Branch, pattern: ObjAtom) -> ClassTable:
        """The probabilities of an atom, which another one may decide."""
        predicate, args = pattern
        objects = list(dict.fromkeys(args))
        tied = self._field.ties.of(pattern, objects)
        decides = branch.products.chances[tied.kind][0]
        back = np.argsort(tied.places)
        table = decides.transpose(*back, len(objects))[..., np.argsort(tied.values)]
        declared = self._normal.predicates[predicate]
        names = variable_names(len(objects))
        return ClassTable(
            applied(declared.name, [names[objects.index(obj)] for obj in args]),
            declared.values,
            names,
            tuple(cls for cls, _ in objects),
            table,
        )


def _shares(log_weights: Sequence[Decimal]) -> tuple[list[float], Decimal]:
    """The shares that log weights give, and the log of their sum."""
    top = max(log_weights)
    weights = [(own - top).exp() for own in log_weights]
    total = sum(weights, Decimal(0))
    return [float(own / total) for own in weights], top + total.ln()
