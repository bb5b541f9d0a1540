r"""Fits a plate's mounting, gain, zero, drift and lag to a recording, by Gauss–Newton steps with a prior.

.. math:: r(t + \mathrm{lag}) = \pm G\, X(R, p)\, W(t) (\varphi_0 + L u) + b + d\,(t - t_0) + e(t)

Unknown: a turn of R about the sensor's axes, p, G, b, d, the lag, and u, the error of the robot's own masses in units
of their spread L; each has a Gaussian prior. Estimating u along, instead of trusting the
masses, lets every standard deviation tell what a wrong model may pretend. The noise e is found from what is left, per
channel; Hampel's weights keep outliers from pulling, and residuals that resemble their neighbours count for fewer.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..calibration.inflation import inflation_of
from ..calibration.robust import BEND, hampel_weight, huber_weight
from ..calibration.statistics import robust_std
from ..description.frozen import Array
from ..description.rotations import skew
from ..doctor.plate_fit import LEVER
from ..dynamics.robot import Robot
from ..logs.filters import filtered
from .sensor_data import PlateData
from .sensor_prior import SensorPrior
from .sensor_split import Mounting

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
        inflation: Neighbouring residuals that count as one, shape (6,).
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
    inflation: Array


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
        inflation=np.ones(6),
    )
    if "bias" in parts:  # the constant part first: before it, every residual is an outlier
        left = comparison.reading(start.lag) - comparison.predicted(fit)
        fit = replace(fit, bias=np.median(left[used], axis=0))
    for round_ in range(ROUNDS):
        left = (comparison.reading(fit.lag) - comparison.predicted(fit))[used]
        columns = comparison.columns(start, fit.mounting, fit.masses)[used][:, :, free]
        # About zero, not about their median: a channel that a step left off by a constant is no set of outliers.
        noise = np.maximum(robust_std(left), 1e-7 * comparison.unit)
        size_of = np.abs(left) / noise
        weight = huber_weight(size_of) if round_ < 3 else hampel_weight(size_of)
        inflation = inflation_of(np.where(weight > 0.5, left, np.nan))  # outliers do not count
        scaled = np.sqrt(weight / inflation) / noise
        flat = (columns * scaled[:, :, None]).reshape(-1, len(free))
        information = flat.T @ flat + np.diag(1.0 / prior_std[free] ** 2)
        away = _unknowns(fit)[free] / prior_std[free] ** 2
        covariance = np.linalg.inv(information)
        step = np.zeros(size)
        step[free] = covariance @ (flat.T @ (left * scaled).ravel() - away)
        full = np.zeros((size, size))
        full[np.ix_(free, free)] = covariance
        fit = replace(
            _descended(comparison, fit, _shortened(step), scaled, used),
            covariance=full,
            noise=_noise(left, weight, noise),
            residual=left,
            weight=weight,
            inflation=inflation,
        )
        if round_ > 3 and np.all(np.abs(step[free]) < SETTLED * np.sqrt(np.diag(covariance)) + 1e-12):
            break
    left = (comparison.reading(fit.lag) - comparison.predicted(fit))[used]
    return replace(fit, residual=left)


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


def _descended(comparison: PlateComparison, fit: SensorFit, step: Array, scaled: Array, used: slice) -> SensorFit:
    """Return the fit after a step, halved until the weighted squares are less: the turn and the gain are one product.

    Args:
        comparison: Readings and wrenches.
        fit: Where the step starts.
        step: The step, shape (55 + m,).
        scaled: Square roots of the weights, shape (k, 6).
        used: Instants that count.
    """
    free = fit.prior_std > 0.0

    def cost(one: SensorFit) -> float:
        left = (comparison.reading(one.lag) - comparison.predicted(one))[used]
        return float(np.sum((scaled * left) ** 2) + np.sum((_unknowns(one)[free] / fit.prior_std[free]) ** 2))

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


def _noise(left: Array, weight: Array, robust: Array) -> Array:
    """Return the standard deviation of the good readings, shape (6,); the robust one where hardly any are good."""
    total = weight.sum(axis=0)
    square = np.sum(weight * left**2, axis=0) / np.maximum(total, 1.0)
    noise: Array = np.where(total > 0.5 * len(left), np.sqrt(square), robust)
    return noise


def outlier_share(fit: SensorFit) -> float:
    """Return the share of readings that lie further than BEND standard deviations from the fit."""
    return float(np.mean(np.abs(fit.residual) > BEND * fit.noise))
