r"""A constant wrench at a link, whatever the pose.

.. math:: \tau = g(q) + J^T(q)\,(s w + w_I) - D\,\dot q

J ᵀ w is the torque with which the arm **exerts** w on its surroundings ([Udai], by virtual work, force first here), s
rises from 0 to 1, and w_I is then a slow integral of what a wrist sensor misses along the wanted force and moment.
Whatever moves the tip meanwhile is the business of another law, of a hand or of the surface itself.
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, joint_inertias, link_name, numbers
from ...errors import InputError
from ...foundation import Array
from ...recording import Sample
from ..law import gain
from ..reference import smooth_step
from .tip import number_of, shortened, torque_bound, within
from .wrist_feedback import WristFeedback

SLOWING = 0.5
"""Default damping: a joint by itself is slowed with this time constant [s]."""
TORQUE_SHARE = 0.5
"""Default bound of the torques for the wrench, as a share of the effort limits."""
INTEGRAL_RATE = 2.0
"""Default rate of the integral [1/s]."""
INTEGRAL_SHARE = 0.3
"""The integral never exceeds this share of the wrench."""


class TipWrench:
    """Exerts a constant wrench at a link.

    Attributes:
        robot: The arm, payload included.
        at: The link, at whose origin the wrench is stated.
        wrench: What is exerted once it has ramped in [N, N m], shape (6,).
        frame: "base": along the base's axes; "tip": along the link's, turning with it.
        integral: What the wrist sensor has added so far, base axes [N, N m], shape (6,).
        scale: Factor from 0 to 1 by which the last wrench was cut to stay within the joints' bounds.
    """

    uses_wrench = False

    def __init__(
        self,
        robot: Robot,
        wrench: npt.ArrayLike,
        *,
        at: str | None = None,
        frame: Literal["base", "tip"] = "base",
        damping: npt.ArrayLike | None = None,
        over: float = 1.0,
        feedback: WristFeedback | None = None,
        rate: float = INTEGRAL_RATE,
        torque_limit: npt.ArrayLike | None = None,
        gravity: bool = True,
    ) -> None:
        """Make the law.

        Args:
            robot: The arm, payload included.
            wrench: Force first, what the arm is to exert on its surroundings [N, N m], shape (6,).
            at: Link that exerts it; None for the tip of an arm that is not branched.
            frame: Axes of the wrench; always at the link's origin.
            damping: D [N m s/rad or N s/m], one or n; None for the inertia at the start over SLOWING. A joint that
                moves at dq takes D dq away from the wrench.
            over: Time that the wrench takes to ramp in [s].
            feedback: A wrist sensor; None for none.
            rate: Rate of the integral on its reading [1/s].
            torque_limit: Largest joint torques beyond gravity [N m or N], one or n; None for TORQUE_SHARE of the
                effort limits. A wrench that needs more is scaled as a whole; the damping is cut joint by joint.
            gravity: False for a plant that adds gravity itself.

        Raises:
            InputError: An argument has no meaning, or the robot has no effort limits and no torque_limit is given.
        """
        if frame not in ("base", "tip"):
            raise InputError(f"frame is {frame!r}; expected 'base' or 'tip'")
        self.robot = robot
        self.at = link_name(robot, at)
        self.wrench = numbers(wrench, "wrench", (6,))
        self.frame = frame
        if feedback is not None:
            feedback.refuse_other_arm(robot)
        self.feedback = feedback
        self.adds_gravity = bool(gravity)
        self._given_damping = None if damping is None else gain(damping, "damping", robot.n)
        self._damping = np.zeros(robot.n)
        self._over = number_of(over, "over", "s")
        self._rate = number_of(rate, "rate", "1/s", zero=True)
        self._bound = torque_bound(robot, torque_limit, TORQUE_SHARE)
        self.integral = np.zeros(6)
        self.scale = 1.0
        self._begin: float | None = None
        self._before = 0.0
        self._held = False

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the arm with another payload, going on where this one is."""
        other = type(self)(
            robot,
            self.wrench,
            at=self.at,
            frame=self.frame,
            damping=self._given_damping,
            over=self._over,
            feedback=None if self.feedback is None else self.feedback.carrying(self.robot, robot),
            rate=self._rate,
            torque_limit=self._bound,
            gravity=self.adds_gravity,
        )
        other._damping, other.integral = self._damping, self.integral.copy()
        other._begin, other._before = self._begin, self._before
        other._held = self._held
        return other

    def reset(self, sample: Sample) -> None:
        """Start from no wrench."""
        self.integral = np.zeros(6)
        self.scale, self._begin, self._held = 1.0, None, False
        values = self._given_damping
        self._damping = joint_inertias(self.robot, sample.q) / SLOWING if values is None else np.asarray(values)
        if self.feedback is not None:
            self.feedback.reset()

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,)."""
        if self._begin is None:
            self._begin = self._before = time
        part = min(max((time - self._begin) / self._over, 0.0), 1.0)
        wanted = smooth_step(part) * self._in_base(sample.q)
        if part == 1.0:  # while it ramps in, a lag of the arm is no lack of force
            self._integrate(sample.q, wanted, time - self._before)
        self._before = time
        exerted = self.robot.wrench_torque(sample.q, wanted + self.integral, at=self.at)
        self.scale = within(exerted, self._bound)
        tau = np.clip(self.scale * exerted - self._damping * sample.dq, -self._bound, self._bound)
        return tau + self.robot.gravity(sample.q) if self.adds_gravity else tau

    def limited(self, cut: Array) -> None:
        """Stop integrating while the filter cuts the torque."""
        self._held = bool(np.any(np.abs(cut) > 1e-9))

    def news(self) -> list[tuple[str, str]]:
        """Return what happened since the last call."""
        return [] if self.feedback is None else self.feedback.news()

    def _in_base(self, q: Array) -> Array:
        if self.frame == "base":
            return self.wrench
        rotation = self.robot.forward_kinematics(q, at=self.at)[:3, :3]
        return np.concatenate([rotation @ self.wrench[:3], rotation @ self.wrench[3:]])

    def _integrate(self, q: Array, wanted: Array, dt: float) -> None:
        """Move the integral along the wanted force and along the wanted moment only.

        What the surroundings do in other directions, such as friction against sliding, is none of this law's business.
        """
        if self.feedback is None:
            return
        exerted = self.feedback.exerted(q, self.at)
        if exerted is None or self._held or self.scale < 1.0:
            return
        for rows in (slice(0, 3), slice(3, 6)):
            size = float(np.linalg.norm(wanted[rows]))
            if size == 0.0:
                continue
            along = wanted[rows] / size
            missing = float(along @ (wanted[rows] - exerted[rows]))
            moved = float(along @ self.integral[rows]) + self._rate * dt * missing
            self.integral[rows] = shortened(moved * along, INTEGRAL_SHARE * float(np.linalg.norm(self.wrench[rows])))
