"""The sum over how many objects have a property.

Atoms about one object may carry fluctuations of the whole domain that no small region sees: how
many people smoke? For each count the objects split into classes of those that have the property
and those that have not, its atoms are evidence, and Z is the sum over all counts of the number of
ways to choose the objects times the Z of what is left. The atoms are those of unary predicates, and
those on the diagonal of others, r(x,x).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from decimal import Decimal

import numpy as np

from liftgbp.lift.regions import Family, build_regions
from liftgbp.lift.shatter import (
    Shattering,
    SplitShattering,
    splits_by_value,
)
from liftgbp.lift.shatter.normal import NormalParfactor, ObjAtom
from liftgbp.methods.counting.count_mixture import CountMixture, Part
from liftgbp.methods.counting.peaks import Weighed, check_space, weigh
from liftgbp.methods.counting.points import CountedModel
from liftgbp.methods.counting.space import DIGITS, Counts
from liftgbp.model.ast import BOOLEAN, Predicate, applied
from liftgbp.model.model import Model
from liftgbp.plan import Layout, compile_plan
from liftgbp.posterior import CountSum, MixedResult, Posterior, PreparedLifted, Provenance
from liftgbp.posterior.results import Choice, ChoiceKind
from liftgbp.solve import (
    Auto,
    Descent,
    Finding,
    Flaw,
    Flooding,
    Remedy,
    Solver,
    Status,
    solver_for,
    work_of,
)
from liftgbp.support.errors import CapacityError, ContradictionError, InputError
from liftgbp.support.progress import Progress, silent

GAIN = 1e-9
"""The relative change of log Z from which on `auto` prefers a sum: smaller ones are rounding."""

MOST_UNTRUSTED = 1e-6
"""A sum is trusted if the counts that cannot be trusted have at most this share in it: less than
what probabilities are printed with."""

ALIKE = 1.0
"""Weights are alike if their logs differ by less: a minimum that takes the place of another one
changes log Z by far more, and rounding by far less."""

POINTS, MORE_POINTS = 200, 8
"""A sum over one free count visits about this many points, and this many times as many for each
other one; of an object that facts name, both values."""

WORK_OF_PARFACTOR = 3e5
"""What it takes to prepare a parfactor at some counts, and to solve it, in units of `work_of`."""

WORK_OF_BATCH, WORK_OF_ITERATION = 2e7, 1.2e7
"""What it takes to start a batch of points, and for an iteration of its descent with its share of
the proofs that follow, in the same units. In large domains counts are climbed in many small
batches."""

WORK_OF_FLOODING = 2e4
"""What it takes to flood a point, for each belief entry: a thousand iterations from all starts."""

FEW_PREDICATES = 4
"""Up to this many predicates, work is limited for the sum over each; more of them share it."""

MOST_ITERATIONS = 100
"""Where work is limited, descent ends after this many iterations. At counts near zero it may not
settle at all (`example:married` over 1e6 people)."""

DIGITS_BEHIND = 12
"""The digits of exponents behind the point that a sum needs: weights are compared by differences.
Friends-smokers over 1e60 people has its peaks in the wrong places without them."""

REMEDIES = (Remedy.BLOCKS, Remedy.REGIONS)
"""What to try if a sum cannot be trusted."""


class Summer:
    """Sums over the counts of predicates, as long as that takes no more than some work.

    Unless it is `patient`, descent ends early then, so that no single count takes too long.
    """

    def __init__(
        self,
        shattering: Shattering,
        regions: Family,
        solver: Solver,
        progress: Progress = silent,
        most_work: float = math.inf,
        *,
        patient: bool = False,
    ) -> None:
        self._shattering = shattering
        self._most_work = most_work
        self._regions = regions
        self._solver = solver
        if not math.isinf(most_work):
            self._solver = _less_patient(solver, math.inf if patient else MOST_ITERATIONS)
        self._progress = progress
        self.spent = 0.0
        """What solving took so far, in units of `work_of`; a batch for every layout."""

    def on(self, names: Sequence[str]) -> Posterior:
        """The answers summed over the counts of these predicates."""
        known = self._shattering.model
        counted = tuple(dict.fromkeys(_counted(known, name) for name in names))
        names = [_name(known.predicates[own]) for own in counted]
        split = SplitShattering(self._shattering, splits_by_value(self._shattering, counted))
        for number, (name, predicate) in enumerate(known.predicates.items()):
            unobserved = any(p == number for own in split.splits for p, _ in own.cells[0])
            if name in counted and not unobserved:
                raise InputError(
                    f"all atoms of {_name(predicate)} are observed, so their count is known; sum "
                    "over another predicate, or leave sum_over out"
                )
        model = CountedModel(split, self._regions, self._solver)
        try:
            check_space(model.space)
        except CapacityError as error:
            raise self._about(names, error) from None
        work_of_point = self._work_of_point(model)
        spent = 0.0

        def exponents(points: Sequence[Counts]) -> list[Decimal]:
            nonlocal spent
            if spent > self._most_work:
                raise _too_much_work()
            self._progress(
                "summing over counts", len(model.solved), len(model.solved) + len(points)
            )
            found = model.exponents(points)
            _check_digits(found)
            solved = (model.solved[own].solution for own in points if own in model.solved)
            iterations = max((own.iterations for own in solved), default=0)
            spent += work_of_point * len(points)
            if iterations:
                spent += WORK_OF_BATCH + WORK_OF_ITERATION * iterations
            self.spent += _work_of_batches(model, points)
            return found

        try:
            weighed = weigh(model.space, exponents, model.is_rough)
        except CapacityError as error:
            raise self._about(names, error) from None
        if weighed is None:
            raise model.impossible or ContradictionError("no count was found that is possible")
        return _answers(names, model, weighed)

    @staticmethod
    def _about(names: Sequence[str], error: CapacityError) -> CapacityError:
        return CapacityError(f"the sum over {', '.join(names)}: {error.message}")

    def _work_of_point(self, model: CountedModel) -> float:
        """What it takes to prepare a point; sums with too many points are refused.

        Their number is a guess. How many iterations it takes to solve them is not known before.
        """
        if not math.isfinite(self._most_work):
            return 0.0
        each = (
            min(own.number(own.size), MORE_POINTS ** (own.cells - 1)) for own in model.space.classes
        )
        points = min(model.space.number, POINTS * math.prod(each) // MORE_POINTS)
        # Known values may leave few of those that have to be looked at at each point: of 43, six
        # smokers with friends leave 7.
        least = max(1, len(self._shattering.normal().parfactors))
        if points * least * WORK_OF_PARFACTOR > self._most_work:
            raise _too_much_work()
        solving = 0.0
        try:
            prepared = model.at(model.space.middle).prepared
            parfactors = len(prepared.graph.normal.parfactors)
            solving = self._work_of_solving(prepared.plan.layout)
        except ContradictionError:
            # Other counts may be possible, with as many parfactors as there are ways to split.
            cells = {own.cls: len(own.cells) for own in model.split.splits}
            parfactors = sum(_ways_to_split(p, cells) for p in self._shattering.normal().parfactors)
        work = max(parfactors, least) * WORK_OF_PARFACTOR + solving
        if points * work > self._most_work:
            raise _too_much_work()
        return work

    def _work_of_solving(self, layout: Layout) -> float:
        """What it takes to solve a point: by descent, or by flooding where that comes first."""
        solver = solver_for(self._solver, layout)
        if isinstance(solver, Descent):
            return work_of(layout, solver)
        return WORK_OF_FLOODING * layout.belief_entries

    def auto(self, plain: Posterior | None = None) -> Posterior:
        """The answers summed over the counts of the predicate that changes log Z most.

        A sum that is exact where plain answers are not comes first, whether it changes log Z or
        not: larger regions could not improve on it. `plain` are the answers without a sum, if they
        are known.
        """
        plain = self._plain() if plain is None else plain
        changes: dict[str, float] = {}
        found: dict[str, Posterior] = {}
        candidates = self._candidates()
        # What all of them take together is limited, too.
        part = copy(self)
        part._most_work *= min(1.0, FEW_PREDICATES / max(1, len(candidates)))
        for name in candidates:
            try:
                found[name] = part.on((name,))
            except CapacityError:
                continue
            if not found[name].approximate and plain.plan.layout.message_entries:
                return with_choice(found[name], Choice(ChoiceKind.EXACT, name))
            changes[name] = found[name].result.log_z - plain.result.log_z
        worth = GAIN * max(1.0, abs(plain.result.log_z))
        best = max(changes, key=lambda name: abs(changes[name]), default=None)
        if best is None or not abs(changes[best]) > worth:
            kind = ChoiceKind.NO_CHANGE if changes else ChoiceKind.NO_CANDIDATE
            return with_choice(plain, Choice(kind, changes=tuple(changes.items())))
        choice = Choice(ChoiceKind.LARGEST_CHANGE, best, tuple(changes.items()))
        return with_choice(found[best], choice)

    def _plain(self) -> Posterior:
        graph = build_regions(self._shattering.normal(), self._regions)
        plan = compile_plan(graph)
        return Posterior.of(PreparedLifted(graph, plan), self._solver(plan))

    def _candidates(self) -> list[str]:
        """Unary Boolean predicates in the factors, without those that another one settles.

        More values, and diagonals, are for those who name them: their sums rarely pay.
        """
        normal = self._shattering.normal()
        mentioned = {predicate for p in normal.parfactors for predicate, _ in p.atoms}
        possible = [
            number
            for number, predicate in enumerate(normal.predicates)
            if number in mentioned and len(predicate.sorts) == 1 and predicate.values == BOOLEAN
        ]
        kept = list(possible)
        for number in reversed(possible):
            scopes = [
                p.atoms for p in normal.parfactors if any(own == number for own, _ in p.atoms)
            ]
            if any(_settles(scopes, other, number) for other in kept if other != number):
                kept.remove(number)
        return [normal.predicates[number].name for number in kept]


def _work_of_batches(model: CountedModel, points: Sequence[Counts]) -> float:
    """What it took to solve some points; those with one layout are a batch."""
    longest: dict[int, int] = {}
    for own in (model.solved[point] for point in points if point in model.solved):
        batch = id(own.base)
        longest[batch] = max(longest.get(batch, 0), own.solution.iterations)
    return sum(WORK_OF_BATCH + WORK_OF_ITERATION * own for own in longest.values())


def _less_patient(solver: Solver, most_iterations: float) -> Solver:
    match solver:
        case Auto():
            # Counts at which flooding fails are refused: descent would take too long there.
            descent = _shorter(solver.descent, most_iterations)
            return replace(solver, descent=descent, most_patience=0.0)
        case Descent():
            return _shorter(solver, most_iterations)
        case Flooding():
            return solver


def _shorter(descent: Descent, most_iterations: float) -> Descent:
    return replace(descent, iterations=int(min(descent.iterations, most_iterations)))


def _too_much_work() -> CapacityError:
    return CapacityError("the sum over counts takes more effort")


def _check_digits(exponents: Sequence[Decimal]) -> None:
    """Refuse exponents so large that no digits are left to tell them apart."""
    largest = max((own.adjusted() for own in exponents if own.is_finite()), default=0)
    if largest > DIGITS - DIGITS_BEHIND:
        raise CapacityError(
            f"the logarithms of weights are as large as 1e{largest}, and {DIGITS} digits do not "
            "tell such numbers apart; use smaller domains, or no sum"
        )


def _settles(scopes: Sequence[Sequence[ObjAtom]], counted: int, other: int) -> bool:
    """Whether atoms of one predicate alone connect each atom of another with the rest.

    Where these are known, the other atoms are independent, and the sum over their counts is exact.
    `scopes` are those of the factors about the other predicate.
    """
    return all(
        {predicate for predicate, _ in atoms} <= {counted, other}
        and len([own for own, _ in atoms if own == other]) == 1
        for atoms in scopes
    )


def _ways_to_split(parfactor: NormalParfactor, cells: Mapping[int, int]) -> int:
    """Into how many parfactors one becomes if its classes are split into cells, at most."""
    objects = {obj for _, args in parfactor.atoms for obj in args}
    return math.prod(cells.get(cls, 1) for cls, _ in objects)


def _can_be_counted(predicate: Predicate) -> bool:
    return len(set(predicate.sorts)) == 1


def _name(predicate: Predicate) -> str:
    """How a user names what is counted.

    >>> _name(Predicate("smokes", ("person",))), _name(Predicate("likes", ("person", "person")))
    ('smokes', 'likes(x,x)')
    """
    arity = len(predicate.sorts)
    return predicate.name if arity == 1 else applied(predicate.name, ["x"] * arity)


def _counted(model: Model, text: str) -> str:
    """The predicate of atoms about one object: `smokes`, `smokes(x)` or `likes(x,x)`."""
    possible = [_name(p) for p in model.predicates.values() if _can_be_counted(p)]
    others = f"; possible here: {', '.join(possible)}" if possible else ""
    name, _, arguments = text.partition("(")
    predicate = model.predicates.get(name.strip())
    if predicate is None:
        raise InputError(f"cannot sum over {text}: the model has no such predicate{others}")
    arity = len(predicate.sorts)
    given = [own.strip() for own in arguments.rstrip(" )").split(",")] if arguments else []
    on_diagonal = len(given) == arity and len(set(given)) == 1
    if not _can_be_counted(predicate) or not (on_diagonal or (arity == 1 and not given)):
        raise InputError(f"cannot sum over {text}: counts are for atoms about one object{others}")
    return predicate.name


def _answers(names: Sequence[str], model: CountedModel, weighed: Weighed) -> Posterior:
    best = max(weighed.shares, key=weighed.shares.__getitem__)
    top = model.solved[best].solution
    doubtful = {c: share for c, share in weighed.shares.items() if model.solved[c].flaw}
    doubtful = _left_out(model, weighed) | doubtful | _too_light(model, weighed)
    untrusted = min(1.0, sum(doubtful.values()))
    status, flaw = Status.CONVERGED, None
    if untrusted > MOST_UNTRUSTED:
        worst = max(doubtful, key=doubtful.__getitem__)
        solved = model.solved[worst]
        status = Status.NO_MINIMUM if solved.status is Status.CONVERGED else solved.status
        cause = solved.flaw or Finding(Flaw.OTHER_SOLUTION)
        flaw = Finding(Flaw.COUNTS, (untrusted,), about=model.words(worst), cause=cause)
    sums = CountSum(
        predicates=tuple(names),
        visited=weighed.visited,
        peaks=tuple((model.words(peak.counts), peak.share) for peak in weighed.peaks),
        untrusted=untrusted,
        exact=not model.overlaps,
    )
    result = MixedResult(
        solver=top.solver,
        status=status,
        iterations=max(model.solved[counts].solution.iterations for counts in weighed.shares),
        residual=top.residual,
        log_z=float(weighed.log_total),
        verdict=top.verdict,
        flaw=flaw,
        remedies=REMEDIES,
    )
    mixture = CountMixture(model.split, _parts(model, weighed))
    return Posterior(mixture.reader(model.at(best).prepared), result, Provenance(sums=sums))


def _parts(model: CountedModel, weighed: Weighed) -> tuple[Part, ...]:
    """The visited counts, those with one layout together."""
    members: dict[int, list[Counts]] = {}
    for counts in weighed.shares:
        members.setdefault(id(model.solved[counts].base), []).append(counts)
    return tuple(
        Part(
            model.solved[own[0]].base,
            tuple(own),
            np.array([weighed.shares[counts] for counts in own]),
            np.exp([model.solved[counts].solution.log_beliefs for counts in own]),
        )
        for own in members.values()
    )


def _left_out(model: CountedModel, weighed: Weighed) -> dict[Counts, float]:
    """Counts at which the solver trusts another solution than at the most likely ones.

    If a point that it did not trust would give them a weight like that of the most likely counts,
    but no more, it may be the one that was trusted there. Each comes with that weight.
    """
    found = {}
    for counts, solved in model.solved.items():
        if not solved.solution.points:
            continue
        log_share = float(solved.rejected - weighed.log_total)
        if solved.rejected <= solved.exponent + Decimal(ALIKE):
            continue
        if math.log(MOST_UNTRUSTED) < log_share < ALIKE:
            found[counts] = min(1.0, math.exp(log_share))
    return found


def _too_light(model: CountedModel, weighed: Weighed) -> dict[Counts, float]:
    """Counts at which log Z falls short of a bound, with the share that they have at least."""
    found = {}
    for counts, solved in model.solved.items():
        short = solved.solution.verdict.shortfall(solved.solution.log_z)
        if short:
            log_share = float(solved.exponent + Decimal(short) - weighed.log_total)
            if log_share > math.log(MOST_UNTRUSTED):
                found[counts] = math.exp(min(0.0, log_share))
    return found


def with_choice(answers: Posterior, choice: Choice | None) -> Posterior:
    """Answers with why their predicates were chosen, or why none was."""
    return answers.made_of(sums=replace(answers.provenance.sums, chosen=choice))
