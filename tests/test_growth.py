"""Growing regions: the chain of answers, which of them is chosen, and where it ends."""

from __future__ import annotations

import math

import pytest

from liftgbp import Answers, Flooding, infer, parse
from liftgbp.evidence.read import parse_evidence
from liftgbp.lift.regions import Family
from liftgbp.oracle import reference
from liftgbp.posterior import Posterior
from liftgbp.strategy.growth import grow
from liftgbp.support.errors import CapacityError

TRANSITIVE = "r(person, person)\n0.5 r(x,y) ^ r(y,z) => r(x,z) | distinct"
FRIENDS_SMOKERS = """
friends(person, person)
smokes(person)
1.4 friends(x,y) ^ smokes(x) => smokes(y) | x != y
"""


def grown(text: str, people: int, **options: object) -> Answers:
    return infer(parse(text), {"person": people}, regions="auto", **options, effort="quick")  # type: ignore[arg-type]


def families(answers: Answers) -> list[str]:
    return [str(step.graph.family) for step in answers.growth]


def test_regions_grow_until_one_holds_everything() -> None:
    answers = grown(TRANSITIVE, 4)
    assert families(answers) == ["bethe", "intersections", "objects:2", "objects:3", "objects:4"]
    exact = reference.exact(reference.ground(parse(TRANSITIVE), {"person": 4}))
    assert answers.log_z == pytest.approx(exact.log_z, abs=1e-9)
    assert answers.growth_end == "one region holds all objects"


def test_the_last_trustworthy_answer_is_chosen() -> None:
    answers = grown(FRIENDS_SMOKERS, 10)
    assert families(answers)[-1] == "objects:3"
    assert answers.growth[-1].flaw is not None
    assert answers.result is answers.growth[-2].result
    assert answers.flaw is None
    assert "objects:3 cannot be trusted" in answers.growth_end


def test_a_table_cap_ends_the_growth() -> None:
    answers = grown(TRANSITIVE, 6, table_cap=2**6)
    assert families(answers)[-1] == "objects:3"
    assert "12 atoms with 4096 entries, above the cap of 64" in answers.growth_end


def test_families_that_add_nothing_are_left_out() -> None:
    answers = grown("p(person)\n0.3 p(x) ^ p(y) ^ p(z) | distinct", 4)
    assert families(answers) == ["bethe", "intersections", "objects:4"]


@pytest.mark.parametrize("text", ["p(person)\n1 p(Anna)", "p(person)"])
def test_growth_ends_where_nothing_grows(text: str) -> None:
    answers = grown(text, 10**9)
    assert families(answers) == ["bethe"]
    assert answers.growth_end == "larger families have the same regions"


def test_a_cap_that_nothing_fits_is_an_error() -> None:
    with pytest.raises(CapacityError):
        grown(TRANSITIVE, 4, table_cap=4)


def test_every_step_is_the_answer_of_its_family() -> None:
    answers = grown(TRANSITIVE, 4)
    for step in answers.growth:
        alone = infer(
            parse(TRANSITIVE), {"person": 4}, regions=str(step.graph.family), effort="quick"
        )
        assert step.log_z == alone.log_z


def test_without_a_trustworthy_answer_the_last_one_is_given() -> None:
    def run(family: Family) -> Posterior:
        return infer(
            parse(FRIENDS_SMOKERS),
            {"person": 10},
            regions=str(family),
            solver=Flooding(iterations=1),
            effort="quick",
        ).posterior

    answers = Answers(grow(run))
    assert not answers.result.converged
    assert answers.result is answers.growth[-1].result


def test_the_chain_as_a_dictionary() -> None:
    content = grown(TRANSITIVE, 4).as_dict(("r(x,y), r(y,z) | r(x,z)",))
    growth = content["growth"]
    assert isinstance(growth, dict)
    steps = growth["steps"]
    assert [step["chosen"] for step in steps] == [False, False, False, False, True]
    assert all(math.isfinite(step["log_z"]) for step in steps)
    # No pair of people holds all three atoms of the query, some region of three people does.
    assert steps[-1]["answers"]


def test_regions_grow_under_evidence() -> None:
    model = parse(FRIENDS_SMOKERS)
    evidence = parse_evidence(model, "smokes(Anna)\n!smokes(Bob)")
    answers = infer(model, {"person": 3}, evidence=evidence, regions="auto", effort="quick")
    assert families(answers)[:2] == ["bethe", "intersections"]
    assert all(step.via == "lifted" for step in answers.growth)


@pytest.mark.slow
def test_regions_grow_along_loops_on_the_ground() -> None:
    answers = grown(TRANSITIVE, 4, via="ground")
    assert families(answers)[0] == "bethe"
    assert all(step.via == "ground" for step in answers.growth)
