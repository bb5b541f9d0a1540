"""Joint motions that stay within speeds, accelerations and position limits, tick by tick."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...description.frozen import Array, frozen
from ...dynamics.robot import Robot
from ...errors import InputError
from ..gains import checked_dt
from ..limits import joint_array

MARGIN = 0.05
"""Default distance that is kept from position limits [rad or m]; never more than 5 % of the joint's range."""
SPEED_SHARE = 0.25
"""Default largest speed, as a share of the robot's: a hand-guided arm is slow."""

NOTICE = 4
"""How many periods ahead a joint that will brake for its limit is known."""


class MotionBounds:
    """Bounds on a commanded joint motion.

    Next to a limit a joint may only move as fast as it can still be stopped: with a the acceleration, T the period and
    d what is left of the way less a T²/8, v ≤ √((a T/2)² + 2 a d) − a T/2: braked by a T in every period, the joint
    ends at the limit, and a T²/8 is what whole periods can add to that.

    Attributes:
        lower: Lowest commanded positions [rad or m], shape (n,).
        upper: Highest ones.
        speed: Largest speeds [rad/s or m/s], shape (n,).
        acceleration: Largest accelerations [rad/s² or m/s²], shape (n,).
        dt: Time between two commands [s].
    """

    def __init__(
        self,
        robot: Robot,
        dt: float,
        *,
        speed: npt.ArrayLike | None = None,
        acceleration: npt.ArrayLike | None = None,
        margin: float = MARGIN,
    ) -> None:
        """Take the robot's limits.

        Args:
            robot: The arm.
            dt: Time between two commands [s].
            speed: Largest speeds [rad/s or m/s], one or n; None for SPEED_SHARE of the robot's.
            acceleration: Largest accelerations [rad/s² or m/s²], one or n; None reaches the speed in 0.25 s.
            margin: Distance kept from the position limits [rad or m].

        Raises:
            InputError: A number that means nothing, or the robot has no speed limit and none is given.
        """
        if not (np.isfinite(margin) and margin >= 0.0):
            raise InputError(f"margin is {margin!r}; expected a distance from 0 [rad or m]")
        names = robot.joint_names
        speeds = SPEED_SHARE * robot.velocity_limit if speed is None else joint_array(speed, "speed", names)
        rates = speeds / 0.25 if acceleration is None else joint_array(acceleration, "acceleration", names)
        for name, values in (("speed", speeds), ("acceleration", rates)):
            bad = np.flatnonzero(~((values > 0.0) & np.isfinite(values)))
            if bad.size:
                raise InputError(
                    f"joint '{names[int(bad[0])]}': {name} is {values[bad[0]]:g}; expected a positive number. Nothing "
                    f"moves without a bound: give {name}="
                )
        kept = np.minimum(margin, 0.05 * (robot.upper - robot.lower))
        self.lower, self.upper = frozen(robot.lower + kept), frozen(robot.upper - kept)
        self.speed, self.acceleration, self.dt = frozen(speeds), frozen(rates), checked_dt(dt)

    def next_speed(self, wanted: Array, q: Array, dq: Array) -> Array:
        """Return the speed to command next [rad/s or m/s], shape (n,).

        Args:
            wanted: Wanted speeds, shape (n,). Too fast, all joints are slowed alike, so the path stays.
            q: Positions commanded last [rad or m], shape (n,).
            dq: Speeds commanded last, shape (n,).
        """
        over = float(np.max(np.abs(wanted) / self.speed, initial=0.0))
        slowed = wanted / over if over > 1.0 else wanted
        step = self.acceleration * self.dt
        most, least = self._stoppable(self.upper - q), -self._stoppable(q - self.lower)
        change = np.clip(slowed, least, most) - dq
        sudden = float(np.max(np.abs(change) / step, initial=0.0))
        # Joints are sped up alike too; one that must brake for its limit does so whatever the others do. A joint that
        # stands outside its bounds may come back, but not go further.
        following = np.clip(dq + (change / sudden if sudden > 1.0 else change), least, most)
        return np.asarray(np.clip(following, dq - step, dq + step))

    def braking(self, q: Array, dq: Array) -> npt.NDArray[np.bool_]:
        """Return which joints brake for a position limit, or may have to within NOTICE periods, shape (n,).

        Args:
            q: Positions commanded last [rad or m], shape (n,).
            dq: Speeds to command next, shape (n,).
        """
        left = np.where(dq > 0.0, self.upper - q, q - self.lower)
        return np.asarray((dq != 0.0) & (np.abs(dq) + NOTICE * self.acceleration * self.dt > self._stoppable(left)))

    def _stoppable(self, left: Array) -> Array:
        """Return the largest speeds from which the joints stop within the ways that are left [rad or m]."""
        half = 0.5 * self.acceleration * self.dt
        way = np.maximum(left - 0.25 * half * self.dt, 0.0)
        return np.asarray(np.sqrt(half**2 + 2.0 * self.acceleration * way) - half)
