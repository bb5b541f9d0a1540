"""A payload handed to a controller without a bump: its torque grows at a limited rate and stays within a bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..description.frozen import Array
from ..dynamics.inputs import as_rows
from ..dynamics.robot import Robot
from ..errors import InputError
from .payload_estimate import PayloadEstimate

RATE_SHARE = 0.2
"""Largest rate by which the load's torque is blended, as a share of the effort limit per second."""
LIMIT_FRACTION = 0.5
"""Largest torque for a load, as a share of the effort limit."""


class PayloadBlend:
    """Adds the gravity torque of a payload that may change at any tick.

    Blended are the load's gravity parameters, not the torque: while the arm moves the torque follows the pose exactly,
    and only a change of the load itself is slow.

    Attributes:
        parameters: Gravity parameters of the load that is compensated now, shape (4 b,).
    """

    def __init__(
        self, robot: Robot, dt: float, *, rate: npt.ArrayLike | None = None, bound: npt.ArrayLike | None = None
    ) -> None:
        """Begin without a load.

        Args:
            robot: The arm, empty.
            dt: Time between ticks [s].
            rate: Largest change of a joint's torque by blending [N m/s or N/s], shape (n,); None for RATE_SHARE of the
                effort limits per second.
            bound: Largest torque for a load [N m or N], shape (n,); None for LIMIT_FRACTION of the effort limits.

        Raises:
            InputError: A value that means nothing, or none where the robot has no effort limits.
        """
        if not (np.isfinite(dt) and dt > 0.0):
            raise InputError(f"dt is {dt!r}; expected the time between ticks in s")
        self._robot = robot
        self._step = dt * _positive(robot, rate, RATE_SHARE, "rate")
        self._bound = _positive(robot, bound, LIMIT_FRACTION, "bound")
        self.parameters = np.zeros(4 * robot.tree.bodies)

    def torque(self, q: Array, payload: PayloadEstimate | None) -> Array:
        """Return the torque to be added for the load, to the empty arm's g(q) [N m or N], shape (n,).

        Args:
            q: Positions [rad or m], shape (n,).
            payload: What ``PayloadEstimator.payload_for_control`` says; None for an empty arm, or one that is not known
                well enough.
        """
        Y = self._robot.gravity_regressor(q)
        target = payload.parameters if payload is not None else np.zeros_like(self.parameters)
        wanted = target - self.parameters
        change = np.abs(Y @ wanted)
        if np.any(wanted):
            over = float(np.max(change / self._step))
            self.parameters = self.parameters + wanted / max(over, 1.0)
        return np.clip(Y @ self.parameters, -self._bound, self._bound)


def _positive(robot: Robot, given: npt.ArrayLike | None, share: float, name: str) -> Array:
    value = share * robot.effort_limit if given is None else as_rows(given, name, robot.joint_names)
    if value.shape != (robot.n,) or not np.all((value > 0.0) & np.isfinite(value)):
        raise InputError(f"{name} needs a positive number for each joint; the robot's effort limits do not give one")
    return np.asarray(value)
