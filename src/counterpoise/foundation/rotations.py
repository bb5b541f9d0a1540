"""Rotation matrices, homogeneous transforms and cross products as matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .arrays import Array

_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]


def rotation_from_rpy(rpy: Sequence[float]) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll): URDF's fixed-axis roll, pitch, yaw [rad]. Shape (3, 3)."""
    roll, pitch, yaw = (float(angle) for angle in rpy)
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_from_wxyz(quaternion_wxyz: Sequence[float]) -> Array:
    """Return the rotation matrix of a unit quaternion, scalar first. Shape (3, 3)."""
    w, x, y, z = (float(value) for value in quaternion_wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_from_vector(vector: npt.ArrayLike) -> Array:
    """Return the rotation by |vector| [rad] about the direction of ``vector``. Shape (3, 3)."""
    x, y, z = (float(value) for value in np.asarray(vector))
    half = 0.5 * math.sqrt(x * x + y * y + z * z)
    scale = 0.5 * math.sin(half) / half if half > 0.0 else 0.5
    return rotation_from_wxyz((math.cos(half), scale * x, scale * y, scale * z))


def wxyz_from_rotation(rotation: Array) -> tuple[float, float, float, float]:
    """Return the unit quaternion of a rotation matrix, scalar first; of the two, either.

    The largest entry is taken from a root and the others are divided by it, so that nothing is divided by a small
    number: exact near the identity and at a half turn too.
    """
    (a, b, c), (d, e, f), (g, h, i) = rotation.tolist()
    squares = (1.0 + a + e + i, 1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i)
    largest = max(range(4), key=squares.__getitem__)
    root = math.sqrt(max(squares[largest], 1e-300))
    entries = (
        (root, (h - f) / root, (c - g) / root, (d - b) / root),
        ((h - f) / root, root, (b + d) / root, (c + g) / root),
        ((c - g) / root, (b + d) / root, root, (f + h) / root),
        ((d - b) / root, (c + g) / root, (f + h) / root, root),
    )[largest]
    w, x, y, z = entries
    return 0.5 * w, 0.5 * x, 0.5 * y, 0.5 * z


def rotation_vector(rotation: Array) -> Array:
    """Return the rotation vector [rad] of any rotation matrix, shape (3,), of length 0 to π.

    A half turn has two axes; the one whose first non-zero entry is positive is returned.
    """
    w, x, y, z = wxyz_from_rotation(rotation)
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-12:
        return np.array([2.0 * x, 2.0 * y, 2.0 * z])
    first = next(value for value in (x, y, z) if value != 0.0)
    sign = -1.0 if w < 0.0 or (w == 0.0 and first < 0.0) else 1.0
    angle = 2.0 * math.atan2(length, abs(w))
    return np.array([x, y, z]) * (sign * angle / length)


def skew(vector: npt.ArrayLike) -> Array:
    """Return [v]× with [v]× u = v × u, shape (..., 3, 3), for v of shape (..., 3)."""
    v = np.asarray(vector, dtype=np.float64)
    matrix = np.zeros((*v.shape, 3))
    matrix[..., 0, 1], matrix[..., 0, 2], matrix[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    matrix[..., 1, 0], matrix[..., 2, 0], matrix[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return matrix


def cross(first: Array, second: Array) -> Array:
    """Return u × v over the last axis, shapes (..., 3) that broadcast; np.cross takes five times as long for a few."""
    return np.asarray(first[..., _NEXT] * second[..., _AFTER] - first[..., _AFTER] * second[..., _NEXT])


def transform(rotation: npt.ArrayLike, translation: npt.ArrayLike) -> Array:
    """Return the homogeneous transform [R p; 0 1], shape (4, 4)."""
    result = np.eye(4)
    result[:3, :3] = rotation
    result[:3, 3] = translation
    return result


def inverse_transform(T_a_b: Array) -> Array:
    """Return T_b_a = [Rᵀ −Rᵀp; 0 1], shape (4, 4)."""
    rotation = T_a_b[:3, :3]
    return transform(rotation.T, -rotation.T @ T_a_b[:3, 3])


def wrench_transform(T_a_b: Array) -> Array:
    """Return the matrix, shape (6, 6), that takes a wrench at b's origin in b's axes to a's origin and axes."""
    rotation = T_a_b[:3, :3]
    return np.block([[rotation, np.zeros((3, 3))], [skew(T_a_b[:3, 3]) @ rotation, rotation]])


def rotation_with_z_along(axis: npt.ArrayLike) -> Array:
    """Return a rotation whose third column is the unit vector ``axis``, shape (3, 3).

    The smallest rotation that takes z to ``axis`` (Rodrigues), so z itself gives the identity and −z a half turn
    about x. Deterministic: a compiled robot is the same on every machine.
    """
    x, y, z = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    if x * x + y * y < 1e-300:  # parallel to z, or so nearly that the square underflows
        return np.diag([1.0, np.copysign(1.0, z), np.copysign(1.0, z)])
    # Rodrigues about k = z × axis, with 1/(1 + z) rewritten for z < 0 where 1 + z cancels.
    scale = (1.0 - z) / (x * x + y * y)
    return np.array(
        [
            [z + y * y * scale, -x * y * scale, x],
            [-x * y * scale, z + x * x * scale, y],
            [-x, -y, z],
        ]
    )
