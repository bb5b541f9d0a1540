"""Rotation matrices and homogeneous transforms from the angles that robot files use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .frozen import Array


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
    rotation, (x, y, z) = T_a_b[:3, :3], T_a_b[:3, 3]
    arm = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[rotation, np.zeros((3, 3))], [arm @ rotation, rotation]])


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
