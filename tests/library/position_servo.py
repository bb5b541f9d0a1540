"""Arms that take goals, not torques: one that follows them by its kinematics, and one that droops under its weight."""

from __future__ import annotations

from collections import deque

import numpy as np

import counterpoise as cp
from counterpoise.foundation import Array
from counterpoise.recording import Declared


class IndustrialArm:
    """Joints that follow their goals as stiff servos do: second order, with a dead time; no load moves them."""

    def __init__(self, robot: cp.Robot, q: Array, *, dt: float, frequency: float = 25.0, delay: int = 2) -> None:
        self.robot, self.dt, self._omega = robot, dt, frequency
        self.q, self.dq = np.array(q, dtype=float), np.zeros(robot.n)
        self._line = deque([self.q.copy() for _ in range(delay)])

    def move_to(self, goal: Array) -> None:
        """Take a goal and let one period pass."""
        self._line.append(np.array(goal))
        wanted = self._line.popleft()
        steps = 8
        for _ in range(steps):
            ddq = self._omega**2 * (wanted - self.q) - 1.6 * self._omega * self.dq
            self.dq = self.dq + self.dt / steps * ddq
            self.q = self.q + self.dt / steps * self.dq

    @property
    def tip(self) -> Array:
        """Pose of the last link."""
        return self.robot.forward_kinematics(self.q)


class Hand:
    """A hand that holds the tip by a spring and a damper and moves along a straight line."""

    def __init__(
        self, start: Array, way: Array, seconds: float, *, stiffness: float = 300.0, damping: float = 20.0
    ) -> None:
        self._start, self._way, self._seconds = start, way, seconds
        self._stiffness, self._damping = stiffness, damping

    def at(self, time: float) -> Array:
        """Where the hand is."""
        part = min(max(time / self._seconds, 0.0), 1.0)
        return self._start + part * part * (3.0 - 2.0 * part) * self._way

    def force(self, time: float, tip: Array, velocity: Array) -> Array:
        """What the hand exerts on the robot [N], base axes."""
        return self._stiffness * (self.at(time) - tip) - self._damping * velocity


def drooping_log(
    robot: cp.Robot,
    poses: Array,
    kp: Array,
    *,
    friction: Array | float = 0.0,
    offset: Array | float = 0.0,
    noise: float = 0.0,
    sides: tuple[float, ...] = (-1.0, 1.0),
    rate: float = 50.0,
    declared: Declared | None = None,
) -> cp.Log:
    """Return a quasi-static recording: each pose is come to from each side and held; friction holds joints back.

    A joint moves only when the servo's torque misses its load by more than the friction: K_p (goal − q − b) = g ± F.
    """
    goals: list[Array] = []
    for pose in poses:
        for side in sides:
            away = pose + 0.1 * side
            goals += [away] * round(0.6 * rate)
            goals += [away + part * (pose - away) for part in np.linspace(0.0, 1.0, round(0.8 * rate))]
            goals += [pose] * round(1.2 * rate)
    band = np.broadcast_to(np.asarray(friction, dtype=float), (robot.n,)) / kp
    q = np.array(poses[0], dtype=float)
    rows = []
    for goal in goals:
        for _ in range(20):
            middle = goal - offset - robot.gravity(q) / kp
            q = np.clip(q, middle - band, middle + band)
        rows.append(q)
    random = np.random.default_rng(7)
    measured = np.array(rows) + noise * random.normal(size=(len(rows), robot.n))
    return cp.Log(
        robot.joint_names,
        np.arange(len(rows)) / rate,
        measured,
        np.gradient(measured, 1.0 / rate, axis=0),
        np.full(measured.shape, np.nan),
        sent=np.array(goals),
        declared=declared or Declared(sent_kind="position", position_side="link"),
    )
