r"""How a plate's reading lies to the wrench that the model predicts: turned, mirrored, negated, late, mixed.

The reading y (six channels, force first, as declared) is compared with the model's wrench w at the plate's origin:

.. math:: y(t) = T\, w(t - \mathrm{lag}) + b, \qquad w = W(q, \dot q, \ddot q)\,(\varphi_0 + \delta),

with a rotation and perhaps a mirror or a sign in T, the model's own error δ (spread of doctor/priors.py) and a
bias b. Both are marginalised: for every T only T⁻¹y changes, the covariance does not, so many T cost little.

**How a plate is turned** is stated by one convention everywhere. A plate's axes are R, base ← sensor (the rotation of
T_base_sensor). Against other axes R₀, those that are declared or the base's own, they are

.. math:: R = R_0\, U\, R_z(\mathrm{yaw})\, S(\mathrm{tilt}),

all right-handed: Rz turns from x to y, S is the rotation by |tilt| about the axis (tilt x, tilt y, 0), and U is half a
turn about x where the plate lies upside down, nothing otherwise. Every rotation has exactly one such form, but for a z
axis at right angles to where it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..dynamics import Robot
from ..foundation import (
    Array,
    inverse_transform,
    rotation_from_rpy,
    rotation_from_vector,
    rotation_vector,
    wrench_transform,
)
from ..recording import Motion, interpolated
from .priors import FURTHEST, INDEPENDENT_RATE, RESIDUE, parameter_spread

_UPSIDE_DOWN = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True, slots=True)
class PlateTurn:
    """How axes are turned against others.

    Attributes:
        yaw: Turn about z [rad], −π to π, right-handed.
        tilt_x: Tilt about the x axis of the turned plate [rad].
        tilt_y: Tilt about its y axis [rad].
        upside_down: Whether half a turn about x comes before both.
    """

    yaw: float
    tilt_x: float
    tilt_y: float
    upside_down: bool = False

    @classmethod
    def between(cls, axes: Array, others: Array) -> PlateTurn:
        """Return how ``axes`` are turned against ``others``, both base ← sensor, shapes (3, 3)."""
        turned = others.T @ axes
        upside_down = bool(turned[2, 2] < 0.0)
        if upside_down:
            turned = _UPSIDE_DOWN @ turned
        yaw = math.atan2(turned[1, 0] - turned[0, 1], turned[0, 0] + turned[1, 1])
        x, y, _ = rotation_vector(rotation_from_rpy([0.0, 0.0, -yaw]) @ turned)
        return cls(yaw, float(x), float(y), upside_down)

    @property
    def rotation(self) -> Array:
        """The rotation U Rz(yaw) S(tilt) that this is, shape (3, 3)."""
        turned: Array = rotation_from_rpy([0.0, 0.0, self.yaw]) @ rotation_from_vector([self.tilt_x, self.tilt_y, 0.0])
        return _UPSIDE_DOWN @ turned if self.upside_down else turned


MOST_POINTS = 150
"""Points of the recording that are compared."""
SHIFT = 0.02
"""Step of the search for a delay [s]."""
STEPS = 24
"""Yaw angles that the search starts from."""
REFINED = 6
"""Starts that are refined."""
PASSES = 3
"""How often the noise is taken from what is left, and the comparison made again."""
BIAS = 0.15
"""Standard deviation of the bias of a plate that was not tared, relative to the robot's weight (and 0.5 m of lever)."""
TARED = 3.0
"""The same of a plate that was tared with the robot on it: its constant part says nothing."""
LEVER = 0.5
"""Length that relates moments to forces [m]."""
MIX = 0.3
"""Standard deviation of a share of a foreign component that a bad plate may have."""
WIDER = 1.5
"""Factor on the model's spread: a plate must not be blamed for a poor model."""

_MIRROR = np.diag([1.0, -1.0, 1.0])


@dataclass(frozen=True, slots=True)
class PlateClass:
    """A discrete way in which a plate may be wrong; its yaw is found beside it.

    Attributes:
        force: Sign of the force channels.
        moment: Sign of the moment channels.
        mirrored: Whether the y axis points the other way, after yaw and tilt.
        cost: Log evidence that it must gain to be believed.
    """

    force: float
    moment: float
    mirrored: bool
    cost: float


CLASSES = (
    PlateClass(1.0, 1.0, False, 0.0),
    PlateClass(-1.0, -1.0, False, 3.0),
    PlateClass(1.0, 1.0, True, 4.0),
    PlateClass(1.0, -1.0, True, 4.0),
    PlateClass(-1.0, -1.0, True, 5.0),
    PlateClass(-1.0, 1.0, True, 6.0),
    PlateClass(-1.0, 1.0, False, 5.0),
    PlateClass(1.0, -1.0, False, 5.0),
)


@dataclass(frozen=True, slots=True, eq=False)
class PlateFit:
    """The best description of a plate's reading.

    Attributes:
        kind: Signs and mirror.
        yaw: Turn of the sensor about z against what is declared [rad], as in doctor/plate_fit.py; of a mirrored class,
            before its y axis is turned over.
        tilt: Its tilt about x and y [rad], shape (2,).
        axes: The sensor's axes R_base_sensor, shape (3, 3); None where they are left-handed.
        lag: How late the reading is [s].
        std: Standard deviations of yaw, tilt x, tilt y [rad] and lag [s], shape (4,).
        gain: Log evidence over the plate as declared.
        margin: Log evidence over the best other class.
        runner_up: That class and its yaw [rad].
        tared: Whether the constant part is better explained by a tare.
        mix: Share of component j in channel i beyond that, shape (6, 6), zero on the diagonal.
        mix_std: Its standard deviation, shape (6, 6); inf where nothing is known.
        mixed_lag: The lag [s] that goes with the mixing, and its standard deviation.
        mismatch: Deviation of mx and my from the prediction, relative to their own: 1 where there is no relation.
        signal: Standard deviation of the predicted channels [N, N m], shape (6,).
        noise: Standard deviation of what is left [N, N m], shape (6,).
    """

    kind: PlateClass
    yaw: float
    tilt: Array
    axes: Array | None
    lag: float
    std: Array
    gain: float
    margin: float
    runner_up: tuple[PlateClass, float]
    tared: bool
    mix: Array
    mix_std: Array
    mixed_lag: tuple[float, float]
    mismatch: float
    signal: Array
    noise: Array


class PlateModel:
    """The model's wrench at the plate with its uncertainty, ready to be compared with any transformed reading."""

    def __init__(self, robot: Robot, motion: Motion, T_base_sensor: Array, sign: float) -> None:
        """Prepare.

        Args:
            robot: The model.
            motion: The recording's motion at even times, with a wrench.
            T_base_sensor: Declared pose of the sensor in the base frame, shape (4, 4).
            sign: +1 where the plate is declared to read what acts on the robot, −1 otherwise.
        """
        good = np.flatnonzero(motion.usable)
        self.rows = good[np.unique(np.linspace(0, len(good) - 1, MOST_POINTS).astype(np.int64))]
        self._time, self._sign = motion.time, sign
        self.declared = T_base_sensor[:3, :3]
        self._wrench = np.zeros((len(motion.time), 6)) if motion.wrench is None else motion.wrench
        q, dq, ddq = (values[self.rows] for values in (motion.q, motion.dq, motion.ddq))
        regressor = robot.base_wrench_regressor(q, dq, ddq)
        to_sensor = wrench_transform(inverse_transform(T_base_sensor))
        at_sensor = to_sensor @ regressor
        self.predicted = at_sensor @ robot.inertial_parameters
        spread = at_sensor[:, :, 10:] @ (WIDER * parameter_spread(robot))
        weight = robot.total_mass * float(np.linalg.norm(robot.gravity_base))
        unit = max(weight, 1e-6) * np.array([1.0] * 3 + [LEVER] * 3)
        self._unit = unit
        self._spread = spread
        self.signal = self.predicted.std(axis=0)
        self.weight = min(1.0, INDEPENDENT_RATE * len(good) * motion.dt / len(self.rows))
        self.floor = RESIDUE * np.repeat([float(self.signal[:3].max()), float(self.signal[3:].max())], 3)
        # To begin with, half of what is read counts as noise: a group of channels that cannot be explained at all must
        # not decide about the other.
        read = self.reading(0.0).std(axis=0)
        begin = 0.5 * np.repeat([float(read[:3].max()), float(read[3:].max())], 3)
        self.noise = np.maximum(np.maximum(self.floor, begin), 1e-4 * unit)
        self._factors: dict[bool, tuple[Array, float]] = {}
        self.use(self.noise, tared=False)

    def use(self, noise: Array, *, tared: bool) -> None:
        """Take a noise [N, N m], shape (6,), and decide whether the constant part counts."""
        if noise is not self.noise:
            self._factors.clear()
        self.noise, self.tared = noise, tared
        if tared not in self._factors:
            self._factors[tared] = self._factored()
        self._whitened, self._log_det = self._factors[tared]

    def _factored(self) -> tuple[Array, float]:
        """Return V with S⁻¹ = 1 − VᵀV for the covariance S of scaled residuals, and half its log determinant."""
        bias = (TARED if self.tared else BIAS) * self._unit
        k = len(self.rows)
        constants = np.broadcast_to(np.diag(bias), (k, 6, 6))
        columns = np.concatenate([self._spread, constants], axis=2) / self.noise[:, None]
        scaled = np.sqrt(self.weight) * columns.reshape(6 * k, -1)
        factor = np.linalg.cholesky(np.eye(scaled.shape[1]) + scaled.T @ scaled)
        log_det = float(np.log(np.diag(factor)).sum() + self.weight * k * np.log(self.noise).sum())
        return np.linalg.solve(factor, scaled.T), log_det

    def reading(self, lag: float) -> Array:
        """Return the reading that belongs to the points when it is ``lag`` [s] late, shape (k, 6), sign as declared."""
        return self._sign * interpolated(self._time[self.rows] + lag, self._time, self._wrench)

    def first_lag(self) -> float:
        """Return how late the reading seems [s], whatever its axes and signs.

        At every shift, each moment channel is fitted by a mixture of the six predicted channels and a constant.
        """
        columns = np.column_stack([self.predicted / np.maximum(self.signal, 1e-12), np.ones(len(self.rows))])
        orthogonal = np.linalg.qr(columns)[0]
        shifts = np.arange(-FURTHEST, FURTHEST + 1e-9, SHIFT)
        costs = []
        for lag in shifts:
            y = self.reading(float(lag))[:, 3:]
            left = np.sum(y**2, axis=0) - np.sum((orthogonal.T @ y) ** 2, axis=0)
            costs.append(float(np.sum(np.log(np.maximum(left, 1e-12) / np.maximum(np.var(y, axis=0), 1e-12)))))
        return float(shifts[int(np.argmin(costs))])

    def residual(self, kind: PlateClass, angles: Array, lag: float, reading: Array | None = None) -> Array:
        """Return T⁻¹ y − w, scaled by the noise, shape (6 k,)."""
        y = self.reading(lag) if reading is None else reading
        turned = turn(kind, angles)
        force = kind.force * y[:, :3] @ turned
        moment = kind.moment * y[:, 3:] @ turned
        off = (np.concatenate([force, moment], axis=1) - self.predicted) / self.noise
        scaled: Array = np.sqrt(self.weight) * off.ravel()
        return scaled

    def solve(self, vectors: Array) -> Array:
        """Return S⁻¹ times scaled vectors, where S is their covariance under the model, shape (6 k,) or (6 k, m)."""
        solved: Array = vectors - self._whitened.T @ (self._whitened @ vectors)
        return solved

    def evidence(self, residual: Array) -> float:
        """Return the log evidence of a residual."""
        inner = self._whitened @ residual
        return -0.5 * float(residual @ residual - inner @ inner) - self._log_det

    def left_over(self, residual: Array) -> Array:
        """Return what the model's error and the bias do not explain, shape (k, 6) [N, N m]."""
        left: Array = self.solve(residual).reshape(-1, 6) * self.noise / np.sqrt(self.weight)
        return left


def turn(kind: PlateClass, angles: Array) -> Array:
    """Return the matrix A of a reading A v of a vector v in declared axes, shape (3, 3).

    A = Rᵀ, with R the sensor's axes in the declared ones, and then the mirror: a sensor that is turned by +30° reads a
    vector turned by −30°.

    Args:
        kind: The class.
        angles: Yaw, tilt about x and tilt about y of the sensor [rad], shape (3,), as in doctor/plate_fit.py.
    """
    yaw, tilt_x, tilt_y = (float(angle) for angle in angles)
    rotation = PlateTurn(yaw, tilt_x, tilt_y).rotation
    return (_MIRROR if kind.mirrored else np.eye(3)) @ rotation.T


def axes_of(kind: PlateClass, angles: Array, declared: Array) -> Array | None:
    """Return R_base_sensor of a turned plate of either sign, shape (3, 3); None for a class that is no rotation.

    Args:
        kind: The class.
        angles: Yaw and tilt [rad], shape (3,).
        declared: Axes that are declared, base ← sensor, shape (3, 3).
    """
    if kind.force != kind.moment or (kind.mirrored and kind.force > 0.0):
        return None
    turned = turn(kind, angles)
    if kind.mirrored:  # negated and mirrored: a plate that lies upside down
        turned = -turned
    axes: Array = declared @ turned.T
    return axes


def fit_plate(model: PlateModel) -> PlateFit:
    """Return the best description of a plate's reading.

    All classes and yaw angles are compared; the best of each class is refined in yaw, tilt and lag; the noise is taken
    from what is left, and the comparison is made again.

    Args:
        model: The model's wrench at the plate.
    """
    best = _compared(model)
    _, kind, parameters, tared = best[0]
    model.use(model.noise, tared=tared)
    parameters = _refined(model, kind, parameters)
    std = np.sqrt(np.diag(np.linalg.inv(_information(model, kind, parameters))))
    value = model.evidence(model.residual(kind, parameters[:3], parameters[3])) - kind.cost
    declared = model.evidence(model.residual(CLASSES[0], np.zeros(3), 0.0))
    others = [entry for entry in best if entry[1] != kind]
    other = others[0] if others else (-np.inf, kind, parameters, tared)
    noise = model.noise
    off = model.residual(kind, parameters[:3], parameters[3]).reshape(-1, 6) * noise / np.sqrt(model.weight)
    read = (off + model.predicted)[:, 3:5].std(axis=0)
    own = max(float(np.linalg.norm(read)), float(np.linalg.norm(model.signal[3:5])), 1e-12)
    mix, mix_std, mixed_lag = _mixing(model, kind, parameters)
    return PlateFit(
        kind=kind,
        yaw=float(np.arctan2(np.sin(parameters[0]), np.cos(parameters[0]))),
        tilt=parameters[1:3],
        axes=axes_of(kind, parameters[:3], model.declared),
        lag=float(parameters[3]),
        std=std,
        gain=value - declared,
        margin=best[0][0] - other[0],
        runner_up=(other[1], float(np.arctan2(np.sin(other[2][0]), np.cos(other[2][0])))),
        tared=tared,
        mix=mix,
        mix_std=mix_std,
        mixed_lag=mixed_lag,
        mismatch=float(np.linalg.norm(off[:, 3:5].std(axis=0))) / own,
        signal=model.signal,
        noise=noise,
    )


def _compared(model: PlateModel) -> list[tuple[float, PlateClass, Array, bool]]:
    """Return the best descriptions, the best first: log evidence, class, yaw and tilt [rad] and lag [s], tared or not.

    The model is left with the noise that the best one leaves over.
    """
    best: list[tuple[float, PlateClass, Array, bool]] = []
    lag = model.first_lag()
    for _ in range(PASSES):
        starts = []
        for tared in (False, True):
            model.use(model.noise, tared=tared)
            starts += [(*_search(model, kind, lag), kind, tared) for kind in CLASSES]
        starts.sort(key=lambda entry: -entry[0])
        best = []
        for _, start, kind, tared in starts[:REFINED]:
            model.use(model.noise, tared=tared)
            parameters = _refined(model, kind, start)
            value = model.evidence(model.residual(kind, parameters[:3], parameters[3])) - kind.cost
            best.append((value, kind, parameters, tared))
        best.sort(key=lambda entry: -entry[0])
        _, kind, parameters, tared = best[0]
        model.use(model.noise, tared=tared)
        left = model.left_over(model.residual(kind, parameters[:3], parameters[3]))
        model.use(np.maximum(np.sqrt(np.mean(left**2, axis=0)), model.floor), tared=tared)
    return best


def _search(model: PlateModel, kind: PlateClass, lag: float) -> tuple[float, Array]:
    """Return the log evidence of the best of STEPS yaw angles of a class, without tilt, and the parameters."""
    reading = model.reading(lag)
    ahead, left, back = (
        model.residual(kind, np.array([yaw, 0.0, 0.0]), lag, reading) for yaw in (0.0, 0.5 * np.pi, np.pi)
    )
    # Without tilt the residual is linear in 1, cos(yaw) and sin(yaw): three yaw angles tell of all others.
    middle = 0.5 * (ahead + back)
    parts = np.column_stack([middle, ahead - middle, left - middle])
    squares = parts.T @ model.solve(parts)
    angles = np.arange(STEPS) * 2.0 * np.pi / STEPS
    waves = np.stack([np.ones(STEPS), np.cos(angles), np.sin(angles)])
    best = int(np.argmin(np.sum(waves * (squares @ waves), axis=0)))
    return model.evidence(parts @ waves[:, best]) - kind.cost, np.array([angles[best], 0.0, 0.0, lag])


_NUDGE = np.array([1e-4, 1e-4, 1e-4, 1e-3])
_LARGEST_STEP = np.array([0.3, 0.2, 0.2, 0.1])
_LARGEST = np.array([np.inf, 0.8, 0.8, 0.5])


def _jacobian(model: PlateModel, kind: PlateClass, parameters: Array, residual: Array) -> Array:
    columns = []
    for index, nudge in enumerate(_NUDGE):
        moved = parameters.copy()
        moved[index] += nudge
        columns.append((model.residual(kind, moved[:3], moved[3]) - residual) / nudge)
    return np.column_stack(columns)


def _information(model: PlateModel, kind: PlateClass, parameters: Array) -> Array:
    """Return the information of the data and of a wide prior (1 rad, 1 s) about yaw, tilt and lag, shape (4, 4)."""
    residual = model.residual(kind, parameters[:3], parameters[3])
    slopes = _jacobian(model, kind, parameters, residual)
    return slopes.T @ model.solve(slopes) + np.eye(4)


def _refined(model: PlateModel, kind: PlateClass, start: Array) -> Array:
    """Return yaw, tilt x, tilt y and lag of the greatest evidence near a start, by Gauss–Newton steps."""
    parameters = start.copy()
    residual = model.residual(kind, parameters[:3], parameters[3])
    value = model.evidence(residual)
    for _ in range(8):
        slopes = _jacobian(model, kind, parameters, residual)
        weighted = model.solve(slopes)
        step = np.linalg.solve(slopes.T @ weighted + np.eye(4), -weighted.T @ residual)
        step = np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
        for _ in range(5):
            moved = np.clip(parameters + step, -_LARGEST, _LARGEST)
            tried = model.residual(kind, moved[:3], moved[3])
            better = model.evidence(tried)
            if better > value:
                break
            step = 0.5 * step
        else:
            return parameters
        small = np.abs(moved - parameters).max() < 1e-5
        parameters, residual, value = moved, tried, better
        if small:
            break
    return parameters


def _mixing(model: PlateModel, kind: PlateClass, parameters: Array) -> tuple[Array, Array, tuple[float, float]]:
    """Return the share of component j in channel i beyond the turn, its deviation, both (6, 6), and the lag beside it.

    Forces in moment channels are left out: they are the same as a plate whose origin lies elsewhere.
    """
    residual = model.residual(kind, parameters[:3], parameters[3])
    slope = _jacobian(model, kind, parameters, residual)[:, 3].reshape(-1, 6) * model.noise
    unscaled = residual.reshape(-1, 6) * model.noise
    noise, tared = model.noise, model.tared
    # Prior deviations: the shares', per N m in force channels over the length LEVER, and one second.
    prior = np.array([*(MIX / LEVER if i < 3 <= j else MIX for i, j in PAIRS), 1.0])
    found, covariance = np.zeros(len(prior)), np.diag(prior**2)
    for _ in range(PASSES):  # what is mixed in is no noise
        columns = np.zeros((len(model.rows), 6, len(prior)))
        for index, (i, j) in enumerate(PAIRS):
            columns[:, i, index] = np.sqrt(model.weight) * model.predicted[:, j] / noise[i]
        columns[:, :, -1] = -slope / noise
        flat = columns.reshape(-1, len(prior))
        model.use(noise, tared=tared)
        weighted = model.solve(flat)
        covariance = np.linalg.inv(flat.T @ weighted + np.diag(1.0 / prior**2))
        given = (unscaled / noise).ravel()
        found = covariance @ (weighted.T @ given)
        left = model.left_over(given - flat @ found)
        noise = np.maximum(np.sqrt(np.mean(left**2, axis=0)), model.floor)
    std = np.sqrt(np.diag(covariance))
    mix, mix_std = np.zeros((6, 6)), np.full((6, 6), np.inf)
    for index, (i, j) in enumerate(PAIRS):
        mix[i, j], mix_std[i, j] = found[index], std[index]
    return mix, mix_std, (float(parameters[3] + found[-1]), float(std[-1]))


PAIRS = tuple((i, j) for i in range(6) for j in range(6) if i != j and not (i >= 3 > j))
"""Channels and the foreign components that may show in them."""
