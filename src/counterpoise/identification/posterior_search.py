"""How well the efforts that hold an arm are known: weight, springs and counterbalances, model error counted in.

A fit's own covariance takes what the model does not explain for noise. Real residuals are friction that no simple law
describes, cables, drives that are a little off, drifts; part of that looks like weight. Here all of it gets columns of
its own (nuisances.py) beside the model's, with sizes that the data choose (hierarchical.py), and the description is
trusted as far as the data support it: the result is the average over hypotheses (hypotheses.py), each as likely as its
evidence says, of a motion with these columns and without them. What a joint's weight could be confused with then widens
its uncertainty.

A nuisance that acts at rest (a spring or counterbalance, a gain, a tilt of the base) is looked for joint by joint, and
taken up where it raises the log evidence by SPEAKS; elsewhere it keeps its least size. A spring or a tilt that raises
it by MODEL_SPEAKS becomes part of the model. Such a spring may have higher harmonics of its joint's angle, where they
raise the evidence by SPEAKS again: cables are no sines, and what a sine leaves of them at a joint with little noise
would be explained by the masses of all links. Every weight of the prior is tried for that, because masses that are
believed less explain the same.

Two corrections for what no covariance knows. Few samples: 95 % intervals are Student's. Parts of the recording that
contradict each other: the estimate is made BLOCKS times, each time without one stretch of the recording (delete-block
jackknife, [Kunsch1989]); where these estimates are off by more than is to be expected, the error grows by as much. So
it does where poses at rest and motion are fitted together and each by itself says something else. An estimate from less
data is off that from all by a variance that is the difference of theirs ([Hausman1978]). Likewise what an earlier
calibration (earlier.py) moves the result by, since the recording alone does not confirm that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

import numpy as np

from ..fitting import (
    ROUNDS,
    Blocking,
    CadPrior,
    Choice,
    HierarchicalPosterior,
    HierarchicalRegression,
    Moments,
    Rare,
    RowProducts,
    Size,
    averaged,
    pooled_freedom,
    root_mean_square,
    student_factor,
)
from ..foundation import Array, frozen
from .earlier import EarlierCalibration
from .fitted_recordings import Chunk, FittedRecordings, survey_recordings
from .hypotheses import Hypothesis, hypotheses_of
from .load_posterior import TILT, LoadPosterior, tilt_columns
from .moving import LEAST_AUTOCORRELATION_TIME
from .nuisances import OFFSET, POSITION, PRESLIDING, SIZES, Nuisances

SPEAKS = 3.0
"""Log evidence by which a nuisance must improve the explanation to be taken up, a Bayes factor of 20."""
MODEL_SPEAKS = 13.0
"""The same for a spring or a tilt to become part of the model, which acts also where the arm was not. One that shows
less makes the load uncertain."""
SPEAKS_AGAIN = 0.5
"""Log evidence from which on a drift is looked at again."""
MOST_TAKEN = 6
"""Most nuisances that are taken up."""
AGAIN = 3.0
"""A nuisance that lowers the log evidence by more than this is not looked at again."""
TEST_ROUNDS = 25
"""Rounds in which a nuisance is tried."""
AS_MODELLED = SIZES | {kind: replace(SIZES[kind], least=1e-5) for kind in ("position", "gain", "hidden offset")}
"""Sizes of the nuisances for the estimate itself: what the model lacks at rest, it takes for weight."""
AT_REST = AS_MODELLED | {
    "friction": replace(SIZES["friction"], least=0.01),
    "offset": replace(SIZES["offset"], least=0.1, first=1.0, alike=False),
}
"""The same of poses at rest alone: friction that changes with the place, and offsets, are as small as the data say. At
their usual least sizes they would take the place of weight where all poses were reached from one side."""
FEW = SIZES | {"offset": replace(SIZES["offset"], alike=False)}
"""Sizes for poses at rest: too few to say how large the offsets of other joints are."""
NO_TILT, SOME_TILT = 1e-6, 0.1
"""Standard deviation of a tilt of the base that is not looked for, and of one that is [rad]."""
BLOCKS = 8
EXPECTED = 16.0
"""Stretches without contradiction that are added to those of the recording: a ratio of so few variances scatters."""
LARGE_OFFSET = 0.6
"""A sensor or drive may have an offset of this share of its effort's variation ..."""
LARGE_OFFSET_SHARE = 0.2
"""... at one joint of five, beforehand ..."""
LARGE_OFFSET_COUNTS = 1.0
"""... which counts as much as one joint that shows its offset."""
LARGE_SPRING = 0.2
"""A spring or cable that the data do not show may have this share of its joint's weight at the ends of its range ..."""
LARGE_SPRING_SHARE = 0.1
"""... at one joint of ten."""
SPRING_RANGE = 0.3
"""Range of a joint from which on a spring is believed [rad or m]: friction builds up over ways of some hundredths, and
looks like a spring in a range that is not much longer."""
FREE_OFFSET = 20.0
"""Offset that a sensor or drive may have, in usual ones ..."""
FREE_MASSES = 10.0
"""... and errors of the masses, in the likeliest ones of the description, where nearly the data alone are to speak."""
CALIBRATED = 0.9
"""True errors of a motion over what all these unknowns together say: each of them is counted for what it could be at
most. Simulated recordings whose truth is known would allow 0.85, real ones ask for more (docs/certificate-study.md)."""
STATIC_FRICTION = 0.1
"""Usual friction at rest, as a share of the effort, where the sides are known from which poses were reached."""


def load_posterior(
    recorded: FittedRecordings,
    prior: CadPrior | None,
    like: LoadPosterior | None = None,
    earlier: EarlierCalibration | None = None,
    *,
    adds: bool = False,
) -> LoadPosterior:
    """Return what recordings say about the efforts that hold an arm.

    Args:
        recorded: The recordings and a first fit to them.
        prior: Towards the description; None for the data alone.
        like: A posterior of more of the same data: its nuisances, prior weight and autocorrelation time are taken over,
            which is quick. Its deviations are then not corrected for contradictions.
        earlier: A calibration to start from, as likely beforehand as the description, or more.
        adds: Whether a tilt that shows is added to the model; otherwise it is weight to it.
    """
    search = _Search(recorded, prior, earlier, adds=adds)
    return search.posterior() if like is None else search.posterior_like(like)


class _Search:
    """Looks for the nuisances that a recording shows."""

    def __init__(
        self, recorded: FittedRecordings, prior: CadPrior | None, earlier: EarlierCalibration | None, *, adds: bool
    ) -> None:
        self._recorded = recorded
        self._adds = adds
        self._poses, self._extent, self._rows = survey_recordings(recorded)
        model = recorded.model
        moving = recorded.correlated
        friction = np.zeros(model.robot.n)
        if model.terms.coulomb:
            drives = np.abs(np.nan_to_num(model.per_joint("coulomb", recorded.x)))
            friction = np.abs(model.coupling).T @ drives
            if not moving:
                friction = np.where(model.active, STATIC_FRICTION * self._extent.effort, 0.0)
        rests = recorded.sources > 1
        self._nuisances = Nuisances(model, recorded.x, self._extent, friction, moving, recorded.own_offsets, rests)
        self._shared = len(model.names) + 2
        self._blocks = self._products()
        self._whole = _summed(self._blocks)
        self._hypotheses = hypotheses_of(recorded, prior, earlier)
        self._large_offsets, self._large_springs = self._rare_unknowns()
        self._averages = prior is not None or earlier is not None

    def posterior(self) -> LoadPosterior:
        """Return the posterior with the nuisances that the data show."""
        joints = self._whole.joints
        autocorrelation_time = np.ones(len(self._whole.values))
        if self._recorded.correlated:
            autocorrelation_time[:joints] = LEAST_AUTOCORRELATION_TIME
        chosen: Choice = frozenset()
        at = self._solve(
            self._regression(autocorrelation_time), self._hypotheses[0], chosen, noise=self._recorded.sigma
        )
        autocorrelation_time = self._autocorrelation_time(at)
        at, hypothesis = self._best(autocorrelation_time, chosen, at)
        kinds = [kind for kind in ("position", "gain", "drift") if kind in self._nuisances.kinds]
        tests = [(place, kind) for kind in kinds for place in range(joints)] + [(-1, TILT)]
        while tests and len(chosen) < MOST_TAKEN:
            tried = [(self._tried(autocorrelation_time, hypothesis, chosen | {test}, at), test) for test in tests]
            tried.sort(key=lambda pair: -pair[0].evidence)
            best, test = tried[0]
            if best.evidence - at.evidence < SPEAKS and not self._drifts(best, test, hypothesis, chosen, at):
                break
            tests = [other for one, other in tried[1:] if one.evidence > at.evidence - AGAIN]
            spring = (
                test[1] == "position" and best.evidence - at.evidence >= MODEL_SPEAKS and self._wide_enough(test[0])
            )
            chosen = chosen | {test}
            autocorrelation_time = self._autocorrelation_time(best)
            at, hypothesis = self._best(autocorrelation_time, chosen, best)
            if spring:
                shaped = chosen | {(test[0], "harmonic")}
                better, likeliest = self._best(autocorrelation_time, shaped, at)
                if better.evidence - at.evidence >= SPEAKS:
                    chosen, at, hypothesis = shaped, better, likeliest
        springs = [test for test in chosen if test[1] == "position"]
        shapes = [frozenset({test, (test[0], "harmonic")}) for test in springs]
        without = [self._tried(autocorrelation_time, hypothesis, chosen - shape, at).evidence for shape in shapes]
        pairs = zip(springs, without, strict=True)
        weak = frozenset(
            test for test, evidence in pairs if at.evidence - evidence < MODEL_SPEAKS or not self._wide_enough(test[0])
        )
        tilt = frozenset({(-1, TILT)}) & chosen
        if tilt and not (self._adds and self._tilt_speaks(autocorrelation_time, chosen, at) >= MODEL_SPEAKS):
            weak |= tilt
        return self._result(autocorrelation_time, chosen, weak, at)

    def _wide_enough(self, place: int) -> bool:
        """Return whether an active joint moved far enough for a spring to be distinguished from presliding friction."""
        joint = np.flatnonzero(self._recorded.model.active)[place]
        return bool(self._extent.upper[joint] - self._extent.lower[joint] >= SPRING_RANGE)

    def _tilt_speaks(self, autocorrelation_time: Array, chosen: Choice, at: HierarchicalPosterior) -> float:
        """Return the log evidence that a tilt adds, with the likeliest weight of the prior without it, too."""
        level, _ = self._best(autocorrelation_time, chosen - {(-1, TILT)}, at)
        return at.evidence - level.evidence

    def _drifts(
        self,
        best: HierarchicalPosterior,
        test: tuple[int, str],
        hypothesis: Hypothesis,
        chosen: Choice,
        at: HierarchicalPosterior,
    ) -> bool:
        """Return whether a drift shows once it is out of the residuals, which it correlates, and so hides itself."""
        if test[1] != "drift" or best.evidence - at.evidence < SPEAKS_AGAIN:
            return False
        autocorrelation_time = self._autocorrelation_time(best)
        with_it, without = (self._tried(autocorrelation_time, hypothesis, one, at) for one in (chosen | {test}, chosen))
        return with_it.evidence - without.evidence >= SPEAKS

    def posterior_like(self, like: LoadPosterior) -> LoadPosterior:
        """Return the posterior with the nuisances, prior weight and autocorrelation time of another one."""
        if len(like.weights) > 1:
            self._hypotheses = [self._hypotheses[int(np.argmax(like.weights))]]
        channels = len(self._whole.values)  # fewer than there, where no pose is left of the data
        autocorrelation_time, noise = like.autocorrelation_time[:channels], like.noise[:channels]
        at = self._solve(self._regression(autocorrelation_time), self._hypotheses[0], like.shown, noise=noise)
        modelled = self._as_modelled(autocorrelation_time, like.shown, like.weak, at)
        result = self._posterior(autocorrelation_time, like.shown, like.weak, [at])[0]
        return replace(result, fitted=averaged(self._moments_of_model(modelled), self._log_shares)[1])

    def _result(
        self, autocorrelation_time: Array, chosen: Choice, weak: Choice, at: HierarchicalPosterior
    ) -> LoadPosterior:
        regression = self._regression(autocorrelation_time)
        every = [self._solve(regression, hypothesis, chosen, begin=at) for hypothesis in self._hypotheses]
        modelled = self._as_modelled(autocorrelation_time, chosen, weak, at)
        # Poses at rest have other sizes there, so that their evidence does not compare.
        result, best = self._posterior(
            autocorrelation_time, chosen, weak, every, modelled if self._recorded.correlated else ()
        )
        result = replace(result, fitted=averaged(self._moments_of_model(modelled), self._log_shares)[1])
        own = _of_joints(chosen)
        contradicted, scattered = self._contradictions(result, own, autocorrelation_time, best)
        apart = self._apart(result, own, autocorrelation_time, best)
        changed = self._changed(result, every)
        deviations = root_mean_square(result.load(self._poses)[1] / result.widened)
        leaned = np.nan_to_num(changed) / np.where(deviations > 0.0, deviations, np.inf)
        widened = result.widened * np.maximum(1.0, contradicted)
        widened = frozen(np.max([widened, apart, leaned], axis=0))
        elsewhere = frozen(np.maximum(widened, scattered))
        return replace(
            result,
            widened=widened,
            elsewhere=elsewhere,
            apart=frozen(apart),
            earlier_change=frozen(changed),
            tilted=frozen(self._tilted_loads(result, autocorrelation_time, best)),
            free=frozen(self._free(result, own, autocorrelation_time, best)),
        )

    def _free(
        self, result: LoadPosterior, own: Choice, autocorrelation_time: Array, best: HierarchicalPosterior
    ) -> Array:
        """Return the deviations of the loads by nearly the data alone, root mean square over the poses, shape (a,).

        The description counts with FREE_MASSES times the errors that the data make likeliest: one that suits the data
        very well still helps. Offsets are as large as those of a bad sensor or drive.
        """
        sizes = SIZES | {"offset": Size(FREE_OFFSET, FREE_OFFSET, free=False)}
        regression = HierarchicalRegression(self._whole, autocorrelation_time, sizes)
        alone = regression.solve(FREE_MASSES * best.root, own, shift=best.shift, begin=best, rounds=1)
        rows, _ = result.rows(self._poses)
        found = np.empty(self._whole.joints)
        for joint in range(len(found)):
            wide = result.placed(rows, joint, offset=joint in result.springs)
            found[joint] = np.sqrt(max(float(np.mean(np.sum((wide @ alone.covariance) * wide, axis=1))), 0.0))
        return found

    def _tilted_loads(self, result: LoadPosterior, autocorrelation_time: Array, best: HierarchicalPosterior) -> Array:
        """Return how far a tilt of the base could move the loads where it explains the data as well as none, (a,).

        A joint with a vertical axis has no weight by the description, and a tilt gives it a constant one along many
        paths: to the data that is an offset.
        """
        joints = self._whole.joints
        if (-1, TILT) in result.shown:
            return np.zeros(joints)
        regression = self._regression(autocorrelation_time)
        described = Hypothesis(best.shift, best.root, 1.0)
        tilted = self._solve(regression, described, result.shown | {(-1, TILT)}, begin=best)
        level = self._solve(regression, described, result.shown, begin=best)
        if tilted.evidence <= level.evidence:
            return np.zeros(joints)
        rows, _ = result.rows(self._poses)
        moved = tilted.mean - level.mean
        loads = [result.placed(rows, joint, offset=joint in result.springs) @ moved for joint in range(joints)]
        return root_mean_square(np.stack(loads, axis=1))

    def _changed(self, result: LoadPosterior, every: Sequence[HierarchicalPosterior]) -> Array:
        """Return how far an earlier calibration moves the efforts that hold the arm, shape (a,); NaN without one."""
        pairs = [
            (one, hypothesis) for one, hypothesis in zip(every, self._hypotheses, strict=True) if not hypothesis.earlier
        ]
        if len(pairs) == len(every):
            return np.full(self._whole.joints, np.nan)
        _, mean, _ = averaged(
            self._moments([one for one, _ in pairs]),
            np.log([hypothesis.share for _, hypothesis in pairs]),
        )
        rows, _ = result.rows(self._poses)
        moves = [result.placed(rows, joint, offset=False) @ (result.mean - mean) for joint in range(rows.shape[1])]
        return root_mean_square(np.stack(moves, axis=1))

    def _as_modelled(
        self, autocorrelation_time: Array, shown: Choice, weak: Choice, at: HierarchicalPosterior
    ) -> list[HierarchicalPosterior]:
        """Return the posteriors of the model alone: what it lacks and acts at rest is weight to it."""
        sizes = AS_MODELLED if self._recorded.correlated else AT_REST
        regression = HierarchicalRegression(self._whole, autocorrelation_time, sizes)
        lacking = weak | {one for one in shown if one[1] == "gain"}
        return [self._solve(regression, hypothesis, shown - lacking, begin=at) for hypothesis in self._hypotheses]

    def _posterior(
        self,
        autocorrelation_time: Array,
        chosen: Choice,
        weak: Choice,
        every: Sequence[HierarchicalPosterior],
        modelled: Sequence[HierarchicalPosterior] = (),
    ) -> tuple[LoadPosterior, HierarchicalPosterior]:
        """Return the average of posteriors, with nuisances and of the model alone, and the likeliest of the former."""
        shares = np.tile(self._log_shares, 2 if modelled else 1)
        weights, mean, covariance = averaged([*self._moments(every), *self._moments_of_model(modelled)], shares)
        weights = weights.reshape(-1, len(every)).sum(axis=0)
        best = every[int(np.argmax(weights))]
        freedom = np.maximum(self._whole.rows / autocorrelation_time - best.fitted, 0.0)
        factor = student_factor(pooled_freedom(freedom, best.fitted, self._whole.sources))
        widened = frozen(factor * (CALIBRATED if self._recorded.correlated else 1.0))
        result = LoadPosterior(
            nuisances=self._nuisances,
            start=self._recorded.start,
            mean=mean,
            covariance=covariance,
            widened=widened,
            elsewhere=widened,
            shown=chosen,
            weak=weak,
            weights=weights if self._averages else np.zeros(0),
            earlier_speaks=self._earlier_speaks(every),
            earlier_change=np.full(self._whole.joints, np.nan),
            autocorrelation_time=autocorrelation_time,
            noise=best.noise,
            freedom=freedom,
            poses=self._poses,
            fitted=mean,
            carried=self._carried(
                autocorrelation_time, best, {place for place, kind in chosen - weak if kind == "position"}
            ),
            apart=np.zeros(self._whole.joints),
            tilted=np.zeros(self._whole.joints),
            free=np.zeros(self._whole.joints),
        )
        return result, best

    def _carried(self, autocorrelation_time: Array, best: HierarchicalPosterior, springs: Set[int]) -> Array:
        """Return by which friction, rotors, offsets and springs the model explains nuisances best; see LoadPosterior.

        Args:
            autocorrelation_time: How many samples count as one, shape (c,).
            best: The likeliest posterior.
            springs: Places of the joints whose springs are part of the model.
        """
        joints, width = best.sizes.shape
        size = self._shared + joints * width
        model = self._recorded.model
        moving = [model.groups[term.name] for term in model.terms.chosen if term.adds and not term.acts_at_rest]
        drives = [at for group in moving for at in range(group.start, group.stop)]
        kinds = self._nuisances.kinds
        moved = [at for at, kind in enumerate(kinds) if kind in ("harmonic", "friction", "unseen", "drift")]
        owned = [
            (joint, at)
            for joint in range(joints)
            for at in ([*range(POSITION), OFFSET] if joint in springs else [OFFSET])
        ]
        taking = np.array([*drives, *(self._shared + joint * width + at for joint, at in owned)])
        normal, pull = np.zeros((len(taking), len(taking))), np.zeros((len(taking), size))
        weight = 1.0 / (autocorrelation_time * best.noise**2)
        for joint in range(joints):
            own = self._shared + joint * width
            mine = [(len(drives) + row, at) for row, (one, at) in enumerate(owned) if one == joint]
            places = [*drives, *(self._shared + at for _, at in mine)]
            into = [*range(len(drives)), *(row for row, _ in mine)]
            values = weight[joint] * self._whole.values[joint]
            normal[np.ix_(into, into)] += values[np.ix_(places, places)]
            pull[np.ix_(into, [own + at for at in moved])] += values[
                np.ix_(places, [self._shared + at for at in moved])
            ]
        size_of = np.sqrt(np.diag(normal))
        excited = size_of > 1e-9 * size_of.max()
        scale = np.where(excited, size_of, np.inf)
        carried = np.zeros((size, size))
        found = np.linalg.lstsq(normal / np.outer(scale, scale), pull / scale[:, None], rcond=1e-9)[0]
        carried[taking] = found / scale[:, None]
        return carried

    def _contradictions(
        self, result: LoadPosterior, own: Choice, autocorrelation_time: Array, best: HierarchicalPosterior
    ) -> tuple[Array, Array]:
        """Return how far estimates without one stretch are off, over what is to be expected, shape (a,).

        The second one is their scatter (the jackknife's) over the deviations, whatever was to be expected of it.
        """
        parts = [self._whole.without(block) for block in self._blocks if np.all(self._whole.rows - block.rows > 0.0)]
        moved, expected = self._shifts(result, parts, own, autocorrelation_time, best)
        deviations = result.load(self._poses)[1] / result.widened
        sums = (expected.sum(axis=0), np.mean(deviations**2, axis=0) * len(parts) / max(len(parts) - 1, 1))
        ratio, scattered = (moved.sum(axis=0) / np.where(total > 0.0, total, np.inf) for total in sums)
        contradicted = (len(parts) * ratio + EXPECTED) / (len(parts) + EXPECTED)
        return np.sqrt(contradicted), np.sqrt(scattered)

    def _apart(
        self, result: LoadPosterior, own: Choice, autocorrelation_time: Array, best: HierarchicalPosterior
    ) -> Array:
        """Return how far poses at rest and motion are apart, over what is to be expected, shape (a,)."""
        whole = self._whole
        if whole.sources == 1:
            return np.zeros(whole.joints)
        kept = [np.repeat(np.arange(whole.sources) == source, whole.joints) for source in range(whole.sources)]
        parts = [replace(whole, values=whole.values * some[:, None, None], rows=whole.rows * some) for some in kept]
        moved, expected = self._shifts(result, parts, own, autocorrelation_time, best)
        return np.asarray(np.sqrt(np.max(moved / np.where(expected > 0.0, expected, np.inf), axis=0)))

    def _shifts(
        self,
        result: LoadPosterior,
        parts: Sequence[RowProducts],
        own: Choice,
        autocorrelation_time: Array,
        best: HierarchicalPosterior,
    ) -> tuple[Array, Array]:
        """Return how far loads by parts of the data are off those by all, and what is to be expected of that.

        Both are mean squares over the recorded poses, shape (len(parts), a). An estimate from less data is off that
        from all by a variance that is the difference of theirs ([Hausman1978]).
        """
        rows, _ = result.rows(self._poses)
        joints = self._whole.joints
        wide = [result.placed(rows, joint, offset=joint in result.springs) for joint in range(joints)]
        both = self._regression(autocorrelation_time).solve(best.root, own, shift=best.shift, begin=best, rounds=1)
        moved, expected = np.zeros((2, len(parts), joints))
        for place, part in enumerate(parts):
            regression = HierarchicalRegression(part, autocorrelation_time, SIZES)
            alone = regression.solve(best.root, own, shift=best.shift, begin=best, rounds=1)
            shift, less = alone.mean - both.mean, alone.covariance - both.covariance
            for joint in range(joints):
                moved[place, joint] = np.mean((wide[joint] @ shift) ** 2)
                expected[place, joint] = max(float(np.mean(np.sum((wide[joint] @ less) * wide[joint], axis=1))), 0.0)
        return moved, expected

    def _best(
        self, autocorrelation_time: Array, chosen: Choice, begin: HierarchicalPosterior
    ) -> tuple[HierarchicalPosterior, Hypothesis]:
        """Return the posterior of the likeliest hypothesis, and that."""
        regression = self._regression(autocorrelation_time)
        every = [
            (self._solve(regression, hypothesis, chosen, begin=begin), hypothesis) for hypothesis in self._hypotheses
        ]
        return max(every, key=lambda pair: pair[0].evidence)

    def _tried(
        self, autocorrelation_time: Array, hypothesis: Hypothesis, chosen: Choice, at: HierarchicalPosterior
    ) -> HierarchicalPosterior:
        return self._solve(self._regression(autocorrelation_time), hypothesis, chosen, begin=at, rounds=TEST_ROUNDS)

    def _solve(
        self,
        regression: HierarchicalRegression,
        hypothesis: Hypothesis,
        chosen: Choice,
        *,
        begin: HierarchicalPosterior | None = None,
        noise: Array | None = None,
        rounds: int = ROUNDS,
    ) -> HierarchicalPosterior:
        """Return the posterior of a hypothesis, with the nuisances that are chosen."""
        root = self._tilted(hypothesis.root, chosen)
        own = _of_joints(chosen)
        return regression.solve(root, own, shift=hypothesis.mean, begin=begin, noise=noise, rounds=rounds)

    def _rare_unknowns(self) -> tuple[Rare, Rare]:
        """Return the offsets and the springs that are much larger than the usual ones at few joints."""
        active, offset = self._recorded.model.active, self._nuisances.offset
        sizes = LARGE_OFFSET * self._extent.variation / np.where(offset > 0.0, offset, np.inf)
        springs = np.full(int(active.sum()), LARGE_SPRING)
        return (
            Rare(OFFSET, LARGE_OFFSET_SHARE, sizes[active], LARGE_OFFSET_COUNTS),
            Rare(0, LARGE_SPRING_SHARE, springs),
        )

    def _moments(self, every: Sequence[HierarchicalPosterior]) -> list[Moments]:
        """Return the moments of posteriors with nuisances."""
        return [one.moments([self._large_offsets, self._large_springs]) for one in every]

    def _moments_of_model(self, modelled: Sequence[HierarchicalPosterior]) -> list[Moments]:
        """Return the moments of posteriors of the model alone, to which a spring is weight."""
        return [one.moments([self._large_offsets]) for one in modelled]

    @property
    def _log_shares(self) -> Array:
        return np.log([hypothesis.share for hypothesis in self._hypotheses])

    def _earlier_speaks(self, every: Sequence[HierarchicalPosterior]) -> float:
        """Return the log evidence that an earlier calibration belongs to this arm; NaN without one."""
        groups = []
        for belongs in (True, False):
            pairs = zip(every, self._hypotheses, strict=True)
            scores = [
                one.evidence + np.log(hypothesis.share) for one, hypothesis in pairs if hypothesis.belongs == belongs
            ]
            shares = [true.share for true in self._hypotheses if true.belongs == belongs]
            groups.append(np.logaddexp.reduce(scores) - np.log(sum(shares)) if scores else np.nan)
        return float(groups[0] - groups[1])

    def _regression(self, autocorrelation_time: Array) -> HierarchicalRegression:
        return HierarchicalRegression(self._whole, autocorrelation_time, SIZES if self._recorded.correlated else FEW)

    def _tilted(self, root: Array, chosen: Choice) -> Array:
        """Return the root with the tilt that is looked for."""
        tilted = root.copy()
        tilt = range(self._shared - 2, self._shared)
        tilted[tilt, tilt] = SOME_TILT if (-1, TILT) in chosen else NO_TILT
        return tilted

    def _columns_of(self) -> Iterator[tuple[Chunk, Array, Array]]:
        """Yield samples, their rows [A, tilt, own, y − A start], shape (k, a, ·), and weights, piece by piece."""
        recorded, model, nuisances = self._recorded, self._recorded.model, self._nuisances
        number, state = -1, np.zeros(0)
        for piece in recorded.chunks():
            chunk, A, y = piece.samples, piece.A, piece.y
            if piece.number != number:
                number, state = piece.number, np.vstack([np.zeros((len(PRESLIDING), model.robot.n)), chunk.q[:1]])
            weight = recorded.weigh(chunk, y - A @ recorded.x, piece.poses)
            bodies = A[:, :, model.groups["bodies"]] @ recorded.x[model.groups["bodies"]]
            own, state = nuisances.values(chunk, bodies, piece.number, state, poses=piece.poses)
            A[:, :, model.groups["offset"]] = 0.0
            left = y - A @ recorded.start
            measured = np.isfinite(left)
            whole = np.concatenate([A, tilt_columns(model, recorded.x, chunk.q), own, left[:, :, None]], axis=2)
            yield piece, np.where(measured[:, :, None], whole, 0.0), np.where(measured, weight, 0.0)

    def _products(self) -> list[RowProducts]:
        """Return the scalar products of every stretch of the recordings; poses go with the motion of their time."""
        sources, joints = self._recorded.sources, len(self._recorded.model.joint_names)
        width = self._shared + len(self._nuisances.kinds) + 1
        values = np.zeros((BLOCKS, sources, joints, width, width))
        rows = np.zeros((BLOCKS, sources, joints))
        passed = [0] * sources
        for piece, whole, weight in self._columns_of():
            source = int(piece.poses)
            block = (passed[source] + np.arange(len(whole))) * BLOCKS // self._rows[source]
            passed[source] += len(whole)
            for place in np.unique(block).tolist():
                here = block == place
                weighted = np.swapaxes(whole[here] * np.sqrt(weight[here])[:, :, None], 0, 1)
                values[place, source] += np.swapaxes(weighted, 1, 2) @ weighted
                rows[place, source] += weight[here].sum(axis=0)
        power = np.tile(self._extent.effort[self._recorded.model.active] ** 2, sources)
        kinds = self._nuisances.kinds
        flat = values.reshape(BLOCKS, sources * joints, width, width)
        return [
            RowProducts(flat[place], rows[place].ravel(), power, self._shared, kinds, sources)
            for place in range(BLOCKS)
        ]

    def _autocorrelation_time(self, at: HierarchicalPosterior) -> Array:
        """Return how many samples count as one, from what a posterior leaves of the efforts, shape (c,).

        A pose at rest is the mean of its samples already, and counts as one.
        """
        joints, width = at.sizes.shape
        autocorrelation_time = np.ones(len(self._whole.values))
        if not self._recorded.correlated:
            return autocorrelation_time
        blocking = Blocking(joints)
        last = np.inf
        for piece, whole, weight in self._columns_of():
            if piece.poses:
                continue
            if piece.samples.time[0] < last:
                blocking.pause()
            last = float(piece.samples.time[-1])
            left = whole[:, :, -1] - whole[:, :, : self._shared] @ at.mean[: self._shared]
            own = at.mean[self._shared :].reshape(joints, width)
            left = left - np.sum(whole[:, :, self._shared : -1] * own, axis=2)
            blocking.add(np.where(weight > 0.0, left * np.sqrt(weight), np.nan))
        autocorrelation_time[:joints] = np.maximum(blocking.autocorrelation_times(), LEAST_AUTOCORRELATION_TIME)
        return autocorrelation_time


def _of_joints(chosen: Choice) -> Choice:
    """Return the nuisances of single joints."""
    return frozenset(one for one in chosen if one[1] != TILT)


def _summed(blocks: Sequence[RowProducts]) -> RowProducts:
    values = np.sum([block.values for block in blocks], axis=0)
    return replace(blocks[0], values=values, rows=np.sum([block.rows for block in blocks], axis=0))
