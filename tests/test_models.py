"""The models that ship with the project give the answers that their files state.

A line `//! sizes person=4 damping=0.8` begins a block; in it `//! METHOD log_z = NUMBER` and
`//! METHOD ATOM [WHERE] VALUE = NUMBER` state answers. METHOD is `exact`, `gbp` or `bethe`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from liftgbp import Answers, Flooding, Model, Status, infer, load
from liftgbp.lift.shatter import shatter
from liftgbp.model.example_models import FOLDER
from liftgbp.oracle import reference
from liftgbp.oracle.messages import GroundObjects
from liftgbp.posterior import every_row

FILES = sorted(FOLDER.glob("*.mln"))
FAMILY = {"gbp": "intersections", "bethe": "bethe"}
TOLERANCE = 1e-8

ANSWER = re.compile(
    r"(?P<method>exact|gbp|bethe) +(?:log_z|(?P<atom>\w+\([^)]*\))"
    r"(?: \[(?P<where>[^]]*)\])? (?P<value>\w+)) = (?P<number>-?\d+\.\d+)"
)

Key = tuple[str, str, str]
"""An atom, the condition on its variables and a value."""

LOG_Z: Key = ("", "", "")


@dataclass
class Block:
    sizes: dict[str, int]
    damping: float
    stated: dict[str, dict[Key, float]] = field(default_factory=dict)


def blocks(path: Path) -> list[Block]:
    found: list[Block] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        head, marker, text = line.partition("//!")
        if not marker or head:
            continue
        words = text.split()
        if words[0] == "sizes":
            settings = dict(word.split("=") for word in words[1:])
            damping = float(settings.pop("damping", 0.5))
            found.append(Block({sort: int(size) for sort, size in settings.items()}, damping))
        else:
            match = ANSWER.fullmatch(text.strip())
            assert match, f"{path.name}: {line}"
            key = (match["atom"] or "", match["where"] or "", match["value"] or "")
            stated = found[-1].stated.setdefault(match["method"], {})
            assert key not in stated, f"{path.name}: {line} is stated twice"
            stated[key] = float(match["number"])
    return found


def lifted(method: str) -> Callable[[Model, Block], dict[Key, float]]:
    def answer(model: Model, block: Block) -> dict[Key, float]:
        answers = infer(
            model,
            block.sizes,
            regions=FAMILY[method],
            solver=Flooding(block.damping, iterations=50_000),
            effort="quick",
        )
        assert answers.status is Status.CONVERGED
        rows = {(r.atom, r.where, v): p for r in answers.all for (v,), p in r.values.items()}
        return {LOG_Z: answers.log_z, **rows}

    return answer


def exactly(model: Model, block: Block) -> dict[Key, float]:
    truth = reference.exact(reference.ground(model, block.sizes))
    objects = GroundObjects(shatter(model, block.sizes))
    # One iteration is enough to know the rows; their probabilities come from the reference.
    rows: Answers = infer(model, block.sizes, solver=Flooding(iterations=1), effort="quick")
    return {
        LOG_Z: truth.log_z,
        **{
            (row.atom, row.where, value): float(p)
            for row, atom in every_row(rows.posterior.reader)
            # Atoms of a closed predicate are false, and no variables.
            if (own := objects.atom(atom)) in truth.marginals
            for (value,), p in zip(row.values, truth.marginals[own], strict=True)
        },
    }


METHODS = {"exact": exactly, "gbp": lifted("gbp"), "bethe": lifted("bethe")}
CASES = [
    pytest.param(path, block, method, id=f"{path.stem}-{block.sizes}-{method}")
    for path in FILES
    for block in blocks(path)
    for method in block.stated
]


@pytest.mark.filterwarnings("ignore::liftgbp.UntrustedAnswer")
@pytest.mark.parametrize(("path", "block", "method"), CASES)
def test_stated_answers(path: Path, block: Block, method: str) -> None:
    found = METHODS[method](load(path), block)
    for key, number in block.stated[method].items():
        assert found[key] == pytest.approx(number, abs=TOLERANCE), key


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_model_states_answers(path: Path) -> None:
    stated = blocks(path)
    assert stated
    assert any("gbp" in block.stated for block in stated)
    for block in stated:
        assert LOG_Z in block.stated["exact"]
        assert all(len(answers) > 1 for answers in block.stated.values())
