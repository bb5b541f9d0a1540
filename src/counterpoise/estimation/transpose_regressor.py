r"""The transpose-regressor law, the usual adaptive gravity compensation, as a baseline for [Jo].

.. math:: \dot{\hat\beta} = \Gamma\, Y(q)^T Q\, (K_p (q_d - q) - K_d \dot q), \qquad \hat g = Y(q)\,\hat\beta

with Y the base gravity regressor ([Tomei1991]). Γ is one number, 1 over the largest |Y|²
in the workspace, so that Q keeps its meaning: no combination of joints learns faster than with the time constant 1/Q.
Most learn far more slowly, and how fast depends on the pose: that is what [Jo] argues against.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..calibration.workspace import workspace_poses
from ..description.frozen import Array
from ..dynamics.robot import Robot
from .gravity_prior import PriorChoice
from .inverse_regressor import IntegratingGravity

SCALE_POSES = 200
"""Poses by which the regressor is sized."""


class TransposeRegressor(IntegratingGravity):
    """β̂̇ = Γ Yᵀ Q (K_p e − K_d q̇).

    Attributes:
        beta: β̂, shape (b,) [kg m].
    """

    def __init__(self, robot: Robot, dt: float, *, prior: PriorChoice = "none", **gains: npt.ArrayLike) -> None:
        """Start from β̂ = 0 or the description's; see the base class for the arguments."""
        super().__init__(robot, dt, prior=prior, **gains)
        self.beta = (
            np.array(robot.base_gravity_parameters) if prior == "cad" else np.zeros(len(robot.base_parameters.names))
        )
        Y = robot.base_gravity_regressor(workspace_poses(robot, SCALE_POSES))
        self._rate = 1.0 / max(float(np.linalg.norm(Y, ord=2, axis=(1, 2)).max()) ** 2, 1e-12)

    def gravity(self, q: npt.ArrayLike) -> Array:
        """Return ĝ(q) = Y(q) β̂ [N m], shape (n,) or (k, n)."""
        return np.asarray(self.robot.base_gravity_regressor(q) @ self.beta)

    def _integrate(self, q: Array, step: Array) -> None:
        self.beta += self._rate * (self.robot.base_gravity_regressor(q).T @ step)
