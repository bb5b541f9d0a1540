r"""Splits a 6 × 6 matrix between wrenches and readings into mounting and gain, by polar decomposition.

With R the sensor's axes and p its origin in the base frame, M = G X and

.. math:: X = \begin{pmatrix} R^T & 0 \\ -R^T [p]_× & R^T \end{pmatrix}, \qquad
    M = \begin{pmatrix} A & B \\ C & D \end{pmatrix}, \qquad
    G = \begin{pmatrix} (A + B [p]_×) R & B R \\ (C + D [p]_×) R & D R \end{pmatrix}.

Any R and p would do; those are taken that leave G nearest the identity: p minimises ‖C + D [p]_×‖, and R is the
rotation of the polar decomposition of (A + B [p]_×) + D, the turn that forces and moments have in common. Gain and
cross-talk is what is left. A turn of the forces against the moments is cross-talk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..description.frozen import Array
from ..description.rotations import (
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
