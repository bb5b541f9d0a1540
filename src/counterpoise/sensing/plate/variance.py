"""How far an estimated torque may be off: the plate's noise, the gravity model and the acceleration, propagated.

With δr the error of a reading, δφ that of the masses and first moments and δq̈ that of the acceleration,

.. math:: δτ_d = A(q) X δr - A(q) [ W(q) - W(q_{tare}) ] δφ - B(q) δq̈,

where X takes readings to the base, W is the gravity columns of the base wrench regressor (the second one only of a form
that differences) and B is that of [Morel2000] eq. (19). The three are independent. The torque at the joint, τ_d + g,
has the gravity error A W δφ replaced by (A W − Y) δφ, Y the gravity regressor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot
from ...errors import InputError
from ...fitting import whole_covariance
from ...foundation import Array, frozen
from .joint_analyzer import JointAnalyzer
from .wrench_frame import WrenchFrame

BATCH_ROWS = 512


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What is known of the errors; standard deviations.

    Attributes:
        noise: White noise of a reading, per channel [N, N m], shape (6,).
        zero: Uncertainty of the reading's zero, per channel, shape (6,); a tare takes it away.
        walk: Random walk of the zero since the tare [N/√s, N m/√s], shape (6,).
        gravity: Covariance of [m, m cx, m cy, m cz] of the base and of every moving body in its joint frame, base
            first, shape (4 (b + 1), 4 (b + 1)).
        acceleration: Of the joint accelerations [rad/s² or m/s²], shape (n,).
    """

    noise: Array
    zero: Array
    walk: Array
    gravity: Array
    acceleration: Array

    @staticmethod
    def checked(
        robot: Robot,
        *,
        noise: npt.ArrayLike | None = None,
        zero: npt.ArrayLike | None = None,
        walk: npt.ArrayLike | None = None,
        gravity: npt.ArrayLike | None = None,
        acceleration: npt.ArrayLike | None = None,
    ) -> Uncertainty:
        """Return the uncertainties of a plate under a robot.

        Args:
            robot: The robot.
            noise: See above; None for zeros.
            zero: See above; None for zeros.
            walk: See above; None for zeros.
            gravity: Covariance; None for :func:`assumed_gravity_covariance`.
            acceleration: See above; None for zeros.

        Raises:
            InputError: A shape or a number that cannot be.
        """
        size = 4 * (robot.tree.bodies + 1)
        covariance = np.asarray(assumed_gravity_covariance(robot) if gravity is None else gravity, dtype=np.float64)
        if covariance.shape != (size, size) or not np.isfinite(covariance).all():
            raise InputError(
                f"the gravity covariance has shape {covariance.shape}; expected finite numbers, ({size}, {size}): "
                "[m, m cx, m cy, m cz] of the base and of every moving body"
            )
        if np.abs(covariance - covariance.T).max(initial=0.0) > 1e-6 * max(np.abs(covariance).max(initial=0.0), 1e-300):
            raise InputError("the gravity covariance is not symmetric")
        return Uncertainty(
            _deviations(noise, "noise", 6),
            _deviations(zero, "zero", 6),
            _deviations(walk, "walk", 6),
            frozen(covariance),
            _deviations(acceleration, "acceleration", robot.n),
        )


def _deviations(value: npt.ArrayLike | None, name: str, size: int) -> Array:
    array = np.zeros(size) if value is None else np.asarray(value, dtype=np.float64)
    array = np.broadcast_to(array, (size,)) if array.ndim == 0 else array
    if array.shape != (size,) or not (np.isfinite(array) & (array >= 0.0)).all():
        raise InputError(f"uncertainty {name} is {np.asarray(value).tolist()}; expected {size} numbers ≥ 0")
    return frozen(array)


def assumed_gravity_covariance(robot: Robot, factor: float = 1.0) -> Array:
    """Return the covariance of [m, m c] of base and moving bodies that "cad" means, shape (4 (b + 1), 4 (b + 1)).

    A tool that the description does not know is not in it. Of a robot without masses nothing is known to be off.

    Args:
        robot: The robot.
        factor: On the standard deviations of fitting/prior.py.
    """
    if not robot.tree.mass.any():
        return frozen(np.zeros((4 * (robot.tree.bodies + 1),) * 2))
    return frozen(factor**2 * whole_covariance(robot, tool=False))


class TorqueVariance:
    """Standard deviations of estimated torques.

    Args:
        robot: The robot.
        frame: The sensor's frame.
        analyzer: The joint analyzer, for A(q) and B(q).
        uncertainty: The errors to propagate.

    Attributes:
        table_variance: What a measured gravity table adds, base axes [N², N² m²], shape (6,).
    """

    def __init__(self, robot: Robot, frame: WrenchFrame, analyzer: JointAnalyzer, uncertainty: Uncertainty) -> None:
        """Factor the covariances once."""
        self.robot, self.frame, self.analyzer, self.uncertainty = robot, frame, analyzer, uncertainty
        self.gravity_factor = factor(uncertainty.gravity)
        self.table_variance = np.zeros(6)

    def std(
        self,
        q: Array,
        *,
        zero_known: bool,
        q_tare: Array | None,
        gravity: bool,
        tare_variance: Array | None = None,
        since_tare: float = 0.0,
        acceleration: Array | None = None,
        includes_gravity: bool = False,
    ) -> Array:
        """Return the standard deviation of each torque [N m or N], shape (n,) or (k, n).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
            zero_known: Whether a tare took the reading's zero away.
            q_tare: Pose of the tare, shape (n,), whose gravity is differenced away, or poses, shape (j, n), whose mean
                is: a zero found by comparing with the model over them; None where none is.
            gravity: Whether the gravity model is used.
            tare_variance: Variances of the tare's mean reading, shape (6,).
            since_tare: Time since the tare [s].
            acceleration: Standard deviations of the joint accelerations, shape (n,); None where they are not used.
            includes_gravity: Of τ_d + g instead of τ_d.
        """
        rows = np.atleast_2d(q)
        reading = self.reading_variance(zero_known, tare_variance, since_tare)
        result = np.empty((len(rows), self.robot.n))
        start = None if q_tare is None else self.gravity_columns(np.atleast_2d(q_tare)).mean(axis=0)
        for first in range(0, len(rows), BATCH_ROWS):
            piece = slice(first, first + BATCH_ROWS)
            result[piece] = self._variances(rows[piece], reading, start, gravity, acceleration, includes_gravity)
        np.sqrt(result, out=result)
        return result if q.ndim == 2 else result[0]

    def reading_variance(self, zero_known: bool, tare_variance: Array | None, since_tare: float) -> Array:
        """Return the variances of a reading's six channels, shape (6,)."""
        known = self.uncertainty
        variance: Array = known.noise**2 + known.walk**2 * max(since_tare, 0.0)
        if not zero_known:
            variance = variance + known.zero**2
        return variance if tare_variance is None else variance + tare_variance

    def gravity_columns(self, q: Array) -> Array:
        """Return ∂w_g/∂φ of the gravity parameters, shape (6, 4 (b + 1)) or (k, 6, 4 (b + 1))."""
        whole = self.robot.base_wrench_regressor(q)
        columns = whole.reshape(*whole.shape[:-1], -1, 10)[..., :4]
        return columns.reshape(*whole.shape[:-1], -1)

    def wrench_std(
        self, q: Array, reading: Array, *, q_tare: Array | None, gravity: bool, acceleration: Array | None
    ) -> Array:
        """Return the standard deviation of the base wrench that the model leaves unexplained [N, N m], (6,) or (k, 6).

        Args:
            q: Joint positions, shape (n,) or (k, n).
            reading: Variances of the reading's channels, shape (6,).
            q_tare: Pose whose gravity is differenced away, or None.
            gravity: Whether the gravity model is used.
            acceleration: Standard deviations of the accelerations, shape (n,), or None.
        """
        variance = np.tile((self.frame.to_base**2) @ reading, (*q.shape[:-1], 1))
        if gravity:
            columns = self.gravity_columns(q)
            if q_tare is not None:
                columns = columns - self.gravity_columns(q_tare)
            variance += np.sum((columns @ self.gravity_factor) ** 2, axis=-1) + self.table_variance
        if acceleration is not None and acceleration.any():
            n = self.robot.n
            poses = np.repeat(np.atleast_2d(q), n, axis=0)
            units = np.tile(np.eye(n), (len(poses) // n, 1))
            per_unit = (self.robot.base_wrench(poses, None, units) - self.robot.base_wrench(poses)).reshape(-1, n, 6)
            variance += np.einsum("j,kji->ki", acceleration**2, per_unit**2).reshape(variance.shape)
        std: Array = np.sqrt(variance).reshape(*q.shape[:-1], 6)
        return std

    def _variances(
        self,
        q: Array,
        reading: Array,
        start: Array | None,
        gravity: bool,
        acceleration: Array | None,
        includes_gravity: bool,
    ) -> Array:
        A = self.analyzer.matrix(q)
        variance: Any = ((A @ self.frame.to_base) ** 2) @ reading
        if gravity or includes_gravity:
            errors = np.zeros((len(q), self.robot.n, len(self.gravity_factor)))
            if gravity:
                columns = self.gravity_columns(q)
                errors -= A @ (columns if start is None else columns - start)
            if includes_gravity:
                errors[:, :, 4:] += self.robot.gravity_regressor(q)
            variance = variance + np.sum((errors @ self.gravity_factor) ** 2, axis=2)
        if gravity:
            variance = variance + A**2 @ self.table_variance
        if acceleration is not None and acceleration.any():
            variance = variance + (self.analyzer.acceleration_matrix(q) ** 2) @ acceleration**2
        result: Array = variance
        return result


def factor(covariance: Array) -> Array:
    """Return F with F Fᵀ = covariance, shape (p, r); directions without variance are left out."""
    sizes, directions = np.linalg.eigh(covariance)
    kept = sizes > 1e-14 * max(float(sizes.max(initial=0.0)), 1e-300)
    found: Array = directions[:, kept] * np.sqrt(sizes[kept])
    return found
