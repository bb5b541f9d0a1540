"""The joint analyzer, the second of the patent's two stages; its equations are in analyzer_terms.py."""

from __future__ import annotations

import numpy as np

from ..description.frozen import Array
from ..dynamics.robot import Robot
from .analyzer_terms import Term, analyzed_rows
from .plate_kernel import PlateKernel


class JointAnalyzer:
    """The second stage: dynamic base wrench and motion in, joint torques without gravity out.

    Args:
        robot: The robot.
        terms: Which terms to take; the native kernel serves all of them together, NumPy any subset.
    """

    def __init__(self, robot: Robot, terms: Term = Term.ALL) -> None:
        """Keep the robot."""
        self.robot, self.terms = robot, terms
        self._kernel = PlateKernel(robot)

    def torques(self, q: Array, dynamic_wrench: Array, dq: Array | None = None, ddq: Array | None = None) -> Array:
        """Return τ_d [N m or N], shape (n,) or (k, n).

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
            dynamic_wrench: w_d [N, N m], on the robot, base axes, at the base origin, shape (6,) or (k, 6).
            dq: Joint velocities, shape of q; None for rest.
            ddq: Joint accelerations, shape of q; None for zero.

        Raises:
            PhysicalConsistencyError: A motion is given and a link has an inertia that no real body has.
        """
        if self.terms == Term.ALL:
            return self._kernel.joint_torques(q, dynamic_wrench, dq, ddq)
        return analyzed_rows(self.robot.tree, q, dynamic_wrench, dq, ddq, self.terms)

    def matrix(self, q: Array) -> Array:
        """Return A(q), shape (n, 6) or (k, n, 6): A(q) w is the torque under a wrench of a robot at rest.

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
        """
        rows = np.repeat(np.atleast_2d(q), 6, axis=0)
        columns = self._kernel.joint_torques(rows, np.tile(np.eye(6), (len(rows) // 6, 1)))
        matrices = np.ascontiguousarray(np.swapaxes(columns.reshape(-1, 6, self.robot.n), 1, 2))
        return matrices if q.ndim == 2 else matrices[0]

    def acceleration_matrix(self, q: Array) -> Array:
        """Return B(q) of [Morel2000] eq. (19), shape (n, n) or (k, n, n): what τ_d loses per joint acceleration.

        Args:
            q: Joint positions [rad or m], shape (n,) or (k, n).
        """
        n = self.robot.n
        rows = np.repeat(np.atleast_2d(q), n, axis=0)
        units = np.tile(np.eye(n), (len(rows) // max(n, 1), 1))
        columns = -self._kernel.joint_torques(rows, np.zeros(6), None, units)
        matrices = np.ascontiguousarray(np.swapaxes(columns.reshape(-1, n, n), 1, 2))
        return matrices if q.ndim == 2 else matrices[0]
