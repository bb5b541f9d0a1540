"""Gravity compensation, alone and with PD."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt

from ..dynamics import Robot
from ..errors import InputError
from ..foundation import Array
from ..recording import Sample
from .pd import PD
from .reference import Reference


class Gravity:
    """τ = g(q): the arm floats.

    Attributes:
        robot: The arm, payload included.
    """

    adds_gravity = True
    uses_wrench = False

    def __init__(self, robot: Robot) -> None:
        """Compensate the weight of ``robot``."""
        self.robot = robot
        self._tau = np.zeros(robot.n)

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload."""
        return type(self)(robot)

    def reset(self, sample: Sample) -> None:
        """Do nothing: there is no state."""

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        return self.robot.gravity(sample.q, out=self._tau)


class PDGravity(PD):
    """τ = K_p clip(q_d − q, ± reach) + K_d (dq_d − dq) + g(q).

    Attributes:
        robot: The arm, payload included.
    """

    adds_gravity = True

    def __init__(
        self,
        robot: Robot,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        reference: Reference | None = None,
        *,
        reach: npt.ArrayLike | None = None,
    ) -> None:
        """Make the law.

        Args:
            robot: The arm, payload included.
            kp: Stiffness [N m/rad or N/m], shape (n,).
            kd: Damping [N m s/rad or N s/m], shape (n,) or one number.
            reference: What to follow; None holds the pose the arm has at the start.
            reach: See PD.
        """
        super().__init__(kp, kd, reference, reach=reach)
        if len(self.kp) != robot.n:
            raise InputError(f"kp has {len(self.kp)} entries; the robot has {robot.n} joints")
        self.robot = robot
        self._gravity = np.zeros(robot.n)

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload, following the same reference from where it is now."""
        other = type(self)(robot, self.kp, self.kd, self.reference, reach=self.reach)
        other._begin = self._begin
        return other

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,); always the same array."""
        tau = super().torque(sample, time)
        np.add(tau, self.robot.gravity(sample.q, out=self._gravity), out=tau)
        return tau
