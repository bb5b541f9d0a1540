r"""Regression of a plate's readings on the masses and inertias of what stands on it.

.. math:: w(t) = W_0 φ_0 + W(q, \dot q, \ddot q)\, φ + z + d\,(t - \bar t) - l\, \dot w(t)
          - \sum_j c_j τ_j\, \partial w / \partial q_j + e

with φ the parameters of the moving bodies, φ_0 those of the base link (as described: they only add a constant), z the
plate's zero, d its drift and l the time by which its readings are late: 2 ms of a filter are 0.07 N m on a shoulder
that swings, and would go into the masses. ẇ is that of the smoothed readings. c_j is the compliance of a gear: an
encoder on the motor does not see the link sag by c_j τ_j, 2 mrad on a cable-driven shoulder, which would turn up in the
moments of its neighbours; τ and ∂w/∂q are those of a first fit without it. Neither friction nor rotors appear: both are
internal to the joints.

Each of the six channels has its own noise; its samples count as one in f where they repeat themselves
(fitting/robust.py), and outliers lose their weight (fitting/robust.py).

**Samples** are readings of a plate with the motion that belongs to them: moving samples, or means of poses at rest.
Positions, velocities, accelerations, readings and motor torques go through the same zero-phase low-pass
(recording/motion.py), so that what belongs together stays together. Short gaps are bridged (readings.py); other
readings that cannot be used (missing, saturated, frozen) are left out with all samples that the filter mixes them into.

**The weight of the CAD values** is as large as the data allow. The evidence of a weight of the prior is the
probability of the data under it, all unknowns integrated out ([MacKay1992]). For the linear model with prior precision
P, data information H and estimate x̂,

.. math:: \ln p(y) = -\tfrac12 \left( |y|^2 - g^T \hat x \right) + \tfrac12 \ln\det P - \tfrac12 \ln\det(P + H)
          + \text{const},\quad g = A^T y,

rows weighted by noise and autocorrelation time, y and x̂ counted from the prior's mean. Of all weights the largest is
taken that the data do not speak against very strongly: whose evidence is within e⁵, a Bayes factor of 150, of the best
([Kass1995]). A recorded path leaves combinations of masses open that other paths will show; there a description that
was not refuted is the better guess.

All of it comes from the triangular factors, without another pass over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...dynamics import GRAVITY_PARAMETERS, INERTIAL_PARAMETERS, WRENCH_COMPONENTS, Robot, refuse_other_joints, rotary
from ...errors import InputError
from ...fitting import (
    CHUNK_ROWS,
    Block,
    CadPrior,
    Gaussian,
    JointRegression,
    Samples,
    Solution,
    autocorrelation_times,
    link_parameter_names,
    parameter_covariance,
    solve_robust,
)
from ...foundation import Array
from ...identification import LEAST_AUTOCORRELATION_TIME, motion_of, prepare, samples_of
from ...recording import EDGE_PERIODS, MOST_OF_RATE, SETTLE, Log, Motion, bridged, find_rests, motion_band, near_times
from .base_parameters import PlateBase, wrench_columns
from .log_estimate import raw_flags
from .readings import plate_readings, short_gaps
from .sensor import BaseSensor
from .torque_estimate import UNUSABLE, EstimateFlag

CUTOFFS = (6.0, 10.0)
"""Least and greatest cutoff [Hz]. Sines of wide swings have harmonics far above the motion's own frequency, and a
wrench of smoothed positions is not the smoothed wrench; what a reversal does must be over before the next one."""
LEAST_SHARE = 0.5
"""Share of the readings that must be usable."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateSamples:
    """k instants of an arm on a plate.

    Attributes:
        samples: Positions, velocities, accelerations and efforts.
        wrench: What the plate exerts on the robot, base axes, at the base origin [N, N m], shape (k, 6).
        rate: Its change with time [N/s, N m/s], shape (k, 6); zero at rest.
        moving: Whether the arm moves; False for means of poses at rest.
    """

    samples: Samples
    wrench: Array
    rate: Array
    moving: bool

    def __len__(self) -> int:
        """Return the number of instants."""
        return len(self.samples)

    def __getitem__(self, rows: npt.NDArray[np.bool_]) -> PlateSamples:
        """Return the instants of a mask."""
        return PlateSamples(self.samples[rows], self.wrench[rows], self.rate[rows], self.moving)


def checked_log(robot: Robot, log: Log, sensor: BaseSensor) -> npt.NDArray[np.bool_]:
    """Return which readings can be used, shape (k,).

    Raises:
        InputError: Log, sensor and robot are of different arms, there is no plate, or most of its readings are useless.
    """
    refuse_other_joints(log.joint_names, robot, "log")
    refuse_other_joints(sensor.robot.joint_names, robot, "sensor's robot")
    usable = (raw_flags(sensor, log) & int(UNUSABLE)) == 0
    if np.mean(usable) < LEAST_SHARE:
        raise InputError(
            f"only {np.mean(usable):.0%} of the plate's readings can be used: the others are missing, saturated or "
            "frozen; run the doctor on the recording"
        )
    return np.asarray(usable)


def without_efforts(log: Log) -> Log:
    """Return the log with zero efforts: what the plate tells does not depend on them."""
    declared = replace(log.declared, adds_gravity=None, effort_kind=None, effort_side=None, torque_constant=None)
    return replace(log, tau=np.zeros(log.tau.shape), declared=declared)


def moving_plate_samples(
    robot: Robot, log: Log, sensor: BaseSensor, *, cutoff: float | None = None, efforts: bool = False
) -> tuple[PlateSamples, Motion]:
    """Return the samples of a motion, and the whole motion at the recording's times.

    Args:
        robot: The robot it is of.
        log: The recording, with the plate's raw readings.
        sensor: How readings become wrenches.
        cutoff: Of the low-pass [Hz]; None to choose it from the motion.
        efforts: Whether motor torques are needed.

    Raises:
        InputError: The recording cannot be used, or the arm does not move.
    """
    checked_log(robot, log, sensor)
    given = log if efforts else without_efforts(log)
    chosen = plate_cutoff(log) if cutoff is None else cutoff
    preparation = prepare(robot, given, cutoff=chosen, likeliest=False)
    motion = motion_of(robot, given, preparation)
    samples = samples_of(motion, preparation.v0)
    ordered = log.ordered()
    flags = raw_flags(sensor, ordered)
    gaps = np.asarray((flags & int(UNUSABLE)) != 0)
    wrench = sensor.frame.wrench(np.where(gaps[:, None], np.nan, plate_readings(ordered)))
    # a plate is saturated at peaks: a line across them would lower every one
    short = short_gaps(motion.time, gaps, motion.cutoff) & ((flags & int(EstimateFlag.SATURATED)) == 0)
    wrench = np.where(short[:, None], bridged(motion.time, wrench), wrench)
    gaps &= ~short
    rows = np.searchsorted(motion.time, samples.time)
    at, rate = (motion.filtered(wrench, derivative)[rows] for derivative in (0, 1))
    near = near_times(samples.time, motion.time[gaps], 0.5 * EDGE_PERIODS / motion.cutoff)
    clean = np.isfinite(at).all(axis=1) & ~near
    if not clean.any():
        raise InputError("no stretch between useless plate readings is long enough for the filter; record again")
    return PlateSamples(samples[clean], at[clean], rate[clean], True), motion


def plate_cutoff(log: Log) -> float:
    """Return the cutoff that the motion asks for [Hz], within CUTOFFS: vibrations are no motion."""
    band = motion_band(log)
    return float(min(np.clip(band.cutoff, *CUTOFFS), MOST_OF_RATE * band.rate))


def static_plate_samples(robot: Robot, log: Log, sensor: BaseSensor) -> PlateSamples:
    """Return the means of the poses at rest; none at all where the arm stands nowhere.

    Args:
        robot: The robot it is of.
        log: The recording, with the plate's raw readings.
        sensor: How readings become wrenches.

    Raises:
        InputError: The recording cannot be used.
    """
    usable = checked_log(robot, log, sensor)
    reading = plate_readings(log)
    times, poses, wrenches = [], [], []
    for segment in find_rests(log, settle=SETTLE):
        rows = np.arange(segment.start, segment.end)
        rows = rows[usable[rows]]
        if len(rows):
            times.append(float(log.time[rows].mean()))
            poses.append(log.q[rows].mean(axis=0))
            wrenches.append(sensor.frame.wrench(reading[rows]).mean(axis=0))
    q = np.array(poses).reshape(-1, robot.n)
    still = np.zeros_like(q)
    samples = Samples(
        joint_names=robot.joint_names,
        time=np.array(times),
        q=q,
        dq=still,
        ddq=still,
        tau=still,
        v0=np.ones(robot.n),
        direction=still,
    )
    found = np.array(wrenches).reshape(-1, 6)
    return PlateSamples(samples, found, np.zeros_like(found), False)


PRIOR_WEIGHTS = tuple(4.0**power for power in range(7))
"""Weights of the prior that are tried; between them the logarithm of the evidence is interpolated."""
VERY_STRONG = 5.0
"""Logarithm of the Bayes factor that counts as very strong evidence against a weight."""


def choose_prior_weight(
    regression: JointRegression, prior: Callable[[float], Gaussian], sigma: Array, autocorrelation_time: Array
) -> float:
    """Return the largest weight of the prior that the data do not refute.

    Args:
        regression: The data.
        prior: What is known beforehand, for a weight of the prior.
        sigma: Noise of one sample per joint, shape (a,).
        autocorrelation_time: How many samples count as one per joint, shape (a,).

    Returns:
        From the first to the last of PRIOR_WEIGHTS.
    """
    evidence = np.array(
        [log_evidence(regression, prior(prior_weight), sigma, autocorrelation_time) for prior_weight in PRIOR_WEIGHTS]
    )
    spare = evidence - evidence.max() + VERY_STRONG
    last = int(np.flatnonzero(spare >= 0.0)[-1])
    if last == len(PRIOR_WEIGHTS) - 1:
        return PRIOR_WEIGHTS[-1]
    share = spare[last] / (spare[last] - spare[last + 1])
    return float(PRIOR_WEIGHTS[last] * (PRIOR_WEIGHTS[last + 1] / PRIOR_WEIGHTS[last]) ** share)


def log_evidence(regression: JointRegression, prior: Gaussian, sigma: Array, autocorrelation_time: Array) -> float:
    """Return ln p(y) up to a constant that does not depend on the prior.

    Args:
        regression: The data.
        prior: What is known beforehand.
        sigma: Noise of one sample per joint, shape (a,).
        autocorrelation_time: How many samples count as one per joint, shape (a,).
    """
    precision = prior.root.T @ prior.root
    total = precision.copy()
    slope = np.zeros(len(prior.mean))
    squares = 0.0
    for joint, noise in enumerate(sigma):
        factor = regression.factor(joint) / (noise * np.sqrt(autocorrelation_time[joint]))
        rows, away = factor[:, :-1], factor[:, -1] - factor[:, :-1] @ prior.mean
        total += rows.T @ rows
        slope += rows.T @ away
        squares += float(away @ away)
    # Unknowns without prior have the same part for every weight: their precision is left out.
    known = np.flatnonzero(np.diag(precision) > 0.0)
    size = np.sqrt(np.diag(total))
    size[size == 0.0] = 1.0
    scaled = total / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    kept = values > 1e-14 * values[-1]
    turned = vectors[:, kept].T @ (slope / size)
    fitted = float(np.sum(turned**2 / values[kept]))
    _, before = np.linalg.slogdet(precision[np.ix_(known, known)] / np.outer(size[known], size[known]))
    return -0.5 * (squares - fitted) + 0.5 * float(before) - 0.5 * float(np.sum(np.log(values[kept])))


NUISANCES = (*(f"{part}.{channel}" for part in ("zero", "drift") for channel in WRENCH_COMPONENTS), "lag")
"""Names of what is fitted along, a compliance per joint apart."""
SAG = 2e-3
"""How far a link may sag [rad] under the largest torque met, standard deviation ..."""
SAG_LINEAR = 2e-4
"""... and one on a linear joint [m]."""
STEP = 1e-4
"""Change of a position for a central difference [rad or m]."""
LAG_STD = 0.05
"""How late a reading may be [s], standard deviation: a bus, a filter."""
LATER = 3.0
"""Two samples further apart than this many median distances do not succeed each other."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateRegression:
    """A fit of all parameters of the moving bodies.

    Attributes:
        base: What of them a plate can reveal.
        parameters: φ, shape (p,): the description's where neither data nor prior tell.
        covariance: Of φ, shape (p, p).
        zero: z [N, N m], shape (6,).
        drift: d [N/s, N m/s], shape (6,).
        lag: l [s], and its standard deviation; 0 of poses at rest.
        compliance: c of the gears [rad/(N m) or m/N], shape (n,).
        compliance_std: Its standard deviation, shape (n,).
        reference: φ that ∂w/∂q and τ were taken at, shape (p,).
        middle: t̄ [s].
        sigma: Noise of one sample per channel [N, N m], shape (6,).
        information: The data's own about the base parameters, zero and drift taken out, shape (b, b).
        prior_weight: Weight of the prior; 0 without one.
    """

    base: PlateBase
    parameters: Array
    covariance: Array
    zero: Array
    drift: Array
    lag: tuple[float, float]
    compliance: Array
    compliance_std: Array
    reference: Array
    middle: float
    sigma: Array
    information: Array
    prior_weight: float

    def wrench(self, data: PlateSamples, parameters: Array | None = None) -> Array:
        """Return the wrenches that the fit expects, zero, drift and lag included, shape (k, 6).

        Args:
            data: Where.
            parameters: Other parameters than the fit's, shape (p,).
        """
        phi = self.parameters if parameters is None else parameters
        parts = [rows @ phi + constant for rows, constant in _model_rows(self.base, data)]
        sag = sag_columns(self.base, data, self.reference) @ self.compliance
        late = (data.samples.time - self.middle)[:, None]
        whole = np.concatenate([np.zeros((0, 6)), *parts]) + sag
        return np.asarray(whole + self.zero + self.drift * late - self.lag[0] * data.rate)


def fit_wrenches(base: PlateBase, data: PlateSamples, prior: CadPrior | None) -> PlateRegression:
    """Fit readings.

    Args:
        base: What is looked for.
        data: Readings with their motion.
        prior: How the description's masses are trusted; None for the data alone.
    """
    robot, kind = base.robot, base.kind
    described = described_parameters(robot, kind)
    spread = parameter_covariance(robot, 4 if kind == "gravity" else 10)
    free = list(base.columns) if prior is None else list(range(len(described)))
    joints = tuple(f"compliance.{joint}" for joint in robot.joint_names)
    parameters = link_parameter_names(robot, GRAVITY_PARAMETERS if kind == "gravity" else INERTIAL_PARAMETERS)
    names = tuple(parameters[at] for at in free) + NUISANCES + joints
    middle = float(data.samples.time.mean())
    rigid = _Rows(base, data, free, middle, np.zeros((len(data), 6, robot.n)))
    known = _Known(described if prior is not None else np.zeros(0), spread, len(free), np.ones(robot.n))
    first = solve_robust(rigid.blocks, WRENCH_COMPONENTS, names, prior=known.of(1.0))
    reference = _all(base, described, spread, first, free, prior)[0]
    rows = _Rows(base, data, free, middle, sag_columns(base, data, reference))
    known = replace(known, compliance_std=_sag_std(robot, kind, data, reference))
    # Poses at rest do not succeed each other.
    autocorrelation_time = _autocorrelation_time(rows, first) if data.moving else np.ones(6)
    prior_weight = 0.0
    if prior is not None:
        prior_weight = 1.0 if prior.weight is None else prior.weight
    if prior is not None and prior.weight is None and data.moving:
        regression = JointRegression(WRENCH_COMPONENTS, names)
        for A, y, weight in rows.blocks():
            regression.add(A, y, weight)
        prior_weight = choose_prior_weight(regression, known.of, first.sigma, autocorrelation_time)
    solution = solve_robust(
        rows.blocks,
        WRENCH_COMPONENTS,
        names,
        prior=known.of(prior_weight),
        autocorrelation_time=autocorrelation_time,
    )
    zero, drift, lag, compliance = np.split(solution.x[len(free) :], (6, 12, 13))
    std = np.sqrt(np.diag(solution.covariance)[-robot.n :])
    phi, covariance, constant = _all(base, described, spread, solution, free, prior)
    at = [free.index(column) for column in base.columns]
    return PlateRegression(
        base=base,
        parameters=phi,
        covariance=covariance,
        zero=zero - constant,
        drift=drift,
        lag=(float(lag[0]), float(np.sqrt(np.diag(solution.covariance)[len(free) + 12])) if data.moving else 0.0),
        compliance=compliance,
        compliance_std=std,
        reference=reference,
        middle=middle,
        sigma=solution.sigma,
        information=_without(solution.information, at, len(free), replace(known, described=np.zeros(0)).of(1.0)),
        prior_weight=prior_weight,
    )


def described_parameters(robot: Robot, kind: str) -> Array:
    """Return the description's own parameters of the moving bodies, shape (4 b,) or (10 b,)."""
    return robot.gravity_parameters if kind == "gravity" else robot.inertial_parameters[len(INERTIAL_PARAMETERS) :]


class _Rows:
    """Rows of the regression, made again on each pass."""

    def __init__(self, base: PlateBase, data: PlateSamples, free: list[int], middle: float, sag: Array) -> None:
        self._base, self._data, self._free, self._middle, self._sag = base, data, free, middle, sag

    def blocks(self) -> Iterable[Block]:
        """Yield A (k, 6, p), y (k, 6) and no weights, piece by piece."""
        start = 0
        for W, constant in _model_rows(self._base, self._data):
            k = len(W)
            late = (self._data.samples.time[start : start + k] - self._middle)[:, None, None]
            unit = np.tile(np.eye(6), (k, 1, 1))
            rate = -self._data.rate[start : start + k, :, None]
            sag = self._sag[start : start + k]
            A = np.concatenate([W[:, :, self._free], unit, late * unit, rate, sag], axis=2)
            yield A, self._data.wrench[start : start + k] - constant, None
            start += k

    def starts(self) -> list[int]:
        """Return the rows that do not succeed the row before them."""
        gaps = np.diff(self._data.samples.time)
        usual = float(np.median(gaps)) if len(gaps) else 0.0
        return (np.flatnonzero(gaps > LATER * usual) + 1).tolist()


def _model_rows(base: PlateBase, data: PlateSamples) -> Iterator[tuple[Array, Array]]:
    """Yield W (k, 6, p) of the moving bodies and the base link's wrench (6,), piece by piece."""
    robot = base.robot
    first = robot.inertial_parameters[: len(INERTIAL_PARAMETERS)]
    for chunk in data.samples.chunks(CHUNK_ROWS):
        constant = robot.base_wrench_regressor(chunk.q[:1])[0, :, : len(first)] @ first
        yield wrench_columns(robot, base.kind, chunk.q, chunk.dq, chunk.ddq), constant


def _autocorrelation_time(rows: _Rows, solution: Solution) -> Array:
    """Return f of each channel of a motion, shape (6,)."""
    residuals = np.concatenate([y - A @ solution.x for A, y, _ in rows.blocks()])
    return np.maximum(autocorrelation_times(residuals, rows.starts()), LEAST_AUTOCORRELATION_TIME)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known before any reading: the description, that a lag is short, that gears are stiff.

    Attributes:
        described: Means of the parameters, shape (p,); none without a prior for them.
        spread: Their covariance, shape (p, p).
        size: Number of free parameters.
        compliance_std: Standard deviations of the compliances, shape (n,).
    """

    described: Array
    spread: Array
    size: int
    compliance_std: Array

    def of(self, prior_weight: float) -> Gaussian:
        """Return it for a weight of the prior.

        The weight narrows tools too, unlike in fitting/prior.py: a plate sees a tool before anything else.
        """
        stiff = len(self.compliance_std)
        columns = self.size + len(NUISANCES) + stiff
        mean, root = np.zeros(columns), np.zeros((1 + stiff, columns))
        root[0, self.size + len(NUISANCES) - 1] = 1.0 / LAG_STD
        root[1:, columns - stiff :] = np.diag(1.0 / self.compliance_std)
        if len(self.described):
            own = Gaussian.from_covariance(self.described, self.spread / prior_weight)
            mean[: self.size] = own.mean
            root = np.vstack([np.hstack([own.root, np.zeros((len(own.root), columns - self.size))]), root])
        return Gaussian(mean, root)


def sag_columns(base: PlateBase, data: PlateSamples, parameters: Array) -> Array:
    """Return −τ_j ∂w/∂q_j, shape (k, 6, n): what the compliance of each gear does to the wrench.

    Args:
        base: Robot and kind of the parameters.
        data: Where.
        parameters: φ that torques and wrenches are taken from, shape (p,).
    """
    robot, kind = base.robot, base.kind
    parts = [np.zeros((0, 6, robot.n))]
    for chunk in data.samples.chunks(CHUNK_ROWS):
        torque = link_torques(robot, kind, chunk, parameters)
        columns = np.empty((len(chunk), 6, robot.n))
        for joint in range(robot.n):
            step = STEP * np.eye(robot.n)[joint]
            up, down = (
                wrench_columns(robot, kind, chunk.q + side * step, chunk.dq, chunk.ddq) @ parameters
                for side in (1.0, -1.0)
            )
            columns[:, :, joint] = -torque[:, joint, None] * (up - down) / (2.0 * STEP)
        parts.append(columns)
    return np.concatenate(parts)


def link_torques(robot: Robot, kind: str, samples: Samples, parameters: Array) -> Array:
    """Return the torques at the joints that parameters give [N m or N], shape (k, n), without friction and rotors."""
    if kind == "gravity":
        return np.asarray(robot.gravity_regressor(samples.q) @ parameters)
    return np.asarray(robot.inertial_regressor(samples.q, samples.dq, samples.ddq) @ parameters)


def _sag_std(robot: Robot, kind: str, data: PlateSamples, parameters: Array) -> Array:
    """Return how compliant a gear may be, shape (n,): SAG at the largest torque met, or at 1 % of the arm's largest."""
    largest = np.max(np.abs(link_torques(robot, kind, data.samples, parameters)), axis=0)
    turns = np.array(rotary(robot), dtype=bool)
    return np.asarray(np.where(turns, SAG, SAG_LINEAR) / np.maximum(largest, 1e-2 * float(largest.max()) + 1e-9))


def _all(
    base: PlateBase, described: Array, spread: Array, solution: Solution, free: list[int], prior: CadPrior | None
) -> tuple[Array, Array, Array]:
    """Return all parameters, their covariance, and what they add to a constant wrench beside the fitted ones, (6,).

    Without a prior only base values were fitted. The parameters that amount to them lie as near to the description as
    it is sure of itself: φ = φ_d + P Gᵀ (G P Gᵀ)⁻¹ (v − G φ_d), with P its covariance. Both give the same wrench but
    for a constant, which the zero makes up for.
    """
    size = len(free)
    if prior is not None:
        return solution.x[:size], solution.covariance[:size, :size], np.zeros(6)
    G = base.regrouping
    lift = np.linalg.solve(G @ spread @ G.T, G @ spread).T
    values, known = solution.x[:size], solution.covariance[:size, :size]
    left = spread - lift @ G @ spread
    phi = described + lift @ (values - G @ described)
    pose = np.zeros((1, base.robot.n))
    at_rest = wrench_columns(base.robot, base.kind, pose, pose, pose)[0]
    return phi, lift @ known @ lift.T + left, at_rest @ phi - at_rest[:, free] @ values


def _without(information: Array, wanted: list[int], nuisance_from: int, known: Gaussian) -> Array:
    """Return the information about some numbers when of the nuisances only that is known (Schur complement)."""
    others, kept = np.arange(nuisance_from, len(information)), np.array(wanted, dtype=np.int64)
    cross = information[np.ix_(kept, others)]
    inner = (information + known.root.T @ known.root)[np.ix_(others, others)]
    own = information[np.ix_(kept, kept)]
    size = np.sqrt(np.maximum(np.diag(own), 1e-300))
    left = (own - cross @ np.linalg.pinv(inner, hermitian=True) @ cross.T) / np.outer(size, size)
    # Where nothing is left rounding may make it negative.
    values, vectors = np.linalg.eigh(0.5 * (left + left.T))
    half = size[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(half @ half.T)
