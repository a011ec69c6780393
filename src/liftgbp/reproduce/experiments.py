"""The four models of the paper, with the query and the sizes that ground inference can take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from liftgbp.model.model import Model
from liftgbp.model.parser import parse
from liftgbp.reproduce.closed_form import friends_of_smokers

PERSON = "person"


@dataclass(frozen=True, slots=True)
class Experiment:
    """A model of the paper.

    `ground_sizes` are those for which ground GBP and a junction tree take seconds at most;
    `closed_form` gives the exact query probability for a weight and any larger size, if known.
    """

    name: str
    text: str
    query: str
    ground_sizes: tuple[int, ...]
    closed_form: Callable[[float, int], float] | None = None

    @property
    def predicate(self) -> str:
        """The predicate that the query asks for."""
        return self.query.partition("(")[0]

    def model(self, weight: float) -> Model:
        """The model with this weight."""
        return parse(self.text, name=self.name).with_weights({"w": weight})


FRIENDS_SMOKERS = Experiment(
    "friends-smokers",
    """\
friends(person, person)
smokes(person)
$w = 1.4
$w friends(x,y) ^ smokes(x) => smokes(y) | x != y
""",
    "friends(x,y)",
    (4, 5, 6, 8),
    friends_of_smokers,
)

TRANSITIVE = Experiment(
    "transitive",
    """\
friends(person, person)
$w = 1.4
$w friends(x,y) ^ friends(y,z) => friends(x,z) | distinct
""",
    "friends(x,y)",
    (4, 5),
)

FRIENDS_KNOWS = Experiment(
    "friends-knows",
    """\
friends(person, person)
knows(person, person)
$w = 1.4
$w friends(x,y) ^ friends(y,z) => knows(x,z) | distinct
""",
    "friends(x,y)",
    (4, 5),
)

CHAIN = Experiment(
    "chain",
    """\
r(person, person)
$w = 1.4
$w r(x,y) ^ r(y,z) => r(z,u) | distinct
""",
    "r(x,y)",
    (4, 5),
)

EXPERIMENTS = (FRIENDS_SMOKERS, TRANSITIVE, FRIENDS_KNOWS, CHAIN)
