"""How values of engine rooms are printed, and shown in notebooks: a headline, and a body below."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from liftgbp.pictures.cards import (
    BAD,
    DOUBTFUL,
    GOOD,
    MOST_LETTERS,
    MOST_LETTERS_OF_LINE,
    MOST_LINES,
    MOST_ROWS,
    badge,
    card,
    fields,
    note,
    number_text,
    shortened,
    sizes_text,
)
from liftgbp.pictures.markup import Content
from liftgbp.posterior import Standing
from liftgbp.posterior.results import Choice
from liftgbp.report.answers_report import points_table
from liftgbp.report.cards_of_answers import body_of, headline_of
from liftgbp.report.rows_shown import rows_table
from liftgbp.report.wording import (
    WORDINGS,
    choice_text,
    reached_by,
    reason,
    sentence,
    solver_text,
    verdict_text,
)
from liftgbp.solve import (
    Algorithm,
    Auto,
    Descent,
    Finding,
    Flaw,
    Flooding,
    IndependentAtoms,
    Kind,
    KnownWorlds,
    Point,
    Points,
    Solution,
    Status,
    Verdict,
)
from liftgbp.support.errors import InternalError, counted
from liftgbp.support.limits import Limits

if TYPE_CHECKING:
    from liftgbp.methods.sampling.world_sample import Sample


def line_of(value: object) -> str:
    """What a value prints."""
    if not isinstance(value, tuple):
        return f"<{type(value).__name__} {shortened(headline(value), MOST_LETTERS)}>"
    lines = [shortened(headline(own), MOST_LETTERS_OF_LINE) for own in value[:MOST_LINES]]
    if len(value) > MOST_LINES:
        lines.append(f"… and {len(value) - MOST_LINES} more")
    return "\n".join(lines) or "()"


def card_of(value: object) -> str:
    """What a notebook shows of a value."""
    if isinstance(value, tuple):
        return card("", "", *body(value))
    return card(f"{type(value).__name__} ", headline(value), *body(value))


def headline(value: object) -> str:
    """The most important about a value, in one line."""
    match value:
        case Auto() | Descent() | Flooding() | Limits():
            return "settings"
        case Algorithm() | Flaw() | Kind() | Standing():
            return str(value.value)
        case Status():
            return f"{value.value}: {WORDINGS[value]}"
        case Finding():
            return sentence(value)
        case IndependentAtoms() | KnownWorlds():
            return reached_by(value)
        case Choice():
            return choice_text(value)
        case Verdict():
            return verdict_text(value)
        case Point():
            share = f", share {value.weight:.4g}" if value.weight else ""
            return f"log Z {value.log_z:.10g}{share}: {value.verdict.kind.value}"
        case Solution():
            ended = f"{value.status.value} after {counted(value.iterations, 'iteration')}"
            trust = "sound" if value.sound else f"refused: {sentence(value.flaw)}"
            return f"{solver_text(value.solver)}, {ended}, log Z {value.log_z:.10g}, {trust}"
    told = headline_of(value)
    if told is not None:
        return told
    sample = _sample(value)
    mixed = "mixed" if sample.mixed else "has not mixed"
    named = f"{sample.model.name}{sizes_text(sample.sizes)}"
    return f"{named}: {sample.chains} chains, {sample.sweeps} sweeps, {mixed}"


def body(value: object) -> Iterable[Content]:
    """What a card shows below the headline."""
    match value:
        case Auto() | Descent() | Flooding() | Limits():
            shown = [own.name for own in dataclasses.fields(value) if own.repr]
            return [fields((name, str(getattr(value, name))) for name in shown)]
        case Algorithm() | Finding() | Flaw() | Kind() | Standing() | Status():
            return ()
        case Verdict():
            return _of_verdict(value)
        case Point():
            return _of_verdict(value.verdict)
        case Points():
            return [points_table(value)]
        case Solution():
            flaw = reason(sentence(value.flaw), value.remedies)
            trust = badge(BAD, flaw) if flaw else badge(GOOD, "sound")
            return [trust, *body(Points(value.points) if value.points else value.verdict)]
    told = body_of(value)
    return _of_sample(_sample(value)) if told is None else told


def _of_verdict(verdict: Verdict) -> Iterator[Content]:
    flaw = sentence(verdict.flaw)
    yield badge(BAD, flaw) if flaw else badge(GOOD, "nothing is wrong with the point")
    numbers = [
        ("residual", verdict.residual),
        ("smallest curvature", verdict.curvature),
        ("between halves of classes", verdict.broken_curvature),
        ("proven with bits", verdict.bits),
        ("entropy", verdict.entropy),
        ("at most", verdict.entropy_bound),
        ("log Z is at least", verdict.log_z_bound),
        ("log Z is at most", verdict.log_z_ceiling),
    ]
    known = [(name, own) for name, own in numbers if own is not None and math.isfinite(own)]
    yield fields((name, number_text(own)) for name, own in known)


def _of_sample(sample: Sample) -> Iterator[Content]:
    mixed = "the chains have mixed: those from different starts agree"
    yield badge(DOUBTFUL, sample.doubt) if sample.doubt else badge(GOOD, mixed)
    yield rows_table(sample.all[:MOST_ROWS], more=len(sample.all) > MOST_ROWS)
    if sample.annealed is not None:
        yield note(f"log Z = {sample.annealed.value:.8g} ± {sample.annealed.error:.2g}")
    yield from map(note, sample.all_notes)


def _sample(value: object) -> Sample:
    # Sampling takes longer to import than all the others together.
    from liftgbp.methods.sampling.world_sample import Sample

    if not isinstance(value, Sample):
        raise InternalError(f"{type(value).__name__} has no card")
    return value
