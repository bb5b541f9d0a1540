r"""Two hands and one part: who carries how much of it, and how hard they squeeze.

Hand i exerts w_i on the part, its moment stated at the hand. The part stays at rest when the two together exert
W = [−m g ; 0] at its centre of mass c ([Uchiyama1988] calls the rest internal):

.. math:: f_1 + f_2 = -m g, \qquad \sum_i \big( n_i + (p_i - c) \times f_i \big) = 0

Closed form: hand i takes the share α_i of W, carried over to where it holds, n_i = (c − p_i) × f_i; a squeeze s adds
+s u to one force and −s u to the other, u from hand 1 to hand 2: both lie on one line, so force and moment cancel. With
the shares of a lever (each hand the more the nearer it is to c) no moments remain where c lies on the line of the hands
or right above or below it. Hands that come to stand above each other pass over to equal shares without a jump.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...dynamics import Robot, joint_inertias, link_name, numbers
from ...errors import InputError
from ...foundation import Array
from ...recording import Sample
from ..law import gain
from ..reference import smooth_step
from .tip import number_of, torque_bound, within
from .tip_wrench import SLOWING, TORQUE_SHARE

UPRIGHT = 0.3
"""Hands whose distance across the weight is less than this share of their gap are no lever any more, and pass over to
equal shares: one right above the other, nothing would tell which of them is nearer."""
LEAST_GAP = 1e-3
"""Hands nearer than this have no line to squeeze along [m]."""


class HandWrenches(NamedTuple):
    """What each hand exerts on the part, force first, base axes, at the hand's origin [N, N m], shape (6,) each."""

    first: Array
    second: Array


def share_load(
    p_1: Array, p_2: Array, com: Array, weight: Array, *, share: float | None = None, squeeze: float = 0.0
) -> HandWrenches:
    """Return what two hands exert on a part to hold it.

    Args:
        p_1: Where the first hand holds, base frame [m], shape (3,).
        p_2: Where the second hand holds, shape (3,).
        com: The part's centre of mass, base frame [m], shape (3,).
        weight: m g, what gravity exerts on the part, base axes [N], shape (3,).
        share: α_1, the first hand's share of the weight, 0 to 1; None for that of a lever.
        squeeze: Force s with which the hands press towards each other; negative pulls [N].

    Raises:
        InputError: A share outside 0 to 1, or hands at one point.
    """
    line = p_2 - p_1
    gap = float(np.linalg.norm(line))
    if not gap > LEAST_GAP:
        raise InputError(f"the hands are {gap:g} m apart; expected more than {LEAST_GAP:g} m")
    u = line / gap
    if share is None:
        # As a lever under this weight: distances are taken across it, where the hands are apart across it at all.
        size = float(np.linalg.norm(weight))
        down = weight / size if size > 0.0 else np.zeros(3)
        across = line - float(line @ down) * down
        length = float(np.linalg.norm(across))
        level = min(length / (UPRIGHT * gap), 1.0)
        reach = float(across @ (com - p_1)) / max(length, 1e-9) ** 2
        lever = 1.0 - min(max(reach, 0.0), 1.0)
        share = 0.5 + smooth_step(level) * (lever - 0.5)
    if not 0.0 <= share <= 1.0:
        raise InputError(f"share is {share!r}; expected the first hand's part of the weight, 0 to 1")
    wrenches = []
    for point, part, sign in ((p_1, share, 1.0), (p_2, 1.0 - share, -1.0)):
        carried = -part * weight
        wrenches.append(np.concatenate([carried + sign * squeeze * u, np.cross(com - point, carried)]))
    return HandWrenches(*wrenches)


class TwoHands:
    """τ = g(q) + s (J_1ᵀ w_1 + J_2ᵀ w_2) − D dq: two hands carry a part and squeeze it, whatever the pose.

    The part is rigid and the hands do not slip on it; it is held to the first hand's frame. A position law without
    gravity, such as PD, may be summed to this one to keep the arms where they are.

    Attributes:
        robot: The robot, without the part.
        hands: The two links.
        wrenches: What the hands exerted on the part in the last tick, once ramped in.
        scale: Factor from 0 to 1 by which they were cut to stay within the joints' bounds.
    """

    uses_wrench = False

    def __init__(
        self,
        robot: Robot,
        hands: tuple[str, str],
        mass: float,
        com: npt.ArrayLike,
        *,
        squeeze: float = 0.0,
        share: float | None = None,
        damping: npt.ArrayLike | None = None,
        over: float = 1.0,
        torque_limit: npt.ArrayLike | None = None,
        gravity: bool = True,
    ) -> None:
        """Make the law.

        Args:
            robot: The robot, without the part.
            hands: The links that hold it.
            mass: The part's mass [kg].
            com: Its centre of mass in the first hand's frame [m], shape (3,).
            squeeze: Force with which the hands press towards each other [N].
            share: The first hand's share of the weight, 0 to 1; None for that of a lever.
            damping: D [N m s/rad or N s/m], one or n; None for the inertia at the start over SLOWING.
            over: Time that weight and squeeze take to ramp in [s].
            torque_limit: Largest joint torques beyond gravity [N m or N]; None for TORQUE_SHARE of the effort limits.
                Both wrenches are scaled as a whole; the damping is cut joint by joint.
            gravity: False for a plant that adds gravity itself.

        Raises:
            InputError: An argument has no meaning.
        """
        if len(hands) != 2:
            raise InputError(f"hands is {hands!r}; expected the names of two links")
        first, second = (link_name(robot, hand, "hands=") for hand in hands)
        if first == second:
            raise InputError(f"both hands are '{first}'; expected two links")
        self.robot, self.hands = robot, (first, second)
        self._mass = number_of(mass, "mass", "kg", zero=True)
        self._com = numbers(com, "com", (3,))
        self._squeeze = float(numbers([squeeze], "squeeze", (1,))[0])
        if share is not None and not 0.0 <= share <= 1.0:
            raise InputError(f"share is {share!r}; expected the first hand's part of the weight, 0 to 1")
        self._share = share
        self._given_damping = None if damping is None else gain(damping, "damping", robot.n)
        self._damping = np.zeros(robot.n)
        self._over = number_of(over, "over", "s")
        self._bound = torque_bound(robot, torque_limit, TORQUE_SHARE)
        self.adds_gravity = bool(gravity)
        self.wrenches = HandWrenches(np.zeros(6), np.zeros(6))
        self.scale = 1.0
        self._begin: float | None = None

    def with_robot(self, robot: Robot) -> Self:
        """Return the law for the robot with another payload of its own, going on where this one is."""
        other = type(self)(
            robot,
            self.hands,
            self._mass,
            self._com,
            squeeze=self._squeeze,
            share=self._share,
            damping=self._given_damping,
            over=self._over,
            torque_limit=self._bound,
            gravity=self.adds_gravity,
        )
        other._damping, other._begin = self._damping, self._begin
        return other

    def reset(self, sample: Sample) -> None:
        """Start from empty hands.

        Raises:
            InputError: The hands are at one point.
        """
        self.wrenches = self._planned(sample.q)
        self._begin, self.scale = None, 1.0
        given = self._given_damping
        self._damping = joint_inertias(self.robot, sample.q) / SLOWING if given is None else np.asarray(given)

    def torque(self, sample: Sample, time: float) -> Array:
        """Return the torques [N m or N], shape (n,)."""
        if self._begin is None:
            self._begin = time
        part = min(max((time - self._begin) / self._over, 0.0), 1.0)
        robot, (first, second) = self.robot, self.hands
        self.wrenches = self._planned(sample.q)
        held = robot.wrench_torque(sample.q, self.wrenches.first, at=first)
        held = held + robot.wrench_torque(sample.q, self.wrenches.second, at=second)
        self.scale = within(held, self._bound)
        held *= self.scale * smooth_step(part)
        tau = np.clip(held - self._damping * sample.dq, -self._bound, self._bound)
        return tau + robot.gravity(sample.q) if self.adds_gravity else tau

    def _planned(self, q: Array) -> HandWrenches:
        T_1, T_2 = (self.robot.forward_kinematics(q, at=hand) for hand in self.hands)
        com = T_1[:3, 3] + T_1[:3, :3] @ self._com
        weight = self._mass * self.robot.gravity_base
        return share_load(T_1[:3, 3], T_2[:3, 3], com, weight, share=self._share, squeeze=self._squeeze)
