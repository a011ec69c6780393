"""Minima of the free energy at which blocks differ: found from products, and summed over sizes.

Each way to put objects into blocks of given sizes is a stationary point of the ground free energy.
A branch holds all of them, for all sizes around those with the largest weight. Where one block has
a few objects more or less, log Z and beliefs are known from one Newton step, so that a few steps
around the best sizes are enough to sum over hundreds of sizes.

The search finds one product of several that are images of each other, so the images of a minimum
under the symmetries of the split model are branches, too, unless they only exchange blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from itertools import permutations, product

import numpy as np

from liftgbp.lift.regions import Family
from liftgbp.lift.shatter import SplitShattering
from liftgbp.lift.shatter.splitting import Cell
from liftgbp.methods.blocks.block_search import Found, alike
from liftgbp.methods.blocks.labels import information, label_information, log_ways
from liftgbp.methods.blocks.nearby_sizes import Around, stencil_over
from liftgbp.methods.blocks.products import BlockProducts, MeanField
from liftgbp.methods.counting.count_mixture import CountMixture, Part
from liftgbp.methods.counting.peaks import weigh
from liftgbp.methods.counting.points import Base, exact_offset
from liftgbp.methods.counting.space import Counts, Space
from liftgbp.methods.series import SharedPlans
from liftgbp.plan import Plan
from liftgbp.posterior import ClassReader, PreparedLifted
from liftgbp.solve import Descent, Flaw, Kind, Point, Solution, exact_logs_z, with_tolerances
from liftgbp.solve.descent import independent, stepped
from liftgbp.solve.energy import scale_of
from liftgbp.solve.images import images_of
from liftgbp.support.arrays import Floats
from liftgbp.support.errors import ContradictionError, InternalError

RAISED = 1e-2
"""Products start descent twice. As they are, they lead to minima on the boundary (the chain over
1e6 objects); with no probability below this, to those beside it (the chain over 18)."""

PATIENCE = {"patience": 1, "least_patience": 15}
"""Both lead to one minimum, and the first that arrives is enough: the other one is given up then,
unless it took only a few iterations."""

SETTLED = 1e-9
"""A branch has settled once no belief would change by more than this, in proportion: the next step
would square that. Split plans have hundreds of equations, whose rounding alone changes beliefs by
1e-11 (friends-knows over 200 objects), so that descent would never end otherwise."""

SUMMED_TO = 10**4
"""Sizes are summed over in classes of at most this many objects. Beyond, the sum over sizes moves
probabilities by less than one in as many."""

MOST_ROUNDING = 1e-3
"""And where rounding changes log Z by no more than this."""

SAME_ROLE = 0.05
"""Blocks have the same role if exchanging them changes no probability and no size by more than
this, sizes in proportion. The two blocks of friends-knows over 28 objects differ by less than 0.3,
and have roles of their own."""

COVERED = 0.01
"""A branch has an image already if the sum over its sizes reaches the sizes of the image with at
least this part of its largest weight: two halves of unequal size that change places."""


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """A minimum at which blocks differ, with those at all sizes around it.

    solution     at the most likely sizes
    products     its single-atom probabilities, as products over blocks with one row
    information  what a world tells about the blocks of its objects there
    log_weight   the log of the sum over all sizes and all ways to choose the objects of each block
    """

    prepared: PreparedLifted
    mixture: CountMixture
    solution: Solution
    products: BlockProducts
    information: float
    log_weight: Decimal

    @property
    def reader(self) -> ClassReader:
        """What reads the branch."""
        return self.mixture.reader(self.prepared)

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """The most likely number of objects in each block of each class."""
        return tuple(tuple(round(size) for size in own[0]) for own in self.products.sizes)

    @property
    def leaves_open(self) -> float:
        """What a world does not tell about the blocks of its objects, of the log of all ways."""
        return (
            sum(float(log_ways(np.rint(own))[0]) for own in self.products.sizes) - self.information
        )


class Branches:
    """Finds the branches that a product leads to."""

    def __init__(
        self,
        split: SplitShattering,
        field: MeanField,
        places: Mapping[Cell, tuple[int, int]],
        regions: Family,
        descent: Descent,
    ) -> None:
        self._split = split
        self._field = field
        self._places = places
        settled = replace(descent, tol=max(descent.tol, SETTLED))
        self._descent = with_tolerances(settled, **PATIENCE, compared=True)
        self._plans = SharedPlans(regions)

    def of(self, found: Found, bound: float) -> list[Branch]:
        """The branch of a product and its images; none if no minimum with different blocks is near.

        `bound` is what log Z is at least for one way to put objects into blocks.
        """
        peak = self._of_cells(found.sizes)
        base = self._at(peak)
        if base is None:
            return []
        reading = _Reading(base, self._field, self._places)
        plan = base.prepared.plan
        starts = [reading.beliefs(found.products, soften) for soften in (_unchanged, _raised)]
        solution = self._descent.from_beliefs(plan, starts, bound)
        if solution is None:
            return []
        broken = self._broken(reading, found, solution)
        summed = partial(self._summed, found, peak, base, reading)
        if not broken and all(p.verdict.kind is Kind.UNKNOWN for p in solution.points):
            noise = self._descent.tolerances.rounding * scale_of(plan)
            if noise <= MOST_ROUNDING:
                return []
            # Rounding hides the minimum beside the product, which is as good then (friends-knows
            # over 1e12 objects).
            solution = self._independent(found, plan, starts[0])
            return self._with_images(found, base, reading, solution, summed)
        product = plan.log_offset + self._field.offset + found.total
        if max(broken, default=-math.inf) < product:
            # A start that arrives at blocks that are nearly alike has made the other one give up
            # (the chain over 13 and 14 objects).
            alone = self._descent.from_beliefs(plan, starts[:1], bound)
            broken |= {} if alone is None else self._broken(reading, found, alone)
        if not broken:
            return []
        best = solution.only(broken[max(broken)])
        return self._with_images(found, base, reading, best, summed)

    def product(self, found: Found, why: Flaw) -> list[Branch]:
        """The product itself as a branch, and its images; none if hard formulas rule it out.

        `why` says why there is no minimum to take instead.
        """
        peak = self._of_cells(found.sizes)
        base = self._at(peak)
        if base is None:
            return []
        reading = _Reading(base, self._field, self._places)
        beliefs = reading.beliefs(found.products, _unchanged)
        solution = self._independent(found, base.prepared.plan, beliefs, why)
        if solution.log_z == -math.inf:
            return []
        roles = symmetries(found.products, self._field)
        told = label_information(found.products, self._field)
        told = max(told, found.information - math.log(roles))
        weight = self._exact(base, solution) + Decimal(told)

        def branch(own: Solution) -> Branch:
            row = np.exp(own.log_beliefs)
            part = Part(base, (peak,), np.ones(1), row[None])
            mixture = CountMixture(self._split, (part,))
            return Branch(
                base.prepared, mixture, own, reading.products(row, found.products), told, weight
            )

        return self._with_images(found, base, reading, solution, branch)

    def _independent(
        self, found: Found, plan: Plan, beliefs: Floats, why: Flaw = Flaw.HIDDEN_MINIMUM
    ) -> Solution:
        entropy = float(self._field.entropies(found.products)[0])
        log_z = plan.log_offset + float(self._field.bounds(found.products)[0])
        return independent(plan, beliefs, log_z, entropy, self._descent.tolerances, why)

    def _of_cells(self, sizes: Sequence[Sequence[int]]) -> Counts:
        cells = ((own.cls, k) for own in self._split.splits for k in range(len(own.cells)))
        # Cells that are empty at the most likely counts have no place.
        places = (self._places.get(cell) for cell in cells)
        return tuple(0 if own is None else sizes[own[0]][own[1]] for own in places)

    def _at(self, counts: Counts) -> Base | None:
        try:
            own = self._split.at(counts)
        except ContradictionError:
            return None
        return Base(self._plans.prepare(own.normal), own.class_of)

    def _broken(self, reading: _Reading, found: Found, solution: Solution) -> dict[float, Point]:
        """The minima at which blocks differ, by what they are worth."""
        broken = {}
        for point in solution.points:
            products = reading.products(np.exp(point.log_beliefs), found.products)
            if point.verdict.sound and not alike(products, self._field):
                broken[point.log_z + float(information(products, self._field)[0])] = point
        return broken

    # --- images

    def _with_images(
        self,
        found: Found,
        base: Base,
        reading: _Reading,
        solution: Solution,
        branch_of: Callable[[Solution], Branch],
    ) -> list[Branch]:
        """The branch of a minimum, and those of its images that are not among its own points."""
        branches = [branch_of(solution)]
        own = self._descent.tolerances
        for image in images_of(base.prepared.plan, solution.log_beliefs, own):
            products = reading.products(np.exp(image), found.products)
            if not any(self._covers(branch, products) for branch in branches):
                moved = replace(
                    solution,
                    log_beliefs=image,
                    points=tuple(replace(own, log_beliefs=image) for own in solution.points),
                )
                branches.append(branch_of(moved))
        return branches

    def _covers(self, branch: Branch, products: BlockProducts) -> bool:
        """Whether products are those of a branch with exchanged blocks, at sizes that it has.

        Where worlds leave open which block an object is in, sizes that differ little stand for the
        same worlds (transitive over 11 objects).
        """
        (part,) = branch.mixture.parts
        shares = dict(zip(part.counts, part.shares.tolist(), strict=True))
        least = COVERED * max(shares.values())
        for orders in _exchanges(products):
            if _same_chances(branch.products, products, self._field, orders):
                sizes = _reordered(products, orders)
                counts = self._of_cells([tuple(map(round, own.tolist())) for own in sizes])
                near = branch.leaves_open > math.log(2) and _same_sizes(branch.products, sizes)
                if near or shares.get(counts, 0.0) >= least:
                    return True
        return False

    # --- the sum over sizes

    def _summed(
        self, found: Found, peak: Counts, base: Base, reading: _Reading, solution: Solution
    ) -> Branch:
        beliefs = np.exp(solution.log_beliefs)
        products = reading.products(beliefs, found.products)
        known = float(information(products, self._field)[0])
        roles = symmetries(products, self._field)
        # Where nothing is known about the blocks of objects, all sizes stand for the same worlds.
        around = self._around(peak, base, reading, found, beliefs) if known else None
        part = Part(base, (peak,), np.ones(1), beliefs[None])
        weight = self._exact(base, solution)
        if around is None:
            weight += Decimal(known - math.log(roles))
        else:
            weighed = weigh(around.space, around.exponents, starts=[peak])
            if weighed is None:
                raise InternalError("no sizes are possible, though the peak is")
            counts, shares = tuple(weighed.shares), np.array(list(weighed.shares.values()))
            part = Part(base, counts, shares, around.beliefs(counts))
            products = self._resized(products, counts[shares.argmax()])
            weight += weighed.log_total - Decimal(math.log(roles))
        mixture = CountMixture(self._split, (part,))
        return Branch(base.prepared, mixture, solution, products, known, weight)

    def _exact(self, base: Base, solution: Solution) -> Decimal:
        prepared = base.prepared
        log_z = exact_logs_z([prepared.plan], [solution], self._descent.tolerances)[0]
        return log_z.value + exact_offset(prepared.graph)

    def _resized(self, products: BlockProducts, counts: Counts) -> BlockProducts:
        left = iter(counts)
        sizes = tuple(own.copy() for own in products.sizes)
        for own in self._split.splits:
            for k in range(len(own.cells)):
                count, place = next(left), self._places.get((own.cls, k))
                if place is not None:
                    sizes[place[0]][0, place[1]] = count
        return BlockProducts(sizes, products.chances)

    def _around(
        self, peak: Counts, base: Base, reading: _Reading, found: Found, beliefs: Floats
    ) -> Around | None:
        """How log weights change with sizes.

        None if these are too large or too small for that, or if weights do not fall off around the
        peak (friends-knows over 30 objects in three blocks).
        """
        plan = base.prepared.plan
        rounding = self._descent.tolerances.rounding * scale_of(plan)
        if max(own.size for own in self._split.splits) > SUMMED_TO or rounding > MOST_ROUNDING:
            return None
        space = Space.of(self._split.splits)
        lattice = space.lattice(peak)
        stencil = list(stencil_over(len(lattice.cells)))
        points = [point for move in stencil if (point := lattice.point(move)) is not None]
        if len(points) < len(stencil) or min(map(min, points)) < 1:
            return None
        plans: list[Plan] = []
        for point in points:
            own = self._at(point)
            if own is None or own.prepared.plan.layout is not plan.layout:
                return None
            plans.append(own.prepared.plan)
        values, near = stepped(plans, beliefs, self._descent.tolerances)
        # A step may lead beyond the boundary.
        rows = np.clip(near, 0.0, 1.0)
        single = [
            self._resized(reading.products(own, found.products), point)
            for own, point in zip(rows, points, strict=True)
        ]
        values -= values[0]
        values += information(BlockProducts.joined(single), self._field)
        around = Around(space, lattice, stencil, points, values, near)
        return around if around.falls_off else None


def symmetries(products: BlockProducts, field: MeanField) -> int:
    """In how many ways blocks can be exchanged so that all probabilities stay as they are."""
    return sum(
        _same_sizes(products, _reordered(products, orders))
        and _same_chances(products, products, field, orders)
        for orders in _exchanges(products)
    )


def _exchanges(products: BlockProducts) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All orders of the blocks of each class."""
    return product(*(permutations(range(blocks)) for blocks in products.blocks))


def _reordered(products: BlockProducts, orders: Sequence[tuple[int, ...]]) -> list[Floats]:
    """The sizes of blocks in another order."""
    return [own[0][list(order)] for own, order in zip(products.sizes, orders, strict=True)]


def _same_sizes(products: BlockProducts, others: Sequence[Floats]) -> bool:
    """Whether blocks have the same sizes, in proportion or up to one object."""
    return all(
        (np.abs(other - own[0]) <= np.maximum(1.0, SAME_ROLE * own[0])).all()
        for own, other in zip(products.sizes, others, strict=True)
    )


def _same_chances(
    products: BlockProducts,
    others: BlockProducts,
    field: MeanField,
    orders: Sequence[tuple[int, ...]],
) -> bool:
    """Whether all probabilities are the same once the blocks of the others are exchanged."""
    chances = zip(products.chances, others.chances, field.classes_of_kind, strict=True)
    for own, turned, classes in chances:
        for place, cls in enumerate(classes):
            turned = np.take(turned, orders[cls], axis=1 + place)  # noqa: PLW2901
        if np.abs(turned - own).max(initial=0.0) > SAME_ROLE:
            return False
    return True


class _Reading:
    """Turns probabilities of single atoms over blocks into beliefs of regions, and back.

    `places` says for each cell of a split class which class and block it is.
    """

    def __init__(
        self, base: Base, field: MeanField, places: Mapping[Cell, tuple[int, int]]
    ) -> None:
        self._plan = base.prepared.plan
        layout = self._plan.layout
        place = {cls: places[cell] for cell, cls in base.class_of.items()}
        self._atoms: dict[int, tuple[int, tuple[int, ...], tuple[int, ...]]] = {}
        for region, atoms in zip(base.prepared.graph.regions, layout.atom_of_axis, strict=True):
            for atom, (predicate, args) in zip(atoms, region.cluster, strict=True):
                if atom in self._atoms:
                    continue
                objects = list(dict.fromkeys(args))
                whole = [(place[cls][0], k) for k, (cls, _) in enumerate(objects)]
                own = (predicate, tuple(whole[objects.index(obj)] for obj in args))
                tied = field.ties.of(own, whole)
                blocks = tuple(place[objects[k][0]][1] for k in tied.places)
                self._atoms[atom] = tied.kind, blocks, tied.values

    def beliefs(self, products: BlockProducts, soften: Callable[[Floats], Floats]) -> Floats:
        """The beliefs of independent atoms, with softened probabilities."""
        layout = self._plan.layout
        chances = {
            atom: soften(_of_values(products.chances[kind][0][blocks], values))
            for atom, (kind, blocks, values) in self._atoms.items()
        }
        tables = []
        for shape, states, atoms in zip(
            layout.shapes, layout.representatives, layout.atom_of_axis, strict=True
        ):
            belief = np.ones(len(states))
            for digits, atom in zip(np.unravel_index(states, shape), atoms, strict=True):
                belief *= chances[atom][digits]
            tables.append(belief)
        return np.concatenate(tables)

    def products(self, beliefs: Floats, like: BlockProducts) -> BlockProducts:
        """The probabilities of single atoms; those of blocks without atoms stay as they were."""
        chances = [own.copy() for own in like.chances]
        for atom, (kind, blocks, values) in self._atoms.items():
            chances[kind][0][blocks] = self._marginal(beliefs, atom)[list(values)]
        return BlockProducts(like.sizes, tuple(chances))

    def _marginal(self, beliefs: Floats, atom: int) -> Floats:
        """The distribution of one kind of atom, from the smallest region that has it."""
        layout = self._plan.layout
        region = layout.region_of_atom[atom]
        axis = layout.atom_of_axis[region].index(atom)
        table = layout.full_table(region, beliefs, missing=0.0)
        return np.asarray(table.sum(axis=tuple(k for k in range(table.ndim) if k != axis)))


def _of_values(chances: Floats, values: Sequence[int]) -> Floats:
    """The probabilities of an atom from those of the atom that decides it."""
    own = np.zeros(len(chances))
    own[list(values)] = chances
    return own


def _unchanged(chances: Floats) -> Floats:
    return chances


def _raised(chances: Floats) -> Floats:
    raised = np.maximum(chances, RAISED)
    return np.asarray(raised / raised.sum())
