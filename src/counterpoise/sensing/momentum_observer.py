r"""External joint torque from the generalised momentum ([DeLuca2003]): no acceleration is needed.

With p = M(q) q̇ + J_m q̇, the equation of motion M q̈ + C q̇ + g + f = τ + τ_ext gives

.. math:: \dot p = \tau + C^T\dot q - g - f + \tau_{ext}, \qquad (C^T\dot q)_i = \tfrac12 \dot q^T \partial_i M \dot q

and the observer r = K (p − p_0 − ∫ (τ + Cᵀq̇ − g − f + r) dt) follows τ_ext with the time constant 1/K.

Friction is what limits it. While a joint moves, its friction is known to a share of the law; while it rests, friction
takes any value within its band, and so may hide an external torque of that size or look like one.

``friction_band_of`` says how much torque friction may hold at rest, where a calibration has measured it and where
nobody has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..dynamics import FrictionLaw, Robot, as_rows, refuse_command_units
from ..errors import InputError
from ..foundation import Array, PublishedData, frozen
from ..identification import workspace_poses
from ..recording import SampleFlag

if TYPE_CHECKING:
    from ..identification import Fit


BAND_SHARE = 0.015
"""Friction band of an arm of which nothing is known, as a share of the effort limit (of the largest gravity torque over
the workspace, times five, where there is no limit)."""
SCALE_POSES = 200
"""Poses by which a joint without an effort limit is sized."""


def friction_band_of(robot: Robot, fit: Fit | None = None, given: npt.ArrayLike | None = None) -> Array:
    """Return the torque that friction may hold at rest, ± [N m or N], shape (n,): given, the calibration's, or assumed.

    Args:
        robot: The arm.
        fit: Its calibration; None where there is none.
        given: Known bands, shape (n,); None where nothing is known.

    Raises:
        InputError: A given band is not positive, or the calibration is in command units.
    """
    if given is not None:
        return positive_row(given, "friction_band", robot.joint_names)
    limit = np.asarray(robot.effort_limit)
    if not np.isfinite(limit).all():
        largest = np.abs(robot.gravity(workspace_poses(robot, SCALE_POSES))).max()
        limit = np.where(np.isfinite(limit), limit, max(5.0 * float(largest), 1.0))
    assumed = BAND_SHARE * np.maximum(limit, 1e-3)
    if fit is None:
        return np.asarray(assumed)
    refuse_command_units(fit.robot)
    found = fit.errors.friction_band
    return np.asarray(np.where(np.isfinite(found) & (found > 0.0), found, assumed))


def positive_row(value: npt.ArrayLike, name: str, columns: tuple[str, ...]) -> Array:
    """Return one positive number per column as an array, shape (c,).

    Raises:
        InputError: There are more or fewer, or one is not positive.
    """
    row = as_rows(value, name, columns)
    if row.ndim != 1 or not np.all(row > 0.0):
        raise InputError(f"{name} is {row.tolist()}; expected {len(columns)} positive numbers")
    return row


MOVING_SHARE = 0.2
"""What of the friction band stays unknown while a joint moves."""
REST_SPEED = 0.02
"""Speed below which friction may take any value within its band [rad/s or m/s]."""
GRADIENT_STEP = 1e-5
"""Step of the central difference of the kinetic energy [rad or m]."""
TOUCHED = 3.0
"""A joint counts as loaded from outside beyond this many standard deviations."""
LARGEST = 1e6
"""Numbers beyond this are no measurements."""


@dataclass(frozen=True, slots=True, eq=False)
class ExternalTorque(PublishedData):
    """Torque from outside at every joint.

    Attributes:
        value: τ_ext = Jᵀ w of the wrench w acting on the robot [N m or N], shape (n,).
        std: Its standard deviation: friction, model and noise [N m or N], shape (n,).
        valid: Whether the last sample could be used; the value is then the one before.
    """

    value: Array
    std: Array
    valid: bool

    @property
    def touched(self) -> bool:
        """Whether any joint's torque is beyond TOUCHED standard deviations."""
        return bool(np.any(np.abs(self.value) > TOUCHED * self.std))


class MomentumObserver:
    """Watches for forces from outside, sample by sample.

    Attributes:
        robot: The arm, payload included.
        external: What is known now.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        *,
        bandwidth: float = 20.0,
        friction: FrictionLaw | None = None,
        friction_band: npt.ArrayLike | None = None,
        model_std: npt.ArrayLike = 0.0,
        rotor_inertia: npt.ArrayLike | None = None,
    ) -> None:
        """Begin without external torque.

        Args:
            robot: The arm, mounted as it stands, payload included.
            dt: Time between samples [s].
            bandwidth: K, the reciprocal of the observer's time constant [1/s], at most 0.5/dt.
            friction: The friction law that is taken off while a joint moves; None for none.
            friction_band: Torque that friction may hold at rest, ± [N m or N], one or n; None for BAND_SHARE of the
                effort limits, as of an arm of which nothing is known.
            model_std: Deviation of the model's torque, e.g. ``OnlineGravity.std`` [N m or N], one or n.
            rotor_inertia: Drive inertia on the link side [kg m² or kg], shape (n,); None for the robot's.

        Raises:
            InputError: A value that means nothing.
        """
        if not (np.isfinite(dt) and 0.0 < dt <= 1.0):
            raise InputError(f"dt is {dt!r}; expected the time between samples in s, above 0 and at most 1")
        if not 0.0 < bandwidth <= 0.5 / dt:
            raise InputError(
                f"bandwidth is {bandwidth!r} 1/s; expected above 0 and at most half of 1/dt = {1.0 / dt:g}"
            )
        self.robot = robot
        self._still = robot.mounted(gravity=(0.0, 0.0, 0.0))
        self._dt, self._gain = dt, bandwidth
        self._friction = friction
        band = friction_band_of(robot) if friction_band is None else friction_band
        self._band, self._model_std = (
            _not_negative(robot, value, name) for value, name in ((band, "friction_band"), (model_std, "model_std"))
        )
        rotors = robot.rotor_inertia if rotor_inertia is None else rotor_inertia
        self._rotor = _not_negative(robot, rotors, "rotor_inertia")
        self.reset()

    def reset(self) -> None:
        """Begin anew: the next sample is the first."""
        n = self.robot.n
        self._begun = False
        self._integral = np.zeros(n)
        self._r = np.zeros(n)
        self.external = ExternalTorque(frozen(np.zeros(n)), frozen(np.hypot(self._band, self._model_std)), False)

    def update(
        self, q: npt.ArrayLike, dq: npt.ArrayLike, tau: npt.ArrayLike, flags: SampleFlag = SampleFlag.NONE
    ) -> ExternalTorque:
        """Take one sample in and return the external torque.

        A sample with bad numbers, or flagged, is bridged: the estimate stays and the observer starts again from the
        next good one, since it does not know what happened to the momentum.

        Args:
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            tau: Torques of the actuators, link side [N m or N], shape (n,).
            flags: What the source knows to be wrong.

        Raises:
            InputError: A shape or a type does not fit.
        """
        position, speed, torque = (
            _numbers(self.robot, value, name) for value, name in ((q, "q"), (dq, "dq"), (tau, "tau"))
        )
        sizes = np.abs(np.concatenate([position, speed, torque]))
        if flags & ~(SampleFlag.WRENCH_INVALID | SampleFlag.WRENCH_SATURATED) or not np.all(sizes < LARGEST):
            self._begun = False
            self.external = ExternalTorque(self.external.value, self.external.std, False)
            return self.external
        momentum, coupling = momentum_of(self._still, self._rotor, position, speed)
        rubbing = np.zeros(self.robot.n) if self._friction is None else np.asarray(self._friction.torque(speed))
        resting = np.abs(speed) < REST_SPEED
        rubbing = np.where(resting, 0.0, rubbing)
        known = torque + coupling - self.robot.gravity(position) - rubbing
        if not self._begun:  # p_0 such that the estimate goes on from where it was
            self._integral = momentum - self._r / self._gain
            self._begun = True
        else:
            self._integral = self._integral + self._dt * (known + self._r)
            self._r = np.clip(self._gain * (momentum - self._integral), -LARGEST, LARGEST)
            self._integral = momentum - self._r / self._gain  # nothing is left behind the bound
        std = np.hypot(np.where(resting, 1.0, MOVING_SHARE) * self._band, self._model_std)
        self.external = ExternalTorque(frozen(self._r), frozen(std), True)
        return self.external


def momentum_of(still: Robot, rotor: Array, q: Array, dq: Array) -> tuple[Array, Array]:
    """Return M q̇ + J_m q̇ [N m s or N s] and Cᵀq̇, the gradient of the kinetic energy [N m or N], shape (n,) each.

    Args:
        still: The arm without gravity: ``robot.mounted(gravity=(0.0, 0.0, 0.0))``.
        rotor: Drive inertia J_m on the link side [kg m² or kg], shape (n,).
        q: Positions [rad or m], shape (n,).
        dq: Velocities [rad/s or m/s], shape (n,).
    """
    n = still.n
    step = GRADIENT_STEP * np.eye(n)
    poses = np.concatenate([q[None, :], q + step, q - step])
    speeds = np.ascontiguousarray(np.broadcast_to(dq, poses.shape))
    momenta = still.inverse_dynamics(poses, np.zeros_like(poses), speeds)
    energy = 0.5 * momenta @ dq
    return momenta[0] + rotor * dq, (energy[1 : n + 1] - energy[n + 1 :]) / (2.0 * GRADIENT_STEP)


def _not_negative(robot: Robot, value: npt.ArrayLike, name: str) -> Array:
    row = np.broadcast_to(np.asarray(value, dtype=np.float64), (robot.n,)) if np.ndim(value) == 0 else value
    given = as_rows(row, name, robot.joint_names)
    if given.shape != (robot.n,) or not np.all(given >= 0.0):
        raise InputError(f"{name} is {given.tolist()}; expected {robot.n} numbers from 0")
    return given


def _numbers(robot: Robot, value: npt.ArrayLike, name: str) -> Array:
    try:
        row = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be {robot.n} numbers, got {value!r}") from error
    if row.shape != (robot.n,):
        raise InputError(f"{name} has shape {row.shape}; expected ({robot.n},)")
    return row
