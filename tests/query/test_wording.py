"""Everything that may be wrong has words, and the words have room for its numbers."""

from __future__ import annotations

import pytest

from liftgbp.posterior.results import ChoiceKind, GrowthEnd
from liftgbp.report.wording import ADVICE, CHOICES, GROWTH_ENDS, WORDINGS, sentence, solver_text
from liftgbp.solve import (
    Algorithm,
    Finding,
    Flaw,
    IndependentAtoms,
    KnownWorlds,
    Remedy,
    SolvedBy,
    Status,
)


def test_every_value_has_words() -> None:
    assert set(WORDINGS) == {*Flaw, *Status}
    assert set(ADVICE) == set(Remedy)
    assert set(GROWTH_ENDS) == set(GrowthEnd)
    assert set(CHOICES) == set(ChoiceKind)
    assert all(solver_text(SolvedBy(own, 3)) for own in Algorithm)


@pytest.mark.parametrize("kind", [*Flaw, *Status], ids=lambda kind: kind.name)
def test_every_finding_is_a_sentence(kind: Flaw | Status) -> None:
    found = Finding(
        kind,
        (0.25, 0.5, 0.75),
        about="p(x)",
        by=IndependentAtoms(((3, 4),)),
        cause=Finding(Flaw.SADDLE),
    )
    text = sentence(found)
    assert text and "{" not in text and not text.endswith(".")


def test_no_two_findings_say_the_same() -> None:
    assert len(set(WORDINGS.values())) == len(WORDINGS)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (IndependentAtoms(), "independent atoms"),
        (IndependentAtoms(((5, 5),)), "independent atoms over blocks of 5, 5"),
        (
            IndependentAtoms(((5, 5), (2, 1)), mixed=True),
            "independent atoms over blocks of 5, 5 and 2, 1, mixed in all ways,",
        ),
        (IndependentAtoms(atom="s"), "independent atoms for each value of one s"),
        (KnownWorlds(3.5), "a best world and its renamings"),
    ],
)
def test_what_reaches_a_bound(by: IndependentAtoms | KnownWorlds, words: str) -> None:
    assert (
        sentence(Finding(Flaw.TOO_LIGHT, (1.0,), by=by)) == f"log Z is 1 below what {words} reach"
    )


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.999, "none of the counts that are summed over can be trusted"),
        (0.02, "counts that carry 2% of the sum cannot be trusted"),
    ],
)
def test_counts_that_cannot_be_trusted(share: float, words: str) -> None:
    found = Finding(Flaw.COUNTS, (share,), about="s: 3", cause=Finding(Flaw.VALLEY))
    assert sentence(found) == (
        f"{words}: at the most likely one of them (s: 3), the free energy is flat, so that other "
        "beliefs are as good as these"
    )
