"""Rigid-body torques of the certificate study's arms, by Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio
from certificate_arms import Arm, Array, urdf_text

GRAVITY = np.array([0.0, 0.0, -9.81])
"""Gravity of an upright arm, base axes [m/s²]."""


class Dynamics:
    """Torques of an arm of n joints and b bodies, in the arm's joint order."""

    def __init__(self, arm: Arm, gravity: Array = GRAVITY) -> None:
        """Build the model.

        Args:
            arm: The arm.
            gravity: Gravity in base axes [m/s²], shape (3,).
        """
        self.arm = arm
        self._model: Any = pinocchio.buildModelFromXML(urdf_text(arm))
        self._model.gravity.linear = gravity
        self._data: Any = self._model.createData()
        ids = [self._model.getJointId(name) for name in arm.joint_names]
        self._order = np.array([self._model.idx_vs[at] for at in ids])

    @property
    def parameters(self) -> Array:
        """Inertial parameters (m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) of the bodies, shape (10 b,)."""
        return np.concatenate([inertia.toDynamicParameters() for inertia in self._model.inertias[1:]])

    def torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Return the joint torques of a motion [N m or N], shape (k, n)."""
        found = np.empty(q.shape)
        for row in range(len(q)):
            state = (self._inner(values[row]) for values in (q, dq, ddq))
            found[row] = pinocchio.rnea(self._model, self._data, *state)[self._order]
        return found

    def gravity(self, q: Array) -> Array:
        """Return the torques that hold the arm [N m or N], shape (k, n)."""
        found = np.empty(q.shape)
        for row, pose in enumerate(q):
            found[row] = pinocchio.computeGeneralizedGravity(self._model, self._data, self._inner(pose))[self._order]
        return found

    def rows(self, q: Array, dq: Array | None = None, ddq: Array | None = None) -> Array:
        """Return the derivatives of the torques by ``parameters``, shape (k, n, 10 b); at rest without dq and ddq."""
        still = np.zeros(q.shape)
        dq, ddq = still if dq is None else dq, still if ddq is None else ddq
        found = np.empty((*q.shape, 10 * (self._model.njoints - 1)))
        for row in range(len(q)):
            state = (self._inner(values[row]) for values in (q, dq, ddq))
            found[row] = pinocchio.computeJointTorqueRegressor(self._model, self._data, *state)[self._order]
        return found

    def _inner(self, values: Array) -> Array:
        inner = np.empty(len(values))
        inner[self._order] = values
        return inner
