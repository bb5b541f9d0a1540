"""The tare: what the plate reads before a task, and how far from its pose the tared forms are valid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...dynamics import WRENCH_COMPONENTS, Robot, as_rows, position_units, rotary
from ...errors import InputError
from ...foundation import Array, PublishedData, frozen
from .gravity_wrench import GravityWrench
from .variance import TorqueVariance

KINEMATIC_RANGE = np.deg2rad(1.0)
"""How far a rotary joint may leave the tare's pose in the kinematics-only form [rad]: 0.5 N m of gravity on a PUMA."""
KINEMATIC_RANGE_LINEAR = 0.005
"""... and a linear joint [m]."""
MAX_MOTION = np.deg2rad(0.1)
"""How far joints may move while a tare is averaged [rad or m]."""
FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0)
"""Multiples of the kinematic range that the range of the model form is chosen from."""


@dataclass(frozen=True, eq=False)
class Tare(PublishedData):
    """A static reading.

    Attributes:
        q: Pose [rad or m], shape (n,).
        reading: Mean reading of the plate, sensor axes and sign [N, N m], shape (6,).
        reading_variance: Variance of that mean, shape (6,).
        count: Readings averaged.
        time: When, by the samples' clock [s]; None where nobody said.
        range: How far each joint may leave q in the form "tared" [rad or m], shape (n,).
        model_range: The same of "tared+model"; what the gravity model's covariance makes of it.
    """

    q: Array
    reading: Array
    reading_variance: Array
    count: int
    time: float | None
    range: Array
    model_range: Array

    def left(self, q: Array, *, model: bool) -> npt.NDArray[np.bool_]:
        """Say whether any joint has left the range, a bool or shape (k,).

        Args:
            q: Joint positions, shape (n,) or (k, n).
            model: Of the form with the model's gravity difference.
        """
        away = np.abs(q - self.q) > (self.model_range if model else self.range) * (1.0 + 1e-9)
        return np.asarray(away.any(axis=-1))


def taken(
    robot: Robot,
    q: npt.ArrayLike,
    reading: npt.ArrayLike,
    *,
    noise: Array,
    time: float | None,
    range_limit: npt.ArrayLike | None,
) -> Tare:
    """Return the tare of one static reading, or of the mean of several.

    Args:
        robot: The robot.
        q: Joint positions, shape (n,) or (k, n).
        reading: Plate readings, shape (6,) or (k, 6).
        noise: Known noise of a reading, shape (6,); several readings may show more.
        time: When [s].
        range_limit: Stated range of both tared forms [rad or m], one number or shape (n,); None for the defaults.

    Raises:
        InputError: Shapes that do not belong together, or joints that moved meanwhile.
    """
    poses = np.atleast_2d(as_rows(q, "q", robot.joint_names))
    readings = np.atleast_2d(as_rows(reading, "wrench", WRENCH_COMPONENTS))
    if len(poses) not in (1, len(readings)) or len(readings) == 0:
        raise InputError(
            f"a tare of {len(poses)} poses and {len(readings)} readings; expected one pose for each reading"
        )
    spread = poses.max(axis=0) - poses.min(axis=0) if len(poses) > 1 else np.zeros(robot.n)
    if (spread > MAX_MOTION).any():
        joint = int(np.argmax(spread))
        raise InputError(
            f"joint '{robot.joint_names[joint]}' moved by {spread[joint]:.4g} {position_units(robot)[joint]} during "
            "the tare; hold the robot still, or give readings of one pose"
        )
    scatter = readings.var(axis=0, ddof=1) if len(readings) > 1 else np.zeros(6)
    kinematic = np.where(rotary(robot), KINEMATIC_RANGE, KINEMATIC_RANGE_LINEAR)
    if range_limit is not None:
        kinematic = _stated(robot, range_limit)
    return Tare(
        frozen(poses.mean(axis=0)),
        frozen(readings.mean(axis=0)),
        frozen(np.maximum(scatter, noise**2) / len(readings)),
        len(readings),
        time,
        frozen(kinematic),
        frozen(kinematic),
    )


def model_range(tare: Tare, variance: TorqueVariance, generator: GravityWrench) -> Array:
    """Return how far each joint may leave the tare when the model's gravity difference is subtracted, shape (n,).

    Multiples of the kinematic range are tried. One is valid while the standard deviation that the model's covariance
    leaves, one joint moved by it or all of them, stays within what eq. (23) is wrong by at its own range
    ([Morel2000], eq. (23): A(q) [w_g(q) − w_g(q_tare)]).
    """
    q, n = tare.q, len(tare.q)
    signs = np.vstack([np.eye(n), -np.eye(n), np.random.default_rng(0).choice([-1.0, 1.0], (2 * n, n))])
    near = q + tare.range * signs
    missed = np.einsum("kij,kj->ki", variance.analyzer.matrix(near), generator.wrench(near) - generator.wrench(q))
    worst = np.abs(missed).max(axis=0, initial=0.0)
    # A joint that eq. (23) serves exactly, such as a vertical one, must not forbid every other joint to move.
    allowed = np.maximum(worst, 0.1 * worst.max(initial=0.0))
    found = FACTORS[0]
    for multiple in FACTORS:
        std = variance.std(q + multiple * tare.range * signs, zero_known=True, q_tare=q, gravity=True)
        noise_free = std - variance.std(q, zero_known=True, q_tare=q, gravity=True)
        if (noise_free > allowed + 1e-12).any():
            break
        found = multiple
    return frozen(found * tare.range)


def _stated(robot: Robot, value: npt.ArrayLike) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (robot.n,)) or not (np.isfinite(array) & (array > 0.0)).all():
        raise InputError(f"the range of a tare is {array.tolist()}; expected a positive number, or one for each joint")
    return np.broadcast_to(array, (robot.n,)).copy()
