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

    last_places: float = 8 * 2.0**-52
    """What rounding does to a log belief or a slope, in proportion: eight units of the last place.
    No residual falls further: without it flooding over 1e6 people never ends (TR). Divided by the
    smallest curvature it is how far rounding moves a point along a flat direction, so no point
    settles better than that (CH at 1e6 people)."""

    zero_belief: float = 1e-60
    """A belief or a probability below this is zero, and the point lies on the boundary. Far below
    what matters, far above the smallest double, so that ratios stay finite (FS at 1e9 people)."""

    vanishing: float = 1e-290
    """Marginals below this are summed by their logs, since beliefs that enter them may be zero as
    floats (FS at 1e9 people)."""

    zero_curvature: float = 1e-13
    """An eigenvalue below this cannot be told from zero: they are those of matrices with ones in
    the diagonal. With ten times as much, movies over objects:2 at 1e6 has a minimum that is not
    the lowest as its answer."""

    # --- consistent beliefs

    most_rounds: int = 12
    """The most rounds of everything that needs a few: Newton rounds to consistent beliefs, halvings
    of a step, improvements of a product. Most need three. With six, FS
    with weight 0.5 over objects:3 at 200 people has no answer; with twenty, models take longer."""

    # --- the loop of descent

    flooded_start: int = 60
    """Iterations of flooding that lead to one more start. It finds minima that no tilted start
    leads to (movies over objects:2 at 1e6)."""

    far: float = 0.1
    """Beliefs that differ by more than this, in proportion, are far apart. A point that a step
    would take that far is far from the end, and no start for a neighbouring problem, nor for a
    proof; an unsettled point that far from
    all minima is on its way to none of them (FS at 100 people); products of independent atoms that
    are nearer lead to the same minimum."""

    patience: int = 8
    """All starts must settle within this many times the iterations of the first one that does:
    it halves the time of thirty rules over six unary predicates."""

    least_patience: int = 40
    """And always have this many iterations (TR at 1e6 people). In large layouts, points that fall
    and come nearer in none of as many are given up: rounding alone would move those of movies over
    objects:3 at 1e9 for four minutes."""

    most_astray: int = 4
    """The most iterations in a row that a point may have an impossible entropy: counting numbers
    over-count there, and F falls without end (married and movies at 1e6)."""

    progress: float = 0.9
    """A point makes progress if its residual falls below this part of the best one so far. Newton's
    method squares residuals, and takes a third off them where a minimum is flat."""

    most_idle: int = 3
    """The most iterations without progress of a point whose beliefs are `acceptable`: rounding is
    all that moves it (thirty formulas over seven predicates, at 1e-11)."""

    acceptable: float = 1e-6
    """Beliefs that are known to this, in proportion, are good enough where rounding allows no more:
    a point that cannot be improved further is settled if a step would change them by less (tiny
    beliefs stop celebrity over 1e9 people at 1e-8); log beliefs of flooding are worth nothing if
    their rounding is larger (FS at 1e10 people); and margins of counts are known no better."""

    # --- telling points apart

    same: float = 1e-4
    """Points whose beliefs differ by less are one point. Where hard parfactors over-count, a second
    stationary point may lie 3e-5 beside a minimum, with tiny beliefs instead of small ones; mixing
    both would count one world twice. Flooding has led to a stationary point if a Newton step
    changes beliefs by less: rounding makes it 1e-5 at 1e9 people (TR with weight 1.4/N)."""

    most_images: int = 128
    """A point with more images under the symmetries of its plan is left alone: with so many minima
    the shares of all others do not matter, and each of them is a row of beliefs. A Potts model has
    one image per order of its five values at most."""

    level: float = 1e-9
    """Points of a flat valley have the same log Z up to this, in proportion: `p(x) <=> p(y).`"""

    # --- what a missing point would weigh

    rival_log_z: float = 1.0
    """It weighs as much as the best point if their log Z differ by less than this. FS over
    objects:3 at 80 people has two worlds, one of which does not settle: the other is no answer."""

    # --- proofs

    surely_proven: int = 64
    """Points are proven if outer regions have up to this many beliefs: within a few milliseconds,
    less than descent takes. Terms of a sum and points of a sweep are not: there are hundreds."""

    most_proven: int = 400
    """Up to this many, points are proven if rounding may decide what they are: within a second or
    two (thirty formulas have 240)."""

    most_free: int = 100
    """And up to this many free beliefs, as the work grows like their cube: three blocks of the
    transitive relation have 99, and take half a second."""

    most_zeros: int = 200
    """And up to this many beliefs that are zero, as each may lead inside on a way of its own: three
    blocks of the transitive relation have 166."""

    followed_up_to: int = 32
    """Up to this many, descent goes on in balls where doubles have missed a minimum: within a tenth
    of a second for each end, where sixty take seconds (moods over objects:2)."""

    most_followed: int = 4
    """The most ends that are followed so, the most saddles that are left in both directions, and
    the most rounds of it."""

    plain_curvature: float = 1e-5
    """Curvatures above this are known to ten digits in doubles, if a point has settled. Points with
    smaller ones are proven, and have their curvature from the proof (weak FS)."""

    unsure_beliefs: tuple[float, ...] = (1e-30, 1e-15, 1e-12, 1e-9)
    """Beliefs just above `zero_belief` may need others that are just below. Then those below one of
    these are taken for zero at first, and exact numbers decide (three blocks of TR at 1e9)."""

    # --- digits of log Z

    log_z_accuracy: float = 1e-10
    """A point has its log Z from a proof if rounding could change it by more than this, in
    proportion (celebrity at 1e6 people)."""

    share_accuracy: float = 1e-5
    """Or if it could change log Z by more than this, as shares depend on differences (FS at 1e12
    people). Sums over counts ask for more."""

    compared: bool = False
    """Whether log Z is compared with that of other runs, as in sums over counts. If not, a point
    that is alone has a share of one, whatever its log Z (sweeps of TR beyond 1000 people)."""

    # --- the verdict

    bound_slack: float = 1e-12
    """Entropies and log Z are compared with their bounds up to this, in proportion: a hundred times
    what rounding does to a sum. Log Z also up to `level`. Of points whose F differs by less, one
    without zeros is preferred."""

    most_decomposed: int = 256
    """Pairs of up to this many variables that share regions are decomposed to see which exclude
    each other, and cycles among half as many are found at once, in milliseconds."""

    most_walked: int = 2 * 10**6
    """In larger networks cycles are looked for from some variables only: as many as take this many
    steps along edges, about a second."""

    # --- flooding

    flooding_acceptable: float = 1e-8
    """A run that uses up its iterations with a residual below this has converged, only slowly (TR
    at 5 people)."""

    diverged: float = 10.0
    """A run has diverged if its residual exceeds the first ones by this factor; below, it may swing
    without end (CH with weight 0.5 at 5 people, adaptive)."""

    looked_around: int = 5
    """After this many iterations each, a run from another start looks whether it is near to what is
    known: looking takes as long as half an iteration, and most runs are near after some twenty."""

    most_restarted: int = 10**5
    """Up to this many belief entries flooding starts again from every tilted start, and beyond from
    two opposite ones and a mirror image: each run takes seconds there (a citation network with a
    million entries)."""

    differences_followed: int = 40
    """How many rounds differences of messages are followed, to prove that there is one fixed point
    only. Where they die away at all, most do within ten (a million people with ten friends each);
    forty take as long as two or three iterations of messages."""

    shrunk: float = 1 - 1e-9
    """Differences of one that are less than this after some rounds have shrunk, rounded or not."""

    # --- independent atoms

    products_followed: int = 2
    """How many of the best products of independent atoms are improved. With one, FS over objects:4
    at 100 people loses one of its two minima; with four, starts that settle early end the search
    for the minimum of movies over objects:2 at 100."""

    most_climbed: int = 4 * 10**5
    """Products are improved from all starts, and kind by kind where formulas are hard, up to this
    many terms; in larger models only the best starts are, and whole groups. `p(y) => p(x) ^ p(z)`
    has two worlds at the ends of steep slopes, and one of them is not among the best starts. All
    plans that descent can afford have fewer terms."""

    hard: float = 1e6
    """What a violated hard formula costs while products are improved: more than any weight."""

    vanished: float = -20.0
    """A log probability below this becomes zero in the end, so that hard formulas hold for certain:
    what they push away ends far below, and weights rarely reach it."""

    softened: float = 1e-20
    """Products that hard formulas force are starts of descent with at least these probabilities, so
    that a minimum inside is not missed (`p(x) <=> p(y).`). With 1e-12, descent leaves a world that
    is alone (three objects, `p(x,y) => p(y,x) | x != y.` and two other formulas)."""

    most_product_entries: int = 10**6
    """Layouts with more belief entries have no bound by independent atoms: arrays of all products
    would take hundreds of megabytes."""

    # --- sizes

    most_unknowns: int = 20_000
    """Hessians are formed for at most this many belief entries: with the equations below, arrays of
    320 MB."""

    most_equations: int = 2_000
    """And for at most this many message entries and inner entries: dense matrices of that size
    take 32 MB each."""

    most_numbers: int = 10**7
    """The size of the largest array of a batch; larger batches are processed in parts. 80 MB
    each; larger tables of which entry has which value are sparse."""

    def slack_of(self, log_z: float) -> float:
        """How far rounding may take a log Z beyond a bound."""
        return self.bound_slack * abs(log_z) + self.level
