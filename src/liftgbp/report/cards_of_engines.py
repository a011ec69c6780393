"""The lines and cards of engine rooms: a headline and a body for each class of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from functools import singledispatch

from liftgbp.errors import counted
from liftgbp.limits import Limits
from liftgbp.pictures.cards import (
    BAD,
    GOOD,
    MOST_LETTERS,
    MOST_LETTERS_OF_LINE,
    MOST_LINES,
    badge,
    card,
    fields,
    number_text,
    shortened,
)
from liftgbp.pictures.markup import Content
from liftgbp.query.answers_report import points_table
from liftgbp.query.wording import (
    WORDINGS,
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
    Kind,
    Point,
    Points,
    Solution,
    Status,
    Verdict,
)


@singledispatch
def headline(value: object) -> str:
    """The most important about a value, in one line."""
    # Samples take longer to import than all the others together.
    from liftgbp.report.card_of_samples import sample_headline

    return sample_headline(value)


@singledispatch
def body(value: object) -> Iterable[Content]:
    """What the card of a value shows below its headline."""
    from liftgbp.report.card_of_samples import sample_body

    return sample_body(value)


@singledispatch
def line_of(value: object) -> str:
    """What a value prints."""
    return f"<{type(value).__name__} {shortened(headline(value), MOST_LETTERS)}>"


@singledispatch
def card_of(value: object) -> str:
    """What a notebook shows of a value."""
    return card(f"{type(value).__name__} ", headline(value), *body(value))


# --- settings


@headline.register
def _(value: Auto | Descent | Flooding | Limits) -> str:
    return "settings"


@body.register
def _(value: Auto | Descent | Flooding | Limits) -> Iterable[Content]:
    shown = [own.name for own in dataclasses.fields(value) if own.repr]
    return [fields((name, str(getattr(value, name))) for name in shown)]


# --- verdicts


@headline.register
def _(value: Algorithm | Flaw | Kind) -> str:
    return str(value.value)


@headline.register
def _(value: Finding) -> str:
    return sentence(value)


@headline.register
def _(value: Status) -> str:
    return f"{value.value}: {WORDINGS[value]}"


@body.register
def _(value: Algorithm | Finding | Flaw | Kind | Status) -> Iterable[Content]:
    return ()


@headline.register
def _(value: Verdict) -> str:
    return verdict_text(value)


@body.register
def _(value: Verdict) -> Iterable[Content]:
    flaw = sentence(value.flaw)
    yield badge(BAD, flaw) if flaw else badge(GOOD, "nothing is wrong with the point")
    numbers = [
        ("residual", value.residual),
        ("smallest curvature", value.curvature),
        ("between halves of classes", value.broken_curvature),
        ("proven with bits", value.bits),
        ("entropy", value.entropy),
        ("at most", value.entropy_bound),
        ("log Z is at least", value.log_z_bound),
        ("log Z is at most", value.log_z_ceiling),
    ]
    known = [(name, own) for name, own in numbers if own is not None and math.isfinite(own)]
    yield fields((name, number_text(own)) for name, own in known)


# --- results


@headline.register
def _(value: Point) -> str:
    share = f", share {value.weight:.4g}" if value.weight else ""
    return f"log Z {value.log_z:.10g}{share}: {value.verdict.kind.value}"


@body.register
def _(value: Point) -> Iterable[Content]:
    return body(value.verdict)


@line_of.register
def _(value: Points) -> str:
    lines = [shortened(headline(own), MOST_LETTERS_OF_LINE) for own in value[:MOST_LINES]]
    if len(value) > MOST_LINES:
        lines.append(f"… and {len(value) - MOST_LINES} more")
    return "\n".join(lines) or "()"


@card_of.register
def _(value: Points) -> str:
    return card("", "", *body(value))


@body.register
def _(value: Points) -> Iterable[Content]:
    return [points_table(value)]


@headline.register
def _(value: Solution) -> str:
    ended = f"{value.status.value} after {counted(value.iterations, 'iteration')}"
    trust = "trusted" if value.trusted else f"not trusted: {sentence(value.flaw)}"
    return f"{solver_text(value.solver)}, {ended}, log Z {value.log_z:.10g}, {trust}"


@body.register
def _(value: Solution) -> Iterable[Content]:
    flaw = reason(sentence(value.flaw), value.remedies)
    yield badge(BAD, flaw) if flaw else badge(GOOD, "trusted")
    yield from body(Points(value.points) if value.points else value.verdict)
