r"""From a plate's raw reading to the wrench on the robot, and back: axes, point, sign, gain and zero of a sensor.

A 6 × 6 matrix M between wrenches and readings is split into mounting and gain by polar decomposition. With R the
sensor's axes and p its origin in the base frame, M = G X and

.. math:: X = \begin{pmatrix} R^T & 0 \\ -R^T [p]_× & R^T \end{pmatrix}, \qquad
    M = \begin{pmatrix} A & B \\ C & D \end{pmatrix}, \qquad
    G = \begin{pmatrix} (A + B [p]_×) R & B R \\ (C + D [p]_×) R & D R \end{pmatrix}.

Any R and p would do; those are taken that leave G nearest the identity: p minimises ‖C + D [p]_×‖, and R is the
rotation of the polar decomposition of (A + B [p]_×) + D, the turn that forces and moments have in common. Gain and
cross-talk is what is left. A turn of the forces against the moments is cross-talk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...dynamics import numbers
from ...errors import InputError
from ...foundation import (
    Array,
    PublishedData,
    frozen,
    inverse_transform,
    rotation_from_vector,
    rotation_vector,
    skew,
    transform,
    wrench_transform,
)


@dataclass(frozen=True, slots=True, eq=False)
class Mounting:
    """Pose and gain of a sensor.

    Attributes:
        rotation: Its axes in the base frame, shape (3, 3).
        origin: Its origin in the base frame [m], shape (3,).
        gain: G, shape (6, 6).
    """

    rotation: Array
    origin: Array
    gain: Array

    @property
    def shift(self) -> Array:
        """X: from a wrench at the base, base axes, to the sensor's origin and axes, shape (6, 6)."""
        return wrench_transform(inverse_transform(transform(self.rotation, self.origin)))

    @property
    def matrix(self) -> Array:
        """M = G X, shape (6, 6)."""
        product: Array = self.gain @ self.shift
        return product

    def canonical(self) -> Mounting:
        """Return the same matrix, split so that the gain lies nearest the identity."""
        return split(self.matrix)

    def moved(self, step: Array) -> Mounting:
        """Return the mounting changed by a step, shape (42,): turn about the sensor's axes, origin, gain row by row."""
        rotation = self.rotation @ rotation_from_vector(step[:3])
        return Mounting(rotation, self.origin + step[3:6], self.gain + step[6:].reshape(6, 6))

    def apart(self, other: Mounting) -> Array:
        """Return the step that leads from here to ``other``, shape (42,)."""
        turn = rotation_vector(self.rotation.T @ other.rotation)
        return np.concatenate([turn, other.origin - self.origin, (other.gain - self.gain).ravel()])


def split(matrix: Array) -> Mounting:
    """Return the mounting and the gain nearest the identity of M = G X, shape (6, 6); det of its blocks > 0."""
    A, B, C, D = matrix[:3, :3], matrix[:3, 3:], matrix[3:, :3], matrix[3:, 3:]
    # D [p]× is linear in p: its columns are D applied to the three generators.
    columns = np.stack([(D @ skew(axis)).ravel() for axis in np.eye(3)], axis=1)
    origin = np.asarray(np.linalg.lstsq(columns, -C.ravel(), rcond=None)[0], dtype=np.float64)
    arm = skew(origin)
    left, _, right = np.linalg.svd(A + B @ arm + D)
    rotation = right.T @ np.diag([1.0, 1.0, np.linalg.det(right.T @ left.T)]) @ left.T
    return Mounting(rotation, origin, matrix @ wrench_transform(transform(rotation, origin)))


def canonical_covariance(mounting: Mounting, covariance: Array) -> Array:
    """Return the covariance of the canonical split of a mounting, shape (42, 42), as :meth:`Mounting.moved` orders it.

    Args:
        mounting: A mounting, split in any way.
        covariance: Of a step from it, shape (42, 42).
    """
    centre = mounting.canonical()
    slopes = np.zeros((42, 42))
    for index in range(42):
        step = np.zeros(42)
        step[index] = 1e-5
        ahead, behind = (centre.apart(mounting.moved(sign * step).canonical()) for sign in (1.0, -1.0))
        slopes[:, index] = (ahead - behind) / 2e-5
    found: Array = slopes @ covariance @ slopes.T
    return found


Reads = Literal["on_robot", "on_sensor"]
MAX_GAIN_CONDITION = 1e6
"""A gain matrix of a worse condition number mixes up channels; a plate in SI units stays far below."""


@dataclass(frozen=True, eq=False)
class WrenchFrame(PublishedData):
    """How a reading r and the wrench w that the plate exerts on the robot belong together.

    reading = ± gain · w_sensor + bias, the minus for ``reads="on_sensor"``, where w_sensor is w along the sensor's axes
    with its moment taken about the measurement point. [Patent] claim 1 reads what the robot exerts on its base,
    "on_sensor"; [Morel2000] needs what the ground exerts on the robot, "on_robot", for τ = +zᵀm.

    Attributes:
        T_base_sensor: Pose of the sensor's frame in the base frame, shape (4, 4).
        reads: Whether the reading is what the plate exerts on the robot or the opposite; never guessed.
        point: The measurement point that moments are stated about, in the sensor's frame [m], shape (3,).
        gain: What a channel takes from each component, shape (6, 6); the identity for a perfect sensor.
        bias: Reading without load [N, N m], shape (6,).
    """

    T_base_sensor: Array
    reads: Reads
    point: Array
    gain: Array
    bias: Array

    @staticmethod
    def checked(
        T_base_sensor: npt.ArrayLike | None = None,
        reads: str = "on_robot",
        *,
        point: npt.ArrayLike = (0.0, 0.0, 0.0),
        gain: npt.ArrayLike | None = None,
        bias: npt.ArrayLike | None = None,
    ) -> WrenchFrame:
        """Return the frame of a sensor; None stands for the identity or for zeros.

        Raises:
            InputError: A shape, a pose or a sign convention that cannot be, or a gain that cannot be undone.
        """
        if reads not in ("on_robot", "on_sensor"):
            raise InputError(
                f"reads is {reads!r}; expected 'on_robot' (upright at rest the plate reads fz = +m g) or 'on_sensor' "
                "(the opposite sign)"
            )
        mixing = numbers(np.eye(6) if gain is None else gain, "gain", (6, 6))
        condition = float(np.linalg.cond(mixing))
        if not condition < MAX_GAIN_CONDITION:
            raise InputError(f"gain has condition number {condition:.3g}; expected below {MAX_GAIN_CONDITION:g}")
        return WrenchFrame(
            checked_pose(np.eye(4) if T_base_sensor is None else T_base_sensor, "T_base_sensor"),
            "on_robot" if reads == "on_robot" else "on_sensor",
            numbers(point, "point", (3,)),
            mixing,
            numbers(np.zeros(6) if bias is None else bias, "bias", (6,)),
        )

    @property
    def sign(self) -> float:
        """+1 where the reading is what the plate exerts on the robot, −1 where it is the opposite."""
        return 1.0 if self.reads == "on_robot" else -1.0

    @cached_property
    def T_base_point(self) -> Array:
        """Pose in the base frame of the sensor's axes at the measurement point, shape (4, 4)."""
        return frozen(self.T_base_sensor @ transform(np.eye(3), self.point))

    @cached_property
    def to_base(self) -> Array:
        """X with w = X (reading − bias): on the robot, base axes, at the base origin, shape (6, 6)."""
        return frozen(self.sign * wrench_transform(self.T_base_point) @ np.linalg.inv(self.gain))

    @cached_property
    def from_base(self) -> Array:
        """The inverse of ``to_base``, shape (6, 6)."""
        return frozen(self.sign * self.gain @ wrench_transform(inverse_transform(self.T_base_point)))

    def wrench(self, reading: npt.ArrayLike) -> Array:
        """Return the wrench on the robot [N, N m], base axes, at the base origin, shape (6,) or (k, 6).

        Args:
            reading: The plate's reading, force first, shape (6,) or (k, 6).
        """
        rows: Array = (np.asarray(reading, dtype=np.float64) - self.bias) @ self.to_base.T
        return rows

    def reading(self, wrench: npt.ArrayLike) -> Array:
        """Return what the sensor reads under a wrench on the robot (base axes and origin), shape (6,) or (k, 6).

        Args:
            wrench: Force first [N, N m], shape (6,) or (k, 6).
        """
        rows: Array = np.asarray(wrench, dtype=np.float64) @ self.from_base.T + self.bias
        return rows


def checked_pose(value: npt.ArrayLike, name: str) -> Array:
    """Return ``value`` as a read-only pose, shape (4, 4); InputError where it is none."""
    pose = numbers(value, name, (4, 4))
    rotation = pose[:3, :3]
    rigid = np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6 and np.linalg.det(rotation) > 0.0
    if not rigid or not np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0]):
        raise InputError(f"{name} is no pose; expected a right-handed rotation, a translation and (0, 0, 0, 1)")
    # The nearest exact rotation: a pose typed with six digits must not scale forces.
    left, _, right = np.linalg.svd(rotation)
    return frozen(transform(left @ right, pose[:3, 3]))
