"""Every number that solvers compare with, in one place.

A solver takes a `Tolerances` and hands it on, so a test that needs another value passes one in.
Each field says what it means, why it has this value, and names a model that needs it where the
value is not plain floating-point arithmetic. FS is friends-smokers, CH the chain and TR the
transitive relation of Apsel's paper, all with weight 1.4 unless stated.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tolerances:
    """The tolerances and limits of all solvers; see the comments of the fields."""

    # --- rounding

    rounding: float = 1e-14
    """What rounding does to a sum, in proportion to its largest terms: some fifty units of the last
    place. Free energies that differ by less are equal, and gradients decide."""

    message_rounding: float = 8 * 2.0**-52
    """What rounding does to the log beliefs of flooding, in proportion: eight units of the last
    place. Without it flooding over 1e6 people or more never ends (weak FS)."""

    zero_belief: float = 1e-60
    """A belief below this is zero, and the point lies on the boundary. Far below what matters, far
    above the smallest double, so that ratios of beliefs stay finite (FS at 1e9 people)."""

    zero_curvature: float = 1e-13
    """A curvature below this cannot be told from zero: they are sums of numbers around one."""

    curvature_rounding: float = 1e-12
    """A point is a saddle if its smallest curvature is below minus this."""

    polished_curvature_rounding: float = 1e-14
    """The same once the point has been polished in decimals: FS with weight 6/N has a saddle with
    such a curvature at 1e12 people."""

    settled_rounding: float = 2e-15
    """The rounding of the gradient. Divided by the smallest curvature it is how far rounding moves
    a point along a flat direction; no point settles better than that (CH at 1e6 people)."""

    # --- consistent beliefs

    consistent: float = 1e-15
    """Beliefs are consistent once no equation between them is off by more than this."""

    nearly_consistent: float = 1e-13
    """Rounding may allow no more than this; then beliefs are consistent once the error no longer
    halves. It saves a tenth of the time of all models."""

    step_consistent: float = 1e-12
    """A step is refused if its end is less consistent than this: F is not comparable there."""

    start_consistent: float = 1e-9
    """A start is dropped if no consistent beliefs were found near it: hard formulas rule it out."""

    retraction_rounds: int = 12
    """The most Newton rounds that bring a step back to consistent beliefs; most need three."""

    last_rounds: float = 3.5
    """Rounds that are needed once no belief is far too large. Before that, each round makes such
    beliefs smaller by a factor of e only, so some points are known to take too long and are given
    up. It saves a tenth of the time of TR."""

    start_rounds: int = 100
    """The same for starts, which may be far from consistent."""

    retraction_stride: float = 5.0
    """The largest change of the log of a belief in such a round; longer ones overshoot."""

    ridge: float = 1e-13
    """Added to the unit diagonal of the normal equations, so that equations which follow from
    others do no harm. As large as their rounding."""

    decomposed_equations: int = 64
    """At most this many equations are decomposed, which finds exactly those that follow from
    others (celebrity and married at 1e9 people); more are solved with the ridge, which takes a
    fraction of the time."""

    # --- the loop of descent

    flooded_start: int = 60
    """Iterations of flooding that lead to one more start. It finds minima that no tilted start
    leads to (movies over objects:2 at 1e6)."""

    halvings: int = 12
    """How often a step is halved before its point is stuck."""

    armijo: float = 1e-4
    """The part of the predicted decrease that a step must achieve: the textbook value."""

    longest_step: float = 100.0
    """The largest change of the log of a belief in one step; longer ones lose the way (TR at 1e6
    people)."""

    lengthen: float = 4.0
    """How much longer than the last accepted step one may be, far from the end: long steps that
    have failed mostly fail again (CH at 20 people and at 1e4)."""

    far: float = 0.1
    """A point is far from the end while a step would change a belief by more than this, in
    proportion."""

    patience: int = 8
    """All starts must settle within this many times the iterations of the first one that does:
    it halves the time of thirty rules over six unary predicates."""

    least_patience: int = 25
    """And always have this many iterations (TR at 1e6 people)."""

    most_astray: int = 4
    """The most iterations in a row that a point may have an impossible entropy: counting numbers
    over-count there, and F falls without end (married and movies at 1e6)."""

    together: float = 0.02
    """Points whose next steps lead this near to each other, in proportion, are on the way to the
    same minimum, and one of them is followed: it halves the time of thirty rules."""

    together_curvature: float = 1e-8
    """Only where all curvatures exceed this: on flatter ground rounding decides where steps go."""

    acceptable: float = 1e-6
    """A point that cannot be improved further is settled if a step would change no belief by more
    than this, in proportion: rounding of tiny beliefs stops celebrity over 1e9 people at 1e-8."""

    worth_following: float = 0.1
    """Points of a neighbouring problem are starts if a step there would have changed no belief by
    more than this, in proportion."""

    # --- telling points apart

    same: float = 1e-4
    """Points whose beliefs differ by less are one point. Where hard parfactors over-count, a second
    stationary point may lie 3e-5 beside a minimum, with tiny beliefs instead of small ones; mixing
    both would count one world twice."""

    unsettled_same: float = 10.0
    """A point that has not settled is known no better than this many of its last steps (married
    at 1e6 people)."""

    inwards: float = 1e-9
    """How far inside the boundary its slope is measured, as a part of the way to another point. If
    F still falls there, beliefs are zero that should exceed this."""

    level: float = 1e-9
    """Points of a flat valley have the same log Z up to this, in proportion: `p(x) <=> p(y).`"""

    # --- what a missing point would weigh

    rival_at_rest: float = 1e-3
    """An unsettled point is at rest if a step would lower F by less than this; others are still
    on their way to some minimum."""

    rival_log_z: float = 1.0
    """It weighs as much as the best point if their log Z differ by less than this. FS over
    objects:3 at 80 people has two worlds, one of which does not settle: the other is no answer."""

    rival_apart: float = 0.1
    """It is a point of its own if some belief differs by more than this, in proportion to the
    largest: otherwise it is on its way to a known minimum (FS at 100 people)."""

    # --- decimals

    log_z_accuracy: float = 1e-10
    """A point is evaluated in decimals if rounding could change its log Z by more than this, in
    proportion (celebrity at 1e6 people)."""

    share_accuracy: float = 1e-5
    """Or if it could change log Z by more than this, as shares depend on differences (FS at 1e12
    people). Sums over counts ask for more."""

    compared: bool = False
    """Whether log Z is compared with that of other runs, as in sums over counts. If not, a point
    that is alone has a share of one, whatever its log Z (sweeps of TR beyond 1000 people)."""

    belief_accuracy: float = 1e-8
    """Or if it could change a belief by more than this, since the point is flat (weak FS)."""

    guard_digits: int = 25
    """Digits beyond those of the counts."""

    polish_rounds: int = 15
    """The most corrections of a point."""

    polish_settled: float = 1e-15
    """A point is polished once a correction changes no belief by more, in proportion."""

    polished: float = 1e-9
    """And polishing worked if the last correction was below this."""

    largest_correction: float = 0.5
    """A relative change of a belief beyond this is no correction: the point was not stationary."""

    # --- the verdict

    entropy_slack: float = 1e-12
    """Entropies are compared with their bounds up to this, in proportion."""

    noise_forgiven: float = 1e-3
    """An entropy that is out of bounds by no more than the rounding of beliefs explains is
    possible, if that rounding is below this part of the bound (married over bethe at 1e4)."""

    count_slack: float = 1e-7
    """Margins of counts are known no better, in proportion."""

    rarest_value: float = 1e-150
    """Values that are rarer exclude nothing that could be computed."""

    bound_slack: float = 1e-11
    """log Z is compared with its lower bound up to this, in proportion; and up to `level`."""

    stationary: float = 1e-5
    """Flooding has led to a stationary point if a Newton step changes no belief by more."""

    # --- flooding

    flooding_acceptable: float = 1e-8
    """A run that uses up its iterations with a residual below this has converged, only slowly."""

    largest_rounding: float = 1e-6
    """Log beliefs whose rounding is larger are worth nothing: exponents above some 5e9."""

    diverged: float = 10.0
    """A run has diverged if its residual exceeds the first ones by this factor."""

    # --- independent atoms

    product_tilts: tuple[float, ...] = (0.7, 0.9, 0.97, 0.99)
    """How far atoms are tilted towards a value in the search for the best independent atoms: movies
    with `likes` at 0.03 needs the last ones."""

    most_tilted_entries: int = 10**5
    """Layouts with more belief entries are searched with one tilt only."""

    products_followed: int = 4
    """How many of the best products are improved: with one, movies over objects:2 has an answer
    below the bound that is trusted."""

    product_rounds: int = 10
    """And in how many rounds, each of which halves the distance to the end."""

    products_apart: float = 0.05
    """Products whose probabilities differ by less are on their way to the same one."""

    rarest_log: float = -200.0
    """The log of the smallest probability of a value in a product."""

    most_product_entries: int = 10**6
    """Layouts with more belief entries have no bound by independent atoms."""

    most_dense_numbers: int = 4 * 10**6
    """Larger tables of which entry has which value are sparse."""

    # --- sizes

    most_unknowns: int = 20_000
    """Hessians are formed for at most this many belief entries."""

    most_equations: int = 2_000
    """And for at most this many message entries and inner entries: dense matrices of that size
    take 32 MB each."""

    most_numbers: int = 10**7
    """The size of the largest array of a batch; larger batches are processed in parts."""
