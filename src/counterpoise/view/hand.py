"""A hand that holds a point of a link and pulls it by a spring: what a mouse does to the arm."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..control.float.law import SPEED_SHARE
from ..control.float.watch import WatchSettings
from ..description.frozen import Array
from ..dynamics.joint_units import rotary
from ..dynamics.kinematics import link_poses
from ..dynamics.robot import Robot

FULL_AT = 0.25
"""Distance between hand and point at which the hand pulls with all its force [m]."""
DAMPING_TIME = 0.08
"""Damping of the hand over its stiffness [s]: a hand does not let a link swing."""
LEAST_FORCE = 40.0
"""Strength of a hand [N], unless friction needs more."""
OVER_FRICTION = 4.0
"""Strength of a hand over what breaks the stiffest joint away at the arm's full reach."""

RISE_TIME = 0.15
"""Time in which a hand comes to its full force [s]."""
WATCH = WatchSettings()
BELOW_WATCH = 0.7
"""Speed up to which a hand drives a joint, as a share of what stops an arm that ``counterpoise float`` lets go."""


@dataclass(slots=True)
class Hand:
    """One hand on the arm.

    Attributes:
        link: Link that it holds.
        point: Where, in the link's frame [m], shape (3,).
        target: Where it wants that point, base frame [m], shape (3,).
        force: What it exerts on the arm now, base frame [N], shape (3,).
        at: Where the point is now, base frame [m], shape (3,).
        steady: A force that it exerts instead of pulling towards the target, base frame [N], shape (3,); None to pull.
        until: When it lets go by itself, by the plant's clock [s].
    """

    link: str
    point: Array
    target: Array
    steady: Array | None = None
    until: float = math.inf
    force: Array = field(default_factory=lambda: np.zeros(3))
    at: Array = field(default_factory=lambda: np.zeros(3))

    def position(self, robot: Robot, q: Array) -> Array:
        """Return where the point is at q [rad or m], shape (n,), in the base frame [m], shape (3,)."""
        T_base_link = link_poses(robot.tree, q[None, :], robot.link_names.index(self.link))[0]
        return np.asarray(T_base_link[:3, 3] + T_base_link[:3, :3] @ self.point)

    def pull(self, robot: Robot, q: Array, dq: Array, strength: float, most_speed: Array, dt: float) -> Array:
        """Return what the hand exerts, base frame [N], shape (3,): spring and damper, or its steady force.

        It grows at a limited rate, is never above ``strength``, and makes no joint faster that is fast already.

        Args:
            robot: The arm.
            q: Positions [rad or m], shape (n,).
            dq: Velocities [rad/s or m/s], shape (n,).
            strength: Largest force [N].
            most_speed: Speeds from which on it does not drive the arm [rad/s or m/s], shape (n,).
            dt: Time since the last call [s].
        """
        index = robot.link_names.index(self.link)
        T_base_link = link_poses(robot.tree, q[None, :], index)[0]
        arm = T_base_link[:3, :3] @ self.point
        self.at = T_base_link[:3, 3] + arm
        motion = robot.jacobian(q, at=self.link) @ dq
        velocity = motion[:3] + np.cross(motion[3:], arm)
        if self.steady is not None:
            force = self.steady
            self.target = self.at + FULL_AT / strength * self.steady
        else:
            stiffness = strength / FULL_AT
            force = stiffness * (self.target - self.at) - DAMPING_TIME * stiffness * velocity
        size = float(np.linalg.norm(force))
        most = min(strength, float(np.linalg.norm(self.force)) + dt / RISE_TIME * strength)
        share = min(1.0, most / size) if size > 0.0 else 1.0
        if float(force @ velocity) > 0.0:  # a joint that is fast already is not made faster
            share *= float(np.clip(2.0 - 2.0 * np.max(np.abs(dq) / most_speed), 0.0, 1.0))
        self.force = share * force
        return self.force

    def joint_torque(self, robot: Robot, q: Array) -> Array:
        """Return what the present force does at the joints, Jᵀ w [N m or N], shape (n,)."""
        index = robot.link_names.index(self.link)
        arm = link_poses(robot.tree, q[None, :], index)[0][:3, :3] @ self.point
        wrench = np.concatenate([self.force, np.cross(arm, self.force)])
        return robot.wrench_torque(q, wrench, at=self.link)


def hand_speed(robot: Robot, velocity_limit: Array) -> Array:
    """Return the speeds up to which a hand drives the joints [rad/s or m/s], shape (n,).

    Args:
        robot: The arm.
        velocity_limit: The plant's velocity limits [rad/s or m/s], shape (n,).
    """
    watched = np.minimum(np.where(rotary(robot), WATCH.speed_rotary, WATCH.speed_linear), SPEED_SHARE * velocity_limit)
    return np.asarray(BELOW_WATCH * watched)


def hand_strength(robot: Robot, friction_band: Array) -> float:
    """Return how strong a hand must be to move this arm about [N].

    Args:
        robot: The arm.
        friction_band: Torque that friction holds at rest [N m or N], shape (n,).
    """
    reach = max(float(np.linalg.norm(robot.tree.origin, axis=1).sum()), 0.1)
    turns = rotary(robot)
    needed = np.where(turns, friction_band / (0.5 * reach), friction_band)
    return max(LEAST_FORCE, OVER_FRICTION * float(needed.max(initial=0.0)))
