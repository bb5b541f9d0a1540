"""Goals for position-only servos that make up for their droop: goal = q_d + g(q_d) / K_p."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array, frozen
from ...dynamics.inputs import as_rows
from ...dynamics.robot import Robot
from ...errors import InputError
from ..limits import joint_array
from .servo_stiffness import ServoStiffness

LARGEST = 0.2
"""Default largest offset [rad or m]: a servo that droops more is too soft, or its stiffness is wrong."""


class ServoGoal:
    """Offsets goals so that servos come to rest where they should.

    A servo of stiffness K_p exerts K_p (goal − q); at q = q_d that is g(q_d) exactly, so the droop vanishes but for
    friction and for errors of model and stiffness. Nothing is measured at run time: the offset cannot run away.

    Attributes:
        robot: The arm, payload included.
        kp: Stiffness K_p [N m/rad or N/m], shape (n,); +inf for joints that need no offset.
        largest: Largest offset [rad or m], shape (n,).
        bounded: Which joints' goals were cut in the last call, by the largest offset or by the position limits.
    """

    def __init__(
        self, robot: Robot, stiffness: ServoStiffness | npt.ArrayLike, *, largest: npt.ArrayLike = LARGEST
    ) -> None:
        """Make the offsets.

        Args:
            robot: The arm, payload included.
            stiffness: What :func:`identify_stiffness` found, or K_p itself, shape (n,), above 0. The zeros that it
                found to differ are made up for too.
            largest: Largest offset [rad or m], one or n.

        Raises:
            InputError: A stiffness that is not positive, or another robot's.
        """
        self.robot = robot
        if isinstance(stiffness, ServoStiffness):
            if stiffness.joint_names != robot.joint_names:
                raise InputError(
                    f"the stiffness is for joints {list(stiffness.joint_names)}, not {list(robot.joint_names)}"
                )
            kp, zero = stiffness.kp, stiffness.offset
        else:
            kp, zero = frozen(joint_array(stiffness, "stiffness", robot.joint_names)), frozen(np.zeros(robot.n))
        bad = np.flatnonzero(~(kp > 0.0))
        if bad.size:
            raise InputError(
                f"joint '{robot.joint_names[int(bad[0])]}': stiffness is {kp[bad[0]]:g}; expected a number above 0 "
                "[N m/rad or N/m]: with the other sign the offset would double the droop"
            )
        self.kp, self._zero = kp, zero
        self.largest = frozen(joint_array(largest, "largest", robot.joint_names))
        if not np.all(self.largest >= 0.0):
            raise InputError(f"largest is {self.largest.tolist()}; expected offsets from 0 [rad or m]")
        self.bounded = np.zeros(robot.n, dtype=bool)

    def with_robot(self, robot: Robot) -> ServoGoal:
        """Return the offsets for the arm with another payload."""
        other = ServoGoal(robot, self.kp, largest=self.largest)
        other._zero = self._zero
        return other

    def goal(self, q_desired: npt.ArrayLike) -> Array:
        """Return the goals to send [rad or m], shape (n,).

        Args:
            q_desired: Where the joints should come to rest [rad or m], shape (n,).

        Raises:
            InputError: It is no pose.
        """
        desired = as_rows(q_desired, "q_desired", self.robot.joint_names)
        if desired.ndim != 1:
            raise InputError(f"q_desired has shape {desired.shape}; expected ({self.robot.n},)")
        offset = self.robot.gravity(desired) / self.kp + self._zero
        wanted = desired + np.clip(offset, -self.largest, self.largest)
        # A pose outside the limits is the caller's business; the offset at least never leaves them.
        lower, upper = np.minimum(self.robot.lower, desired), np.maximum(self.robot.upper, desired)
        goal = np.clip(wanted, lower, upper)
        self.bounded = np.asarray((np.abs(offset) > self.largest) | (goal != wanted))
        return goal
