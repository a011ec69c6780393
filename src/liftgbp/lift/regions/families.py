"""Region families: which clusters are outer regions, and which of their subsets are regions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from liftgbp.lift.regions.clusters import (
    ByKind,
    Sizes,
    cluster_levels,
    count_clusters,
    ground_atoms,
    kinds,
    placements,
)
from liftgbp.lift.shatter import NormalModel
from liftgbp.lift.signature import Atom, Cluster, canonise, embeddings, objects_of, twin_groups
from liftgbp.support.errors import CapacityError, InputError, states_text, wrong_type
from liftgbp.support.limits import take_steps

FAMILIES = (
    "intersections",
    "subsets",
    "bethe",
    "objects:K",
    "objects:SORT=K,...",
    "clusters:S",
    "loops:L",
)
SHORTEST_LOOP = 3
MOST_DIGITS = 9
"""Of a number in the name of a family: nobody has a region over more objects."""

ROUNDING = 1e-9
"""What rounding does to the log of a number of states, generously: tables of exactly the cap are
allowed."""

LOOKED_AT_ONCE = 20
"""How many clusters are compared by their kinds in the time of one step of a search."""

CLUSTER_CAP = 2**10
"""The most outer regions that a family may add."""


@dataclass(frozen=True, slots=True)
class Family:
    """A choice of regions by name.

    `objects:K` carries its number as `size`, or one number for each sort in `per_sort`;
    `clusters:S` and `loops:L` carry their number as `size`.
    """

    name: str
    size: int = 0
    per_sort: tuple[tuple[str, int], ...] = ()

    @property
    def is_over_scopes(self) -> bool:
        """Whether all outer regions are scopes of factors."""
        return self in (FACTOR_SCOPES, SUBSETS, BETHE)

    def __str__(self) -> str:
        if self.per_sort:
            return f"{self.name}:" + ",".join(f"{sort}={k}" for sort, k in self.per_sort)
        return f"{self.name}:{self.size}" if self.size else self.name


FACTOR_SCOPES, SUBSETS, BETHE = Family("intersections"), Family("subsets"), Family("bethe")
GROWING = Family("auto")
"""Larger and larger families, as long as the answer can be trusted."""


def over_objects(most: int) -> Iterator[Family]:
    """The families over two objects up to so many."""
    return (Family("objects", size) for size in range(2, most + 1))


def parse_family(text: str | Family, *, growing: bool = False) -> Family:
    """The family that a name stands for; `auto` only where regions may be `growing`.

    - `intersections`, `subsets`, `bethe`: the outer regions are the scopes of the factors;
    - `objects:3`: also all atoms over any three objects of every sort;
    - `objects:person=3,movie=2`: the same with a number for each sort. A sort that is not named
      takes as many objects as the factor with most of them needs;
    - `clusters:3`: also all sets of three atoms, whether they share objects or not;
    - `loops:4`: on the ground, also the variables along loops of up to four variables, where
      neighbours share a factor.

    Only atoms that some factor mentions take part.

    >>> parse_family("objects:3")
    Family(name='objects', size=3, per_sort=())
    >>> str(parse_family("objects:person=3,movie=2"))
    'objects:person=3,movie=2'
    """
    if isinstance(text, Family):
        return text
    if not isinstance(text, str):
        raise wrong_type("regions", "the name of a region family, as in 'objects:3'", text)
    name, _, rest = text.partition(":")
    if name in {"objects", "clusters"} and _is_number(rest) and int(rest) > 0:
        return Family(name, int(rest))
    if name == "loops" and _is_number(rest) and int(rest) >= SHORTEST_LOOP:
        return Family(name, int(rest))
    if name == "objects" and "=" in rest:
        per_sort = _parse_per_sort(rest)
        if per_sort:
            return Family(name, per_sort=per_sort)
    if (family := Family(text)).is_over_scopes or (family == GROWING and growing):
        return family
    if family == GROWING:
        raise InputError("regions='auto' is for single queries only; name a region family")
    raise InputError(
        f"unknown region family {text!r}; choose among {' '.join(FAMILIES)}, with numbers K and S "
        f"from 1 and L from {SHORTEST_LOOP} of at most {MOST_DIGITS} digits, and each sort once; "
        "'auto' tries larger and larger families"
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS


def _parse_per_sort(text: str) -> tuple[tuple[str, int], ...]:
    """Numbers by sort, or nothing if the text is not such a list."""
    pairs = [(sort, number) for sort, _, number in (p.partition("=") for p in text.split(","))]
    names = {sort for sort, _ in pairs}
    wrong = "" in names or len(names) < len(pairs) or not all(_is_number(k) for _, k in pairs)
    return () if wrong else tuple((sort, int(number)) for sort, number in pairs)


# --- outer regions


def outer_clusters(normal: NormalModel, family: Family) -> list[Cluster]:
    """The maximal scopes of the factors, and what the family adds, each in canonical form."""
    scopes = {canonise(tuple(sorted(p.atoms))).cluster for p in normal.parfactors}
    mentioned = sorted({canonise((atom,)).cluster[0] for scope in scopes for atom in scope})
    match family.name:
        case "objects":
            scopes |= set(_atoms_over_choices(normal, family, mentioned))
        case "clusters" if mentioned:
            _check_clusters(normal, family, mentioned)
            scopes |= _clusters(normal, family, mentioned)
        case "loops":
            raise InputError("loops are regions of ground networks; use via='ground'")
    return _maximal(scopes)


def _check_clusters(normal: NormalModel, family: Family, mentioned: Sequence[Atom]) -> None:
    """Refuse a family whose clusters are too many or too large, before listing them."""
    _check_table(normal, family, _widest(normal, family.size, mentioned), "take fewer atoms")
    count = count_clusters(mentioned, family.size, normal.class_sizes)
    if count > CLUSTER_CAP:
        raise CapacityError(
            f"regions {family} need at least {states_text({count: 1})} clusters that differ by "
            f"more than names, above the cap of {CLUSTER_CAP}; take fewer atoms"
        )


def _clusters(normal: NormalModel, family: Family, mentioned: Sequence[Atom]) -> set[Cluster]:
    level: set[Cluster] = set()
    for atoms, level in enumerate(
        cluster_levels(mentioned, family.size, normal.class_sizes), start=1
    ):
        if len(level) > CLUSTER_CAP:
            raise CapacityError(
                f"regions {family} grow out of {len(level)} clusters of {atoms} atoms, above the "
                f"cap of {CLUSTER_CAP}; take fewer atoms"
            )
    return level


def _widest(normal: NormalModel, size: int, mentioned: Sequence[Atom]) -> dict[int, int]:
    """How many atoms of each range the cluster with most states has."""
    available = _axes_over(normal, mentioned, normal.class_sizes)
    axes: dict[int, int] = {}
    for length in sorted(available, reverse=True):
        axes[length] = min(available[length], size - sum(axes.values()))
    return axes


def _maximal(clusters: Iterable[Cluster]) -> list[Cluster]:
    by_size = sorted(clusters, key=lambda c: (-len(c), c))
    filed = ByKind(by_size)
    maximal: dict[int, Cluster] = {}
    for place, cluster in enumerate(by_size):
        around = filed.around(cluster)
        take_steps(len(around) // LOOKED_AT_ONCE)
        larger = (maximal[k] for k in around if k in maximal)
        if not any(_lies_in(cluster, other) for other in larger):
            maximal[place] = cluster
    return list(maximal.values())


def _lies_in(cluster: Cluster, larger: Cluster) -> bool:
    # Counting atoms and their kinds is cheap, and most pairs have none in common.
    if len(cluster) >= len(larger) or not kinds(cluster) <= kinds(larger):
        return False
    return next(embeddings(cluster, larger, twin_groups(cluster)), None) is not None


def _atoms_over_choices(
    normal: NormalModel, family: Family, mentioned: Sequence[Atom]
) -> Iterator[Cluster]:
    """For each choice of objects of every sort, the atoms over them that factors mention.

    A choice is given by how many objects it takes from each class.
    """
    room = {
        sort: [(cls, normal.class_sizes[cls]) for cls in normal.classes_of(sort)]
        for sort in normal.sizes
    }
    wanted = _objects_per_sort(normal, family)
    _check_choices(family, (_shares(wanted[sort], room[sort]) for sort in room))
    for choice in product(*(list(_shares(wanted[sort], room[sort])) for sort in room)):
        taken = dict(share for shares in choice for share in shares)
        _check_table(normal, family, _axes_over(normal, mentioned, taken), "take fewer objects")
        atoms = [atom for kind in mentioned for atom in placements(kind, taken, taken)]
        if atoms:
            yield canonise(tuple(sorted(atoms))).cluster


def _objects_per_sort(normal: NormalModel, family: Family) -> dict[str, int]:
    """How many objects of each sort a region takes, where there are that many."""
    if not family.per_sort:
        return {sort: min(family.size, size) for sort, size in normal.sizes.items()}
    named = dict(family.per_sort)
    for sort in named:
        if sort not in normal.sizes:
            raise InputError(
                f"regions {family} name the sort {sort!r}; the model has {', '.join(normal.sizes)}"
            )
    return {
        sort: min(named.get(sort, _most_in_a_factor(normal, sort)), size)
        for sort, size in normal.sizes.items()
    }


def _most_in_a_factor(normal: NormalModel, sort: str) -> int:
    classes = normal.classes_of(sort)
    return max(
        (sum(cls in classes for cls, _ in objects_of(p.atoms)) for p in normal.parfactors),
        default=0,
    )


def _check_choices(family: Family, shares: Iterable[Iterator[object]]) -> None:
    count = math.prod(sum(1 for _ in islice(own, CLUSTER_CAP + 1)) for own in shares)
    if count > CLUSTER_CAP:
        raise CapacityError(
            f"regions {family} need more than {CLUSTER_CAP} choices of objects from the classes "
            "of the model; take fewer objects or name fewer constants"
        )


def _shares(total: int, room: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The ways to take `total` objects from classes of these sizes."""
    if not room:
        if total == 0:
            yield ()
        return
    (cls, size), *rest = room
    others_have = sum(other for _, other in rest)
    for count in range(max(0, total - others_have), min(total, size) + 1):
        for others in _shares(total - count, rest):
            yield ((cls, count), *others)


def _axes_over(normal: NormalModel, mentioned: Sequence[Atom], taken: Sizes) -> Counter[int]:
    """How many atoms of each range there are over these numbers of objects of each class."""
    axes: Counter[int] = Counter()
    for kind in mentioned:
        axes[normal.ranges[kind[0]]] += ground_atoms([kind], taken)
    return axes


def _check_table(normal: NormalModel, family: Family, axes: Mapping[int, int], remedy: str) -> None:
    states = math.fsum(count * math.log(length) for length, count in axes.items())
    if states > math.log(normal.table_cap) + ROUNDING:
        raise CapacityError(
            f"regions {family} need a table over {sum(axes.values())} atoms with "
            f"{states_text(axes)} entries, above the cap of {normal.table_cap}; {remedy} or raise "
            "the cap (--table-cap)"
        )
