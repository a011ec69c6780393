"""What was asked for by hand; the effort decides what is left open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from liftgbp.lift.regions import BETHE, GROWING, Family, parse_family
from liftgbp.methods.effort import MOST_STATES, BlocksChoice, Effort, checked_blocks
from liftgbp.solve import Auto, Descent, Flooding, Remedy, Solver
from liftgbp.support.errors import InputError, checked_flag, checked_texts

AUTO = "auto"
"""Leaves the choice of counts or blocks to the method."""


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for by hand; `None` leaves it to the effort."""

    regions: Family | None = None
    sum_over: tuple[str, ...] | None = None
    blocks: BlocksChoice | None = None
    exact: bool | None = None
    solver: Solver | None = None
    seconded: bool = True
    """Whether a sample judges the answer, as it does unless this is about a second opinion."""

    @staticmethod
    def of(
        solver: Solver,
        *,
        regions: str | None = None,
        sum_over: str | Iterable[str] | None = None,
        blocks: BlocksChoice | None = None,
        exact: bool | None = None,
    ) -> Request:
        """The request, checked; naming a solver asks for its answer, not the exact one."""
        if exact is not None:
            exact = checked_flag("exact", exact)
        family = None if regions is None else parse_family(regions, growing=True)
        blocks = checked_blocks(blocks)
        counted = None if sum_over is None else checked_texts("sum_over", sum_over)
        wanted = exact if isinstance(solver, Auto) or exact else False
        request = Request(family, counted, blocks, wanted, solver)
        if exact and request.names_a_method:
            raise InputError(
                "an exact answer leaves nothing to choose: regions, sums over counts and blocks do "
                "not apply"
            )
        return request

    @property
    def tried(self) -> frozenset[Remedy]:
        """The remedies that this asks for, and those that would take another one back.

        Growing regions start with the small ones.
        """
        known = {
            Remedy.REGIONS: self.regions == GROWING,
            Remedy.BETHE: self.regions in (GROWING, BETHE),
            Remedy.SUM_OVER: AUTO in (self.sum_over or ()),
            Remedy.BLOCKS: self.blocks == AUTO,
            Remedy.DESCENT: isinstance(self.solver, Descent),
            Remedy.DAMPING: isinstance(self.solver, Descent) or _is_damped(self.solver),
        }
        return frozenset(remedy for remedy, asked in known.items() if asked)

    @property
    def names_a_method(self) -> bool:
        """Whether a way to approximate was asked for."""
        return (self.regions, self.sum_over, self.blocks) != (None, None, None)

    @property
    def is_judged_by_samples(self) -> bool:
        """Whether a sample judges the answer, as it does unless a method was asked for.

        What is recommended for an answer that a sample contradicts is judged by one, too.
        """
        return self.seconded and (not self.names_a_method or bool(self.tried))

    @property
    def needs_classes(self) -> bool:
        """Whether only classes of objects can answer it."""
        return bool(self.sum_over) or self.blocks not in (None, 1)

    def exact_states(self, effort: Effort) -> int:
        """How many states an exact answer may take; zero if none is wanted."""
        if self.exact is None:
            return 0 if self.names_a_method else effort.exact_states
        return MOST_STATES if self.exact else 0


def _is_damped(solver: Solver | None) -> bool:
    """Whether message passing is as patient as it is recommended to be."""
    if not isinstance(solver, Flooding):
        return False
    return solver.damping >= 0.9 and solver.iterations >= 5000
