"""The line and the card of a sample."""

from __future__ import annotations

from collections.abc import Iterable

from liftgbp.errors import InternalError
from liftgbp.pictures.cards import DOUBTFUL, GOOD, MOST_ROWS, badge, note, sizes_text
from liftgbp.pictures.markup import Content
from liftgbp.posterior.answer import rows_table
from liftgbp.sampling.world_sample import Sample


def sample_headline(value: object) -> str:
    """How the sample was drawn, and whether it has mixed."""
    sample = _checked(value)
    mixed = "mixed" if sample.mixed else "has not mixed"
    named = f"{sample.model.name}{sizes_text(sample.sizes)}"
    return f"{named}: {sample.chains} chains, {sample.sweeps} sweeps, {mixed}"


def sample_body(value: object) -> Iterable[Content]:
    """Whether it has mixed, and its rows."""
    sample = _checked(value)
    mixed = "the chains have mixed: those from different starts agree"
    yield badge(DOUBTFUL, sample.doubt) if sample.doubt else badge(GOOD, mixed)
    yield rows_table(sample.all[:MOST_ROWS], more=len(sample.all) > MOST_ROWS)
    if sample.annealed is not None:
        yield note(f"log Z = {sample.annealed.value:.8g} ± {sample.annealed.error:.2g}")
    yield from map(note, sample.all_notes)


def _checked(value: object) -> Sample:
    if not isinstance(value, Sample):
        raise InternalError(f"{type(value).__name__} has no card")
    return value
