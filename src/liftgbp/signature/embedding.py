"""All the ways in which a pattern of atoms lies inside a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from liftgbp.limits import take_steps
from liftgbp.signature.canonical import Atom, Cluster, Obj, objects_of


def embeddings(
    pattern: Sequence[Atom],
    cluster: Cluster,
    exchangeable: Sequence[Sequence[Obj]] = (),
) -> Iterator[dict[Obj, Obj]]:
    """The injective maps of objects, inside classes, that send each pattern atom into the cluster.

    Objects of one `exchangeable` group stand for a set: of the maps that differ by a permutation of
    the group only the increasing one is given.

    >>> edge = (0, ((0, 0), (0, 1)))
    >>> path = ((0, ((0, 0), (0, 1))), (0, ((0, 1), (0, 2))))
    >>> sum(1 for _ in embeddings([edge], path))
    2
    """
    by_predicate: dict[int, list[tuple[Obj, ...]]] = {}
    for predicate, args in cluster:
        by_predicate.setdefault(predicate, []).append(args)
    allowed = dict(_allowed_images(cluster, exchangeable))
    yield from _extend(pattern, 0, by_predicate, {}, exchangeable, allowed)


def _allowed_images(
    cluster: Cluster, exchangeable: Sequence[Sequence[Obj]]
) -> Iterator[tuple[Obj, frozenset[Obj]]]:
    """For each member of a group the objects that leave room for the members before and after."""
    objects = objects_of(cluster)
    for group in exchangeable:
        own = [obj for obj in objects if obj[0] == group[0][0]]
        for k, member in enumerate(group):
            yield member, frozenset(own[k : len(own) - len(group) + k + 1])


def _extend(
    pattern: Sequence[Atom],
    position: int,
    by_predicate: dict[int, list[tuple[Obj, ...]]],
    placed: dict[Obj, Obj],
    exchangeable: Sequence[Sequence[Obj]],
    allowed: dict[Obj, frozenset[Obj]],
) -> Iterator[dict[Obj, Obj]]:
    take_steps()
    if position == len(pattern):
        yield dict(placed)
        return
    predicate, args = pattern[position]
    for target in by_predicate.get(predicate, ()):
        if any(o in allowed and i not in allowed[o] for o, i in zip(args, target, strict=True)):
            continue
        extended = match_arguments(args, target, placed)
        if extended is not None and all(increasing(group, extended) for group in exchangeable):
            yield from _extend(pattern, position + 1, by_predicate, extended, exchangeable, allowed)


def match_arguments(
    args: tuple[Obj, ...], target: tuple[Obj, ...], placed: dict[Obj, Obj]
) -> dict[Obj, Obj] | None:
    """The map extended so that the arguments go to the target, or `None` if it cannot be."""
    extended = dict(placed)
    for obj, image in zip(args, target, strict=True):
        known = extended.get(obj)
        if known is None:
            if obj[0] != image[0] or image in extended.values():
                return None
            extended[obj] = image
        elif known != image:
            return None
    return extended


def increasing(group: Sequence[Obj], placed: dict[Obj, Obj]) -> bool:
    """Whether the images of the group's placed members increase."""
    images = [placed[obj] for obj in group if obj in placed]
    return all(a < b for a, b in pairwise(images))
