r"""The fit of a plate's mounting, gain, zero, drift and lag to a recording, by Gauss–Newton steps with a prior.

.. math:: r(t + \mathrm{lag}) = \pm G\, X(R, p)\, W(t) (\varphi_0 + L u) + b + d\,(t - t_0) + e(t)

Unknown: a turn of R about the sensor's axes, p, G, b, d, the lag, and u, the error of the robot's own masses in units
of their spread L; each has a Gaussian prior (``SensorPrior``: what is assumed of a plate before a recording is seen).
Estimating u along, instead of trusting the masses, lets every standard deviation tell what a wrong model may pretend.
The noise e is found from what is left, per channel; Hampel's weights keep outliers from pulling, and residuals that
resemble their neighbours count for fewer.

``plate_data`` makes of a recording what is compared: readings and the model's wrenches, smoothed alike.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...doctor import LEVER
from ...dynamics import WRENCH_COMPONENTS, Robot, refuse_other_joints
from ...errors import InputError, ModelError
from ...fitting import (
    BEND,
    Gaussian,
    Linearised,
    gauss_newton,
)
from ...foundation import Array, skew
from ...identification import refuse_other_mount
from ...recording import Log, Motion, SampleFlag, filtered, motion_band, near_times, true_stretches
from .log_estimate import frozen_rows
from .readings import plate_readings, short_gaps
from .wrench_frame import Mounting


@dataclass(frozen=True, slots=True)
class SensorPrior:
    """Standard deviations about the plate as declared, after its sign and yaw were found roughly.

    Attributes:
        gain: Of a channel's own gain about 1; factory calibrations hold 0.2 to 2 %.
        cross_talk: Of a share of a foreign component; moments and forces relate by LEVER (doctor/plate_fit.py).
        rotation: Of each small turn of the axes [rad].
        origin: Of the sensor's origin in each direction [m]; a stand of unknown height lies within.
        bias: Of the reading's zero, relative to the robot's weight; wide enough for a plate that was tared with the
            robot on it.
        drift: Of what the zero moves over the whole recording, relative to the robot's weight.
        lag: Of the lag [s].
    """

    gain: float = 0.03
    cross_talk: float = 0.02
    rotation: float = 1.0
    origin: float = 1.0
    bias: float = 3.0
    drift: float = 0.02
    lag: float = 0.3

    def __post_init__(self) -> None:
        """Refuse what is no spread."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not 0.0 < float(value) < 1e3:
                raise InputError(f"prior.{entry.name} is {value!r}; expected a positive standard deviation below 1000")


Mask = npt.NDArray[np.bool_]

CUTOFFS = (2.0, 8.0)
"""Least and greatest cutoff of the low-pass [Hz]: arms are driven below, structures ring above."""
WIDER = 3.0
"""How much wider the low-pass of the positions is than that of the wrenches."""
MOST_ROWS = 2500
"""Rows that are compared at most."""
ROWS_PER_PERIOD = 4.0
"""Rows per period of the cutoff; more would repeat themselves."""
LEAST_TIME = 5.0
"""Shortest usable recording [s]."""
LEAST_TRAVEL = 0.05
"""A joint that moved less does not move [rad or m]."""
LEAST_POSES = 4
"""Poses, POSE_DISTANCE apart in some joint, that a recording must have at least."""
POSE_DISTANCE = 0.1
MOST_LOST = 0.5
"""Share of unusable readings from which a recording is refused."""
CLIPPED_RUN = 10
"""So many readings in a row at a channel's extreme are saturated."""


@dataclass(frozen=True, slots=True, eq=False)
class PlateData:
    """Readings and what the model needs to predict them, at k instants on an even grid of K times.

    Attributes:
        smooth: The whole recording on the grid, low-passed at WIDER times the cutoff.
        rows: The k instants, as indices of the grid.
        time: Their times [s], shape (k,).
        drift_variable: What the drift goes with at these instants: time [s] or temperature, less ``reference``, (k,).
        reference: Mean of that.
        wrench: The model's wrench on the robot, base axes and origin [N, N m], on the whole grid, shape (K, 6).
        reading: The plate's reading, low-passed like the wrench, on the whole grid [N, N m], shape (K, 6).
        cutoff: Of the low-pass of wrench and reading [Hz].
        rate: Of the recording [Hz].
        usable: Which grid times may be compared, shape (K,).
    """

    smooth: Motion
    rows: npt.NDArray[np.intp]
    time: Array
    drift_variable: Array
    reference: float
    wrench: Array
    reading: Array
    cutoff: float
    rate: float
    usable: Mask


def plate_data(
    robot: Robot, log: Log, *, cutoff: float | None = None, temperature: npt.ArrayLike | None = None
) -> PlateData:
    """Prepare a recording.

    Args:
        robot: The robot, mounted as it stood.
        log: The recording, with raw readings.
        cutoff: Of the low-pass [Hz]; None to choose it from the motion.
        temperature: Of the plate at each sample, shape (len(log),); None for a drift in time.

    Raises:
        InputError: There are no readings, they are frozen, saturated or no numbers, the recording is too short, the arm
            does not move enough, or it is another robot's.
        ModelError: The robot has no masses.
    """
    refuse_unusable(robot, log)
    if not np.any(robot.inertial_parameters[10::10] > 0.0):
        raise ModelError(
            f"robot '{robot.name}' has no masses, so nothing is known of the wrench on its plate; give a description "
            "with masses"
        )
    log = log.without_infinities()
    missing, unusable = missing_readings(log), unusable_readings(log)
    lost = missing | unusable
    if lost.mean() > MOST_LOST:
        raise InputError(
            f"{lost.mean():.0%} of the plate's readings are NaN, flagged, saturated or frozen; expected at most "
            f"{MOST_LOST:.0%}. Check the plate's range and connection, and record again"
        )
    _refuse_standing(log.q[np.isfinite(log.q).all(axis=1)])
    band = min(max(motion_band(log).cutoff, CUTOFFS[0]), CUTOFFS[1]) if cutoff is None else cutoff
    log, lost = with_gaps(log, missing, unusable, band)
    # The wrench is no linear function of the positions, so a low-pass of them is not one of it. They are smoothed
    # lightly, and then the reading and the model's wrench alike.
    smooth = Motion.on_grid(log, WIDER * band)
    if smooth is None or smooth.wrench is None:
        raise InputError(f"the recording has {len(log)} samples, too few to calibrate a plate; record a minute")
    band = min(band, smooth.cutoff)
    edge = min(1.0 / band, 0.1 * float(smooth.time[-1] - smooth.time[0]))
    inside = (smooth.time >= smooth.time[0] + edge) & (smooth.time <= smooth.time[-1] - edge)
    usable = smooth.usable & inside & ~near_times(smooth.time, log.time[lost], 1.0 / band)
    seconds = float(usable.sum()) * smooth.dt
    if seconds < LEAST_TIME:
        raise InputError(
            f"the recording has {seconds:.1f} s that can be used; expected at least {LEAST_TIME:g} s of motion, better "
            "a minute"
        )
    _refuse_standing(smooth.q[usable])
    given = np.flatnonzero(usable)
    count = min(MOST_ROWS, max(20, int(ROWS_PER_PERIOD * band * seconds)))
    rows = given[np.unique(np.linspace(0, len(given) - 1, count).astype(np.int64))]
    drift_variable = smooth.time[rows] if temperature is None else _temperature(log, temperature, smooth.time[rows])
    reference = float(drift_variable.mean())
    return PlateData(
        smooth=smooth,
        rows=rows,
        time=smooth.time[rows],
        drift_variable=drift_variable - reference,
        reference=reference,
        wrench=filtered(robot.base_wrench(smooth.q, smooth.dq, smooth.ddq), smooth.dt, band),
        reading=filtered(smooth.wrench, smooth.dt, band),
        cutoff=band,
        rate=log.rate,
        usable=usable,
    )


def refuse_unusable(robot: Robot, log: Log) -> None:
    """Refuse a recording of another robot or mounting, or one without six live channels of a sensor.

    Raises:
        InputError: It is one; the message says why.
    """
    refuse_other_joints(log.joint_names, robot, "log")
    readings = plate_readings(log)
    if log.declared.position_side == "motor":
        raise InputError("the log's positions are on the motor's side; give its mapping the gears (motor_per_link)")
    if log.declared.gravity_base is not None:
        refuse_other_mount(robot, log.declared.gravity_base)
    for name, column in zip(WRENCH_COMPONENTS, readings.T, strict=True):
        known = column[np.isfinite(column)]
        if known.size == 0:
            raise InputError(f"channel {name} of the sensor has only NaN; check the mapping's columns")
        if np.ptp(known) == 0.0:
            raise InputError(
                f"channel {name} of the sensor reads {known[0]:g} throughout: it is frozen or not connected. Six live "
                "channels are needed"
            )


def missing_readings(log: Log) -> Mask:
    """Say which readings are no numbers, or marked by the plant as bad, shape (k,)."""
    missing = ~np.isfinite(plate_readings(log)).all(axis=1)
    if len(log.flags):
        missing |= (log.flags & int(SampleFlag.WRENCH_INVALID)) != 0
    return np.asarray(missing)


def unusable_readings(log: Log) -> Mask:
    """Say which readings are numbers and wrong: frozen, or at the end of a channel's range; or without a pose, (k,)."""
    reading = plate_readings(log)
    unusable = frozen_rows(reading, log.q)
    if len(log.flags):
        unusable |= (log.flags & int(SampleFlag.WRENCH_SATURATED | SampleFlag.Q_INVALID)) != 0
    for column in reading.T:
        unusable |= _clipped(column)
    return unusable


def with_gaps(log: Log, missing: Mask, unusable: Mask, cutoff: float) -> tuple[Log, Mask]:
    """Return the log with NaN for missing readings, which are bridged by straight lines, and those to keep away from.

    Args:
        log: The recording, with readings.
        missing: See missing_readings, shape (k,).
        unusable: See unusable_readings, shape (k,).
        cutoff: Of the low-pass [Hz].
    """
    lost = unusable | (missing & ~short_gaps(log.time, missing, cutoff))
    return replace(log, wrench=np.where(missing[:, None], np.nan, plate_readings(log))), lost


def _clipped(column: Array) -> Mask:
    """Say where a channel rests at its own extreme for CLIPPED_RUN samples, unless it rests elsewhere as well."""
    clipped = np.zeros(len(column), dtype=bool)
    same = np.concatenate([[False], column[1:] == column[:-1]])
    for extreme in (np.nanmax(column), np.nanmin(column)):
        at = column == extreme
        for first, last in true_stretches(at):
            if last - first >= CLIPPED_RUN:
                clipped[first:last] = True
    # A coarse converter, or a reading that is repeated between two measurements, rests everywhere.
    elsewhere = ~clipped
    if elsewhere.any() and same[elsewhere].mean() > 0.5:
        clipped[:] = False
    return clipped


def _refuse_standing(q: Array) -> None:
    travel = np.ptp(q, axis=0) if len(q) else np.zeros(1)
    if not np.any(travel > LEAST_TRAVEL):
        raise InputError(
            f"no joint moves by more than {LEAST_TRAVEL:g} rad or m in this recording (the most is "
            f"{float(travel.max(initial=0.0)):.3g}); a sensor shows its axes and gain only while the wrench changes. "
            "Move the arm over a good part of its range"
        )
    poses: list[Array] = []
    for pose in q[:: max(1, len(q) // 500)]:
        if all(np.abs(pose - other).max() > POSE_DISTANCE for other in poses):
            poses.append(pose)
        if len(poses) == LEAST_POSES:
            return
    raise InputError(
        f"the recording has {len(poses)} poses that differ by more than {POSE_DISTANCE:g} rad or m; expected at least "
        f"{LEAST_POSES}, better a dozen all over the range"
    )


def _temperature(log: Log, temperature: npt.ArrayLike, at: Array) -> Array:
    given = np.asarray(temperature, dtype=np.float64)
    if given.shape != (len(log),):
        raise InputError(f"temperature has shape {given.shape}; expected ({len(log)},), one per sample")
    known = np.isfinite(given) & np.isfinite(log.time)
    if known.sum() < 2:
        raise InputError("temperature holds no numbers; leave it out for a drift in time")
    order = np.argsort(log.time[known], kind="stable")
    return np.asarray(np.interp(at, log.time[known][order], given[known][order]), dtype=np.float64)


MOUNT = 42
"""Numbers of a mounting: turn (3), origin (3), gain (36)."""
BIAS, DRIFT, LAG, MASSES = slice(42, 48), slice(48, 54), 54, 55
"""Where the others stand: bias, drift, lag, and from MASSES on the errors of the masses."""
LARGEST_TURN = 0.3
"""Largest turn in one step [rad]: further away the slopes are others."""
LARGEST_LAG = 0.05
"""Largest change of the lag in one step [s]."""
ROUNDS = 30
"""Most steps."""
HALVINGS = 6
"""How often a step is halved that makes matters worse."""
SETTLED = 0.02
"""Largest step, in standard deviations, at which the fit ends."""
SOME_ROWS = 300
"""Instants by which it is judged which errors of the masses show."""
FAINT = 1e-3
"""Errors of the masses that make a smaller share of what the largest makes are left out."""
CHUNK_ROWS = 2048
PARTS = ("rotation", "origin", "gain", "bias", "drift", "lag")
"""What may be fitted; what is not stays as declared."""


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where a fit starts.

    Attributes:
        sign: +1 where the plate reads what it exerts on the robot, −1 for the opposite.
        mounting: Pose and gain.
        lag: How late the readings are [s].
    """

    sign: float
    mounting: Mounting
    lag: float


@dataclass(frozen=True, slots=True, eq=False)
class SensorFit:
    """What was found; before the split into rotation and gain.

    Attributes:
        start: Where the fit started.
        mounting: Pose and gain, as the prior splits them.
        bias: Zero of the reading at the reference [N, N m], shape (6,).
        drift: Per second or per kelvin, shape (6,).
        lag: [s].
        masses: u, errors of the inertial parameters in units of their spread, shape (m,).
        covariance: Of everything fitted, in the order of the module's slices, zero for what is not; (55 + m, 55 + m).
        prior_std: Standard deviations beforehand, shape (55 + m,), 0 for what is not fitted.
        noise: Standard deviation of what is left, good readings only [N, N m], shape (6,).
        residual: What is left, shape (k, 6).
        weight: Of each reading, between 0 and 1, shape (k, 6).
        autocorrelation_time: Neighbouring residuals that count as one, shape (6,).
    """

    start: Start
    mounting: Mounting
    bias: Array
    drift: Array
    lag: float
    masses: Array
    covariance: Array
    prior_std: Array
    noise: Array
    residual: Array
    weight: Array
    autocorrelation_time: Array


class PlateComparison:
    """Readings against the model's wrenches.

    Args:
        robot: The robot.
        data: The recording, prepared.
        spread: L, with L Lᵀ the covariance of the bodies' ten inertial parameters, shape (10 b, 10 b).

    Attributes:
        data: The recording.
        wrench: The model's wrench on the robot at the instants, base axes and origin [N, N m], shape (k, 6).
        wrench_slope: Its rate [N/s, N m/s], shape (k, 6).
        masses: How it changes with the m errors of the masses that show in it, in units of their spread, (k, 6, m).
        unit: The robot's weight, and times LEVER its moment [N, N m], shape (6,).
    """

    def __init__(self, robot: Robot, data: PlateData, spread: Array) -> None:
        """Interpolate the readings, and spread the masses."""
        from scipy.interpolate import CubicSpline  # type: ignore[import-untyped]

        self.data = data
        grid = data.smooth.time
        self._reading = CubicSpline(grid, data.reading)
        self._first, self._last = float(grid[0]), float(grid[-1])
        self.wrench: Array = data.wrench[data.rows]
        self.wrench_slope: Array = CubicSpline(grid, data.wrench)(data.time, 1)
        weight = robot.total_mass * float(np.linalg.norm(robot.gravity_base))
        self.unit: Array = max(weight, 1e-6) * np.array([1.0] * 3 + [LEVER] * 3)
        self.masses: Array = _mass_columns(robot, data, spread, self.unit)

    def reading(self, lag: float) -> Array:
        """Return the readings that belong to the instants when they come ``lag`` [s] late, shape (k, 6)."""
        at = np.clip(self.data.time + lag, self._first, self._last)
        found: Array = self._reading(at)
        return found

    @cached_property
    def span(self) -> float:
        """How far the drift's variable reaches [s or K], > 0."""
        return max(float(np.ptp(self.data.drift_variable)), 1e-9)

    def prior_std(self, prior: SensorPrior, parts: Collection[str]) -> Array:
        """Return standard deviations beforehand, shape (55 + m,); 0 for what is not fitted."""
        gain = np.full((6, 6), prior.cross_talk)
        gain[:3, 3:] /= LEVER
        gain[3:, :3] *= LEVER
        np.fill_diagonal(gain, prior.gain)
        pieces = {
            "rotation": np.full(3, prior.rotation),
            "origin": np.full(3, prior.origin),
            "gain": gain.ravel(),
            "bias": prior.bias * self.unit,
            "drift": prior.drift * self.unit / self.span,
            "lag": np.array([prior.lag]),
        }
        kept = [values if name in parts else np.zeros(len(values)) for name, values in pieces.items()]
        return np.concatenate([*kept, np.ones(self.masses.shape[2])])

    def wrenches(self, masses: Array) -> Array:
        """Return the wrenches on the robot for errors u of its masses, shape (k, 6)."""
        found: Array = self.wrench + self.masses @ masses
        return found

    def columns(self, start: Start, mounting: Mounting, masses: Array) -> Array:
        """Return the slopes of the prediction with everything unknown, shape (k, 6, 55 + m)."""
        k, sign = len(self.wrench), start.sign
        at_base = self.wrenches(masses)
        at_sensor = at_base @ mounting.shift.T
        signed = sign * mounting.gain
        columns = np.zeros((k, 6, MASSES + self.masses.shape[2]))
        turn = np.concatenate([skew(at_sensor[:, :3]), skew(at_sensor[:, 3:])], axis=1)
        columns[:, :, :3] = signed @ turn
        columns[:, :, 3:6] = signed[:, 3:] @ (mounting.rotation.T @ skew(at_base[:, :3]))
        for channel in range(6):
            columns[:, channel, 6 + 6 * channel : 12 + 6 * channel] = sign * at_sensor
        columns[:, range(6), range(BIAS.start, BIAS.stop)] = 1.0
        columns[:, range(6), range(DRIFT.start, DRIFT.stop)] = self.data.drift_variable[:, None]
        # The reading is looked up later for a greater lag: as if the prediction ran backwards.
        columns[:, :, LAG] = -self.wrench_slope @ (signed @ mounting.shift).T
        columns[:, :, MASSES:] = (signed @ mounting.shift) @ self.masses
        return columns

    def predicted(self, fit: SensorFit) -> Array:
        """Return the predicted readings of a fit, shape (k, 6)."""
        rows: Array = fit.start.sign * self.wrenches(fit.masses) @ fit.mounting.matrix.T
        return rows + fit.bias + self.data.drift_variable[:, None] * fit.drift


def _mass_columns(robot: Robot, data: PlateData, spread: Array, unit: Array) -> Array:
    """Return the wrenches that errors of the masses make, low-passed like the wrench, shape (k, 6, m).

    Of all combinations of inertial parameters those are kept that show: the others move no channel by a FAINT share of
    the largest.
    """
    smooth = data.smooth
    some = data.rows[:: max(1, len(data.rows) // SOME_ROWS)]
    shown = robot.base_wrench_regressor(smooth.q[some], smooth.dq[some], smooth.ddq[some])[:, :, 10:] @ spread
    varying = ((shown - shown.mean(axis=0)) / unit[:, None]).reshape(-1, shown.shape[2])
    _, sizes, directions = np.linalg.svd(varying, full_matrices=False)
    kept = spread @ directions[sizes > FAINT * max(float(sizes[0]), 1e-300)].T
    columns = np.empty((len(smooth.time), 6, kept.shape[1]))
    for first in range(0, len(columns), CHUNK_ROWS):
        piece = slice(first, first + CHUNK_ROWS)
        regressor = robot.base_wrench_regressor(smooth.q[piece], smooth.dq[piece], smooth.ddq[piece])
        columns[piece] = regressor[:, :, 10:] @ kept
    flat = filtered(columns.reshape(len(columns), -1), smooth.dt, data.cutoff)[data.rows]
    return flat.reshape(len(data.rows), 6, -1)


def fit_sensor(
    comparison: PlateComparison, start: Start, prior: SensorPrior, parts: Collection[str], rows: slice | None = None
) -> SensorFit:
    """Fit.

    Args:
        comparison: Readings and wrenches.
        start: Where to start: the sign is kept; mounting and lag are the prior's means.
        prior: Standard deviations about them.
        parts: What is fitted, of PARTS.
        rows: Instants that count; None for all.
    """
    prior_std = comparison.prior_std(prior, parts)
    free = np.flatnonzero(prior_std)
    used = slice(None) if rows is None else rows
    size = len(prior_std)
    fit = SensorFit(
        start=start,
        mounting=start.mounting,
        bias=np.zeros(6),
        drift=np.zeros(6),
        lag=start.lag,
        masses=np.zeros(size - MASSES),
        covariance=np.zeros((size, size)),
        prior_std=prior_std,
        noise=np.ones(6),
        residual=np.zeros((0, 6)),
        weight=np.ones((0, 6)),
        autocorrelation_time=np.ones(6),
    )
    if "bias" in parts:  # the constant part first: before it, every residual is an outlier
        left = comparison.reading(start.lag) - comparison.predicted(fit)
        fit = replace(fit, bias=np.median(left[used], axis=0))

    def linearised(fit: SensorFit, number: int) -> Linearised:
        left = (comparison.reading(fit.lag) - comparison.predicted(fit))[used]
        A = comparison.columns(start, fit.mounting, fit.masses)[used][:, :, free]
        prior = Gaussian(-_unknowns(fit)[free], np.diag(1.0 / prior_std[free]))
        return Linearised.robust(A, left, reject=number >= 3, least=1e-7 * comparison.unit, prior=prior)

    def stepped(fit: SensorFit, step: Array, model: Linearised) -> SensorFit:
        full = np.zeros(size)
        full[free] = step
        return _descended(comparison, fit, _shortened(full), model, used)

    fit, solution, model = gauss_newton(fit, linearised, stepped, rounds=ROUNDS, settled=SETTLED, least=5)
    covariance = np.zeros((size, size))
    covariance[np.ix_(free, free)] = solution.covariance
    return replace(
        fit,
        covariance=covariance,
        noise=_noise(model),
        residual=(comparison.reading(fit.lag) - comparison.predicted(fit))[used],
        weight=model.weight,
        autocorrelation_time=model.autocorrelation_time,
    )


def _unknowns(fit: SensorFit) -> Array:
    """Return how far everything lies from its prior mean, shape (55 + m,)."""
    moved = fit.start.mounting.apart(fit.mounting)
    return np.concatenate([moved, fit.bias, fit.drift, [fit.lag - fit.start.lag], fit.masses])


def _stepped(fit: SensorFit, step: Array) -> SensorFit:
    return replace(
        fit,
        mounting=fit.mounting.moved(step[:MOUNT]),
        bias=fit.bias + step[BIAS],
        drift=fit.drift + step[DRIFT],
        lag=fit.lag + float(step[LAG]),
        masses=fit.masses + step[MASSES:],
    )


def _descended(comparison: PlateComparison, fit: SensorFit, step: Array, model: Linearised, used: slice) -> SensorFit:
    """Return the fit after a step, halved until the weighted squares are less: the turn and the gain are one product.

    Args:
        comparison: Readings and wrenches.
        fit: Where the step starts.
        step: The step, shape (55 + m,).
        model: What is fitted there.
        used: Instants that count.
    """
    free = fit.prior_std > 0.0
    scale = model.sigma * np.sqrt(model.autocorrelation_time)

    def cost(one: SensorFit) -> float:
        left = (comparison.reading(one.lag) - comparison.predicted(one))[used]
        squares = float(np.sum(model.weight * (left / scale) ** 2))
        return squares + float(np.sum((_unknowns(one)[free] / fit.prior_std[free]) ** 2))

    before, trial = cost(fit), _stepped(fit, step)
    for _ in range(HALVINGS):
        if cost(trial) <= before:
            break
        step = 0.5 * step
        trial = _stepped(fit, step)
    return trial


def _shortened(step: Array) -> Array:
    """Return a step whose turn and lag are within what the slopes hold for."""
    turn, lag = float(np.linalg.norm(step[:3])), abs(float(step[LAG]))
    factor = min(1.0, LARGEST_TURN / max(turn, 1e-12), LARGEST_LAG / max(lag, 1e-12))
    return factor * step


def _noise(model: Linearised) -> Array:
    """Return the standard deviation of the good readings, shape (6,); the robust one where hardly any are good."""
    total = model.weight.sum(axis=0)
    square = np.sum(model.weight * model.left**2, axis=0) / np.maximum(total, 1.0)
    noise: Array = np.where(total > 0.5 * len(model.left), np.sqrt(square), model.sigma)
    return noise


def outlier_share(fit: SensorFit) -> float:
    """Return the share of readings that lie further than BEND standard deviations from the fit."""
    return float(np.mean(np.abs(fit.residual) > BEND * fit.noise))
