"""The default method: a fit of all terms at once, weighted by each joint's own noise, held by a prior, robust.

Each pass over the data makes the rows of the model at the present estimate (effort_model.py), reduces them to one
triangular factor per joint (regression.py), and solves for unknowns and noise levels with the prior (prior.py). From
the second pass on the residuals decide three things:

- outliers: a residual beyond HUBER robust standard deviations counts by its size only (Huber's weight, [Huber1981]),
  and from the fourth pass on one beyond REJECT not at all (Hampel's weight, as in robust.py);
- reversals: where an actuator hardly moves, the sign of its friction is unknown. Its Coulomb friction is then a number
  anywhere in ±F_c, which adds F_c²/3 to the row's variance, in the share 1 − tanh²(u/v₀);
- autocorrelation: how many samples count as one (autocorrelation.py).

Passes end when the estimate moves by less than CONVERGED of its standard error. A model with gain, zero or tilt takes a
Gauss–Newton step per pass, and must converge.

What comes of that is the place from which the result is found: the estimate and its covariance are those of
load_posterior.py, which counts in what the model does not explain, and averages over how far the description may be
off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..fitting import (
    Blocking,
    CadPrior,
    EffortModel,
    EffortTerm,
    Gaussian,
    JointRegression,
    Samples,
    Scales,
    Solution,
    Terms,
    better_than_described,
    bounds_of,
    hampel_weight,
    huber_weight,
    nearest_consistent,
    prior_of,
    registered_terms,
    rms_of_squares,
    robust_std,
    solve,
)
from ..foundation import Array, frozen
from .earlier import EarlierCalibration
from .fitted_recordings import FittedRecordings
from .hypotheses import sources_of
from .load_posterior import LoadPosterior
from .moving import KEPT_PER_PERIOD
from .nuisances import STAND_FOR
from .posterior_search import load_posterior
from .runs import EVERY, FittedRun, RepeatedRun, survey_runs, thinned

CONVERGED = 0.05
LEAST_PASSES = 4
"""The first pass fits, the second sees how residuals scatter, the third bounds outliers, the fourth leaves them out."""
QUICK_PASSES = 3
"""Passes of a fit that takes over what another one found: it begins near enough."""
LEAST_REJECTED = 60
"""Fewest samples of a joint of which outliers are left out: among few, they may be the fit's own luck."""
MAX_PASSES = 10
MAX_NEWTON = 25
EXACT = 1e-6
"""Residuals, as a share of the largest effort, of data that were computed, not measured."""
TERM_SPEAKS = 13.0
"""Log evidence by which a term must improve the explanation to become part of the model, as for a spring."""
LEAST_GAIN_CERTAINTY = 3.0
"""A first guess of a gain counts when it is this many standard errors from zero."""
LEAST_GAIN_SHARE = 0.5
"""A negative one is a reversed sign when it explains this share of its effort's variance. With less, the description's
weight of that joint is wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedFit:
    """Result of :func:`weighted_fit`; arrays are read-only. a joints have a measured effort, p numbers are unknown.

    Attributes:
        model: The unknowns and how they enter the efforts.
        solution: Estimate, covariance, noise, rank and condition.
        posterior: What is known of the efforts that hold the arm, model error counted in.
        prior_source: What the fit leaned on, in words; "" for no prior.
        data_share: Of each unknown, how much of what is known comes from the data and not from the prior, 0 to 1, shape
            (p,): 1 − posterior/prior variance. 1 where there is no prior.
        described_rms: Error of the description with the friction, offsets and rotors that suit it best, shape (a,).
        command_units: True when a gain was fitted without a weighed load: efforts are right, but masses, and with them
            gains, only as right as the prior.
    """

    model: EffortModel
    solution: Solution
    posterior: LoadPosterior
    prior_source: str
    data_share: Array
    described_rms: Array
    command_units: bool

    @property
    def x(self) -> Array:
        """The estimate, shape (p,), named by ``model.names``."""
        return self.solution.x


def weighted_fit(
    robot: Robot,
    runs: Samples | FittedRun | Sequence[FittedRun],
    *,
    terms: Terms | None = None,
    prior: CadPrior | None = CadPrior(),  # noqa: B008 (immutable)
    robust: bool = True,
    consistent: bool = False,
    search: bool = False,
    like: WeightedFit | None = None,
    own_offsets: bool = False,
    earlier: EarlierCalibration | None = None,
) -> WeightedFit:
    """Fit a robot to recordings.

    Args:
        robot: Kinematics, mounting and CAD values.
        runs: One recording or several; with a gain to be fitted, at least two that differ by a weighed load.
        terms: What is fitted; None for :meth:`.Terms.moving`, or :meth:`.Terms.static` where nothing moves.
        prior: Towards the CAD values; None to trust the data alone. What they leave open then stays at the CAD values
            and is listed in ``solution.undetermined``.
        robust: Let outliers count less.
        consistent: Return body parameters that real bodies can have, the nearest to the estimate
            (consistent_bodies.py). Needs a prior, because joint torques do not reveal them all.
        search: Add what the data show: terms that are tried (``EffortTerm.tried``), such as springs, joint by joint,
            and a tilt of the base.
        like: A fit to more of the same data, with the same terms before others were added: what it found about the
            unexplained part of the efforts is taken over, which is quick.
        own_offsets: Let every run have an offset of its own; that of the first is the result's.
        earlier: A calibration to start from; only for efforts that are torques.

    Raises:
        InputError: The runs do not belong to the robot, hold no motion that a term needs, or a model with gain, zero or
            tilt does not converge.
    """
    given = [FittedRun(runs)] if isinstance(runs, Samples) else [runs] if isinstance(runs, FittedRun) else list(runs)
    listed = [RepeatedRun(run) for run in given]
    if consistent and (prior is None or (terms is not None and terms.bodies != "full")):
        raise InputError("consistent parameters need a prior and all ten parameters per body (bodies='full')")
    survey = survey_runs(robot, listed)
    chosen = terms if terms is not None else Terms.moving() if survey.moves else Terms.static()
    if not survey.moves and chosen.need_motion:
        raise InputError(
            "nothing moves in these samples; viscous friction, rotors and inertias cannot be fitted. Ask for "
            "Terms.static(), or record a motion"
        )
    if any(run.poses for run in listed) and (listed[0].poses or not survey.filtered):
        raise InputError("poses at rest beside a motion follow the run of the motion that they are of")
    if search and like is not None:
        tried = {term.name: getattr(like.model.terms, term.name) for term in _tried_terms(moves=survey.moves)}
        chosen = chosen.replace(**tried)
    model = EffortModel(robot, chosen, survey.active, survey.coupling)
    known = [None if run.robot is None else model.known_load(run.robot) for run in listed]
    weighed = any(load is not None and np.any(load) for load in known)
    x = model.start()
    scales = survey.scales(robot)
    if chosen.gain:
        x = _first_gains(model, listed, known, x, correlated=survey.filtered)
        scales = replace(scales, inertia=scales.inertia * model.gains(x))
    task = _Task(model, listed, known, x, scales, prior, robust=robust, correlated=survey.filtered)
    state = _iterate(task, LEAST_PASSES if like is None else QUICK_PASSES)
    if search and like is None:
        for term in _tried_terms(moves=survey.moves):
            task, state = _with_tried(task, state, term)
    recorded = _recorded(task, state, own_offsets=own_offsets)
    posterior = load_posterior(recorded, prior, None if like is None else like.posterior, earlier, adds=search)
    if search and (posterior.springs or posterior.leans):
        task, state = _with_shown(task, state, posterior)
    described_rms = _described_rms(task.model, state)
    solution = _averaged(task.model, state, posterior, described_rms)
    if consistent:
        solution = _made_consistent(task.model, state.regression, solution)
    if prior is None and earlier is None:
        solution = _data_alone(solution, state, task.start)
    solution = _of_motion(solution, len(task.model.joint_names))
    return WeightedFit(
        model=task.model,
        solution=solution,
        posterior=posterior,
        prior_source=sources_of(robot, prior, earlier),
        data_share=frozen(np.ones(len(solution.x)) if prior is None else _data_share(solution, task.belief())),
        described_rms=frozen(described_rms),
        command_units=bool(chosen.gain) and not weighed,
    )


def _first_gains(
    model: EffortModel,
    runs: Sequence[RepeatedRun],
    known: Sequence[Array | None],
    x: Array,
    *,
    correlated: bool,
) -> Array:
    """Return x with gains that make the CAD model fit best, friction and offset free; bodies stay.

    A joint whose gain is uncertain, or negative without explaining its effort, gets the median gain: its described
    weight is small or wrong.
    """
    group = model.groups
    free = model.added.copy()
    free[group["gain"]] = True
    names = [name for name, used in zip(model.names, free, strict=True) if used]
    regression = JointRegression(model.joint_names, names)
    at = [names.index(name) for name in model.names[group["gain"]]]
    own = [model.joint_names.index(model.robot.joint_names[joint]) for joint in model.joints_of("gain")]
    sums = np.zeros((3, 2, len(own)))  # number, sum and sum of squares of the described and of the measured efforts
    for run, load in zip(runs, known, strict=True):
        for chunk in run.chunks():
            A, _ = model.rows(chunk, x, load)
            rows, efforts = A[:, :, free], chunk.tau[:, model.active]
            regression.add(rows, efforts)
            pairs = np.stack([rows[:, own, at], efforts[:, own]])
            sums += [np.sum(np.isfinite(pairs), axis=1), np.nansum(pairs, axis=1), np.nansum(pairs**2, axis=1)]
    counts = KEPT_PER_PERIOD if correlated else 1.0
    solution = solve(regression, autocorrelation_time=np.full(len(model.joint_names), counts))
    gains, std = solution.x[at], solution.std[at]
    sure = np.abs(gains) > LEAST_GAIN_CERTAINTY * std
    described, measured = sums[2] / np.maximum(sums[0], 1.0) - (sums[1] / np.maximum(sums[0], 1.0)) ** 2
    explains = gains**2 * described > LEAST_GAIN_SHARE * measured
    for name, gain, certain in zip(model.names[group["gain"]], gains, sure & explains, strict=True):
        if certain and gain < 0.0:
            raise InputError(
                f"{name} comes out as {gain:.3g}: the effort falls where the model's torque rises. Its sign is "
                "reversed, or the description's is; diagnose() says which"
            )
    sure &= gains > 0.0
    if not sure.any():
        raise InputError("no joint's effort follows the model's torque; gains cannot be found from this recording")
    started = x.copy()
    started[group["gain"]] = np.where(sure, gains, np.median(gains[sure]))
    return started


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """All that stays the same from pass to pass."""

    model: EffortModel
    runs: Sequence[RepeatedRun]
    known: Sequence[Array | None]
    start: Array
    scales: Scales
    prior: CadPrior | None
    robust: bool
    correlated: bool

    @property
    def channels(self) -> tuple[str, ...]:
        """Joints of the motion, then, where poses at rest are fitted beside it, those at rest: each has its noise."""
        names = self.model.joint_names
        return names + tuple(f"{name} at rest" for name in names) if any(run.poses for run in self.runs) else names

    def placed(self, values: Array, *, poses: bool, fill: float) -> Array:
        """Return values of joints, shape (k, a, …), at their channels, shape (k, c, …), the others filled."""
        joints = len(self.model.joint_names)
        if len(self.channels) == joints:
            return values
        others = np.full_like(values, fill)
        return np.concatenate([others, values] if poses else [values, others], axis=1)

    def own(self, values: npt.NDArray[Any], *, poses: bool) -> npt.NDArray[Any]:
        """Return the channels of the motion, or of poses at rest, out of all, shape (a,)."""
        joints = len(self.model.joint_names)
        return values[-joints:] if poses else values[:joints]

    def belief(self) -> Gaussian:
        """Return the prior; without one, what no sample tells stays about where it started."""
        if self.prior is None:
            return bounds_of(self.model, self.scales, self.start)
        return prior_of(self.model, self.prior.weight or 1.0, self.scales, self.start)


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """The estimate after a pass, and what the next one weighs by."""

    solution: Solution
    autocorrelation_time: Array
    passes: int
    regression: JointRegression
    spread: Array | None


def _iterate(task: _Task, least: int) -> _State:
    model = task.model
    belief = task.belief()
    most = MAX_PASSES if model.terms.linear else MAX_NEWTON
    state: _State | None = None
    for passes in range(1, most + 1):
        x = task.start if state is None else state.solution.x
        regression, autocorrelation_time, spread = _pass(task, x, state)
        solution = solve(regression, prior=belief, autocorrelation_time=autocorrelation_time)
        step = solution.x - x
        # Rounding may make the product of exact data slightly negative.
        change = float(step @ solution.information @ step) / max(solution.rank, 1)
        moved = np.sqrt(max(change, 0.0))
        state = _State(solution, autocorrelation_time, passes, regression, spread)
        if passes >= least and (moved < CONVERGED or least == QUICK_PASSES):
            return state
    if state is not None and model.terms.linear:
        return state
    raise InputError(
        f"gain, zero or tilt did not settle in {most} passes: the recording does not distinguish them from the "
        "weights. Fit fewer of them, keep a prior, or record more varied poses (for gains: a second run with a weighed "
        "load)"
    )


def _pass(task: _Task, x: Array, state: _State | None) -> tuple[JointRegression, Array, Array | None]:
    """Go over the data once: return the regression, autocorrelation time, and scatter of the residuals."""
    model = task.model
    joints = len(model.joint_names)
    regression = JointRegression(task.channels, model.names)
    blocking = Blocking(joints)
    some: list[Array] = []
    for run, load in zip(task.runs, task.known, strict=True):
        blocking.pause()
        for chunk in run.chunks():
            A, y = model.rows(chunk, x, load)
            weight = None
            if state is not None:
                residual = y - A @ x
                if not run.poses:
                    blocking.add(residual)
                weight = task.placed(_weight(task, state, x, chunk, residual, poses=run.poses), poses=run.poses, fill=1)
                placed = task.placed(residual, poses=run.poses, fill=np.nan)
                some = thinned([*some, *(placed if run.poses else placed[::EVERY])])
            rows, efforts = (task.placed(part, poses=run.poses, fill=gap) for part, gap in ((A, 0.0), (y, np.nan)))
            regression.add(rows, efforts, weight)
    autocorrelation_time = np.ones(len(task.channels))
    if task.correlated:
        autocorrelation_time[:joints] = KEPT_PER_PERIOD if state is None else blocking.autocorrelation_times()
    spread = None if state is None else _scatter(np.array(some), state.solution.sigma)
    return regression, autocorrelation_time, spread


def _weight(task: _Task, state: _State, x: Array, chunk: Samples, residual: Array, *, poses: bool) -> Array:
    """Return the weight of every row: less where friction's sign is unknown, and for outliers, shape (k, a)."""
    weight = _reversal_weight(task.model, chunk, x, task.own(state.solution.sigma, poses=poses))
    if task.robust and state.spread is not None:
        many = int(task.own(state.solution.rows, poses=poses).min()) >= LEAST_REJECTED
        spread = task.own(state.spread, poses=poses)
        weight = weight * _trust(residual * np.sqrt(weight) / spread, reject=state.passes >= 3 and many)
    return weight


def _recorded(task: _Task, state: _State, *, own_offsets: bool) -> FittedRecordings:
    x = state.solution.x
    return FittedRecordings(
        model=task.model,
        runs=task.runs,
        known=task.known,
        start=task.start,
        x=x,
        sigma=state.solution.sigma,
        scales=task.scales,
        correlated=task.correlated,
        weigh=lambda chunk, residual, poses: _weight(task, state, x, chunk, residual, poses=poses),
        own_offsets=own_offsets,
    )


def _tried_terms(*, moves: bool) -> list[EffortTerm]:
    """Return the terms that are tried by the evidence of a fit with them."""
    tried = [term for term in registered_terms() if term.tried and term not in _nuisance_terms()]
    return [term for term in tried if moves or not term.motion_only]


def _nuisance_terms() -> list[EffortTerm]:
    """Return the terms that are tried by the evidence of the nuisances that stand for them: springs."""
    return [term for term in registered_terms() if term.tried and set(term.quantities) <= set(STAND_FOR)]


def _with_tried(task: _Task, state: _State, term: EffortTerm) -> tuple[_Task, _State]:
    """Return task and state with a term at those joints whose efforts show it by TERM_SPEAKS.

    The evidence is that of the unknowns' posterior in a fit with the term at every joint: of zero, before the data and
    after them (the Savage–Dickey ratio, [Dickey1971]).
    """
    own = task.model.terms.joints(term.name, task.model.joint_names)
    joints = [name for name in task.model.suited(term) if name not in own]
    if not joints:
        return task, state
    wider = _widened(task, [term], joints)
    model = wider.model
    x = wider.start.copy()
    x[[model.names.index(name) for name in task.model.names]] = state.solution.x
    regression, autocorrelation_time, _ = _pass(wider, x, state)
    solution = solve(regression, prior=wider.belief(), autocorrelation_time=autocorrelation_time)
    group = model.groups[term.name]
    deviations = term.deviations(model, task.scales, wider.start[group])
    shown = []
    for name in joints:
        at = np.array([model.names.index(f"{name}.{quantity}") for quantity in term.quantities])
        before = deviations[at - group.start]
        if not np.all(solution.std[at] < before):
            continue  # the data say nothing
        covariance = solution.covariance[np.ix_(at, at)] / np.outer(before, before)
        mean = solution.x[at] / before
        speaks = 0.5 * float(mean @ np.linalg.solve(covariance, mean) + np.linalg.slogdet(covariance)[1])
        if speaks > TERM_SPEAKS:
            shown.append(name)
    if not shown:
        return task, state
    wider = _widened(task, [term], shown)
    return wider, _iterate(wider, LEAST_PASSES)


def _with_shown(task: _Task, state: _State, posterior: LoadPosterior) -> tuple[_Task, _State]:
    """Return task and state with springs, counterbalances and a tilt of the base where the data show them."""
    model = task.model
    names = tuple(model.joint_names[place] for place in posterior.springs)
    wider = _widened(task, _nuisance_terms(), names, tilt=posterior.leans)
    x, _ = posterior.exported(wider.model)
    regression, autocorrelation_time, spread = _pass(wider, x, state)
    solution = solve(regression, prior=wider.belief(), autocorrelation_time=autocorrelation_time)
    return wider, replace(
        state, solution=solution, autocorrelation_time=autocorrelation_time, regression=regression, spread=spread
    )


def _widened(task: _Task, terms: Sequence[EffortTerm], joints: Sequence[str], *, tilt: bool = False) -> _Task:
    """Return the task with further terms, at those of the joints that can have them, and with a tilt of the base."""
    model = task.model
    further: dict[str, object] = {"tilt": model.terms.tilt or tilt}
    for term in terms:
        own = model.terms.joints(term.name, model.joint_names)
        further[term.name] = (*own, *(name for name in joints if name in model.suited(term) and name not in own))
    wider = replace(model, terms=model.terms.replace(**further))
    start = wider.start()
    start[[wider.names.index(name) for name in model.names]] = task.start
    return replace(task, model=wider, start=start)


def _averaged(model: EffortModel, state: _State, posterior: LoadPosterior, described_rms: Array) -> Solution:
    """Return the solution with the posterior's estimate and covariance.

    Its drives are averages, too. Where they explain the data worse than the description does (``described_rms``, shape
    (a,)), they are made to suit its bodies.
    """
    x, covariance = posterior.exported(model)
    if np.all(state.solution.residual_rms <= EXACT * np.nanmax(state.regression.torque_rms())):
        x = state.solution.x  # nothing is unexplained: an average would only cost digits
    rms = rms_of_squares(state.regression.residual_squares(x), state.solution.rows)
    if not better_than_described(rms[: len(described_rms)], described_rms):
        x = _with_best_drives(model, state, x)
        rms = rms_of_squares(state.regression.residual_squares(x), state.solution.rows)
    return replace(state.solution, x=frozen(x), covariance=frozen(covariance), residual_rms=frozen(rms))


def _of_motion(solution: Solution, joints: int) -> Solution:
    """Return the solution with the noise and errors of the motion, where poses at rest were fitted beside it."""
    if len(solution.joint_names) == joints:
        return solution
    cut = {name: getattr(solution, name)[:joints] for name in ("joint_names", "sigma", "residual_rms", "freedom")}
    return replace(solution, rows=solution.rows[:joints], **cut)


def _made_consistent(model: EffortModel, regression: JointRegression, solution: Solution) -> Solution:
    """Return the solution with bodies that can be real, and the other unknowns where they are best beside them."""
    bodies = model.groups["bodies"]
    x = solution.x.copy()
    own = solution.covariance[bodies, bodies]
    start = model.cad_parameters[model.body_parameters]
    moved = nearest_consistent(x[bodies], own, start) - x[bodies]
    size = np.sqrt(np.diag(own))
    x += solution.covariance[:, bodies] @ (np.linalg.solve(own / np.outer(size, size), moved / size) / size)
    squares = regression.residual_squares(x)
    return replace(solution, x=frozen(x), residual_rms=frozen(rms_of_squares(squares, solution.rows)))


def _described_rms(model: EffortModel, state: _State) -> Array:
    """Return the error of the description beside drives that suit it best, root mean square, shape (a,)."""
    x = _with_best_drives(model, state, model.described(state.solution.x))
    joints = len(model.joint_names)
    return rms_of_squares(state.regression.residual_squares(x)[:joints], state.solution.rows[:joints])


def _with_best_drives(model: EffortModel, state: _State, x: Array) -> Array:
    """Return x with the friction, rotors, offsets and springs that suit the data best beside its bodies, shape (p,)."""
    fixed = ~model.added
    if fixed.all():
        return x
    # Poses at rest beside a motion count as they do in the fit: drives must suit both.
    factors = [state.regression.factor(channel) / noise for channel, noise in enumerate(state.solution.sigma)]
    stacked = np.concatenate(factors)
    left = stacked[:, -1] - stacked[:, :-1][:, fixed] @ x[fixed]
    found = x.copy()
    found[~fixed] = np.linalg.lstsq(stacked[:, :-1][:, ~fixed], left, rcond=None)[0]
    return found


def _data_alone(solution: Solution, state: _State, x: Array) -> Solution:
    """Return the solution of a fit without a prior: bounds are no knowledge, so what the data leave open is open."""
    sigma, nothing = np.nan_to_num(solution.sigma, nan=1.0), Gaussian(x, np.zeros((0, len(x))))
    hidden = solve(
        state.regression, prior=nothing, sigma=sigma, autocorrelation_time=state.autocorrelation_time
    ).undetermined
    shown = np.eye(len(x)) - hidden @ hidden.T
    covariance = shown @ solution.covariance @ shown
    return replace(solution, undetermined=hidden, covariance=frozen(0.5 * (covariance + covariance.T)))


def _scatter(residuals: Array, sigma: Array) -> Array:
    """Return the robust σ of each joint's residuals, shape (a,); the least-squares σ where there are none.

    A median says nothing where most residuals are zero, so it is kept above a hundredth of the least-squares σ.
    """
    found = robust_std(residuals)
    return np.where(np.isnan(found), sigma, np.maximum(found, 0.01 * sigma))


def _trust(standardised: Array, *, reject: bool) -> Array:
    """Return Huber's weight of residuals in robust standard deviations; Hampel's when outliers are to be left out."""
    size = np.abs(np.nan_to_num(standardised))
    return hampel_weight(size) if reject else huber_weight(size)


def _reversal_weight(model: EffortModel, chunk: Samples, x: Array, sigma: Array) -> Array:
    """Return σ²/(σ² + variance of friction whose sign is unknown), shape (k, a)."""
    variance = model.uncertain_friction(chunk, x) @ (model.coupling[:, model.active] ** 2)
    return np.asarray(1.0 / (1.0 + variance / sigma**2), dtype=np.float64)


def _data_share(solution: Solution, belief: Gaussian) -> Array:
    """Return 1 − posterior/prior variance of every unknown, shape (p,); 1 where the prior says nothing."""
    precision = belief.root.T @ belief.root
    share = np.ones(len(precision))
    known = np.flatnonzero(np.diag(precision) > 0.0)
    if len(known):
        prior = np.diag(np.linalg.inv(precision[np.ix_(known, known)]))
        share[known] = np.clip(1.0 - np.diag(solution.covariance)[known] / prior, 0.0, 1.0)
    return share
