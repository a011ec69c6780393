"""How a pattern of atoms lies inside a cluster, and how two clusters overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from liftgbp.lift.signature.canonical import Atom, Cluster, Obj, objects_of, rename
from liftgbp.support.limits import take_steps


def embeddings(
    pattern: Sequence[Atom], cluster: Cluster, exchangeable: Sequence[Sequence[Obj]] = ()
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
        same_class = [obj for obj in objects if obj[0] == group[0][0]]
        for k, member in enumerate(group):
            yield member, frozenset(same_class[k : len(same_class) - len(group) + k + 1])


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


def overlaps(cluster: Cluster, other: Cluster, class_sizes: Sequence[int]) -> set[int]:
    """The non-empty intersections of a cluster with all placements of another one.

    An intersection is a bit mask over the atoms of `cluster`. A placement sends the objects of
    `other` one to one to objects of `cluster` or to fresh ones, as far as the classes have any.

    >>> edge = ((0, ((0, 0), (0, 1))),)
    >>> path = ((0, ((0, 0), (0, 1))), (0, ((0, 1), (0, 2))))
    >>> sorted(overlaps(path, edge, [9]))
    [1, 2]
    >>> sorted(overlaps(path, path, [9]))
    [1, 2, 3]
    """
    places, wanted = objects_per_class(cluster), objects_per_class(other)
    number = {cls: k for k, cls in enumerate({**places, **wanted})}
    fresh = tuple(min(class_sizes[cls] - places[cls], wanted[cls]) for cls in number)
    # The atoms of the cluster keep their order, which is that of the bits.
    return set(_masks(_numbered(cluster, number), tuple(sorted(_numbered(other, number))), fresh))


@lru_cache(maxsize=2**14)
def objects_per_class(atoms: Cluster) -> Counter[int]:
    """How many objects of each class occur in the atoms."""
    return Counter(cls for cls, _ in objects_of(atoms))


@lru_cache(maxsize=2**14)
def _masks(cluster: Cluster, other: Cluster, fresh: tuple[int, ...]) -> frozenset[int]:
    """The intersections if each class has this many fresh objects, or as many as `other` needs.

    Many pairs of clusters differ only in their classes, and few sizes differ in what they allow.
    """
    return frozenset(_Placements(cluster, other, fresh).masks)


def _numbered(cluster: Cluster, number: Mapping[int, int]) -> Cluster:
    """The atoms with other numbers of their classes, in the same order."""
    if all(cls == same for cls, same in number.items()):
        return cluster
    return tuple((p, tuple((number[cls], k) for cls, k in args)) for p, args in cluster)


class _Placements:
    """A search over the placements, object by object.

    Three rules keep it short. Twins (objects that may be swapped without a change) take their
    images in increasing order, fresh ones last. A twin leaves room for those after it. And where
    fresh objects abound, an object goes onto the cluster only for the sake of an atom that both
    share.
    """

    def __init__(self, cluster: Cluster, other: Cluster, fresh: Sequence[int]) -> None:
        self.masks: set[int] = set()
        self._bit = {atom: 1 << k for k, atom in enumerate(cluster)}
        self._places = objects_of(cluster)
        self._order = _search_order(other)
        twins = twin_groups(other)
        self._previous_twin = {obj: last for group in twins for last, obj in pairwise(group)}
        self._twins_after = {
            obj: len(group) - k for group in twins for k, obj in enumerate(group, start=1)
        }
        self._atoms_at: dict[Obj, list[Atom]] = {obj: [] for obj in self._order}
        for atom in other:
            for obj in set(atom[1]):
                self._atoms_at[obj].append(atom)
        classes = {cls for cls, _ in self._order}
        self._fresh = list(fresh)
        self._abundant = {
            cls: self._fresh[cls] >= sum(1 for h, _ in self._order if h == cls) for cls in classes
        }
        nullary = sum(self._bit.get(atom, 0) for atom in other if not atom[1])
        self._search(0, {}, nullary)

    def _search(self, position: int, image: dict[Obj, Obj | None], mask: int) -> None:
        """Place the objects from `position` on; `None` is the image of one that went fresh."""
        if position == len(self._order):
            if mask:
                self.masks.add(mask)
            return
        obj = self._order[position]
        take_steps(len(self._atoms_at[obj]))
        for target in self._targets(obj, image):
            image[obj] = target
            if target is None:
                self._fresh[obj[0]] -= 1
            if all(self._earns_its_place(o, image) for o in self._neighbours(obj)):
                self._search(position + 1, image, mask | self._newly_shared(obj, image))
            if target is None:
                self._fresh[obj[0]] += 1
            del image[obj]

    def _targets(self, obj: Obj, image: dict[Obj, Obj | None]) -> Iterator[Obj | None]:
        cls = obj[0]
        twin = self._previous_twin.get(obj)
        least = image[twin] if twin is not None else (cls, -1)
        if least is not None:
            used = set(image.values())
            free = [
                place
                for place in self._places
                if place[0] == cls and place > least and place not in used
            ]
            room = len(free) + self._fresh[cls] - self._twins_after.get(obj, 0)
            yield from free[: max(0, room)]
        if self._fresh[cls] > 0:
            yield None

    def _neighbours(self, obj: Obj) -> set[Obj]:
        return {o for _, args in self._atoms_at[obj] for o in args}

    def _earns_its_place(self, obj: Obj, image: dict[Obj, Obj | None]) -> bool:
        if image.get(obj) is None or not self._abundant[obj[0]]:
            return True
        return any(self._may_be_shared(atom, image) for atom in self._atoms_at[obj])

    def _may_be_shared(self, atom: Atom, image: dict[Obj, Obj | None]) -> bool:
        predicate, args = atom
        if all(obj in image for obj in args):
            return (predicate, tuple(image[obj] for obj in args)) in self._bit
        return all(image.get(obj, obj) is not None for obj in args)

    def _newly_shared(self, obj: Obj, image: dict[Obj, Obj | None]) -> int:
        mask = 0
        for predicate, args in self._atoms_at[obj]:
            if all(o in image for o in args):
                target = tuple(image[o] for o in args)
                mask |= self._bit.get((predicate, target), 0)  # type: ignore[arg-type]
        return mask


def _search_order(cluster: Cluster) -> tuple[Obj, ...]:
    """The objects, each near others it shares atoms with, and twins in their own order."""
    order: dict[Obj, None] = {}
    waiting = list(cluster)
    while waiting:
        atom = max(waiting, key=lambda a: sum(obj in order for obj in a[1]))
        waiting.remove(atom)
        order.update(dict.fromkeys(atom[1]))
    rank = {obj: k for k, obj in enumerate(order)}
    for group in twin_groups(cluster):
        rank |= zip(group, sorted(rank[obj] for obj in group), strict=True)
    return tuple(sorted(rank, key=rank.__getitem__))


def twin_groups(cluster: Cluster) -> list[tuple[Obj, ...]]:
    """Groups of objects that may be swapped pairwise without changing the cluster."""
    groups: list[list[Obj]] = []
    objects = objects_of(cluster)
    for obj in objects:
        for group in groups:
            if group[0][0] == obj[0] and _swappable(group[0], obj, cluster, objects):
                group.append(obj)
                break
        else:
            groups.append([obj])
    return [tuple(group) for group in groups if len(group) > 1]


def _swappable(one: Obj, other: Obj, cluster: Cluster, objects: tuple[Obj, ...]) -> bool:
    swap = {obj: obj for obj in objects} | {one: other, other: one}
    return rename(cluster, swap) == cluster
